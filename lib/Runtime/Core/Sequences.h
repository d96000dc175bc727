//===- Sequences.h - sequences and the blocks of their state ----*- C++ -*-===//

#ifndef LLMC_RUNTIME_CORE_SEQUENCES_H
#define LLMC_RUNTIME_CORE_SEQUENCES_H

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace llmc::rt {

/// Hands out state blocks and knows which positions each sequence holds.
class Sequences {
public:
  struct Shape {
    int64_t sequences, blocks, blockTokens, maxContext;
    int64_t compiledContext; ///< that the artifact allows at most
    int64_t modelContext;    ///< that the model has positions for; 0: not known
    bool permuted;
    /// Lengths, ascending: a sequence that grows past one is computed anew.
    std::vector<int64_t> recomputeBeyond;
    /// Whether sequences have slots of state, which cannot go back by a token.
    bool slots;
    /// Blocks that a sequence goes round in where a state has a window, which none has beyond
    /// `window`; 0: those of all positions are there.
    int64_t ringBlocks, window;

    /// Whether a state may have to be computed from the tokens.
    bool recomputes() const { return slots || ringBlocks || !recomputeBeyond.empty(); }
  };

  explicit Sequences(const Shape &shape);

  int32_t add();
  void remove(int32_t sequence);
  int64_t length(int32_t sequence) const { return at(sequence).length; }
  /// Also forgets the tokens from there on.
  void setLength(int32_t sequence, int64_t length);
  /// Notes the tokens of a step that has run, where they may be needed again; ends the step.
  void append(int32_t sequence, std::span<const int32_t> tokens);
  /// The tokens that the state holds; empty unless the program recomputes.
  std::span<const int32_t> tokensOf(int32_t sequence) const { return at(sequence).tokens; }
  /// Whether the state, if there is any, was computed for an extent on the other side of a
  /// threshold, or its slot is not that of the sequence's tokens.
  bool isStale(int32_t sequence, int64_t extent) const;
  /// Whether the state, cut to so many tokens, is still all that those after it need.
  bool canReturnTo(int32_t sequence, int64_t length) const;
  /// A step adds so many tokens. It changes the slot: until endStep that is of no tokens.
  void beginStep(int32_t sequence, int64_t tokens);
  /// The slot is of all tokens of the sequence.
  void endStep(int32_t sequence) { at(sequence).slotLength = at(sequence).length; }
  /// The state was computed anew for all tokens of the sequence.
  void endRefresh(int32_t sequence) {
    at(sequence).written = at(sequence).length;
    endStep(sequence);
  }
  /// Which slot of every pool is the sequence's, as long as it exists.
  int32_t slotOf(int32_t sequence) const { return slots[size_t(sequence)]; }
  /// The state is computed for this extent from here on; -1: for none.
  void setExtent(int32_t sequence, int64_t extent) { at(sequence).extent = extent; }
  /// Blocks for \p tokens more positions. Throws, changing nothing, where the
  /// context or the blocks do not suffice.
  void reserve(int32_t sequence, int64_t tokens);
  /// Releases the blocks behind the sequence's length.
  void trim(int32_t sequence);
  const std::vector<int32_t> &blocksOf(int32_t sequence) const { return at(sequence).blocks; }

  int64_t freeBlocks() const { return int64_t(freeList.size()); }
  const Shape &shape() const { return limits; }
  /// For messages: the way to a larger context.
  std::string largerContext() const;
  int64_t blocksFor(int64_t tokens) const {
    return (tokens + limits.blockTokens - 1) / limits.blockTokens;
  }

private:
  struct Sequence {
    bool used = false;
    int64_t length = 0;
    int64_t extent = -1;
    int64_t slotLength = 0; ///< tokens that the slot's state is of, -1: not known
    int64_t written = 0;    ///< positions that steps may have written
    std::vector<int32_t> blocks;
    std::vector<int32_t> tokens;
  };
  const Sequence &at(int32_t sequence) const;
  Sequence &at(int32_t sequence) {
    return const_cast<Sequence &>(std::as_const(*this).at(sequence));
  }

  Shape limits;
  std::vector<Sequence> list;
  std::vector<int32_t> freeList; ///< given out from the back
  std::vector<int32_t> slots;    ///< of each sequence
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_CORE_SEQUENCES_H
