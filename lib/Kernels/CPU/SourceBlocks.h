//===- SourceBlocks.h - the parts of a block of a checkpoint ----*- C++ -*-===//
//
// Where GGUF's blocks keep their scales and quants, as one table. The types are
// those of ggml-org/llama.cpp (ggml-common.h). Free of MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_KERNELS_CPU_SOURCEBLOCKS_H
#define LLMC_LIB_KERNELS_CPU_SOURCEBLOCKS_H

#include "llmc/Kernels/CPU/Storage.h"
#include <cstddef>
#include <cstdint>

namespace llmc::kernels {

/// One block taken apart; which parts count is a matter of its ScaleForm.
struct BlockParts {
  /// f16 bits of the scale and of what minima are made of; of a ScaleForm::Float the f32.
  uint16_t d = 0, m = 0;
  uint32_t wide = 0;
  /// Sub-scales in order; signed ones in two's complement. s[0]: the exponent of E8M0.
  uint8_t s[16] = {}, t[16] = {};
  /// Quants as unsigned codes: signed bytes have 128 added.
  uint8_t codes[256] = {};
};

/// Takes a quantised block apart.
void readBlock(Storage storage, const std::byte *block, BlockParts &parts);
/// Puts it together again. Bytes that values do not depend on are zero.
void writeBlock(Storage storage, const BlockParts &parts, std::byte *block);

} // namespace llmc::kernels

#endif // LLMC_LIB_KERNELS_CPU_SOURCEBLOCKS_H
