//===- KernelBuilder.cpp - short names for writing CPU kernels ------------===//
#include "llmc/Kernels/CPU/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace llmc::kernels {

KernelBuilder::KernelBuilder(ModuleOp module, StringRef name, const CPUVariant &variant)
    : b(module.getContext()), location(NameLoc::get(b.getStringAttr(name))), target(variant) {
  b.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                          {ptr(), i64(), i64(), ptr()});
  func = LLVM::LLVMFuncOp::create(b, location, (name + variant.suffix).str(), type);
  func.setTargetCpu("x86-64");
  func.setTuneCpu(variant.tune);
  func.setTargetFeaturesAttr(LLVM::TargetFeaturesAttr::get(b.getContext(), variant.features));
  func.setNoUnwind(true);
  // Operands of one launch never overlap the argument array or the scratch.
  func.setArgAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  func.setArgAttr(3, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  Block *entry = func.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  argsArg = entry->getArgument(0);
  beginArg = entry->getArgument(1);
  endArg = entry->getArgument(2);
  scratchArg = entry->getArgument(3);
}

LLVM::LLVMFuncOp KernelBuilder::finish() {
  LLVM::ReturnOp::create(b, location, ValueRange{});
  return func;
}

static Value invariantLoad(OpBuilder &b, Location loc, Type type, Value pointer) {
  return LLVM::LoadOp::create(b, loc, type, pointer, /*alignment=*/8, /*isVolatile=*/false,
                              /*isNonTemporal=*/false, /*isInvariant=*/true);
}

Value KernelBuilder::operand(unsigned i) {
  return invariantLoad(b, location, ptr(), at(argsArg, 8 * (int64_t(i) + 1)));
}

Value KernelBuilder::batch(BatchField field) {
  Value batch = invariantLoad(b, location, ptr(), argsArg);
  Type type = field <= BatchField::TableStride ? i64() : ptr();
  return invariantLoad(b, location, type, at(batch, int64_t(field)));
}

Type KernelBuilder::ptr() { return LLVM::LLVMPointerType::get(b.getContext()); }

VectorType KernelBuilder::vec(int64_t lanes, Type element) {
  return VectorType::get({lanes}, element);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Value constant(OpBuilder &b, Location loc, Type type, TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type))
    element = DenseElementsAttr::get(vector, Attribute(element));
  return arith::ConstantOp::create(b, loc, element);
}

Value KernelBuilder::c(int64_t value) {
  return constant(b, location, i64(), b.getI64IntegerAttr(value));
}
Value KernelBuilder::c32(int32_t value) {
  return constant(b, location, i32(), b.getI32IntegerAttr(value));
}
Value KernelBuilder::cf(float value) {
  return constant(b, location, f32(), b.getF32FloatAttr(value));
}
Value KernelBuilder::splat(float value, int64_t lanes) {
  return constant(b, location, vecF(lanes), b.getF32FloatAttr(value));
}
Value KernelBuilder::splatI(int32_t value, int64_t lanes) {
  return constant(b, location, vecI(lanes), b.getI32IntegerAttr(value));
}
Value KernelBuilder::splatBits(uint32_t bits, int64_t lanes) {
  return splat(llvm::bit_cast<float>(bits), lanes);
}
Value KernelBuilder::zeros(Type type) {
  return constant(b, location, type, b.getZeroAttr(getElementTypeOrSelf(type)));
}
Value KernelBuilder::lanes(ArrayRef<float> values) {
  return arith::ConstantOp::create(
      b, location, DenseElementsAttr::get(vecF(int64_t(values.size())), values));
}
Value KernelBuilder::lanes(ArrayRef<int32_t> values) {
  return arith::ConstantOp::create(
      b, location, DenseElementsAttr::get(vecI(int64_t(values.size())), values));
}
Value KernelBuilder::iota(int64_t count) {
  return lanes(llvm::to_vector(llvm::seq<int32_t>(0, int32_t(count))));
}
Value KernelBuilder::same(Value x, int64_t value) {
  Type element = getElementTypeOrSelf(x.getType());
  return constant(b, location, x.getType(), b.getIntegerAttr(element, value));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

#define LLMC_BINARY(name, op)                                                                      \
  Value KernelBuilder::name(Value x, Value y) { return op::create(b, location, x, y); }
#define LLMC_UNARY(name, op)                                                                       \
  Value KernelBuilder::name(Value x) { return op::create(b, location, x); }
LLMC_BINARY(add, arith::AddIOp)
LLMC_BINARY(sub, arith::SubIOp)
LLMC_BINARY(mul, arith::MulIOp)
LLMC_BINARY(div, arith::DivUIOp)
LLMC_BINARY(rem, arith::RemUIOp)
LLMC_BINARY(min, arith::MinSIOp)
LLMC_BINARY(max, arith::MaxSIOp)
LLMC_BINARY(andi, arith::AndIOp)
LLMC_BINARY(ori, arith::OrIOp)
LLMC_BINARY(xori, arith::XOrIOp)
LLMC_BINARY(addf, arith::AddFOp)
LLMC_BINARY(subf, arith::SubFOp)
LLMC_BINARY(mulf, arith::MulFOp)
LLMC_BINARY(divf, arith::DivFOp)
LLMC_UNARY(negf, arith::NegFOp)
LLMC_UNARY(absf, math::AbsFOp)
LLMC_UNARY(sqrt, math::SqrtOp)
LLMC_UNARY(roundEven, math::RoundEvenOp)
#undef LLMC_BINARY
#undef LLMC_UNARY

Value KernelBuilder::shl(Value x, int64_t bits) {
  return bits ? arith::ShLIOp::create(b, location, x, same(x, bits)) : x;
}
Value KernelBuilder::shr(Value x, int64_t bits) {
  return bits ? arith::ShRUIOp::create(b, location, x, same(x, bits)) : x;
}
Value KernelBuilder::shrLanes(Value x, Value bits) {
  return arith::ShRUIOp::create(b, location, x, bits);
}
Value KernelBuilder::toI64(Value x) { return arith::ExtSIOp::create(b, location, i64(), x); }
Value KernelBuilder::toI32(Value x) { return arith::TruncIOp::create(b, location, i32(), x); }

Value KernelBuilder::lt(Value x, Value y) {
  return arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt, x, y);
}
Value KernelBuilder::le(Value x, Value y) {
  return arith::CmpIOp::create(b, location, arith::CmpIPredicate::sle, x, y);
}
Value KernelBuilder::eq(Value x, Value y) {
  return arith::CmpIOp::create(b, location, arith::CmpIPredicate::eq, x, y);
}
Value KernelBuilder::select(Value cond, Value x, Value y) {
  return arith::SelectOp::create(b, location, cond, x, y);
}

