//===- SentencePieceModel.cpp - a tokenizer from SentencePiece's file -----===//
//
// The file is a serialised ModelProto (sentencepiece_model.proto): a list of fields, each a key
// (number and wire type) and a value. Only what a tokenizer needs is read; other fields are
// stepped over.
//
//===----------------------------------------------------------------------===//
#include "SentencePieceModel.h"

#include "SpecLimits.h"
#include "Unicode.h"

#include <cstring>
#include <unordered_set>

namespace llmc::rt {
namespace {

[[noreturn]] void fail(const std::string &what) {
  throw InputError("The SentencePiece model " + what + ".");
}

[[noreturn]] void failUnsupported(const std::string &what) {
  throw UnsupportedTokenizer("The SentencePiece model " + what + ".");
}

/// The fields of one message, in their order.
class Message {
public:
  Message(std::string_view bytes, const char *name) : rest(bytes), name(name) {}

  struct Field {
    uint32_t number = 0;
    uint32_t wire = 0;
    uint64_t value = 0;     ///< of wire types 0 (varint), 1 and 5 (fixed)
    std::string_view bytes; ///< of wire type 2
  };

  bool next(Field &field) {
    if (rest.empty())
      return false;
    uint64_t key = varint();
    field = {};
    field.wire = key & 7;
    if (key >> 3 == 0 || key >> 3 > 0x1FFFFFFF)
      broken("a field has the number " + std::to_string(key >> 3));
    field.number = static_cast<uint32_t>(key >> 3);
    switch (field.wire) {
    case 0:
      field.value = varint();
      return true;
    case 1:
      field.value = fixed(8);
      return true;
    case 2: {
      uint64_t size = varint();
      if (size > rest.size())
        broken("field " + std::to_string(field.number) + " has " + std::to_string(size) +
               " bytes where " + std::to_string(rest.size()) + " are left");
      field.bytes = rest.substr(0, size);
      rest.remove_prefix(size);
      return true;
    }
    case 5:
      field.value = fixed(4);
      return true;
    default:
      broken("field " + std::to_string(field.number) + " has the wire type " +
             std::to_string(field.wire));
    }
  }

