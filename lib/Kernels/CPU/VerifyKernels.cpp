//===- VerifyKernels.cpp - what lowered kernels may hold ------------------===//
#include "llmc/Kernels/CPU/Backend.h"
#include "llmc/Kernels/CPU/UserKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

/// What code generation turns into a call of libm or libc.
bool becomesLibraryCall(Operation *op) {
  static const ::llvm::StringSet<llvm::MallocAllocator> names = {
      "llvm.intr.exp",    "llvm.intr.exp2",  "llvm.intr.exp10",  "llvm.intr.log",
      "llvm.intr.log2",   "llvm.intr.log10", "llvm.intr.sin",    "llvm.intr.cos",
      "llvm.intr.tan",    "llvm.intr.asin",  "llvm.intr.acos",   "llvm.intr.atan",
      "llvm.intr.atan2",  "llvm.intr.sinh",  "llvm.intr.cosh",   "llvm.intr.tanh",
      "llvm.intr.pow",    "llvm.intr.powi",  "llvm.intr.memcpy", "llvm.intr.memmove",
      "llvm.intr.memset", "llvm.intr.ldexp", "llvm.intr.frexp",  "llvm.intr.round",
      "llvm.intr.sincos", "llvm.frem"};
  return names.contains(op->getName().getStringRef());
}

/// What is wrong with an operation of a kernel; empty where nothing is.
StringRef problemOf(Operation *op, const SymbolTable &symbols) {
  if (!isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()))
    return "is not of the llvm dialect";
  if (becomesLibraryCall(op))
    return "would become a library call, which a kernel must not make";
  if (auto call = dyn_cast<LLVM::CallOp>(op)) {
    auto callee = call.getCallee();
    auto target = callee ? symbols.lookup<LLVM::LLVMFuncOp>(*callee) : LLVM::LLVMFuncOp();
    if (!target || (target.isExternal() && !isUserFunction(target)))
      return "calls a function without a body";
  }
  return "";
}

} // namespace

LogicalResult verifyKernels(ModuleOp module) {
  SymbolTable symbols(module);
  bool wrong = false;
  for (Operation &top : *module.getBody()) {
    auto symbol = dyn_cast<SymbolOpInterface>(top);
    std::string where = symbol ? "kernel @" + symbol.getName().str() : "the kernels";
    // One report for each kind of operation: a kernel that was not lowered has thousands.
    llvm::StringSet<> seen;
    top.walk<WalkOrder::PreOrder>([&](Operation *op) {
      StringRef problem = problemOf(op, symbols);
      if (problem.empty())
        return WalkResult::advance();
      wrong = true;
      if (seen.insert(op->getName().getStringRef()).second)
        op->emitOpError("is left in ") << where << ": it " << problem;
      return WalkResult::skip();
    });
  }
  return failure(wrong);
}

} // namespace llmc::kernels
