//===- Tokenizer.cpp - text to token ids and back -------------------------===//
#include "llmc/Runtime/Tokenizer.h"

#include "AddedTokens.h"
#include "Bpe.h"
#include "ByteAlphabet.h"
#include "PreTokenizer.h"
#include "Unicode.h"
#include "llmc/Support/Error.h"

#include <fstream>
#include <iterator>

namespace llmc::rt {
namespace {

/// The bytes BPE makes each token of; empty for one that it cannot make.
std::vector<std::string> bytesOfTokens(const TokenizerSpec &spec) {
  std::vector<std::string> bytes(spec.tokens.size());
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    const TokenEntry &token = spec.tokens[id];
    if (token.type == TokenType::Normal || token.type == TokenType::Byte)
      unspellBytes(token.text, bytes[id]);
  }
  return bytes;
}

} // namespace

struct Tokenizer::Impl {
  TokenizerSpec spec;
  std::vector<std::string> bytes; ///< as BPE sees them
  std::vector<std::string> texts; ///< as decode() shows them
  std::vector<bool> special, endOfGeneration;
  AddedTokens beforeNormalizer, afterNormalizer;
  PreTokenizer preTokenizer;
  Bpe bpe;

  explicit Impl(TokenizerSpec checked)
      : spec(std::move(checked)), bytes(bytesOfTokens(spec)), texts(bytes),
        special(spec.tokens.size()), endOfGeneration(spec.tokens.size()),
        preTokenizer(spec.steps), bpe(spec, bytes) {
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
      special[id] = spec.tokens[id].type == TokenType::Control;
      // A piece with a character outside of the byte alphabet stands for its
      // own text, as in Hugging Face's decoder.
      if (texts[id].empty())
        texts[id] = spec.tokens[id].text;
    }
    for (const AddedToken &token : spec.addedTokens) {
      texts[token.id] = token.content;
      special[token.id] = special[token.id] || token.special;
      (token.normalized ? afterNormalizer : beforeNormalizer).add(token);
    }
    for (int32_t id : spec.endOfGenerationIds)
      endOfGeneration[id] = true;
  }

  void check(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= texts.size())
      throw InputError("Token id " + std::to_string(id) + " is outside of the vocabulary of " +
                       std::to_string(texts.size()) + " tokens.");
  }
};

Tokenizer::Tokenizer(TokenizerSpec spec) {
  spec.validate();
  impl = std::make_unique<Impl>(std::move(spec));
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer &&) noexcept = default;
Tokenizer &Tokenizer::operator=(Tokenizer &&) noexcept = default;

Tokenizer Tokenizer::fromFile(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw InputError("Cannot open the tokenizer file " + path.string() + ".");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return Tokenizer(TokenizerSpec::fromJson(text, path.string()));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<int32_t> ids;
  if (options.addSpecial)
    ids = impl->spec.prefixIds;

  Bpe::Session bpe(impl->bpe);
  PreTokenizer::Session pre(impl->preTokenizer);
  auto onToken = [&](int32_t id) { ids.push_back(id); };
  auto onPiece = [&](std::string_view piece) { bpe.encode(piece, ids); };
  auto onNormalText = [&](std::string_view part) { pre.run(part, onPiece); };
  auto onText = [&](std::string_view part) {
    std::string normal;
    for (NormalizerKind kind : impl->spec.normalizers) {
      if (kind == NormalizerKind::Nfc) {
        normal = toNfc(part);
        part = normal;
      }
    }
    impl->afterNormalizer.split(part, options.parseSpecial, onNormalText, onToken);
  };

  // Rules are about characters. Bytes that form none are encoded as they are,
  // each broken run as a piece of its own.
  while (!text.empty()) {
    size_t good = validUtf8Prefix(text);
    impl->beforeNormalizer.split(text.substr(0, good), options.parseSpecial, onText, onToken);
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

  if (options.addSpecial)
    ids.insert(ids.end(), impl->spec.suffixIds.begin(), impl->spec.suffixIds.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skipSpecial) const {
  std::string bytes;
  for (int32_t id : ids) {
    impl->check(id);
    if (!skipSpecial || !impl->special[id])
      bytes += impl->texts[id];
  }
  std::string out;
  appendReplacingInvalid(out, bytes, /*keepTail=*/false);
  return out;
}

std::string_view Tokenizer::tokenText(int32_t id) const {
  impl->check(id);
  return impl->texts[id];
}

bool Tokenizer::isSpecial(int32_t id) const {
  impl->check(id);
  return impl->special[id];
}

bool Tokenizer::isEndOfGeneration(int32_t id) const {
  impl->check(id);
  return impl->endOfGeneration[id];
}

int32_t Tokenizer::vocabSize() const { return static_cast<int32_t>(impl->texts.size()); }

const TokenizerSpec &Tokenizer::spec() const { return impl->spec; }

std::string StreamDecoder::append(int32_t id) {
  if (skipSpecial && tokenizer->isSpecial(id))
    return {};
  pending += tokenizer->tokenText(id);
  std::string out;
  size_t tail = appendReplacingInvalid(out, pending, /*keepTail=*/true);
  pending.erase(0, pending.size() - tail);
  return out;
}

std::string StreamDecoder::flush() {
  std::string out;
  appendReplacingInvalid(out, pending, /*keepTail=*/false);
  pending.clear();
  return out;
}

} // namespace llmc::rt
