//===- Generate.cpp - text from a session ---------------------------------===//

#include "Generation.h"

#include <algorithm>

namespace llmc::rt {

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
    StepInput input{sequence, tokens.first(take), last ? Logits::Last : Logits::None,
                    int64_t(held.size() + tokens.size())};
    output = session.step({&input, 1});
    held.insert(held.end(), tokens.begin(), tokens.begin() + ptrdiff_t(take));
    tokens = tokens.subspan(take);
  }
  return output;
}

/// The same with the logits of every token shown.
StepOutput
Generator::feedScored(std::span<const int32_t> tokens,
                      const std::function<void(int64_t, std::span<const float>)> &show) {
  StepOutput output;
  size_t most = size_t(std::min(session.maxTokens(), session.maxOutputs()));
  while (!tokens.empty()) {
    size_t take = std::min(tokens.size(), most);
    StepInput input{sequence, tokens.first(take), Logits::All,
                    int64_t(held.size() + tokens.size())};
    output = session.step({&input, 1});
    for (size_t i = 0; i < take; ++i)
      show(int64_t(held.size() + i), output.row(int64_t(i)));
    held.insert(held.end(), tokens.begin(), tokens.begin() + ptrdiff_t(take));
    tokens = tokens.subspan(take);
  }
  return output;
}

GenerateResult Generator::generate(std::span<const int32_t> prompt, const GenerateOptions &options,
                                   const TextCallback &onText) {
  detail::Generation generation(session.artifact(), prompt, options, onText, session.maxContext(),
                                session.largerContext());
  bool scored = options.logprobs >= 0 && options.promptLogprobs;
  size_t kept = size_t(std::mismatch(prompt.begin(), prompt.end(), held.begin(), held.end()).first -
                       prompt.begin());
  // The last token is always fed: its logits are wanted. So are all for scores.
  kept = scored ? 0 : std::min(kept, prompt.size() - 1);
  // State that cannot go back is of no use where anything of it must go.
  if (!session.canReturnTo(sequence, int64_t(kept)))
    kept = 0;
  session.truncate(sequence, int64_t(kept));
  held.resize(kept);
  generation.start();
  try {
    StepOutput output;
    if (scored)
      output = feedScored(prompt, [&](int64_t position, std::span<const float> logits) {
        generation.scorePrompt(position, logits);
      });
    else
      output = feed(prompt.subspan(kept));
    int64_t row = output.rows - 1;
    generation.prefillEnds(int64_t(prompt.size() - kept));
    for (int64_t count = 0; count < generation.most(); ++count) {
      std::optional<int32_t> id = generation.next(output.row(row));
      if (!id)
        break;
      if (count + 1 < generation.most()) {
        output = feed({&*id, 1});
        row = 0;
      }
    }
  } catch (const CancelledError &) {
    generation.cancel();
  }
  return generation.finish();
}

} // namespace llmc::rt
