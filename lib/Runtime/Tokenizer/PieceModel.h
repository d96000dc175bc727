//===- PieceModel.h - from a piece of text to tokens ------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_PIECEMODEL_H
#define LLMC_LIB_RUNTIME_TOKENIZER_PIECEMODEL_H

#include "PieceTable.h"
#include "llmc/Runtime/TokenizerSpec.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt {

/// What makes ids of the pieces that normalizer and pre-tokenizer leave. Immutable.
class PieceModel {
public:
  /// The scratch memory of one call.
  class Session {
  public:
    virtual ~Session() = default;
    /// Appends the ids of \p piece: bytes for a byte-level model, otherwise well-formed UTF-8.
    virtual void encode(std::string_view piece, std::vector<int32_t> &out) = 0;
  };
  virtual ~PieceModel() = default;
  virtual std::unique_ptr<Session> open() const = 0;
};

/// The model of \p spec, which must outlive it.
std::unique_ptr<PieceModel> makePieceModel(const TokenizerSpec &spec);

// One for each kind.
std::unique_ptr<PieceModel> makeBpe(const TokenizerSpec &spec);
std::unique_ptr<PieceModel> makeSentencePieceBpe(const TokenizerSpec &spec);
std::unique_ptr<PieceModel> makeUnigram(const TokenizerSpec &spec);

/// The pieces "<0x00>" to "<0xFF>", by the byte.
class ByteFallback {
public:
  explicit ByteFallback(const TokenizerSpec &spec);
  /// Appends one id a byte. False, with nothing appended, where there is no byte fallback or a
  /// byte of \p text has no piece.
  bool append(std::string_view text, std::vector<int32_t> &out) const;

private:
  std::array<int32_t, 256> ids; ///< -1: no piece
};

/// The byte that "<0x41>" stands for, or -1.
int32_t byteOfPiece(std::string_view text);

/// What SentencePiece's BPE may join a text to. Not control tokens, which only the rules for
/// added tokens give.
bool isModelPiece(const TokenEntry &token);

/// Bytes of the UTF-8 character that begins with \p lead.
inline size_t characterLength(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_PIECEMODEL_H
