//===- Printable.h - text of others on a terminal ---------------*- C++ -*-===//
#ifndef LLMC_SUPPORT_PRINTABLE_H
#define LLMC_SUPPORT_PRINTABLE_H

#include <string>
#include <string_view>

namespace llmc {

/// \p text with control characters written out (\x1b), so that a name in a model's file neither
/// moves the cursor nor hides what follows. Line ends stay.
inline std::string printable(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7f) || c == '\n')
      out += c;
    else
      out += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
  }
  return out;
}

} // namespace llmc

#endif // LLMC_SUPPORT_PRINTABLE_H
