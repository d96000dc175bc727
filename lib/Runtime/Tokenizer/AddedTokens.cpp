//===- AddedTokens.cpp - finds added tokens in a text ---------------------===//
#include "AddedTokens.h"

#include "Regex.h"
#include "Unicode.h"

#include <algorithm>

namespace llmc::rt {
namespace {

bool isContinuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

std::string_view lastCharacter(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && isContinuation(text[begin - 1]))
    --begin;
  return text.substr(begin ? begin - 1 : 0);
}

std::string_view firstCharacter(std::string_view text) {
  return text.substr(0, text.empty() ? 0 : nextUtf8(text).length);
}

bool matchesOne(const Regex &regex, std::string_view character) {
  if (character.empty() || !nextUtf8(character).valid)
    return false;
  size_t begin, end;
  return Regex::Matcher(regex).find(character, 0, begin, end);
}

bool isSpace(std::string_view character) {
  static const Regex regex(R"(\s)");
  return matchesOne(regex, character);
}

/// A word character of Unicode's UTS 18.
bool isWord(std::string_view character) {
  static const Regex regex(R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}])");
  return matchesOne(regex, character);
}

} // namespace

AddedTokens::AddedTokens() : nodes(1) {}

void AddedTokens::add(const AddedToken &token) {
  if (token.content.empty())
    return;
  uint32_t node = 0;
  for (char c : token.content) {
    auto byte = static_cast<uint8_t>(c);
    uint32_t next = 0;
    if (node == 0) {
      next = first[byte];
    } else {
      for (const Edge &edge : nodes[node].edges)
        if (edge.byte == byte)
          next = edge.node;
    }
    if (!next) {
      next = static_cast<uint32_t>(nodes.size());
      nodes.emplace_back();
      if (node == 0)
        first[byte] = next;
      else
        nodes[node].edges.push_back({byte, next});
    }
    node = next;
  }
  // Of two tokens with the same text the first one counts.
  if (nodes[node].token < 0) {
    nodes[node].token = static_cast<int32_t>(tokens.size());
    tokens.push_back(token);
  }
}

int32_t AddedTokens::longestAt(std::string_view text, size_t at, bool parseSpecial) const {
  int32_t best = -1;
  uint32_t node = first[static_cast<uint8_t>(text[at])];
  while (node) {
    int32_t token = nodes[node].token;
    if (token >= 0 && (parseSpecial || !tokens[token].special))
      best = token;
    if (++at == text.size())
      break;
    auto byte = static_cast<uint8_t>(text[at]);
    const auto &edges = nodes[node].edges;
    auto edge =
        std::find_if(edges.begin(), edges.end(), [&](const Edge &e) { return e.byte == byte; });
    node = edge == edges.end() ? 0 : edge->node;
  }
  return best;
}

void AddedTokens::split(std::string_view text, bool parseSpecial,
                        const std::function<void(std::string_view)> &onText,
                        const std::function<void(int32_t)> &onToken) const {
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    int32_t found = tokens.empty() ? -1 : longestAt(text, at, parseSpecial);
    if (found < 0) {
      ++at;
      continue;
    }
    const AddedToken &token = tokens[found];
    size_t begin = at, end = at + token.content.size();
    at = end; // whether it counts or not, the search goes on behind it
    if (token.singleWord &&
        (isWord(lastCharacter(text.substr(0, begin))) || isWord(firstCharacter(text.substr(end)))))
      continue;
    if (token.lstrip)
      for (std::string_view c; begin > done; begin -= c.size())
        if (c = lastCharacter(text.substr(done, begin - done)); !isSpace(c))
          break;
    if (token.rstrip)
      for (std::string_view c; end < text.size(); end += c.size())
        if (c = firstCharacter(text.substr(end)); !isSpace(c))
          break;
    if (begin > done)
      onText(text.substr(done, begin - done));
    onToken(token.id);
    done = at = end;
  }
  if (done < text.size())
    onText(text.substr(done));
}

} // namespace llmc::rt
