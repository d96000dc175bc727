//===- Passes.h - conversions between dialects ------------------*- C++ -*-===//
#ifndef LLMC_CONVERSION_PASSES_H
#define LLMC_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace llmc {

#define GEN_PASS_DECL
#include "llmc/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "llmc/Conversion/Passes.h.inc"

inline void registerConversionPasses() { registerLLMCConversionPasses(); }
/// Interfaces that conversions attach to dialects.
void registerConversionExtensions(mlir::DialectRegistry &registry);

} // namespace llmc

#endif // LLMC_CONVERSION_PASSES_H
