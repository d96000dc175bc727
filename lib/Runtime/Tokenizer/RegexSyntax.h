//===- RegexSyntax.h - Oniguruma's syntax for PCRE2 -------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_REGEXSYNTAX_H
#define LLMC_LIB_RUNTIME_TOKENIZER_REGEXSYNTAX_H

#include <string>
#include <string_view>

namespace llmc::rt {

/// Rewrites a pattern in Oniguruma's default (Ruby) syntax so that PCRE2 with UTF, UCP and
/// MULTILINE finds the same matches. Both read most of the syntax alike; what differs:
///
///   \s \w \b \h \v, [:…:]  Unicode's white space and UTS 18's words; a hexadecimal digit; VT
///   [a[^b]&&[c]]           classes inside of classes, intersections
///   (?m)                   the dot matches a line feed, which PCRE2 spells (?s)
///   x{1,3}+  x{2}?  x{,3}  a repetition of a repetition; an option; 0 as the lower end
///   \uHHHH                 PCRE2 spells it \x{HHHH}
///
/// Throws InputError for what cannot be rewritten. What PCRE2 does not know at all it refuses.
std::string pcre2Syntax(std::string_view pattern);

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_REGEXSYNTAX_H
