//===- GgufParts.cpp - a GGUF model in one file or several ----------------===//
//
// A model that was split stands in NAME-00001-of-0000N.gguf to the last of N.
// The first part has the metadata, the others have tensors; whichever is named,
// all are opened.
//
//===----------------------------------------------------------------------===//
#include "GgufReader.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace fs = std::filesystem;

namespace llmc::frontend {

namespace {

constexpr size_t digits = 5;
/// "-00001-of-00003.gguf"
constexpr size_t endingSize = 2 * digits + 10;

std::string numbered(int64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%05lld", static_cast<long long>(value));
  return text;
}

std::string endingOf(int64_t number, int64_t count) {
  return "-" + numbered(number + 1) + "-of-" + numbered(count) + ".gguf";
}

/// NAME of a part's path; throws when its name is not that of the part it says it is.
std::string prefixOf(const std::string &path, const GgufSplit &split) {
  std::string expected = endingOf(split.number.value_or(0), *split.count);
  if (path.size() <= endingSize || !path.ends_with(expected))
    throw InputError(path + ": is part " + std::to_string(split.number.value_or(0) + 1) + " of " +
                     std::to_string(*split.count) +
                     " (split.no, split.count), so its name must end in " + expected +
                     "; keep all parts side by side under the names they were published with. "
                     "Parts that were joined by concatenation cannot be read");
  return path.substr(0, path.size() - endingSize);
}

std::string countText(const std::optional<int64_t> &count) {
  return count ? std::to_string(*count) : "none";
}

/// A value may stand in several parts, when it is the same in all.
void mergeMetadata(GgufFile &first, const GgufFile &later, const std::string &firstPath,
                   const std::string &path) {
  for (const auto &[key, value] : later.metadata.members) {
    // Every part has its own.
    if (key == "general.alignment")
      continue;
    const Json *known = first.metadata.find(key);
    if (known && !(*known == value))
      throw InputError(path + ": metadata '" + key + "' is " + value.dump(80) + ", but " +
                       known->dump(80) + " in " + firstPath +
                       "; the parts belong to different models");
    if (!known)
      first.metadata.set(key, value);
  }
  const GgufTokenizer &a = first.tokenizer, &b = later.tokenizer;
  auto differ = [](const auto &x, const auto &y) { return !y.empty() && x != y; };
  if (differ(a.tokens, b.tokens) || differ(a.scores, b.scores) || differ(a.merges, b.merges) ||
      differ(a.tokenTypes, b.tokenTypes) || differ(a.precompiledCharsmap, b.precompiledCharsmap))
    throw InputError(path + ": its tokenizer is not that of " + firstPath +
                     "; the parts belong to different models");
}

} // namespace

GgufFile openGguf(const std::string &path) {
  auto checkpoint = std::make_shared<Checkpoint>();
  GgufSplit split;
  GgufFile file = readGgufFile(path, *checkpoint, split);
  int64_t parts = split.count.value_or(1);
  if (parts <= 1) {
    if (file.architecture.empty())
      throw InputError(path + ": has no metadata 'general.architecture'; without it the model is "
                              "not known");
    if (split.tensors && uint64_t(*split.tensors) != split.ownTensors)
      throw InputError(path + ": holds " + std::to_string(split.ownTensors) +
                       " tensors, its split.tensors.count is " + std::to_string(*split.tensors));
    if (!split.hasData)
      checkpoint->setDataAbsent();
    file.checkpoint = std::move(checkpoint);
    return file;
  }
  if (parts > 65535 || split.number.value_or(0) < 0 || split.number.value_or(0) >= parts)
    throw InputError(path + ": says it is part " + countText(split.number) + ", from 0, of " +
                     std::to_string(parts) + " (split.no, split.count)");

  std::string prefix = prefixOf(path, split);
  std::vector<std::string> missing;
  for (int64_t i = 0; i < parts; ++i)
    if (std::error_code error; !fs::is_regular_file(prefix + endingOf(i, parts), error))
      missing.push_back(prefix + endingOf(i, parts));
  if (!missing.empty())
    throw InputError(path + ": is one of " + std::to_string(parts) + " parts, and " +
                     missing.front() + " is missing" +
                     (missing.size() > 1 ? " with " + std::to_string(missing.size() - 1) + " more"
                                         : std::string()) +
                     "; get all parts into one folder");

  checkpoint = std::make_shared<Checkpoint>();
  std::string firstPath = prefix + endingOf(0, parts);
  GgufFile whole;
  uint64_t tensors = 0;
  std::optional<int64_t> declared;
  for (int64_t i = 0; i < parts; ++i) {
    std::string part = prefix + endingOf(i, parts);
    GgufFile read = readGgufFile(part, *checkpoint, split = {});
    if (split.count != parts || split.number.value_or(0) != i)
      throw InputError(part + ": says it is part " + countText(split.number) + ", from 0, of " +
                       countText(split.count) + " (split.no, split.count), its name says part " +
                       std::to_string(i) + " of " + std::to_string(parts) +
                       "; the file was renamed or belongs to another model");
    if (i && split.tensors && declared && *split.tensors != *declared)
      throw InputError(part + ": split.tensors.count is " + std::to_string(*split.tensors) +
                       ", but " + std::to_string(*declared) + " in " + firstPath +
                       "; the parts belong to different models");
    declared = declared ? declared : split.tensors;
    tensors += split.ownTensors;
    if (!split.hasData)
      checkpoint->setDataAbsent();
    if (!i)
      whole = std::move(read);
    else
      mergeMetadata(whole, read, firstPath, part);
  }
  if (whole.architecture.empty())
    throw InputError(firstPath + ": has no metadata 'general.architecture'; without it the model "
                                 "is not known");
  if (declared && uint64_t(*declared) != tensors)
    throw InputError(firstPath + ": its " + std::to_string(parts) + " parts hold " +
                     std::to_string(tensors) + " tensors, split.tensors.count is " +
                     std::to_string(*declared) + "; a part is of another model, get all again");
  whole.checkpoint = std::move(checkpoint);
  return whole;
}

} // namespace llmc::frontend
