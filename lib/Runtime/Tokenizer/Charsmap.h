//===- Charsmap.h - SentencePiece's precompiled normalization ---*- C++ -*-===//
//
// The blob: u32 bytes of the trie, the trie, then texts that end in a zero byte. The trie is a
// double array (Darts-clone) of u32 units from UTF-8 to the place of a text:
//
//   bits 0-7    label; bit 31 set: a value in bits 0-30 instead
//   bit 8       a value is among the children, behind label 0
//   bits 10-30  distance to the children (exclusive or), times 256 with bit 9
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_CHARSMAP_H
#define LLMC_LIB_RUNTIME_TOKENIZER_CHARSMAP_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace llmc::rt {

/// Reads the blob where it lies; every step of the trie is checked against its size.
class Charsmap {
public:
  /// An empty blob maps nothing. Throws InputError where the sizes do not fit or a value points
  /// out of the texts.
  explicit Charsmap(std::string_view blob);

  struct Match {
    size_t length = 0; ///< of the text that is replaced; 0: nothing is
    std::string_view replacement;
  };
  /// The longest prefix that is replaced. Whatever the trie, at most maxPrefix bytes of \p text
  /// are looked at.
  Match longestPrefix(std::string_view text) const { return prefix(text, /*first=*/false); }
  Match shortestPrefix(std::string_view text) const { return prefix(text, /*first=*/true); }

private:
  Match prefix(std::string_view text, bool first) const;
  uint32_t unit(size_t index) const;
  std::string_view textAt(uint32_t offset) const;

  std::string_view trie;
  std::string_view texts;
};

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_CHARSMAP_H
