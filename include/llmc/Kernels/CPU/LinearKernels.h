//===- LinearKernels.h - matrix products over packed weights ----*- C++ -*-===//
//
// y = x W^T with a fused end. Every output is one chain of fused multiply-adds
// over ascending k from zero, whatever the number of tokens:
//
//   acc = fma(w, x[k], acc)        w: the weight value of docs/Manifest.md in f32
//   v   = acc + bias               where there is a bias
//   v   = activation(v)            where there is one; not gated
//   v   = activation(g) * u        gated: g, u are v of the gate and up feature
//   v   = epilogue(v), epilogue(g, u)    instead, where there is one
//   y   = residual + v             where there is a residual
//
// A gated product takes a weight whose rows alternate in runs of 16, gate first. An epilogue is
// any element-wise row program, with the arithmetic of the row kernels. With a prologue, x are
// the rows that this row program makes: each range of items makes those that it multiplies,
// linearTokenBlock at a time, in scratch.
//
// The three paths of a kernel, chosen by the number of tokens: one token reads
// the packed stream once (skinny), 2 to 4 the same with more accumulators, and
// more dequantise two panels to scratch and run register tiles over the tokens.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_LINEARKERNELS_H
#define LLMC_KERNELS_CPU_LINEARKERNELS_H

#include "llmc/Kernels/CPU/RowKernels.h"
#include "llmc/Kernels/CPU/Storage.h"
#include "llmc/Runtime/KernelABI.h"
#include <optional>
#include <string>

namespace llmc::kernels {

/// What counts the rows of a launch.
enum class RowCount : uint8_t { Tokens, Outputs };

/// Operands, in this order: x, weights, bias (if any), those of the prologue behind x, those of
/// the epilogue behind the sums, residual (if any), out. x and out are f32 rows, bias f32 [rows padded to 16] in packed order. The residual has the
/// rows of out; with `inPlace` out is the residual and the residual is no operand of
/// its own (a plan names memory that is written once). x may not overlap out.
struct LinearSpec {
  Storage storage = Storage::F32;
  /// Packed features that count (gated: gate and up, each padded to 16) and depth.
  int64_t rows = 0;
  int64_t cols = 0;
  /// Panels of an item: 1, 2 or 4; even when gated.
  int64_t tile = 2;
  bool bias = false;
  bool residual = false;
  /// With a residual: y = out + v, written over it.
  bool inPlace = false;
  bool gated = false;
  std::optional<Activation> activation;
  /// Row programs of one output, which is what is multiplied (of `cols` elements; operand 0 is x)
  /// or stored (of `width()` elements; operand 0 is v, or g and operand 1 u where gated). Inputs
  /// of the epilogue are f32: rows by the number of the row, or constants.
  std::optional<RowProgram> prologue, epilogue;
  /// Features written to each row of out; 0: all of them.
  int64_t outputWidth = 0;
  /// Distance of rows, in elements; 0: the rows are dense.
  int64_t inputStride = 0;
  int64_t outputStride = 0;
  RowCount count = RowCount::Tokens;

  int64_t width() const { return outputWidth ? outputWidth : gated ? rows / 2 : rows; }
  /// Values that an epilogue has of each feature.
  unsigned sums() const { return gated ? 2 : 1; }
  int64_t inputDistance() const { return inputStride ? inputStride : cols; }
  int64_t outputDistance() const { return outputStride ? outputStride : width(); }
};

/// Tokens of one work item. Items are factor * ceil(rows of the launch / tokens),
/// panel by panel, so that a contiguous range reads a panel once.
inline constexpr int64_t linearTokenBlock = 96;

/// The panels of an item that suit a product of `rows` features: 4 where one
/// stream keeps the core busiest, less where items would be too few to share.
int64_t linearTile(int64_t rows, bool gated);

/// What is wrong with a spec; empty when nothing is.
std::string checkLinear(const LinearSpec &spec);
/// Kernel name; equal specs have equal names, different ones different names.
std::string linearKernelName(const LinearSpec &spec);
/// Scratch bytes of one thread.
int64_t linearKernelScratch(const LinearSpec &spec);
/// Work items for each block of linearTokenBlock rows.
int64_t linearKernelFactor(const LinearSpec &spec);
/// Work items of a step.
int64_t linearKernelItems(const LinearSpec &spec, const llmc_batch &batch);
/// Adds the kernel for one variant. The spec must pass checkLinear.
void buildLinearKernel(mlir::ModuleOp module, const LinearSpec &spec, const CPUVariant &variant);

/// What chooses the row of a table for a token.
enum class TableIndex : uint8_t { TokenId, Position };

/// Rows of a table by token id or position: out[t] = scale * table[index(t) + offset],
/// one rounding each. Operands: table, out. Items: tokens. Indices are in range: the
/// runtime checks ids, and a context is no longer than its tables.
struct EmbeddingSpec {
  Storage storage = Storage::F32;
  int64_t rows = 0; ///< Vocabulary.
  int64_t cols = 0;
  /// Panels of an item of the table; 0: plain rows (float formats).
  int64_t tile = 0;
  float scale = 1;
  TableIndex index = TableIndex::TokenId;
  int64_t offset = 0;
  /// Row of tokens that the table does not have; without it they are the caller's error.
  std::optional<int64_t> otherwise;
};

std::string checkEmbedding(const EmbeddingSpec &spec);
std::string embeddingKernelName(const EmbeddingSpec &spec);
int64_t embeddingKernelItems(const EmbeddingSpec &spec, const llmc_batch &batch);
void buildEmbeddingKernel(mlir::ModuleOp module, const EmbeddingSpec &spec,
                          const CPUVariant &variant);

/// out[r] = x[output_rows[r]]. Operands: x, out. Items: outputs.
struct SelectRowsSpec {
  int64_t cols = 0;
};

std::string selectRowsKernelName(const SelectRowsSpec &spec);
int64_t selectRowsKernelItems(const SelectRowsSpec &spec, const llmc_batch &batch);
void buildSelectRowsKernel(mlir::ModuleOp module, const SelectRowsSpec &spec,
                           const CPUVariant &variant);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_LINEARKERNELS_H
