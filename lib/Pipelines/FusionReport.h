//===- FusionReport.h - what fusion saves of a model ------------*- C++ -*-===//
//
// Launches and bytes of a step before and after fusion, and what each pattern adds, from
// plans of the same program: with no pattern, with the first, with the first two, and so on.
// So the rows of the patterns add up to the difference, exactly.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_FUSIONREPORT_H
#define LLMC_LIB_PIPELINES_FUSIONREPORT_H

#include "Explain.h"
#include "PlanTraffic.h"

#include "llvm/Support/JSON.h"

namespace llmc {

struct FusionReport {
  /// One step, before and after.
  struct Step {
    std::string name;
    TrafficStep shape;
    Traffic unfused, fused, least;
  };
  /// Launches of one layer, or of the entry outside of layers.
  struct Kind {
    std::string function, layers;
    int64_t runs = 1, unfused = 0, fused = 0;
  };
  struct Pattern {
    std::string name, family;
    bool enabled = true;
    /// Fusions that a step runs.
    int64_t made = 0;
    int64_t launchesSaved = 0;
    /// For each of the steps.
    std::vector<double> bytesSaved;
    /// Predicate, or the reason where it has none -> times in a step.
    std::map<std::string, int64_t> refused;
  };

  std::string model, target;
  int64_t layers = 0;
  int64_t launchesUnfused = 0, launchesFused = 0;
  std::vector<Step> steps;
  std::vector<Kind> kinds;
  std::vector<Pattern> patterns;

  /// docs/Seeing.md has the schema.
  llvm::json::Value toJson() const;
  std::string toText() const;
};

/// `module`: a program before its fusions are made, which stays as it is. One step makes a token
/// behind `past` positions (512 or what the deployment has); the other is a first chunk as
/// long as steps get. Runs passes: remarks of theirs are no decisions of the compilation.
llvm::FailureOr<FusionReport> makeFusionReport(mlir::ModuleOp module, const PhaseOptions &options,
                                               std::optional<int64_t> past);

/// Launches of a step of that program without fusions; nothing where it has no plan. Says
/// nothing, as nobody asked for that plan.
std::optional<int64_t> launchesWithoutFusions(mlir::ModuleOp module, const PhaseOptions &options);

/// Adds what was made and refused, once the fusions are.
void addDecisions(FusionReport &report, const Explanation &explanation);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_FUSIONREPORT_H
