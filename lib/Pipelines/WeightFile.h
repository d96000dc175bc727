//===- WeightFile.h - packing a checkpoint into weights.bin -----*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_WEIGHTFILE_H
#define LLMC_LIB_PIPELINES_WEIGHTFILE_H

#include "llmc/Dialect/Plan/IR/PlanOps.h"

#include <string>

namespace llmc {

namespace frontend {
class Checkpoint;
}

/// Writes every member of every plan.weights at its place, `threads` at a time (0: all).
/// Throws InputError naming the tensor that is missing or has another size.
void writeWeightFile(plan::ProgramOp program, const frontend::Checkpoint &checkpoint,
                     const std::string &path, unsigned threads);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_WEIGHTFILE_H
