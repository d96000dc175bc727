//===- BlockWriters.h - one block from its values ---------------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_QUANTIZE_BLOCKWRITERS_H
#define LLMC_LIB_FRONTEND_QUANTIZE_BLOCKWRITERS_H

#include <cstddef>
#include <string_view>

namespace llmc::frontend {

/// Makes one block of finite values.
using BlockWriter = void (*)(const float *values, std::byte *block);

/// Null for a name that is not of the group.
BlockWriter smallBlockWriter(std::string_view name);
BlockWriter superBlockWriter(std::string_view name);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_QUANTIZE_BLOCKWRITERS_H
