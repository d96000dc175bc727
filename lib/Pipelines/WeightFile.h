//===- WeightFile.h - packing a checkpoint into weights.bin -----*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_WEIGHTFILE_H
#define LLMC_LIB_PIPELINES_WEIGHTFILE_H

#include "llmc/Dialect/Plan/IR/PlanOps.h"

#include <functional>
#include <string>

namespace llmc {

namespace frontend {
class Checkpoint;
}

/// Writes every member of every plan.weights at its place, `threads` at a time (0: all);
/// of weights that the ranks divide the part of `rank`. Throws InputError naming the tensor
/// that is missing or has another size. `progress`, where given, is called from any thread
/// with the bytes that are done.
void writeWeightFile(plan::ProgramOp program, const frontend::Checkpoint &checkpoint,
                     const std::string &path, unsigned threads, int64_t rank = 0,
                     const std::function<void(uint64_t done, uint64_t total)> &progress = {});

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_WEIGHTFILE_H
