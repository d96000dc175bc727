//===- ByteAlphabet.cpp - the GPT-2 spelling of bytes ---------------------===//
#include "ByteAlphabet.h"

#include "Unicode.h"

#include <array>

namespace llmc::rt {
namespace {

struct Alphabet {
  std::array<std::string, 256> spelling;
  std::array<int16_t, 512> byteOf; ///< by code point; -1 outside of the alphabet

  Alphabet() {
    byteOf.fill(-1);
    char32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      bool printable =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      char32_t codePoint = printable ? byte : next++;
      appendUtf8(spelling[byte], codePoint);
      byteOf[codePoint] = static_cast<int16_t>(byte);
    }
  }
};

const Alphabet &alphabet() {
  static const Alphabet instance;
  return instance;
}

} // namespace

std::string_view byteSpelling(uint8_t byte) { return alphabet().spelling[byte]; }

std::string spellBytes(std::string_view bytes) {
  const Alphabet &table = alphabet();
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 4);
  for (char c : bytes)
    out += table.spelling[static_cast<uint8_t>(c)];
  return out;
}

bool unspellBytes(std::string_view spelling, std::string &out) {
  const Alphabet &table = alphabet();
  size_t before = out.size();
  while (!spelling.empty()) {
    Utf8Step step = nextUtf8(spelling);
    if (!step.valid || step.codePoint >= table.byteOf.size() ||
        table.byteOf[step.codePoint] < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<char>(table.byteOf[step.codePoint]));
    spelling.remove_prefix(step.length);
  }
  return true;
}

} // namespace llmc::rt
