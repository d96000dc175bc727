//===- PlanTraffic.h - bytes that the launches of a step move ---*- C++ -*-===//
//
// From a plan alone: launches, their uses and how often a repeat runs them. Every byte
// of an operand counts once a launch that reads it and once that writes it, as
// when nothing of it stays in a cache from one launch to the next.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_PLANTRAFFIC_H
#define LLMC_LIB_PIPELINES_PLANTRAFFIC_H

#include "llmc/Dialect/Plan/IR/PlanOps.h"

#include <string>
#include <vector>

namespace llmc {

/// A step of one sequence.
struct TrafficStep {
  /// Rows of the step, positions held before it, rows whose logits are wanted.
  int64_t tokens = 1, past = 0, outputs = 1;
};

/// Bytes by what they are of. Floating: of experts as many count as random choices reach on
/// average. Everything else is whole.
struct Traffic {
  /// Weights as packed; state read and written; rows between launches; token ids.
  double weights = 0, state = 0, rows = 0, ids = 0;

  double total() const { return weights + state + rows + ids; }
  Traffic &operator+=(const Traffic &other);
  Traffic operator*(double times) const;
};

struct LaunchTraffic {
  plan::LaunchOp launch;
  /// Of a step.
  int64_t runs = 1;
  /// The function of its layer; of the entry the entry's name.
  std::string kind;
  /// Of one run.
  Traffic bytes;
};

struct StepTraffic {
  std::vector<LaunchTraffic> launches;
  /// Of all launches and collectives.
  Traffic moved;
  /// What any schedule of the same weights and state moves: every weight that the step needs
  /// once, of a table the rows looked up and of experts those reached; state read and added
  /// to once; the token ids; and of rows the outputs alone.
  Traffic least;

  int64_t launchesPerStep() const;
};

/// The function that a launch was made for, where it says so; else `otherwise`.
std::string kindOf(plan::LaunchOp launch, llvm::StringRef otherwise);

/// Of a plan that plan-verify accepts.
StepTraffic trafficOf(plan::ProgramOp program, const TrafficStep &step);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PLANTRAFFIC_H
