//===- Charsmap.cpp - SentencePiece's precompiled normalization -----------===//
#include "Charsmap.h"

#include "Unicode.h"
#include "llmc/Support/Error.h"

#include <string>

namespace llmc::rt {
namespace {

// Published tables have keys of a few characters.
constexpr size_t maxPrefix = 256;
constexpr size_t maxReplacement = 1024;

uint32_t readU32(std::string_view bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i)
    value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

bool hasLeaf(uint32_t unit) { return unit >> 8 & 1; }
uint32_t valueOf(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t labelOf(uint32_t unit) { return unit & 0x800000FF; }
uint32_t offsetOf(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }
bool isValue(uint32_t unit) { return unit >> 31; }

[[noreturn]] void fail(const std::string &what) {
  throw InputError("precompiled_charsmap " + what + "; take the file from its source again.");
}

} // namespace

Charsmap::Charsmap(std::string_view blob) {
  if (blob.empty())
    return;
  uint32_t size = blob.size() < 4 ? 0 : readU32(blob);
  if (blob.size() < 4 || size > blob.size() - 4 || size % 4 || !size)
    fail("has " + std::to_string(blob.size()) + " bytes and a trie of " + std::to_string(size) +
         ", which is not a whole number of units that fits");
  trie = blob.substr(4, size);
  texts = blob.substr(4 + size);
  if (texts.empty() || texts.back() != '\0')
    fail("has texts that do not end in a zero byte");
  // A zero byte is a character of its own, so the texts are checked together.
  if (size_t good = validUtf8Prefix(texts); good != texts.size())
    fail("has texts that are not UTF-8, at byte " + std::to_string(good));
}

uint32_t Charsmap::unit(size_t index) const {
  // A unit without meaning: its label is that of no byte, its value points nowhere.
  return index < trie.size() / 4 ? readU32(trie.substr(index * 4, 4)) : 0xFFFFFFFF;
}

std::string_view Charsmap::textAt(uint32_t offset) const {
  size_t length = texts.find('\0', offset) - offset;
  if (length > maxReplacement)
    fail("has a text of " + std::to_string(length) + " bytes; the limit is " +
         std::to_string(maxReplacement));
  return texts.substr(offset, length);
}

Charsmap::Match Charsmap::prefix(std::string_view text, bool first) const {
  Match match;
  if (trie.empty())
    return match;
  size_t at = offsetOf(unit(0));
  for (size_t i = 0; i < text.size() && i < maxPrefix; ++i) {
    auto byte = static_cast<uint8_t>(text[i]);
    if (!byte)
      break; // label 0 is that of values
    at ^= byte;
    uint32_t found = unit(at);
    if (labelOf(found) != byte)
      break;
    at ^= offsetOf(found);
    if (!hasLeaf(found))
      continue;
    uint32_t value = unit(at);
    // Into the texts, and to the begin of a character: what comes out is always UTF-8.
    if (!isValue(value) || valueOf(value) >= texts.size() ||
        (static_cast<uint8_t>(texts[valueOf(value)]) & 0xC0) == 0x80)
      fail("has an entry for a prefix of \"" + std::string(text.substr(0, i + 1)) +
           "\" that points out of its texts");
    match = {i + 1, textAt(valueOf(value))};
    if (first)
      break;
  }
  return match;
}

} // namespace llmc::rt
