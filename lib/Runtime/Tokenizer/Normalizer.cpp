//===- Normalizer.cpp - changes text before it is cut ---------------------===//
#include "Normalizer.h"

#include "ByteAlphabet.h"
#include "Unicode.h"
#include "llmc/Support/Error.h"

namespace llmc::rt {
namespace {

using Kind = NormalizerStep::Kind;

constexpr std::string_view spaceSymbol = "\u2581"; // ▁

/// Calls \p fn(code point, bytes) for every character of well-formed text.
template <typename Fn> void forCharacters(std::string_view text, Fn fn) {
  while (!text.empty()) {
    Utf8Step step = nextUtf8(text);
    fn(step.codePoint, text.substr(0, step.length));
    text.remove_prefix(step.length);
  }
}

/// The rules of Hugging Face's Nmt normalizer, made for translation models.
std::string nmt(std::string_view text) {
  auto dropped = [](char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
           c == 0x8F || c == 0x9F;
  };
  auto space = [](char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
           (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
           c == 0xFEFF || c == 0xFFFD;
  };
  std::string out;
  forCharacters(text, [&](char32_t c, std::string_view bytes) {
    if (!dropped(c))
      out += space(c) ? std::string_view(" ") : bytes;
  });
  return out;
}

std::string_view strip(std::string_view text, bool left, bool right) {
  while (left && !text.empty()) {
    Utf8Step step = nextUtf8(text);
    if (!isWhiteSpace(step.codePoint))
      break;
    text.remove_prefix(step.length);
  }
  while (right && !text.empty()) {
    std::string_view last = lastCharacter(text);
    if (!isWhiteSpace(nextUtf8(last).codePoint))
      break;
    text.remove_suffix(last.size());
  }
  return text;
}

} // namespace

std::string replaceAll(std::string_view text, std::string_view pattern, std::string_view content) {
  std::string out;
  size_t done = 0;
  for (size_t at; !pattern.empty() && (at = text.find(pattern, done)) != std::string_view::npos;) {
    out.append(text.substr(done, at - done)).append(content);
    done = at + pattern.size();
  }
  return out.append(text.substr(done));
}

std::string replaceAll(std::string_view text, Regex::Matcher &pattern, std::string_view content) {
  std::string out;
  size_t done = 0, from = 0, begin, end;
  while (from <= text.size() && pattern.find(text, from, begin, end)) {
    out.append(text.substr(done, begin - done)).append(content);
    done = end;
    from = end;
    if (begin == end) { // go on behind the next character
      if (end == text.size())
        break;
      from += nextUtf8(text.substr(end)).length;
    }
  }
  return out.append(text.substr(done));
}

Normalizer::Normalizer(const TokenizerSpec &spec) : charsmap(spec.charsmap) {
  for (const NormalizerStep &step : spec.normalizers) {
    Step &made = steps.emplace_back(Step{&step, std::nullopt});
    if (step.kind == Kind::Replace && step.regex)
      made.regex.emplace(step.pattern);
    if (step.kind == Kind::SentencePiece)
      for (size_t id = 0; id < spec.tokens.size(); ++id)
        if (spec.tokens[id].type == TokenType::UserDefined)
          userDefined.add(spec.tokens[id].text, static_cast<int32_t>(id));
  }
}

/// Whether the library's alignment of characters puts the new front behind the old one.
bool Normalizer::removesFront(const Step &step, std::string_view text) const {
  if (text.empty())
    return false;
  Utf8Step first = nextUtf8(text);
  switch (step.spec->kind) {
  case Kind::StripAccents:
    return isMark(first.codePoint);
  case Kind::Strip:
    return step.spec->left && isWhiteSpace(first.codePoint);
  case Kind::Nmt:
    return nmt(text.substr(0, first.length)).empty();
  case Kind::Replace: {
    size_t begin = 0, end = 0;
    if (step.regex)
      (void)Regex::Matcher(*step.regex).find(text, 0, begin, end);
    else if (text.starts_with(step.spec->pattern))
      end = step.spec->pattern.size();
    // What replaces several characters belongs to the last of them.
    return begin == 0 && end > (step.spec->content.empty() ? 0 : first.length);
  }
  default:
    return false;
  }
}

std::string Normalizer::run(std::string_view text, bool *frontRemoved) const {
  std::string out(text), front;
  if (frontRemoved && !text.empty())
    front = text.substr(0, nextUtf8(text).length);
  for (const Step &step : steps) {
    if (frontRemoved) {
      // Not where something is left of the first character, which a step may have split.
      front = runStep(step, front);
      bool gone = front.empty() || step.spec->kind == Kind::Replace;
      *frontRemoved |= gone && removesFront(step, out);
      // What is put before a text belongs to its front.
      *frontRemoved &= step.spec->kind != Kind::Prepend;
    }
    out = runStep(step, out);
    // Published rules make at most 18 times the text (NFKC of one character). A file that asks
    // for more than this is made to fill the memory.
    if (out.size() / 64 > text.size() + 1024)
      throw InputError("The tokenizer's normalizer makes " + std::to_string(out.size()) +
                       " bytes of a text of " + std::to_string(text.size()) +
                       "; the limit is 64 times the text.");
  }
  return out;
}

std::string Normalizer::runStep(const Step &step, std::string_view text) const {
  switch (step.spec->kind) {
  case Kind::Nfc:
    return normalizeUnicode(text, NormalForm::Nfc);
  case Kind::Nfd:
    return normalizeUnicode(text, NormalForm::Nfd);
  case Kind::Nfkc:
    return normalizeUnicode(text, NormalForm::Nfkc);
  case Kind::Nfkd:
    return normalizeUnicode(text, NormalForm::Nfkd);
  case Kind::Lowercase: {
    std::string out;
    forCharacters(text, [&](char32_t c, std::string_view) { appendLowercase(out, c); });
    return out;
  }
  case Kind::StripAccents: {
    std::string out;
    forCharacters(text, [&](char32_t c, std::string_view bytes) {
      if (!isMark(c))
        out += bytes;
    });
    return out;
  }
  case Kind::Strip:
    return std::string(strip(text, step.spec->left, step.spec->right));
  case Kind::Replace:
    if (!step.regex)
      return replaceAll(text, step.spec->pattern, step.spec->content);
    {
      Regex::Matcher matcher(*step.regex);
      return replaceAll(text, matcher, step.spec->content);
    }
  case Kind::Prepend:
    return text.empty() ? std::string() : step.spec->content + std::string(text);
  case Kind::Nmt:
    return nmt(text);
  case Kind::ByteLevel:
    return spellBytes(text);
  case Kind::Precompiled:
    return byGrapheme(text);
  case Kind::SentencePiece:
    return sentencePiece(*step.spec, text);
  }
  return std::string(text);
}

/// A short grapheme is replaced as a whole by what its shortest prefix stands for, a long one
/// character by character: the rules of Hugging Face's library, which drop what follows the
/// prefix.
std::string Normalizer::byGrapheme(std::string_view text) const {
  constexpr size_t longGrapheme = 6; // bytes
  std::string out;
  forGraphemes(text, [&](std::string_view grapheme) {
    if (grapheme.size() < longGrapheme)
      if (auto match = charsmap.shortestPrefix(grapheme); match.length)
        return void(out += match.replacement);
    forCharacters(grapheme, [&](char32_t, std::string_view character) {
      auto match = charsmap.shortestPrefix(character);
      out += match.length ? match.replacement : character;
    });
  });
  return out;
}

std::string Normalizer::sentencePiece(const NormalizerStep &step, std::string_view text) const {
  struct Part {
    std::string_view text;
    size_t consumed;
  };
  auto front = [&](std::string_view rest) -> Part {
    if (size_t length = userDefined.longestPrefix(rest))
      return {rest.substr(0, length), length};
    if (auto match = charsmap.longestPrefix(rest); match.length)
      return {match.replacement, match.length};
    Utf8Step character = nextUtf8(rest);
    if (!character.valid)
      return {"\uFFFD", 1};
    return {rest.substr(0, character.length), character.length};
  };

  if (step.removeExtraWhitespaces) {
    while (!text.empty()) {
      Part part = front(text);
      if (part.text != " ")
        break;
      text.remove_prefix(part.consumed);
    }
  }
  if (text.empty())
    return {};

  std::string out;
  out.reserve(text.size() + text.size() / 2);
  std::string_view space = step.escapeWhitespaces ? spaceSymbol : std::string_view(" ");
  if (step.addDummyPrefix && !step.whitespaceAsSuffix)
    out += space;
  bool afterSpace = step.removeExtraWhitespaces;
  while (!text.empty()) {
    Part part = front(text);
    text.remove_prefix(part.consumed);
    while (afterSpace && part.text.starts_with(' '))
      part.text.remove_prefix(1);
    for (char c : part.text) {
      if (c == ' ')
        out += space;
      else
        out += c;
    }
    if (!part.text.empty())
      afterSpace = step.removeExtraWhitespaces && part.text.ends_with(' ');
  }
  if (step.removeExtraWhitespaces)
    while (std::string_view(out).ends_with(space))
      out.resize(out.size() - space.size());
  if (step.addDummyPrefix && step.whitespaceAsSuffix)
    out += space;
  return out;
}

} // namespace llmc::rt
