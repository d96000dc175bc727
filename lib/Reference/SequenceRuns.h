//===- SequenceRuns.h - states of sequences in a step -----------*- C++ -*-===//
#ifndef LLMC_LIB_REFERENCE_SEQUENCERUNS_H
#define LLMC_LIB_REFERENCE_SEQUENCERUNS_H

#include "llmc/Reference/Evaluator.h"

namespace llmc::reference {

/// Tokens of one sequence in the step, and its state.
template <typename T> struct Run {
  /// The first row.
  int64_t row;
  int64_t count;
  /// The position of the first row.
  int64_t start;
  std::vector<T> *state;
};

/// The states as they stand before the step, zeros where a sequence begins. A state is of
/// all tokens so far, so that a sequence goes on where it ended or begins anew. The op is the
/// one change of the state in this step.
template <typename T>
llvm::Expected<std::vector<Run<T>>> beginStep(CacheHandle<T> &cache, const Batch &batch,
                                              int64_t rows, OpContext<T> &context) {
  CacheState<T> &state = *cache.state;
  if (!cache.isCurrent())
    return context.error("uses the state '" + state.name +
                         "' as it was before a later change");
  if (rows != batch.tokens())
    return context.error("needs a row for each of the batch's " + llvm::Twine(batch.tokens()) +
                         " tokens, the operand has " + llvm::Twine(rows));
  // All is checked before anything changes.
  for (const BatchSequence &sequence : batch.sequences) {
    auto known = state.sequences.find(sequence.id);
    int64_t length = known == state.sequences.end() ? 0 : known->second.length;
    if (sequence.count && sequence.start != 0 && sequence.start != length)
      return context.error("goes on at position " + llvm::Twine(sequence.start) +
                           " of sequence " + llvm::Twine(sequence.id) +
                           ", whose state is that of its first " + llvm::Twine(length) +
                           " tokens; begin at 0 or go on at the end");
  }
  std::vector<Run<T>> runs;
  int64_t row = 0;
  for (const BatchSequence &sequence : batch.sequences) {
    if (sequence.count == 0)
      continue;
    SequenceState<T> &of = state.sequences[sequence.id];
    if (sequence.start == 0)
      of.keys.assign(size_t(elementCount(state.shape)), T(0));
    of.length = sequence.start + sequence.count;
    runs.push_back({row, sequence.count, sequence.start, &of.keys});
    row += sequence.count;
  }
  cache.version = ++state.version;
  return runs;
}

} // namespace llmc::reference

#endif // LLMC_LIB_REFERENCE_SEQUENCERUNS_H
