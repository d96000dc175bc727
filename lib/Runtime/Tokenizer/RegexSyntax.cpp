//===- RegexSyntax.cpp - Oniguruma's syntax for PCRE2 ---------------------===//
#include "RegexSyntax.h"

#include "llmc/Runtime/TokenizerSpec.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace llmc::rt {
namespace {

/// White space as Unicode defines it. PCRE2's \s has U+180E too, which stopped being white
/// space in Unicode 6.3.
constexpr std::string_view whiteSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f})"
    R"(\x{205f}\x{3000})";
constexpr std::string_view word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view hexDigit = "0-9A-Fa-f";

/// The members of a set that PCRE2 has otherwise or not at all; empty where it has the same.
std::string_view setOf(char escape) {
  switch (escape) {
  case 's':
    return whiteSpace;
  case 'w':
    return word;
  case 'h':
    return hexDigit;
  default:
    return "";
  }
}

struct PosixSet {
  std::string_view name, members;
};
constexpr PosixSet posixSets[] = {
    {"alnum", R"(\p{Alphabetic}\p{Nd})"},
    {"alpha", R"(\p{Alphabetic})"},
    {"ascii", R"(\x{0}-\x{7f})"},
    {"blank", R"(\p{Zs}\t)"},
    {"cntrl", R"(\p{Cc})"},
    {"digit", R"(\p{Nd})"},
    {"lower", R"(\p{Lowercase})"},
    {"punct", R"(\p{P}$+<=>^`|~)"},
    {"space", whiteSpace},
    {"upper", R"(\p{Uppercase})"},
    {"word", word},
    {"xdigit", hexDigit},
};

class Translator {
public:
  explicit Translator(std::string_view pattern) : pattern(pattern) {}

  std::string run() {
    while (at < pattern.size()) {
      char c = pattern[at];
      if (c == '[') {
        beginAtom();
        out += readClass(0).text();
      } else if (c == '\\' && at + 1 < pattern.size()) {
        readEscape();
      } else if (c == '(') {
        readGroup();
      } else if (c == ')') {
        ++at;
        out += ')';
        // The group as a whole is what a repetition after it is about.
        if (!groups.empty()) {
          atom = groups.back();
          groups.pop_back();
        }
      } else if (c == '{' && readBraces()) {
      } else {
        if (c != '*' && c != '+' && c != '?')
          beginAtom();
        // All bytes of a character, which a repetition takes together.
        do
          out += pattern[at++];
        while (at < pattern.size() && (static_cast<uint8_t>(pattern[at]) & 0xC0) == 0x80);
      }
    }
    return std::move(out);
  }

private:
  /// What stands between [ and ], as expressions that match one character each.
  struct Set {
    std::string items;              ///< of a plain class
    std::vector<std::string> inner; ///< negated classes and intersections inside of it

    std::string text() const {
      std::string plain = items.empty() ? "" : "[" + items + "]";
      if (inner.empty())
        return plain.empty() ? "(?!)" : plain;
      std::string all = "(?:" + plain;
      for (const std::string &one : inner)
        all += (all.size() > 3 ? "|" : "") + one;
      return all + ")";
    }
  };
  struct Class {
    bool negated = false;
    std::vector<Set> operands{1}; ///< of &&

    bool plain() const { return operands.size() == 1 && operands[0].inner.empty(); }
    std::string text() const {
      if (plain() && negated)
        return operands[0].items.empty() ? "(?s:.)" : "[^" + operands[0].items + "]";
      if (plain())
        return operands[0].text();
      std::string all = "(?:";
      for (size_t i = 0; i + 1 < operands.size(); ++i)
        all += "(?=" + operands[i].text() + ")";
      all += operands.back().text() + ")";
      return negated ? "(?:(?!" + all + ")(?s:.))" : all;
    }
  };

  void beginAtom() { atom = out.size(); }

