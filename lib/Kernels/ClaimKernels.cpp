//===- ClaimKernels.cpp - operations that the user's kernels compute ------===//
#include "llmc/Dialect/LLM/Analysis/OperatorWork.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/Transforms/Composite.h"
#include "llmc/Frontend/KernelLibrary.h"
#include "llmc/Kernels/Passes.h"
#include "llmc/Kernels/UserKernelClaims.h"
#include "llmc/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;

namespace llmc::kernels {

#define GEN_PASS_DEF_CLAIMKERNELSPASS
#include "llmc/Kernels/Passes.h.inc"

using namespace llm;

std::string userOperation(Operation *op) {
  if (auto composite = dyn_cast<CompositeOp>(op))
    return composite.getName().str();
  return op->getName().getStringRef().str();
}

std::string whyNoUserKernel(Operation *op) {
  if (op->getNumRegions())
    return "it has a region";
  auto isRows = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() >= 2 && tensor.getElementType().isF32();
  };
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    auto weight = dyn_cast<WeightType>(type);
    bool isPlain = weight && isa<DenseAttr>(weight.getStorage()) && weight.getRank() <= 2;
    if (!isRows(type) && !isPlain && !isa<BatchType>(type))
      return "operand " + std::to_string(i + 1) +
             (weight ? " is a weight that is no vector or matrix of floats"
                     : " is neither f32 rows nor a weight");
  }
  if (op->getNumResults() == 0 || !llvm::all_of(op->getResultTypes(), isRows))
    return "its results are not f32 rows";
  if (isa<SelectRowsOp>(op))
    return "it changes the number of rows";
  return "";
}

namespace {

struct ClaimKernels : impl::ClaimKernelsPassBase<ClaimKernels> {
  using ClaimKernelsPassBase::ClaimKernelsPassBase;

  void runOnOperation() override {
    std::vector<frontend::UserKernel> kernels;
    std::string problem;
    try {
      kernels = frontend::readKernelLibraries({libraries.begin(), libraries.end()});
    } catch (const std::exception &error) {
      problem = error.what();
    }
    if (problem.empty() && onlyKnown)
      problem = unknownOperation(kernels);
    if (!problem.empty()) {
      emitError(UnknownLoc::get(&getContext())) << problem;
      return signalPassFailure();
    }
    SmallVector<Operation *> candidates;
    getOperation().walk([&](Operation *op) {
      bool isComposite = isa<CompositeOp>(op);
      if (isOperator(op) && isComposite == bool(compositesOnly) &&
          !op->getParentOfType<FusionOp>() && !isInDefinition(op))
        candidates.push_back(op);
    });
    for (Operation *op : candidates)
      claim(op, kernels);
  }

  static bool isInDefinition(Operation *op) {
    auto function = op->getParentOfType<func::FuncOp>();
    return function && function->hasAttr("llm.implements");
  }

  /// A name that neither the dialect nor the model has serves nothing, which is a mistake.
  std::string unknownOperation(ArrayRef<frontend::UserKernel> kernels) {
    std::vector<std::string> known = operatorNames(getContext());
    getOperation().walk([&](CompositeOp op) { known.push_back(op.getName().str()); });
    for (const frontend::UserKernel &kernel : kernels) {
      // Composites are gone in the second run.
      bool isOp = llvm::is_contained(known, kernel.op);
      if (!isOp && (compositesOnly || StringRef(kernel.op).starts_with("llm.")))
        return kernel.position + ": kernel '" + kernel.name + "' computes '" + kernel.op +
               "', which is neither an operation of llmc nor one that this model calls" +
               frontend::TargetFile::nearTo(kernel.op, known);
    }
    return "";
  }

  void claim(Operation *op, ArrayRef<frontend::UserKernel> kernels) {
    std::string name = userOperation(op);
    auto options = [&] {
      auto function = op->getParentOfType<func::FuncOp>();
      return remark::RemarkOpts::name("user-kernel")
          .category("kernel")
          .function(function ? function.getName() : "");
    };
    for (const frontend::UserKernel &kernel : kernels) {
      if (kernel.op != name)
        continue;
      frontend::OperatorFacts facts = operatorFacts(op);
      std::string reason = whyNoUserKernel(op);
      if (reason.empty())
        reason = kernel.whyNot(facts);
      if (!reason.empty()) {
        remark::missed(op->getLoc(), options())
            << remark::reason("{0}", kernel.name + " does not take " + name + ": " + reason);
        continue;
      }
      remark::passed(op->getLoc(), options())
          << remark::add("{0}", kernel.name + " of " + kernel.position + " computes " + name);
      wrap(op, kernel, facts);
      return;
    }
  }

  void wrap(Operation *op, const frontend::UserKernel &kernel,
            const frontend::OperatorFacts &facts) {
    OpBuilder b(op);
    SmallVector<Value> inputs;
    for (Value operand : op->getOperands())
      if (!llvm::is_contained(inputs, operand))
        inputs.push_back(operand);
    auto fusion = FusionOp::create(b, op->getLoc(), op->getResultTypes(),
                                   b.getStringAttr(userKernelPattern), inputs);
    fusion->setAttr(userKernelAttr, claimAttr(op, inputs, kernel, facts));
    Block *body = b.createBlock(&fusion.getBody());
    IRMapping map;
    for (Value input : inputs)
      map.map(input, body->addArgument(input.getType(), input.getLoc()));
    SmallVector<Value> results;
    if (auto composite = dyn_cast<CompositeOp>(op)) {
      SmallVector<Value> arguments;
      for (Value operand : composite.getInputs())
        arguments.push_back(map.lookup(operand));
      results = cloneDefinition(composite, b, arguments);
    } else {
      Operation *inner = b.clone(*op, map);
      results.append(inner->result_begin(), inner->result_end());
    }
    YieldOp::create(b, op->getLoc(), results);
    op->replaceAllUsesWith(fusion.getResults());
    op->erase();
  }

  /// The kernel, and which input is which operand: an operation may take a value twice.
  DictionaryAttr claimAttr(Operation *op, ArrayRef<Value> inputs,
                           const frontend::UserKernel &kernel,
                           const frontend::OperatorFacts &facts) {
    Builder b(op->getContext());
    SmallVector<int64_t> operands;
    for (Value operand : op->getOperands())
      operands.push_back(llvm::find(inputs, operand) - inputs.begin());
    return b.getDictionaryAttr(
        {b.getNamedAttr("name", b.getStringAttr(kernel.name)),
         b.getNamedAttr("position", b.getStringAttr(kernel.position)),
         b.getNamedAttr("object", b.getStringAttr(kernel.object)),
         b.getNamedAttr("symbol", b.getStringAttr(kernel.symbol)),
         b.getNamedAttr("facts", b.getDenseF64ArrayAttr(kernel.factsOf(facts))),
         b.getNamedAttr("scratch", b.getI64IntegerAttr(kernel.scratchOf(facts))),
         b.getNamedAttr("operands", b.getDenseI64ArrayAttr(operands))});
  }
};

} // namespace
} // namespace llmc::kernels
