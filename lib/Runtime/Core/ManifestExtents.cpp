//===- ManifestExtents.cpp - every size inside its memory -----------------===//
//
// For the largest step of a deployment: arenas, slices, rows, and that every
// launch is one that its kernel was made for.
//
//===----------------------------------------------------------------------===//

#include "ManifestChecker.h"

#include <algorithm>

namespace llmc::rt {

using detail::failAt;
using detail::place;

namespace {

class ExtentChecker {
public:
  ExtentChecker(const Manifest &manifest, const Extent &largest, std::string_view file)
      : manifest(manifest), largest(largest), file(file) {}

  void run() {
    for (size_t i = 0; i < manifest.arenas.size(); ++i)
      arenaBytes.push_back(value(manifest.arenas[i].size, place("arenas", i) + ".size"));
    checkWorkspace();
    checkStates();
    checkSlices();
    for (size_t e = 0; e < manifest.entries.size(); ++e) {
      std::string path = place("entries", e);
      for (size_t i = 0; i < manifest.entries[e].outputs.size(); ++i) {
        const Output &output = manifest.entries[e].outputs[i];
        checkRows(output.sliceIndex, output.rows, output.width, elementBytes(output.element),
                  place(path + ".outputs", i));
      }
      checkSteps(manifest.entries[e].steps, path + ".steps");
    }
  }

private:
  int64_t value(const Size &size, const std::string &path) {
    std::optional<int64_t> bytes = size.evaluate(largest);
    if (!bytes || *bytes > detail::largestInteger)
      failAt(file, path, "is more than 2^53 bytes for the largest step");
    return *bytes;
  }

  void checkWorkspace() {
    for (size_t i = 0; i < manifest.arenas.size(); ++i) {
      if (manifest.arenas[i].kind != ArenaKind::Workspace)
        continue;
      int64_t part = arenaBytes[i] / largest.threads / manifestAlignment * manifestAlignment;
      for (const Kernel &kernel : manifest.kernels)
        if (!kernel.device && kernel.scratch > part)
          failAt(file, place("arenas", i) + ".size",
                 "leaves a thread " + std::to_string(part) + " bytes, the kernel '" + kernel.name +
                     "' needs " + std::to_string(kernel.scratch));
    }
  }

  void checkStates() {
    std::vector<int64_t> used(manifest.arenas.size(), 0);
    for (size_t i = 0; i < manifest.states.size(); ++i) {
      const State &state = manifest.states[i];
      int64_t bytes;
      int64_t &sum = used[size_t(state.arenaIndex)];
      std::optional<int64_t> member = state.memberSize().evaluate(largest);
      if (!member || __builtin_mul_overflow(state.layers.count(), *member, &bytes) ||
          __builtin_add_overflow(sum, bytes, &sum) || sum > arenaBytes[size_t(state.arenaIndex)])
        failAt(file, place("states", i),
               "does not fit in the " + std::to_string(arenaBytes[size_t(state.arenaIndex)]) +
                   " bytes of the arena '" + state.arena + "' with " +
                   std::to_string(state.window ? largest.windowBlocks : largest.blocks) +
                   " blocks and " +
                   std::to_string(largest.sequences) + " sequences");
    }
  }

  void checkSlices() {
    struct Placed {
      int64_t begin, end;
      size_t index;
    };
    std::vector<std::vector<Placed>> placed(manifest.arenas.size());
    for (size_t i = 0; i < manifest.slices.size(); ++i) {
      const Slice &slice = manifest.slices[i];
      int64_t bytes = value(slice.size, place("slices", i) + ".size");
      sliceBytes.push_back(bytes);
      int64_t arena = arenaBytes[size_t(slice.arenaIndex)];
      if (slice.offset > arena || bytes > arena - slice.offset)
        failAt(file, place("slices", i),
               "'" + slice.name + "' reaches to byte " + std::to_string(slice.offset + bytes) +
                   " of the arena '" + slice.arena + "', which has " + std::to_string(arena));
      if (bytes)
        placed[size_t(slice.arenaIndex)].push_back({slice.offset, slice.offset + bytes, i});
    }
    for (std::vector<Placed> &list : placed) {
      std::sort(list.begin(), list.end(),
                [](const Placed &a, const Placed &b) { return a.begin < b.begin; });
      for (size_t i = 0; i < list.size(); ++i)
        for (size_t j = i + 1; j < list.size() && list[j].begin < list[i].end; ++j) {
          const Slice &a = manifest.slices[list[i].index], &b = manifest.slices[list[j].index];
          if (a.liveFirst <= b.liveLast && b.liveFirst <= a.liveLast)
            failAt(file, place("slices", list[j].index),
                   "'" + b.name + "' overlaps '" + a.name + "' in the arena '" + a.arena +
                       "', and both are live in step " +
                       std::to_string(std::max(a.liveFirst, b.liveFirst)));
        }
    }
  }

