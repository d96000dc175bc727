//===- InitAllDialects.h - every dialect that llmc uses ---------*- C++ -*-===//
#ifndef LLMC_INITALLDIALECTS_H
#define LLMC_INITALLDIALECTS_H

namespace mlir {
class DialectRegistry;
}

namespace llmc {

/// llm, plan and the upstream dialects that they are lowered through, with the external
/// models and translations that the pipelines need.
void registerAllDialects(mlir::DialectRegistry &registry);

} // namespace llmc

#endif // LLMC_INITALLDIALECTS_H
