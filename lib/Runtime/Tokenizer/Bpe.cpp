//===- Bpe.cpp - byte pair encoding ---------------------------------------===//
//
// Sennrich et al. 2016, over bytes or characters: of all neighbours that a merge is for, those
// of the lowest rank are joined first, of equal ranks the leftmost.
//
//===----------------------------------------------------------------------===//
#include "ByteAlphabet.h"
#include "PairQueue.h"
#include "PieceModel.h"

#include <bit>
#include <unordered_map>

namespace llmc::rt {
namespace {

// The cache of one call: enough for the words of a book, small in memory.
constexpr size_t maxCachedWord = 64;
constexpr size_t maxCachedWords = 1 << 16;

uint64_t pairOf(int32_t left, int32_t right) {
  return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
}

size_t hashPair(uint64_t pair) {
  pair *= 0x9E3779B97F4A7C15; // the odd number next to 2^64 / golden ratio
  return pair ^ pair >> 32;
}

class Bpe final : public PieceModel {
public:
  explicit Bpe(const TokenizerSpec &spec);
  std::unique_ptr<Session> open() const override;

private:
  class BpeSession;

  struct Merge {
    uint64_t pair = ~uint64_t(0); ///< left id, right id; all ones: no entry
    int32_t rank = 0;
    int32_t result = 0;
  };
  const Merge *find(int32_t left, int32_t right) const;
  void addByteLevelPieces(const TokenizerSpec &spec);

  bool byteLevel, ignoreMerges, fuseUnknown;
  int32_t unknownId;
  std::array<int32_t, 256> byteIds; ///< byte-level: -1 where a byte has no piece
  std::string bytes;                ///< byte-level with ignoreMerges: what `pieces` views
  PieceTable pieces;
  ByteFallback fallback;
  std::vector<Merge> table; ///< open addressing, a power of two
};

class Bpe::BpeSession final : public PieceModel::Session {
public:
  explicit BpeSession(const Bpe &bpe) : bpe(&bpe) {}

  void encode(std::string_view word, std::vector<int32_t> &out) override {
    if (bpe->ignoreMerges)
      if (int32_t whole = bpe->pieces.find(word); whole >= 0)
        return out.push_back(whole);
    if (word.size() > maxCachedWord)
      return merge(word, out);
    std::string key(word);
    auto cached = cache.find(key);
    if (cached == cache.end()) {
      std::vector<int32_t> ids;
      merge(word, ids);
      if (cache.size() >= maxCachedWords)
        cache.clear();
      cached = cache.emplace(std::move(key), std::move(ids)).first;
    }
    out.insert(out.end(), cached->second.begin(), cached->second.end());
  }

private:
  void merge(std::string_view word, std::vector<int32_t> &out) {
    queue.clear();
    addSymbols(word);
    queue.run([&](uint32_t left) {
      const auto &symbols = queue.symbols;
      if (const Merge *merge = bpe->find(symbols[left].id, symbols[symbols[left].next].id))
        queue.wait(merge->rank, left, merge->result);
    });
    for (const auto &symbol : queue.symbols)
      if (symbol.length)
        out.push_back(symbol.id);
  }

  /// The published rules, with their order: an unknown token waits for the next known
  /// character, so it comes behind bytes that stand for a character between the two. What has
  /// neither a piece nor a stand-in leaves no gap.
  void addSymbols(std::string_view word) {
    uint32_t unknownBegin = 0, unknownLength = 0;
    auto flushUnknown = [&] {
      if (unknownLength)
        queue.add(bpe->unknownId, unknownBegin, unknownLength);
      unknownLength = 0;
    };
    for (size_t at = 0; at < word.size();) {
      size_t length = bpe->byteLevel ? 1 : characterLength(word[at]);
      std::string_view character = word.substr(at, length);
      auto begin = static_cast<uint32_t>(at);
      at += length;
      int32_t id = bpe->byteLevel ? bpe->byteIds[static_cast<uint8_t>(character[0])]
                                  : bpe->pieces.find(character);
      if (id >= 0) {
        flushUnknown();
        queue.add(id, begin, static_cast<uint32_t>(length));
        continue;
      }
      scratch.clear();
      if (bpe->fallback.append(bpe->byteLevel ? byteSpelling(static_cast<uint8_t>(character[0]))
                                              : character,
                               scratch)) {
        for (int32_t byte : scratch)
          queue.add(byte, begin, 1);
        continue;
      }
      if (bpe->unknownId < 0)
        continue;
      if (unknownLength && !bpe->fuseUnknown)
        flushUnknown();
      if (!unknownLength)
        unknownBegin = begin;
      unknownLength += static_cast<uint32_t>(length);
    }
    flushUnknown();
  }

