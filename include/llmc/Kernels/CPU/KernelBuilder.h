//===- KernelBuilder.h - short names for writing CPU kernels ----*- C++ -*-===//
//
// One KernelBuilder writes one kernel function of one variant. Values are
// logical vectors (usually 16 x f32) that LLVM splits where registers are
// narrower, so that every variant computes the same bits. Addresses are bytes;
// loop counters and sizes are i64.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_KERNELBUILDER_H
#define LLMC_KERNELS_CPU_KERNELBUILDER_H

#include "llmc/Kernels/CPU/Backend.h"
#include "llmc/Runtime/KernelABI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llmc::kernels {

/// Byte offsets of the fields of llmc_batch.
enum class BatchField : unsigned {
  Tokens = offsetof(llmc_batch, tokens),
  Sequences = offsetof(llmc_batch, sequences),
  Outputs = offsetof(llmc_batch, outputs),
  Blocks = offsetof(llmc_batch, blocks),
  TableStride = offsetof(llmc_batch, table_stride),
  TokenIds = offsetof(llmc_batch, token_ids),
  Positions = offsetof(llmc_batch, positions),
  TokenSeq = offsetof(llmc_batch, token_seq),
  QueryStart = offsetof(llmc_batch, query_start),
  ContextLen = offsetof(llmc_batch, context_len),
  BlockTable = offsetof(llmc_batch, block_table),
  OutputRows = offsetof(llmc_batch, output_rows),
  Extents = offsetof(llmc_batch, extents),
  Slots = offsetof(llmc_batch, slots),
};

class KernelBuilder {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

  /// Starts the kernel `name` + suffix of `variant` at the end of `module`, with
  /// the signature of llmc_kernel_fn.
  KernelBuilder(mlir::ModuleOp module, llvm::StringRef name, const CPUVariant &variant);
  /// Ends the function. Nothing may be added after it.
  mlir::LLVM::LLVMFuncOp finish();

  const CPUVariant &variant() const { return target; }
  mlir::OpBuilder &builder() { return b; }
  mlir::Location loc() const { return location; }

  // Arguments. Work items are [begin, end).
  Value begin() const { return beginArg; }
  Value end() const { return endArg; }
  Value scratch() const { return scratchArg; }
  /// The address of operand i. Call outside loops.
  Value operand(unsigned i);
  /// A field of the batch: an i64 up to TableStride, else an address.
  Value batch(BatchField field);

  // Types.
  mlir::Type i8() { return b.getI8Type(); }
  mlir::Type i16() { return b.getI16Type(); }
  mlir::Type i32() { return b.getI32Type(); }
  mlir::Type i64() { return b.getI64Type(); }
  mlir::Type f16() { return b.getF16Type(); }
  mlir::Type f32() { return b.getF32Type(); }
  mlir::Type ptr();
  mlir::VectorType vec(int64_t lanes, mlir::Type element);
  /// 16 (or `lanes`) x f32.
  mlir::VectorType vecF(int64_t lanes = 16) { return vec(lanes, f32()); }
  mlir::VectorType vecI(int64_t lanes = 16) { return vec(lanes, i32()); }

  // Constants: i64, f32, and vectors of one value.
  Value c(int64_t value);
  Value c32(int32_t value);
  Value cf(float value);
  Value splat(float value, int64_t lanes = 16);
  Value splatI(int32_t value, int64_t lanes = 16);
  /// The f32 value with these bits in every lane.
  Value splatBits(uint32_t bits, int64_t lanes = 16);
  Value zeros(mlir::Type type);
  /// One value for each lane.
  Value lanes(llvm::ArrayRef<float> values);
  Value lanes(llvm::ArrayRef<int32_t> values);
  /// 0, 1, ..., lanes - 1 as i32.
  Value iota(int64_t lanes = 16);

  // Integers; one side may be a plain number. Division truncates and takes its
  // operands as unsigned.
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  Value rem(Value x, Value y);
  Value min(Value x, Value y);
  Value max(Value x, Value y);
  Value add(Value x, int64_t y) { return y ? add(x, same(x, y)) : x; }
  Value sub(Value x, int64_t y) { return y ? sub(x, same(x, y)) : x; }
  Value mul(Value x, int64_t y) { return y == 1 ? x : mul(x, same(x, y)); }
  Value div(Value x, int64_t y) { return y == 1 ? x : div(x, same(x, y)); }
  Value rem(Value x, int64_t y) { return rem(x, same(x, y)); }
  Value min(Value x, int64_t y) { return min(x, same(x, y)); }
  Value max(Value x, int64_t y) { return max(x, same(x, y)); }
  Value ceilDiv(Value x, int64_t y) { return div(add(x, y - 1), y); }
  Value andi(Value x, Value y);
  Value ori(Value x, Value y);
  Value xori(Value x, Value y);
  Value shl(Value x, int64_t bits);
  Value shr(Value x, int64_t bits);
  /// Every lane by its own number of bits.
  Value shrLanes(Value x, Value bits);
  Value toI64(Value x); ///< Sign extension from i32.
  Value toI32(Value x); ///< Truncation from i64.

