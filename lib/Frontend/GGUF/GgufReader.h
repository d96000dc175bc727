//===- GgufReader.h - one GGUF file, whole or a part of a model -*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_GGUF_GGUFREADER_H
#define LLMC_LIB_FRONTEND_GGUF_GGUFREADER_H

#include "llmc/Frontend/Gguf.h"

namespace llmc::frontend {

/// What a file says about the parts of its model (split.no, split.count,
/// split.tensors.count), and what it holds.
struct GgufSplit {
  /// From 0.
  std::optional<int64_t> number, count, tensors;
  uint64_t ownTensors = 0;
  bool hasData = true;
};

/// Reads one file and adds its tensors to `checkpoint`. The result has no checkpoint, and
/// `split.` keys are in `split` only. Throws InputError.
GgufFile readGgufFile(const std::string &path, Checkpoint &checkpoint, GgufSplit &split);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_GGUF_GGUFREADER_H
