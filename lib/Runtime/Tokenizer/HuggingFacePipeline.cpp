//===- HuggingFacePipeline.cpp - the steps of a tokenizer.json ------------===//
#include "HuggingFacePipeline.h"

#include "PreTokenizer.h"
#include "Regex.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace llmc::rt {
namespace {

using nlohmann::json;
using Kind = PreTokenizerStep::Kind;

[[noreturn]] void unsupported(const std::string &what, const std::string &type) {
  throw UnsupportedTokenizer("The " + what + " \"" + type +
                   "\" of tokenizer.json is not supported.");
}

std::string typeOf(const json &node) {
  if (!node.is_object())
    throw InputError("A step of tokenizer.json is not an object.");
  return node.value("type", "");
}

/// A whole number that is not negative and fits; a float is none, however round.
int32_t wholeNumber(const json &value, const char *what) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > INT32_MAX)
    throw InputError(std::string("A number of tokenizer.json (") + what + ") is " +
                     value.dump().substr(0, 40) + "; it must be a whole number from 0 to " +
                     std::to_string(INT32_MAX) + ".");
  return value.get<int32_t>();
}

/// The members of a Sequence; its depth is bounded as the file is not trusted.
const json &membersOf(const json &node, const char *key, unsigned depth) {
  if (depth > 8)
    throw InputError("A Sequence of tokenizer.json is nested too deeply.");
  auto it = node.find(key);
  if (it == node.end() || !it->is_array())
    throw InputError(std::string("A Sequence of tokenizer.json has no list \"") + key + "\".");
  return *it;
}

SplitBehavior behaviorOf(const json &node) {
  std::string name = node.value("behavior", "");
  if (name == "Isolated")
    return SplitBehavior::Isolated;
  if (name == "Removed")
    return SplitBehavior::Removed;
  if (name == "Contiguous")
    return SplitBehavior::Contiguous;
  if (name == "MergedWithPrevious")
    return SplitBehavior::MergedWithPrevious;
  if (name == "MergedWithNext")
    return SplitBehavior::MergedWithNext;
  unsupported("split behavior", name);
}

/// The pattern of a Split or Replace, and whether it is a regular expression.
std::pair<std::string, bool> patternOf(const json &node) {
  auto it = node.find("pattern");
  if (it != node.end() && it->is_object())
    for (bool regex : {true, false})
      if (auto text = it->find(regex ? "Regex" : "String"); text != it->end() && text->is_string())
        return {text->get<std::string>(), regex};
  throw InputError("A " + typeOf(node) +
                   " of tokenizer.json has neither a Regex nor a String as its pattern.");
}

std::string textOf(const json &node, const char *key) {
  auto it = node.find(key);
  if (it == node.end() || !it->is_string())
    throw InputError("The " + typeOf(node) + " of tokenizer.json has no text \"" + key + "\".");
  return it->get<std::string>();
}

/// "prepend_scheme", or its older form "add_prefix_space".
PrependScheme prependOf(const json &node) {
  auto it = node.find("prepend_scheme");
  if (it == node.end() || it->is_null())
    return node.value("add_prefix_space", true) ? PrependScheme::Always : PrependScheme::Never;
  std::string name = it->is_string() ? it->get<std::string>() : it->dump();
  if (name == "always")
    return PrependScheme::Always;
  if (name == "first")
    return PrependScheme::First;
  if (name == "never")
    return PrependScheme::Never;
  unsupported("prepend_scheme", name);
}

std::string decodeBase64(const std::string &text) {
  std::string out;
  uint32_t bits = 0, count = 0;
  for (char c : text) {
    if (c == '=')
      break;
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t value = digits.find(c);
    if (value == std::string_view::npos)
      throw InputError("The precompiled_charsmap of tokenizer.json is not base64.");
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8)
      out += static_cast<char>(bits >> (count -= 8));
  }
  return out;
}

