//===- CheckProgram.cpp - what the plan cannot hold -----------------------===//
#include "CheckProgram.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/IR/LayerLimit.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace llmc {

using namespace llm;

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

/// Rows of floats, as many as the step has.
static bool areRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() >= 2 && tensor.isDynamicDim(0) &&
         isa<FloatType>(tensor.getElementType());
}

static bool areTokens(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 1 && tensor.isDynamicDim(0) &&
         tensor.getElementType().isInteger(32);
}

static LogicalResult checkEntry(func::FuncOp entry) {
  if (!entry.getBody().hasOneBlock())
    return entry.emitError("@") << entry.getSymName() << " is the entry and needs a body of one "
                                << "block; it has " << entry.getBody().getBlocks().size();
  bool hasTokens = false, hasBatch = false;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    bool &seen = areTokens(type) ? hasTokens : hasBatch;
    if (areRows(type))
      continue;
    if (!areTokens(type) && !isa<BatchType>(type))
      return entry.emitError("argument ")
             << i << " of the entry has type " << type
             << "; a step gives tokens (tensor<?xi32>), !llm.batch or rows of floats";
    if (seen)
      return entry.emitError("argument ")
             << i << " of the entry is a second " << type << "; a step gives one";
    seen = true;
  }
  if (entry.getNumResults() == 0)
    return entry.emitError("@") << entry.getSymName() << " is the entry and returns nothing";
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
    if (!areRows(type))
      return entry.emitError("result ") << i << " of the entry has type " << type
                                        << "; only rows of floats can be returned";
  return success();
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Every kernel on activations computes in f32; a narrower type would say that results are
/// rounded, and they would not be.
static LogicalResult checkTypes(Operation *op, TypeRange types) {
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && isa<FloatType>(tensor.getElementType()) && !tensor.getElementType().isF32())
      return op->emitError("has a value of type ")
             << tensor << ": no kernel rounds activations to " << tensor.getElementType()
             << "; use f32";
  }
  return success();
}

/// A result of a fusion is the result of one of its operations, and of one only.
static LogicalResult checkFusion(FusionOp fusion) {
  llvm::SmallDenseSet<Value> yielded;
  for (auto [i, value] :
       llvm::enumerate(fusion.getBody().front().getTerminator()->getOperands())) {
    if (isa<BlockArgument>(value))
      return fusion.emitError("result ")
             << i << " of the fusion is its argument "
             << cast<BlockArgument>(value).getArgNumber()
             << ", which no operation computes; use the input instead";
    if (!yielded.insert(value).second)
      return fusion.emitError("result ") << i << " of the fusion is another result once more";
  }
  return success();
}

static LogicalResult checkBody(func::FuncOp function) {
  if (function.isExternal())
    return success();
  if (!function.getBody().hasOneBlock())
    return function.emitError("@")
           << function.getSymName() << " needs a body of one block; it has "
           << function.getBody().getBlocks().size();
  if (failed(checkTypes(function, function.getArgumentTypes())))
    return failure();
  WalkResult result = function.walk([](Operation *op) -> WalkResult {
    if (failed(checkTypes(op, op->getResultTypes())))
      return failure();
    if (auto fusion = dyn_cast<FusionOp>(op))
      return checkFusion(fusion);
    return success();
  });
  return failure(result.wasInterrupted());
}

LogicalResult checkProgram(func::FuncOp entry) {
  if (failed(checkEntry(entry)))
    return failure();
  auto module = entry->getParentOfType<ModuleOp>();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(checkBody(function)))
      return failure();
  for (auto family : module.getOps<StateFamilyOp>()) {
    // As llm-verify-model says, which need not have run: layers are listed from here on.
    if (LayersAttr layers = family.getLayersAttr(); layers.getBounds().back() > maxLayers)
      return family.emitOpError("has a member for layer ")
             << layers.getBounds().back() - 1 << "; no model has more than " << maxLayers
             << " layers";
    auto type = cast<CacheType>(family.getType());
    if (!type.getElementType().isF32())
      return family.emitOpError("is state of ")
             << type.getElementType() << ": kernels keep state as f32";
  }
  return success();
}

} // namespace llmc
