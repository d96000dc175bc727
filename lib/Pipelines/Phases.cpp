//===- Phases.cpp - the phases and their pipelines ------------------------===//
#include "llmc/Pipelines/Phases.h"

#include "llmc/Conversion/Passes.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "llmc/Dialect/Plan/Transforms/Passes.h"
#include "llmc/InitAllPasses.h"
#include "llmc/Kernels/Passes.h"
#include "llmc/Support/Target.h"

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace llmc {

llvm::ArrayRef<PhaseInfo> phases() {
  static const PhaseInfo table[] = {
      {Phase::Import, "import",
       "The llm dialect as the description says it: one function per layer kind, weights by "
       "symbol family, every tensor accounted for."},
      {Phase::Normalize, "normalize",
       "Composites are expanded, equal operations are one, what can be simpler is."},
      {Phase::Partition, "partition",
       "The program of each rank, with explicit collectives; one rank keeps the program as it is."},
      {Phase::Optimize, "optimize", "Operations that become one kernel are one llm.fusion."},
      {Phase::Plan, "plan",
       "Arenas, slices with final addresses, launches in order: the manifest as IR."},
      {Phase::Kernels, "kernels", "Each launch has its kernel's code for every CPU variant."},
      {Phase::Package, "package", "The artifact folder: manifest, kernels, packed weights."}};
  return table;
}

std::optional<Phase> phaseNamed(StringRef name) {
  for (const PhaseInfo &info : phases())
    if (info.name == name)
      return info.phase;
  return std::nullopt;
}

StringRef phaseName(Phase phase) { return phases()[unsigned(phase)].name; }

static void addVerifyModel(OpPassManager &pm) { pm.addPass(llm::createVerifyModelPass()); }

static void buildOptimize(OpPassManager &pm, const PhaseOptions &options) {
  llm::FusionOptions fusions;
  fusions.disabled = options.disabledFusions;
  fusions.acrossRounding = options.fusionsAcrossRounding;
  if (options.figures)
    fusions.figures = *options.figures;
  else if (const TargetInfo *target = findTarget(options.target))
    fusions.figures = target->fusion;
  // Without fusion the passes still run and report what they would have done.
  if (!options.fusion)
    for (const llm::FusionPattern &pattern : llm::fusionPatterns())
      fusions.disabled.push_back(pattern.name.str());
  llm::addFusionPasses(pm, fusions);
  addVerifyModel(pm);
}

static void buildPlan(OpPassManager &pm, const PhaseOptions &options) {
  ConvertLLMToPlanPassOptions convert;
  convert.target = options.target;
  convert.generators = options.generators;
  convert.maxTokens = options.deployment.maxTokens;
  convert.maxOutputs = options.deployment.maxOutputs;
  convert.maxSequences = options.deployment.maxSequences;
  convert.maxContext = options.deployment.maxContext;
  convert.blockTokens = options.deployment.blockTokens;
  convert.blocks = options.deployment.blocks;
  convert.device = options.device;
  pm.addPass(createConvertLLMToPlanPass(convert));
  OpPassManager &program = pm.nest<plan::ProgramOp>();
  program.addPass(plan::createAssignLivenessPass());
  program.addPass(plan::createPackArenasPass());
  program.addPass(plan::createDeriveContractsPass());
  program.addPass(plan::createVerifyPass());
}

static void addClaims(OpPassManager &pm, const PhaseOptions &options, bool compositesOnly) {
  if (options.kernelLibraries.empty())
    return;
  kernels::ClaimKernelsPassOptions claim;
  claim.libraries.assign(options.kernelLibraries.begin(), options.kernelLibraries.end());
  claim.compositesOnly = compositesOnly;
  pm.addPass(kernels::createClaimKernelsPass(claim));
}

static void buildNormalize(OpPassManager &pm, const PhaseOptions &options) {
  addClaims(pm, options, /*compositesOnly=*/true);
  if (options.expandComposites)
    pm.addPass(llm::createExpandCompositesPass());
  llm::SimplifyPassOptions simplify;
  simplify.disabled.assign(options.disabledSimplifications.begin(),
                           options.disabledSimplifications.end());
  simplify.foldScales = options.foldScales;
  simplify.maxContext = options.deployment.maxContext;
  pm.addPass(llm::createSimplifyPass(simplify));
  addVerifyModel(pm);
}

/// The phase's own passes.
static void buildPhase(OpPassManager &pm, Phase phase, const PhaseOptions &options) {
  switch (phase) {
  case Phase::Import:
  case Phase::Partition:
    return addVerifyModel(pm);
  case Phase::Normalize:
    return buildNormalize(pm, options);
  case Phase::Optimize:
    addClaims(pm, options, /*compositesOnly=*/false);
    return buildOptimize(pm, options);
  case Phase::Plan:
    return buildPlan(pm, options);
  case Phase::Kernels:
    pm.addPass(kernels::createGenerateKernelsPass());
    pm.addPass(kernels::createGenerateDeviceKernelsPass());
    pm.addNestedPass<plan::ProgramOp>(plan::createVerifyPass());
    return;
  case Phase::Package:
    pm.addNestedPass<plan::ProgramOp>(plan::createVerifyPass());
    return;
  }
}

/// What holds behind a phase holds behind the user's passes too.
static void addVerify(OpPassManager &pm, Phase phase) {
  if (phase <= Phase::Optimize)
    addVerifyModel(pm);
  else
    pm.addNestedPass<plan::ProgramOp>(plan::createVerifyPass());
}

void buildPhasePipeline(OpPassManager &pm, Phase phase, const PhaseOptions &options) {
  auto addPasses = [&](bool atEnd) {
    for (const PhasePass &pass : options.passes)
      if (pass.phase == phase && pass.atEnd == atEnd) {
        (void)parsePassPipeline(pass.pipeline, pm);
        if (atEnd)
          addVerify(pm, phase);
      }
  };
  addPasses(/*atEnd=*/false);
  buildPhase(pm, phase, options);
  addPasses(/*atEnd=*/true);
}

std::string parsePhasePass(StringRef text, PhasePass &pass) {
  auto [place, pipeline] = text.split(':');
  pass.atEnd = place.consume_back("-end");
  std::optional<Phase> phase = phaseNamed(place);
  if (!phase || pipeline.empty()) {
    std::string known;
    for (const PhaseInfo &info : phases())
      known += (known.empty() ? "" : ", ") + info.name.str();
    return "'" + text.str() + "' is not PHASE:PASSES or PHASE-end:PASSES; the phases are " + known;
  }
  pass.phase = *phase;
  pass.pipeline = pipeline.str();
  // So that passes of MLIR and of llmc can be named too.
  static const bool registered = (registerAllPasses(), true);
  (void)registered;
  std::string message;
  llvm::raw_string_ostream errors(message);
  OpPassManager pm(ModuleOp::getOperationName());
  if (succeeded(parsePassPipeline(pipeline, pm, errors)))
    return "";
  // MLIR adds where in which parser, and a picture.
  StringRef why = StringRef(message).split('\n').first;
  why = why.contains("error: ") ? why.split("error: ").second : why;
  return "'" + text.str() + "': " + why.str() +
         "; passes of plug-ins are there with --load-pass-plugin";
}

std::string unknownFusion(StringRef name) {
  if (llm::findFusionPattern(name))
    return "";
  std::string known;
  for (const llm::FusionPattern &pattern : llm::fusionPatterns())
    known += (known.empty() ? "" : ", ") + pattern.name.str();
  return known;
}

std::string unknownSimplification(StringRef name) {
  if (llm::findSimplification(name))
    return "";
  std::string known;
  for (const llm::Simplification &simplification : llm::simplifications())
    known += (known.empty() ? "" : ", ") + simplification.name.str();
  return known;
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("Target name."), llvm::cl::init("cpu")};
  Option<bool> fusion{*this, "fusion", llvm::cl::desc("Make fusions."), llvm::cl::init(true)};
  ListOption<std::string> disabled{*this, "disable-fusion",
                                   llvm::cl::desc("Fusions that are not made, by name.")};
  ListOption<std::string> acrossRounding{
      *this, "fuse-across-rounding",
      llvm::cl::desc("Fusions that may keep values wider than the type they are rounded to.")};
  ListOption<std::string> withoutSimplifications{
      *this, "disable-simplification",
      llvm::cl::desc("Simplifications that are not made, by name.")};
  Option<bool> foldScales{*this, "fold-scales",
                          llvm::cl::desc("Also fold factors where sums round otherwise."),
                          llvm::cl::init(false)};
  Option<std::string> generators{*this, "generators",
                                 llvm::cl::desc("Kernels to prefer: tuned, or generic."),
                                 llvm::cl::init("tuned")};
  Option<int64_t> maxTokens{*this, "max-tokens", llvm::cl::desc("Rows of the largest step."),
                            llvm::cl::init(512)};
  Option<int64_t> maxSequences{*this, "max-sequences",
                               llvm::cl::desc("Sequences of the largest step."), llvm::cl::init(8)};
  Option<int64_t> maxContext{*this, "max-context",
                             llvm::cl::desc("Positions of the longest sequence."),
                             llvm::cl::init(0)};
};
} // namespace

void registerPhasePipelines() {
  for (const PhaseInfo &info : phases())
    PassPipelineRegistration<PipelineOptions>(
        ("llmc-" + info.name + "-pipeline").str(), info.contract,
        [phase = info.phase](OpPassManager &pm, const PipelineOptions &given) {
          PhaseOptions options;
          options.target = given.target;
          options.fusion = given.fusion;
          options.disabledSimplifications.assign(given.withoutSimplifications.begin(),
                                                 given.withoutSimplifications.end());
          options.foldScales = given.foldScales;
          options.generators = given.generators;
          options.disabledFusions.assign(given.disabled.begin(), given.disabled.end());
          options.fusionsAcrossRounding.assign(given.acrossRounding.begin(),
                                               given.acrossRounding.end());
          options.deployment.maxTokens = given.maxTokens;
          options.deployment.maxSequences = given.maxSequences;
          options.deployment.maxContext = given.maxContext;
          buildPhasePipeline(pm, phase, options);
        });
}

} // namespace llmc
