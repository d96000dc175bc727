//===- Target.h - what a program can be compiled for ------------*- C++ -*-===//
//
// Chips are data: a generator asks for the numbers here and never for a name.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_SUPPORT_TARGET_H
#define LLMC_SUPPORT_TARGET_H

#include <cstdint>
#include <string>
#include <string_view>

namespace llmc {

struct TargetInfo {
  /// --target, and `device` in the manifest.
  std::string_view name;
  /// Empty: the machine that compiles.
  std::string_view triple;
  /// For the code generator; empty for CPUs, whose variants are chosen at load.
  std::string_view chip, features;
  /// Threads that run in step.
  int64_t warp;
  /// Threads of a block that works on one row.
  int64_t rowThreads;
  /// Shared memory of a block that needs no opt-in.
  int64_t sharedBytes;

  bool isGPU() const { return !chip.empty(); }
};

inline constexpr TargetInfo targetTable[] = {
    {"cpu", "", "", "", 1, 0, 0},
    {"nvidia-sm80", "nvptx64-nvidia-cuda", "sm_80", "+ptx70", 32, 256, 48 * 1024},
    {"nvidia-sm90", "nvptx64-nvidia-cuda", "sm_90", "+ptx78", 32, 256, 48 * 1024},
};

/// The target of that name, or null.
constexpr const TargetInfo *findTarget(std::string_view name) {
  for (const TargetInfo &target : targetTable)
    if (target.name == name)
      return &target;
  return nullptr;
}

/// All names, for a message.
inline std::string targetNames() {
  std::string names;
  for (const TargetInfo &target : targetTable)
    names += (names.empty() ? "" : ", ") + std::string(target.name);
  return names;
}

} // namespace llmc

#endif // LLMC_SUPPORT_TARGET_H
