//===- PreTokenizer.cpp - cuts text into the pieces of BPE ----------------===//
#include "PreTokenizer.h"

#include "ByteAlphabet.h"
#include "Normalizer.h"
#include "PieceModel.h"

namespace llmc::rt {

const char *const gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char *const punctuationPattern = R"([!-/:-@\[-`{-~\p{P}])";

PreTokenizer::PreTokenizer(std::vector<PreTokenizerStep> spec) : steps(std::move(spec)) {
  for (const PreTokenizerStep &step : steps) {
    regexOfStep.push_back(regexes.size());
    if (step.kind == PreTokenizerStep::Kind::Split)
      regexes.emplace_back(step.pattern);
  }
}

PreTokenizer::Session::Session(const PreTokenizer &owner) : owner(&owner) {
  for (const Regex &regex : owner.regexes)
    matchers.emplace_back(regex);
}

void PreTokenizer::Session::run(std::string_view text, bool first,
                                const std::function<void(std::string_view)> &emit) {
  runFrom(0, text, first, /*spelled=*/false, emit);
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

} // namespace

void PreTokenizer::Session::runMetaspace(
    const PreTokenizerStep &step, std::string_view text, bool first,
    const std::function<void(std::string_view, bool)> &emit) {
  const std::string &mark = step.replacement;
  std::string spelled;
  bool begins = text.starts_with(' ') || text.starts_with(mark);
  if (!begins && !text.empty() &&
      (step.prepend == PrependScheme::Always || (step.prepend == PrependScheme::First && first)))
    spelled = mark;
  spelled += replaceAll(text, " ", mark);
  if (!step.cut)
    return emit(spelled, first);
  std::string_view rest = spelled;
  while (!rest.empty()) {
    size_t end = rest.find(mark, rest.starts_with(mark) ? mark.size() : 0);
    emit(rest.substr(0, end), first && rest.data() == spelled.data());
    rest.remove_prefix(std::min(end, rest.size()));
  }
}

void PreTokenizer::Session::runFrom(size_t index, std::string_view text, bool first, bool spelled,
                                    const std::function<void(std::string_view)> &emit) {
  if (index == owner->steps.size()) {
    if (!spelled)
      return emit(text);
    std::string bytes;
    if (unspellBytes(text, bytes))
      emit(bytes);
    return;
  }
  const PreTokenizerStep &step = owner->steps[index];
  auto next = [&](std::string_view piece) {
    runFrom(index + 1, piece, first && piece.data() == text.data(), spelled, emit);
  };

  switch (step.kind) {
  case PreTokenizerStep::Kind::PrefixSpace:
    if (text.starts_with(' '))
      return next(text);
    return runFrom(index + 1, " " + std::string(text), first, spelled, emit);

  case PreTokenizerStep::Kind::Metaspace:
    return runMetaspace(step, text, first, [&](std::string_view piece, bool begins) {
      runFrom(index + 1, piece, begins, spelled, emit);
    });

  case PreTokenizerStep::Kind::ByteLevel:
    // As the last step it changes nothing: BPE works on the bytes themselves.
    // Steps after it see the spelling, in which for example byte 0xB2 is the
    // digit "²".
    if (index + 1 == owner->steps.size())
      return emit(text);
    return runFrom(index + 1, spellBytes(text), first, /*spelled=*/true, emit);

  case PreTokenizerStep::Kind::Split: {
    std::function<void(std::string_view)> sink = next;
    SplitFolder folder(text, step.behavior, step.invert, sink);
    Regex::Matcher &matcher = matchers[owner->regexOfStep[index]];
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
