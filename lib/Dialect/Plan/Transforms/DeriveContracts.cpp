//===- DeriveContracts.cpp - how kernels may be launched ------------------===//

#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Dialect/Plan/Transforms/Passes.h"

using namespace mlir;

namespace llmc::plan {
#define GEN_PASS_DEF_DERIVECONTRACTSPASS
#include "llmc/Dialect/Plan/Transforms/Passes.h.inc"

namespace {

struct Need {
  MemoryKind kind;
  Access access;
  Size bytes;
};

struct Contract {
  ItemsAttr items;
  SmallVector<Need> operands;

  /// Whether the other launch is of the same form; its bytes may differ, but for those of state,
  /// which are exact.
  bool matches(const Contract &other) const {
    return items == other.items && operands.size() == other.operands.size() &&
           llvm::all_of(llvm::zip(operands, other.operands), [](auto pair) {
             auto &[a, b] = pair;
             return a.kind == b.kind && a.access == b.access &&
                    (a.kind != MemoryKind::State || a.bytes == b.bytes);
           });
  }
};

Size smaller(Size a, const Size &b) {
  a.constant = std::min(a.constant, b.constant);
  for (unsigned i = 0; i < kNumSizeSymbols; ++i)
    a.terms[i] = std::min(a.terms[i], b.terms[i]);
  return a;
}

class DeriveContractsPass : public impl::DeriveContractsPassBase<DeriveContractsPass> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    SymbolTable symbols(program);
    llvm::MapVector<Operation *, SmallVector<Contract>> contracts;
    program.walk([&](LaunchOp launch) {
      Contract contract = contractOf(launch, symbols);
      SmallVector<Contract> &known = contracts[symbols.lookup(launch.getKernel())];
      auto *same = llvm::find_if(known, [&](auto &other) { return other.matches(contract); });
      if (same == known.end()) {
        known.push_back(std::move(contract));
        return;
      }
      for (auto [mine, other] : llvm::zip(same->operands, contract.operands))
        mine.bytes = smaller(mine.bytes, other.bytes);
    });
    for (auto kernel : program.getBody().front().getOps<KernelOp>()) {
      auto found = contracts.find(kernel);
      if (found == contracts.end()) {
        kernel.emitOpError("is launched by no step, so nothing says how it may be launched");
        return signalPassFailure();
      }
      SmallVector<Attribute> list;
      for (const Contract &contract : found->second) {
        SmallVector<OperandAttr> operands;
        for (const Need &need : contract.operands)
          operands.push_back(OperandAttr::get(&getContext(), need.kind, need.access,
                                              need.bytes.getMap(&getContext())));
        list.push_back(ContractAttr::get(&getContext(), contract.items, operands));
      }
      kernel.setContractsAttr(ArrayAttr::get(&getContext(), list));
    }
  }

  static Contract contractOf(LaunchOp launch, SymbolTable &symbols) {
    Contract contract{launch.getItems(), {}};
    for (auto use : launch.getUsesAttr().getAsRange<UseAttr>()) {
      Operation *target = symbols.lookup(use.getSymbol().getValue());
      Need need{MemoryKind::Slice, use.getAccess(), {}};
      if (auto slice = dyn_cast<SliceOp>(target)) {
        need.bytes = *Size::fromMap(slice.getSize());
      } else if (auto weights = dyn_cast<WeightsOp>(target)) {
        need.kind = MemoryKind::Weights;
        need.bytes = Size::fixed(weights.getBytes());
      } else {
        need.kind = MemoryKind::State;
        need.bytes = cast<StateOp>(target).getMemberSize();
      }
      contract.operands.push_back(need);
    }
    return contract;
  }
};

} // namespace
} // namespace llmc::plan
