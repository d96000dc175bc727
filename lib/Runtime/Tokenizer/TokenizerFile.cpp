//===- TokenizerFile.cpp - a tokenizer as the bytes of a file -------------===//
//
// Little-endian. "llmc-tok", u32 version, u32 bytes of the header, the header (JSON), then the
// tables, whose sizes the header has:
//
//   u32 bytes of each token's text; u8 type of each token; the texts
//   f32 score of each token           SentencePiece's kinds
//   f64 log probability of each token Unigram
//   i32 left, right, result of each merge
//   the charsmap
//
// Tables and not JSON, because a vocabulary has up to some hundred thousand entries and is read
// at every start.
//
//===----------------------------------------------------------------------===//
#include "SpecLimits.h"
#include "llmc/Runtime/TokenizerSpec.h"
#include "llmc/Support/JsonError.h"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

namespace llmc::rt {

using namespace spec;

namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the tables are copied as they are");

constexpr std::string_view magic = "llmc-tok";
constexpr uint32_t formatVersion = 2;
constexpr size_t maxHeaderBytes = size_t(1) << 26;

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
    {PreTokenizerStep::Kind::Metaspace, "metaspace"},
};
constexpr Names<PrependScheme> prependNames[] = {
    {PrependScheme::Never, "never"},
    {PrependScheme::First, "first"},
    {PrependScheme::Always, "always"},
};
constexpr Names<DecoderStep::Kind> decoderNames[] = {
    {DecoderStep::Kind::ByteLevel, "byte-level"},
    {DecoderStep::Kind::Metaspace, "metaspace"},
    {DecoderStep::Kind::ByteFallback, "byte-fallback"},
    {DecoderStep::Kind::Fuse, "fuse"},
    {DecoderStep::Kind::Strip, "strip"},
    {DecoderStep::Kind::Replace, "replace"},
    {DecoderStep::Kind::SpaceBetween, "space-between"},
    {DecoderStep::Kind::SentencePiece, "sentence-piece"},
};
constexpr Names<NormalizerStep::Kind> normalizerNames[] = {
    {NormalizerStep::Kind::Nfc, "nfc"},
    {NormalizerStep::Kind::Nfd, "nfd"},
    {NormalizerStep::Kind::Nfkc, "nfkc"},
    {NormalizerStep::Kind::Nfkd, "nfkd"},
    {NormalizerStep::Kind::Lowercase, "lowercase"},
    {NormalizerStep::Kind::StripAccents, "strip-accents"},
    {NormalizerStep::Kind::Strip, "strip"},
    {NormalizerStep::Kind::Replace, "replace"},
    {NormalizerStep::Kind::Prepend, "prepend"},
    {NormalizerStep::Kind::Nmt, "nmt"},
    {NormalizerStep::Kind::ByteLevel, "byte-level"},
    {NormalizerStep::Kind::Precompiled, "precompiled"},
    {NormalizerStep::Kind::SentencePiece, "sentence-piece"},
};
constexpr Names<TokenizerKind> kindNames[] = {
    {TokenizerKind::Bpe, "bpe"},
    {TokenizerKind::SentencePieceBpe, "sentence-piece-bpe"},
    {TokenizerKind::Unigram, "unigram"},
    {TokenizerKind::SentencePieceUnigram, "sentence-piece-unigram"},
};

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
  size_t count(const char *key, size_t limit) const {
    const json &value = at(key);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > limit)
      fail("\"" + path + key + "\" is not a number from 0 to " + std::to_string(limit) + ".");
    return value.get<uint64_t>();
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

/// Hands out the tables one after the other.
class Tables {
public:
  explicit Tables(std::string_view bytes) : bytes(bytes) {}

