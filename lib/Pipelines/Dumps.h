//===- Dumps.h - one readable file a phase ----------------------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_DUMPS_H
#define LLMC_LIB_PIPELINES_DUMPS_H

#include "llmc/Pipelines/Phases.h"

#include "mlir/IR/BuiltinOps.h"

namespace llmc {

/// Writes `folder`/NN-phase.mlir; nothing when `folder` is empty.
mlir::LogicalResult dumpPhase(llvm::StringRef folder, Phase phase, mlir::ModuleOp module);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_DUMPS_H
