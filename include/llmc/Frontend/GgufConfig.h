//===- GgufConfig.h - GGUF metadata as a config -----------------*- C++ -*-===//
#ifndef LLMC_FRONTEND_GGUFCONFIG_H
#define LLMC_FRONTEND_GGUFCONFIG_H

#include "llmc/Frontend/Description.h"

#include <map>

namespace llmc::frontend {

/// The config that a description's `gguf` section makes of a file's metadata: mapped keys
/// under their config names, computed ones, and the rest under their own names.
/// `origins`: config key, with dots -> the file's own key, for messages.
Json ggufConfig(const GgufFile &gguf, const GgufDef &def,
                std::map<std::string, std::string> *origins = nullptr);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_GGUFCONFIG_H
