//===- PieceModel.cpp - what all models share -----------------------------===//
#include "PieceModel.h"

#include "llmc/Support/Error.h"

#include <charconv>

namespace llmc::rt {

std::unique_ptr<PieceModel> makePieceModel(const TokenizerSpec &spec) {
  switch (spec.kind) {
  case TokenizerKind::Bpe:
    return makeBpe(spec);
  case TokenizerKind::SentencePieceBpe:
    return makeSentencePieceBpe(spec);
  case TokenizerKind::Unigram:
  case TokenizerKind::SentencePieceUnigram:
    return makeUnigram(spec);
  }
  throw InternalError("A tokenizer has no kind.");
}

int32_t byteOfPiece(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>')
    return -1;
  int32_t byte = -1;
  auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
  return error == std::errc() && end == text.data() + 5 && byte >= 0 ? byte : -1;
}

bool isModelPiece(const TokenEntry &token) {
  return token.type == TokenType::Normal || token.type == TokenType::UserDefined ||
         token.type == TokenType::Unused;
}

ByteFallback::ByteFallback(const TokenizerSpec &spec) {
  ids.fill(-1);
  if (!spec.byteFallback)
    return;
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    int32_t byte = byteOfPiece(spec.tokens[id].text);
    if (byte >= 0 && ids[byte] < 0)
      ids[byte] = static_cast<int32_t>(id);
  }
}

bool ByteFallback::append(std::string_view text, std::vector<int32_t> &out) const {
  for (char c : text)
    if (ids[static_cast<uint8_t>(c)] < 0)
      return false;
  for (char c : text)
    out.push_back(ids[static_cast<uint8_t>(c)]);
  return true;
}

} // namespace llmc::rt
