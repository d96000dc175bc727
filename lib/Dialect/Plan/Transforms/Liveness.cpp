//===- Liveness.cpp - when each slice is live -----------------------------===//

#include "Liveness.h"

using namespace mlir;
using namespace llmc::plan;

SliceLiveness::SliceLiveness(ProgramOp program) {
  Block &body = program.getBody().front();
  llvm::DenseSet<StringAttr> communication;
  for (auto arena : body.getOps<ArenaOp>())
    if (arena.getKind() == ArenaKind::Communication)
      communication.insert(arena.getSymNameAttr());
  for (auto slice : body.getOps<SliceOp>()) {
    slices.insert(slice.getSymNameAttr());
    if (communication.contains(slice.getArenaAttr().getAttr()))
      received.insert(slice.getSymNameAttr());
  }
  for (auto entry : body.getOps<EntryOp>())
    visitEntry(entry);
}

std::optional<LiveInterval> SliceLiveness::getInterval(SliceOp slice) const {
  auto it = intervals.find(slice.getSymNameAttr());
  if (it == intervals.end())
    return std::nullopt;
  return it->second;
}

void SliceLiveness::visitEntry(EntryOp entry) {
  // No slice outlives a run of its entry.
  written.clear();
  entryStart = numSteps;
  for (Operation &op : entry.getBody().front()) {
    if (auto step = dyn_cast<StepOpInterface>(op)) {
      visitStep(step, std::nullopt);
    } else if (auto repeat = dyn_cast<RepeatOp>(op)) {
      Block &body = repeat.getBody().front();
      LiveInterval loop{numSteps, numSteps + static_cast<int64_t>(body.getOperations().size()) - 1};
      touchedInLoop.clear();
      for (auto step : body.getOps<StepOpInterface>())
        visitStep(step, loop);
    } else if (auto output = dyn_cast<OutputOp>(op)) {
      // Outputs follow all steps (entry_c2) and are read when the last is done.
      StringAttr slice = output.getSliceAttr().getAttr();
      if (!written.contains(slice))
        undefinedReads.push_back({output, slice});
      if (numSteps > 0)
        extend(slice, numSteps - 1, numSteps - 1);
    }
  }
}

void SliceLiveness::visitStep(StepOpInterface step, std::optional<LiveInterval> loop) {
  SmallVector<UseAttr> uses;
  step.getUses(uses);
  for (UseAttr use : uses) {
    StringAttr slice = use.getSymbol().getAttr();
    if (!slices.contains(slice))
      continue;
    extend(slice, numSteps, numSteps);
    if (use.reads() && !written.contains(slice)) {
      if (received.contains(slice))
        extend(slice, entryStart, numSteps);
      else
        undefinedReads.push_back({step, slice});
    }
    // Read before written in the body: the value comes from before the repeat
    // or from the iteration before, and nothing in the body may overwrite it.
    // Where the body writes first, every iteration starts afresh.
    if (loop && use.reads() && !touchedInLoop.contains(slice))
      extend(slice, loop->first, loop->last);
  }
  // Only now: a launch reads before it writes, in whatever order its uses are.
  for (UseAttr use : uses) {
    StringAttr slice = use.getSymbol().getAttr();
    touchedInLoop.insert(slice);
    if (use.writes())
      written.insert(slice);
  }
  ++numSteps;
}

void SliceLiveness::extend(StringAttr slice, int64_t first, int64_t last) {
  auto [it, isNew] = intervals.try_emplace(slice, LiveInterval{first, last});
  if (isNew)
    return;
  it->second.first = std::min(it->second.first, first);
  it->second.last = std::max(it->second.last, last);
}
