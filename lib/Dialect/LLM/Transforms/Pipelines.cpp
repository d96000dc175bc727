//===- Pipelines.cpp - the table of fusions, and their passes in order ----===//
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace llmc;
using namespace llmc::llm;

namespace llmc::llm {
#define GEN_PASS_REGISTRATION
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

StringRef llm::fusionFamilyName(FusionFamily family) {
  switch (family) {
  case FusionFamily::Row: return "row";
  case FusionFamily::Linear: return "linear";
  case FusionFamily::Attention: return "attention";
  case FusionFamily::Routing: return "routing";
  }
  llvm_unreachable("closed enum");
}

/// The `create` of a pattern whose options are those that every fusion has.
template <typename PassOptions, std::unique_ptr<Pass> (*createPass)(PassOptions)>
static std::unique_ptr<Pass> create(const FusionSettings &settings) {
  return createPass(fusionPassOptions<PassOptions>(settings));
}

/// In the order in which the passes run: what runs first has the operations.
static SmallVector<FusionPattern> &patternTable() {
  static SmallVector<FusionPattern> table = {
      {"gated-linear", FusionFamily::Linear,
       "Two products of one input and the gate between them",
       create<FuseGatedLinearPassOptions, createFuseGatedLinearPass>,
       {predicate::producer, predicate::sameBlock, predicate::singleUse, predicate::sameInput,
        predicate::sameShape, predicate::sameStorage, predicate::kernel, predicate::otherFusion,
        predicate::collective, predicate::roundingPoint}},
      {"linear-elementwise", FusionFamily::Linear,
       "Products and the element-wise operations behind them",
       create<FuseLinearElementwisePassOptions, createFuseLinearElementwisePass>,
       {predicate::sameBlock, predicate::singleUse, predicate::sameShape, predicate::otherFusion,
        predicate::collective, predicate::roundingPoint}},
      {"linear-activation", FusionFamily::Linear, "A product and the activation that takes it",
       create<FuseLinearActivationPassOptions, createFuseLinearActivationPass>,
       {predicate::producer, predicate::sameBlock, predicate::singleUse, predicate::otherFusion,
        predicate::collective, predicate::roundingPoint}},
      {"router", FusionFamily::Routing, "A router's product and its choice of experts",
       create<FuseRouterPassOptions, createFuseRouterPass>,
       {predicate::producer, predicate::sameBlock, predicate::singleUse, predicate::kernel,
        predicate::otherFusion, predicate::collective, predicate::roundingPoint, predicate::cost}},
      {"qkv-linear", FusionFamily::Linear, "Products of the same input, with several results",
       create<FuseQKVLinearPassOptions, createFuseQKVLinearPass>,
       {predicate::sameStorage, predicate::otherFusion, predicate::convex, predicate::effectOrder,
        predicate::cost}},
      {"linear-residual", FusionFamily::Linear, "A product and the residual add that takes it",
       create<FuseLinearResidualPassOptions, createFuseLinearResidualPass>,
       {predicate::producer, predicate::sameBlock, predicate::singleUse, predicate::otherFusion,
        predicate::collective, predicate::roundingPoint}},
      {"norm-linear", FusionFamily::Linear, "A norm and the products of its rows",
       create<FuseNormLinearPassOptions, createFuseNormLinearPass>,
       {predicate::sameBlock, predicate::readers, predicate::kernel, predicate::otherFusion,
        predicate::roundingPoint, predicate::scratch, predicate::cost}},
      {"residual-norm", FusionFamily::Row, "A residual add and the norms around it",
       create<FuseResidualNormPassOptions, createFuseResidualNormPass>,
       {predicate::sameBlock, predicate::width, predicate::otherFusion, predicate::convex,
        predicate::effectOrder, predicate::roundingPoint}, /*grows=*/true},
      {"attention-prologue", FusionFamily::Attention, "Head norms, rotary and cache append",
       create<FuseAttentionProloguePassOptions, createFuseAttentionProloguePass>,
       {predicate::producer, predicate::readers, predicate::sameInput, predicate::sameShape,
        predicate::sameSettings, predicate::kernel, predicate::convex, predicate::effectOrder,
        predicate::roundingPoint}},
      {"attention-gate", FusionFamily::Attention, "An attention and what its heads go through",
       create<FuseAttentionGatePassOptions, createFuseAttentionGatePass>,
       {predicate::sameBlock, predicate::singleUse, predicate::sameShape, predicate::otherFusion,
        predicate::effectOrder, predicate::roundingPoint}},
      {"rows", FusionFamily::Row, "Operations along rows, whatever they are",
       create<FuseRowsPassOptions, createFuseRowsPass>,
       {predicate::producer, predicate::sameShape, predicate::width, predicate::operations,
        predicate::kernel, predicate::otherFusion, predicate::collective, predicate::convex, predicate::effectOrder, predicate::roundingPoint,
        predicate::registers, predicate::scratch, predicate::cost}, /*grows=*/true},
  };
  return table;
}

ArrayRef<FusionPattern> llm::fusionPatterns() { return patternTable(); }

const FusionPattern *llm::findFusionPattern(StringRef name) {
  for (const FusionPattern &pattern : patternTable())
    if (pattern.name == name)
      return &pattern;
  return nullptr;
}

/// Ends the program; whoever loads a plug-in says which (lib/Pipelines/Plugins.cpp).
[[noreturn]] static void refusePattern(const FusionPattern &pattern, const Twine &problem) {
  llvm::report_fatal_error("fusion pattern '" + pattern.name + "' " + problem,
                           /*gen_crash_diag=*/false);
}

void llm::registerFusionPattern(const FusionPattern &pattern, const FusionPlace &place) {
  if (findFusionPattern(pattern.name))
    refusePattern(pattern, "is there already; give it a name of its own");
  SmallVector<FusionPattern> &table = patternTable();
  auto at = llvm::find_if(table, [&](const FusionPattern &known) { return known.name == place.of; });
  if (at == table.end())
    refusePattern(pattern, "wants to run next to '" + place.of + "', which is no fusion; known: " +
                               llvm::join(llvm::map_range(table, [](const FusionPattern &known) {
                                            return known.name;
                                          }), ", "));
  table.insert(place.side == FusionPlace::Before ? at : at + 1, pattern);
}

//===----------------------------------------------------------------------===//
// Predicates
//===----------------------------------------------------------------------===//

ArrayRef<FusionPredicate> llm::fusionPredicates() {
  static constexpr FusionPredicate table[] = {
      {predicate::enabled, "The pattern is not disabled"},
      {predicate::producer, "An operand comes from an operation that the pattern takes"},
      {predicate::sameBlock, "All operations are in one block"},
      {predicate::singleUse, "Nothing else reads a value that only the fusion would have"},
      {predicate::readers, "A value has as many readers as the kernel serves"},
      {predicate::convex, "No operation outside reads one part and feeds another"},
      {predicate::effectOrder, "The order of reads and writes of state stays"},
      {predicate::roundingPoint,
       "No value inside is rounded to a narrower type (--fuse-across-rounding=NAME)"},
      {predicate::cost, "What is saved is worth more than what is computed or read again"},
      {predicate::registers, "The values of a row that are alive at once fit into registers"},
      {predicate::scratch, "The rows that are kept between passes stay close to the thread"},
      {predicate::width, "The rows are not longer than the kernel takes"},
      {predicate::operations, "The kernel has no more operations than its pattern allows"},
      {predicate::sameInput, "The operations read the same value"},
      {predicate::sameStorage, "The weights are stored alike"},
      {predicate::sameShape, "The operations work on equally many rows and elements"},
      {predicate::sameSettings, "The operations have the same settings"},
      {predicate::kernel, "A kernel computes what the fusion holds, bit for bit"},
      {predicate::otherFusion, "No other fusion has the operation"},
      {predicate::collective, "No operand is a sum over ranks, which is not known inside one launch"},
  };
  return table;
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

void llm::addFusionPasses(OpPassManager &pm, const FusionOptions &options) {
  auto add = [&](const FusionPattern &pattern) {
    FusionSettings settings;
    settings.enabled = !llvm::is_contained(options.disabled, pattern.name);
    settings.acrossRounding = llvm::is_contained(options.acrossRounding, pattern.name);
    settings.figures = options.figures;
    pm.addPass(pattern.create(settings));
  };
  constexpr StringRef wantsAdd = "linear-residual", wantsItToo = "residual-norm";
  bool normFirst = options.preference == ResidualPreference::Norm;
  for (const FusionPattern &pattern : fusionPatterns()) {
    if (normFirst && pattern.name == wantsItToo)
      continue;
    if (normFirst && pattern.name == wantsAdd)
      add(*findFusionPattern(wantsItToo));
    add(pattern);
  }
}

namespace {
struct FuseOptions : PassPipelineOptions<FuseOptions> {
  ListOption<std::string> disable{*this, "disable",
                                  llvm::cl::desc("Names of fusions that are not made.")};
  ListOption<std::string> acrossRounding{
      *this, "across-rounding",
      llvm::cl::desc("Names of fusions that are made across rounding points too.")};
  Option<bool> normFirst{*this, "residual-norm-first",
                         llvm::cl::desc("A residual add goes to the norm before the product."),
                         llvm::cl::init(false)};
};
} // namespace

void llm::registerLLMPasses() {
  registerLLMCLLMPasses();
  PassPipelineRegistration<FuseOptions>(
      "llm-fuse", "Every fusion of the llm dialect.",
      [](OpPassManager &pm, const FuseOptions &given) {
        FusionOptions options;
        options.disabled.assign(given.disable.begin(), given.disable.end());
        options.acrossRounding.assign(given.acrossRounding.begin(), given.acrossRounding.end());
        if (given.normFirst)
          options.preference = ResidualPreference::Norm;
        addFusionPasses(pm, options);
      });
}
