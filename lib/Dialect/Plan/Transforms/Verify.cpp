//===- Verify.cpp - a plan is complete and its memory sound ---------------===//

#include "Liveness.h"
#include "llmc/Dialect/Plan/Transforms/Passes.h"

using namespace mlir;

namespace llmc::plan {
#define GEN_PASS_DEF_VERIFYPASS
#include "llmc/Dialect/Plan/Transforms/Passes.h.inc"

namespace {

/// Bytes `[begin, end)` of an arena that an op takes.
struct ByteRange {
  int64_t begin;
  int64_t end;
  Operation *op;
};

class Verifier {
public:
  explicit Verifier(ProgramOp program)
      : program(program), limits(program.getLimits()), symbols(program), liveness(program) {}

  LogicalResult run() {
    return failure(failed(verifyArenas()) || failed(verifySteps()) || failed(verifySlices()) ||
                   failed(verifyWeights()) || failed(verifyStates()) || failed(verifyScratch()) ||
                   failed(verifyContracts()) || failed(verifyWindows()));
  }

private:
  template <typename OpT>
  auto getOps() {
    return program.getBody().front().getOps<OpT>();
  }

  template <typename OpT>
  ArenaOp getArena(OpT op) {
    return symbols.lookup<ArenaOp>(op.getArena());
  }

  int64_t getLargest(ArenaOp arena) { return limits.getLargest(*arena.getSize()); }

  LogicalResult verifyArenas() {
    for (auto arena : getOps<ArenaOp>()) {
      if (!arena.getSize())
        return arena.emitOpError("has no size: it is not packed");
      if (int64_t bytes = getLargest(arena); bytes > kMostBytes)
        return arena.emitOpError("takes ")
               << bytes << " bytes at the largest step, the most is " << kMostBytes;
    }
    return success();
  }

  /// Entries do something, and what they read was written; with the verifier of
  /// launches (launch_c6) this is the proof for what is computed in place: the
  /// old value is valid, and everything after means the new one.
  LogicalResult verifySteps() {
    bool any = false;
    for (auto entry : getOps<EntryOp>()) {
      any = true;
      if (entry.getBody().front().getOps<OutputOp>().empty())
        return entry.emitOpError("has no output");
      for (auto repeat : entry.getBody().front().getOps<RepeatOp>())
        if (repeat.getBody().front().empty())
          return repeat.emitOpError("has no step");
    }
    if (!any)
      return program.emitOpError("has no entry");
    for (const UndefinedRead &read : liveness.getUndefinedReads())
      return read.step->emitOpError("reads @")
             << read.slice.getValue() << ", which no step before it writes";
    return success();
  }

  LogicalResult verifySlices() {
    llvm::MapVector<Operation *, SmallVector<ByteRange>> arenas;
    for (auto slice : getOps<SliceOp>()) {
      if (!slice.getLiveAttr() || !slice.getOffset())
        return slice.emitOpError("has no '")
               << (slice.getLiveAttr() ? "offset" : "live") << "': it is not packed";
      if (failed(verifyLive(slice)))
        return failure();
      ArenaOp arena = getArena(slice);
      int64_t end = saturatingAdd(*slice.getOffset(), limits.getLargest(slice.getSize()));
      if (end > getLargest(arena))
        return slice.emitOpError("reaches to byte ") << end << " of @" << arena.getSymName()
                                                     << ", which has " << getLargest(arena);
      arenas[arena].push_back({*slice.getOffset(), end, slice});
    }
    for (auto &[arena, extents] : arenas)
      if (failed(verifyApart(extents, [](Operation *a, Operation *b) {
            return cast<SliceOp>(a).getLiveAttr().overlaps(cast<SliceOp>(b).getLiveAttr());
          })))
        return failure();
    return success();
  }

