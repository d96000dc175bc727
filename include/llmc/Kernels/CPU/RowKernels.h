//===- RowKernels.h - chains and reductions along rows ----------*- C++ -*-===//
//
// A RowProgram is a DAG of element-wise operations and reductions along rows of
// `width` elements; one kernel computes all of it, row by row. What an operation
// computes does not depend on what it is fused with: a program cut in two, with
// the values in between stored as f32, gives the same bits.
//
// Arithmetic (f32; every + - * / sqrt rounds once, fma(x, y, z) rounds once):
//
//   sum over a row   Chunk c holds elements [16c, 16c + 16). Lane e of
//                    accumulator c mod 4 adds (or fma-s) its element in ascending
//                    c, starting from 0; then (a0 + a1) + (a2 + a3); then the
//                    upper half of the lanes onto the lower half until one is
//                    left. Lanes past the end of the row add nothing.
//   rms_norm         r = 1 / sqrt(sum fma(x, x, .) / width + eps);
//                    y = (x * r) * (offset + scale), no sum where offset is 0
//   l2_norm          r = 1 / sqrt(sum fma(x, x, .) + eps); y = x * r
//   layer_norm       m = sum x / width; d = x - m;
//                    r = 1 / sqrt(sum fma(d, d, .) / width + eps);
//                    y = ((d * r) * scale) + bias, absent parts left out
//   softmax          m = max x; e = exp(x - m); y = e / sum e
//   mean             sum x / width
//   deviation        d = x - mean; sqrt(sum fma(d, d, .) / width)
//   row_max          the largest, as sums are added up
//   position_scale   1 + scale * log(float(1 + (position + shift) div period))
//   gelu_quick       x / (1 + exp(-1.702 * x))
//   softplus         max(x, 0) + log1p(exp(-|x|))
//   reciprocal       1 / x
//   relu2            max(x, 0) squared
//   softcap          cap * tanh(x / cap)
//
// exp, tanh and the other activations are those of Polynomials.h, as in the ends of
// matrix products.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_ROWKERNELS_H
#define LLMC_KERNELS_CPU_ROWKERNELS_H

#include "llmc/Kernels/CPU/KernelBuilder.h"
#include <string>
#include <vector>

namespace llmc::kernels {

/// Element types of stored rows; arithmetic is f32.
enum class RowElement : uint8_t { F32, F16, BF16 };

/// What chooses the row of an operand for token (or output) t of a step.
enum class RowIndex : uint8_t {
  Item,      ///< t itself
  OutputRow, ///< output_rows[t]
  TokenId,   ///< token_ids[t]
};

/// Where the rows of an operand lie, in elements: row h of token t starts at
/// index(t) * stride + h * inner + offset, and where there is a chooser, that many times
/// chooserStep farther.
struct RowOperand {
  unsigned operand = 0;
  int64_t stride = 0;
  int64_t offset = 0;
  int64_t inner = 0;
  RowElement element = RowElement::F32;
  RowIndex index = RowIndex::Item;
  /// One element, which all of the row has: an input repeats it, an output stores the first.
  bool scalar = false;
  /// Operand whose first element is an f32 that holds a whole number; -1: none.
  int chooser = -1;
  int64_t chooserStep = 0;

  /// The same row for all items: a norm scale or a bias.
  bool isConstant() const { return stride == 0 && inner == 0 && chooser < 0; }
  bool operator==(const RowOperand &) const = default;
};

enum class Activation : uint8_t {
  SiLU,
  GeluTanh,
  GeluErf,
  GeluQuick,
  Relu,
  ReluSquared,
  Tanh,
  Sigmoid,
  Softplus,
  Exp,
  Log,
  Sqrt,
  Reciprocal,
};
/// The last of them, for tables.
constexpr Activation lastActivation = Activation::Reciprocal;
llvm::StringRef activationName(Activation activation);

enum class RowOpKind : uint8_t {
  Input,
  Add,
  Sub,
  Mul,
  Div,
  Fma,
  Min,
  Max,
  Scale,       ///< x * param0
  AddConstant, ///< x + param0
  Clamp,       ///< min(max(x, param0), param1)
  Softcap,     ///< param0: cap
  Activate,
  PositionScale, ///< no inputs; param0: scale; period, shift
  RmsNorm,       ///< x, scale?; param0: eps, param1: offset
  L2Norm,        ///< x; param0: eps
  LayerNorm,     ///< x, scale?, bias?; param0: eps
  Softmax,
  Mean,
  Deviation,
  Sum,
  RowMax,
};

struct RowOp {
  RowOpKind kind = RowOpKind::Input;
  Activation activation = Activation::SiLU;
  /// Nodes; `none` where an optional operand is absent.
  int inputs[3] = {-1, -1, -1};
  float params[2] = {0, 0};
  /// Of a PositionScale.
  int64_t period = 1, shift = 0;
  /// Of an Input.
  RowOperand operand;

  bool isReduction() const { return kind >= RowOpKind::RmsNorm; }
  /// An operation on elements alone, or an Input.
  bool isElementwise() const { return kind < RowOpKind::PositionScale; }
  /// A reduction whose value is the same for all of the row.
  bool isStatistic() const { return kind >= RowOpKind::Mean; }
  /// Passes over the row before the op's value can be computed.
  unsigned reductionPasses() const;
};

/// Kernel operands: operand i of the launch is the buffer that RowOperands with
/// `operand == i` address. Items: tokens (outputs where an operand is indexed by
/// OutputRow) times rowsPerToken. An output may alias an input of the same
/// addresses row by row (in place); no other overlap is allowed.
class RowProgram {
public:
  using Node = int;
  static constexpr Node none = -1;

