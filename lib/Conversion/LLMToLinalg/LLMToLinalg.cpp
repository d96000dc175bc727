//===- LLMToLinalg.cpp - the conversion and its pass ----------------------===//
#include "llmc/Conversion/LLMToLinalg.h"
#include "LinalgBuilder.h"
#include "llmc/Conversion/Passes.h"

#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"

using namespace mlir;

namespace llmc {

#define GEN_PASS_DEF_CONVERTLLMTOLINALGPASS
#include "llmc/Conversion/Passes.h.inc"

using namespace llm;

void addLLMToLinalgTypes(TypeConverter &types) {
  types.addConversion([](Type type) { return type; });
  types.addConversion([](WeightType weight) -> std::optional<Type> {
    auto dense = dyn_cast<DenseAttr>(weight.getStorage());
    if (!dense)
      return std::nullopt;
    return RankedTensorType::get(weight.getShape(), dense.getElementType());
  });
  types.addConversion([](BatchType batch) -> Type {
    // For each token its position and its sequence's extent.
    return RankedTensorType::get({ShapedType::kDynamic, 2},
                                 IntegerType::get(batch.getContext(), 32));
  });
  auto bridge = [](OpBuilder &b, Type type, ValueRange inputs, Location loc) -> Value {
    return UnrealizedConversionCastOp::create(b, loc, type, inputs).getResult(0);
  };
  types.addSourceMaterialization(bridge);
  types.addTargetMaterialization(bridge);
}

void populateLLMToLinalgPatterns(const TypeConverter &types, RewritePatternSet &patterns) {
  populateRowPatterns(types, patterns);
  populateHeadPatterns(types, patterns);
}

std::string whyNotLinalg(Operation *op) {
  if (isa<FusionOp>(op))
    return "has no form in linalg, its body may; run llm-inline-fusions first";
  if (!isa<RMSNormOp, LayerNormOp, ResidualAddOp, ScaleOp, SoftcapOp, ActivationOp, GateOp, LinearOp,
           OutputHeadOp, SplitHeadsOp, MergeHeadsOp, RotaryOp>(op))
    return "has no form in linalg";
  for (Value operand : op->getOperands())
    if (auto weight = dyn_cast<WeightType>(operand.getType());
        weight && !isa<DenseAttr>(weight.getStorage()))
      return "has no form in linalg: a weight is stored as " + weight.getStorageName() +
             ", expected f32, f16 or bf16";
  return "";
}

LogicalResult convertLLMToLinalg(Operation *root) {
  bool refused = false;
  root->walk([&](Operation *op) {
    if (!isa_and_nonnull<LLMDialect>(op->getDialect()) || isa<YieldOp>(op))
      return;
    if (std::string reason = whyNotLinalg(op); !reason.empty()) {
      op->emitOpError(reason);
      refused = true;
    }
  });
  if (refused)
    return failure();

  MLIRContext *context = root->getContext();
  TypeConverter types;
  addLLMToLinalgTypes(types);
  ConversionTarget target(*context);
  target.addIllegalDialect<LLMDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addDynamicallyLegalOp<func::FuncOp>(
      [&](func::FuncOp function) { return types.isSignatureLegal(function.getFunctionType()); });
  target.addDynamicallyLegalOp<func::ReturnOp, func::CallOp>(
      [&](Operation *op) { return types.isLegal(op); });
  RewritePatternSet patterns(context);
  populateLLMToLinalgPatterns(types, patterns);
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, types);
  populateCallOpTypeConversionPattern(patterns, types);
  populateReturnOpTypeConversionPattern(patterns, types);
  return applyPartialConversion(root, target, std::move(patterns));
}

void registerLLMToLinalgInterfaces(DialectRegistry &registry) {
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerInferTypeOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
}

void registerConversionExtensions(DialectRegistry &registry) {
  registerLLMToLinalgInterfaces(registry);
}

namespace {
struct ConvertLLMToLinalg : impl::ConvertLLMToLinalgPassBase<ConvertLLMToLinalg> {
  void runOnOperation() override {
    if (failed(convertLLMToLinalg(getOperation())))
      signalPassFailure();
  }
};
} // namespace

} // namespace llmc