Value KernelBuilder::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, location, x, y, z);
}
Value KernelBuilder::ltf(Value x, Value y) {
  return arith::CmpFOp::create(b, location, arith::CmpFPredicate::OLT, x, y);
}
Value KernelBuilder::gtf(Value x, Value y) {
  return arith::CmpFOp::create(b, location, arith::CmpFPredicate::OGT, x, y);
}
Value KernelBuilder::isNaN(Value x) {
  return arith::CmpFOp::create(b, location, arith::CmpFPredicate::UNO, x, x);
}
// One maxps or minps each; arith.maximumf takes five instructions.
Value KernelBuilder::maxf(Value x, Value y) { return select(gtf(x, y), x, y); }
Value KernelBuilder::minf(Value x, Value y) { return select(ltf(x, y), x, y); }
Value KernelBuilder::sitofp(Value x, Type type) {
  return arith::SIToFPOp::create(b, location, type, x);
}
Value KernelBuilder::fptosi(Value x, Type type) {
  return arith::FPToSIOp::create(b, location, type, x);
}

static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), element);
  return element;
}
Value KernelBuilder::extf(Value x) {
  return arith::ExtFOp::create(b, location, withElement(x.getType(), f32()), x);
}
Value KernelBuilder::extui(Value x) {
  return arith::ExtUIOp::create(b, location, withElement(x.getType(), i32()), x);
}
Value KernelBuilder::bitcast(Value x, Type type) {
  return LLVM::BitcastOp::create(b, location, type, x);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value KernelBuilder::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(b, location, vec(lanes, scalar.getType()), scalar);
}
Value KernelBuilder::extract(Value vector, int64_t lane) {
  return vector::ExtractOp::create(b, location, vector, lane);
}
Value KernelBuilder::insert(Value scalar, Value vector, int64_t lane) {
  return vector::InsertOp::create(b, location, scalar, vector, lane);
}
Value KernelBuilder::slice(Value vector, int64_t first, int64_t count) {
  SmallVector<int64_t> mask;
  for (int64_t i = 0; i < count; ++i)
    mask.push_back(first + i);
  return shuffle(vector, vector, mask);
}
Value KernelBuilder::shuffle(Value x, Value y, ArrayRef<int64_t> mask) {
  return vector::ShuffleOp::create(b, location, x, y, mask);
}