  const Bpe *bpe;
  std::unordered_map<std::string, std::vector<int32_t>> cache;
  std::vector<int32_t> scratch;
  PairQueue<int32_t> queue;
};

Bpe::Bpe(const TokenizerSpec &spec)
    : byteLevel(spec.byteLevel()), ignoreMerges(spec.ignoreMerges), fuseUnknown(spec.fuseUnknown),
      unknownId(spec.modelUnknownId.value_or(-1)),
      pieces(byteLevel && !ignoreMerges ? 0 : spec.tokens.size()), fallback(spec) {
  byteIds.fill(-1);
  // Of two tokens with the same text the first one counts.
  if (byteLevel)
    addByteLevelPieces(spec);
  else
    for (size_t id = 0; id < spec.tokens.size(); ++id)
      if (spec.tokens[id].type == TokenType::Normal || spec.tokens[id].type == TokenType::Byte)
        pieces.add(spec.tokens[id].text, static_cast<int32_t>(id));

  table.resize(std::bit_ceil(spec.merges.size() * 2 + 2));
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const BpeMerge &merge = spec.merges[rank];
    uint64_t pair = pairOf(merge.left, merge.right);
    size_t slot = hashPair(pair) & (table.size() - 1);
    while (table[slot].pair != ~uint64_t(0) && table[slot].pair != pair)
      slot = (slot + 1) & (table.size() - 1);
    // The last one of a pair that is listed twice, as in the published library.
    table[slot] = {pair, static_cast<int32_t>(rank), merge.result};
  }
}

void Bpe::addByteLevelPieces(const TokenizerSpec &spec) {
  std::vector<size_t> ends(ignoreMerges ? spec.tokens.size() : 0);
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    size_t begin = bytes.size();
    const TokenEntry &token = spec.tokens[id];
    if (token.type == TokenType::Normal || token.type == TokenType::Byte)
      unspellBytes(token.text, bytes);
    if (bytes.size() == begin + 1) {
      int32_t &slot = byteIds[static_cast<uint8_t>(bytes.back())];
      if (slot < 0)
        slot = static_cast<int32_t>(id);
    }
    if (ignoreMerges)
      ends[id] = bytes.size();
    else
      bytes.clear();
  }
  for (size_t id = 0, begin = 0; id < ends.size(); begin = ends[id++])
    if (ends[id] > begin)
      pieces.add(std::string_view(bytes).substr(begin, ends[id] - begin),
                 static_cast<int32_t>(id));
}

const Bpe::Merge *Bpe::find(int32_t left, int32_t right) const {
  uint64_t pair = pairOf(left, right);
  for (size_t slot = hashPair(pair) & (table.size() - 1);; slot = (slot + 1) & (table.size() - 1)) {
    if (table[slot].pair == pair)
      return &table[slot];
    if (table[slot].pair == ~uint64_t(0))
      return nullptr;
  }
}

std::unique_ptr<PieceModel::Session> Bpe::open() const {
  return std::make_unique<BpeSession>(*this);
}

} // namespace

std::unique_ptr<PieceModel> makeBpe(const TokenizerSpec &spec) {
  return std::make_unique<Bpe>(spec);
}

} // namespace llmc::rt
