//===- Squareplus.cpp - an op, its verifier and its lowering, out of tree -===//
//
// quill.squareplus: y = (x + sqrt(x^2 + b)) / 2 (Barron, 2021), an activation that llmc
// lacks. The op is of a dialect of its own; the pass quill-to-llm writes it as operations
// of llmc, which fuse like all others.
//
//===----------------------------------------------------------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace llmc;

namespace quill {

/// `"quill.squareplus"(%x) {b = 4.0 : f64} : (tensor<?x96xf32>) -> tensor<?x96xf32>`
class SquareplusOp : public Op<SquareplusOp, OpTrait::ZeroRegions, OpTrait::OneResult,
                               OpTrait::OneTypedResult<RankedTensorType>::Impl,
                               OpTrait::ZeroSuccessors, OpTrait::OneOperand,
                               OpTrait::SameOperandsAndResultType,
                               MemoryEffectOpInterface::Trait> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SquareplusOp)
  using Op::Op;

  static StringRef getOperationName() { return "quill.squareplus"; }
  static ArrayRef<StringRef> getAttributeNames() {
    static StringRef names[] = {"b"};
    return names;
  }
  double getB() { return (*this)->getAttrOfType<FloatAttr>("b").getValueAsDouble(); }
  /// None: equal ones are one, and one that nobody reads leaves.
  void getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &) {}

  LogicalResult verify() {
    auto b = (*this)->getAttrOfType<FloatAttr>("b");
    if (!b || !b.getValue().isFinite() || b.getValueAsDouble() <= 0)
      return emitOpError() << "'b' must be a positive number but is " << (*this)->getAttr("b");
    if (!getType().getElementType().isF32())
      return emitOpError() << "computes on f32, not on " << getType().getElementType();
    return success();
  }
};

class QuillDialect : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(QuillDialect)
  static constexpr StringLiteral getDialectNamespace() { return "quill"; }
  explicit QuillDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<QuillDialect>()) {
    addOperations<SquareplusOp>();
  }
};

struct LowerSquareplus : OpRewritePattern<SquareplusOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SquareplusOp op, PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = op->getOperand(0);
    Value y = llm::BinaryOp::create(rewriter, loc, llm::BinaryFunction::Mul, x, x);
    y = llm::OffsetOp::create(rewriter, loc, y, op.getB());
    y = llm::ActivationOp::create(rewriter, loc, y.getType(), llm::Activation::Sqrt, y);
    y = llm::BinaryOp::create(rewriter, loc, llm::BinaryFunction::Add, x, y);
    rewriter.replaceOpWithNewOp<llm::ScaleOp>(op, y, 0.5);
    remark::passed(loc, remark::RemarkOpts::name("squareplus").category("quill"));
    return success();
  }
};

struct QuillToLLMPass : PassWrapper<QuillToLLMPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(QuillToLLMPass)

  StringRef getArgument() const final { return "quill-to-llm"; }
  StringRef getDescription() const final { return "Write quill operations as those of llmc"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<llm::LLMDialect>();
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerSquareplus>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace quill

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Squareplus", LLVM_VERSION_STRING,
          [](DialectRegistry *registry) { registry->insert<quill::QuillDialect>(); }};
}

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Squareplus", LLVM_VERSION_STRING,
          [] { PassRegistration<quill::QuillToLLMPass>(); }};
}
