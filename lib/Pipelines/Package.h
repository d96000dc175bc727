//===- Package.h - writing the artifact folder ------------------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_PACKAGE_H
#define LLMC_LIB_PIPELINES_PACKAGE_H

#include "Progress.h"
#include "llmc/Pipelines/Compiler.h"

namespace llmc {

/// Compiles the kernels, packs the weights, writes tokenizer and manifest. `resolved` is null
/// for a model that came as .mlir, which has no weights. Throws InputError; then nothing is
/// left behind.
void packageArtifact(mlir::ModuleOp module, const frontend::ResolvedModel *resolved,
                     const CompileOptions &options, Progress &progress);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PACKAGE_H
