//===- Unicode.cpp - UTF-8 for tokenizers and templates -------------------===//
#include "Unicode.h"

#include "llmc/Support/Error.h"

#include <algorithm>
#include <limits>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <vector>

namespace llmc::rt {

Utf8Step nextUtf8(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint8_t lead = byte(0);
  if (lead < 0x80)
    return {1, true, false, lead};

  // Table 3-7 of the Unicode standard: what may follow a lead byte. Only the
  // second byte has a range of its own.
  uint32_t length;
  uint8_t low = 0x80, high = 0xBF;
  char32_t codePoint;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    codePoint = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    codePoint = lead & 0x0F;
    if (lead == 0xE0)
      low = 0xA0;
    else if (lead == 0xED)
      high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    codePoint = lead & 0x07;
    if (lead == 0xF0)
      low = 0x90;
    else if (lead == 0xF4)
      high = 0x8F;
  } else {
    return {1, false, false, 0xFFFD};
  }
  for (uint32_t i = 1; i < length; ++i) {
    if (i >= text.size())
      return {i, false, true, 0xFFFD};
    uint8_t next = byte(i);
    if (next < low || next > high)
      return {i, false, false, 0xFFFD};
    codePoint = (codePoint << 6) | (next & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {length, true, false, codePoint};
}

void appendUtf8(std::string &out, char32_t c) {
  auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

size_t validUtf8Prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    Utf8Step step = nextUtf8(text.substr(at));
    if (!step.valid)
      return at;
    at += step.length;
  }
  return at;
}

size_t appendReplacingInvalid(std::string &out, std::string_view text, bool keepTail) {
  while (!text.empty()) {
    size_t good = validUtf8Prefix(text);
    out.append(text.substr(0, good));
    text.remove_prefix(good);
    if (text.empty())
      break;
    Utf8Step step = nextUtf8(text);
    if (step.truncated && keepTail)
      return text.size();
    appendUtf8(out, 0xFFFD);
    text.remove_prefix(step.length);
  }
  return 0;
}

std::string toNfc(std::string_view text) {
  // Nothing below U+0300, whose first byte is 0xCC, is changed by NFC.
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0xCC; }))
    return std::string(text);
  // ICU counts in int32_t, and NFC may triple the number of UTF-16 units.
  if (text.size() > std::numeric_limits<int32_t>::max() / 4)
    throw InputError("A text of " + std::to_string(text.size()) +
                     " bytes is too long for Unicode normalization; the limit is 512 MiB.");

  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2 *nfc = unorm2_getNFCInstance(&status);
  std::vector<UChar> wide(text.size());
  int32_t wideLength = 0;
  u_strFromUTF8(wide.data(), static_cast<int32_t>(wide.size()), &wideLength, text.data(),
                static_cast<int32_t>(text.size()), &status);
  std::vector<UChar> normal(static_cast<size_t>(wideLength) * 3 + 1);
  int32_t normalLength =
      unorm2_normalize(nfc, wide.data(), wideLength, normal.data(),
                       static_cast<int32_t>(normal.size()), &status);
  std::string out(static_cast<size_t>(std::max(normalLength, 0)) * 3, '\0');
  int32_t outLength = 0;
  u_strToUTF8(out.data(), static_cast<int32_t>(out.size()), &outLength, normal.data(),
              normalLength, &status);
  // A result that fills its buffer exactly is reported as "not terminated",
  // which is a warning and not a failure.
  if (U_FAILURE(status))
    throw InternalError(std::string("Unicode normalization failed: ") + u_errorName(status));
  out.resize(static_cast<size_t>(outLength));
  return out;
}

} // namespace llmc::rt
