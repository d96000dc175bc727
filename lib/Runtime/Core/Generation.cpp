//===- Generation.cpp - one answer, token by token ------------------------===//

#include "Generation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace llmc::rt::detail {

TextStream::TextStream(const Artifact &artifact, const GenerateOptions &options, TextCallback show)
    : stop(options.stop), show(std::move(show)) {
  if (artifact.hasTokenizer())
    decoder.emplace(artifact.tokenizer(), /*skipSpecial=*/!options.ignoreEnd);
  else if (!options.stop.empty())
    artifact.tokenizer(); // says what is missing
}

void TextStream::flush() {
  if (decoder && !stop.stopped())
    emit(stop.push(decoder->flush()) + stop.flush());
}

Generation::Generation(const Artifact &artifact, std::span<const int32_t> prompt,
                       const GenerateOptions &options, TextCallback onText, int64_t capacity,
                       const std::string &larger)
    : artifact(artifact), prompt(prompt.begin(), prompt.end()), options(options),
      stream(artifact, options, std::move(onText)), sampler(options.sampler) {
  if (prompt.empty())
    throw InputError("the prompt has no tokens; a model needs at least one to begin with");
  if (int64_t(prompt.size()) > capacity)
    throw InputError("a prompt of " + std::to_string(prompt.size()) +
                     " tokens is more than the context of " + std::to_string(capacity) +
                     " tokens; shorten it, or " + larger);
  int64_t places = capacity - int64_t(prompt.size()) + 1;
  bool bounded = options.maxTokens >= 0 && options.maxTokens <= places;
  limit = bounded ? options.maxTokens : places;
  result.finish = bounded ? FinishReason::Length : FinishReason::Context;
  for (int32_t id : prompt)
    sampler.accept(id);
  start();
  first = begin;
}

static double seconds(Generation::Clock::time_point since) {
  return std::chrono::duration<double>(Generation::Clock::now() - since).count();
}

void Generation::prefillEnds(int64_t tokens) {
  result.timing.promptTokens = tokens;
  result.timing.reusedTokens = int64_t(prompt.size()) - tokens;
  result.timing.prefillSeconds = seconds(begin);
}

TokenScore Generation::scoreOf(std::span<const float> logits, int32_t token) const {
  TokenScore score{token, 0, {}};
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  double shift = largest + std::log(sum);
  score.logprob = double(logits[size_t(token)]) - shift;
  size_t wanted = std::min(size_t(options.logprobs), logits.size());
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + ptrdiff_t(wanted), order.end(),
                    [&](int32_t a, int32_t b) {
                      float x = logits[size_t(a)], y = logits[size_t(b)];
                      return x > y || (x == y && a < b);
                    });
  for (size_t i = 0; i < wanted; ++i)
    score.top.push_back({order[i], double(logits[size_t(order[i])]) - shift});
  return score;
}

void Generation::scorePrompt(int64_t position, std::span<const float> logits) {
  if (options.promptLogprobs && options.logprobs >= 0 && position + 1 < int64_t(prompt.size()))
    result.promptScores.push_back(scoreOf(logits, prompt[size_t(position) + 1]));
}

std::optional<int32_t> Generation::next(std::span<const float> logits) {
  int32_t id = sampler.sample(logits);
  if (count++ == 0) {
    result.timing.firstTokenSeconds = seconds(begin);
    first = Clock::now();
  } else {
    result.timing.decodeSeconds = seconds(first);
    ++result.timing.decodedTokens;
  }
  if (!options.ignoreEnd && artifact.hasTokenizer() &&
      artifact.tokenizer().isEndOfGeneration(id)) {
    result.finish = FinishReason::EndOfText;
    return std::nullopt;
  }
  if (options.logprobs >= 0)
    result.scores.push_back(scoreOf(logits, id));
  sampler.accept(id);
  result.tokens.push_back(id);
  bool wanted = stream.push(id);
  if (stream.stopped() || !wanted) {
    result.finish = wanted ? FinishReason::StopString : FinishReason::Cancelled;
    return std::nullopt;
  }
  return id;
}

GenerateResult Generation::finish() {
  stream.flush();
  result.text = std::move(stream.text);
  return std::move(result);
}

} // namespace llmc::rt::detail
