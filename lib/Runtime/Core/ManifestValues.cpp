//===- ManifestValues.cpp - sizes, items and layer sets -------------------===//

#include "llmc/Runtime/Manifest.h"
#include "llmc/Support/StateRing.h"

#include <algorithm>

namespace llmc::rt {

/// sum += factor * value, false on overflow.
static bool accumulate(int64_t &sum, int64_t factor, int64_t value) {
  int64_t product;
  return !__builtin_mul_overflow(factor, value, &product) &&
         !__builtin_add_overflow(sum, product, &sum);
}

std::optional<int64_t> Size::evaluate(const Extent &extent) const {
  int64_t sum = constant;
  if (accumulate(sum, tokens, extent.tokens) && accumulate(sum, outputs, extent.outputs) &&
      accumulate(sum, sequences, extent.sequences) && accumulate(sum, blocks, extent.blocks) &&
      accumulate(sum, threads, extent.threads) &&
      accumulate(sum, windowBlocks, extent.windowBlocks))
    return sum;
  return std::nullopt;
}

int64_t axisValue(Axis axis, const Extent &extent) {
  switch (axis) {
  case Axis::One:
    return 1;
  case Axis::Tokens:
    return extent.tokens;
  case Axis::Outputs:
    return extent.outputs;
  case Axis::Sequences:
    return extent.sequences;
  }
  return 0;
}

const char *axisName(Axis axis) {
  static constexpr const char *names[] = {"one", "tokens", "outputs", "sequences"};
  return names[size_t(axis)];
}

std::optional<int64_t> Items::evaluate(const Extent &extent) const {
  int64_t value = axisValue(of, extent);
  int64_t tiles = value / tile + (value % tile != 0);
  int64_t sum = plus;
  if (accumulate(sum, factor, tiles))
    return sum;
  return std::nullopt;
}

int64_t LayerSet::count() const {
  int64_t sum = 0;
  for (auto [begin, end] : ranges)
    sum += end - begin;
  return sum;
}

std::optional<int64_t> LayerSet::member(int64_t layer) const {
  int64_t before = 0;
  for (auto [begin, end] : ranges) {
    if (layer < begin)
      break;
    if (layer < end)
      return before + layer - begin;
    before += end - begin;
  }
  return std::nullopt;
}

int64_t elementBytes(Element element) {
  return element == Element::F32 || element == Element::I32 ? 4 : 2;
}

const char *arenaKindName(ArenaKind kind) {
  static constexpr const char *names[] = {"weights", "state", "activations", "workspace",
                                          "communication"};
  return names[size_t(kind)];
}

const Output *Entry::findOutput(std::string_view name) const {
  auto found = std::find_if(outputs.begin(), outputs.end(),
                            [&](const Output &output) { return output.name == name; });
  return found == outputs.end() ? nullptr : &*found;
}

const FileEntry *Manifest::findFile(std::string_view path) const {
  auto found = std::find_if(files.begin(), files.end(),
                            [&](const FileEntry &file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

bool Manifest::hasWeights() const {
  return std::none_of(arenas.begin(), arenas.end(), [](const Arena &arena) {
    return arena.kind == ArenaKind::Weights && arena.file.empty() && arena.rankFiles.empty();
  });
}

bool Manifest::hasSequenceState() const {
  return std::any_of(states.begin(), states.end(),
                     [](const State &state) { return state.perSequence(); });
}

int64_t Manifest::largestWindow() const {
  int64_t window = 0;
  for (const State &state : states)
    window = std::max(window, state.window);
  return window;
}

Extent Manifest::largest(int64_t blocks, int64_t threads, int64_t sequences) const {
  sequences = sequences ? sequences : limits.maxSequences;
  return {limits.maxTokens, limits.maxOutputs, sequences, blocks, threads,
          windowBlocks(limits.ringBlocks, sequences, blocks)};
}

} // namespace llmc::rt
