//===- Generation.h - one answer, token by token ----------------*- C++ -*-===//
//
// What becomes of the logits: the choice of a token, its score, its text and
// whether it ends the answer. The same for an answer alone (Generator) and for
// many in shared steps (BatchGenerator).
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_RUNTIME_CORE_GENERATION_H
#define LLMC_LIB_RUNTIME_CORE_GENERATION_H

#include "llmc/Runtime/Generate.h"
#include "llmc/Runtime/StopStrings.h"

#include <chrono>
#include <optional>

namespace llmc::rt::detail {

/// From ids to text that may be shown.
class TextStream {
public:
  TextStream(const Artifact &artifact, const GenerateOptions &options, TextCallback show);
  /// False where the callback wants no more.
  bool push(int32_t id) { return !decoder || emit(stop.push(decoder->append(id))); }
  void flush();
  bool stopped() const { return stop.stopped(); }

  std::string text;

private:
  bool emit(const std::string &piece) {
    text += piece;
    return piece.empty() || !show || show(piece);
  }

  StopStrings stop;
  TextCallback show;
  std::optional<StreamDecoder> decoder;
};

class Generation {
public:
  using Clock = std::chrono::steady_clock;

  /// \p capacity: tokens that a sequence may have. Throws InputError for a
  /// prompt that is empty or longer; \p larger is the remedy in that message.
  Generation(const Artifact &artifact, std::span<const int32_t> prompt,
             const GenerateOptions &options, TextCallback onText, int64_t capacity,
             const std::string &larger);

  /// Tokens to choose at most. The last one need not be fed.
  int64_t most() const { return limit; }
  /// From here on the clock runs.
  void start() { begin = Clock::now(); }
  void prefillEnds(int64_t tokens);
  /// Scores the token behind \p position of the prompt, where that is wanted.
  void scorePrompt(int64_t position, std::span<const float> logits);
  /// Chooses a token; nothing where the answer ends.
  std::optional<int32_t> next(std::span<const float> logits);
  void cancel() { result.finish = FinishReason::Cancelled; }
  GenerateResult finish();

private:
  TokenScore scoreOf(std::span<const float> logits, int32_t token) const;

  const Artifact &artifact;
  std::vector<int32_t> prompt;
  GenerateOptions options;
  TextStream stream;
  Sampler sampler;
  int64_t limit, count = 0;
  Clock::time_point begin, first;
  GenerateResult result;
};

} // namespace llmc::rt::detail

#endif // LLMC_LIB_RUNTIME_CORE_GENERATION_H
