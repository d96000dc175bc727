//===- Sequences.cpp - sequences and the blocks of their state ------------===//

#include "Sequences.h"
#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::rt {

Sequences::Sequences(const Shape &shape) : limits(shape), list(size_t(shape.sequences)) {
  for (int64_t block = shape.blocks - 1; block >= 0; --block)
    freeList.push_back(int32_t(block));
  for (int64_t slot = 0; slot < shape.sequences; ++slot)
    slots.push_back(int32_t(slot));
  if (!shape.permuted)
    return;
  // Fisher-Yates with a fixed generator: mixed, and the same in every run.
  uint64_t state = 0x9e3779b97f4a7c15;
  for (std::vector<int32_t> *numbers : {&freeList, &slots})
    for (size_t i = numbers->size(); i > 1; --i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      std::swap((*numbers)[i - 1], (*numbers)[size_t(state >> 33) % i]);
    }
}

const Sequences::Sequence &Sequences::at(int32_t sequence) const {
  if (sequence < 0 || size_t(sequence) >= list.size() || !list[size_t(sequence)].used)
    throw UsageError("sequence " + std::to_string(sequence) + " does not exist in this session");
  return list[size_t(sequence)];
}

int32_t Sequences::add() {
  for (size_t i = 0; i < list.size(); ++i)
    if (!list[i].used) {
      list[i].used = true;
      return int32_t(i);
    }
  throw UsageError("all " + std::to_string(list.size()) +
                   " sequences of the session are in use; remove one, or create the session with "
                   "more (maxSequences)");
}

void Sequences::remove(int32_t sequence) {
  setLength(sequence, 0);
  trim(sequence);
  at(sequence).used = false;
}

void Sequences::setLength(int32_t index, int64_t length) {
  Sequence &sequence = at(index);
  sequence.length = length;
  if (length == 0)
    sequence.written = 0;
  if (int64_t(sequence.tokens.size()) > length)
    sequence.tokens.resize(size_t(length));
}

void Sequences::append(int32_t index, std::span<const int32_t> tokens) {
  Sequence &sequence = at(index);
  sequence.length += int64_t(tokens.size());
  if (limits.recomputes())
    sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  endStep(index);
}

void Sequences::beginStep(int32_t index, int64_t tokens) {
  Sequence &sequence = at(index);
  sequence.slotLength = -1;
  sequence.written = std::max(sequence.written, sequence.length + tokens);
}

bool Sequences::canReturnTo(int32_t index, int64_t length) const {
  const Sequence &sequence = at(index);
  if (length == 0)
    return true;
  if (limits.slots && sequence.slotLength != length)
    return false;
  // The last block that was written took the place of the one a ring before it.
  int64_t kept = (blocksFor(sequence.written) - limits.ringBlocks) * limits.blockTokens;
  return !limits.ringBlocks || kept <= std::max<int64_t>(length - limits.window + 1, 0);
}

bool Sequences::isStale(int32_t index, int64_t extent) const {
  const Sequence &sequence = at(index);
  if (!canReturnTo(index, sequence.length))
    return true;
  auto crossed = [&](int64_t threshold) {
    return (sequence.extent > threshold) != (extent > threshold);
  };
  const std::vector<int64_t> &thresholds = limits.recomputeBeyond;
  return sequence.length > 0 && !thresholds.empty() &&
         (sequence.extent < 0 || std::any_of(thresholds.begin(), thresholds.end(), crossed));
}

void Sequences::reserve(int32_t index, int64_t tokens) {
  Sequence &sequence = at(index);
  int64_t total = sequence.length + tokens;
  if (total > limits.maxContext)
    throw InputError("a context of " + std::to_string(total) + " tokens is more than the " +
                     std::to_string(limits.maxContext) +
                     " that this session holds; shorten the text, or " + largerContext());
  int64_t more = blocksFor(total) - int64_t(sequence.blocks.size());
  if (more > freeBlocks())
    throw InputError("the state needs " + std::to_string(more) + " more blocks of " +
                     std::to_string(limits.blockTokens) + " tokens, " +
                     std::to_string(freeBlocks()) + " of " + std::to_string(limits.blocks) +
                     " are free; end a sequence, or give the session more blocks (--context)");
  for (; more > 0; --more) {
    sequence.blocks.push_back(freeList.back());
    freeList.pop_back();
  }
}

std::string Sequences::largerContext() const {
  if (limits.maxContext < limits.compiledContext)
    return "take a larger context (--context, at most " + std::to_string(limits.compiledContext) +
           " with this artifact)";
  if (limits.modelContext && limits.compiledContext >= limits.modelContext)
    return "take a model of more positions: this one ends at " +
           std::to_string(limits.modelContext);
  return "compile the artifact for a larger context (llmc-opt --max-context N)";
}

void Sequences::trim(int32_t index) {
  Sequence &sequence = at(index);
  for (int64_t keep = blocksFor(sequence.length); int64_t(sequence.blocks.size()) > keep;) {
    freeList.push_back(sequence.blocks.back());
    sequence.blocks.pop_back();
  }
}

} // namespace llmc::rt
