//===- StopStrings.h - ends a stream of text at given strings ---*- C++ -*-===//
#ifndef LLMC_RUNTIME_STOPSTRINGS_H
#define LLMC_RUNTIME_STOPSTRINGS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llmc::rt {

/// Passes text on until one of several strings has been completed in it. No
/// byte of a stop string is passed on: text that could be the beginning of one
/// is held back. The outcome does not depend on how the text is cut up. The
/// string completed first counts, of those completed at once the longest.
class StopStrings {
public:
  StopStrings() = default;
  /// Throws UsageError for an empty string, and for more than 16 KiB of text.
  explicit StopStrings(std::vector<std::string> strings);

  /// The text that may be shown now. After a match it is always empty.
  std::string push(std::string_view text);

  /// The text held back, at the end of a stream that ended by itself.
  std::string flush();

  bool stopped() const { return matched.has_value(); }
  /// Which string it was, counted as they were given.
  std::optional<size_t> matchedIndex() const { return matched; }

  /// Ready for another stream.
  void reset();

private:
  /// A state of the automaton of Aho and Corasick: the longest end of the text
  /// that is a beginning of some string.
  struct State {
    std::vector<std::pair<char, uint32_t>> next;
    uint32_t fallback = 0;
    uint32_t depth = 0;
    int32_t string = -1; ///< the longest string that ends here
  };
  uint32_t child(uint32_t state, char byte) const;
  uint32_t step(uint32_t state, char byte) const;

  std::vector<std::string> strings;
  std::vector<State> states = std::vector<State>(1);
  uint32_t state = 0;
  std::string held; ///< the text that `state` is about
  std::optional<size_t> matched;
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_STOPSTRINGS_H
