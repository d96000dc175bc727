//===- Regex.h - the regular expressions of tokenizers ----------*- C++ -*-===//
//
// Published tokenizers are written for Oniguruma. PCRE2 does the work; RegexSyntax.h says
// where the two differ.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_REGEX_H
#define LLMC_LIB_RUNTIME_TOKENIZER_REGEX_H

#include <memory>
#include <string>
#include <string_view>

namespace llmc::rt {

class Regex {
public:
  /// Throws InputError with PCRE2's message and the place in the pattern.
  explicit Regex(std::string_view pattern);

  /// The state one thread needs for matching.
  class Matcher {
  public:
    explicit Matcher(const Regex &regex);

    /// The first match at or after \p from in \p text, which must be
    /// well-formed UTF-8. False when there is none.
    bool find(std::string_view text, size_t from, size_t &begin, size_t &end);

  private:
    const Regex *regex;
    std::shared_ptr<void> data;
    std::shared_ptr<void> context;
    std::shared_ptr<void> jitStack;
  };

private:
  std::string source;
  std::shared_ptr<void> code;
};

/// \p text as a pattern that matches exactly it.
std::string quoteForRegex(std::string_view text);

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_REGEX_H
