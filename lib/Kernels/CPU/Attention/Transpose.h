//===- Transpose.h - tiles turned in registers ------------------*- C++ -*-===//
#ifndef LLMC_LIB_KERNELS_CPU_ATTENTION_TRANSPOSE_H
#define LLMC_LIB_KERNELS_CPU_ATTENTION_TRANSPOSE_H

#include "llmc/Kernels/CPU/KernelBuilder.h"

namespace llmc::kernels {

/// 16 vectors of 16 lanes: lane j of vector i becomes lane i of vector j. In each of four steps
/// pairs of vectors exchange halves of runs.
inline void transposeTile(KernelBuilder &kb, llvm::MutableArrayRef<mlir::Value> rows) {
  constexpr int64_t lanes = 16;
  for (int64_t run = lanes / 2; run; run /= 2) {
    llvm::SmallVector<int64_t> first, second;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool isUpper = lane & run;
      first.push_back(isUpper ? lanes + lane - run : lane);
      second.push_back(isUpper ? lanes + lane : lane + run);
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & run)
        continue;
      mlir::Value x = rows[i], y = rows[i + run];
      rows[i] = kb.shuffle(x, y, first);
      rows[i + run] = kb.shuffle(x, y, second);
    }
  }
}

} // namespace llmc::kernels

#endif // LLMC_LIB_KERNELS_CPU_ATTENTION_TRANSPOSE_H