  /// `live` covers every step that needs the slice, and only steps there are.
  LogicalResult verifyLive(SliceOp slice) {
    LiveAttr live = slice.getLiveAttr();
    if (live.getLast() >= liveness.getNumSteps())
      return slice.emitOpError("is live to step ")
             << live.getLast() << ", there are " << liveness.getNumSteps() << " steps";
    std::optional<LiveInterval> needed = liveness.getInterval(slice);
    if (needed && (needed->first < live.getFirst() || needed->last > live.getLast()))
      return slice.emitOpError("is live from step ")
             << live.getFirst() << " to " << live.getLast() << ", its uses need "
             << needed->first << " to " << needed->last;
    return success();
  }

  /// No two extents that interfere share a byte.
  LogicalResult verifyApart(SmallVector<ByteRange> &extents,
                            llvm::function_ref<bool(Operation *, Operation *)> interfere) {
    llvm::sort(extents, [](const ByteRange &a, const ByteRange &b) {
      return a.begin != b.begin ? a.begin < b.begin : a.op->isBeforeInBlock(b.op);
    });
    for (size_t i = 0; i < extents.size(); ++i)
      for (size_t j = i + 1; j < extents.size() && extents[j].begin < extents[i].end; ++j) {
        const ByteRange &a = extents[i], &b = extents[j];
        if (!interfere(a.op, b.op))
          continue;
        InFlightDiagnostic diagnostic = b.op->emitOpError("takes bytes ")
                                        << b.begin << " to " << b.end
                                        << ", which overlap bytes " << a.begin << " to " << a.end
                                        << " of @" << SymbolTable::getSymbolName(a.op).getValue();
        diagnostic.attachNote(a.op->getLoc()) << "the other is here";
        return diagnostic;
      }
    return success();
  }

  LogicalResult verifyWeights() {
    llvm::MapVector<Operation *, SmallVector<ByteRange>> arenas;
    for (auto weights : getOps<WeightsOp>()) {
      if (!weights.getBase() || !weights.getStride())
        return weights.emitOpError("has no base and stride: it is not packed");
      ArenaOp arena = getArena(weights);
      if (weights.getEnd() > getLargest(arena))
        return weights.emitOpError("reaches to byte ")
               << weights.getEnd() << " of @" << arena.getSymName() << ", which has "
               << getLargest(arena);
      for (int64_t i = 0, e = weights.getNumMembers(); i < e; ++i) {
        int64_t begin = *weights.getBase() + i * *weights.getStride();
        arenas[arena].push_back({begin, begin + weights.getBytes(), weights});
      }
    }
    for (auto &[arena, extents] : arenas)
      if (failed(verifyApart(extents, [](Operation *, Operation *) { return true; })))
        return failure();
    return success();
  }

  LogicalResult verifyStates() {
    llvm::DenseMap<Operation *, int64_t> ends;
    for (auto state : getOps<StateOp>()) {
      ArenaOp arena = getArena(state);
      Size members = state.getMemberSize() * state.getLayers().getNumLayers();
      int64_t &end = ends[arena];
      end = saturatingAdd(end, limits.getLargest(members.getMap(program.getContext())));
      if (end > getLargest(arena))
        return state.emitOpError("reaches to byte ")
               << end << " of @" << arena.getSymName() << ", which has " << getLargest(arena)
               << " for " << limits.getBlocks() << " blocks and " << limits.getMaxSequences()
               << " sequences";
    }
    return success();
  }

