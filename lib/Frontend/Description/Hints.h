//===- Hints.h - what messages add for the reader ---------------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_HINTS_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_HINTS_H

#include "llmc/Frontend/ConfigView.h"

namespace llmc::frontend {

/// nearNames without names of one letter, which are near to everything short.
std::vector<std::string> nearWords(const std::string &name, std::vector<std::string> candidates,
                                   size_t most = 3);

/// The feature that a config key of published models stands for, which no description that
/// leaves the key unknown computes; null for keys that say nothing by their name.
const char *featureOfKey(const std::string &key);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_HINTS_H
