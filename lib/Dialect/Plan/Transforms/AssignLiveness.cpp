//===- AssignLiveness.cpp - life intervals of slices ----------------------===//

#include "Liveness.h"
#include "llmc/Dialect/Plan/Transforms/Passes.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace llmc::plan {
#define GEN_PASS_DEF_ASSIGNLIVENESSPASS
#include "llmc/Dialect/Plan/Transforms/Passes.h.inc"

namespace {

class AssignLivenessPass : public impl::AssignLivenessPassBase<AssignLivenessPass> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    SliceLiveness liveness(program);
    for (auto slice : llvm::make_early_inc_range(program.getBody().front().getOps<SliceOp>())) {
      if (std::optional<LiveInterval> interval = liveness.getInterval(slice)) {
        slice.setLiveAttr(LiveAttr::get(&getContext(), interval->first, interval->last));
        continue;
      }
      remark::passed(slice.getLoc(),
                     remark::RemarkOpts::name("unused-slice").category("plan-assign-liveness"))
          << remark::add("slice {0} is erased, no step uses it", slice.getSymName());
      slice.erase();
    }
  }
};

} // namespace
} // namespace llmc::plan
