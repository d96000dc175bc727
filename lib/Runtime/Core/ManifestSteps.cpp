//===- ManifestSteps.cpp - checks of entries and steps -----------===//

#include "ManifestChecker.h"

#include <algorithm>

namespace llmc::rt {

using detail::failAt;
using detail::place;

namespace detail {

static constexpr int64_t mostCommands = int64_t(1) << 20;
static constexpr size_t mostOperands = 256;

/// A step may only touch a slice while it is live, and may only read what a
/// step before it wrote. In a repeat, what is read before it is written came
/// from before the repeat or from the iteration before, so it must stay alive
/// over the whole body.
void Checker::useSlice(int32_t index, Use use, const std::string &path, const Loop *loop) {
  const Slice &slice = manifest.slices[size_t(index)];
  auto span = [](int64_t first, int64_t last) {
    return "[" + std::to_string(first) + ", " + std::to_string(last) + "]";
  };
  if (number < slice.liveFirst || number > slice.liveLast)
    fail(path, "step " + std::to_string(number) + " uses the slice '" + slice.name +
                   "', which is live in " + span(slice.liveFirst, slice.liveLast));
  if (use.read && !written[size_t(index)]) {
    // What was received before the entry runs must be left alone until it is read.
    bool received = manifest.arenas[size_t(slice.arenaIndex)].kind == ArenaKind::Communication;
    if (!received || slice.liveFirst > entryStart)
      fail(path, "reads the slice '" + slice.name + "' before anything wrote it");
  }
  if (loop && use.read && !touchedInLoop[size_t(index)] &&
      (slice.liveFirst > loop->first || slice.liveLast < loop->last))
    fail(path, "reads the slice '" + slice.name +
                   "' from before the iteration, so it must be live in the whole repeat " +
                   span(loop->first, loop->last) + ", not only in " +
                   span(slice.liveFirst, slice.liveLast));
  touchedInLoop[size_t(index)] = true;
  if (use.write)
    written[size_t(index)] = true;
}

void Checker::checkOperand(Operand &operand, const std::string &path, const Loop *loop) {
  if (operand.layer && !loop)
    fail(path + ".layer", "is only legal inside a repeat");
  if (operand.layer && operand.fixed)
    fail(path + ".fixed", "names a layer beside 'layer'");
  if (operand.kind == OperandKind::Slice) {
    if (operand.layer || operand.fixed)
      fail(path + ".layer", "a slice has no layers");
    operand.index = lookup(slices, operand.name, path + ".slice", "slice");
    useSlice(operand.index, {operand.access != Access::Write, operand.access != Access::Read},
             path + ".slice", loop);
    return;
  }
  bool weight = operand.kind == OperandKind::Weights;
  operand.index = weight ? lookup(weights, operand.name, path + ".weights", "weight")
                         : lookup(states, operand.name, path + ".state", "state");
  if (weight && operand.access != Access::Read)
    fail(path + ".access", "'" + operand.name + "' is a weight, and weights are only read");
  const LayerSet &layers = weight ? manifest.weights[size_t(operand.index)].layers
                                  : manifest.states[size_t(operand.index)].layers;
  if (operand.fixed) {
    if (!layers.member(*operand.fixed))
      fail(path + ".fixed", "'" + operand.name + "' has no layer " +
                                std::to_string(*operand.fixed));
    return;
  }
  if (layers.empty() == operand.layer.has_value())
    fail(path + ".layer", layers.empty() ? "'" + operand.name + "' has no layers"
                                         : "is missing: '" + operand.name + "' has layers");
  if (!operand.layer)
    return;
  for (int64_t i = 0; i < loop->repeat->repeats; ++i) {
    int64_t layer = loop->repeat->from + i * loop->repeat->period + *operand.layer;
    if (!layers.member(layer))
      fail(path + ".layer", "iteration " + std::to_string(i) + " uses '" + operand.name +
                                "' of layer " + std::to_string(layer) + ", which it does not have");
  }
}

void Checker::checkLaunch(Step &step, const std::string &path, const Loop *loop) {
  step.kernelIndex = lookup(kernels, step.kernel, path + ".launch.kernel", "kernel");
  if (step.operands.size() > mostOperands)
    fail(path + ".launch.operands", "are more than " + std::to_string(mostOperands));
  // Reads happen before writes of the same launch, whatever the operand order.
  for (int pass = 0; pass < 2; ++pass)
    for (size_t i = 0; i < step.operands.size(); ++i)
      if ((step.operands[i].access == Access::Write) == (pass == 1))
        checkOperand(step.operands[i], place(path + ".launch.operands", i), loop);
  // A launch has one table of blocks.
  const State *paged = nullptr;
  for (const Operand &operand : step.operands) {
    if (operand.kind != OperandKind::State || manifest.states[size_t(operand.index)].perSequence())
      continue;
    const State &state = manifest.states[size_t(operand.index)];
    if (paged && (paged->window > 0) != (state.window > 0))
      fail(path + ".launch.operands", "are the states '" + paged->name + "' and '" + state.name +
                                          "', of which one has a window; their blocks are not the "
                                          "same");
    paged = &state;
  }
  Extent largest = manifest.largest(manifest.limits.blocks, 1);
  std::optional<int64_t> items = step.items.evaluate(largest);
  if (!items || *items > largestInteger)
    fail(path + ".launch.items", "is more than 2^53 for the largest step");
}

void Checker::checkStep(Step &step, const std::string &path, const Loop *loop) {
  commands += loop ? loop->repeat->repeats : 1;
  if (commands > mostCommands)
    fail(path, "the entry has more than " + std::to_string(mostCommands) + " unrolled steps");
  switch (step.kind) {
  case StepKind::Launch:
    checkLaunch(step, path, loop);
    break;
  case StepKind::Observe:
    if (step.layer && !loop)
      fail(path + ".observe.layer", "is only legal inside a repeat");
    if (!step.layer && step.name.find("{i") != std::string::npos)
      fail(path + ".observe.name", "speaks of a layer, and no layer is given");
    step.sliceIndex = lookup(slices, step.slice, path + ".observe.slice", "slice");
    useSlice(step.sliceIndex, {true, false}, path + ".observe.slice", loop);
    break;
  case StepKind::Collective:
    step.sliceIndex = lookup(slices, step.slice, path + ".collective.slice", "slice");
    step.groupIndex = lookup(groups, step.group, path + ".collective.group", "group of ranks");
    if (step.element != Element::F32)
      fail(path + ".collective.element", "all_reduce adds f32 elements only");
    useSlice(step.sliceIndex, {true, true}, path + ".collective.slice", loop);
    break;
  case StepKind::Repeat:
    break;
  }
  ++number;
}

void Checker::checkEntries() {
  if (manifest.entries.empty())
    fail("entries", "is empty");
  for (size_t e = 0; e < manifest.entries.size(); ++e) {
    Entry &entry = manifest.entries[e];
    std::string path = place("entries", e);
    if (entry.name.empty() ||
        std::count_if(manifest.entries.begin(), manifest.entries.end(),
                      [&](const Entry &other) { return other.name == entry.name; }) != 1)
      fail(path + ".name", "'" + entry.name + "' is empty or stands twice");
    if (entry.steps.empty())
      fail(path + ".steps", "is empty");
    written.assign(manifest.slices.size(), false);
    entryStart = number;
    touchedInLoop.assign(manifest.slices.size(), false);
    for (size_t s = 0; s < entry.steps.size(); ++s) {
      Step &step = entry.steps[s];
      std::string stepPath = place(path + ".steps", s);
      if (step.kind != StepKind::Repeat) {
        checkStep(step, stepPath, nullptr);
        continue;
      }
      int64_t end;
      if (__builtin_mul_overflow(step.repeats, step.period, &end) ||
          __builtin_add_overflow(end, step.from, &end) || end > manifest.model.layers)
        fail(stepPath + ".repeat",
             "goes past the " + std::to_string(manifest.model.layers) + " layers of the model");
      Loop loop{&step, number, number + int64_t(step.steps.size()) - 1};
      touchedInLoop.assign(manifest.slices.size(), false);
      for (size_t i = 0; i < step.steps.size(); ++i)
        checkStep(step.steps[i], place(stepPath + ".repeat.steps", i), &loop);
    }
    // An output is read when the last step is done.
    int64_t last = number - 1;
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      Output &output = entry.outputs[i];
      std::string outPath = place(path + ".outputs", i);
      output.sliceIndex = lookup(slices, output.slice, outPath + ".slice", "slice");
      if (!written[size_t(output.sliceIndex)] ||
          manifest.slices[size_t(output.sliceIndex)].liveLast < last)
        fail(outPath + ".slice", "'" + output.slice +
                                     "' is not written, or not live in the last "
                                     "step " +
                                     std::to_string(last));
    }
  }
  for (size_t i = 0; i < manifest.slices.size(); ++i)
    if (manifest.slices[i].liveLast >= number)
      fail(place("slices", i) + ".live", "goes to step " +
                                             std::to_string(manifest.slices[i].liveLast) +
                                             ", there are " + std::to_string(number));
}

} // namespace detail

} // namespace llmc::rt