  /// Whoever reads a state with a window sees no more of it: positions farther back are written
  /// over. What a kernel sees is among its parameters; one without any is from a manifest.
  LogicalResult verifyWindows() {
    WalkResult result = program.walk([&](LaunchOp launch) -> WalkResult {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      auto config = kernel->getAttrOfType<DictionaryAttr>("plan.config");
      if (!config)
        return WalkResult::advance();
      int64_t seen = 0;
      for (StringRef name : {"window", "chunk"})
        if (auto number = config.getAs<IntegerAttr>(name); number && number.getInt() > 0)
          seen = seen ? std::min(seen, number.getInt()) : number.getInt();
      for (auto use : launch.getUsesAttr().getAsRange<UseAttr>()) {
        auto state = symbols.lookup<StateOp>(use.getSymbol().getValue());
        if (state && state.getWindow() && use.getAccess() == Access::Read &&
            (!seen || seen > int64_t(*state.getWindow())))
          return launch.emitOpError("reads @")
                 << state.getSymName() << " by @" << kernel.getSymName() << ", which sees "
                 << (seen ? std::to_string(seen) : "all") << " positions; the window of the state is "
                 << int64_t(*state.getWindow());
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// The part of one thread holds the scratch of every CPU kernel.
  LogicalResult verifyScratch() {
    int64_t part = 0;
    for (auto arena : getOps<ArenaOp>())
      if (arena.getKind() == ArenaKind::Workspace)
        part = getLargest(arena) / kAlignment * kAlignment;
    for (auto kernel : getOps<KernelOp>())
      if (kernel.getScratch() > part)
        return kernel.emitOpError("needs ")
               << kernel.getScratch() << " bytes of scratch, the workspace has " << part
               << " a thread";
    return success();
  }

  /// What keeps kernels inside their memory: each launch is one that its kernel was made for.
  LogicalResult verifyContracts() {
    for (auto kernel : getOps<KernelOp>()) {
      if (!kernel.getContracts())
        return kernel.emitOpError("has no contracts: run plan-derive-contracts");
      int64_t vocabulary = program.getModel().getVocabSize(), context = limits.getMaxContext();
      if (kernel.getTokensBelow() && vocabulary > int64_t(*kernel.getTokensBelow()))
        return kernel.emitOpError("takes token ids below ")
               << *kernel.getTokensBelow() << ", the vocabulary has " << vocabulary;
      if (kernel.getPositionsBelow() && context > int64_t(*kernel.getPositionsBelow()))
        return kernel.emitOpError("takes positions below ")
               << *kernel.getPositionsBelow() << ", sequences go to max_context " << context;
    }
    WalkResult result = program.walk([&](LaunchOp launch) -> WalkResult {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      if (llvm::any_of(kernel.getContracts()->getAsRange<ContractAttr>(),
                       [&](ContractAttr contract) { return meets(launch, contract); }))
        return WalkResult::advance();
      return launch.emitOpError("meets no contract of @") << launch.getKernel();
    });
    return failure(result.wasInterrupted());
  }

  bool meets(LaunchOp launch, ContractAttr contract) {
    ArrayRef<OperandAttr> operands = contract.getOperands();
    if (launch.getItems() != contract.getItems() || launch.getUsesAttr().size() != operands.size())
      return false;
    return llvm::all_of(
        llvm::zip(launch.getUsesAttr().getAsRange<UseAttr>(), operands), [&](auto pair) {
          auto [use, operand] = pair;
          Operation *target = symbols.lookup(use.getSymbol().getValue());
          int64_t needed = limits.getLargest(operand.getBytes());
          bool fits = false;
          if (auto slice = dyn_cast<SliceOp>(target))
            fits = operand.getKind() == MemoryKind::Slice &&
                   limits.getLargest(slice.getSize()) >= needed;
          else if (auto weights = dyn_cast<WeightsOp>(target))
            fits = operand.getKind() == MemoryKind::Weights && weights.getBytes() >= needed;
          else if (auto state = dyn_cast<StateOp>(target))
            fits = operand.getKind() == MemoryKind::State &&
                   *Size::fromMap(operand.getBytes()) == state.getMemberSize();
          return fits && use.getAccess() == operand.getAccess();
        });
  }

  ProgramOp program;
  LimitsAttr limits;
  SymbolTable symbols;
  SliceLiveness liveness;
};

class VerifyPass : public impl::VerifyPassBase<VerifyPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(Verifier(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace llmc::plan
