//===- Bpe.cpp - byte pair encoding ---------------------------------------===//
#include "Bpe.h"

#include <algorithm>
#include <bit>

namespace llmc::rt {
namespace {

constexpr uint32_t noSymbol = ~uint32_t(0);

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

} // namespace

Bpe::Bpe(const TokenizerSpec &spec, const std::vector<std::string> &bytesOf)
    : unknownId(spec.bpeUnknownId.value_or(-1)), fuseUnknown(spec.fuseUnknown) {
  byteIds.fill(-1);
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    if (spec.tokens[id].type != TokenType::Normal || bytesOf[id].empty())
      continue;
    // Of two tokens with the same bytes the first one counts.
    if (bytesOf[id].size() == 1) {
      int32_t &slot = byteIds[static_cast<uint8_t>(bytesOf[id][0])];
      if (slot < 0)
        slot = static_cast<int32_t>(id);
    }
    if (spec.ignoreMerges)
      words.emplace(bytesOf[id], static_cast<int32_t>(id));
  }

  table.resize(std::bit_ceil(spec.merges.size() * 2 + 2));
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const BpeMerge &merge = spec.merges[rank];
    uint64_t pair = pairOf(merge.left, merge.right);
    size_t slot = hashPair(pair) & (table.size() - 1);
    while (table[slot].pair != ~uint64_t(0) && table[slot].pair != pair)
      slot = (slot + 1) & (table.size() - 1);
    if (table[slot].pair != pair)
      table[slot] = {pair, static_cast<int32_t>(rank), merge.result};
  }
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

void Bpe::Session::encode(std::string_view word, std::vector<int32_t> &out) {
  if (!bpe->words.empty()) {
    if (auto whole = bpe->words.find(word); whole != bpe->words.end()) {
      out.push_back(whole->second);
      return;
    }
  }
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

bool Bpe::Session::later(const Candidate &a, const Candidate &b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

void Bpe::Session::consider(uint32_t left) {
  uint32_t right = symbols[left].next;
  if (right == noSymbol || symbols[left].id < 0 || symbols[right].id < 0)
    return;
  const Merge *merge = bpe->find(symbols[left].id, symbols[right].id);
  if (!merge)
    return;
  heap.push_back({merge->rank, left, symbols[left].id, symbols[right].id, merge->result});
  std::push_heap(heap.begin(), heap.end(), later);
}

void Bpe::Session::merge(std::string_view word, std::vector<int32_t> &out) {
  symbols.clear();
  heap.clear();
  auto count = static_cast<uint32_t>(word.size());
  for (uint32_t i = 0; i < count; ++i)
    symbols.push_back({bpe->byteIds[static_cast<uint8_t>(word[i])], i ? i - 1 : noSymbol,
                       i + 1 < count ? i + 1 : noSymbol, 1});
  for (uint32_t i = 0; i + 1 < count; ++i)
    consider(i);

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Candidate best = heap.back();
    heap.pop_back();
    Symbol &left = symbols[best.left];
    if (left.length == 0 || left.id != best.leftId || left.next == noSymbol)
      continue;
    Symbol &right = symbols[left.next];
    if (right.id != best.rightId)
      continue;
    left.id = best.result;
    left.length += right.length;
    right.length = 0;
    left.next = right.next;
    if (left.next != noSymbol)
      symbols[left.next].previous = best.left;
    if (left.previous != noSymbol)
      consider(left.previous);
    consider(best.left);
  }

  // A byte without a piece becomes the unknown token, or nothing: the rules of
  // the published format.
  bool afterUnknown = false;
  for (uint32_t i = 0; i < count; i = symbols[i].next) {
    if (symbols[i].id >= 0)
      out.push_back(symbols[i].id);
    else if (bpe->unknownId >= 0 && !(bpe->fuseUnknown && afterUnknown))
      out.push_back(bpe->unknownId);
    afterUnknown = symbols[i].id < 0;
    if (symbols[i].next == noSymbol)
      break;
  }
}

} // namespace llmc::rt
