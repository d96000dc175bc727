//===- Generate.cpp - text from a session ---------------------------------===//

#include "llmc/Runtime/Generate.h"
#include "llmc/Runtime/StopStrings.h"

#include <algorithm>
#include <chrono>

namespace llmc::rt {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

const char *finishReasonName(FinishReason reason) {
  static constexpr const char *names[] = {"length", "end", "stop", "context", "cancelled"};
  return names[size_t(reason)];
}

double GenerateTiming::prefillTokensPerSecond() const {
  return prefillSeconds > 0 ? double(promptTokens) / prefillSeconds : 0;
}

double GenerateTiming::decodeTokensPerSecond() const {
  return decodeSeconds > 0 ? double(decodedTokens) / decodeSeconds : 0;
}

Generator::Generator(Session &session) : session(session), sequence(session.addSequence()) {}
Generator::~Generator() { session.removeSequence(sequence); }

StepOutput Generator::feed(std::span<const int32_t> tokens) {
  StepOutput output;
  while (!tokens.empty()) {
    size_t take = std::min(tokens.size(), size_t(session.maxTokens()));
    bool last = take == tokens.size();
    StepInput input{sequence, tokens.first(take), last ? Logits::Last : Logits::None};
    output = session.step({&input, 1});
    held.insert(held.end(), tokens.begin(), tokens.begin() + ptrdiff_t(take));
    tokens = tokens.subspan(take);
  }
  return output;
}

namespace {
/// From ids to text that may be shown.
class TextStream {
public:
  TextStream(const Artifact &artifact, const GenerateOptions &options, const TextCallback &show)
      : stop(options.stop), show(show) {
    if (artifact.hasTokenizer())
      decoder.emplace(artifact.tokenizer(), /*skipSpecial=*/!options.ignoreEnd);
    else if (!options.stop.empty())
      artifact.tokenizer(); // says what is missing
  }

  /// False where the callback wants no more.
  bool push(int32_t id) { return !decoder || emit(stop.push(decoder->append(id))); }
  void flush() {
    if (decoder && !stop.stopped())
      emit(stop.push(decoder->flush()) + stop.flush());
  }
  bool stopped() const { return stop.stopped(); }

  std::string text;

private:
  bool emit(const std::string &piece) {
    text += piece;
    return piece.empty() || !show || show(piece);
  }

  StopStrings stop;
  const TextCallback &show;
  std::optional<StreamDecoder> decoder;
};
} // namespace

GenerateResult Generator::generate(std::span<const int32_t> prompt, const GenerateOptions &options,
                                   const TextCallback &onText) {
  const Artifact &artifact = session.artifact();
  if (prompt.empty())
    throw InputError("the prompt has no tokens; a model needs at least one to begin with");
  if (int64_t(prompt.size()) > session.maxContext())
    throw InputError("a prompt of " + std::to_string(prompt.size()) +
                     " tokens is more than the context of " + std::to_string(session.maxContext()) +
                     " tokens; shorten it, or " + session.largerContext());
  // The last token that is chosen need not be fed.
  int64_t places = session.maxContext() - int64_t(prompt.size()) + 1;
  bool bounded = options.maxTokens >= 0 && options.maxTokens <= places;
  int64_t most = bounded ? options.maxTokens : places;

  GenerateResult result;
  TextStream stream(artifact, options, onText);
  Sampler sampler(options.sampler);
  for (int32_t id : prompt)
    sampler.accept(id);
  size_t kept = size_t(std::mismatch(prompt.begin(), prompt.end(), held.begin(), held.end()).first -
                       prompt.begin());
  // The last token is always fed: its logits are wanted.
  kept = std::min(kept, prompt.size() - 1);
  session.truncate(sequence, int64_t(kept));
  held.resize(kept);
  result.timing.reusedTokens = int64_t(kept);
  result.finish = bounded ? FinishReason::Length : FinishReason::Context;

  Clock::time_point begin = Clock::now(), first = begin;
  try {
    StepOutput output = feed(prompt.subspan(kept));
    result.timing.promptTokens = int64_t(prompt.size() - kept);
    result.timing.prefillSeconds = secondsSince(begin);
    for (int64_t count = 0; count < most; ++count) {
      int32_t id = sampler.sample(output.row(0));
      if (count == 0) {
        result.timing.firstTokenSeconds = secondsSince(begin);
        first = Clock::now();
      } else {
        result.timing.decodeSeconds = secondsSince(first);
        ++result.timing.decodedTokens;
      }
      if (!options.ignoreEnd && artifact.hasTokenizer() &&
          artifact.tokenizer().isEndOfGeneration(id)) {
        result.finish = FinishReason::EndOfText;
        break;
      }
      sampler.accept(id);
      result.tokens.push_back(id);
      bool wanted = stream.push(id);
      if (stream.stopped() || !wanted) {
        result.finish = wanted ? FinishReason::StopString : FinishReason::Cancelled;
        break;
      }
      if (count + 1 < most)
        output = feed({&result.tokens.back(), 1});
    }
  } catch (const CancelledError &) {
    result.finish = FinishReason::Cancelled;
  }
  stream.flush();
  result.text = std::move(stream.text);
  return result;
}

} // namespace llmc::rt
