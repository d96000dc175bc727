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

/// What decides whether a fusion pays (docs/Fusion.md). These stand where neither the target's row
/// below nor its file (targets/, member `fusion`) has another one; targets/cpu.jsonc states the
/// same with what each is from.
struct FusionFigures {
  /// From the end of one launch's work to the start of the next one's.
  double launchSeconds = 2e-6;
  /// Between the processor and where activations of a step lie, for one launch.
  double bytesPerSecond = 2e10;
  /// f32 operations of element-wise work, for one launch.
  double operationsPerSecond = 5e10;
  /// Vectors of a kernel's width that a thread holds without spilling.
  int64_t vectorRegisters = 32;
  /// Memory close to a thread, for rows that are kept between passes.
  int64_t threadBytes = 512 * 1024;
};

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
  /// Where its file states none.
  FusionFigures fusion;

  bool isGPU() const { return !chip.empty(); }
};

inline constexpr TargetInfo targetTable[] = {
    {"cpu", "", "", "", 1, 0, 0, {}},
    // Launch: a launch of a captured graph, order of magnitude (CUDA C++ Programming Guide, graphs).
    // Bytes and operations: datasheets, memory bandwidth and FP32. Registers: 255 of a thread, less
    // addresses (Programming Guide, technical specifications). Thread: sharedBytes.
    {"nvidia-sm80", "nvptx64-nvidia-cuda", "sm_80", "+ptx70", 32, 256, 48 * 1024,
     {3e-6, 2.0e12, 19.5e12, 224, 48 * 1024}},
    {"nvidia-sm90", "nvptx64-nvidia-cuda", "sm_90", "+ptx78", 32, 256, 48 * 1024,
     {3e-6, 3.35e12, 67e12, 224, 48 * 1024}},
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
