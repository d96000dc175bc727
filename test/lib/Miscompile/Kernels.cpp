//===- Kernels.cpp - mistakes of the kernel generators --------------------===//
#include "Miscompile.h"

#include "llmc/Kernels/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace llmc::test {

/// In the kernels of every variant whose name begins so, the first op of that kind for which
/// `change` returns true.
template <typename Op>
static bool changeKernels(ModuleOp module, StringRef name, function_ref<bool(Op)> change) {
  ModuleOp code = kernels::findKernelsModule(module);
  bool any = false;
  if (code)
    for (auto function : code.getOps<LLVM::LLVMFuncOp>())
      if (function.getSymName().starts_with(name))
        any |= function
                   .walk([&](Op op) {
                     return change(op) ? WalkResult::interrupt() : WalkResult::advance();
                   })
                   .wasInterrupted();
  return any;
}

/// A factor that a row was computed with is not the one it is multiplied with.
static bool otherFactor(ModuleOp module) {
  return changeKernels<arith::ConstantOp>(module, "rows_rmsnorm", [](arith::ConstantOp constant) {
    auto number = dyn_cast<FloatAttr>(constant.getValue());
    if (!number || number.getValue().isZero() || number.getValueAsDouble() == 1)
      return false;
    constant.setValueAttr(FloatAttr::get(number.getType(), number.getValueAsDouble() * 1.25));
    return true;
  });
}

/// Rows are taken to lie further apart, by one element.
static bool otherStride(ModuleOp module) {
  return changeKernels<arith::MulIOp>(module, "rows_rmsnorm", [](arith::MulIOp product) {
    auto stride = product.getRhs().getDefiningOp<arith::ConstantOp>();
    auto number = stride ? dyn_cast<IntegerAttr>(stride.getValue()) : IntegerAttr();
    if (!number || number.getInt() < 8)
      return false;
    stride.setValueAttr(IntegerAttr::get(number.getType(), number.getInt() - 4));
    return true;
  });
}

/// A sum starts anew at every term.
static bool dropTerm(ModuleOp module) {
  return changeKernels<LLVM::LLVMFuncOp>(module, "linear", [](LLVM::LLVMFuncOp function) {
    SmallVector<math::FmaOp> sums;
    function.walk([&](math::FmaOp fma) { sums.push_back(fma); });
    for (math::FmaOp fma : sums) {
      OpBuilder b(fma);
      Value product = arith::MulFOp::create(b, fma.getLoc(), fma.getA(), fma.getB());
      fma.replaceAllUsesWith(product);
      fma.erase();
    }
    return !sums.empty();
  });
}

/// What is stored was rounded to f16.
static bool narrowStore(ModuleOp module) {
  return changeKernels<LLVM::StoreOp>(module, "rows_rmsnorm", [](LLVM::StoreOp store) {
    auto type = dyn_cast<VectorType>(store.getValue().getType());
    if (!type || !type.getElementType().isF32())
      return false;
    OpBuilder b(store);
    auto narrow = type.cloneWith(std::nullopt, b.getF16Type());
    Value rounded = arith::TruncFOp::create(b, store.getLoc(), narrow, store.getValue());
    store.getValueMutable().assign(
        arith::ExtFOp::create(b, store.getLoc(), type, rounded).getResult());
    return true;
  });
}

/// A square is rounded before it is summed up.
static bool roundEarly(ModuleOp module) {
  return changeKernels<arith::AddFOp>(module, "rows_rmsnorm", [](arith::AddFOp sum) {
    auto type = dyn_cast<VectorType>(sum.getType());
    if (!type)
      return false;
    OpBuilder b(sum);
    auto narrow = type.cloneWith(std::nullopt, b.getF16Type());
    Value rounded = arith::TruncFOp::create(b, sum.getLoc(), narrow, sum.getLhs());
    sum.getLhsMutable().assign(arith::ExtFOp::create(b, sum.getLoc(), type, rounded).getResult());
    return true;
  });
}

/// The kernel returns before it began.
static bool emptyKernel(ModuleOp module) {
  return changeKernels<LLVM::LLVMFuncOp>(module, "attention", [](LLVM::LLVMFuncOp function) {
    SmallVector<Operation *> all;
    for (Operation &op : function.getBody().front().without_terminator())
      all.push_back(&op);
    for (Operation *op : llvm::reverse(all))
      op->erase();
    return true;
  });
}

/// A loop ends one round early: attention misses the last position.
static bool shortenLoop(ModuleOp module) {
  return changeKernels<scf::ForOp>(module, "attention", [](scf::ForOp loop) {
    // Not the loop over work items, and none of a fixed number of rounds.
    Operation *bound = loop.getUpperBound().getDefiningOp();
    if (!bound || isa<arith::ConstantOp>(bound))
      return false;
    OpBuilder b(loop);
    loop.setUpperBound(
        arith::SubIOp::create(b, loop.getLoc(), loop.getUpperBound(), loop.getStep()));
    return true;
  });
}

/// The first two operands of a launch change places.
static bool exchangeOperands(ModuleOp module) {
  return changeKernels<LLVM::GEPOp>(module, "rows_rmsnorm", [](LLVM::GEPOp first) {
    auto function = first->getParentOfType<LLVM::LLVMFuncOp>();
    SmallVector<LLVM::LoadOp> loads;
    for (auto load : function.getBody().front().getOps<LLVM::LoadOp>())
      loads.push_back(load);
    if (loads.size() < 2)
      return false;
    Value a = loads[0].getAddr(), b = loads[1].getAddr();
    loads[0]->moveAfter(loads[1]);
    loads[0].getAddrMutable().assign(b);
    loads[1].getAddrMutable().assign(a);
    // Uses of the first stand behind both.
    return true;
  });
}

ArrayRef<Miscompilation> kernelMiscompilations() {
  static constexpr llvm::StringLiteral generate("llmc-generate-kernels");
  static const Miscompilation table[] = {
      {"kernel-factor", generate, "a kernel divides by another number", "qwen3", otherFactor},
      {"kernel-stride", generate, "a kernel takes rows to lie closer", "qwen3", otherStride},
      {"kernel-term-dropped", generate, "a product forgets all terms but the last", "qwen3", dropTerm},
      {"kernel-store-narrowed", generate, "a kernel stores what it rounded to f16", "qwen3", narrowStore},
      {"kernel-rounding-moved", generate, "a kernel rounds before it sums up", "qwen3", roundEarly},
      {"kernel-empty", generate, "a kernel does nothing", "qwen3", emptyKernel},
      {"kernel-loop-short", generate, "a loop of attention ends a round early", "qwen3", shortenLoop},
      {"kernel-operands", generate, "a kernel takes one operand for the other", "qwen3", exchangeOperands},
  };
  return table;
}

} // namespace llmc::test
