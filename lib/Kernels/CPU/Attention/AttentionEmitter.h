//===- AttentionEmitter.h - writes one paged attention kernel ---*- C++ -*-===//
//
// A *group* is a run of rows at consecutive positions of one sequence; with the
// heads that share a kv head they make the group's queries: query i*G + g is head
// g of row i. A range of items may begin or end within a row: then the row is a group
// of its own, with some of the heads. Attention.cpp has the loops over groups and blocks,
// AttentionGather.cpp puts together what does not lie as it is read, AttentionTiles.cpp has what
// is done with one block, AttentionTail.cpp what is done with the result.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_KERNELS_CPU_ATTENTION_ATTENTIONEMITTER_H
#define LLMC_LIB_KERNELS_CPU_ATTENTION_ATTENTIONEMITTER_H

#include "llmc/Kernels/CPU/AttentionKernels.h"

namespace llmc::kernels {

/// Sizes that follow from the spec alone, and where scratch holds what (bytes):
/// queries [Q][Dk], scores [Q][B], sums [Q][valueRow], then per query the running
/// maximum, the next maximum, the rescaling factor and the running denominator; where keys are
/// selected or entries, those of a block [Dk][B]; where values do not lie as they are read, those of a
/// block [B][valueRow]; rows of the tail.
struct AttentionLayout {
  explicit AttentionLayout(const AttentionSpec &spec);

  int64_t shared;     ///< G, query heads of a kv head.
  int64_t groupRows;  ///< Rows of a group at most.
  int64_t queries;    ///< G * groupRows.
  int64_t valueRow;   ///< valueWidth, padded to 16.
  int64_t scores, sums, maxima, nextMaxima, factors, denominators, keys, values, tail, bytes;
  bool copiesValues; ///< Values of a block are put into scratch first.
};

/// What is wrong with the tail of a spec; empty when nothing is.
std::string checkAttentionTail(const AttentionSpec &spec);

class AttentionEmitter {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  AttentionEmitter(mlir::ModuleOp module, const AttentionSpec &spec, const CPUVariant &variant);
  void run();

private:
  static constexpr int64_t lanes = 16;

  /// A run of rows: `rows` of them from `row` on, at positions from `position` on; of
  /// each `heads` query heads from `firstHead` of the kv head on.
  struct Group {
    Value kvHead, row, rows, position, sequence, firstHead, heads;
  };
  /// The block of positions [start, start + B) and the one to be read next; or, with a `count`,
  /// so many positions that were selected, or entries.
  struct Block {
    Value start, keys, values, nextKeys, nextValues, count;
  };

  // Attention.cpp
  void emitGroup(const Group &group);
  void loadQueries(const Group &group);
  void reset(const Group &group);
  void emitBlock(const Group &group, Value index, Value lastIndex);
  void storeOutputs(const Group &group);
  /// The tail of one head, which lies in scratch at `from`.
  void storeTail(Value row, Value head, Value from, Value to);
  Value blockAddress(const Group &group, Value index);
  Value firstVisible(const Group &group, Value row);

  // AttentionGather.cpp
  /// Puts the first channels of the block's keys into scratch as values.
  void turnValues(Value keys);
  void turnTile(Value keys, Value channel, int64_t channels, int64_t position);
  /// All blocks of selected positions, or entries, of the group's one row.
  void emitSelected(const Group &group);
  void emitEntries(const Group &group);
  /// `count` of them are in scratch.
  void emitGathered(const Group &group, Value start, Value count);
  void gather(const Group &group, Value chosen, Value count);
  void gatherEntries(const Group &group, Value count, llvm::function_ref<Value(Value)> number);

  // AttentionTiles.cpp
  /// Visits queries [from, to) in tiles of static sizes.
  void forTiles(Value from, Value to, llvm::function_ref<void(Value query, int64_t rows)> body);
  llvm::SmallVector<int64_t> tileSizes() const;
  int64_t vectorsFor(int64_t rows, int64_t most) const;
  /// Scores of `rows` queries against all positions of the block.
  void emitScores(const Block &block, Value query, int64_t rows);
  /// Scores of queries of rows [from, to) to weights, with the new maxima, factors
  /// and denominators.
  void emitWeights(const Group &group, const Block &block, Value from, Value to);
  /// Weighted values of positions [first, last) of the block onto the sums.
  void emitSums(const Block &block, Value query, int64_t rows, Value first, Value last,
                int64_t unroll);
  void emitSumColumns(const Block &block, Value query, int64_t rows, Value first, Value last,
                      int64_t unroll, Value column, int64_t vectors, Value mask);
  /// The first and the end of the visible slots of a row; `first` null where all of a
  /// sequence's past is visible.
  std::pair<Value, Value> visible(const Group &group, const Block &block, Value row);

  Value at(int64_t area, Value index, int64_t bytes) {
    return kb.at(kb.at(kb.scratch(), area), kb.mul(index, bytes));
  }
  void prefetch(Value pointer, int64_t offset);
  /// Whether a tile of this size reads new state at the rate of memory.
  static bool isSkinny(int64_t rows) { return rows <= 8; }

  const AttentionSpec &spec;
  AttentionLayout layout;
  KernelBuilder kb;
  /// Elements from the values of one position to those of the next.
  int64_t valueDistance() const {
    return layout.copiesValues ? layout.valueRow : spec.state.valueWidth;
  }

  Value queries, state, out, sinks, slopes, selection, entries;
  /// Of the tail's operands, by number; null for those before.
  Values tailOperands;
  Value tokens, positions, sequences, table, tableStride;
};

} // namespace llmc::kernels

#endif // LLMC_LIB_KERNELS_CPU_ATTENTION_ATTENTIONEMITTER_H
