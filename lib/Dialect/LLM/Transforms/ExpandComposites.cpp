//===- ExpandComposites.cpp - composites become their definitions ---------===//
#include "llmc/Dialect/LLM/Transforms/Composite.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace llmc::llm {
#define GEN_PASS_DEF_EXPANDCOMPOSITESPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

SmallVector<Value> llmc::llm::cloneDefinition(CompositeOp composite, OpBuilder &builder,
                                              ValueRange inputs) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      composite, composite.getDecompositionAttr());
  Block &body = function.getBody().front();
  IRMapping map;
  map.map(body.getArguments(), inputs);
  // An op of the definition has the composite's name, at its own line in the library.
  auto name = dyn_cast<NameLoc>(composite.getLoc());
  for (Operation &op : body.without_terminator())
    builder.clone(op, map)->walk([&](Operation *inner) {
      inner->setLoc(name ? Location(NameLoc::get(name.getName(), inner->getLoc()))
                         : Location(CallSiteLoc::get(inner->getLoc(), composite.getLoc())));
    });
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(map.lookup(value));
  return results;
}

namespace {
struct ExpandCompositesPass : llmc::llm::impl::ExpandCompositesPassBase<ExpandCompositesPass> {
  void runOnOperation() override {
    // A definition may hold composites of its own: those of each round are replaced until there
    // are none. The verifier has made sure that none leads to itself.
    llvm::SetVector<std::pair<StringAttr, Attribute>> reported;
    while (true) {
      SmallVector<CompositeOp> composites;
      getOperation().walk([&](CompositeOp composite) {
        auto function = composite->getParentOfType<func::FuncOp>();
        if (!function || !function->hasAttr("llm.implements"))
          composites.push_back(composite);
      });
      if (composites.empty())
        break;
      for (CompositeOp composite : composites) {
        if (reported.insert({composite.getNameAttr(), composite.getDecompositionAttr()}))
          remark::passed(composite.getLoc(),
                         remark::RemarkOpts::name("composite").category("composite"))
              << remark::metric("op", composite.getName()) << remark::metric("by", "its definition");
        OpBuilder builder(composite);
        composite.replaceAllUsesWith(cloneDefinition(composite, builder, composite.getInputs()));
        composite.erase();
      }
    }
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (function->hasAttr("llm.implements"))
        function.erase();
  }
};
} // namespace