void readNormalizerAt(const json &node, TokenizerSpec &spec, unsigned depth) {
  if (node.is_null())
    return;
  using Step = NormalizerStep::Kind;
  static const std::pair<const char *, Step> plain[] = {
      {"NFC", Step::Nfc},   {"NFD", Step::Nfd},
      {"NFKC", Step::Nfkc}, {"NFKD", Step::Nfkd},
      {"Nmt", Step::Nmt},   {"Lowercase", Step::Lowercase},
      {"Strip", Step::Strip}, {"StripAccents", Step::StripAccents},
      {"Replace", Step::Replace}, {"Prepend", Step::Prepend},
      {"ByteLevel", Step::ByteLevel}, {"Precompiled", Step::Precompiled},
  };
  std::string type = typeOf(node);
  if (type == "Sequence") {
    for (const json &member : membersOf(node, "normalizers", depth))
      readNormalizerAt(member, spec, depth + 1);
    return;
  }
  auto known = std::find_if(std::begin(plain), std::end(plain),
                            [&](const auto &entry) { return type == entry.first; });
  if (known == std::end(plain))
    unsupported("normalizer", type);
  NormalizerStep &step = spec.normalizers.emplace_back();
  step.kind = known->second;
  if (step.kind == Step::Strip) {
    step.left = node.value("strip_left", true);
    step.right = node.value("strip_right", true);
  } else if (step.kind == Step::Replace) {
    std::tie(step.pattern, step.regex) = patternOf(node);
    step.content = textOf(node, "content");
  } else if (step.kind == Step::Prepend) {
    step.content = textOf(node, "prepend");
  } else if (step.kind == Step::Precompiled) {
    if (!spec.charsmap.empty())
      throw UnsupportedTokenizer("Two Precompiled normalizers in tokenizer.json are not supported.");
    auto map = node.find("precompiled_charsmap");
    if (map != node.end() && !map->is_null())
      spec.charsmap = decodeBase64(textOf(node, "precompiled_charsmap"));
  }
}

void readPreTokenizerAt(const json &node, TokenizerSpec &spec, unsigned depth) {
  if (node.is_null())
    return;
  std::string type = typeOf(node);
  auto split = [&](std::string pattern, SplitBehavior behavior, bool invert = false) {
    spec.steps.push_back({Kind::Split, std::move(pattern), behavior, invert});
  };
  if (type == "Sequence") {
    for (const json &member : membersOf(node, "pretokenizers", depth))
      readPreTokenizerAt(member, spec, depth + 1);
  } else if (type == "Split") {
    auto [pattern, regex] = patternOf(node);
    split(regex ? pattern : quoteForRegex(pattern), behaviorOf(node), node.value("invert", false));
  } else if (type == "ByteLevel") {
    if (node.value("add_prefix_space", true))
      spec.steps.push_back({Kind::PrefixSpace, ""});
    // Files from before the option have the regular expression on.
    if (node.value("use_regex", true))
      split(gpt2Pattern, SplitBehavior::Isolated);
    spec.steps.push_back({Kind::ByteLevel, ""});
  } else if (type == "Digits") {
    split(R"(\p{N})", node.value("individual_digits", false) ? SplitBehavior::Isolated
                                                             : SplitBehavior::Contiguous);
  } else if (type == "Punctuation") {
    split(punctuationPattern,
          node.contains("behavior") ? behaviorOf(node) : SplitBehavior::Isolated);
  } else if (type == "Whitespace") {
    // \w+|[^\w\s]+ with the word characters of Unicode's UTS 18.
    constexpr const char *word = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d})";
    split("[" + std::string(word) + "]+|[^" + word + R"(\s]+)", SplitBehavior::Removed,
          /*invert=*/true);
  } else if (type == "WhitespaceSplit") {
    split(R"(\s)", SplitBehavior::Removed);
  } else if (type == "CharDelimiterSplit") {
    split(quoteForRegex(textOf(node, "delimiter")), SplitBehavior::Removed);
  } else if (type == "BertPreTokenizer") {
    split(R"(\s)", SplitBehavior::Removed);
    split(punctuationPattern, SplitBehavior::Isolated);
  } else if (type == "Metaspace") {
    PreTokenizerStep &step = spec.steps.emplace_back();
    step.kind = Kind::Metaspace;
    step.replacement = textOf(node, "replacement");
    step.prepend = prependOf(node);
    step.cut = node.value("split", true);
  } else {
    unsupported("pre-tokenizer", type);
  }
}

