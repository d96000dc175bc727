//===- Perplexity.cpp - likelihood of a text ------------------------------===//

#include "llmc/Runtime/Generate.h"
#include "llmc/Runtime/Scheduler.h"

#include <cmath>

namespace llmc::rt {

double Perplexity::perplexity() const { return std::exp(meanNll); }

double logProbability(std::span<const float> logits, int32_t token) {
  for (size_t i = 0; i < logits.size(); ++i)
    if (std::isnan(logits[i]) || logits[i] == HUGE_VALF)
      throw InputError("The logit at position " + std::to_string(i) + " of " +
                       std::to_string(logits.size()) + " is " +
                       (std::isnan(logits[i]) ? "NaN" : "plus infinity") +
                       "; the model or its weights are damaged.");
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  return double(logits[size_t(token)]) - largest - std::log(sum);
}

Perplexity measurePerplexity(Session &session, std::span<const int32_t> tokens) {
  if (tokens.size() < 2)
    throw InputError("a likelihood needs at least 2 tokens, the text has " +
                     std::to_string(tokens.size()));
  if (int32_t last = tokens.back(); last < 0 || last >= session.vocabSize())
    throw InputError("token id " + std::to_string(last) + " is outside the vocabulary");
  const Artifact &artifact = session.artifact();
  size_t context = size_t(session.maxContext()), count = tokens.size();
  bool repeats = context > 1 && artifact.hasTokenizer() && artifact.tokenizer().spec().addBos() &&
                 tokens.front() == *artifact.tokenizer().spec().bosId;
  // Positions of a window that only the first one predicts from.
  size_t repeated = repeats ? 1 : 0, width = context - repeated;
  double sum = 0;
  int64_t windows = 0;
  Scheduler scheduler(session);
  // The last token is predicted, but nothing is predicted from it.
  for (size_t begin = repeated; windows == 0 || begin + 1 < count; begin += width, ++windows) {
    size_t end = std::max(begin, std::min(begin + width, count - 1));
    Request request;
    request.prompt.assign(tokens.begin(), tokens.begin() + repeated);
    request.prompt.insert(request.prompt.end(), tokens.begin() + begin, tokens.begin() + end);
    request.promptLogits = true;
    request.onLogits = [&](int64_t position, std::span<const float> logits) {
      if (windows == 0 || size_t(position) >= repeated)
        sum -= logProbability(logits, tokens[begin - repeated + size_t(position) + 1]);
    };
    scheduler.submit(std::move(request));
    scheduler.run();
  }
  return {sum / double(count - 1), int64_t(count) - 1, windows};
}

} // namespace llmc::rt
