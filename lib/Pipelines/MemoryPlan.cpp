//===- MemoryPlan.cpp - what a deployment takes ---------------------------===//
//
// Where the CPU runs the model as it is asked for, every figure is that of its plan, which the
// runtime allocates. Elsewhere weights and state are arithmetic (MemoryShares.cpp), and the plan
// of one device bounds the rest.
//
//===----------------------------------------------------------------------===//
#include "llmc/Pipelines/MemoryPlan.h"

#include "MemoryShares.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Dialect/Plan/Transforms/ArenaPacking.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;

namespace llmc {

using llvm::divideCeil;
using llvm::formatv;
using plan::saturatingAdd;
using plan::saturatingMul;

const char *memoryBasisName(MemoryBasis basis) {
  static constexpr const char *names[] = {"plan", "formula", "bound", "asked"};
  return names[size_t(basis)];
}

int64_t DeviceMemory::total() const {
  int64_t bytes = 0;
  for (const MemoryItem &item : items)
    bytes = saturatingAdd(bytes, item.bytes);
  return bytes;
}

int64_t DeviceMemory::totalOf(const std::string &arena) const {
  int64_t bytes = 0;
  for (const MemoryItem &item : items)
    bytes = saturatingAdd(bytes, item.arena == arena ? item.bytes : 0);
  return bytes;
}

const DeviceMemory &MemoryReport::fullest() const {
  return *llvm::max_element(devices, [](const DeviceMemory &a, const DeviceMemory &b) {
    return a.total() < b.total();
  });
}

namespace {

class Planner {
public:
  Planner(ModuleOp module, const MemoryRequest &given)
      : module(module), request(given), parts(partsOf(module, given)) {}

  MemoryReport run();

private:
  /// The plan of one device for sequences of so many positions, or null.
  plan::ProgramOp programFor(int64_t context);
  /// The same with fewer plans: what `context` changes besides the state grows with it.
  plan::ProgramOp programLike(int64_t context);
  void findLimits();

  std::vector<DeviceMemory> devicesAt(int64_t context, int64_t batch);
  int64_t totalAt(int64_t context, int64_t batch);
  void addPlannedWeights(DeviceMemory &device, plan::ProgramOp program);
  void addPlannedState(DeviceMemory &device, plan::ProgramOp program, int64_t context,
                       int64_t batch);
  void addScratch(DeviceMemory &device, plan::ProgramOp program, int64_t batch, MemoryBasis basis);
  plan::PackResult packAt(plan::ProgramOp program, plan::ArenaKind kind, int64_t tokens,
                          int64_t sequences);

  void addChunks(MemoryReport &report, plan::ProgramOp program);
  void addCurve(MemoryReport &report);
  void addLargest(MemoryReport &report);
  void addNotes(MemoryReport &report, plan::ProgramOp program);

  bool isDivided() const {
    return request.tensor * request.pipeline * request.expert * request.context > 1;
  }
  /// Whether the runtime has a state of that element.
  bool keepsState() const { return request.kvType.empty() || request.kvType == "f32"; }
  /// Whether weights and state lie as the plan says: the cpu has all of the model.
  bool followsPlan(plan::ProgramOp program) const {
    return program && request.runsHere && !isDivided();
  }
  bool isAllocated(plan::ProgramOp program) const {
    return followsPlan(program) && keepsState() && request.otherThanPlanned.empty();
  }
  /// `other` where nothing allocates what the plan says.
  MemoryBasis basisOf(plan::ProgramOp program, MemoryBasis other) const {
    return isAllocated(program) ? MemoryBasis::Plan : other;
  }
  int64_t blocksOf(int64_t context) const {
    return divideCeil(context, request.phase.deployment.blockTokens);
  }
  int64_t sequencesFor(int64_t batch) const {
    return std::max(request.phase.deployment.maxSequences, batch);
  }

