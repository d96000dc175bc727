//===- TokenizerSpec.cpp - checks a tokenizer -----------------------------===//
#include "llmc/Runtime/TokenizerSpec.h"

#include "Charsmap.h"
#include "Decoder.h"
#include "Normalizer.h"
#include "PieceModel.h"
#include "PreTokenizer.h"
#include "SpecLimits.h"
#include "Unicode.h"

#include <cmath>

namespace llmc::rt {

using namespace spec;

namespace {

void checkText(const std::string &field, const std::string &text, size_t limit) {
  checkSize(field.c_str(), text.size(), limit);
  if (validUtf8Prefix(text) != text.size())
    fail(field + " is not UTF-8.");
}

template <typename Number>
void checkNumbers(const char *field, const std::vector<Number> &numbers, size_t tokens,
                  bool wanted) {
  if (numbers.size() != (wanted ? tokens : 0))
    fail(std::string(field) + " has " + std::to_string(numbers.size()) + " entries; this kind of "
         "tokenizer has " + (wanted ? "one for each of its " + std::to_string(tokens) + " tokens."
                                    : std::string("none.")));
  for (size_t i = 0; i < numbers.size(); ++i)
    if (!std::isfinite(numbers[i]))
      fail(std::string(field) + " of token " + std::to_string(i) + " is not a finite number.");
}

void checkScores(const TokenizerSpec &spec) {
  checkNumbers("scores", spec.scores, spec.tokens.size(), spec.sentencePiece());
  checkNumbers("log_probabilities", spec.logProbabilities, spec.tokens.size(),
               spec.kind == TokenizerKind::Unigram);
  if (spec.kind != TokenizerKind::Bpe) {
    if (!spec.merges.empty())
      fail("it has merges, which only a BPE tokenizer has.");
    if (!spec.modelUnknownId)
      fail("model_unknown is missing: this kind of tokenizer needs a token for what is unknown.");
  }
  if (!spec.sentencePiece())
    return;
  for (size_t i = 0; i < spec.tokens.size(); ++i)
    if (spec.tokens[i].type == TokenType::Byte && byteOfPiece(spec.tokens[i].text) < 0)
      fail("token " + std::to_string(i) + " is a byte and its text \"" + spec.tokens[i].text +
           "\" and not \"<0x00>\" to \"<0xFF>\".");
}

bool isOneCharacter(const std::string &text) {
  return !text.empty() && nextUtf8(text).length == text.size();
}

void checkSteps(const TokenizerSpec &spec) {
  size_t byteLevels = 0, sentencePieces = 0;
  for (const NormalizerStep &step : spec.normalizers) {
    checkText("a pattern of a normalizer", step.pattern, maxPatternBytes);
    checkText("the content of a normalizer", step.content, maxContentBytes);
    if (step.kind == NormalizerStep::Kind::Replace && step.pattern.empty())
      fail("a Replace normalizer has an empty pattern.");
    sentencePieces += step.kind == NormalizerStep::Kind::SentencePiece;
  }
  for (const PreTokenizerStep &step : spec.steps) {
    byteLevels += step.kind == PreTokenizerStep::Kind::ByteLevel;
    checkText("a pattern of the pre-tokenizer", step.pattern, maxPatternBytes);
    checkText("the replacement of a Metaspace", step.replacement, maxContentBytes);
    if (step.kind == PreTokenizerStep::Kind::Metaspace && !isOneCharacter(step.replacement))
      fail("the replacement of a Metaspace is \"" + step.replacement +
           "\" and not one character.");
  }
  if (byteLevels > 1 || (byteLevels && spec.kind != TokenizerKind::Bpe))
    fail("the pre-tokenizer has " + std::to_string(byteLevels) +
         " byte-level steps; a BPE tokenizer has at most one, the other kinds none.");
  // Their model takes user-defined pieces and its text from this step alone.
  bool alone = spec.normalizers.size() == 1 && sentencePieces == 1 && spec.steps.empty();
  if (sentencePieces ? !spec.sentencePiece() || !alone : spec.sentencePiece())
    fail("a SentencePiece tokenizer has its own normalizer, no other and no pre-tokenizer; here "
         "are " + std::to_string(spec.normalizers.size()) + " normalizers and " +
         std::to_string(spec.steps.size()) + " steps of a pre-tokenizer.");
  for (const DecoderStep &step : spec.decoder) {
    checkText("a pattern of the decoder", step.pattern, maxPatternBytes);
    checkText("the content of the decoder", step.content, maxContentBytes);
    if (step.start < 0 || step.stop < 0)
      fail("a Strip of the decoder has the negative count " +
           std::to_string(std::min(step.start, step.stop)) + ".");
    if (step.kind == DecoderStep::Kind::Strip && !isOneCharacter(step.content))
      fail("a Strip of the decoder takes off \"" + step.content + "\" and not one character.");
    if (step.kind == DecoderStep::Kind::SentencePiece && !spec.sentencePiece())
      fail("its decoder is SentencePiece's, its model is not.");
  }
  // Everything compiles.
  Normalizer normalizer(spec);
  PreTokenizer preTokenizer(spec.steps);
  Decoder decoder(spec);
}

} // namespace

bool TokenizerSpec::byteLevel() const {
  for (const PreTokenizerStep &step : steps)
    if (step.kind == PreTokenizerStep::Kind::ByteLevel)
      return true;
  return false;
}

void TokenizerSpec::validate() const {
  checkSize("tokens", tokens.size(), maxTokens);
  checkSize("merges", merges.size(), maxMerges);
  checkSize("added_tokens", addedTokens.size(), maxTokens);
  checkSize("steps", steps.size(), maxSteps);
  checkSize("normalizers", normalizers.size(), maxSteps);
  checkSize("decoder", decoder.size(), maxSteps);
  checkSize("charsmap", charsmap.size(), maxCharsmapBytes);
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
                           std::pair("eot", &eotId), std::pair("model_unknown", &modelUnknownId)})
    if (*id)
      checkId(field, **id);

  checkScores(*this);
  checkSteps(*this);
}

} // namespace llmc::rt
