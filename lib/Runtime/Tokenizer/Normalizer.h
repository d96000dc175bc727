//===- Normalizer.h - changes text before it is cut -------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_NORMALIZER_H
#define LLMC_LIB_RUNTIME_TOKENIZER_NORMALIZER_H

#include "Charsmap.h"
#include "PieceTable.h"
#include "Regex.h"
#include "llmc/Runtime/TokenizerSpec.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt {

/// The normalizers of a spec, which must outlive it.
class Normalizer {
public:
  explicit Normalizer(const TokenizerSpec &spec);

  bool empty() const { return steps.empty(); }

  /// \p text is well-formed UTF-8, but for a SentencePiece step, which takes any bytes. The
  /// result is well-formed. \p frontRemoved becomes true where the first character of the result
  /// was not at the front of \p text, which Metaspace's "first" looks at.
  std::string run(std::string_view text, bool *frontRemoved = nullptr) const;

private:
  struct Step {
    const NormalizerStep *spec;
    std::optional<Regex> regex;
  };
  std::string runStep(const Step &step, std::string_view text) const;
  bool removesFront(const Step &step, std::string_view text) const;
  std::string byGrapheme(std::string_view text) const;
  std::string sentencePiece(const NormalizerStep &step, std::string_view text) const;

  std::vector<Step> steps;
  Charsmap charsmap;
  ByteTrie userDefined; ///< pieces that a SentencePiece step leaves as they are
};

/// Every place of \p pattern in \p text, replaced from the left.
std::string replaceAll(std::string_view text, std::string_view pattern, std::string_view content);
/// The same for the matches of an expression. \p content stands as it is.
std::string replaceAll(std::string_view text, Regex::Matcher &pattern, std::string_view content);

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_NORMALIZER_H