  // Comparisons of signed integers; of floats, ordered: false with a NaN.
  Value lt(Value x, Value y);
  Value le(Value x, Value y);
  Value eq(Value x, Value y);
  Value lt(Value x, int64_t y) { return lt(x, same(x, y)); }
  Value eq(Value x, int64_t y) { return eq(x, same(x, y)); }
  Value select(Value cond, Value x, Value y);

  // Floats, scalar or vector; never contracted.
  Value addf(Value x, Value y);
  Value subf(Value x, Value y);
  Value mulf(Value x, Value y);
  Value divf(Value x, Value y);
  Value negf(Value x);
  Value absf(Value x);
  Value sqrt(Value x);
  Value roundEven(Value x);
  /// x * y + z with one rounding.
  Value fma(Value x, Value y, Value z);
  /// x > y ? x : y, and the mirror: the second operand where one is NaN.
  Value maxf(Value x, Value y);
  Value minf(Value x, Value y);
  Value ltf(Value x, Value y);
  Value gtf(Value x, Value y);
  Value isNaN(Value x);
  Value sitofp(Value x, mlir::Type type);
  Value fptosi(Value x, mlir::Type type);
  Value extf(Value x);   ///< To f32.
  Value extui(Value x);  ///< To i32.
  Value bitcast(Value x, mlir::Type type);

  // Vectors.
  Value broadcast(Value scalar, int64_t lanes = 16);
  Value extract(Value vector, int64_t lane);
  Value insert(Value scalar, Value vector, int64_t lane);
  /// Lanes [first, first + count).
  Value slice(Value vector, int64_t first, int64_t count);
  Value shuffle(Value x, Value y, llvm::ArrayRef<int64_t> mask);
  /// All lanes in a fixed tree: the upper half onto the lower half until one is left.
  Value reduceAdd(Value vector);
  Value reduceMax(Value vector);

  // Memory. Offsets are bytes; `align` is what the address is known to have.
  Value at(Value pointer, Value bytes);
  Value at(Value pointer, int64_t bytes);
  Value load(mlir::Type type, Value pointer, unsigned align, int64_t offset = 0);
  void store(Value value, Value pointer, unsigned align, int64_t offset = 0);
  /// lanes < count.
  Value laneMask(Value count, int64_t lanes = 16);
  /// Lanes whose mask is off read as zero and are not touched in memory.
  Value maskedLoad(mlir::VectorType type, Value pointer, Value mask, unsigned align);
  void maskedStore(Value value, Value pointer, Value mask, unsigned align);
  /// Fetches a line into the cache of that level, 1 or 2.
  void prefetch(Value pointer, int64_t offset = 0, int level = 1);

  // Control flow. Counters are i64.
  void loop(Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body);
  /// Carries values from one iteration to the next and returns the last ones.
  Values loop(Value from, Value to, int64_t step, mlir::ValueRange init,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  void ifThen(Value cond, llvm::function_ref<void()> then);
  void ifElse(Value cond, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  Values ifElse(Value cond, mlir::TypeRange types, llvm::function_ref<Values()> then,
                llvm::function_ref<Values()> otherwise);
  /// Repeats `body` while `cond` of the carried values holds.
  Values whileLoop(mlir::ValueRange init, llvm::function_ref<Value(mlir::ValueRange)> cond,
                   llvm::function_ref<Values(mlir::ValueRange)> body);
  /// A call of an LLVM intrinsic by name.
  Value intrinsic(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands);

private:
  /// A constant of x's integer type.
  Value same(Value x, int64_t value);
  Value halves(Value vector, llvm::function_ref<Value(Value, Value)> combine);

  mlir::OpBuilder b;
  mlir::Location location;
  const CPUVariant &target;
  mlir::LLVM::LLVMFuncOp func;
  Value argsArg, beginArg, endArg, scratchArg;
};

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_KERNELBUILDER_H
