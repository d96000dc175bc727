//===- Manifest.cpp - manifest.json as the runtime reads it ---------------===//
//
// What the reader lets pass is planned as a session does, with arenas that are
// not there: every address and what the kernels' contracts say of the bytes
// behind it must lie inside its arena.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "lib/Runtime/Core/Program.h"
#include "llmc/Runtime/Manifest.h"

using namespace llmc;
using namespace llmc::fuzz;

namespace {

constexpr uintptr_t firstArena = uintptr_t(1) << 30;
constexpr int64_t mostCommands = 20000;

void require(bool holds) {
  if (!holds)
    __builtin_trap();
}

int64_t commandsOf(const rt::Entry &entry) {
  int64_t count = 0;
  for (const rt::Step &step : entry.steps)
    count += step.kind == rt::StepKind::Repeat ? step.repeats * int64_t(step.steps.size()) : 1;
  return count;
}

/// Bytes behind the operand's address that a kernel may use.
int64_t needOf(const rt::Manifest &manifest, const rt::Operand &operand, const rt::Extent &largest) {
  if (operand.kind == rt::OperandKind::Slice)
    return manifest.slices[size_t(operand.index)].size.evaluate(largest).value();
  if (operand.kind == rt::OperandKind::Weights)
    return manifest.weights[size_t(operand.index)].bytes;
  return manifest.states[size_t(operand.index)].memberSize().evaluate(largest).value();
}

int32_t arenaOf(const rt::Manifest &manifest, const rt::Operand &operand) {
  if (operand.kind == rt::OperandKind::Slice)
    return manifest.slices[size_t(operand.index)].arenaIndex;
  if (operand.kind == rt::OperandKind::Weights)
    return manifest.weights[size_t(operand.index)].arenaIndex;
  return manifest.states[size_t(operand.index)].arenaIndex;
}

void plan(const rt::Manifest &manifest, const rt::Extent &largest) {
  rt::checkExtents(manifest, largest);
  const rt::Entry &entry = manifest.entries.front();
  if (commandsOf(entry) > mostCommands)
    return;
  rt::Addresses addresses;
  addresses.largest = largest;
  for (size_t i = 0; i < manifest.arenas.size(); ++i)
    addresses.arenas.push_back(reinterpret_cast<char *>(firstArena));
  llmc_batch batch{};
  rt::Program program(manifest, entry, addresses, {&batch, &batch}, true);
  program.prepare(largest);
  size_t command = 0;
  auto check = [&](const rt::Step &step) {
    const llmc_command &made = program.commands().at(command++);
    if (step.kind != rt::StepKind::Launch)
      return;
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const rt::Operand &operand = step.operands[i];
      int64_t offset =
          int64_t(reinterpret_cast<uintptr_t>(made.args[i + 1]) - firstArena);
      int64_t arena = manifest.arenas[size_t(arenaOf(manifest, operand))]
                          .size.evaluate(largest)
                          .value();
      require(offset >= 0 && offset <= arena &&
              needOf(manifest, operand, largest) <= arena - offset);
    }
  };
  for (const rt::Step &step : entry.steps) {
    if (step.kind != rt::StepKind::Repeat) {
      check(step);
      continue;
    }
    for (int64_t i = 0; i < step.repeats; ++i)
      for (const rt::Step &inner : step.steps)
        check(inner);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text = textOf(data, size);
  reads([&] {
    rt::Manifest manifest = rt::parseManifest(text);
    rt::checkSeal(rt::sealManifest(std::string(text)));
    plan(manifest, manifest.largest(manifest.limits.blocks, 1));
    // Another deployment is refused where its memory does not hold it.
    reads([&] { plan(manifest, manifest.largest(1, 7)); });
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return mutateText(data, size, maxSize, seed, seed % 4 == 0);
}
