//===- PanelRecord.cpp - weight values from packed records ----------------===//
//
// Each value has one rounding at most, so that the instructions a variant likes
// best give the same bits:
//
//   q4_0   d * (q - 8) = fma(q, d, -8 d)         15 bits, exact
//   q4_1   fma(q, d, m)                          d * q is exact
//   q8_0   d * w = fma(w + 128, d, -128 d)       19 bits, exact
//
//===----------------------------------------------------------------------===//
#include "LinearEmitter.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace llmc::kernels {

int64_t groupsPerStep(Storage storage) { return storageInfo(storage).isFloat() ? 8 : 1; }

PanelRecord::PanelRecord(KernelBuilder &k, Storage storage, Value address)
    : k(k), storage(storage), info(storageInfo(storage)), address(address) {
  if (info.isFloat())
    return;
  scale = k.extf(k.load(k.vec(16, k.f16()), address, 32));
  bool wide = k.variant().isAVX512();
  if (storage == Storage::Q4_1)
    minimum = k.extf(k.load(k.vec(16, k.f16()), address, 32, 32));
  else if (storage == Storage::Q8_0)
    minimum = k.mulf(scale, k.splat(wide ? -32896.0f : -128.0f));
  else if (!wide)
    minimum = k.mulf(scale, k.splat(-8.0f));
}

Value PanelRecord::weights(int64_t index) {
  switch (storage) {
  case Storage::F32:
    return k.load(k.vecF(), address, 64);
  case Storage::F16:
    return k.extf(k.load(k.vec(16, k.f16()), address, 32));
  case Storage::BF16:
    return k.bitcast(k.shl(k.extui(k.load(k.vec(16, k.i16()), address, 32)), 16), k.vecF());
  case Storage::Q4_0:
  case Storage::Q4_1:
    return nibbles(index);
  case Storage::Q8_0:
    return bytes(index);
  }
  llvm_unreachable("unknown storage");
}

Value PanelRecord::nibbles(int64_t index) {
  // A word holds k = 0..3 in the low and 4..7 in the high nibbles of its bytes.
  static constexpr int shifts[] = {0, 8, 16, 24, 4, 12, 20, 28};
  if (index % 8 == 0)
    word = k.load(k.vecI(), address, storage == Storage::Q4_1 ? 64 : 32,
                  info.quantOffset + index / 8 * 64);
  Value shifted = k.shr(word, shifts[index % 8]);
  if (!k.variant().isAVX512()) {
    Value q = k.sitofp(k.andi(shifted, k.splatI(15)), k.vecF());
    return k.fma(q, scale, minimum);
  }
  // The permutation reads only the low four bits of a lane: no mask.
  SmallVector<float> table;
  for (int q : llvm::seq(0, 16))
    table.push_back(float(storage == Storage::Q4_0 ? q - 8 : q));
  Value q = k.intrinsic("llvm.x86.avx512.permvar.sf.512", k.vecF(), {k.lanes(table), shifted});
  return storage == Storage::Q4_0 ? k.mulf(q, scale) : k.fma(q, scale, minimum);
}

Value PanelRecord::bytes(int64_t index) {
  if (index % 4 == 0)
    word = k.load(k.vecI(), address, 32, info.quantOffset + index / 4 * 64);
  int64_t byte = index % 4;
  if (!k.variant().isAVX512()) {
    Value u = k.andi(k.shr(word, 8 * byte), k.splatI(255));
    return k.fma(k.sitofp(u, k.vecF()), scale, minimum);
  }
  // In bits 8..15 under this exponent a byte u is 32768 + u, with no conversion.
  Value moved = byte == 0 ? k.shl(word, 8) : k.shr(word, 8 * (byte - 1));
  Value bits = k.ori(k.andi(moved, k.splatI(0xff00)), k.splatI(0x47000000));
  return k.fma(k.bitcast(bits, k.vecF()), scale, minimum);
}

} // namespace llmc::kernels
