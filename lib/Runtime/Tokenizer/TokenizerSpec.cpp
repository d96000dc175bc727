//===- TokenizerSpec.cpp - checks a tokenizer and stores it as JSON -------===//
#include "llmc/Runtime/TokenizerSpec.h"

#include "PreTokenizer.h"
#include "Unicode.h"
#include "llmc/Support/Error.h"

#include <nlohmann/json.hpp>

namespace llmc::rt {
namespace {

using nlohmann::json;

constexpr const char *formatName = "llmc-tokenizer";
constexpr int formatVersion = 1;

// Far above every published tokenizer, and low enough that a hostile file
// cannot ask for much memory.
constexpr size_t maxTokens = size_t(1) << 22;
constexpr size_t maxMerges = size_t(1) << 23;
constexpr size_t maxTokenBytes = size_t(1) << 16;
constexpr size_t maxTemplateBytes = size_t(1) << 20;
constexpr size_t maxSteps = 64;
constexpr size_t maxPatternBytes = size_t(1) << 16;
constexpr size_t maxSpecialIds = 1024;

[[noreturn]] void fail(const std::string &what) {
  throw InputError("The tokenizer is not valid: " + what);
}

void checkSize(const char *field, size_t size, size_t limit) {
  if (size > limit)
    fail(std::string(field) + " has " + std::to_string(size) + " entries or bytes; the limit is " +
         std::to_string(limit) + ".");
}

void checkText(const std::string &field, const std::string &text, size_t limit) {
  checkSize(field.c_str(), text.size(), limit);
  if (validUtf8Prefix(text) != text.size())
    fail(field + " is not UTF-8.");
}

template <typename Enum> struct Names {
  Enum value;
  const char *name;
};

constexpr Names<SplitBehavior> behaviorNames[] = {
    {SplitBehavior::Isolated, "isolated"},
    {SplitBehavior::Removed, "removed"},
    {SplitBehavior::Contiguous, "contiguous"},
    {SplitBehavior::MergedWithPrevious, "merged-with-previous"},
    {SplitBehavior::MergedWithNext, "merged-with-next"},
};
constexpr Names<PreTokenizerStep::Kind> stepNames[] = {
    {PreTokenizerStep::Kind::Split, "split"},
    {PreTokenizerStep::Kind::PrefixSpace, "prefix-space"},
    {PreTokenizerStep::Kind::ByteLevel, "byte-level"},
};
constexpr Names<NormalizerKind> normalizerNames[] = {{NormalizerKind::Nfc, "nfc"}};
constexpr Names<TokenizerKind> kindNames[] = {{TokenizerKind::ByteLevelBpe, "byte-level-bpe"}};

template <typename Enum, size_t N> const char *nameOf(const Names<Enum> (&names)[N], Enum value) {
  for (const auto &entry : names)
    if (entry.value == value)
      return entry.name;
  throw InternalError("A value of a tokenizer has no name.");
}

template <typename Enum, size_t N>
Enum valueOf(const Names<Enum> (&names)[N], const char *field, const std::string &name) {
  std::string known;
  for (const auto &entry : names) {
    if (name == entry.name)
      return entry.value;
    known += std::string(known.empty() ? "" : ", ") + entry.name;
  }
  fail(std::string(field) + " is \"" + name + "\"; known are: " + known + ".");
}

json optionalId(const std::optional<int32_t> &id) { return id ? json(*id) : json(nullptr); }

/// Reads an object member by member and names the one that is out of order.
class Reader {
public:
  explicit Reader(const json &object, std::string path = "") : object(object), path(path) {
    if (!object.is_object())
      fail((path.empty() ? "it" : path) + " is not an object.");
  }

