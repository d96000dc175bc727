//===- PanelRecord.cpp - weight values from packed records ----------------===//
//
// Every quantised weight is fma(q, S, M) on values that are exact in f32, rounded
// once at most, so that the instructions a variant likes best give the same bits.
// There are three ways to the float q, of which the last costs no conversion:
//
//   table      a permutation of the 16 or 32 values that a code may stand for
//   convert    the code, masked, as an integer
//   mantissa   the code at bit 16 (bytes: bit 8) of a float 128 + code (32768 + code),
//              with M = -(128 + zero) S: exact where S has at most 18 bits, that is
//              for scales that come from halves
//
// A format without a minimum has M = 0 in the other two ways, so a zero weight is +0
// in all of them.
//
//===----------------------------------------------------------------------===//
#include "LinearEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace llmc::kernels {

int64_t groupsPerStep(Storage storage) { return storageInfo(storage).isFloat() ? 8 : 1; }

/// Where the code stands in the mantissa.
static constexpr int64_t mantissaBit(int64_t bits) { return bits == 8 ? 8 : 16; }

PanelRecord::PanelRecord(KernelBuilder &k, Storage storage, Value header, Value address)
    : k(k), storage(storage), info(storageInfo(storage)), header(header), address(address) {
  // A scale that is no half may have more bits, or overflow when it is multiplied.
  bool half = info.scale != ScaleForm::Float && info.scale != ScaleForm::E8M0;
  bool book = info.codebook != Codebook::None;
  if (!info.hasMinimum() && !book && half)
    way = Way::Mantissa;
  else if (k.variant().isAVX512() && info.bits <= 5)
    way = Way::Table;
  else
    way = Way::Convert;
}

Value PanelRecord::smallInts(int64_t offset, bool isSigned) {
  Value bytes = k.load(k.vec(16, k.i8()), address, 16, offset);
  if (!isSigned)
    return k.extui(bytes);
  return arith::ExtSIOp::create(k.builder(), k.loc(), k.vecI(), bytes);
}

void PanelRecord::loadScales(int64_t subGroup) {
  auto half = [&](Value from, int64_t offset) {
    return k.extf(k.load(k.vec(16, k.f16()), from, 16, offset));
  };
  auto toFloat = [&](Value ints) { return k.sitofp(ints, k.vecF()); };
  int64_t offset = 16 * subGroup;
  minimum = {};
  switch (info.scale) {
  case ScaleForm::None:
    return;
  case ScaleForm::Half:
    scale = half(address, 0);
    break;
  case ScaleForm::HalfMin:
    scale = half(address, 0);
    minimum = half(address, 32);
    break;
  case ScaleForm::E8M0: {
    // 2^(e - 128); for the two smallest that is subnormal.
    Value e = smallInts(0, false);
    Value small = k.select(k.eq(e, k.splatI(0)), k.splatI(0x00200000), k.splatI(0x00400000));
    Value bits = k.select(k.lt(e, k.splatI(2)), small, k.shl(k.sub(e, k.splatI(1)), 23));
    scale = k.bitcast(bits, k.vecF());
    break;
  }
  case ScaleForm::Float:
    scale = k.load(k.vecF(), header, 16);
    break;
  case ScaleForm::Sub:
    scale = k.mulf(half(header, 0), toFloat(smallInts(offset, true)));
    break;
  case ScaleForm::SubMin:
    scale = k.mulf(half(header, 0), toFloat(smallInts(offset, false)));
    minimum = k.mulf(k.negf(half(header, 32)),
                     toFloat(smallInts(16 * (info.group / info.subGroup) + offset, false)));
    break;
  case ScaleForm::SubPair: {
    Value both = smallInts(offset, false);
    scale = k.mulf(half(header, 0), toFloat(k.andi(both, k.splatI(15))));
    minimum = k.mulf(k.negf(half(header, 32)), toFloat(k.shr(both, 4)));
    break;
  }
  }
  if (way == Way::Mantissa) {
    float base = float(int64_t(1) << (23 - mantissaBit(info.bits)));
    minimum = k.mulf(scale, k.splat(-(base + float(info.zero))));
  } else if (!minimum) {
    minimum = k.splat(0);
  }
}

