//===- SequenceWalk.h - items that walk the tokens of a sequence -*- C++ -*-===//
#ifndef LLMC_LIB_KERNELS_CPU_RECURRENT_SEQUENCEWALK_H
#define LLMC_LIB_KERNELS_CPU_RECURRENT_SEQUENCEWALK_H

#include "llmc/Kernels/CPU/RecurrentKernels.h"

namespace llmc::kernels {

/// Channels or value columns of one item.
inline constexpr int64_t itemColumns = 64;

/// The part of one item that does not depend on what is computed.
struct SequenceWalk {
  /// Rows [first, last) of the step.
  mlir::Value first, last;
  /// Address of the sequence's slot.
  mlir::Value slot;
  /// Number of the item within its sequence.
  mlir::Value part;
  /// i1: the first row stands at position 0.
  mlir::Value isStart;
};

/// For each item of the call whose sequence has rows in the step. `state` is the address of
/// the pool, items of a sequence follow one another.
inline void overSequences(KernelBuilder &kb, mlir::Value state, int64_t slotBytes,
                          int64_t itemsPerSequence,
                          llvm::function_ref<void(const SequenceWalk &)> body) {
  using mlir::Value;
  Value starts = kb.batch(BatchField::QueryStart), slots = kb.batch(BatchField::Slots);
  Value positions = kb.batch(BatchField::Positions);
  auto entry = [&](Value array, Value index) {
    return kb.toI64(kb.load(kb.i32(), kb.at(array, kb.mul(index, 4)), 4));
  };
  kb.loop(kb.begin(), kb.end(), 1, [&](Value item) {
    SequenceWalk walk;
    Value sequence = kb.div(item, itemsPerSequence);
    walk.part = kb.rem(item, itemsPerSequence);
    walk.first = entry(starts, sequence);
    walk.last = entry(starts, kb.add(sequence, 1));
    kb.ifThen(kb.lt(walk.first, walk.last), [&] {
      walk.slot = kb.at(state, kb.mul(entry(slots, sequence), slotBytes));
      walk.isStart = kb.eq(entry(positions, walk.first), 0);
      body(walk);
    });
  });
}

/// A vector of columns, the last of a row masked.
inline mlir::Value loadColumns(KernelBuilder &kb, mlir::Value pointer, mlir::Value mask) {
  return mask ? kb.maskedLoad(kb.vecF(), pointer, mask, 4) : kb.load(kb.vecF(), pointer, 4);
}
inline void storeColumns(KernelBuilder &kb, mlir::Value value, mlir::Value pointer,
                         mlir::Value mask) {
  if (mask)
    kb.maskedStore(value, pointer, mask, 4);
  else
    kb.store(value, pointer, 4);
}

} // namespace llmc::kernels

#endif // LLMC_LIB_KERNELS_CPU_RECURRENT_SEQUENCEWALK_H
