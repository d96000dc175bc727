//===- AttentionKernels.h - paged attention and its prologue ----*- C++ -*-===//
//
// Generators over a paged state (layout: docs/Manifest.md).
//
// The *prologue* works on the rows of q, k and v of each token: a norm per head,
// rotary positions, and the append of k and v to the state; every part optional. The last
// channels of q and k may lie elsewhere: then the norm is of the others alone.
//
//   norm      as rms_norm or layer_norm of RowKernels.h, over one head
//   rotary    angle = f32(position) * inv_freq[i]; c = cos(angle) * magnitude,
//             s = sin(angle) * magnitude; for each pair (x, y):
//             x' = (x * c) - (y * s), y' = (y * c) + (x * s)
//
// *Paged attention* computes, for query row t at position p and each head, an
// online softmax over the state's blocks of positions in ascending order. From
// m = -max_f32 (the sink's logit where there are sinks), l = 0 (1) and a = 0, for
// each block that holds a visible position:
//
//   s[j] = fma chain over channels ascending from 0 of q[d] * k[d][j];
//   s[j] = s[j] * scale; softcap: s[j] = cap * tanh(s[j] / cap);
//   n = max(m, max s); f = exp(m - n); m = n; w[j] = exp(s[j] - m);
//   l = fma(l, f, sum w); a = a * f; a = fma(w[j], v[j], a) for j ascending
//
// over the visible j only: those up to p and, with a window W, after p - W, and with a
// chunk C, from p - p mod C on; what invisible slots hold is never used. With slopes,
// s[j] = s[j] + slope * f32(j - p) after the softcap. With a selection the blocks are those of
// the chosen positions, so many at a time in ascending order, and nothing else is read. Lastly
// out = a / l, 0 where nothing was seen; with a tail, the row program of a / l. The sum of w
// adds the 16 lane halves of the block, then the lanes as RowKernels.h has it. A row has the
// same bits in whatever batch, split of items and group it is computed.
//
// *Entries* are keys of groups of G tokens; a row at position p sees those of the groups that are
// complete, n with (n + 1) G <= p + 1. The prologue makes them: for the last token of a group k is
// appended as entry p div G, turned by the position of the group's first token, and nothing is
// done for other tokens. Attention with entries goes on, after the positions, with blocks of B
// entries in ascending order, and a selection is of these; a selection of entries is as one of
// positions.
//
// *Select positions* is an indexer: of the positions up to a token's own it finds those with
// the greatest sums over heads, ascending,
//
//   s[j] = fma(w[h], max(fma chain over channels ascending from 0 of q[h][d] * k[d][j], 0), s[j])
//
// from 0 with h ascending; of equal ones the lower position. Nothing is computed where all
// fit.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_ATTENTIONKERNELS_H
#define LLMC_KERNELS_CPU_ATTENTIONKERNELS_H

#include "llmc/Kernels/CPU/RowKernels.h"
#include <optional>

namespace llmc::kernels {

/// One layer's paged state; its operand is the address of block 0.
struct PagedState {
  int64_t heads = 0;
  int64_t keyWidth = 0;
  int64_t valueWidth = 0; ///< 0: keys alone are kept.
  /// Positions of a block, a multiple of 16.
  int64_t blockTokens = 32;

  int64_t headBytes() const { return (keyWidth + valueWidth) * blockTokens * 4; }
  int64_t blockBytes() const { return heads * headBytes(); }
  /// Of the values within the bytes of a head.
  int64_t valueOffset() const { return keyWidth * blockTokens * 4; }
};

/// Entries of groups of tokens as one layer keeps them: each token of a group has its share of the
/// channels, in order, at its own position (docs/Manifest.md).
struct EntryState {
  int64_t group = 0; ///< Tokens an entry; 0: there are no entries.
  int64_t width = 0; ///< Channels of an entry.
  int64_t blockTokens = 32;

  int64_t share() const { return (width + group - 1) / group; }
  int64_t blockBytes() const { return share() * blockTokens * 4; }
};

/// The heads of q, k or v: head h of token t starts at t*stride + offset + h*inner
/// elements of operand `operand`; f32.
struct HeadRows {
  unsigned operand = 0;
  int64_t stride = 0;
  int64_t offset = 0;
  int64_t inner = 0; ///< 0: as wide as a head.
};

struct HeadNorm {
  std::optional<unsigned> scale = std::nullopt; ///< Operand: the scale of a head.
  RowElement element = RowElement::F32;
  float eps = 0;
  float offset = 0;
  bool layer = false;                          ///< Of the deviations from the mean, without offset.
  std::optional<unsigned> bias = std::nullopt; ///< Operand, of a layer norm.
};

enum class RotaryPairs : uint8_t {
  Halves,      ///< (i, i + width/2)
  Interleaved, ///< (2i, 2i + 1)
};

struct Rotary {
  /// Operand: f32[width / 2], or with `beyond` f32[2][width / 2]: the second row is for
  /// tokens of sequences whose extent is more than `beyond`.
  unsigned invFreq = 0;
  int64_t width = 0; ///< Channels that turn; even. The others pass through.
  int64_t first = 0; ///< The first of them.
  RotaryPairs pairs = RotaryPairs::Halves;
  float magnitude = 1;
  int64_t beyond = 0; ///< 0: one row of frequencies.
};

/// Operands are where the parts say. Items: tokens.
struct PrologueSpec {
  int64_t heads = 0; ///< Of q.
  /// Heads and widths of k and v, and q's width.
  PagedState state;
  std::optional<HeadRows> q, k, v;
  /// Not 0: so many channels at the end of each head of q and k lie at qRest and kRest, and q and
  /// k are the others.
  int64_t rest = 0;
  std::optional<HeadRows> qRest, kRest;
  /// Where q and k go; in place where absent, except that k is only appended where
  /// there is an append. Either the same addresses as the source or disjoint.
  std::optional<HeadRows> qOut, kOut;
  std::optional<HeadNorm> qNorm, kNorm, vNorm;
  std::optional<Rotary> rotary;
  /// Which of them turn where there is a rotary.
  bool qTurns = true, kTurns = true;
  /// Turn first, norm then.
  bool normAfterRotary = false;
  /// Operand: the state that k and v are appended to.
  std::optional<unsigned> append;
  /// Not 0: so many tokens make an entry, of one head and without v, and nothing else is done.
  int64_t group = 0;

