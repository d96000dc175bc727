//===- RecurrentKernels.h - mixers with a state per sequence ----*- C++ -*-===//
//
// Generators over a state of fixed size for each sequence, its *slot*
// (layout: docs/Manifest.md). An item belongs to one sequence and walks the
// tokens that the sequence has in the step, in order, with the state in place. At
// position 0 the state is zeros, whatever the slot holds. All is f32, every
// operation rounds once, and SIMD lanes are channels or value columns, so a
// token has the same bits in whatever batch, chunk and split of items.
//
// *Causal convolution*, K taps, for each channel c:
//
//   y[t, c] = (fma chain over k ascending from 0 of w[c, k] * x[t - K + 1 + k, c]) + b[c]
//   then the activation, if any
//
// or, as a *token shift*, y[t, c] = x[t - 1, c], without weights.
//
// *Pooling* of groups of G tokens: for a token at position p and each channel d, over the positions
// j from the first of its group to p, ascending,
//
//   l[j] = gates[j, d] + bias[j mod G, d]; m = max l; e[j] = exp(l[j] - m)
//   s = sum of e from 0; a = fma chain from 0 of e[j] * values[j, d]; y[p, d] = a / s
//
// With overlap a row is two halves: the sums begin with the group before, where there is one, by
// channel d, and the token's own group follows by channel d of the second half.
//
// *Linear attention*, for each head h with key head h / (heads / keyHeads), over
// the key channels d of the state S[d, :], ascending:
//
//   a[d] = exp(decay of h, or of h and d); p[d] = S[d, :] * a[d]
//   rank one: r = fma chain over d from 0 of ra[d] * S[d, :]; p[d] = fma(rb[d], r, p[d])
//   u = v; delta: u = v - (fma chain over d from 0 of k[d] * p[d]);
//   beta: u = u * beta
//   S[d, :] = fma(k[d], u, p[d])
//   y = (fma chain over d from 0 of q[d] * S[d, :]) * scale, no product where scale is 1;
//       `before`: of S as it was before the token
//
// exp is that of Polynomials.h.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_RECURRENTKERNELS_H
#define LLMC_KERNELS_CPU_RECURRENTKERNELS_H

#include "llmc/Kernels/CPU/RowKernels.h"
#include <optional>

namespace llmc::kernels {

/// Rows of a launch's operand: row t starts at t*stride + offset elements; f32.
struct StepRows {
  unsigned operand = 0;
  int64_t stride = 0;
  int64_t offset = 0;
};

/// The most taps of a convolution.
inline constexpr int64_t mostConvTaps = 16;

/// Operands: x (read), w (read: f32 [channels][taps]), bias (read: f32 [channels]), the
/// state (readwrite) and out (write), each where the spec says; out may be x itself, where
/// the rows are the same. A slot of the state holds the last taps - 1 inputs, oldest first:
/// f32 [taps - 1][channels]. Items: sequences * convItemsPerSequence.
struct ConvSpec {
  int64_t channels = 0;
  int64_t taps = 0; ///< 2 to mostConvTaps.
  StepRows x, out;
  unsigned weight = 0, state = 0; ///< Operands.
  std::optional<unsigned> bias;   ///< Operand.
  std::optional<Activation> activation;
  bool shift = false; ///< A token shift: two taps, and no operand of weights or bias.
  int64_t slotBytes = 0; ///< From one sequence's state to the next.

  int64_t stateBytes() const { return (taps - 1) * channels * 4; }
};

/// What is wrong with a spec; empty when nothing is.
std::string checkConv(const ConvSpec &spec);
std::string convKernelName(const ConvSpec &spec);
int64_t convKernelScratch(const ConvSpec &spec);
/// Groups of 64 channels.
int64_t convItemsPerSequence(const ConvSpec &spec);
void buildConvKernel(mlir::ModuleOp module, const ConvSpec &spec, const CPUVariant &variant);

/// Operands: values and gates (read), the bias (read: f32 [group][width]), the state (readwrite)
/// and out (write), each where the spec says. A slot of the state holds the last kept() rows,
/// values then gates, oldest first: f32 [kept][2 width]. Items: sequences * poolItemsPerSequence.
struct PoolSpec {
  int64_t group = 0; ///< G.
  int64_t width = 0; ///< Channels of a row of values.
  bool overlap = false;
  StepRows values, gates, out;
  unsigned bias = 0, state = 0; ///< Operands.
  int64_t slotBytes = 0;        ///< From one sequence's state to the next.

  /// Channels of a result.
  int64_t pooled() const { return overlap ? width / 2 : width; }
  int64_t kept() const { return (overlap ? 2 : 1) * group - 1; }
  int64_t stateBytes() const { return kept() * 2 * width * 4; }
};

/// What is wrong with a spec; empty when nothing is.
std::string checkPool(const PoolSpec &spec);
std::string poolKernelName(const PoolSpec &spec);
/// Groups of 64 channels of the result.
int64_t poolItemsPerSequence(const PoolSpec &spec);
void buildPoolKernel(mlir::ModuleOp module, const PoolSpec &spec, const CPUVariant &variant);

/// Operands: q, k, v, decay, beta and the rank one factors (read), the state (readwrite) and out (write), each
/// where the spec says; several may be columns of one buffer. Heads of q and k are keyWidth
/// wide, those of v and out valueWidth; decay has one element a head, or keyWidth with
/// `channelDecay`, beta one. A slot of the state is f32 [heads][keyWidth][valueWidth].
/// out may lie where v does. Items: sequences * linearAttentionItemsPerSequence.
struct LinearAttentionSpec {
  int64_t heads = 0;
  int64_t keyHeads = 0; ///< A divisor of heads.
  int64_t keyWidth = 0, valueWidth = 0;
  StepRows q, k, v, decay, out;
  std::optional<StepRows> beta;
  std::optional<StepRows> rankOneA, rankOneB; ///< As wide as k; both or neither.
  unsigned state = 0; ///< Operand.
  bool channelDecay = false;
  bool delta = false; ///< Not with rank one factors.
  bool before = false;
  float scale = 1;
  int64_t slotBytes = 0; ///< From one sequence's state to the next.

  int64_t stateBytes() const { return heads * keyWidth * valueWidth * 4; }
};

/// What is wrong with a spec; empty when nothing is.
std::string checkLinearAttention(const LinearAttentionSpec &spec);
std::string linearAttentionKernelName(const LinearAttentionSpec &spec);
int64_t linearAttentionKernelScratch(const LinearAttentionSpec &spec);
/// Heads by groups of 64 value columns.
int64_t linearAttentionItemsPerSequence(const LinearAttentionSpec &spec);
void buildLinearAttentionKernel(mlir::ModuleOp module, const LinearAttentionSpec &spec,
                                const CPUVariant &variant);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_RECURRENTKERNELS_H
