//===- Gguf.h - GGUF metadata and reader ------------------------*- C++ -*-===//
#ifndef LLMC_FRONTEND_GGUF_H
#define LLMC_FRONTEND_GGUF_H

#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/Json.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llmc::frontend {

/// The tokenizer.* values of a GGUF file, as stored.
struct GgufTokenizer {
  std::string model, pre;
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t> tokenTypes;
  std::vector<std::string> merges;
  std::optional<int64_t> bosId, eosId, eotId, eomId, unknownId, separatorId, padId;
  std::optional<bool> addBos, addEos, addSpacePrefix, removeExtraWhitespaces;
  std::string chatTemplate;
  std::vector<std::byte> precompiledCharsmap;
};

struct GgufFile {
  uint32_t version = 0;
  uint64_t alignment = 32;
  std::string architecture;
  /// Every metadata value but those about parts, an object. The tokenizer's long lists are in
  /// `tokenizer` and stand here as their lengths; what makes more than a million list values
  /// stands here as a text that says so.
  Json metadata;
  GgufTokenizer tokenizer;
  std::shared_ptr<Checkpoint> checkpoint;
};

/// Reads version 2 and 3 little-endian files; of a model in several files, all when any one is
/// named. Throws InputError naming file, key or tensor, both values and a remedy.
GgufFile openGguf(const std::string &path);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_GGUF_H
