//===- PackArenas.cpp - offsets of slices and weights, sizes of arenas ----===//

#include "llmc/Dialect/Plan/Transforms/ArenaPacking.h"
#include "llmc/Dialect/Plan/Transforms/Passes.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace llmc::plan {
#define GEN_PASS_DEF_PACKARENASPASS
#include "llmc/Dialect/Plan/Transforms/Passes.h.inc"

PackResult packSlicesAt(ArrayRef<SliceOp> slices, LimitsAttr limits, int64_t searchNodes) {
  SmallVector<PackItem> items;
  for (SliceOp slice : slices) {
    LiveAttr live = slice.getLiveAttr();
    int64_t size = saturatingAlign(limits.getLargest(slice.getSize()));
    items.push_back({size, live.getFirst(), live.getLast()});
  }
  return packItems(items, searchNodes);
}

namespace {

class PackArenasPass : public impl::PackArenasPassBase<PackArenasPass> {
public:
  using Base::Base;

private:
  void runOnOperation() override {
    for (auto arena : getOperation().getBody().front().getOps<ArenaOp>())
      if (failed(packArena(arena)))
        return signalPassFailure();
  }

  /// Ops of a kind that lie in the arena.
  template <typename OpT>
  SmallVector<OpT> getContents(ArenaOp arena) {
    return llvm::to_vector(llvm::make_filter_range(
        getOperation().getBody().front().getOps<OpT>(),
        [&](OpT op) { return op.getArenaAttr().getAttr() == arena.getSymNameAttr(); }));
  }

  LogicalResult packArena(ArenaOp arena) {
    FailureOr<Size> size = failure();
    switch (arena.getKind()) {
    case ArenaKind::Activations:
    case ArenaKind::Communication:
      size = packSlices(arena);
      break;
    case ArenaKind::Weights:
      size = packWeights(arena);
      break;
    case ArenaKind::State:
      size = sumStates(arena);
      break;
    case ArenaKind::Workspace:
      size = getWorkspace();
      break;
    }
    if (failed(size))
      return failure();
    AffineMap map = size->getMap(&getContext());
    int64_t bytes = getOperation().getLimits().getLargest(map);
    if (bytes > kMostBytes)
      return arena.emitOpError("takes ")
             << bytes << " bytes at the largest step, the most is " << kMostBytes;
    arena.setSize(map);
    return success();
  }

  FailureOr<Size> packSlices(ArenaOp arena) {
    SmallVector<SliceOp> slices = getContents<SliceOp>(arena);
    for (SliceOp slice : slices)
      if (!slice.getLiveAttr())
        return slice.emitOpError("has no 'live': plan-assign-liveness comes before packing");
    PackResult result = packSlicesAt(slices, getOperation().getLimits(), searchNodes);
    for (auto [slice, offset] : llvm::zip_equal(slices, result.offsets))
      slice.setOffset(offset);
    arena.setPackingAttr(
        PackingAttr::get(&getContext(), result.bytes, result.lowerBound, result.optimal));
    report(arena, slices.size(), result);
    return Size::fixed(result.bytes);
  }

  void report(ArenaOp arena, size_t slices, const PackResult &result) {
    auto options = remark::RemarkOpts::name("packing").category("plan-pack-arenas");
    auto fill = [&](remark::detail::InFlightRemark remark) {
      remark << remark::add("{0} slices of {1} packed{2}", slices, arena.getSymName(),
                            result.optimal ? "" : ", perhaps not as tightly as possible")
             << remark::metric("bytes", result.bytes)
             << remark::metric("lowerBound", result.lowerBound);
    };
    if (result.optimal)
      fill(remark::passed(arena.getLoc(), options));
    else
      fill(remark::missed(arena.getLoc(), options));
  }

  FailureOr<Size> packWeights(ArenaOp arena) {
    int64_t end = 0;
    for (WeightsOp weights : getContents<WeightsOp>(arena)) {
      weights.setBase(end);
      weights.setStride(weights.getBytes());
      end = saturatingAlign(weights.getEnd());
    }
    return Size::fixed(end);
  }

  FailureOr<Size> sumStates(ArenaOp arena) {
    Size bytes;
    for (StateOp state : getContents<StateOp>(arena))
      bytes = bytes + state.getMemberSize() * state.getLayers().getNumLayers();
    return bytes;
  }

  FailureOr<Size> getWorkspace() {
    int64_t scratch = 0;
    for (auto kernel : getOperation().getBody().front().getOps<KernelOp>())
      scratch = std::max(scratch, saturatingAlign(kernel.getScratch()));
    return Size::of(SizeSymbol::Threads, scratch);
  }
};

} // namespace
} // namespace llmc::plan
