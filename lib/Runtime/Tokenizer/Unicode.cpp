//===- Unicode.cpp - UTF-8 for tokenizers and templates -------------------===//
#include "Unicode.h"

#include "llmc/Support/Error.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <unicode/utext.h>
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

namespace {

const UNormalizer2 *normalizerOf(NormalForm form, UErrorCode &status) {
  switch (form) {
  case NormalForm::Nfc:
    return unorm2_getNFCInstance(&status);
  case NormalForm::Nfd:
    return unorm2_getNFDInstance(&status);
  case NormalForm::Nfkc:
    return unorm2_getNFKCInstance(&status);
  case NormalForm::Nfkd:
    return unorm2_getNFKDInstance(&status);
  }
  return nullptr;
}

void checkIcu(UErrorCode status, const char *what) {
  // A result that fills its buffer exactly is reported as "not terminated", which is a warning
  // and not a failure.
  if (U_FAILURE(status))
    throw InternalError(std::string(what) + " failed: " + u_errorName(status));
}

/// ICU counts in int32_t, and a normal form may have 18 times the text (U+FDFA).
void checkLength(std::string_view text) {
  if (text.size() > std::numeric_limits<int32_t>::max() / 64)
    throw InputError("A text of " + std::to_string(text.size()) +
                     " bytes is too long for Unicode normalization; the limit is 32 MiB. Cut it.");
}

} // namespace

std::string normalizeUnicode(std::string_view text, NormalForm form) {
  // No form changes ASCII, and NFC nothing below U+0300, whose first byte is 0xCC.
  uint8_t changed = form == NormalForm::Nfc ? 0xCC : 0x80;
  if (std::all_of(text.begin(), text.end(),
                  [&](char c) { return static_cast<uint8_t>(c) < changed; }))
    return std::string(text);
  checkLength(text);
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2 *normalizer = normalizerOf(form, status);
  std::vector<UChar> wide(text.size());
  int32_t wideLength = 0;
  u_strFromUTF8(wide.data(), static_cast<int32_t>(wide.size()), &wideLength, text.data(),
                static_cast<int32_t>(text.size()), &status);
  checkIcu(status, "Unicode normalization");
  std::vector<UChar> normal(static_cast<size_t>(wideLength) * 3 + 1);
  auto normalize = [&] {
    return unorm2_normalize(normalizer, wide.data(), wideLength, normal.data(),
                            static_cast<int32_t>(normal.size()), &status);
  };
  int32_t normalLength = normalize();
  if (status == U_BUFFER_OVERFLOW_ERROR) { // it says what it needs
    status = U_ZERO_ERROR;
    normal.resize(static_cast<size_t>(normalLength) + 1);
    normalLength = normalize();
  }
  checkIcu(status, "Unicode normalization");
  std::string out(static_cast<size_t>(std::max(normalLength, 0)) * 3, '\0');
  int32_t outLength = 0;
  u_strToUTF8(out.data(), static_cast<int32_t>(out.size()), &outLength, normal.data(),
              normalLength, &status);
  checkIcu(status, "Unicode normalization");
  out.resize(static_cast<size_t>(outLength));
  return out;
}

void appendLowercase(std::string &out, char32_t c) {
  // The one character whose lower case is two whatever stands around it.
  if (c == 0x130)
    out += "i\u0307";
  else
    appendUtf8(out, static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
}

bool isWhiteSpace(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)); }

bool isMark(char32_t c) { return U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_M_MASK; }

bool isWordCharacter(char32_t c) {
  auto point = static_cast<UChar32>(c);
  return u_hasBinaryProperty(point, UCHAR_ALPHABETIC) ||
         (U_GET_GC_MASK(point) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) ||
         u_hasBinaryProperty(point, UCHAR_JOIN_CONTROL);
}

std::string_view lastCharacter(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && text.size() - begin < 3 &&
         (static_cast<uint8_t>(text[begin - 1]) & 0xC0) == 0x80)
    --begin;
  return text.substr(begin ? begin - 1 : 0);
}

void forGraphemes(std::string_view text, const std::function<void(std::string_view)> &fn) {
  checkLength(text);
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<UText, decltype(&utext_close)> wide(
      utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &status),
      utext_close);
  // The root locale: the rules of the standard without tailoring.
  std::unique_ptr<UBreakIterator, decltype(&ubrk_close)> breaks(
      ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &status), ubrk_close);
  checkIcu(status, "Finding graphemes");
  ubrk_setUText(breaks.get(), wide.get(), &status);
  checkIcu(status, "Finding graphemes");
  int32_t begin = ubrk_first(breaks.get());
  for (int32_t end; (end = ubrk_next(breaks.get())) != UBRK_DONE; begin = end)
    fn(text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

} // namespace llmc::rt
