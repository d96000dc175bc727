//===- HuggingFacePipeline.cpp - the steps of a tokenizer.json ------------===//
#include "HuggingFacePipeline.h"

#include "PreTokenizer.h"
#include "Regex.h"
#include "llmc/Support/Error.h"

namespace llmc::rt {
namespace {

using nlohmann::json;
using Kind = PreTokenizerStep::Kind;

[[noreturn]] void unsupported(const std::string &what, const std::string &type) {
  throw InputError("The " + what + " \"" + type +
                   "\" of tokenizer.json is not supported; llmc runs byte-level BPE tokenizers.");
}

std::string typeOf(const json &node) {
  if (!node.is_object())
    throw InputError("A step of tokenizer.json is not an object.");
  return node.value("type", "");
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

std::string patternOf(const json &node) {
  auto it = node.find("pattern");
  if (it != node.end() && it->is_object()) {
    if (it->contains("Regex"))
      return it->at("Regex").get<std::string>();
    if (it->contains("String"))
      return quoteForRegex(it->at("String").get<std::string>());
  }
  throw InputError("A Split of tokenizer.json has neither a Regex nor a String as its pattern.");
}

void readNormalizerAt(const json &node, TokenizerSpec &spec, unsigned depth) {
  if (node.is_null())
    return;
  std::string type = typeOf(node);
  if (type == "NFC") {
    spec.normalizers.push_back(NormalizerKind::Nfc);
  } else if (type == "Sequence") {
    for (const json &member : membersOf(node, "normalizers", depth))
      readNormalizerAt(member, spec, depth + 1);
  } else {
    unsupported("normalizer", type);
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
    split(patternOf(node), behaviorOf(node), node.value("invert", false));
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
  } else {
    unsupported("pre-tokenizer", type);
  }
}

void readTemplate(const json &node, TokenizerSpec &spec) {
  auto idsOf = [&](const std::string &name) {
    std::vector<int32_t> ids;
    for (const json &id : node.at("special_tokens").at(name).at("ids"))
      ids.push_back(id.get<int32_t>());
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
    spec.prefixIds.push_back(node.at("cls").at(1).get<int32_t>());
    spec.suffixIds.push_back(node.at("sep").at(1).get<int32_t>());
  } else if (type != "ByteLevel") { // which adjusts offsets only
    unsupported("post-processor", type);
  }
}

} // namespace

void readNormalizer(const json &node, TokenizerSpec &spec) { readNormalizerAt(node, spec, 0); }

void readPreTokenizer(const json &node, TokenizerSpec &spec) {
  readPreTokenizerAt(node, spec, 0);
  for (const PreTokenizerStep &step : spec.steps)
    if (step.kind == Kind::ByteLevel)
      return;
  throw InputError("The pre_tokenizer of tokenizer.json has no ByteLevel step: this is a BPE over "
                   "characters (SentencePiece style, with byte_fallback), which is not supported; "
                   "byte-level BPE is.");
}

void readPostProcessor(const json &node, TokenizerSpec &spec) {
  readPostProcessorAt(node, spec, 0);
}

void checkDecoder(const json &node) {
  if (node.is_null())
    return;
  std::string type = typeOf(node);
  if (type == "Sequence") {
    for (const json &member : membersOf(node, "decoders", 0))
      if (std::string inner = typeOf(member); inner != "ByteLevel" && inner != "Fuse")
        unsupported("decoder", inner);
  } else if (type != "ByteLevel") {
    unsupported("decoder", type);
  }
}

} // namespace llmc::rt
