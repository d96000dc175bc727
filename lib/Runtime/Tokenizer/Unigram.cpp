//===- Unigram.cpp - the most likely pieces -------------------------------===//
//
// Kudo 2018: of all ways to cut a text into pieces, the one with the largest sum of log
// probabilities, found with Viterbi's algorithm in one pass. A character without a piece of its
// own may be unknown, at the lowest score of the vocabulary less 10.
//
// Hugging Face's library sums in f64, SentencePiece in f32. Of equal sums the one that was found
// first stays, so the arithmetic decides.
//
//===----------------------------------------------------------------------===//
#include "PieceModel.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <limits>

namespace llmc::rt {
namespace {

constexpr float unknownPenalty = 10;

template <typename Sum> class Unigram final : public PieceModel {
public:
  Unigram(const TokenizerSpec &spec, const std::vector<Sum> &given)
      : fallback(spec), unknownId(spec.modelUnknownId.value()), scores(given) {
    bool sentencePiece = spec.sentencePiece();
    Sum lowest = std::numeric_limits<Sum>::max();
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
      if (sentencePiece && spec.tokens[id].type != TokenType::Normal)
        continue;
      lowest = std::min(lowest, given[id]);
    }
    unknownScore = lowest - Sum(unknownPenalty);
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
      const TokenEntry &token = spec.tokens[id];
      // Hugging Face's library looks for user-defined tokens before the model does.
      if (token.type == TokenType::Normal ||
          (sentencePiece && token.type == TokenType::UserDefined))
        trie.add(token.text, static_cast<int32_t>(id));
      // Above what normal pieces have; measured with version 0.2.3 (before, all had -0.1).
      if (sentencePiece && token.type == TokenType::UserDefined)
        scores[id] = static_cast<Sum>(static_cast<double>(token.text.size()) * 0.1 - 0.1);
    }
  }
  std::unique_ptr<Session> open() const override;

private:
  class UnigramSession;

  ByteTrie trie;
  ByteFallback fallback;
  int32_t unknownId;
  std::vector<Sum> scores;
  Sum unknownScore;
};

template <typename Sum> class Unigram<Sum>::UnigramSession final : public PieceModel::Session {
public:
  explicit UnigramSession(const Unigram &model) : model(model) {}

  void encode(std::string_view text, std::vector<int32_t> &out) override {
    if (text.size() >= unreached)
      throw InputError("A text of " + std::to_string(text.size()) +
                       " bytes is too long for the tokenizer; cut it.");
    best.assign(text.size() + 1, {0, unreached, -1});
    for (size_t begin = 0; begin < text.size();) {
      size_t character = std::min(characterLength(text[begin]), text.size() - begin);
      if (!walk(text, begin, character))
        offer(begin, begin + character, model.unknownScore + best[begin].sum, model.unknownId);
      begin += character;
    }
    collect(text, out);
  }

private:
  struct Node {
    Sum sum;
    uint32_t begin; ///< of the piece that ends here
    int32_t id;
  };
  static constexpr uint32_t unreached = ~uint32_t(0);

  /// The pieces that begin here; true where one is exactly a character long.
  bool walk(std::string_view text, size_t begin, size_t character) {
    bool found = false;
    uint32_t node = ByteTrie::root;
    for (size_t end = begin; end < text.size();) {
      node = model.trie.next(node, static_cast<uint8_t>(text[end++]));
      if (node == ByteTrie::root)
        break;
      int32_t id = model.trie.value(node);
      if (id < 0)
        continue;
      offer(begin, end, model.scores[id] + best[begin].sum, id);
      found |= end - begin == character;
    }
    return found;
  }

  void offer(size_t begin, size_t end, Sum sum, int32_t id) {
    Node &node = best[end];
    if (node.begin == unreached || sum > node.sum)
      node = {sum, static_cast<uint32_t>(begin), id};
  }

  void collect(std::string_view text, std::vector<int32_t> &out) {
    path.clear();
    for (size_t end = text.size(); end > 0; end = best[end].begin)
      path.push_back(static_cast<uint32_t>(end));
    for (size_t i = path.size(); i-- > 0;) {
      const Node &node = best[path[i]];
      if (node.id != model.unknownId) {
        out.push_back(node.id);
        continue;
      }
      // A run of unknown characters is one, for the bytes as well.
      size_t begin = node.begin;
      while (i > 0 && best[path[i - 1]].id == model.unknownId)
        --i;
      if (!model.fallback.append(text.substr(begin, path[i] - begin), out))
        out.push_back(model.unknownId);
    }
  }

  const Unigram &model;
  std::vector<Node> best; ///< by the place where a piece ends
  std::vector<uint32_t> path;
};

template <typename Sum> std::unique_ptr<PieceModel::Session> Unigram<Sum>::open() const {
  return std::make_unique<UnigramSession>(*this);
}

} // namespace

std::unique_ptr<PieceModel> makeUnigram(const TokenizerSpec &spec) {
  if (spec.sentencePiece())
    return std::make_unique<Unigram<float>>(spec, spec.scores);
  return std::make_unique<Unigram<double>>(spec, spec.logProbabilities);
}

} // namespace llmc::rt
