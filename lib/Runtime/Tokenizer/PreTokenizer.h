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
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps);

  /// The matching state of one call.
  class Session {
  public:
    explicit Session(const PreTokenizer &owner);

    /// Calls \p emit with the bytes of each piece of \p text, which must be
    /// well-formed UTF-8. The views last until emit returns. \p first says that \p text is
    /// where a text begins, of which added tokens may have been cut.
    void run(std::string_view text, bool first,
             const std::function<void(std::string_view)> &emit);

  private:
    void runFrom(size_t step, std::string_view text, bool first, bool spelled,
                 const std::function<void(std::string_view)> &emit);
    void runMetaspace(const PreTokenizerStep &step, std::string_view text, bool first,
                      const std::function<void(std::string_view, bool)> &emit);

    const PreTokenizer *owner;
    std::vector<Regex::Matcher> matchers; ///< one for each Split step, in order
  };

private:
  std::vector<PreTokenizerStep> steps;
  std::vector<Regex> regexes;      ///< of the Split steps
  std::vector<size_t> regexOfStep; ///< index into regexes
};

/// A GGUF pre-tokenizer, by the name in `tokenizer.ggml.pre`.
struct NamedPreTokenizer {
  std::vector<PreTokenizerStep> steps;
  std::vector<NormalizerStep> normalizers;
  bool ignoreMerges = false;
  bool addBosByDefault = false;
};

/// False when the name is not known.
bool namedPreTokenizer(std::string_view name, NamedPreTokenizer &result);

/// All known names, for messages.
std::string namedPreTokenizerList();

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_PRETOKENIZER_H
