//===- PreTokenizer.h - cuts text into the pieces of BPE --------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_PRETOKENIZER_H
#define LLMC_LIB_RUNTIME_TOKENIZER_PRETOKENIZER_H

#include "Regex.h"
#include "llmc/Runtime/TokenizerSpec.h"

#include <functional>
#include <string_view>
#include <vector>

namespace llmc::rt {

/// GPT-2's rule, which is also what Hugging Face's ByteLevel step does.
extern const char *const gpt2Pattern;
/// One character of punctuation as Hugging Face's Punctuation step has it.
extern const char *const punctuationPattern;

class PreTokenizer {
public:
  explicit PreTokenizer(const std::vector<PreTokenizerStep> &steps);

  /// The matching state of one call.
  class Session {
  public:
    explicit Session(const PreTokenizer &owner);

    /// Calls \p emit with the bytes of each piece of \p text, which must be
    /// well-formed UTF-8. The views last until emit returns.
    void run(std::string_view text, const std::function<void(std::string_view)> &emit);

  private:
    void runFrom(size_t step, std::string_view text, bool spelled,
                 const std::function<void(std::string_view)> &emit);

    const PreTokenizer *owner;
    std::vector<Regex::Matcher> matchers; ///< one for each Split step, in order
  };

private:
  struct Step {
    PreTokenizerStep::Kind kind;
    SplitBehavior behavior;
    bool invert;
    size_t regex; ///< index into regexes, of a Split
  };
  std::vector<Step> steps;
  std::vector<Regex> regexes;
};

/// A GGUF pre-tokenizer, by the name in `tokenizer.ggml.pre`.
struct NamedPreTokenizer {
  std::vector<PreTokenizerStep> steps;
  std::vector<NormalizerKind> normalizers;
  bool ignoreMerges = false;
  bool addBosByDefault = false;
};

/// False when the name is not known.
bool namedPreTokenizer(std::string_view name, NamedPreTokenizer &result);

/// All known names, for messages.
std::string namedPreTokenizerList();

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_PRETOKENIZER_H
