//===- Regex.cpp - the regular expressions of tokenizers ------------------===//
#define PCRE2_CODE_UNIT_WIDTH 8
#include "Regex.h"

#include "llmc/Support/Error.h"

#include <cctype>
#include <pcre2.h>
#include <vector>

namespace llmc::rt {
namespace {

/// White space as Unicode defines it. PCRE2's \s has U+180E too, which stopped
/// being white space in Unicode 6.3.
constexpr std::string_view whiteSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f})"
    R"(\x{205f}\x{3000})";

/// Rewrites Oniguruma's syntax where PCRE2 would read something else into it:
/// exact white space, classes inside of classes, and intersections of classes.
class Translator {
public:
  explicit Translator(std::string_view pattern) : pattern(pattern) {}

  std::string run() {
    std::string out;
    while (at < pattern.size()) {
      if (pattern[at] == '[') {
        out += classText(readClass(0));
      } else if (pattern[at] != '\\' || at + 1 == pattern.size()) {
        out += pattern[at++];
      } else if (char next = pattern[at + 1]; next == 's' || next == 'S') {
        out += next == 's' ? "[" : "[^";
        out += whiteSpace;
        out += ']';
        at += 2;
      } else if (next == 'Q') {
        size_t end = pattern.find("\\E", at);
        end = end == std::string_view::npos ? pattern.size() : end + 2;
        out += pattern.substr(at, end - at);
        at = end;
      } else {
        out += pattern.substr(at, 2);
        at += 2;
      }
    }
    return out;
  }

private:
  struct Class {
    bool negated = false;
    std::string items;
    std::vector<Class> intersected;
  };

  Class readClass(unsigned depth) {
    if (depth > 8)
      fail("its classes are nested too deeply");
    Class result;
    ++at; // [
    if (at < pattern.size() && pattern[at] == '^') {
      result.negated = true;
      ++at;
    }
    for (bool first = true;; first = false) {
      if (at >= pattern.size())
        fail("a [ has no ]");
      char c = pattern[at];
      if (c == ']' && !first) {
        ++at;
        return result;
      }
      if (pattern.substr(at, 2) == "[:") {
        size_t end = pattern.find(":]", at + 2);
        if (end == std::string_view::npos)
          fail("a [: has no :]");
        result.items += pattern.substr(at, end + 2 - at);
        at = end + 2;
      } else if (c == '[') {
        Class inner = readClass(depth + 1);
        if (inner.negated || !inner.intersected.empty())
          fail("a negated class inside of a class is not supported");
        result.items += inner.items;
      } else if (pattern.substr(at, 3) == "&&[") {
        at += 2;
        Class inner = readClass(depth + 1);
        if (!inner.intersected.empty())
          fail("an intersection inside of an intersection is not supported");
        result.intersected.push_back(std::move(inner));
      } else if (pattern.substr(at, 2) == "&&") {
        fail("&& inside of a class is supported before a [ only");
      } else if (c == '\\' && at + 1 < pattern.size()) {
        if (pattern[at + 1] == 's')
          result.items += whiteSpace;
        else
          result.items += pattern.substr(at, 2);
        at += 2;
      } else {
        // A leading ^ or ] of an inner class loses its place, so escape it.
        if (c == '^' || c == ']')
          result.items += '\\';
        result.items += c;
        ++at;
      }
    }
  }

  std::string classText(const Class &set) {
    std::string text = set.negated ? "[^" : "[";
    text += set.items + "]";
    if (set.intersected.empty())
      return text;
    if (set.negated)
      fail("a negated intersection is not supported");
    std::string out = "(?:";
    for (const Class &inner : set.intersected)
      out += (inner.negated ? "(?![" : "(?=[") + inner.items + "])";
    return out + text + ")";
  }

  [[noreturn]] void fail(const char *why) {
    throw InputError("The pre-tokenizer pattern \"" + std::string(pattern) + "\" cannot be used: " +
                     why + ".");
  }

  std::string_view pattern;
  size_t at = 0;
};

std::string pcreMessage(int code) {
  char buffer[256] = {};
  pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR *>(buffer), sizeof(buffer));
  return buffer;
}

} // namespace

Regex::Regex(std::string_view pattern) : source(pattern) {
  std::string translated = Translator(pattern).run();
  int error = 0;
  PCRE2_SIZE offset = 0;
  // Multiline: in Oniguruma's default syntax ^ and $ stand at every line.
  // No \C: it could end a match inside of a character.
  pcre2_code *compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                    &offset, nullptr);
  if (!compiled)
    throw InputError("The pre-tokenizer pattern \"" + source + "\" is not a regular expression: " +
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
    throw Error("Out of memory while preparing a pre-tokenizer.");
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
    throw InputError("The pre-tokenizer pattern \"" + regex->source + "\" gave up at byte " +
                     std::to_string(from) + " of a text of " + std::to_string(text.size()) +
                     " bytes: " + pcreMessage(rc) + ".");
  const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(match);
  begin = offsets[0];
  end = offsets[1];
  // \K inside of a lookaround could turn the two around.
  if (begin > end)
    throw InputError("The pre-tokenizer pattern \"" + regex->source +
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
