//===- RowFunction.cpp - from the text of a function to loops -------------===//
//
// text -> linalg on tensors -> memrefs, results written where they belong ->
// scf loops. Intermediate rows become parts of the scratch: there is no heap and
// no growing stack in a kernel.
//
//===----------------------------------------------------------------------===//
#include "RowFunction.h"
#include "llmc/Conversion/LLMToLinalg.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

constexpr int64_t alignment = 64;
/// Sums that run side by side: one alone waits for each of its own additions.
constexpr uint64_t sideBySide = 8;

MemRefType memrefOf(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// Counts arguments and results; a message where a type is none of a row function's.
std::string readSignature(RowFunction &row) {
  row.arguments = row.function.getNumArguments();
  row.results = row.function.getNumResults();
  auto isRow = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && tensor.getRank() > 0 && tensor.getShape()[0] == 1 &&
           tensor.getElementType().isF32();
  };
  // The layout `rows` is f32, whatever the checkpoint stores.
  auto isWeight = [](Type type) {
    auto weight = dyn_cast<llm::WeightType>(type);
    auto dense = weight ? dyn_cast<llm::DenseAttr>(weight.getStorage()) : llm::DenseAttr();
    return dense && dense.getElementType().isF32();
  };
  for (auto [i, type] : llvm::enumerate(row.function.getArgumentTypes())) {
    if (isa<llm::BatchType>(type)) {
      if (row.batch >= 0)
        return "the function has two batches";
      row.batch = int(i);
    } else if (!isRow(type) && !isWeight(type)) {
      return "argument " + std::to_string(i) + " is neither a row nor a weight of f32 nor a batch";
    }
  }
  for (auto [i, type] : llvm::enumerate(row.function.getResultTypes()))
    if (!isRow(type))
      return "result " + std::to_string(i) + " is no row of f32";
  return "";
}

/// Arguments and results become memrefs; the body keeps its tensors.
void moveToMemrefs(RowFunction &row) {
  func::FuncOp function = row.function;
  Block &entry = function.getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  Location loc = function.getLoc();
  SmallVector<Type> types;
  for (BlockArgument argument : entry.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    // The batch's entry of one token.
    auto stored = type.hasStaticShape() ? type : type.clone(ArrayRef<int64_t>{1, 2});
    argument.setType(memrefOf(stored));
    types.push_back(argument.getType());
    Value tensor = bufferization::ToTensorOp::create(b, loc, stored, argument, /*restrict=*/true);
    Operation *reads = tensor.getDefiningOp();
    if (stored != type)
      tensor = tensor::CastOp::create(b, loc, type, tensor);
    argument.replaceUsesWithIf(tensor, [&](OpOperand &use) { return use.getOwner() != reads; });
  }
  Operation *end = entry.getTerminator();
  OpBuilder atEnd(end);
  for (Value result : end->getOperands()) {
    types.push_back(memrefOf(cast<RankedTensorType>(result.getType())));
    Value out = entry.addArgument(types.back(), loc);
    bufferization::MaterializeInDestinationOp::create(atEnd, loc, Type(), result, out,
                                                      /*restrict=*/true, /*writable=*/true);
  }
  func::ReturnOp::create(atEnd, loc);
  end->erase();
  function.setType(FunctionType::get(function.getContext(), types, {}));
}

LogicalResult bufferize(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  if (failed(bufferization::eliminateEmptyTensors(rewriter, function)))
    return failure();
  bufferization::OneShotBufferizationOptions options;
  options.bufferAlignment = alignment;
  // memref.copy would be a call of memcpy.
  options.memCpyFn = [](OpBuilder &b, Location loc, Value from, Value to) -> LogicalResult {
    linalg::CopyOp::create(b, loc, from, to);
    return success();
  };
  bufferization::BufferizationState state;
  return bufferization::runOneShotBufferize(function, options, state);
}