Value KernelBuilder::halves(Value vector, function_ref<Value(Value, Value)> combine) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  assert(llvm::isPowerOf2_64(lanes) && "a tree needs a power of two");
  for (; lanes > 1; lanes /= 2)
    vector = combine(slice(vector, 0, lanes / 2), slice(vector, lanes / 2, lanes / 2));
  return extract(vector, 0);
}
Value KernelBuilder::reduceAdd(Value vector) {
  return halves(vector, [&](Value x, Value y) { return addf(x, y); });
}
Value KernelBuilder::reduceMax(Value vector) {
  return halves(vector, [&](Value x, Value y) { return maxf(x, y); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelBuilder::at(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(b, location, ptr(), i8(), pointer, ValueRange{bytes},
                             LLVM::GEPNoWrapFlags::inbounds);
}
Value KernelBuilder::at(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  if (bytes != int32_t(bytes))
    return at(pointer, c(bytes));
  return LLVM::GEPOp::create(b, location, ptr(), i8(), pointer, {LLVM::GEPArg(int32_t(bytes))},
                             LLVM::GEPNoWrapFlags::inbounds);
}
Value KernelBuilder::load(Type type, Value pointer, unsigned align, int64_t offset) {
  return LLVM::LoadOp::create(b, location, type, at(pointer, offset), align);
}
void KernelBuilder::store(Value value, Value pointer, unsigned align, int64_t offset) {
  LLVM::StoreOp::create(b, location, value, at(pointer, offset), align);
}
Value KernelBuilder::laneMask(Value count, int64_t lanes) {
  Value clamped = toI32(min(count, lanes));
  return lt(iota(lanes), broadcast(clamped, lanes));
}
Value KernelBuilder::maskedLoad(VectorType type, Value pointer, Value mask, unsigned align) {
  return LLVM::MaskedLoadOp::create(b, location, type, pointer, mask, zeros(type), align);
}
void KernelBuilder::maskedStore(Value value, Value pointer, Value mask, unsigned align) {
  LLVM::MaskedStoreOp::create(b, location, value, pointer, mask, align);
}
void KernelBuilder::prefetch(Value pointer, int64_t offset, int level) {
  // Not inbounds: a prefetch may run past the end of the data.
  Value address = LLVM::GEPOp::create(b, location, ptr(), i8(), pointer,
                                      {LLVM::GEPArg(int32_t(offset))});
  LLVM::Prefetch::create(b, location, address, /*rw=*/0, /*hint=*/uint32_t(4 - level), /*cache=*/1);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void KernelBuilder::loop(Value from, Value to, int64_t step, function_ref<void(Value)> body) {
  loop(from, to, step, ValueRange{}, [&](Value iv, ValueRange) {
    body(iv);
    return Values{};
  });
}

KernelBuilder::Values KernelBuilder::loop(Value from, Value to, int64_t step, ValueRange init,
                                          function_ref<Values(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(b, location, from, to, c(step), init,
                               [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  Values results = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(b, location, results);
  return Values(op.getResults());
}

void KernelBuilder::ifThen(Value cond, function_ref<void()> then) {
  auto op = scf::IfOp::create(b, location, TypeRange{}, cond, /*addThenBlock=*/true,
                              /*addElseBlock=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  then();
  scf::YieldOp::create(b, location);
}

void KernelBuilder::ifElse(Value cond, function_ref<void()> then, function_ref<void()> otherwise) {
  ifElse(
      cond, TypeRange{}, [&] { return then(), Values{}; },
      [&] { return otherwise(), Values{}; });
}

KernelBuilder::Values KernelBuilder::ifElse(Value cond, TypeRange types,
                                            function_ref<Values()> then,
                                            function_ref<Values()> otherwise) {
  auto op = scf::IfOp::create(b, location, types, cond, /*addThenBlock=*/true,
                              /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  Values results = then();
  scf::YieldOp::create(b, location, results);
  b.setInsertionPointToStart(op.elseBlock());
  results = otherwise();
  scf::YieldOp::create(b, location, results);
  return Values(op.getResults());
}

KernelBuilder::Values KernelBuilder::whileLoop(ValueRange init,
                                               function_ref<Value(ValueRange)> cond,
                                               function_ref<Values(ValueRange)> body) {
  auto op = scf::WhileOp::create(
      b, location, init.getTypes(), init,
      [&](OpBuilder &inner, Location, ValueRange args) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
        Value again = cond(args);
        scf::ConditionOp::create(b, location, again, args);
      },
      [&](OpBuilder &inner, Location, ValueRange args) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
        Values results = body(args);
        scf::YieldOp::create(b, location, results);
      });
  return Values(op.getResults());
}

Value KernelBuilder::intrinsic(StringRef name, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, location, result, b.getStringAttr(name), operands)
      .getResult(0);
}

} // namespace llmc::kernels
