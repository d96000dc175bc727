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

/// Why the kernel computes the operation not; empty where it does.
static std::string whyNotComputed(Operation *op, const frontend::UserKernel &kernel) {
  std::string reason = whyNoUserKernel(op);
  return reason.empty() ? kernel.whyNot(kernelFacts(op)) : reason;
}

std::string whyIdle(const frontend::UserKernel &kernel, ArrayRef<frontend::UserKernel> kernels,
                    ArrayRef<Operation *> operators) {
  std::string reason;
  for (Operation *op : operators) {
    if (userOperation(op) != kernel.op)
      continue;
    for (const frontend::UserKernel &other : kernels) {
      if (other.op != kernel.op)
        continue;
      std::string why = whyNotComputed(op, other);
      if (other.name == kernel.name && why.empty())
        return "";
      if (reason.empty() && (why.empty() || other.name == kernel.name))
        reason = why.empty() ? "kernel " + other.name + " takes " + kernel.op + " before it" : why;
      if (why.empty() || other.name == kernel.name)
        break;
    }
  }
  return reason.empty() ? "the model has no " + kernel.op : reason;
}

std::string unknownFact(const frontend::UserKernel &kernel, ArrayRef<Operation *> operators,
                        MLIRContext &context) {
  std::vector<std::string> known = kernelFactNames(kernel.op, context);
  frontend::OperatorFacts first;
  for (Operation *op : operators) {
    if (userOperation(op) != kernel.op)
      continue;
    if (first.empty())
      first = kernelFacts(op);
    for (const auto &[fact, value] : isa<CompositeOp>(op) ? kernelFacts(op) : frontend::OperatorFacts())
      if (!llvm::is_contained(known, fact))
        known.push_back(fact);
  }
  // What this model's operation has is more to the point than what some operation may have.
  auto messageOf = [&](const std::string &fact, const std::string &has) {
    return kernel.position + ": kernel '" + kernel.name + "' names '" + fact +
           "', which is no fact of " + kernel.op + frontend::TargetFile::nearTo(fact, known) +
           (first.empty() ? "; its facts are " + llvm::join(known, ", ")
                          : "; this model's has " + has);
  };
  std::vector<std::string> numbers = kernel.facts;
  for (const auto &[fact, bytes] : kernel.scratchPer)
    numbers.push_back(fact);
  for (const std::string &fact : numbers)
    if (!llvm::is_contained(known, fact))
      return messageOf(fact, frontend::numbersIn(first));
  for (const auto &[fact, values] : kernel.only)
    if (!llvm::is_contained(known, fact))
      return messageOf(fact, llvm::join(llvm::make_first_range(first), ", "));
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
    SmallVector<Operation *> candidates;
    getOperation().walk([&](Operation *op) {
      bool isComposite = isa<CompositeOp>(op);
      if (isOperator(op) && isComposite == bool(compositesOnly) &&
          !op->getParentOfType<FusionOp>() && !isInDefinition(op))
        candidates.push_back(op);
    });
    if (problem.empty() && onlyKnown)
      problem = mistakeIn(kernels, candidates);
    if (!problem.empty()) {
      emitError(UnknownLoc::get(&getContext())) << problem;
      return signalPassFailure();
    }
    for (Operation *op : candidates)
      claim(op, kernels);
  }

  static bool isInDefinition(Operation *op) {
    auto function = op->getParentOfType<func::FuncOp>();
    return function && function->hasAttr("llm.implements");
  }

  /// A name that neither the dialect nor the model has serves nothing, which is a mistake, and so
  /// is a fact that no such operation can have. A kernel that fits nothing is a warning.
  std::string mistakeIn(ArrayRef<frontend::UserKernel> kernels,
                        ArrayRef<Operation *> candidates) {
    std::vector<std::string> operations = operatorNames(getContext()), known = operations;
    getOperation().walk([&](CompositeOp op) { known.push_back(op.getName().str()); });
    for (const frontend::UserKernel &kernel : kernels) {
      bool isOperation = llvm::is_contained(operations, kernel.op);
      // Composites are gone in the second run.
      if ((compositesOnly || StringRef(kernel.op).starts_with("llm.")) &&
          !llvm::is_contained(known, kernel.op))
        return kernel.position + ": kernel '" + kernel.name + "' computes '" + kernel.op +
               "', which is neither an operation of llmc nor one that this model calls" +
               frontend::TargetFile::nearTo(kernel.op, known);
      if (isOperation == bool(compositesOnly))
        continue;
      if (std::string problem = unknownFact(kernel, candidates, getContext()); !problem.empty())
        return problem;
      if (std::string reason = whyIdle(kernel, kernels, candidates); !reason.empty())
        emitWarning(UnknownLoc::get(&getContext()))
            << "kernel '" << kernel.name << "' of " << kernel.position
            << " computes nothing of this model: " << reason;
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
      std::string reason = whyNotComputed(op, kernel);
      if (!reason.empty()) {
        remark::missed(op->getLoc(), options())
            << remark::reason("{0}", kernel.name + " does not take " + name + ": " + reason);
        continue;
      }
      remark::passed(op->getLoc(), options())
          << remark::add("{0}", kernel.name + " of " + kernel.position + " computes " + name);
      wrap(op, kernel, kernelFacts(op));
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
