//===- Tokenizer.cpp - text to token ids and back -------------------------===//
#include "llmc/Runtime/Tokenizer.h"

#include "AddedTokens.h"
#include "Decoder.h"
#include "Normalizer.h"
#include "PieceModel.h"
#include "PreTokenizer.h"
#include "Unicode.h"
#include "llmc/Support/Error.h"

#include <fstream>

namespace llmc::rt {

struct Tokenizer::Impl {
  TokenizerSpec spec;
  std::vector<bool> special, endOfGeneration;
  Normalizer normalizer;
  AddedTokens beforeNormalizer, afterNormalizer;
  PreTokenizer preTokenizer;
  std::unique_ptr<PieceModel> model;
  Decoder decoder;

  explicit Impl(TokenizerSpec checked)
      : spec(std::move(checked)), special(spec.tokens.size()), endOfGeneration(spec.tokens.size()),
        normalizer(spec), preTokenizer(spec.steps), model(makePieceModel(spec)), decoder(spec) {
    for (size_t id = 0; id < spec.tokens.size(); ++id)
      special[id] = spec.tokens[id].type == TokenType::Control;
    for (const AddedToken &token : spec.addedTokens) {
      // SentencePiece shows what it does not know.
      if (token.special && !(spec.sentencePiece() && token.id == spec.modelUnknownId))
        special[token.id] = true;
      (token.normalized ? afterNormalizer : beforeNormalizer).add(token);
    }
    for (int32_t id : spec.endOfGenerationIds)
      endOfGeneration[id] = true;
  }
  // The parts view the spec.
  Impl(const Impl &) = delete;
  Impl &operator=(const Impl &) = delete;

  void check(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= spec.tokens.size())
      throw InputError("Token id " + std::to_string(id) + " is outside of the vocabulary of " +
                       std::to_string(spec.tokens.size()) + " tokens.");
  }
};

Tokenizer::Tokenizer(TokenizerSpec spec) {
  spec.validate();
  impl = std::make_unique<Impl>(std::move(spec));
}

Tokenizer::Tokenizer(TokenizerSpec spec, Checked) : impl(std::make_unique<Impl>(std::move(spec))) {}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer &&) noexcept = default;
Tokenizer &Tokenizer::operator=(Tokenizer &&) noexcept = default;

Tokenizer Tokenizer::fromFile(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw InputError("Cannot open the tokenizer file " + path.string() + ".");
  std::error_code error;
  auto size = std::filesystem::file_size(path, error);
  std::string bytes(error ? 0 : size, '\0');
  if (error || !in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw InputError("Cannot read the tokenizer file " + path.string() + ".");
  return Tokenizer(TokenizerSpec::fromBytes(bytes, path.string()), Checked());
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<int32_t> ids;
  if (options.addSpecial)
    ids = impl->spec.prefixIds;

  std::unique_ptr<PieceModel::Session> model = impl->model->open();
  PreTokenizer::Session pre(impl->preTokenizer);
  const char *begin = text.data();
  auto onToken = [&](int32_t id) { ids.push_back(id); };
  auto onPiece = [&](std::string_view piece) { model->encode(piece, ids); };
  auto onText = [&](std::string_view part) {
    bool first = part.data() == begin;
    std::string normal;
    if (!impl->normalizer.empty()) {
      bool frontRemoved = false;
      normal = impl->normalizer.run(part, &frontRemoved);
      part = normal;
      first &= !frontRemoved;
    }
    const char *partBegin = part.data();
    impl->afterNormalizer.split(
        part, options.parseSpecial,
        [&](std::string_view piece) {
          pre.run(piece, first && piece.data() == partBegin, onPiece);
        },
        onToken);
  };
  auto onCharacters = [&](std::string_view part) {
    impl->beforeNormalizer.split(part, options.parseSpecial, onText, onToken);
  };

  if (impl->spec.sentencePiece()) {
    onCharacters(text); // its normalizer takes any bytes
  } else if (impl->spec.byteLevel()) {
    // Rules are about characters. Bytes that form none are encoded as they are,
    // each broken run as a piece of its own.
    while (!text.empty()) {
      size_t good = validUtf8Prefix(text);
      onCharacters(text.substr(0, good));
      text.remove_prefix(good);
      size_t broken = 0;
      while (broken < text.size()) {
        Utf8Step step = nextUtf8(text.substr(broken));
        if (step.valid)
          break;
        broken += step.length;
      }
      if (broken)
        onPiece(text.substr(0, broken));
      text.remove_prefix(broken);
    }
  } else if (validUtf8Prefix(text) == text.size()) {
    onCharacters(text);
  } else {
    std::string whole;
    appendReplacingInvalid(whole, text, /*keepTail=*/false);
    begin = whole.data();
    onCharacters(whole);
  }

  if (options.addSpecial)
    ids.insert(ids.end(), impl->spec.suffixIds.begin(), impl->spec.suffixIds.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skipSpecial) const {
  std::string out;
  Decoder::Stream stream(impl->decoder);
  for (int32_t id : ids) {
    impl->check(id);
    if (!skipSpecial || !impl->special[id])
      stream.append(id, out);
  }
  stream.finish(out);
  return out;
}

std::string Tokenizer::tokenText(int32_t id) const {
  impl->check(id);
  std::string out;
  Decoder::Stream stream(impl->decoder, Decoder::Stream::Mode::Inside);
  stream.append(id, out);
  return out;
}

bool Tokenizer::isSpecial(int32_t id) const {
  impl->check(id);
  return impl->special[id];
}

bool Tokenizer::isEndOfGeneration(int32_t id) const {
  impl->check(id);
  return impl->endOfGeneration[id];
}

int32_t Tokenizer::vocabSize() const { return static_cast<int32_t>(impl->spec.tokens.size()); }

const TokenizerSpec &Tokenizer::spec() const { return impl->spec; }

struct StreamDecoder::State {
  const Tokenizer *tokenizer;
  bool skipSpecial;
  Decoder::Stream stream;
};

StreamDecoder::StreamDecoder(const Tokenizer &tokenizer, bool skipSpecial)
    : state(new State{&tokenizer, skipSpecial, Decoder::Stream(tokenizer.impl->decoder)}) {}
StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder &&) noexcept = default;
StreamDecoder &StreamDecoder::operator=(StreamDecoder &&) noexcept = default;

std::string StreamDecoder::append(int32_t id) {
  std::string out;
  if (!state->tokenizer->isSpecial(id) || !state->skipSpecial)
    state->stream.append(id, out);
  return out;
}

std::string StreamDecoder::flush() {
  std::string out;
  state->stream.finish(out);
  return out;
}

} // namespace llmc::rt
