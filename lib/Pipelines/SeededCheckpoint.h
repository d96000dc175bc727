//===- SeededCheckpoint.h - drawn weights as a file -------------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_SEEDEDCHECKPOINT_H
#define LLMC_LIB_PIPELINES_SEEDEDCHECKPOINT_H

#include "llmc/Reference/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace llmc {

/// Writes every tensor that the program's weights are read from to a .safetensors file, with the
/// values of `weights`: plain floats in the format of the program, blocks as f32, which
/// packing and the evaluator quantise alike. Throws InputError where llmc cannot make blocks
/// of that format, or where the file cannot be written.
void writeCheckpointOf(mlir::ModuleOp program, reference::WeightSource &weights,
                       const std::string &path);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_SEEDEDCHECKPOINT_H
