//===- SpecBuilder.cpp - what both makers of a spec share -----------------===//
#include "SpecBuilder.h"

#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::rt {

PieceIndex::PieceIndex(const TokenizerSpec &spec) {
  ids.reserve(spec.tokens.size());
  // Normal tokens first: only they are what merges are made of, should an
  // added token have the same text.
  for (bool normal : {true, false})
    for (size_t id = 0; id < spec.tokens.size(); ++id)
      if ((spec.tokens[id].type == TokenType::Normal) == normal)
        ids.emplace(spec.tokens[id].text, static_cast<int32_t>(id));
}

int32_t PieceIndex::find(std::string_view text) const {
  auto it = ids.find(text);
  return it == ids.end() ? -1 : it->second;
}

BpeMerge PieceIndex::resolve(size_t rank, std::string_view left, std::string_view right) const {
  std::string joined = std::string(left) + std::string(right);
  BpeMerge merge{find(left), find(right), find(joined)};
  for (auto [id, text] : {std::pair(merge.left, left), std::pair(merge.right, right),
                          std::pair(merge.result, std::string_view(joined))})
    if (id < 0)
      throw InputError("Merge " + std::to_string(rank) + " of the tokenizer (\"" +
                       std::string(left) + "\" with \"" + std::string(right) + "\") needs \"" +
                       std::string(text) + "\", which is not in the vocabulary.");
  return merge;
}

std::pair<std::string_view, std::string_view> splitMerge(size_t rank, std::string_view merge) {
  // A piece of the byte alphabet has no space in it, but be lenient about one
  // at the very front, as every reader of this format is.
  size_t space = merge.find(' ', 1);
  if (merge.size() < 3 || space == std::string_view::npos || space + 1 == merge.size())
    throw InputError("Merge " + std::to_string(rank) + " of the tokenizer is \"" +
                     std::string(merge) + "\" and not two pieces with a space between them.");
  return {merge.substr(0, space), merge.substr(space + 1)};
}

void addEndOfGeneration(TokenizerSpec &spec, int32_t id) {
  auto &ids = spec.endOfGenerationIds;
  if (std::find(ids.begin(), ids.end(), id) == ids.end())
    ids.push_back(id);
}

} // namespace llmc::rt
