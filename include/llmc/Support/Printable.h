//===- Printable.h - text of others on a terminal ---------------*- C++ -*-===//
#ifndef LLMC_SUPPORT_PRINTABLE_H
#define LLMC_SUPPORT_PRINTABLE_H

#include <string>
#include <string_view>

namespace llmc {

/// \p text with control characters written out (\x1b), so that a name in a model's file neither
/// moves the cursor nor hides what follows: those of ASCII, and those of Unicode from U+0080 to
/// U+009F. Line ends stay, unless \p line says that the text is one line: then a name cannot
/// begin another.
inline std::string printable(std::string_view text, bool line = false) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  auto write = [&](unsigned char byte) {
    out += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
  };
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      write(byte);
      write(next);
      ++i;
    } else if (byte < 0x20 ? byte != '\n' || line : byte == 0x7f) {
      write(byte);
    } else {
      out += text[i];
    }
  }
  return out;
}

} // namespace llmc

#endif // LLMC_SUPPORT_PRINTABLE_H
