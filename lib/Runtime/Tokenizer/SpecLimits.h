//===- SpecLimits.h - how large a tokenizer may be --------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_SPECLIMITS_H
#define LLMC_LIB_RUNTIME_TOKENIZER_SPECLIMITS_H

#include "llmc/Support/Error.h"

#include <cstddef>
#include <string>

namespace llmc::rt::spec {

// Far above every published tokenizer, and low enough that a hostile file
// cannot ask for much memory.
constexpr size_t maxTokens = size_t(1) << 22;
constexpr size_t maxMerges = size_t(1) << 23;
constexpr size_t maxTokenBytes = size_t(1) << 16;
constexpr size_t maxTemplateBytes = size_t(1) << 20;
constexpr size_t maxSteps = 64;
constexpr size_t maxPatternBytes = size_t(1) << 16;
constexpr size_t maxContentBytes = 1024;
constexpr size_t maxCharsmapBytes = size_t(1) << 24;
constexpr size_t maxSpecialIds = 1024;

[[noreturn]] inline void fail(const std::string &what) {
  throw InputError("The tokenizer is not valid: " + what);
}

inline void checkSize(const char *field, size_t size, size_t limit) {
  if (size > limit)
    fail(std::string(field) + " has " + std::to_string(size) + " entries or bytes; the limit is " +
         std::to_string(limit) + ".");
}

} // namespace llmc::rt::spec

#endif // LLMC_LIB_RUNTIME_TOKENIZER_SPECLIMITS_H
