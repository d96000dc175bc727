//===- Regex.cpp - the regular expressions of tokenizers ------------------===//
#define PCRE2_CODE_UNIT_WIDTH 8
#include "Regex.h"

#include "RegexSyntax.h"
#include "llmc/Support/Error.h"

#include <cctype>
#include <pcre2.h>

namespace llmc::rt {
namespace {

std::string pcreMessage(int code) {
  char buffer[256] = {};
  pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR *>(buffer), sizeof(buffer));
  return buffer;
}

} // namespace

Regex::Regex(std::string_view pattern) : source(pattern) {
  std::string translated = pcre2Syntax(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  // Multiline: in Oniguruma's default syntax ^ and $ stand at every line.
  // No \C: it could end a match inside of a character.
  // A line ends with a line feed, however this PCRE2 was built.
  std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  if (!context)
    throw Error("Out of memory while preparing a tokenizer.");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_code *compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                    &offset, context.get());
  if (!compiled)
    throw InputError("The tokenizer's pattern \"" + source + "\" is not a regular expression: " +
                     pcreMessage(error) + " (near \"" +
                     translated.substr(0, offset).substr(offset > 20 ? offset - 20 : 0) + "\").");
  code = std::shared_ptr<void>(compiled,
                               [](void *p) { pcre2_code_free(static_cast<pcre2_code *>(p)); });
  // Without JIT (a machine PCRE2 has none for) the interpreter does the work.
  pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
}

Regex::Matcher::Matcher(const Regex &regex) : regex(&regex) {
  auto *compiled = static_cast<pcre2_code *>(regex.code.get());
  data = std::shared_ptr<void>(
      pcre2_match_data_create_from_pattern(compiled, nullptr),
      [](void *p) { pcre2_match_data_free(static_cast<pcre2_match_data *>(p)); });
  context = std::shared_ptr<void>(
      pcre2_match_context_create(nullptr),
      [](void *p) { pcre2_match_context_free(static_cast<pcre2_match_context *>(p)); });
  // Groups that repeat cost stack for each round; the default of 32 KiB is
  // spent by one long word.
  jitStack = std::shared_ptr<void>(
      pcre2_jit_stack_create(32 << 10, 16 << 20, nullptr),
      [](void *p) { pcre2_jit_stack_free(static_cast<pcre2_jit_stack *>(p)); });
  if (!data || !context)
    throw Error("Out of memory while preparing a tokenizer.");
  auto *match = static_cast<pcre2_match_context *>(context.get());
  // Far above what the published patterns need; it stops a pattern that
  // backtracks without end.
  pcre2_set_match_limit(match, 200'000'000);
  if (jitStack)
    pcre2_jit_stack_assign(match, nullptr, jitStack.get());
}

bool Regex::Matcher::find(std::string_view text, size_t from, size_t &begin, size_t &end) {
  auto *compiled = static_cast<pcre2_code *>(regex->code.get());
  auto *match = static_cast<pcre2_match_data *>(data.get());
  auto *ctx = static_cast<pcre2_match_context *>(context.get());
  auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  // The check of the text is the caller's: PCRE2 would repeat it from `from`
  // to the end for each match, which is quadratic.
  int rc = pcre2_match(compiled, subject, text.size(), from, PCRE2_NO_UTF_CHECK, match, ctx);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
    rc = pcre2_match(compiled, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                     match, ctx);
  if (rc == PCRE2_ERROR_NOMATCH)
    return false;
  if (rc < 0)
    throw InputError("The tokenizer's pattern \"" + regex->source + "\" gave up at byte " +
                     std::to_string(from) + " of a text of " + std::to_string(text.size()) +
                     " bytes: " + pcreMessage(rc) + ".");
  const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(match);
  begin = offsets[0];
  end = offsets[1];
  // \K inside of a lookaround could turn the two around.
  if (begin > end)
    throw InputError("The tokenizer's pattern \"" + regex->source +
                     "\" moves the start of a match behind its end.");
  return true;
}

std::string quoteForRegex(std::string_view text) {
  std::string out;
  for (char c : text) {
    // ASCII punctuation may always be escaped; nothing else needs to be.
    if (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c)) &&
        c > ' ' && c != 0x7F)
      out += '\\';
    out += c;
  }
  return out;
}

} // namespace llmc::rt