  void readEscape() {
    char next = pattern[at + 1];
    char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(next)));
    beginAtom();
    if (next == 'b' || next == 'B') {
      at += 2;
      std::string one = "[" + std::string(word) + "]";
      std::string both = "(?<=" + one + ")", neither = "(?<!" + one + ")";
      bool edge = next == 'b';
      out += "(?:" + both + (edge ? "(?!" : "(?=") + one + ")|" + neither +
             (edge ? "(?=" : "(?!") + one + "))";
    } else if (std::string_view set = setOf(lower); !set.empty()) {
      at += 2;
      out += (next == lower ? "[" : "[^") + std::string(set) + "]";
    } else if (next == 'Q' || next == 'E') {
      fail(std::string("\\") + next + " is not in Oniguruma's syntax");
    } else {
      out += plainEscape();
    }
  }

  /// An escape that means the same inside of a class, at the place that is read.
  std::string plainEscape() {
    char next = pattern[at + 1];
    if (next == 'v') {
      at += 2;
      return "\\x{b}";
    }
    if (next == 'u') {
      std::string_view digits = pattern.substr(at + 2, 4);
      if (digits.size() != 4 || !std::all_of(digits.begin(), digits.end(), [](char c) {
            return std::isxdigit(static_cast<unsigned char>(c));
          }))
        fail("a \\u has no four hexadecimal digits");
      at += 6;
      return "\\x{" + std::string(digits) + "}";
    }
    size_t begin = at;
    at += 2;
    // \p{…}, \x{…}, \k<…>: their braces are no repetition.
    if ((next == 'p' || next == 'P' || next == 'x' || next == 'o') && at < pattern.size() &&
        pattern[at] == '{') {
      size_t end = pattern.find('}', at);
      if (end == std::string_view::npos)
        fail("a { has no }");
      at = end + 1;
    }
    while (at < pattern.size() && (static_cast<uint8_t>(pattern[at]) & 0xC0) == 0x80)
      ++at;
    return std::string(pattern.substr(begin, at - begin));
  }

  void readGroup() {
    if (groups.size() >= 250)
      fail("its groups are nested too deeply");
    beginAtom();
    ++at;
    if (pattern.substr(at, 2) == "?#")
      fail("a comment is not supported");
    bool open = true;
    out += '(';
    if (at < pattern.size() && pattern[at] == '?') {
      size_t flags = at + 1, end = flags;
      while (end < pattern.size() && std::string_view("imx-").find(pattern[end]) != std::string::npos)
        ++end;
      bool isFlags = end > flags && end < pattern.size() &&
                     (pattern[end] == ':' || pattern[end] == ')');
      if (isFlags) {
        std::string text(pattern.substr(at, end + 1 - at));
        if (text.find('x') != std::string::npos)
          fail("the extended form (?x) is not supported");
        std::replace(text.begin(), text.end(), 'm', 's');
        out += text;
        at = end + 1;
        open = text.back() == ':';
      } else {
        // ?: ?= ?! ?> ?<= ?<! ?<name>: the same in both.
        out += pattern[at++];
      }
    }
    if (open)
      groups.push_back(atom);
  }

  /// {n}, {n,}, {n,m} and {,m} with what follows; false where this is a brace as any other.
  bool readBraces() {
    size_t end = at + 1;
    size_t comma = std::string_view::npos, digits = 0;
    for (; end < pattern.size() && pattern[end] != '}'; ++end) {
      if (pattern[end] == ',' && comma == std::string_view::npos)
        comma = end;
      else if (std::isdigit(static_cast<unsigned char>(pattern[end])))
        ++digits;
      else
        return false;
    }
    if (end >= pattern.size() || !digits)
      return false;
    std::string braces(pattern.substr(at, end + 1 - at));
    if (comma == at + 1)
      braces.insert(1, "0");
    at = end + 1;
    out += braces;
    char next = at < pattern.size() ? pattern[at] : '\0';
    if (next == '+' || (next == '?' && comma == std::string_view::npos)) {
      // Possessive and lazy for PCRE2, one more repetition for Oniguruma.
      out.insert(std::min(atom, out.size()), "(?:");
      out += ')';
    }
    return true;
  }

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
      Set &set = result.operands.back();
      char c = pattern[at];
      if (c == ']' && !first) {
        ++at;
        return result;
      }
      if (pattern.substr(at, 2) == "[:") {
        readPosix(set);
      } else if (c == '[') {
        Class inner = readClass(depth + 1);
        if (inner.plain() && !inner.negated)
          set.items += inner.operands[0].items;
        else
          set.inner.push_back(inner.text());
      } else if (pattern.substr(at, 2) == "&&") {
        at += 2;
        result.operands.emplace_back();
      } else if (c == '\\' && at + 1 < pattern.size()) {
        char next = pattern[at + 1];
        char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(next)));
        std::string_view members = setOf(lower);
        if (members.empty())
          set.items += plainEscape();
        else if (at += 2; next == lower)
          set.items += members;
        else
          set.inner.push_back("[^" + std::string(members) + "]");
      } else {
        // A leading ^ or ] of an inner class loses its place, so escape it.
        if (c == '^' || c == ']')
          set.items += '\\';
        set.items += c;
        ++at;
      }
    }
  }

  void readPosix(Set &set) {
    size_t end = pattern.find(":]", at + 2);
    if (end == std::string_view::npos)
      fail("a [: has no :]");
    std::string_view name = pattern.substr(at + 2, end - at - 2);
    at = end + 2;
    bool negated = name.starts_with('^');
    if (negated)
      name.remove_prefix(1);
    for (const PosixSet &known : posixSets) {
      if (known.name != name)
        continue;
      if (negated)
        set.inner.push_back("[^" + std::string(known.members) + "]");
      else
        set.items += known.members;
      return;
    }
    fail("[:" + std::string(name) + ":] is not supported");
  }

  [[noreturn]] void fail(const std::string &why) {
    throw UnsupportedTokenizer("The tokenizer's pattern \"" + std::string(pattern) + "\" cannot be used: " + why + ".");
  }

  std::string_view pattern;
  size_t at = 0;
  std::string out; ///< fits in memory: a rewritten atom has at most some 200 bytes
  size_t atom = 0;            ///< where the last atom begins in `out`
  std::vector<size_t> groups; ///< the same of the groups that are open
};

} // namespace

std::string pcre2Syntax(std::string_view pattern) { return Translator(pattern).run(); }

} // namespace llmc::rt
