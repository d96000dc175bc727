//===- PreTokenizer.cpp - cuts text into the pieces of BPE ----------------===//
#include "PreTokenizer.h"

#include "ByteAlphabet.h"

namespace llmc::rt {

const char *const gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char *const punctuationPattern = R"([!-/:-@\[-`{-~\p{P}])";

PreTokenizer::PreTokenizer(const std::vector<PreTokenizerStep> &spec) {
  for (const PreTokenizerStep &step : spec) {
    steps.push_back({step.kind, step.behavior, step.invert, regexes.size()});
    if (step.kind == PreTokenizerStep::Kind::Split)
      regexes.emplace_back(step.pattern);
  }
}

PreTokenizer::Session::Session(const PreTokenizer &owner) : owner(&owner) {
  for (const Regex &regex : owner.regexes)
    matchers.emplace_back(regex);
}

void PreTokenizer::Session::run(std::string_view text,
                                const std::function<void(std::string_view)> &emit) {
  runFrom(0, text, /*spelled=*/false, emit);
}

namespace {

/// Walks a text as alternating matches and gaps and hands out the pieces that
/// a behaviour makes of them. Hugging Face first lists both and then folds
/// them; this does the same in one go.
class SplitFolder {
public:
  SplitFolder(std::string_view text, SplitBehavior behavior, bool invert,
              const std::function<void(std::string_view)> &emit)
      : text(text), behavior(behavior), invert(invert), emit(emit) {}

  void add(size_t begin, size_t end, bool match) {
    match ^= invert;
    switch (behavior) {
    case SplitBehavior::Isolated:
      put(begin, end);
      break;
    case SplitBehavior::Removed:
      if (!match)
        put(begin, end);
      break;
    case SplitBehavior::Contiguous:
      extendOrStart(begin, end, open && match == previousMatch);
      break;
    case SplitBehavior::MergedWithPrevious:
      extendOrStart(begin, end, open && match && !previousMatch);
      break;
    case SplitBehavior::MergedWithNext:
      extendOrStart(begin, end, open && !match && previousMatch);
      break;
    }
    previousMatch = match;
  }

  void finish() {
    if (open)
      put(pieceBegin, pieceEnd);
  }

private:
  void extendOrStart(size_t begin, size_t end, bool extend) {
    if (extend) {
      pieceEnd = end;
      return;
    }
    finish();
    open = true;
    pieceBegin = begin;
    pieceEnd = end;
  }

  void put(size_t begin, size_t end) {
    if (begin < end)
      emit(text.substr(begin, end - begin));
  }

  std::string_view text;
  SplitBehavior behavior;
  bool invert;
  const std::function<void(std::string_view)> &emit;
  bool open = false, previousMatch = false;
  size_t pieceBegin = 0, pieceEnd = 0;
};

size_t characterLength(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

} // namespace

void PreTokenizer::Session::runFrom(size_t index, std::string_view text, bool spelled,
                                    const std::function<void(std::string_view)> &emit) {
  if (index == owner->steps.size()) {
    if (!spelled)
      return emit(text);
    std::string bytes;
    if (unspellBytes(text, bytes))
      emit(bytes);
    return;
  }
  const Step &step = owner->steps[index];
  auto next = [&](std::string_view piece) { runFrom(index + 1, piece, spelled, emit); };

  switch (step.kind) {
  case PreTokenizerStep::Kind::PrefixSpace:
    if (text.starts_with(' '))
      return next(text);
    return next(" " + std::string(text));

  case PreTokenizerStep::Kind::ByteLevel:
    // As the last step it changes nothing: BPE works on the bytes themselves.
    // Steps after it see the spelling, in which for example byte 0xB2 is the
    // digit "²".
    if (index + 1 == owner->steps.size())
      return emit(text);
    return runFrom(index + 1, spellBytes(text), /*spelled=*/true, emit);

  case PreTokenizerStep::Kind::Split: {
    std::function<void(std::string_view)> sink = next;
    SplitFolder folder(text, step.behavior, step.invert, sink);
    Regex::Matcher &matcher = matchers[step.regex];
    size_t done = 0, from = 0, begin = 0, end = 0;
    while (from <= text.size() && matcher.find(text, from, begin, end)) {
      if (begin == end) {
        // An empty match cuts, too, but the search has to go on behind it.
        if (begin > done)
          folder.add(done, begin, false);
        folder.add(begin, end, true);
        done = begin;
        if (begin >= text.size())
          break;
        from = begin + characterLength(text[begin]);
        continue;
      }
      if (begin > done)
        folder.add(done, begin, false);
      folder.add(begin, end, true);
      done = from = end;
    }
    if (done < text.size())
      folder.add(done, text.size(), false);
    folder.finish();
    return;
  }
  }
}

} // namespace llmc::rt