  std::string_view bytes(const Field &field) const { return expect(field, 2), field.bytes; }
  bool flag(const Field &field) const { return expect(field, 0), field.value != 0; }
  /// Negative numbers are written as 64-bit two's complement.
  int32_t integer(const Field &field) const {
    expect(field, 0);
    auto value = static_cast<int64_t>(field.value);
    if (value < INT32_MIN || value > INT32_MAX)
      broken("field " + std::to_string(field.number) + " is " + std::to_string(value));
    return static_cast<int32_t>(value);
  }
  float number(const Field &field) const {
    expect(field, 5);
    auto bits = static_cast<uint32_t>(field.value);
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

private:
  void expect(const Field &field, uint32_t wire) const {
    if (field.wire != wire)
      broken("field " + std::to_string(field.number) + " has the wire type " +
             std::to_string(field.wire) + " and not " + std::to_string(wire));
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (size_t i = 0; i < rest.size() && i < 10; ++i) {
      auto byte = static_cast<uint8_t>(rest[i]);
      value |= uint64_t(byte & 0x7F) << (7 * i);
      if (byte < 0x80) {
        rest.remove_prefix(i + 1);
        return value;
      }
    }
    broken("a number does not end");
  }
  uint64_t fixed(size_t size) {
    if (size > rest.size())
      broken("it ends inside of a number");
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
      value = value << 8 | static_cast<uint8_t>(rest[i]);
    rest.remove_prefix(size);
    return value;
  }
  [[noreturn]] void broken(const std::string &what) const {
    fail(std::string("is damaged: in its ") + name + ", " + what +
         "; take the file from its source again");
  }

  std::string_view rest;
  const char *name;
};

struct Trainer {
  int32_t modelType = 1; ///< 1 unigram, 2 BPE, 3 words, 4 characters
  bool whitespaceAsSuffix = false;
  bool byteFallback = false;
  int32_t bosId = 1, eosId = 2, padId = -1;
  std::string unknownSurface = " \u2047 ";
};

Trainer readTrainer(std::string_view bytes) {
  Trainer trainer;
  Message message(bytes, "trainer_spec");
  for (Message::Field field; message.next(field);) {
    switch (field.number) {
    case 3:
      trainer.modelType = message.integer(field);
      break;
    case 24:
      trainer.whitespaceAsSuffix = message.flag(field);
      break;
    case 35:
      trainer.byteFallback = message.flag(field);
      break;
    case 41:
      trainer.bosId = message.integer(field);
      break;
    case 42:
      trainer.eosId = message.integer(field);
      break;
    case 43:
      trainer.padId = message.integer(field);
      break;
    case 44:
      trainer.unknownSurface = message.bytes(field);
      break;
    default:
      break;
    }
  }
  return trainer;
}

NormalizerStep readNormalizer(std::string_view bytes, std::string &charsmap) {
  NormalizerStep step;
  step.kind = NormalizerStep::Kind::SentencePiece;
  step.addDummyPrefix = step.removeExtraWhitespaces = true;
  Message message(bytes, "normalizer_spec");
  for (Message::Field field; message.next(field);) {
    switch (field.number) {
    case 2:
      charsmap = message.bytes(field);
      break;
    case 3:
      step.addDummyPrefix = message.flag(field);
      break;
    case 4:
      step.removeExtraWhitespaces = message.flag(field);
      break;
    case 5:
      step.escapeWhitespaces = message.flag(field);
      break;
    default:
      break;
    }
  }
  return step;
}

void readPiece(std::string_view bytes, TokenizerSpec &spec) {
  TokenEntry entry;
  float score = 0;
  Message message(bytes, "pieces");
  for (Message::Field field; message.next(field);) {
    if (field.number == 1)
      entry.text = message.bytes(field);
    else if (field.number == 2)
      score = message.number(field);
    else if (field.number == 3)
      // What is not a type becomes one that validate() refuses by its number.
      entry.type = static_cast<TokenType>(
          static_cast<uint8_t>(std::min<uint32_t>(message.integer(field), 255)));
  }
  if (entry.text.empty())
    fail("has an empty piece, number " + std::to_string(spec.tokens.size()));
  if (spec.tokens.size() >= spec::maxTokens)
    fail("has more than " + std::to_string(spec::maxTokens) + " pieces");
  spec.tokens.push_back(std::move(entry));
  spec.scores.push_back(score);
}

} // namespace

void completeSentencePiece(TokenizerSpec &spec, const NormalizerStep &normalizer,
                           const std::string &unknownSurface) {
  spec.normalizers = {normalizer};
  DecoderStep decoder;
  decoder.kind = DecoderStep::Kind::SentencePiece;
  decoder.content = unknownSurface;
  decoder.prepend = normalizer.addDummyPrefix || normalizer.removeExtraWhitespaces;
  decoder.all = normalizer.removeExtraWhitespaces;
  spec.decoder = {decoder};
  size_t bytes = 0;
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    const TokenEntry &token = spec.tokens[id];
    bytes += token.type == TokenType::Byte;
    if (token.type == TokenType::Unknown && !spec.modelUnknownId)
      spec.modelUnknownId = static_cast<int32_t>(id);
    if (token.type == TokenType::Control || token.type == TokenType::Unknown)
      spec.addedTokens.push_back({static_cast<int32_t>(id), token.text, /*special=*/true});
  }
  spec.byteFallback = bytes == 256;
  if (bytes && bytes != 256)
    fail("has " + std::to_string(bytes) + " pieces of type byte; it may have none or 256");
  if (!spec.modelUnknownId)
    fail("has no piece of type unknown");
  if (!spec.unkId)
    spec.unkId = spec.modelUnknownId;
}

TokenizerSpec specFromSentencePiece(std::string_view bytes) {
  TokenizerSpec spec;
  Trainer trainer;
  NormalizerStep normalizer = readNormalizer("", spec.charsmap);
  Message message(bytes, "ModelProto");
  for (Message::Field field; message.next(field);) {
    if (field.number == 1)
      readPiece(message.bytes(field), spec);
    else if (field.number == 2)
      trainer = readTrainer(message.bytes(field));
    else if (field.number == 3)
      normalizer = readNormalizer(message.bytes(field), spec.charsmap);
    else if (field.number == 5) {
      std::string denormalizer;
      readNormalizer(message.bytes(field), denormalizer);
      if (!denormalizer.empty())
        failUnsupported("has a denormalizer_spec with a charsmap, which is not supported");
    }
  }
  if (trainer.modelType == 2)
    spec.kind = TokenizerKind::SentencePieceBpe;
  else if (trainer.modelType == 1)
    spec.kind = TokenizerKind::SentencePieceUnigram;
  else
    failUnsupported("has the model_type " + std::to_string(trainer.modelType) +
         (trainer.modelType == 3 ? " (words)" : trainer.modelType == 4 ? " (characters)" : "") +
         ", which is not supported; 1 (unigram) and 2 (BPE) are");
  std::unordered_set<std::string_view> seen;
  for (const TokenEntry &token : spec.tokens)
    if (!seen.insert(token.text).second)
      fail("has the piece \"" + token.text + "\" twice");

  normalizer.whitespaceAsSuffix = trainer.whitespaceAsSuffix;
  completeSentencePiece(spec, normalizer, trainer.unknownSurface);
  if (trainer.byteFallback != spec.byteFallback)
    fail(trainer.byteFallback ? "has byte_fallback and no pieces of type byte"
                              : "has pieces of type byte without byte_fallback");
  auto idOf = [&](int32_t id) -> std::optional<int32_t> {
    if (id < 0 || static_cast<size_t>(id) >= spec.tokens.size() ||
        spec.tokens[id].type != TokenType::Control)
      return std::nullopt; // the trainer's number of a piece that was not made
    return id;
  };
  spec.bosId = idOf(trainer.bosId);
  spec.eosId = idOf(trainer.eosId);
  spec.padId = idOf(trainer.padId);
  if (spec.eosId)
    spec.endOfGenerationIds = {*spec.eosId};
  spec.source = trainer.modelType == 2 ? "sentencepiece:BPE" : "sentencepiece:unigram";
  spec.validate();
  return spec;
}

} // namespace llmc::rt
