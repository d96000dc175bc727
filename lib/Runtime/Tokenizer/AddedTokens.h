//===- AddedTokens.h - finds added tokens in a text -------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_ADDEDTOKENS_H
#define LLMC_LIB_RUNTIME_TOKENIZER_ADDEDTOKENS_H

#include "llmc/Runtime/TokenizerSpec.h"

#include <array>
#include <functional>
#include <string_view>
#include <vector>

namespace llmc::rt {

/// Finds the tokens of one set, at each place the longest one.
class AddedTokens {
public:
  AddedTokens();
  void add(const AddedToken &token);

  /// Calls \p onText for text between tokens and \p onToken for each token, in
  /// the order of \p text. Special tokens count only with \p parseSpecial.
  void split(std::string_view text, bool parseSpecial,
             const std::function<void(std::string_view)> &onText,
             const std::function<void(int32_t)> &onToken) const;

private:
  struct Edge {
    uint8_t byte;
    uint32_t node;
  };
  struct Node {
    int32_t token = -1;      ///< index into tokens
    std::vector<Edge> edges; ///< few; the root has its own table
  };
  int32_t longestAt(std::string_view text, size_t at, bool parseSpecial) const;

  std::vector<AddedToken> tokens;
  std::vector<Node> nodes;
  std::array<uint32_t, 256> first{}; ///< edges of the root; 0: none
};

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_ADDEDTOKENS_H
