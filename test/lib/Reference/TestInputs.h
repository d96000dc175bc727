//===- TestInputs.h - inputs of an evaluation as attributes -----*- C++ -*-===//
//
//   module attributes {test.weights = {"w.0" = dense<…> : tensor<2x3xf32>}} {
//     func.func @f(…) attributes {test.steps = [
//       {batch = [array<i64: id, start, count[, known]>, …], outputs = array<i64: row, …>,
//        args = [dense<…> : tensor<2x4xf32>, "batch", 3 : index, "state"]}, …]}
//
// Each step is one call of the function; state lives from step to step. An
// argument is a dense constant (a tensor, token ids or a weight), "batch", an
// index, or "state" (a state that is empty in the first step).
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_TEST_LIB_REFERENCE_TESTINPUTS_H
#define LLMC_TEST_LIB_REFERENCE_TESTINPUTS_H

#include "llmc/Reference/Evaluator.h"

namespace llmc::test {

/// Fills `weights` from the module's `test.weights`.
llvm::Error readWeights(mlir::ModuleOp module, reference::InMemoryWeights &weights);

/// The steps of a function, empty without `test.steps`.
llvm::ArrayRef<mlir::Attribute> stepsOf(mlir::func::FuncOp function);

/// States that arguments name, by argument number.
template <typename T> using ArgumentStates = std::map<unsigned, reference::HostValue<T>>;

/// The arguments of one step.
template <typename T>
llvm::Expected<llvm::SmallVector<reference::HostValue<T>>>
readArguments(mlir::func::FuncOp function, mlir::Attribute step, ArgumentStates<T> &states);

} // namespace llmc::test

#endif // LLMC_TEST_LIB_REFERENCE_TESTINPUTS_H
