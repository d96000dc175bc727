//===- ManifestSeal.cpp - was the manifest altered? -----------------------===//

#include "llmc/Runtime/Manifest.h"
#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::rt {

static constexpr size_t digits = 64;

/// Where the value of `digest` begins. A name followed by a colon is a key, and
/// no other object of the schema has this one.
static size_t findDigest(std::string_view text, std::string_view name) {
  static constexpr std::string_view key = "\"digest\"";
  for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    size_t value = at + key.size();
    auto skipSpace = [&] {
      value = std::min(text.find_first_not_of(" \t\r\n", value), text.size());
    };
    skipSpace();
    if (value == text.size() || text[value++] != ':')
      continue;
    skipSpace();
    if (value < text.size() && text[value] == '"' && text.find('"', value + 1) == value + 1 + digits)
      return value + 1;
    throw InputError(std::string(name) + ": digest: is not a text of " + std::to_string(digits) +
                     " hexadecimal digits");
  }
  throw InputError(std::string(name) + ": digest: is missing");
}

std::string sealManifest(std::string text, std::string_view name) {
  size_t at = findDigest(text, name);
  text.replace(at, digits, std::string(digits, '0'));
  text.replace(at, digits, sha256OfText(text));
  return text;
}

void checkSeal(std::string_view text, std::string_view name) {
  std::string_view stated = text.substr(findDigest(text, name), digits);
  std::string sealed = sealManifest(std::string(text), name);
  std::string_view digest = std::string_view(sealed).substr(findDigest(sealed, name), digits);
  if (stated != digest)
    throw InputError(std::string(name) + ": digest: SHA-256 is " + std::string(digest) +
                     ", the manifest says " + std::string(stated) +
                     ". It was altered; copy or compile the artifact again. After an edit on "
                     "purpose: llmc verify DIR --reseal");
}

} // namespace llmc::rt
