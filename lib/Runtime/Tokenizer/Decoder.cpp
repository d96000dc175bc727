//===- Decoder.cpp - from tokens to text ----------------------------------===//
//
// Hugging Face's decoders turn a list of token texts into another list and join the last one.
// Here each step works on one token after the other: it passes on what can no more change and
// holds back the rest. Behind a step that makes one text of the list (Fuse, ByteLevel) there
// are no tokens, only fragments of that text.
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include "ByteAlphabet.h"
#include "Normalizer.h"
#include "PieceModel.h"
#include "Unicode.h"
#include "llmc/Support/Error.h"

namespace llmc::rt {
namespace {

using Kind = DecoderStep::Kind;

constexpr std::string_view spaceSymbol = "\u2581"; // ▁
constexpr std::string_view replacement = "\uFFFD";

// Replace after Replace could fill the memory.
constexpr size_t maxTokenText = size_t(1) << 20;

bool makesOneText(Kind kind) {
  return kind == Kind::Fuse || kind == Kind::ByteLevel || kind == Kind::SpaceBetween ||
         kind == Kind::SentencePiece;
}

/// Cuts up to \p count times \p what off the front; how often it did is the result.
int32_t stripFront(std::string_view &text, std::string_view what, int32_t count) {
  int32_t done = 0;
  while (done < count && !what.empty() && text.starts_with(what)) {
    text.remove_prefix(what.size());
    ++done;
  }
  return done;
}

int32_t countBack(std::string_view text, std::string_view what, int32_t count) {
  int32_t done = 0;
  while (done < count && !what.empty() && text.ends_with(what)) {
    text.remove_suffix(what.size());
    ++done;
  }
  return done;
}

} // namespace

Decoder::Decoder(const TokenizerSpec &spec) : spec(spec) {
  bool oneText = false;
  for (const DecoderStep &step : spec.decoder) {
    regexes.emplace_back();
    if (step.kind == Kind::Replace && step.regex)
      regexes.back().emplace(step.pattern);
    if (oneText) {
      bool local = step.kind == Kind::Fuse || step.kind == Kind::Strip ||
                   step.kind == Kind::Metaspace ||
                   (step.kind == Kind::Replace && !step.regex && !step.pattern.empty() &&
                    characterLength(step.pattern[0]) == step.pattern.size());
      if (!local)
        throw UnsupportedTokenizer("The decoder's step " + std::to_string(regexes.size()) +
                         " works on the whole text behind a step that joins the tokens. This is "
                         "supported for Fuse, Strip, Metaspace and the Replace of one character "
                         "only, because the text is shown while it is made.");
    }
    oneText = oneText || makesOneText(step.kind);
  }
}

Decoder::Stream::Stream(const Decoder &decoder, Mode mode)
    : decoder(&decoder), mode(mode), states(decoder.spec.decoder.size()) {
  for (size_t i = 0; i < states.size(); ++i) {
    if (mode == Mode::Inside) {
      states[i].begun = true;
      states[i].removed = decoder.spec.decoder[i].start;
    }
    matchers.emplace_back();
    if (decoder.regexes[i])
      matchers.back().emplace(*decoder.regexes[i]);
  }
}

void Decoder::Stream::append(int32_t id, std::string &out) {
  const TokenEntry &entry = decoder->spec.tokens[id];
  // An id that stands for nothing is no token.
  if (!entry.text.empty())
    token(0, entry.text, entry.type, out);
}

void Decoder::Stream::finish(std::string &out) {
  for (size_t i = 0; i < states.size(); ++i)
    finishStep(i, out);
  states.assign(states.size(), {});
}

void Decoder::Stream::token(size_t index, std::string_view text, TokenType type,
                            std::string &out) {
  if (text.size() > maxTokenText)
    throw InputError("The tokenizer's decoder makes " + std::to_string(text.size()) +
                     " bytes of one token; the limit is " + std::to_string(maxTokenText) + ".");
  if (index == states.size())
    return void(out += text);
  const DecoderStep &step = decoder->spec.decoder[index];
  State &state = states[index];
  switch (step.kind) {
  case Kind::Fuse:
    return fragment(index + 1, text, out);

  case Kind::SpaceBetween: {
    std::string spaced(state.begun && mode == Mode::Text ? " " : "");
    state.begun = true;
    return fragment(index + 1, spaced.append(text), out);
  }
  case Kind::ByteLevel: {
    // A token with a character outside of the alphabet stands for its own text.
    if (!unspellBytes(text, state.held))
      state.held += text;
    std::string ready;
    if (mode == Mode::Inside) {
      ready.swap(state.held);
    } else {
      size_t tail = appendReplacingInvalid(ready, state.held, /*keepTail=*/true);
      state.held.erase(0, state.held.size() - tail);
    }
    return fragment(index + 1, ready, out);
  }
  case Kind::Metaspace: {
    std::string spaced =
        replaceAll(text, step.content, step.prepend && !state.begun ? "" : " ");
    state.begun = true;
    return token(index + 1, spaced, type, out);
  }
  case Kind::ByteFallback: {
    int32_t byte = byteOfPiece(text);
    if (byte < 0) {
      flushBytes(index, out);
      return token(index + 1, text, type, out);
    }
    state.held += static_cast<char>(byte);
    if (mode == Mode::Inside)
      finishStep(index, out);
    return;
  }
  case Kind::Strip:
    stripFront(text, step.content, step.start);
    text.remove_suffix(step.content.size() *
                       static_cast<size_t>(countBack(text, step.content, step.stop)));
    return token(index + 1, text, type, out);

  case Kind::Replace:
    return token(index + 1,
                 step.regex ? replaceAll(text, *matchers[index], step.content)
                            : replaceAll(text, step.pattern, step.content),
                 type, out);

  case Kind::SentencePiece:
    return sentencePiece(index, text, type, out);
  }
}

void Decoder::Stream::fragment(size_t index, std::string_view text, std::string &out) {
  if (index == states.size())
    return void(out += text);
  if (text.empty())
    return;
  const DecoderStep &step = decoder->spec.decoder[index];
  State &state = states[index];
  switch (step.kind) {
  case Kind::Metaspace: // one token, so the first one
    return fragment(index + 1,
                    replaceAll(text, step.content,
                               step.prepend && mode == Mode::Text ? "" : " "),
                    out);
  case Kind::Replace:
    return fragment(index + 1, replaceAll(text, step.pattern, step.content), out);
  case Kind::Strip: {
    if (!state.begun)
      state.removed += stripFront(text, step.content, step.start - state.removed);
    if (text.empty())
      return;
    state.begun = true;
    // What may be at the end waits.
    std::string all = state.held.append(text);
    size_t keep = mode == Mode::Inside ? 0
                                       : step.content.size() * static_cast<size_t>(countBack(
                                                                   all, step.content, step.stop));
    state.held = all.substr(all.size() - keep);
    return fragment(index + 1, std::string_view(all).substr(0, all.size() - keep), out);
  }
  default: // Fuse: there is nothing left to join
    return fragment(index + 1, text, out);
  }
}

/// What was held back is passed on or, by a Strip, dropped.
void Decoder::Stream::finishStep(size_t index, std::string &out) {
  State &state = states[index];
  switch (decoder->spec.decoder[index].kind) {
  case Kind::ByteLevel: {
    std::string rest;
    appendReplacingInvalid(rest, state.held, /*keepTail=*/false);
    state.held.clear();
    return fragment(index + 1, rest, out);
  }
  case Kind::ByteFallback:
  case Kind::SentencePiece:
    return flushBytes(index, out);
  default:
    return;
  }
}

/// The end of a run of byte tokens. Hugging Face's library takes all of them for broken where
/// one is; SentencePiece looks at one after the other.
void Decoder::Stream::flushBytes(size_t index, std::string &out) {
  std::string held;
  held.swap(states[index].held);
  if (held.empty())
    return;
  bool broken = mode == Mode::Text && validUtf8Prefix(held) != held.size();
  std::string text;
  if (!broken)
    text = held;
  else
    for (size_t i = 0; i < held.size(); ++i)
      text += replacement;
  if (decoder->spec.decoder[index].kind == Kind::SentencePiece)
    fragment(index + 1, text, out);
  else
    token(index + 1, text, TokenType::Normal, out);
}

void Decoder::Stream::sentencePiece(size_t index, std::string_view text, TokenType type,
                                    std::string &out) {
  const DecoderStep &step = decoder->spec.decoder[index];
  State &state = states[index];
  if (type == TokenType::Byte) {
    state.begun = true;
    state.held += static_cast<char>(byteOfPiece(text));
    std::string ready;
    if (mode == Mode::Inside) {
      ready.swap(state.held);
    } else {
      while (!state.held.empty()) {
        Utf8Step character = nextUtf8(state.held);
        if (character.truncated)
          break;
        ready += character.valid ? std::string_view(state.held).substr(0, character.length)
                                 : replacement;
        state.held.erase(0, character.valid ? character.length : 1);
      }
    }
    return fragment(index + 1, ready, out);
  }
  flushBytes(index, out);
  std::string shown;
  if (type == TokenType::Unknown && mode == Mode::Text) {
    shown = step.content;
  } else if (type == TokenType::Unknown || type == TokenType::Control) {
    shown = text; // of control tokens, those that are not skipped
    return fragment(index + 1, shown, out);
  } else {
    bool dropped = step.prepend && !state.begun && text.starts_with(spaceSymbol);
    if (dropped)
      text.remove_prefix(spaceSymbol.size());
    shown = replaceAll(text, spaceSymbol, " ");
    state.begun |= dropped && !step.all;
  }
  state.begun |= !shown.empty();
  fragment(index + 1, shown, out);
}

} // namespace llmc::rt