void readTemplate(const json &node, TokenizerSpec &spec) {
  auto idsOf = [&](const std::string &name) {
    std::vector<int32_t> ids;
    for (const json &id : node.at("special_tokens").at(name).at("ids"))
      ids.push_back(wholeNumber(id, "special_tokens ids"));
    return ids;
  };
  bool afterText = false;
  for (const json &part : node.at("single")) {
    if (part.contains("Sequence")) {
      if (afterText)
        throw InputError("The TemplateProcessing of tokenizer.json repeats the text.");
      afterText = true;
      continue;
    }
    std::vector<int32_t> ids = idsOf(part.at("SpecialToken").at("id").get<std::string>());
    auto &target = afterText ? spec.suffixIds : spec.prefixIds;
    target.insert(target.end(), ids.begin(), ids.end());
  }
}

void readPostProcessorAt(const json &node, TokenizerSpec &spec, unsigned depth) {
  if (node.is_null())
    return;
  std::string type = typeOf(node);
  if (type == "Sequence") {
    for (const json &member : membersOf(node, "processors", depth))
      readPostProcessorAt(member, spec, depth + 1);
  } else if (type == "TemplateProcessing") {
    readTemplate(node, spec);
  } else if (type == "RobertaProcessing" || type == "BertProcessing") {
    // ["text", id] pairs.
    spec.prefixIds.push_back(wholeNumber(node.at("cls").at(1), "cls"));
    spec.suffixIds.push_back(wholeNumber(node.at("sep").at(1), "sep"));
  } else if (type != "ByteLevel") { // which adjusts offsets only
    unsupported("post-processor", type);
  }
}

} // namespace

void readNormalizer(const json &node, TokenizerSpec &spec) { readNormalizerAt(node, spec, 0); }

void readPreTokenizer(const json &node, TokenizerSpec &spec) {
  readPreTokenizerAt(node, spec, 0);
}

void readPostProcessor(const json &node, TokenizerSpec &spec) {
  readPostProcessorAt(node, spec, 0);
}

static void readDecoderAt(const json &node, TokenizerSpec &spec, unsigned depth) {
  using Step = DecoderStep::Kind;
  std::string type = typeOf(node);
  if (type == "Sequence") {
    for (const json &member : membersOf(node, "decoders", depth))
      readDecoderAt(member, spec, depth + 1);
    return;
  }
  DecoderStep step;
  if (type == "ByteLevel") {
    step.kind = Step::ByteLevel;
  } else if (type == "Fuse") {
    step.kind = Step::Fuse;
  } else if (type == "ByteFallback") {
    step.kind = Step::ByteFallback;
  } else if (type == "Metaspace") {
    step.kind = Step::Metaspace;
    step.content = textOf(node, "replacement");
    step.prepend = prependOf(node) != PrependScheme::Never;
  } else if (type == "Replace") {
    step.kind = Step::Replace;
    std::tie(step.pattern, step.regex) = patternOf(node);
    step.content = textOf(node, "content");
  } else if (type == "Strip") {
    step.kind = Step::Strip;
    step.content = textOf(node, "content");
    step.start = wholeNumber(node.at("start"), "start");
    step.stop = wholeNumber(node.at("stop"), "stop");
  } else {
    unsupported("decoder", type);
  }
  spec.decoder.push_back(std::move(step));
}

void readDecoder(const json &node, TokenizerSpec &spec) {
  // Without a decoder the library puts a space between any two tokens.
  if (node.is_null())
    spec.decoder = {{DecoderStep::Kind::SpaceBetween}};
  else
    readDecoderAt(node, spec, 0);
}

} // namespace llmc::rt
