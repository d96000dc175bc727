//===- FoldScales.cpp - an out-of-tree pass on the llm dialect ------------===//
//
// Two llm.scale in a row become one. The dialect does not do this by itself: two
// factors round twice, one rounds once. A plug-in may decide that its user does
// not mind, or, as here by default, fold only where no rounding happens.
//
//===----------------------------------------------------------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Config/llvm-config.h"
#include <cmath>

using namespace mlir;

namespace {
/// Multiplying by a power of two only moves the exponent.
bool isExact(double factor) {
  int exponent;
  return std::abs(std::frexp(factor, &exponent)) == 0.5;
}

struct FoldTwoScales : OpRewritePattern<llmc::llm::ScaleOp> {
  FoldTwoScales(MLIRContext *context, bool inexact) : OpRewritePattern(context), inexact(inexact) {}

  LogicalResult matchAndRewrite(llmc::llm::ScaleOp outer,
                                PatternRewriter &rewriter) const override {
    auto inner = outer.getInput().getDefiningOp<llmc::llm::ScaleOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(outer, "the input is no llm.scale");
    double a = inner.getFactor().convertToDouble(), b = outer.getFactor().convertToDouble();
    if (!inexact && !isExact(a) && !isExact(b))
      return rewriter.notifyMatchFailure(outer, "the product would round once instead of twice");
    remark::passed(outer.getLoc(), remark::RemarkOpts::name("fold-scales").category("example"))
        << remark::metric("factor", a * b);
    rewriter.replaceOpWithNewOp<llmc::llm::ScaleOp>(outer, inner.getInput(), a * b);
    return success();
  }

  bool inexact;
};

struct FoldScalesPass : PassWrapper<FoldScalesPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldScalesPass)

  FoldScalesPass() = default;
  FoldScalesPass(const FoldScalesPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "example-fold-scales"; }
  StringRef getDescription() const final { return "Fold two llm.scale in a row into one"; }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldTwoScales>(&getContext(), inexact);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

  Option<bool> inexact{*this, "inexact",
                       llvm::cl::desc("Fold also where the result rounds differently."),
                       llvm::cl::init(false)};
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FoldScales", LLVM_VERSION_STRING,
          [] { PassRegistration<FoldScalesPass>(); }};
}