  std::string_view take(const char *what, size_t size) {
    if (size > bytes.size())
      fail(std::string("its file ends inside of the ") + what + ": " + std::to_string(size) +
           " bytes are needed and " + std::to_string(bytes.size()) + " left. Compile the model "
           "again.");
    std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
  }
  template <typename T> void take(const char *what, std::vector<T> &values, size_t count) {
    std::string_view taken = take(what, count * sizeof(T));
    values.resize(count);
    if (count)
      std::memcpy(values.data(), taken.data(), taken.size());
  }
  void finish() const {
    if (!bytes.empty())
      fail("its file has " + std::to_string(bytes.size()) +
           " bytes after the last table. Compile the model again.");
  }

private:
  std::string_view bytes;
};

template <typename T> void append(std::string &out, const std::vector<T> &values) {
  out.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

json normalizersJson(const TokenizerSpec &spec) {
  json list = json::array();
  for (const NormalizerStep &step : spec.normalizers) {
    using Kind = NormalizerStep::Kind;
    json entry = {{"step", nameOf(normalizerNames, step.kind)}};
    if (step.kind == Kind::Replace) {
      entry["pattern"] = step.pattern;
      entry["regex"] = step.regex;
    }
    if (step.kind == Kind::Replace || step.kind == Kind::Prepend)
      entry["content"] = step.content;
    if (step.kind == Kind::Strip) {
      entry["left"] = step.left;
      entry["right"] = step.right;
    }
    if (step.kind == Kind::SentencePiece) {
      entry["add_dummy_prefix"] = step.addDummyPrefix;
      entry["remove_extra_whitespaces"] = step.removeExtraWhitespaces;
      entry["escape_whitespaces"] = step.escapeWhitespaces;
      entry["treat_whitespace_as_suffix"] = step.whitespaceAsSuffix;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void readNormalizers(const json &list, TokenizerSpec &spec) {
  for (const json &entry : list) {
    using Kind = NormalizerStep::Kind;
    Reader reader(entry, "normalizers.");
    NormalizerStep &step = spec.normalizers.emplace_back();
    step.kind = valueOf(normalizerNames, "a step of the normalizer", reader.text("step"));
    if (step.kind == Kind::Replace) {
      step.pattern = reader.text("pattern");
      step.regex = reader.flag("regex");
    }
    if (step.kind == Kind::Replace || step.kind == Kind::Prepend)
      step.content = reader.text("content");
    if (step.kind == Kind::Strip) {
      step.left = reader.flag("left");
      step.right = reader.flag("right");
    }
    if (step.kind == Kind::SentencePiece) {
      step.addDummyPrefix = reader.flag("add_dummy_prefix");
      step.removeExtraWhitespaces = reader.flag("remove_extra_whitespaces");
      step.escapeWhitespaces = reader.flag("escape_whitespaces");
      step.whitespaceAsSuffix = reader.flag("treat_whitespace_as_suffix");
    }
  }
}

json preTokenizerJson(const TokenizerSpec &spec) {
  json list = json::array();
  for (const PreTokenizerStep &step : spec.steps) {
    json entry = {{"step", nameOf(stepNames, step.kind)}};
    if (step.kind == PreTokenizerStep::Kind::Split) {
      entry["pattern"] = step.pattern;
      entry["behavior"] = nameOf(behaviorNames, step.behavior);
      entry["invert"] = step.invert;
    }
    if (step.kind == PreTokenizerStep::Kind::Metaspace) {
      entry["replacement"] = step.replacement;
      entry["prepend"] = nameOf(prependNames, step.prepend);
      entry["cut"] = step.cut;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void readPreTokenizer(const json &list, TokenizerSpec &spec) {
  for (const json &entry : list) {
    Reader reader(entry, "pre_tokenizer.");
    PreTokenizerStep &step = spec.steps.emplace_back();
    step.kind = valueOf(stepNames, "a step of the pre-tokenizer", reader.text("step"));
    if (step.kind == PreTokenizerStep::Kind::Split) {
      step.pattern = reader.text("pattern");
      step.behavior = valueOf(behaviorNames, "behavior", reader.text("behavior"));
      step.invert = reader.flag("invert");
    }
    if (step.kind == PreTokenizerStep::Kind::Metaspace) {
      step.replacement = reader.text("replacement");
      step.prepend = valueOf(prependNames, "prepend", reader.text("prepend"));
      step.cut = reader.flag("cut");
    }
  }
}

json decoderJson(const TokenizerSpec &spec) {
  json list = json::array();
  for (const DecoderStep &step : spec.decoder)
    list.push_back({{"step", nameOf(decoderNames, step.kind)},
                    {"pattern", step.pattern},
                    {"regex", step.regex},
                    {"content", step.content},
                    {"start", step.start},
                    {"stop", step.stop},
                    {"prepend", step.prepend},
                    {"all", step.all}});
  return list;
}

void readDecoder(const json &list, TokenizerSpec &spec) {
  for (const json &entry : list) {
    Reader reader(entry, "decoder.");
    spec.decoder.push_back({valueOf(decoderNames, "a step of the decoder", reader.text("step")),
                            reader.text("pattern"), reader.flag("regex"), reader.text("content"),
                            static_cast<int32_t>(reader.count("start", maxTokenBytes)),
                            static_cast<int32_t>(reader.count("stop", maxTokenBytes)),
                            reader.flag("prepend"), reader.flag("all")});
  }
}

json addedTokensJson(const TokenizerSpec &spec) {
  json list = json::array();
  for (const AddedToken &token : spec.addedTokens)
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"special", token.special},
                    {"lstrip", token.lstrip},
                    {"rstrip", token.rstrip},
                    {"single_word", token.singleWord},
                    {"normalized", token.normalized}});
  return list;
}

json headerOf(const TokenizerSpec &spec) {
  size_t textBytes = 0;
  for (const TokenEntry &token : spec.tokens)
    textBytes += token.text.size();
  return {{"kind", nameOf(kindNames, spec.kind)},
          {"source", spec.source},
          {"tables",
           {{"tokens", spec.tokens.size()},
            {"text_bytes", textBytes},
            {"scores", spec.scores.size()},
            {"log_probabilities", spec.logProbabilities.size()},
            {"merges", spec.merges.size()},
            {"charsmap_bytes", spec.charsmap.size()}}},
          {"added_tokens", addedTokensJson(spec)},
          {"normalizers", normalizersJson(spec)},
          {"pre_tokenizer", preTokenizerJson(spec)},
          {"decoder", decoderJson(spec)},
          {"ignore_merges", spec.ignoreMerges},
          {"byte_fallback", spec.byteFallback},
          {"model_unknown", optionalId(spec.modelUnknownId)},
          {"fuse_unknown", spec.fuseUnknown},
          {"bos", optionalId(spec.bosId)},
          {"eos", optionalId(spec.eosId)},
          {"unk", optionalId(spec.unkId)},
          {"pad", optionalId(spec.padId)},
          {"eot", optionalId(spec.eotId)},
          {"end_of_generation", spec.endOfGenerationIds},
          {"prefix", spec.prefixIds},
          {"suffix", spec.suffixIds},
          {"chat_template", spec.chatTemplate}};
}

/// A header is what writing its tokenizer gives, and nothing else: a key that nobody reads could
/// be meant to change something.
void requireSame(const json &expected, const json &given) {
  if (expected == given)
    return;
  const json change = json::diff(expected, given).front();
  std::string place = change.at("path").get<std::string>();
  fail(change.at("op") == "add"
           ? "its header has \"" + place + "\", which is not known. Compile the model again."
           : "its header differs at \"" + place + "\" from what this build writes. Compile the "
             "model again.");
}

void readTokens(Tables &tables, const Reader &sizes, TokenizerSpec &spec) {
  size_t count = sizes.count("tokens", maxTokens);
  size_t textBytes = sizes.count("text_bytes", maxTokens * maxTokenBytes);
  std::vector<uint32_t> lengths;
  tables.take("lengths of the tokens", lengths, count);
  std::string_view types = tables.take("types of the tokens", count);
  std::string_view texts = tables.take("texts of the tokens", textBytes);
  spec.tokens.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (lengths[i] > texts.size())
      fail("the text of token " + std::to_string(i) + " has " + std::to_string(lengths[i]) +
           " bytes and its file " + std::to_string(texts.size()) + " at this place.");
    spec.tokens[i].text.assign(texts.substr(0, lengths[i]));
    spec.tokens[i].type = static_cast<TokenType>(types[i]);
    texts.remove_prefix(lengths[i]);
  }
  if (!texts.empty())
    fail("its file has " + std::to_string(texts.size()) + " bytes of text that no token has.");
  tables.take("scores", spec.scores, sizes.count("scores", count));
  tables.take("log probabilities", spec.logProbabilities,
              sizes.count("log_probabilities", count));
  static_assert(sizeof(BpeMerge) == 3 * sizeof(int32_t));
  tables.take("merges", spec.merges, sizes.count("merges", maxMerges));
  spec.charsmap = tables.take("charsmap", sizes.count("charsmap_bytes", maxCharsmapBytes));
}

TokenizerSpec readSpec(std::string_view bytes) {
  Tables tables(bytes);
  if (!bytes.starts_with(magic))
    fail("its file does not begin with \"" + std::string(magic) + "\". Compile the model again.");
  tables.take("mark", magic.size());
  std::vector<uint32_t> numbers;
  tables.take("version", numbers, 2);
  if (numbers[0] != formatVersion)
    fail("its version is " + std::to_string(numbers[0]) + "; this build reads version " +
         std::to_string(formatVersion) + ". Compile the model again.");
  checkSize("the header", numbers[1], maxHeaderBytes);
  json header = json::parse(tables.take("header", numbers[1]));

  Reader reader(header);
  TokenizerSpec spec;
  spec.kind = valueOf(kindNames, "kind", reader.text("kind"));
  spec.source = reader.text("source");
  readTokens(tables, Reader(reader.at("tables"), "tables."), spec);
  tables.finish();
  for (const json &entry : reader.list("added_tokens", maxTokens)) {
    Reader token(entry, "added_tokens.");
    spec.addedTokens.push_back({Reader::id(token.at("id"), "id"), token.text("content"),
                                token.flag("special"), token.flag("lstrip"), token.flag("rstrip"),
                                token.flag("single_word"), token.flag("normalized")});
  }
  readNormalizers(reader.list("normalizers", maxSteps), spec);
  readPreTokenizer(reader.list("pre_tokenizer", maxSteps), spec);
  readDecoder(reader.list("decoder", maxSteps), spec);
  spec.ignoreMerges = reader.flag("ignore_merges");
  spec.byteFallback = reader.flag("byte_fallback");
  spec.modelUnknownId = reader.maybeId("model_unknown");
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
  requireSame(headerOf(spec), header);
  return spec;
}

} // namespace

std::string TokenizerSpec::toBytes() const {
  std::string texts, types;
  std::vector<uint32_t> lengths;
  for (const TokenEntry &token : tokens) {
    texts += token.text;
    types += static_cast<char>(token.type);
    lengths.push_back(static_cast<uint32_t>(token.text.size()));
  }
  std::string text = headerOf(*this).dump();
  std::string out(magic);
  append(out, std::vector<uint32_t>{formatVersion, static_cast<uint32_t>(text.size())});
  out += text;
  append(out, lengths);
  out += types;
  out += texts;
  append(out, scores);
  append(out, logProbabilities);
  append(out, merges);
  out += charsmap;
  return out;
}

TokenizerSpec TokenizerSpec::fromBytes(std::string_view bytes, std::string_view name) {
  try {
    return readSpec(bytes);
  } catch (const json::exception &error) {
    throw InputError(std::string(name) + ": its header is not JSON: " + jsonErrorText(error));
  } catch (const InputError &error) {
    throw InputError(std::string(name) + ": " + error.what());
  }
}

} // namespace llmc::rt