/// Takes several results of a sum along at a time. The order within each stays.
LogicalResult jamSums(linalg::LinalgOp op, const linalg::LinalgLoops &loops) {
  unsigned parallel = op.getNumParallelLoops();
  if (op.getNumReductionLoops() == 0 || parallel == 0 ||
      !linalg::isParallelIterator(op.getIteratorTypesArray()[parallel - 1]))
    return success();
  auto loop = cast<scf::ForOp>(loops[parallel - 1]);
  std::optional<llvm::APInt> trips = loop.getStaticTripCount();
  if (!trips)
    return success();
  uint64_t factor = sideBySide;
  while (trips->urem(factor) != 0)
    factor /= 2;
  return factor > 1 ? loopUnrollJamByFactor(loop, factor) : success();
}

LogicalResult makeLoops(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  SmallVector<linalg::LinalgOp> ops;
  function.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    // A result that was computed where it belongs.
    if (auto copy = dyn_cast<linalg::CopyOp>(op.getOperation());
        copy && copy.getInputs().front() == copy.getOutputs().front()) {
      rewriter.eraseOp(op);
      continue;
    }
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::LinalgLoops> loops = linalg::linalgOpToLoops(rewriter, op);
    if (failed(loops) || failed(jamSums(op, *loops)))
      return op->emitOpError("has no loops");
    rewriter.eraseOp(op);
  }
  return success();
}

/// Every allocation becomes a part of the scratch, which is the last argument.
LogicalResult placeAllocations(RowFunction &row) {
  SmallVector<std::pair<memref::AllocOp, int64_t>> allocs;
  bool dynamic = false;
  row.function.walk([&](memref::AllocOp alloc) {
    MemRefType type = alloc.getType();
    if (!type.hasStaticShape() || !type.getLayout().isIdentity()) {
      alloc.emitOpError("is of no fixed size");
      dynamic = true;
      return;
    }
    allocs.push_back({alloc, row.scratch});
    int64_t bytes = type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    row.scratch += int64_t(llvm::alignTo(bytes, alignment));
  });
  if (dynamic)
    return failure();
  if (row.batch >= 0) {
    row.entry = row.scratch;
    row.scratch += alignment;
  }
  MLIRContext *context = row.function.getContext();
  auto scratchType =
      MemRefType::get({std::max(row.scratch, alignment)}, IntegerType::get(context, 8));
  (void)row.function.insertArgument(row.function.getNumArguments(), scratchType,
                                    DictionaryAttr::get(context), row.function.getLoc());
  Value scratch = row.function.getArguments().back();
  for (auto [alloc, offset] : allocs) {
    OpBuilder b(alloc);
    Value at = arith::ConstantIndexOp::create(b, alloc.getLoc(), offset);
    Value part =
        memref::ViewOp::create(b, alloc.getLoc(), alloc.getType(), scratch, at, ValueRange());
    alloc.replaceAllUsesWith(part);
    alloc.erase();
  }
  return success();
}

} // namespace

std::string makeRowFunction(MLIRContext *context, StringRef text, RowFunction &row) {
  std::string message;
  // The first error is the cause.
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty())
      message = diagnostic.str();
    return success();
  });
  auto refused = [&](StringRef step) {
    return (step + (message.empty() ? "" : ": ") + message).str();
  };
  row.module = parseSourceString<ModuleOp>(text, ParserConfig(context));
  if (!row.module)
    return refused("the function cannot be parsed");
  auto functions = llvm::to_vector(row.module->getOps<func::FuncOp>());
  if (functions.size() != 1 || functions.front().isExternal() ||
      !functions.front().getBody().hasOneBlock())
    return "the text is not one function of one block";
  row.function = functions.front();
  if (std::string problem = readSignature(row); !problem.empty())
    return problem;
  if (failed(convertLLMToLinalg(*row.module)))
    return refused("the function has no form in linalg");
  row.function = *row.module->getOps<func::FuncOp>().begin();
  moveToMemrefs(row);
  if (failed(bufferize(row.function)))
    return refused("the function cannot be given memory");
  if (failed(makeLoops(row.function)) || failed(placeAllocations(row)))
    return refused("the function cannot be made loops");
  return "";
}

LogicalResult lowerRowMemory(RowFunction &row) {
  PassManager pm(row.module->getContext());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions plain;
  plain.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(plain));
  pm.addPass(createReconcileUnrealizedCastsPass());
  return pm.run(*row.module);
}

} // namespace llmc::kernels
