//===- Bpe.h - byte pair encoding -------------------------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_BPE_H
#define LLMC_LIB_RUNTIME_TOKENIZER_BPE_H

#include "llmc/Runtime/TokenizerSpec.h"

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace llmc::rt {

/// The merges of a vocabulary, ready for use. Works on bytes, not on their
/// spelling.
class Bpe {
public:
  /// \p bytesOf has the bytes of each token of \p spec.
  Bpe(const TokenizerSpec &spec, const std::vector<std::string> &bytesOf);

  /// Remembers words within one call: text repeats them.
  class Session {
  public:
    explicit Session(const Bpe &bpe) : bpe(&bpe) {}
    void encode(std::string_view word, std::vector<int32_t> &out);

  private:
    struct Symbol {
      int32_t id;
      uint32_t previous, next; ///< noSymbol at the ends
      uint32_t length;         ///< 0 once merged into its left neighbour
    };
    struct Candidate {
      int32_t rank;
      uint32_t left;
      int32_t leftId, rightId; ///< to tell that a neighbour has changed since
      int32_t result;
    };

    /// The order of a heap whose top is the lowest rank, of equal ranks the
    /// leftmost pair.
    static bool later(const Candidate &a, const Candidate &b);
    void merge(std::string_view word, std::vector<int32_t> &out);
    void consider(uint32_t left);

    const Bpe *bpe;
    std::unordered_map<std::string, std::vector<int32_t>> cache;
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

private:
  struct Merge {
    uint64_t pair = ~uint64_t(0); ///< left id, right id; all ones: no entry
    int32_t rank = 0;
    int32_t result = 0;
  };
  const Merge *find(int32_t left, int32_t right) const;

  std::array<int32_t, 256> byteIds; ///< -1 where a byte has no piece
  std::vector<Merge> table;         ///< open addressing, a power of two
  std::unordered_map<std::string_view, int32_t> words; ///< filled for ignoreMerges only
  int32_t unknownId;
  bool fuseUnknown;
};

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_BPE_H
