//===- AddedTokens.cpp - finds added tokens in a text ---------------------===//
#include "AddedTokens.h"

#include "Unicode.h"

#include <algorithm>

namespace llmc::rt {
namespace {

// Text may be any bytes (SentencePiece's): what is broken is neither white space nor a word.
bool endsWith(std::string_view text, bool (*is)(char32_t), size_t &length) {
  std::string_view last = lastCharacter(text);
  Utf8Step step = last.empty() ? Utf8Step{} : nextUtf8(last);
  length = last.size();
  return step.valid && step.length == length && is(step.codePoint);
}

bool beginsWith(std::string_view text, bool (*is)(char32_t), size_t &length) {
  Utf8Step step = text.empty() ? Utf8Step{} : nextUtf8(text);
  length = step.length;
  return step.valid && is(step.codePoint);
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
    size_t length;
    if (token.singleWord && (endsWith(text.substr(0, begin), isWordCharacter, length) ||
                             beginsWith(text.substr(end), isWordCharacter, length)))
      continue;
    if (token.lstrip)
      while (begin > done && endsWith(text.substr(done, begin - done), isWhiteSpace, length))
        begin -= length;
    if (token.rstrip)
      while (beginsWith(text.substr(end), isWhiteSpace, length))
        end += length;
    if (begin > done)
      onText(text.substr(done, begin - done));
    onToken(token.id);
    done = at = end;
  }
  if (done < text.size())
    onText(text.substr(done));
}

} // namespace llmc::rt
