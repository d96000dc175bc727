//===- SentencePieceBpe.cpp - BPE by the score of pieces ------------------===//
//
// What SentencePiece's model of type BPE does: neighbours whose text together is a piece are
// joined, the piece of the highest score first, of equal scores the leftmost. User-defined
// pieces are taken first and never joined. Pieces of type Unused lead to others and are taken
// apart again at the end.
//
//===----------------------------------------------------------------------===//
#include "PairQueue.h"
#include "PieceModel.h"

#include <unordered_map>

namespace llmc::rt {
namespace {

class SentencePieceBpe final : public PieceModel {
public:
  explicit SentencePieceBpe(const TokenizerSpec &spec)
      : spec(spec), pieces(spec.tokens.size()), fallback(spec),
        unknownId(spec.modelUnknownId.value()) {
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
      const TokenEntry &token = spec.tokens[id];
      if (isModelPiece(token))
        pieces.add(token.text, static_cast<int32_t>(id));
      if (token.type == TokenType::UserDefined)
        userDefined.add(token.text, static_cast<int32_t>(id));
    }
  }
  std::unique_ptr<Session> open() const override;

private:
  class BpeSession;

  const TokenizerSpec &spec;
  PieceTable pieces;
  ByteTrie userDefined;
  ByteFallback fallback;
  int32_t unknownId;
};

/// Higher scores first: what PairQueue takes the smallest of.
struct ByScore {
  float score;
  bool operator>(const ByScore &other) const { return score < other.score; }
  bool operator!=(const ByScore &other) const { return score != other.score; }
};

class SentencePieceBpe::BpeSession final : public PieceModel::Session {
public:
  explicit BpeSession(const SentencePieceBpe &model) : model(model) {}

  void encode(std::string_view text, std::vector<int32_t> &out) override {
    queue.clear();
    parts.clear();
    for (size_t at = 0; at < text.size();) {
      int32_t id = frozen;
      size_t length = model.userDefined.longestPrefix(text.substr(at));
      if (!length) {
        id = 0;
        length = std::min(characterLength(text[at]), text.size() - at);
      }
      queue.add(id, static_cast<uint32_t>(at), static_cast<uint32_t>(length));
      at += length;
    }
    queue.run([&](uint32_t left) { consider(text, left); });
    bool afterUnknown = false;
    for (const auto &symbol : queue.symbols)
      if (symbol.length)
        append(text.substr(symbol.begin, symbol.length), afterUnknown, out);
  }

private:
  static constexpr int32_t frozen = -1; ///< the id of a user-defined piece; others have 0

  void consider(std::string_view text, uint32_t left) {
    const auto &a = queue.symbols[left];
    const auto &b = queue.symbols[a.next];
    if (a.id == frozen || b.id == frozen)
      return;
    std::string_view joined = text.substr(a.begin, a.length + b.length);
    int32_t id = model.pieces.find(joined);
    if (id < 0)
      return;
    queue.wait({model.spec.scores[id]}, left, 0);
    if (model.spec.tokens[id].type == TokenType::Unused)
      parts[joined] = a.length;
  }

  /// The ids of a joined text. An unused piece is what it was joined from.
  void append(std::string_view symbol, bool &afterUnknown, std::vector<int32_t> &out) {
    stack.assign(1, symbol);
    while (!stack.empty()) {
      std::string_view text = stack.back();
      stack.pop_back();
      int32_t id = model.pieces.find(text);
      if (id >= 0 && model.spec.tokens[id].type == TokenType::Unused)
        if (auto split = parts.find(text); split != parts.end()) {
          stack.push_back(text.substr(split->second));
          stack.push_back(text.substr(0, split->second));
          continue;
        }
      bool unknown = id < 0;
      if (!unknown)
        out.push_back(id);
      else if (!model.fallback.append(text, out) && !afterUnknown)
        out.push_back(model.unknownId);
      afterUnknown = unknown;
    }
  }

  const SentencePieceBpe &model;
  PairQueue<ByScore> queue;
  std::unordered_map<std::string_view, uint32_t> parts; ///< unused piece: bytes of its left part
  std::vector<std::string_view> stack;
};

std::unique_ptr<PieceModel::Session> SentencePieceBpe::open() const {
  return std::make_unique<BpeSession>(*this);
}

} // namespace

std::unique_ptr<PieceModel> makeSentencePieceBpe(const TokenizerSpec &spec) {
  return std::make_unique<SentencePieceBpe>(spec);
}

} // namespace llmc::rt
