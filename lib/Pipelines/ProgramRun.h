//===- ProgramRun.h - a program's numbers on seeded inputs ------*- C++ -*-===//
//
// What --check-passes compares: everything that a program observes and its
// logits, over a ragged step of two prompts and one step that decodes both,
// computed by the reference evaluator.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_PROGRAMRUN_H
#define LLMC_LIB_PIPELINES_PROGRAMRUN_H

#include "llmc/Reference/Evaluator.h"

#include <optional>

namespace llmc {

/// A tensor that a run saw. `occurrence` counts values of the same name.
struct SeenTensor {
  std::string name;
  unsigned occurrence = 0;
  /// "prefill" or "decode".
  llvm::StringRef step;
  reference::Shape shape;
  std::vector<double> values;
};

struct ProgramRun {
  /// In the order in which they were computed.
  std::vector<SeenTensor> tensors;
};

/// Runs the entry with T = double or float (see Evaluator.h); `few`: with as few tokens as
/// make a ragged step.
template <typename T>
llvm::Expected<ProgramRun> runProgram(mlir::ModuleOp module, reference::WeightSource &weights,
                                      unsigned threads, bool few = false);

/// Where two runs part.
struct Difference {
  /// The tensor of the second run; the first run lacks it where `lacking` is set, and the
  /// other way round.
  const SeenTensor *tensor = nullptr;
  bool lacking = false;
  /// Shape of the first run's tensor, where shapes differ.
  std::optional<reference::Shape> otherShape;
  size_t element = 0;
  double before = 0, after = 0;
  uint64_t differing = 0;
};

/// The first tensor of `after`, in the order of computation, that differs from its namesake
/// in `before` by more than `bound` times the largest magnitude of that tensor; or a tensor
/// that is no longer there. `largest` becomes the largest relative difference seen.
std::optional<Difference> compareRuns(const ProgramRun &before, const ProgramRun &after,
                                      double bound, double &largest);

/// Observes every tensor that an op computes, in functions and fusions, under a name that
/// says which op it was: "llm.rms_norm at model.norm".
void observeEverything(mlir::ModuleOp module);

/// Elements of all weights over all layers, saturating.
uint64_t weightElements(mlir::ModuleOp module);

/// Whether an op rounds what it computes to less than f32.
bool hasNarrowActivations(mlir::ModuleOp module);

/// Every llm.repeat runs each of its layers once.
void runLayersOnce(mlir::ModuleOp module);
/// Callees, first layers and counts of all repeats.
std::string describeRepeats(mlir::ModuleOp module);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PROGRAMRUN_H