  explicit RowProgram(int64_t width = 0, int64_t rowsPerToken = 1)
      : rowWidth(width), rowsPer(rowsPerToken) {}

  Node input(const RowOperand &operand);
  /// Dense rows of the program's width: row h of token t at (t*rowsPerToken + h)*width.
  Node input(unsigned operand) { return input(dense(operand)); }
  /// One row for all items.
  Node constant(unsigned operand, RowElement element = RowElement::F32, int64_t offset = 0);

  Node add(Node x, Node y) { return push(RowOpKind::Add, x, y); }
  Node sub(Node x, Node y) { return push(RowOpKind::Sub, x, y); }
  Node mul(Node x, Node y) { return push(RowOpKind::Mul, x, y); }
  Node div(Node x, Node y) { return push(RowOpKind::Div, x, y); }
  Node fma(Node x, Node y, Node z) { return push(RowOpKind::Fma, x, y, z); }
  Node min(Node x, Node y) { return push(RowOpKind::Min, x, y); }
  Node max(Node x, Node y) { return push(RowOpKind::Max, x, y); }
  Node scale(Node x, float by) { return push(RowOpKind::Scale, x, none, none, by); }
  Node addConstant(Node x, float c) { return push(RowOpKind::AddConstant, x, none, none, c); }
  Node clamp(Node x, float low, float high) {
    return push(RowOpKind::Clamp, x, none, none, low, high);
  }
  Node softcap(Node x, float cap) { return push(RowOpKind::Softcap, x, none, none, cap); }
  Node activate(Activation activation, Node x);
  /// activation(g) * u
  Node gate(Activation activation, Node g, Node u) { return mul(activate(activation, g), u); }
  Node rmsNorm(Node x, Node scale, float eps, float offset = 0) {
    return push(RowOpKind::RmsNorm, x, scale, none, eps, offset);
  }
  Node l2Norm(Node x, float eps) { return push(RowOpKind::L2Norm, x, none, none, eps); }
  Node layerNorm(Node x, Node scale, Node bias, float eps) {
    return push(RowOpKind::LayerNorm, x, scale, bias, eps);
  }
  Node softmax(Node x) { return push(RowOpKind::Softmax, x); }
  Node mean(Node x) { return push(RowOpKind::Mean, x); }
  Node deviation(Node x) { return push(RowOpKind::Deviation, x); }
  Node sum(Node x) { return push(RowOpKind::Sum, x); }
  Node rowMax(Node x) { return push(RowOpKind::RowMax, x); }
  /// Of the token's position; not where items count outputs.
  Node positionScale(float scale, int64_t period, int64_t shift);

  /// Stores a node; f32.
  void output(Node node, const RowOperand &operand);
  void output(Node node, unsigned operand) { output(node, dense(operand)); }

  struct Output {
    Node node;
    RowOperand operand;
  };

  int64_t width() const { return rowWidth; }
  int64_t rowsPerToken() const { return rowsPer; }
  llvm::ArrayRef<RowOp> ops() const { return nodes; }
  llvm::ArrayRef<Output> outputs() const { return outs; }
  /// Whether an operand is indexed by OutputRow, so that items count outputs.
  bool countsOutputs() const;
  /// A number of operands that covers every index used.
  unsigned operandCount() const;

private:
  RowOperand dense(unsigned operand) const {
    return {operand, rowWidth * rowsPer, 0, rowWidth};
  }
  Node push(RowOpKind kind, Node x, Node y = none, Node z = none, float p0 = 0, float p1 = 0);

  int64_t rowWidth, rowsPer;
  std::vector<RowOp> nodes;
  std::vector<Output> outs;
};

/// What is wrong with a program; empty when nothing is.
std::string checkRowProgram(const RowProgram &program);
/// Kernel name; equal programs have equal names, different ones different names.
std::string rowKernelName(const RowProgram &program);
/// A program's part of a kernel's name: its first operations, its width and a hash of all of it.
std::string rowProgramName(const RowProgram &program);
/// Scratch bytes of one thread.
int64_t rowKernelScratch(const RowProgram &program);
/// Work items of a step.
int64_t rowKernelItems(const RowProgram &program, const llmc_batch &batch);
/// Adds the kernel for one variant.
void buildRowKernel(mlir::ModuleOp module, const RowProgram &program, const CPUVariant &variant);

/// Emits the program for one row inside another kernel. `inputs[i]` is the
/// address of the row of node i where that is an Input, `outputs[i]` that of output i. The
/// program has no position_scale.
void emitRow(KernelBuilder &kb, const RowProgram &program, llvm::ArrayRef<mlir::Value> inputs,
             llvm::ArrayRef<mlir::Value> outputs, mlir::Value scratch);

/// The address of the row of `operand` for row `row` of a step (head `inner`), where `base` is
/// the operand's buffer. `rows` is the table that the operand's index names, null for Item.
mlir::Value rowAddress(KernelBuilder &kb, const RowOperand &operand, mlir::Value base,
                       mlir::Value row, mlir::Value inner, mlir::Value rows);

/// Emits one element-wise operation, not an Input, on vectors: `in` as the op's inputs.
mlir::Value emitElementwise(KernelBuilder &kb, const RowOp &op, llvm::ArrayRef<mlir::Value> in);
/// Emits one activation of a vector.
mlir::Value emitActivation(KernelBuilder &kb, Activation activation, mlir::Value x);
/// Emits cap * tanh(x / cap).
mlir::Value emitSoftcap(KernelBuilder &kb, float cap, mlir::Value x);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_ROWKERNELS_H
