//===- WeightFile.h - packing a checkpoint into weights.bin -----*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_WEIGHTFILE_H
#define LLMC_LIB_PIPELINES_WEIGHTFILE_H

#include "ConvertedRows.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"

#include <functional>
#include <string>

namespace llmc {

/// Writes every member of every plan.weights at its place, `threads` at a time (0: all);
/// of weights that the ranks divide the part of `rank`. Throws InputError naming the tensor
/// that is missing or has another size. `progress`, where given, is called from any thread
/// with the bytes that are done; `report`, where given, takes what was converted.
void writeWeightFile(plan::ProgramOp program, const frontend::Checkpoint &checkpoint,
                     const std::string &path, unsigned threads, int64_t rank = 0,
                     const std::function<void(uint64_t done, uint64_t total)> &progress = {},
                     ConversionReport *report = nullptr);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_WEIGHTFILE_H
