//===- Perplexity.cpp - likelihood of a text ------------------------------===//

#include "llmc/Runtime/Generate.h"
#include "llmc/Runtime/Scheduler.h"

#include <cmath>

namespace llmc::rt {

double Perplexity::perplexity() const { return std::exp(meanNll); }

double logProbability(std::span<const float> logits, int32_t token) {
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  return double(logits[size_t(token)]) - largest - std::log(sum);
}

Perplexity measurePerplexity(Session &session, std::span<const int32_t> tokens) {
  if (tokens.size() < 2)
    throw InputError("a likelihood needs at least 2 tokens, the text has " +
                     std::to_string(tokens.size()));
  double sum = 0;
  Request request;
  // The last token is predicted, but nothing is predicted from it.
  request.prompt.assign(tokens.begin(), tokens.end() - 1);
  request.promptLogits = true;
  request.onLogits = [&](int64_t position, std::span<const float> logits) {
    sum -= logProbability(logits, tokens[size_t(position) + 1]);
  };
  if (int32_t last = tokens.back(); last < 0 || last >= session.vocabSize())
    throw InputError("token id " + std::to_string(last) + " is outside the vocabulary");
  Scheduler scheduler(session);
  scheduler.submit(std::move(request));
  scheduler.run();
  return {sum / double(tokens.size() - 1), int64_t(tokens.size()) - 1};
}

} // namespace llmc::rt
