//===- PieceTable.cpp - finds pieces by their text ------------------------===//
#include "PieceTable.h"

#include "llmc/Support/Error.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace llmc::rt {
namespace {

constexpr uint64_t golden = 0x9E3779B97F4A7C15; // the odd number next to 2^64 / golden ratio

/// Eight bytes a step; pieces are short.
uint32_t hashText(std::string_view text) {
  uint64_t hash = text.size() * golden;
  while (text.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, text.data(), 8);
    hash = (hash ^ word) * golden;
    hash ^= hash >> 29;
    text.remove_prefix(8);
  }
  uint64_t word = 0;
  std::memcpy(&word, text.data(), text.size());
  hash = (hash ^ word) * golden;
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

} // namespace

PieceTable::PieceTable(size_t count) : slots(std::bit_ceil(count + count / 2 + 2)) {
  entries.reserve(count);
}

size_t PieceTable::slotOf(std::string_view text, uint32_t hash) const {
  for (size_t slot = hash & (slots.size() - 1);; slot = (slot + 1) & (slots.size() - 1)) {
    if (!slots[slot].entry)
      return slot;
    const Entry &entry = entries[slots[slot].entry - 1];
    if (slots[slot].hash == hash && std::string_view(entry.text, entry.size) == text)
      return slot;
  }
}

bool PieceTable::add(std::string_view text, int32_t id) {
  uint32_t hash = hashText(text);
  Slot &slot = slots[slotOf(text, hash)];
  if (slot.entry)
    return false;
  entries.push_back({text.data(), static_cast<uint32_t>(text.size()), id});
  slot = {hash, static_cast<uint32_t>(entries.size())};
  longest = std::max(longest, text.size());
  return true;
}

int32_t PieceTable::find(std::string_view text) const {
  if (text.size() > longest)
    return -1;
  uint32_t entry = slots[slotOf(text, hashText(text))].entry;
  return entry ? entries[entry - 1].id : -1;
}

ByteTrie::ByteTrie() : keys(16), targets(16), values(1, -1) {}

size_t ByteTrie::slotOf(uint64_t key) const {
  size_t slot = (key * golden) >> 32 & (keys.size() - 1);
  while (keys[slot] && keys[slot] != key)
    slot = (slot + 1) & (keys.size() - 1);
  return slot;
}

// A key is never 0: its lowest bit is set.
static uint64_t edgeKey(uint32_t node, uint8_t byte) {
  return uint64_t(node) << 16 | uint64_t(byte) << 1 | 1;
}

void ByteTrie::grow() {
  std::vector<uint64_t> oldKeys(keys.size() * 2);
  std::vector<uint32_t> oldTargets(keys.size() * 2);
  std::swap(keys, oldKeys);
  std::swap(targets, oldTargets);
  for (size_t i = 0; i < oldKeys.size(); ++i) {
    if (!oldKeys[i])
      continue;
    size_t slot = slotOf(oldKeys[i]);
    keys[slot] = oldKeys[i];
    targets[slot] = oldTargets[i];
  }
}

uint32_t ByteTrie::next(uint32_t node, uint8_t byte) const {
  return targets[slotOf(edgeKey(node, byte))]; // 0, the root, where the slot is free
}

void ByteTrie::add(std::string_view text, int32_t value) {
  if (text.empty())
    return;
  uint32_t node = root;
  for (char c : text) {
    if (values.size() * 2 > keys.size())
      grow();
    size_t slot = slotOf(edgeKey(node, static_cast<uint8_t>(c)));
    if (!keys[slot]) {
      keys[slot] = edgeKey(node, static_cast<uint8_t>(c));
      targets[slot] = static_cast<uint32_t>(values.size());
      values.push_back(-1);
    }
    node = targets[slot];
  }
  if (values[node] < 0)
    values[node] = value;
}

size_t ByteTrie::longestPrefix(std::string_view text, int32_t *value) const {
  size_t longest = 0;
  uint32_t node = root;
  for (size_t i = 0; i < text.size(); ++i) {
    node = next(node, static_cast<uint8_t>(text[i]));
    if (node == root)
      break;
    if (values[node] >= 0) {
      longest = i + 1;
      if (value)
        *value = values[node];
    }
  }
  return longest;
}

} // namespace llmc::rt
