//===- GgufConfig.h - GGUF metadata as a config -----------------*- C++ -*-===//
#ifndef LLMC_FRONTEND_GGUFCONFIG_H
#define LLMC_FRONTEND_GGUFCONFIG_H

#include "llmc/Frontend/Description.h"

namespace llmc::frontend {

/// The config that a description's `gguf` section makes of a file's metadata: mapped keys
/// under their config names, computed ones, and the rest under their own names.
Json ggufConfig(const GgufFile &gguf, const GgufDef &def);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_GGUFCONFIG_H
