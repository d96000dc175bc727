//===- ProgramRun.h - a program's numbers on seeded inputs ------*- C++ -*-===//
//
// What --check-passes compares: everything that a program observes and its
// logits over a few steps, computed by the reference evaluator.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_PROGRAMRUN_H
#define LLMC_LIB_PIPELINES_PROGRAMRUN_H

#include "CompareRuns.h"
#include "SeededSteps.h"
#include "llmc/Reference/Evaluator.h"

namespace llmc {

/// Runs the entry with T = double or float (see Evaluator.h) in the evaluator.
template <typename T>
llvm::Expected<ProgramRun> runProgram(mlir::ModuleOp module, reference::WeightSource &weights,
                                      llvm::ArrayRef<NamedStep> steps, unsigned threads);

/// What observeEverything observes, under which names. Functions of one text share names; the
/// first has the value.
struct ObservedOps {
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::StringMap<mlir::Value> values;
};

/// Observes every tensor that an op computes, in functions and fusions, under a name that
/// says which op it was: "llm.rms_norm at model.norm".
ObservedOps observeEverything(mlir::ModuleOp module);
/// That name: the op and its path in the model, with [i] for the layer.
std::string placeText(mlir::Operation *op);

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
