//===- Program.cpp - an entry as a list of device commands ----------------===//

#include "Program.h"

namespace llmc::rt {

Program::Program(const Manifest &manifest, const Entry &entry, const Addresses &addresses,
                 const BatchViews &batch, bool withObservations)
    : manifest(manifest), addresses(addresses), batch(batch), withObservations(withObservations) {
  std::vector<int64_t> used(manifest.arenas.size(), 0);
  for (const State &state : manifest.states) {
    int64_t &end = used[size_t(state.arenaIndex)];
    stateBase.push_back(end);
    memberBytes.push_back(state.memberSize().evaluate(addresses.largest).value());
    end += state.layers.count() * memberBytes.back();
  }
  for (const Step &step : entry.steps) {
    if (step.kind != StepKind::Repeat) {
      add(step, 0);
      continue;
    }
    for (int64_t i = 0; i < step.repeats; ++i)
      for (const Step &inner : step.steps)
        add(inner, step.from + i * step.period);
  }
  // The lists do not grow any more, so that addresses into them hold.
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].args = arguments[i].data();
    list[i].arg_count = int64_t(arguments[i].size());
  }
}

void *Program::sliceAddress(int32_t index) const {
  const Slice &slice = manifest.slices[size_t(index)];
  return addresses.arenas[size_t(slice.arenaIndex)] + slice.offset;
}

void *Program::address(const Operand &operand, int64_t base) const {
  int64_t layer = operand.fixed ? *operand.fixed : base + operand.layer.value_or(0);
  switch (operand.kind) {
  case OperandKind::Slice:
    return sliceAddress(operand.index);
  case OperandKind::Weights: {
    const Weight &weight = manifest.weights[size_t(operand.index)];
    int64_t member = weight.layers.empty() ? 0 : weight.layers.member(layer).value();
    return addresses.arenas[size_t(weight.arenaIndex)] + weight.base + member * weight.stride;
  }
  case OperandKind::State: {
    const State &state = manifest.states[size_t(operand.index)];
    int64_t member = state.layers.member(layer).value();
    return addresses.arenas[size_t(state.arenaIndex)] + stateBase[size_t(operand.index)] +
           member * memberBytes[size_t(operand.index)];
  }
  }
  return nullptr;
}

static std::string withLayer(std::string name, int64_t layer) {
  for (auto [mark, number] : {std::pair("{i+1}", layer + 1), std::pair("{i}", layer)}) {
    std::string_view text = mark;
    for (size_t at; (at = name.find(text)) != std::string::npos;)
      name.replace(at, text.size(), std::to_string(number));
  }
  return name;
}

/// A launch's paged states all have a window, or none has.
const llmc_batch *Program::batchFor(const Step &launch) const {
  for (const Operand &operand : launch.operands)
    if (operand.kind == OperandKind::State && manifest.states[size_t(operand.index)].window)
      return batch.window;
  return batch.whole;
}

void Program::add(const Step &step, int64_t base) {
  llmc_command command{};
  std::vector<void *> args;
  std::string label;
  int64_t layer = -1;
  switch (step.kind) {
  case StepKind::Launch:
    command.kind = LLMC_COMMAND_LAUNCH;
    command.kernel = uint32_t(step.kernelIndex);
    args.push_back(const_cast<llmc_batch *>(batchFor(step)));
    for (const Operand &operand : step.operands)
      args.push_back(address(operand, base));
    label = step.kernel;
    break;
  case StepKind::Observe:
    if (!withObservations)
      return;
    command.kind = LLMC_COMMAND_OBSERVE;
    command.width = step.width;
    args.push_back(sliceAddress(step.sliceIndex));
    layer = step.layer ? base + *step.layer : -1;
    label = step.layer ? withLayer(step.name, layer) : step.name;
    break;
  case StepKind::Collective:
    command.kind = LLMC_COMMAND_COLLECTIVE;
    command.group = step.groupIndex;
    args.push_back(sliceAddress(step.sliceIndex));
    label = step.collective;
    break;
  case StepKind::Repeat:
    return;
  }
  command.tag = int32_t(list.size());
  list.push_back(command);
  sources.push_back({&step, layer});
  arguments.push_back(std::move(args));
  labels.push_back(std::move(label));
}

void Program::prepare(const Extent &extent) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Step &step = *sources[i].step;
    // Checked for the largest step, and a smaller one has no larger counts.
    switch (step.kind) {
    case StepKind::Launch: {
      list[i].items = step.items.evaluate(extent).value();
      const std::optional<KernelDevice> &device = manifest.kernels[size_t(step.kernelIndex)].device;
      for (size_t d = 0; device && d < 3; ++d)
        list[i].grid[d] = d < device->grid.size() ? device->grid[d].evaluate(extent).value() : 1;
      break;
    }
    case StepKind::Observe:
      list[i].items = axisValue(step.rows, extent);
      break;
    case StepKind::Collective:
      list[i].items = step.count.evaluate(extent).value();
      break;
    case StepKind::Repeat:
      break;
    }
  }
}

} // namespace llmc::rt
