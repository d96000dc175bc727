//===- SpecBuilder.h - what both makers of a spec share ---------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_SPECBUILDER_H
#define LLMC_LIB_RUNTIME_TOKENIZER_SPECBUILDER_H

#include "llmc/Runtime/TokenizerSpec.h"

#include <string_view>
#include <unordered_map>

namespace llmc::rt {

/// Finds pieces by their text while merges are resolved. Views \p spec.
class PieceIndex {
public:
  explicit PieceIndex(const TokenizerSpec &spec);
  /// The id, or -1.
  int32_t find(std::string_view text) const;
  /// Throws InputError when a part or the result is no piece.
  BpeMerge resolve(size_t rank, std::string_view left, std::string_view right) const;

private:
  std::unordered_map<std::string_view, int32_t> ids;
};

/// The two halves of a merge written "left right". Throws InputError.
std::pair<std::string_view, std::string_view> splitMerge(size_t rank, std::string_view merge);

/// Adds an id to endOfGenerationIds once.
void addEndOfGeneration(TokenizerSpec &spec, int32_t id);

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_SPECBUILDER_H
