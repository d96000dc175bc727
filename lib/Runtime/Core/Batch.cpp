//===- Batch.cpp - many answers in shared steps ---------------------------===//

#include "llmc/Runtime/Batch.h"

#include "Generation.h"

#include <algorithm>

namespace llmc::rt {

void BatchGenerator::submit(std::span<const int32_t> prompt, const GenerateOptions &options,
                            Done done) {
  struct State {
    detail::Generation generation;
    std::exception_ptr error;
    bool begun = false;
  };
  int64_t capacity =
      std::min(session.maxContext(), session.blocks() * session.blockTokens());
  auto state = std::make_shared<State>(
      State{{session.artifact(), prompt, options, {}, capacity, session.largerContext()}, {}});
  auto promptTokens = int64_t(prompt.size());
  Request request;
  request.prompt.assign(prompt.begin(), prompt.end());
  request.maxTokens = state->generation.most();
  request.promptLogits = options.logprobs >= 0 && options.promptLogprobs;
  if (request.promptLogits)
    request.onLogits = [state](int64_t position, std::span<const float> logits) {
      state->generation.scorePrompt(position, logits);
    };
  request.next = [state, promptTokens](std::span<const float> logits) -> std::optional<int32_t> {
    if (!std::exchange(state->begun, true))
      state->generation.prefillEnds(promptTokens);
    // What is wrong with one answer is not the others' fault.
    try {
      return state->generation.next(logits);
    } catch (const InputError &) {
      state->error = std::current_exception();
      return std::nullopt;
    }
  };
  request.onEnd = [this, state, done = std::move(done)] {
    --open;
    done(state->error ? GenerateResult{} : state->generation.finish(), state->error);
  };
  scheduler.submit(std::move(request));
  ++open;
}

} // namespace llmc::rt