  ModuleOp module;
  MemoryRequest request;
  ModelParts parts;
  int64_t contextLimit = 0;
  std::map<int64_t, OwningOpRef<ModuleOp>> plans;
  /// Why there is no plan.
  std::string refusal;
};

} // namespace

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static plan::ProgramOp programIn(ModuleOp module) {
  auto programs = module.getOps<plan::ProgramOp>();
  return programs.empty() ? plan::ProgramOp() : *programs.begin();
}

plan::ProgramOp Planner::programFor(int64_t context) {
  auto [entry, isNew] = plans.try_emplace(context);
  if (isNew && refusal.empty()) {
    OwningOpRef<ModuleOp> copy = module.clone();
    ErrorCollector problems(*module.getContext(), /*printsRemarks=*/false);
    PhaseOptions options = request.phase;
    options.deployment.maxContext = context;
    options.deployment.maxSequences = sequencesFor(request.batch);
    if (runPhases(*copy, Phase::Partition, Phase::Plan, options))
      refusal = problems.errors.empty() ? "planning failed" : problems.errors.front();
    else
      entry->second = std::move(copy);
  }
  return entry->second ? programIn(*entry->second) : plan::ProgramOp();
}

/// What the plan takes without its state.
static int64_t fixedBytes(plan::ProgramOp program) {
  int64_t bytes = 0;
  for (auto arena : program.getBody().front().getOps<plan::ArenaOp>())
    if (arena.getKind() != plan::ArenaKind::State)
      bytes = saturatingAdd(bytes, program.getLimits().getLargest(*arena.getSize()));
  return bytes;
}

plan::ProgramOp Planner::programLike(int64_t context) {
  auto above = plans.lower_bound(context);
  if (above == plans.end() || above->first == context)
    return programFor(context);
  if (above == plans.begin())
    return programFor(context);
  plan::ProgramOp larger = programFor(above->first);
  plan::ProgramOp smaller = programFor(std::prev(above)->first);
  return larger && smaller && fixedBytes(larger) == fixedBytes(smaller) ? larger
                                                                        : programFor(context);
}

void Planner::findLimits() {
  if (auto facts = module->getAttrOfType<DictionaryAttr>("llm.model"))
    if (auto length = facts.getAs<IntegerAttr>("context_length"))
      contextLimit = length.getInt();
  int64_t &context = request.phase.deployment.maxContext;
  if (contextLimit && context > contextLimit)
    throw InputError(formatv("--context={0}: the model was made for {1} positions; give at most "
                             "that many",
                             context, contextLimit)
                         .str());
  if (context == 0)
    context = contextLimit ? std::min<int64_t>(contextLimit, 4096) : 4096;
}

plan::PackResult Planner::packAt(plan::ProgramOp program, plan::ArenaKind kind, int64_t tokens,
                                 int64_t sequences) {
  SmallVector<plan::SliceOp> slices;
  for (auto arena : program.getBody().front().getOps<plan::ArenaOp>())
    if (arena.getKind() == kind)
      for (auto slice : program.getBody().front().getOps<plan::SliceOp>())
        if (slice.getArenaAttr().getAttr() == arena.getSymNameAttr())
          slices.push_back(slice);
  plan::LimitsAttr limits = program.getLimits();
  return plan::packSlicesAt(
      slices, plan::LimitsAttr::get(program.getContext(), tokens, sequences, limits.getMaxContext(),
                                    limits.getBlockTokens(), limits.getBlocks(),
                                    std::min(tokens, request.phase.deployment.maxOutputs),
                                    limits.getRingBlocks()));
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

void Planner::addPlannedWeights(DeviceMemory &device, plan::ProgramOp program) {
  struct Sum {
    int64_t bytes = 0, matrices = 0;
  };
  std::map<std::string, Sum> sums;
  int64_t held = 0, size = 0;
  for (auto weights : program.getBody().front().getOps<plan::WeightsOp>()) {
    StringRef layout = isa<plan::RowsAttr>(weights.getLayout()) ? " rows" : " panels";
    Sum &sum = sums[(plan::stringifyStorage(weights.getStorage()) + layout).str()];
    int64_t bytes = saturatingMul(weights.getBytes(), weights.getNumMembers());
    sum.bytes = saturatingAdd(sum.bytes, bytes);
    sum.matrices += weights.getNumMembers() * int64_t(weights.getMatrices());
    held = saturatingAdd(held, bytes);
  }
  for (auto arena : program.getBody().front().getOps<plan::ArenaOp>())
    if (arena.getKind() == plan::ArenaKind::Weights)
      size = program.getLimits().getLargest(*arena.getSize());
  for (auto &[name, sum] : sums)
    device.items.push_back({"weights", name, sum.bytes, basisOf(program, MemoryBasis::Formula),
                            formatv("{0} packed matrices and vectors", sum.matrices)});
  if (size > held)
    device.items.push_back({"weights", "alignment", size - held,
                            basisOf(program, MemoryBasis::Formula),
                            formatv("to {0} bytes", plan::kAlignment)});
}

void Planner::addPlannedState(DeviceMemory &device, plan::ProgramOp program, int64_t context,
                              int64_t batch) {
  plan::LimitsAttr limits = program.getLimits();
  int64_t size = 0, held = 0, blocks = saturatingMul(blocksOf(context), batch);
  int64_t windowBlocks = limits.getWindowBlocks(batch, blocks);
  for (auto arena : program.getBody().front().getOps<plan::ArenaOp>())
    if (arena.getKind() == plan::ArenaKind::State)
      size = plan::Size::fromMap(*arena.getSize())->evaluate({0, 0, batch, blocks, 0, windowBlocks});
  for (const StatePart &part : parts.states) {
    StateExtent extent;
    extent.layers = int64_t(part.layers.size());
    extent.tokens = blocksOf(context) * request.phase.deployment.blockTokens;
    extent.sequences = batch;
    extent.boundByWindow = false;
    extent.elementBytes = elementBytesOf(request.kvType);
    extent.isRing = part.ringWindow && limits.wantsRing(part.ringWindow) && windowBlocks < blocks;
    if (extent.isRing)
      extent.tokens = *limits.getRingBlocks() * limits.getBlockTokens();
    int64_t bytes = stateBytes(part, extent);
    held = saturatingAdd(held, bytes);
    device.items.push_back({"state", part.name().str(), bytes,
                            basisOf(program, MemoryBasis::Formula), stateFormula(part, extent)});
  }
  if (keepsState() && size != held)
    device.items.push_back({"state", "whole blocks and slots", size - held,
                            basisOf(program, MemoryBasis::Formula),
                            formatv("blocks of {0} positions", request.phase.deployment.blockTokens)});
}

void Planner::addScratch(DeviceMemory &device, plan::ProgramOp program, int64_t batch,
                         MemoryBasis basis) {
  int64_t tokens = request.phase.deployment.maxTokens;
  auto addSlices = [&](const char *name, plan::ArenaKind kind) {
    plan::PackResult packed = packAt(program, kind, tokens, sequencesFor(batch));
    if (packed.offsets.empty())
      return;
    device.items.push_back(
        {name, formatv("{0} slices", packed.offsets.size()), packed.bytes, basis,
         formatv("steps of {0} tokens, {1} outputs, {2} sequences; at least {3}", tokens,
                 std::min(tokens, request.phase.deployment.maxOutputs), sequencesFor(batch),
                 packed.lowerBound)});
  };
  addSlices("activations", plan::ArenaKind::Activations);
  for (auto arena : program.getBody().front().getOps<plan::ArenaOp>()) {
    if (arena.getKind() != plan::ArenaKind::Workspace)
      continue;
    int64_t part = program.getLimits().getLargest(*arena.getSize(), /*threads=*/1);
    // What kernels of another target need nobody knows: nothing bounds it.
    device.items.push_back({"workspace", "scratch of kernels",
                            saturatingMul(part, request.threads),
                            request.runsHere ? basis : MemoryBasis::Formula,
                            formatv("{0} thread{1} x {2} bytes{3}", request.threads,
                                    request.threads == 1 ? "" : "s", part,
                                    request.runsHere ? "" : ", as kernels of the cpu take")});
  }
  if (!isDivided())
    addSlices("communication", plan::ArenaKind::Communication);
}

std::vector<DeviceMemory> Planner::devicesAt(int64_t context, int64_t batch) {
  std::vector<DeviceMemory> devices;
  plan::ProgramOp program = programLike(context);
  for (int64_t stage = 0; stage < request.pipeline; ++stage) {
    auto [first, last] = layersOfStage(parts, request, stage);
    DeviceMemory device;
    device.name = request.pipeline > 1 ? formatv("layers {0} to {1}", first, last - 1).str()
                                       : std::string("all layers");
    device.count = request.tensor * request.expert * request.context;
    if (followsPlan(program))
      addPlannedWeights(device, program);
    else
      llvm::append_range(device.items, weightShares(parts, request, stage));
    if (followsPlan(program))
      addPlannedState(device, program, context, batch);
    else
      llvm::append_range(device.items, stateShares(parts, request, stage, context, batch));
    if (program)
      addScratch(device, program, divideCeil(batch, request.expert),
                 basisOf(program, MemoryBasis::Bound));
    llvm::append_range(device.items, communicationShares(parts, request, stage));
    if (request.headroom)
      device.items.push_back({"headroom", "kept free", request.headroom, MemoryBasis::Asked, ""});
    devices.push_back(std::move(device));
  }
  return devices;
}

int64_t Planner::totalAt(int64_t context, int64_t batch) {
  int64_t most = 0;
  for (const DeviceMemory &device : devicesAt(context, batch))
    most = std::max(most, device.total());
  return most;
}

//===----------------------------------------------------------------------===//
// What depends on the deployment
//===----------------------------------------------------------------------===//

void Planner::addChunks(MemoryReport &report, plan::ProgramOp program) {
  std::vector<int64_t> steps = {request.batch, 16, 64, 256, 512, 2048,
                                request.phase.deployment.maxTokens};
  llvm::sort(steps);
  steps.erase(llvm::unique(steps), steps.end());
  for (int64_t tokens : steps) {
    plan::PackResult packed =
        packAt(program, plan::ArenaKind::Activations, tokens, sequencesFor(request.batch));
    report.chunks.push_back({tokens, std::min(tokens, request.phase.deployment.maxOutputs), packed.bytes,
                             packed.lowerBound, packed.optimal});
  }
}

void Planner::addCurve(MemoryReport &report) {
  int64_t context = request.phase.deployment.maxContext;
  std::vector<int64_t> contexts = {context};
  for (int64_t point = 1024; point < std::max(contextLimit, context) && point <= (1 << 24);
       point *= 4)
    contexts.push_back(point);
  if (contextLimit)
    contexts.push_back(contextLimit);
  llvm::sort(contexts);
  contexts.erase(llvm::unique(contexts), contexts.end());
  for (int64_t point : contexts) {
    std::vector<DeviceMemory> devices = devicesAt(point, request.batch);
    auto fullest = llvm::max_element(devices, [](const DeviceMemory &a, const DeviceMemory &b) {
      return a.total() < b.total();
    });
    report.curve.push_back({point, fullest->totalOf("state"), fullest->total()});
  }
}

/// The largest number from 1 to `most` for which the total is within `memory`; 0: none is.
static int64_t largestWithin(int64_t most, int64_t memory,
                             llvm::function_ref<int64_t(int64_t)> total) {
  int64_t fits = 0, exceeds = most + 1;
  while (exceeds - fits > 1) {
    int64_t middle = fits + (exceeds - fits) / 2;
    (total(middle) <= memory ? fits : exceeds) = middle;
  }
  return fits;
}

void Planner::addLargest(MemoryReport &report) {
  if (!request.memory)
    return;
  int64_t context = request.phase.deployment.maxContext, block = request.phase.deployment.blockTokens;
  int64_t most = contextLimit ? contextLimit : int64_t(1) << 24;
  int64_t blocks = largestWithin(blocksOf(most), *request.memory, [&](int64_t number) {
    return totalAt(std::min(number * block, most), request.batch);
  });
  report.largestContext = std::min(blocks * block, most);
  constexpr int64_t kMostSequences = 4096;
  report.largestBatch = largestWithin(kMostSequences, *request.memory,
                                      [&](int64_t batch) { return totalAt(context, batch); });
}

void Planner::addNotes(MemoryReport &report, plan::ProgramOp program) {
  if (!parts.notCounted.empty())
    report.notes.push_back("not counted: " + parts.notCounted);
  if (!refusal.empty())
    report.notes.push_back("activations and workspace are not planned: " + refusal);
  if (request.kvType == "fp8" || request.kvType == "int8")
    report.notes.push_back("scales of the state are not counted: llmc has no format for them yet");
  if (followsPlan(program)) {
    plan::LimitsAttr limits = program.getLimits();
    // What a ring holds beyond the window is what a step adds, in whole blocks.
    if (limits.getRingBlocks())
      report.notes.push_back(formatv("layers with a window keep {0} blocks of {1} positions for each "
                                     "sequence, for steps of {2} tokens",
                                     *limits.getRingBlocks(), limits.getBlockTokens(),
                                     limits.getMaxTokens()));
    return;
  }
  if (llvm::any_of(parts.states, [](const StatePart &part) { return part.window > 0; }))
    report.notes.push_back("state of layers with a window is counted up to the window");
  for (const WeightPart &part : parts.weights) {
    llm::WeightFamilyOp family = part.family;
    int64_t rows = cast<llm::WeightType>(family.getType()).getShape()[0];
    if (part.split == WeightPart::Split::Vocabulary && rows % request.tensor)
      report.notes.push_back(formatv("the {0} rows of @{1} are padded to {2}", rows,
                                     family.getSymName(),
                                     divideCeil(rows, request.tensor) * request.tensor));
  }
}

MemoryReport Planner::run() {
  findLimits();
  checkDivision(parts, request);
  MemoryReport report;
  int64_t context = request.phase.deployment.maxContext;
  // The ends of what is asked for first: between equal ends nothing but state differs.
  if (contextLimit)
    programFor(std::min<int64_t>(contextLimit, int64_t(1) << 24));
  programFor(std::min<int64_t>(context, 1024));
  plan::ProgramOp program = programFor(context);
  report.devices = devicesAt(context, request.batch);
  if (isAllocated(program))
    report.allocated = report.devices.front().total() - request.headroom;
  else if (!request.runsHere)
    report.whyNotAllocated = "llmc run executes whole models on the cpu alone";
  else if (!program)
    report.whyNotAllocated = refusal;
  else if (isDivided())
    report.whyNotAllocated = "llmc divides no whole models yet";
  else if (keepsState())
    report.whyNotAllocated = request.otherThanPlanned;
  else
    report.whyNotAllocated = "there are no kernels for state of " + request.kvType + " yet";
  if (program)
    addChunks(report, program);
  addCurve(report);
  addLargest(report);
  report.request = request;
  report.contextLimit = contextLimit;
  addNotes(report, program);
  return report;
}

MemoryReport planMemory(ModuleOp module, const MemoryRequest &request) {
  return Planner(module, request).run();
}

} // namespace llmc