  EntryState entries() const { return {group, state.keyWidth, state.blockTokens}; }
};

/// What is wrong with a spec; empty when nothing is.
std::string checkPrologue(const PrologueSpec &spec);
std::string prologueKernelName(const PrologueSpec &spec);
int64_t prologueKernelScratch(const PrologueSpec &spec);
int64_t prologueKernelItems(const PrologueSpec &spec, const llmc_batch &batch);
void buildPrologueKernel(mlir::ModuleOp module, const PrologueSpec &spec,
                         const CPUVariant &variant);

/// Operands: 0 q (read), 1 state (read), 2 out (write), and then those that there are: sinks
/// (f32[heads]), slopes (f32[heads]), selection (i32[tokens][selected]: ascending positions,
/// none after the token's own, or entries, none of an incomplete group, then -1), entries (read),
/// and those of the tail. Items: heads / itemHeads * tokens: kv head by kv head, in each row by
/// row, in each its query heads. Rows of a step that are consecutive positions of one
/// sequence and lie in one range of items are computed together, attentionGroupItems at
/// a time.
struct AttentionSpec {
  int64_t heads = 0; ///< Of q, a multiple of state.heads.
  PagedState state;
  float scale = 1;
  int64_t window = 0; ///< 0: all positions; else p sees (p - window, p].
  int64_t chunk = 0;  ///< 0: all positions; else p sees no position before p - p % chunk.
  float softcap = 0;  ///< 0: none.
  bool sinks = false;
  bool slopes = false;
  int64_t selected = 0; ///< 0: no selection; else the positions of a row of it.
  /// Of a state that keeps keys alone: the values are their first so many channels.
  int64_t latentValues = 0;
  /// Not 0: entries of so many tokens are seen too, as wide as the keys, their values likewise.
  int64_t group = 0;
  /// Query heads of an item, a divisor of those that share a kv head.
  int64_t itemHeads = 1;
  int64_t qStride = 0, qOffset = 0;     ///< Elements; a head is state.keyWidth wide.
  int64_t outStride = 0, outOffset = 0; ///< Elements; a head is valueWidth() wide.
  /// What becomes of each head before it is stored: a program over rows of valueWidth(), `heads` a
  /// token, without position_scale and choices of rows. Its inputs of operand 2 are the head, the
  /// others its own; its only output, of operand 2, goes where the head would.
  std::optional<RowProgram> tail;

  int64_t valueWidth() const { return latentValues ? latentValues : state.valueWidth; }
  EntryState entries() const { return {group, state.keyWidth, state.blockTokens}; }
};

/// What is wrong with a spec; empty when nothing is.
std::string checkAttention(const AttentionSpec &spec);
std::string attentionKernelName(const AttentionSpec &spec);
int64_t attentionKernelScratch(const AttentionSpec &spec);
int64_t attentionKernelItems(const AttentionSpec &spec, const llmc_batch &batch);
void buildAttentionKernel(mlir::ModuleOp module, const AttentionSpec &spec,
                          const CPUVariant &variant);
/// The operand of the result, and the first one behind those of the attention itself.
inline constexpr unsigned attentionOut = 2;
unsigned attentionOperands(const AttentionSpec &spec);
/// Items that a call computes together at most; ranges of a multiple of it waste
/// nothing.
int64_t attentionGroupItems(const AttentionSpec &spec);
/// The heads of an item that suit these heads: all that share a kv head read its state
/// once, but one item leaves all threads but one without work.
int64_t attentionItemHeads(int64_t heads, int64_t kvHeads);

/// Operands: 0 q (read), 1 weights (read), 2 state (read), 3 out (write, i32[tokens][top]); out
/// alone where nothing is selected. Items: tokens.
struct SelectSpec {
  int64_t heads = 0; ///< Of q; 0: every place is -1.
  PagedState state;  ///< One head without values.
  int64_t group = 0; ///< Not 0: of entries of so many tokens, whose width is the keys'.
  int64_t top = 0;
  int64_t context = 0;                        ///< The most positions of a sequence.
  int64_t qStride = 0, qOffset = 0;           ///< Elements; a head is state.keyWidth wide.
  int64_t weightStride = 0, weightOffset = 0; ///< Elements; one a head.

  EntryState entries() const { return {group, state.keyWidth, state.blockTokens}; }
};

/// What is wrong with a spec; empty when nothing is.
std::string checkSelect(const SelectSpec &spec);
std::string selectKernelName(const SelectSpec &spec);
int64_t selectKernelScratch(const SelectSpec &spec);
int64_t selectKernelItems(const SelectSpec &spec, const llmc_batch &batch);
void buildSelectKernel(mlir::ModuleOp module, const SelectSpec &spec, const CPUVariant &variant);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_ATTENTIONKERNELS_H
