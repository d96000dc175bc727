//===- FusionReport.cpp - what fusion saves of a model --------------------===//
#include "FusionReport.h"

#include "llmc/Dialect/LLM/Transforms/Fusion.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace llmc {

namespace {

/// The plan of a copy of the program without some fusions.
FailureOr<OwningOpRef<ModuleOp>> planWithout(ModuleOp module, PhaseOptions options,
                                             std::vector<std::string> disabled) {
  options.fusion = true;
  options.disabledFusions = std::move(disabled);
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  buildPhasePipeline(pm, Phase::Optimize, options);
  buildPhasePipeline(pm, Phase::Plan, options);
  if (failed(pm.run(*copy)))
    return failure();
  return copy;
}

/// The conversion to a plan makes one program.
plan::ProgramOp programOf(ModuleOp module) {
  return *module.getOps<plan::ProgramOp>().begin();
}

std::vector<StepTraffic> trafficOf(ModuleOp module, ArrayRef<TrafficStep> steps) {
  std::vector<StepTraffic> traffic;
  for (const TrafficStep &step : steps)
    traffic.push_back(llmc::trafficOf(programOf(module), step));
  return traffic;
}

/// Launches of each kind, for all its layers together.
std::map<std::string, int64_t> byKind(const StepTraffic &step) {
  std::map<std::string, int64_t> launches;
  for (const LaunchTraffic &launch : step.launches)
    launches[launch.kind] += launch.runs;
  return launches;
}

void addKinds(FusionReport &report, const LayerKinds &kinds, const StepTraffic &unfused,
              const StepTraffic &fused) {
  std::map<std::string, int64_t> before = byKind(unfused), after = byKind(fused);
  std::vector<std::string> order;
  for (const LaunchTraffic &launch : unfused.launches)
    if (!llvm::is_contained(order, launch.kind))
      order.push_back(launch.kind);
  for (const std::string &name : order) {
    int64_t runs = kinds.runs(name);
    report.kinds.push_back(
        {name, kinds.layers(name), runs, before[name] / runs, after[name] / runs});
    report.layers += kinds.layers(name).empty() ? 0 : runs;
  }
}

/// Patterns from that one on.
std::vector<std::string> namesFrom(size_t first) {
  std::vector<std::string> names;
  for (const llm::FusionPattern &pattern : llm::fusionPatterns().drop_front(first))
    names.push_back(pattern.name.str());
  return names;
}

} // namespace

/// A token behind `past` positions, and a first chunk. `past` is checked against the deployment.
static FailureOr<std::vector<TrafficStep>> shapesFor(plan::ProgramOp program,
                                                     std::optional<int64_t> past) {
  constexpr int64_t usualPast = 512;
  int64_t most = program.getLimits().getMaxContext() - 1;
  if (past && *past > most)
    return program.emitError("sequences have at most ")
           << most + 1 << " positions, so none makes a token behind " << *past
           << "; give a larger --max-context or a smaller --report-context";
  return std::vector<TrafficStep>{{1, past.value_or(std::min(usualPast, most)), 1},
                                  {std::min(program.getLimits().getMaxTokens(), most + 1), 0, 1}};
}

FailureOr<FusionReport> makeFusionReport(ModuleOp module, const PhaseOptions &options,
                                         std::optional<int64_t> past) {
  FusionReport report;
  LayerKinds kinds;
  kinds.learn(module);
  auto unfused = planWithout(module, options, namesFrom(0));
  if (failed(unfused))
    return failure();
  plan::ProgramOp program = programOf(**unfused);
  report.model = program.getModel().getName().str();
  report.target = program.getTarget().getDevice().str();
  auto shapes = shapesFor(program, past);
  if (failed(shapes))
    return failure();
  std::vector<StepTraffic> first = trafficOf(**unfused, *shapes), last = first;
  for (auto [i, pattern] : llvm::enumerate(llm::fusionPatterns())) {
    FusionReport::Pattern row;
    row.name = pattern.name.str();
    row.family = llm::fusionFamilyName(pattern.family).str();
    row.enabled = options.fusion && !llvm::is_contained(options.disabledFusions, row.name);
    row.bytesSaved.assign(shapes->size(), 0);
    if (row.enabled) {
      std::vector<std::string> disabled = namesFrom(i + 1);
      llvm::append_range(disabled, options.disabledFusions);
      auto with = planWithout(module, options, disabled);
      if (failed(with))
        return failure();
      std::vector<StepTraffic> now = trafficOf(**with, *shapes);
      row.launchesSaved = last[0].launchesPerStep() - now[0].launchesPerStep();
      for (size_t s = 0; s < now.size(); ++s)
        row.bytesSaved[s] = last[s].moved.total() - now[s].moved.total();
      last = std::move(now);
    }
    report.patterns.push_back(std::move(row));
  }
  constexpr StringLiteral names[] = {"decode", "prefill"};
  for (size_t s = 0; s < shapes->size(); ++s)
    report.steps.push_back(
        {names[s].str(), (*shapes)[s], first[s].moved, last[s].moved, last[s].least});
  report.launchesUnfused = first[0].launchesPerStep();
  report.launchesFused = last[0].launchesPerStep();
  addKinds(report, kinds, first[0], last[0]);
  return report;
}

std::optional<int64_t> launchesWithoutFusions(ModuleOp module, const PhaseOptions &options) {
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  auto unfused = planWithout(module, options, namesFrom(0));
  if (failed(unfused))
    return std::nullopt;
  return llmc::trafficOf(programOf(**unfused), TrafficStep()).launchesPerStep();
}

void addDecisions(FusionReport &report, const Explanation &explanation) {
  for (const DecisionGroup &group : explanation.groups()) {
    const Decision &decision = group.decision;
    if (decision.category != "fusion")
      continue;
    auto row = llvm::find_if(report.patterns,
                             [&](auto &pattern) { return pattern.name == decision.name; });
    if (row == report.patterns.end())
      continue;
    int64_t times = explanation.times(group);
    if (decision.outcome == "passed")
      row->made += times;
    else
      row->refused[decision.predicate.empty() ? decision.text : decision.predicate] += times;
  }
}

} // namespace llmc
