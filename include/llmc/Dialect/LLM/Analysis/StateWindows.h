//===- StateWindows.h - how far back state is read --------------*- C++ -*-===//
#ifndef LLMC_DIALECT_LLM_ANALYSIS_STATEWINDOWS_H
#define LLMC_DIALECT_LLM_ANALYSIS_STATEWINDOWS_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace llmc::llm {

/// The most positions that a token sees, itself included; 0: all.
int64_t attentionWindow(PagedAttentionOp attention);

/// The layers that functions run for, over all repeats.
llvm::MapVector<mlir::func::FuncOp, llvm::SmallVector<int64_t>>
layersOfFunctions(mlir::ModuleOp module);

/// Of one family of state, by layer: a token reads no more positions than these, itself included,
/// whatever reads the state. A layer that is not in it is kept whole: something sees all of it, or
/// reads it in a way that is not known here. Layers that one function runs for are alike.
using LayerWindows = std::map<int64_t, int64_t>;

/// By the families' names.
llvm::StringMap<LayerWindows> findStateWindows(mlir::ModuleOp module);

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_ANALYSIS_STATEWINDOWS_H
