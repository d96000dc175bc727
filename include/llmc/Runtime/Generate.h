//===- Generate.h - text from a session -------------------------*- C++ -*-===//

#ifndef LLMC_RUNTIME_GENERATE_H
#define LLMC_RUNTIME_GENERATE_H

#include "llmc/Runtime/Sampler.h"
#include "llmc/Runtime/Session.h"

#include <functional>

namespace llmc::rt {

enum class FinishReason : uint8_t { Length, EndOfText, StopString, Context, Cancelled };
const char *finishReasonName(FinishReason reason);

struct GenerateOptions {
  int64_t maxTokens = -1; ///< -1: until the context is full
  bool ignoreEnd = false; ///< go on after an end-of-generation token
  SamplerOptions sampler{};
  std::vector<std::string> stop{}; ///< texts that end it; they are not shown
  /// Score every chosen token, and so many of the likeliest beside it; -1: no
  /// scores. At most 1000.
  int64_t logprobs = -1;
  bool promptLogprobs = false; ///< score the tokens of the prompt as well
};

/// The natural logarithm of a token's probability: of the softmax of the logits
/// as the model gives them, before temperature and penalties, in double.
struct TokenProbability {
  int32_t id;
  double logprob;
};

struct TokenScore {
  int32_t id;
  double logprob;
  std::vector<TokenProbability> top; ///< the likeliest; of equal ones the lower id first
};

struct GenerateTiming {
  int64_t promptTokens = 0;  ///< fed; those kept from before do not count
  int64_t reusedTokens = 0;  ///< of the prompt, still in the state
  int64_t decodedTokens = 0; ///< fed one by one
  double prefillSeconds = 0;
  double firstTokenSeconds = 0; ///< from the call to the first token
  double decodeSeconds = 0;     ///< from the first token to the last

  double prefillTokensPerSecond() const;
  double decodeTokensPerSecond() const;
};

struct GenerateResult {
  std::vector<int32_t> tokens; ///< without the one that ended it
  std::string text;            ///< empty where the artifact has no tokenizer
  FinishReason finish = FinishReason::Length;
  GenerateTiming timing;
  std::vector<TokenScore> scores;       ///< of `tokens`, where wanted
  std::vector<TokenScore> promptScores; ///< of all tokens of the prompt but the first
};

/// Shows text as it becomes certain; false ends the generation.
using TextCallback = std::function<bool(std::string_view)>;

/// One conversation: a sequence whose state is kept between calls. A prompt
/// that begins like what the state holds is only fed from where it differs.
class Generator {
public:
  explicit Generator(Session &session);
  ~Generator();
  Generator(const Generator &) = delete;
  Generator &operator=(const Generator &) = delete;

  /// Session::cancel ends it with what there is; it does not throw then.
  GenerateResult generate(std::span<const int32_t> prompt, const GenerateOptions &options = {},
                          const TextCallback &onText = {});

private:
  StepOutput feed(std::span<const int32_t> tokens);
  StepOutput feedScored(std::span<const int32_t> tokens,
                        const std::function<void(int64_t, std::span<const float>)> &show);

  Session &session;
  int32_t sequence;
  std::vector<int32_t> held; ///< the tokens of the sequence
};

struct Perplexity {
  double meanNll = 0;
  int64_t tokens = 0;  ///< that were predicted: all but the first
  int64_t windows = 0; ///< of the context that they took
  double perplexity() const;
};

/// Mean negative log-likelihood (natural) of all tokens but the first, with the
/// softmax in double. A text longer than the context is cut into windows that follow one
/// another and fill the context; a token is predicted from those before it in its window.
/// The first of a window is predicted by the one before, so that each is predicted once. Where
/// the text begins with the token that the model wants before every text, so does every window.
Perplexity measurePerplexity(Session &session, std::span<const int32_t> tokens);

/// The natural logarithm of the probability that softmax gives \p token.
double logProbability(std::span<const float> logits, int32_t token);

} // namespace llmc::rt

#endif // LLMC_RUNTIME_GENERATE_H
