//===- OperatorStorage.h - operators over weights as published --*- C++ -*-===//
//
// The types of a module say how llmc holds weights. Where a config says that published files hold
// them quantised, what a chip's kernels read is those.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_OPERATORSTORAGE_H
#define LLMC_LIB_PIPELINES_OPERATORSTORAGE_H

#include "llmc/Dialect/LLM/Analysis/OperatorWork.h"
#include "llmc/Pipelines/QuantizedStorage.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <string>
#include <vector>

namespace llmc {

/// How one call of an operation finds its weights: by family, those that are quantised.
using StoredFormats = std::map<std::string, const QuantizedFormat *>;

class OperatorStorage {
public:
  /// `rules` may be null: then everything is as its type says.
  OperatorStorage(mlir::ModuleOp module, const QuantizationRules *rules);

  /// Calls of an operation of `function`, which a step calls `calls` times, by how the layers that
  /// they belong to store its weights.
  std::vector<std::pair<StoredFormats, int64_t>> of(mlir::Operation *op,
                                                    mlir::func::FuncOp function,
                                                    int64_t calls) const;
  /// What the config says of quantised weights and is not counted, with the reason; else empty.
  const std::string &notCounted() const { return unknown; }

private:
  struct Family {
    llvm::SmallVector<int64_t> layers;
    /// For each layer; one where there are none.
    std::vector<const QuantizedFormat *> members;
  };
  llvm::StringMap<Family> families;
  llvm::MapVector<mlir::func::FuncOp, llvm::SmallVector<int64_t>> layers;
  std::string unknown;
};

/// operatorFacts and workOf with weights in these formats. Also of operations of other programs
/// that read families of the same names.
std::vector<std::pair<std::string, std::string>> storedFacts(mlir::Operation *op,
                                                             const StoredFormats &formats);
llm::OperatorWork storedWork(mlir::Operation *op, const llm::StepShape &step,
                             const StoredFormats &formats);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_OPERATORSTORAGE_H