  const json &at(const char *key) const {
    auto it = object.find(key);
    if (it == object.end())
      fail("\"" + path + key + "\" is missing.");
    return *it;
  }
  std::string text(const char *key) const {
    const json &value = at(key);
    if (!value.is_string())
      fail("\"" + path + key + "\" is not a string.");
    return value.get<std::string>();
  }
  bool flag(const char *key) const {
    const json &value = at(key);
    if (!value.is_boolean())
      fail("\"" + path + key + "\" is not true or false.");
    return value.get<bool>();
  }
  const json &list(const char *key, size_t limit) const {
    const json &value = at(key);
    if (!value.is_array())
      fail("\"" + path + key + "\" is not a list.");
    checkSize(key, value.size(), limit);
    return value;
  }
  static int32_t id(const json &value, const char *key) {
    // Tested before it is converted: get() would wrap around.
    if (!value.is_number_integer() || value.get<int64_t>() < 0 ||
        value.get<int64_t>() > int64_t(maxTokens))
      fail(std::string("\"") + key + "\" has an id that is not in 0.." +
           std::to_string(maxTokens) + ".");
    return value.get<int32_t>();
  }
  std::optional<int32_t> maybeId(const char *key) const {
    const json &value = at(key);
    return value.is_null() ? std::nullopt : std::optional<int32_t>(id(value, key));
  }
  std::vector<int32_t> ids(const char *key) const {
    std::vector<int32_t> result;
    for (const json &value : list(key, maxSpecialIds))
      result.push_back(id(value, key));
    return result;
  }

private:
  const json &object;
  std::string path;
};

} // namespace

void TokenizerSpec::validate() const {
  checkSize("tokens", tokens.size(), maxTokens);
  checkSize("merges", merges.size(), maxMerges);
  checkSize("added_tokens", addedTokens.size(), maxTokens);
  checkSize("steps", steps.size(), maxSteps);
  checkSize("normalizers", normalizers.size(), maxSteps);
  checkText("chat_template", chatTemplate, maxTemplateBytes);
  checkText("source", source, maxTokenBytes);
  if (tokens.empty())
    fail("the vocabulary is empty.");

  auto checkId = [&](const std::string &field, int32_t id) {
    if (id < 0 || static_cast<size_t>(id) >= tokens.size())
      fail(field + " is " + std::to_string(id) + ", outside of the vocabulary of " +
           std::to_string(tokens.size()) + " tokens.");
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text.size() > maxTokenBytes ||
        validUtf8Prefix(tokens[i].text) != tokens[i].text.size())
      checkText("the text of token " + std::to_string(i), tokens[i].text, maxTokenBytes);
    auto type = static_cast<int>(tokens[i].type);
    if (type < int(TokenType::Normal) || type > int(TokenType::Byte))
      fail("token " + std::to_string(i) + " has the unknown type " + std::to_string(type) + ".");
  }
  for (size_t i = 0; i < merges.size(); ++i) {
    const BpeMerge &merge = merges[i];
    for (int32_t id : {merge.left, merge.right, merge.result})
      if (id < 0 || static_cast<size_t>(id) >= tokens.size())
        checkId("an id in merge " + std::to_string(i), id);
    const std::string &left = tokens[merge.left].text, &right = tokens[merge.right].text,
                      &result = tokens[merge.result].text;
    // Concatenation keeps merging finite and decode() the inverse of encode().
    if (left.empty() || right.empty() || result.size() != left.size() + right.size() ||
        !result.starts_with(left) || !result.ends_with(right))
      fail("merge " + std::to_string(i) + " joins \"" + left + "\" and \"" + right + "\" to \"" +
           result + "\".");
  }
  for (size_t i = 0; i < addedTokens.size(); ++i) {
    checkId("the id of added token " + std::to_string(i), addedTokens[i].id);
    checkText("the content of added token " + std::to_string(i), addedTokens[i].content,
              maxTokenBytes);
  }

  auto checkIds = [&](const char *field, const std::vector<int32_t> &ids) {
    checkSize(field, ids.size(), maxSpecialIds);
    for (int32_t id : ids)
      checkId(field, id);
  };
  checkIds("end_of_generation", endOfGenerationIds);
  checkIds("prefix", prefixIds);
  checkIds("suffix", suffixIds);
  for (auto [field, id] : {std::pair("bos", &bosId), std::pair("eos", &eosId),
                           std::pair("unk", &unkId), std::pair("pad", &padId),
                           std::pair("eot", &eotId), std::pair("bpe_unknown", &bpeUnknownId)})
    if (*id)
      checkId(field, **id);

  size_t byteLevels = 0;
  for (const PreTokenizerStep &step : steps) {
    byteLevels += step.kind == PreTokenizerStep::Kind::ByteLevel;
    checkText("a pattern of the pre-tokenizer", step.pattern, maxPatternBytes);
  }
  if (byteLevels != 1)
    fail("the pre-tokenizer has " + std::to_string(byteLevels) +
         " byte-level steps; a byte-level BPE model has exactly one.");
  PreTokenizer compiles(steps);
}