Value PanelRecord::weights(int64_t index) {
  switch (storage) {
  case Storage::F32:
    return k.load(k.vecF(), address, 64);
  case Storage::F16:
    return k.extf(k.load(k.vec(16, k.f16()), address, 32));
  case Storage::BF16:
    return k.bitcast(k.shl(k.extui(k.load(k.vec(16, k.i16()), address, 32)), 16), k.vecF());
  default:
    break;
  }
  if (index % info.subGroup == 0)
    loadScales(index / info.subGroup);
  QuantPlace place = quantPlace(info.bits, index);
  if (place.word != current) {
    current = place.word;
    word = place.word < 0 ? topmost() : loadWord(place.word);
  }
  return k.fma(quant(place.shift), scale, minimum);
}

Value PanelRecord::loadWord(int64_t index) {
  return k.load(k.vecI(), address, 16, info.quantOffset + index * 64);
}

Value PanelRecord::topmost() {
  Value both = k.shr(loadWord(0), 30);
  for (int64_t j = 1; j < info.bits; ++j) {
    Value moved = k.shr(loadWord(j), 30 - 2 * j);
    both = k.ori(both, k.andi(moved, k.splatI(3 << 2 * j)));
  }
  return both;
}

Value PanelRecord::quant(int64_t shift) {
  int32_t mask = (1 << info.bits) - 1;
  switch (way) {
  case Way::Mantissa: {
    int64_t bit = mantissaBit(info.bits);
    Value moved = shift < bit ? k.shl(word, bit - shift) : k.shr(word, shift - bit);
    Value bits = k.andi(moved, k.splatI(mask << bit));
    return k.bitcast(k.ori(bits, k.splatI(int32_t(150 - bit) << 23)), k.vecF());
  }
  case Way::Table:
    return fromTable(k.shr(word, shift));
  case Way::Convert:
    break;
  }
  if (info.codebook != Codebook::None)
    return fromBytes(shift);
  Value q = k.sitofp(k.andi(k.shr(word, shift), k.splatI(mask)), k.vecF());
  return info.zero ? k.subf(q, k.splat(float(info.zero))) : q;
}

Value PanelRecord::fromTable(Value index) {
  // The permutation reads only the low four (five) bits of a lane: no mask.
  SmallVector<float> table;
  int mask = (1 << info.bits) - 1;
  for (int i : llvm::seq(0, info.bits == 5 ? 32 : 16)) {
    int code = i & mask;
    table.push_back(float(info.codebook == Codebook::None ? code - int(info.zero)
                                                          : codebookValue(info.codebook, code)));
  }
  ArrayRef<float> values = table;
  if (info.bits < 5)
    return k.intrinsic("llvm.x86.avx512.permvar.sf.512", k.vecF(), {k.lanes(values), index});
  return k.intrinsic("llvm.x86.avx512.vpermi2var.ps.512", k.vecF(),
                     {k.lanes(values.take_front(16)), index, k.lanes(values.drop_front(16))});
}

Value PanelRecord::fromBytes(int64_t shift) {
  // Four codes at once become bytes, 128 more than their values.
  if (shift == 0 || shift == 4) {
    SmallVector<int8_t> table;
    for (int i : llvm::seq(0, 32))
      table.push_back(int8_t(uint8_t(codebookValue(info.codebook, i % 16) + 128)));
    auto bytes = k.vec(32, k.i8());
    Value values = arith::ConstantOp::create(
        k.builder(), k.loc(), DenseElementsAttr::get(bytes, ArrayRef<int8_t>(table)));
    Value codes = k.andi(k.shr(word, shift), k.splatI(0x0f0f0f0f));
    Value halves[2];
    for (int64_t i : {0, 1}) {
      Value half = k.bitcast(k.slice(codes, 8 * i, 8), bytes);
      Value picked = k.intrinsic("llvm.x86.avx2.pshuf.b", bytes, {values, half});
      halves[i] = k.bitcast(picked, k.vecI(8));
    }
    chosen = k.shuffle(halves[0], halves[1], llvm::to_vector(llvm::seq<int64_t>(0, 16)));
  }
  Value byte = k.andi(k.shr(chosen, shift / 8 * 8), k.splatI(255));
  return k.subf(k.sitofp(byte, k.vecF()), k.splat(128));
}

} // namespace llmc::kernels