  void checkRows(int32_t slice, Axis rows, int64_t width, int64_t bytes, const std::string &path) {
    int64_t size;
    if (__builtin_mul_overflow(axisValue(rows, largest), width, &size) ||
        __builtin_mul_overflow(size, bytes, &size) || size > sliceBytes[size_t(slice)])
      failAt(file, path,
             std::string("rows '") + axisName(rows) + "' of width " + std::to_string(width) +
                 " do not fit in the " + std::to_string(sliceBytes[size_t(slice)]) +
                 " bytes of the slice '" + manifest.slices[size_t(slice)].name + "'");
  }

  void checkSteps(const std::vector<Step> &steps, const std::string &list) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step &step = steps[i];
      std::string path = place(list, i);
      if (step.kind == StepKind::Observe)
        checkRows(step.sliceIndex, step.rows, step.width, 4, path + ".observe");
      if (step.kind == StepKind::Collective &&
          value(step.count, path + ".collective.count") >
              sliceBytes[size_t(step.sliceIndex)] / elementBytes(step.element))
        failAt(file, path + ".collective.count",
               "is more than the slice '" + step.slice + "' holds");
      if (step.kind == StepKind::Launch)
        checkContract(step, path + ".launch");
      if (step.kind == StepKind::Repeat)
        checkSteps(step.steps, path + ".repeat.steps");
    }
  }

  static std::string sizeText(const Size &state) {
    if (state.windowBlocks)
      return "window blocks of " + std::to_string(state.windowBlocks) + " bytes";
    bool perSequence = state.sequences && !state.blocks;
    return (perSequence ? "slots of " : "blocks of ") +
           std::to_string(perSequence ? state.sequences : state.blocks) + " bytes";
  }

  /// Why a launch is not the one that the contract states; empty where it is.
  std::string problem(const Step &step, const Contract &contract, const std::string &path) {
    if (step.items != contract.items)
      return "items are not those of the kernel";
    if (step.operands.size() != contract.operands.size())
      return "gives " + std::to_string(step.operands.size()) + " operands, the kernel takes " +
             std::to_string(contract.operands.size());
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const Operand &operand = step.operands[i];
      const OperandNeed &need = contract.operands[i];
      std::string what = "operand " + std::to_string(i) + ", '" + operand.name + "', ";
      if (operand.kind != need.kind || operand.access != need.access)
        return what + "is of another kind or access than the kernel's";
      int64_t needed = value(need.bytes, path), held = 0;
      if (operand.kind == OperandKind::Slice) {
        held = sliceBytes[size_t(operand.index)];
      } else if (operand.kind == OperandKind::Weights) {
        held = manifest.weights[size_t(operand.index)].bytes;
      } else {
        const State &state = manifest.states[size_t(operand.index)];
        if (need.bytes != state.memberSize())
          return what + "has " + sizeText(state.memberSize()) + ", the kernel's has " +
                 sizeText(need.bytes);
      }
      if (operand.kind != OperandKind::State && held < needed)
        return what + "has " + std::to_string(held) + " bytes, the kernel needs " +
               std::to_string(needed);
    }
    return "";
  }

  /// A kernel goes as far as its items lead it, whatever memory it is given.
  void checkContract(const Step &step, const std::string &path) {
    const Kernel &kernel = manifest.kernels[size_t(step.kernelIndex)];
    std::string why;
    for (const Contract &contract : kernel.contracts) {
      why = problem(step, contract, path);
      if (why.empty())
        return;
    }
    failAt(file, path, "is no launch that the kernel '" + kernel.name + "' was made for: " + why);
  }

  const Manifest &manifest;
  Extent largest;
  std::string_view file;
  std::vector<int64_t> arenaBytes, sliceBytes;
};

} // namespace

void checkExtents(const Manifest &manifest, const Extent &largest, std::string_view name) {
  ExtentChecker(manifest, largest, name).run();
}

} // namespace llmc::rt