std::string TokenizerSpec::toJson() const {
  json file;
  file["format"] = formatName;
  file["version"] = formatVersion;
  file["kind"] = nameOf(kindNames, kind);
  file["source"] = source;
  json &texts = file["tokens"] = json::array();
  json &types = file["token_types"] = json::array();
  for (const TokenEntry &token : tokens) {
    texts.push_back(token.text);
    types.push_back(static_cast<int>(token.type));
  }
  json &merged = file["merges"] = json::array();
  for (const BpeMerge &merge : merges)
    merged.push_back({merge.left, merge.right, merge.result});
  json &added = file["added_tokens"] = json::array();
  for (const AddedToken &token : addedTokens)
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"special", token.special},
                     {"lstrip", token.lstrip},
                     {"rstrip", token.rstrip},
                     {"single_word", token.singleWord},
                     {"normalized", token.normalized}});
  json &normal = file["normalizers"] = json::array();
  for (NormalizerKind normalizer : normalizers)
    if (normalizer != NormalizerKind::None)
      normal.push_back(nameOf(normalizerNames, normalizer));
  json &list = file["pre_tokenizer"] = json::array();
  for (const PreTokenizerStep &step : steps) {
    json entry = {{"step", nameOf(stepNames, step.kind)}};
    if (step.kind == PreTokenizerStep::Kind::Split) {
      entry["pattern"] = step.pattern;
      entry["behavior"] = nameOf(behaviorNames, step.behavior);
      entry["invert"] = step.invert;
    }
    list.push_back(std::move(entry));
  }
  file["ignore_merges"] = ignoreMerges;
  file["bpe_unknown"] = optionalId(bpeUnknownId);
  file["fuse_unknown"] = fuseUnknown;
  file["bos"] = optionalId(bosId);
  file["eos"] = optionalId(eosId);
  file["unk"] = optionalId(unkId);
  file["pad"] = optionalId(padId);
  file["eot"] = optionalId(eotId);
  file["end_of_generation"] = endOfGenerationIds;
  file["prefix"] = prefixIds;
  file["suffix"] = suffixIds;
  file["chat_template"] = chatTemplate;
  return file.dump();
}

static TokenizerSpec readSpec(const json &file) {
  Reader reader(file);
  if (reader.text("format") != formatName)
    fail("its format is \"" + reader.text("format") + "\" and not \"" + formatName + "\".");
  if (const json &version = reader.at("version"); version != formatVersion)
    fail("its version is " + version.dump() + "; this build reads version " +
         std::to_string(formatVersion) + ". Compile the model again.");

  TokenizerSpec spec;
  spec.kind = valueOf(kindNames, "kind", reader.text("kind"));
  spec.source = reader.text("source");
  const json &texts = reader.list("tokens", maxTokens);
  const json &types = reader.list("token_types", maxTokens);
  if (texts.size() != types.size())
    fail("\"tokens\" has " + std::to_string(texts.size()) + " entries and \"token_types\" " +
         std::to_string(types.size()) + ".");
  spec.tokens.resize(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].is_string())
      fail("token " + std::to_string(i) + " is not a string.");
    spec.tokens[i].text = texts[i].get<std::string>();
    int32_t type = Reader::id(types[i], "token_types");
    spec.tokens[i].type = type <= int(TokenType::Byte) ? TokenType(type) : TokenType(0);
  }
  const json &merges = reader.list("merges", maxMerges);
  spec.merges.reserve(merges.size());
  for (const json &merge : merges) {
    if (!merge.is_array() || merge.size() != 3)
      fail("an entry of \"merges\" is not a list of three ids.");
    spec.merges.push_back({Reader::id(merge[0], "merges"), Reader::id(merge[1], "merges"),
                           Reader::id(merge[2], "merges")});
  }
  for (const json &entry : reader.list("added_tokens", maxTokens)) {
    Reader token(entry, "added_tokens.");
    spec.addedTokens.push_back({Reader::id(token.at("id"), "id"), token.text("content"),
                                token.flag("special"), token.flag("lstrip"), token.flag("rstrip"),
                                token.flag("single_word"), token.flag("normalized")});
  }
  for (const json &name : reader.list("normalizers", maxSteps))
    spec.normalizers.push_back(
        valueOf(normalizerNames, "normalizer", name.is_string() ? name.get<std::string>() : ""));
  for (const json &entry : reader.list("pre_tokenizer", maxSteps)) {
    Reader step(entry, "pre_tokenizer.");
    PreTokenizerStep &made = spec.steps.emplace_back();
    made.kind = valueOf(stepNames, "step", step.text("step"));
    if (made.kind == PreTokenizerStep::Kind::Split) {
      made.pattern = step.text("pattern");
      made.behavior = valueOf(behaviorNames, "behavior", step.text("behavior"));
      made.invert = step.flag("invert");
    }
  }
  spec.ignoreMerges = reader.flag("ignore_merges");
  spec.bpeUnknownId = reader.maybeId("bpe_unknown");
  spec.fuseUnknown = reader.flag("fuse_unknown");
  spec.bosId = reader.maybeId("bos");
  spec.eosId = reader.maybeId("eos");
  spec.unkId = reader.maybeId("unk");
  spec.padId = reader.maybeId("pad");
  spec.eotId = reader.maybeId("eot");
  spec.endOfGenerationIds = reader.ids("end_of_generation");
  spec.prefixIds = reader.ids("prefix");
  spec.suffixIds = reader.ids("suffix");
  spec.chatTemplate = reader.text("chat_template");
  spec.validate();
  return spec;
}

TokenizerSpec TokenizerSpec::fromJson(std::string_view text, std::string_view name) {
  try {
    return readSpec(json::parse(text));
  } catch (const json::exception &error) {
    throw InputError(std::string(name) + ": not JSON: " + error.what());
  } catch (const InputError &error) {
    throw InputError(std::string(name) + ": " + error.what());
  }
}

} // namespace llmc::rt
