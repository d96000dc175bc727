//===- TinyModel.h - a model small enough for a unit test -------*- C++ -*-===//
#ifndef LLMC_UNITTESTS_REFERENCE_TINYMODEL_H
#define LLMC_UNITTESTS_REFERENCE_TINYMODEL_H

#include "llmc/Reference/Evaluator.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

#include <memory>

namespace llmc::reference {

/// The message of an error, or "" for success.
std::string messageOf(llvm::Error error);
template <typename ValueT> std::string messageOf(llvm::Expected<ValueT> value) {
  return value ? std::string() : messageOf(value.takeError());
}

/// Three decoder layers of two kinds (the second has a window of 3) over a vocabulary of 11:
/// 4 heads on 2 kv heads, with seeded weights.
class TinyModel {
public:
  TinyModel();

  mlir::ModuleOp module() { return *owned; }
  static constexpr int64_t layers = 3, width = 8, vocabulary = 11;

  mlir::MLIRContext context;
  InMemoryWeights weights;

private:
  mlir::OwningOpRef<mlir::ModuleOp> owned;
};

/// Parses a module of the llm dialect; null after a failure.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(mlir::MLIRContext &context, llvm::StringRef text);

/// A step of one sequence that wants the logits of every row.
Step stepOf(int64_t sequence, int64_t start, llvm::ArrayRef<int32_t> tokens);

/// The logits of a step that must not fail.
template <typename T> HostTensor<T> run(Evaluator<T> &evaluator, const Step &step) {
  llvm::Expected<HostTensor<T>> logits = evaluator.evaluateStep(step);
  if (logits)
    return *logits;
  ADD_FAILURE() << messageOf(logits.takeError());
  return HostTensor<T>({0, 0});
}

} // namespace llmc::reference

#endif // LLMC_UNITTESTS_REFERENCE_TINYMODEL_H
