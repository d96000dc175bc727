//===- TraceFile.h - named tensors of a trace -------------------*- C++ -*-===//
//
// Traces are safetensors files with tensors of type F32 and I64.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_TRACEFILE_H
#define LLMC_RUNTIME_TRACEFILE_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace llmc::rt {

struct TraceTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::variant<std::vector<float>, std::vector<int64_t>> data;
};

/// Throws InputError for a file that is no safetensors file, and for a tensor
/// of a type other than F32, I64 and I32 (which is widened).
std::vector<TraceTensor> readTraceFile(const std::filesystem::path &path);

/// The tokens of the tensor `input_ids` (I64 [1, T] or [T]).
std::vector<int32_t> readInputIds(const std::filesystem::path &path);

/// Writes beside \p path and renames, so that no reader sees half a file.
void writeTraceFile(const std::filesystem::path &path, const std::vector<TraceTensor> &tensors);

/// Throws InputError where something else than a plain file stands at \p path.
void checkReplaceable(const std::filesystem::path &path);
/// The same for any content.
void writeFileAtomically(const std::filesystem::path &path,
                         const std::vector<std::string_view> &parts);

} // namespace llmc::rt

#endif // LLMC_RUNTIME_TRACEFILE_H
