//===- SimplifyScales.cpp - constant factors into scales that are there ---===//
#include "Simplifier.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace llmc::llm;

static StringRef nameOf(Operation *op) { return op->getName().getStringRef(); }

/// "0.3", as the dialect prints it.
static std::string textOf(float factor) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", double(factor));
  return text;
}

/// Why results can differ from before by rounding; every factor but 1 has a reason.
static std::pair<StringRef, std::string> whyInexact(float factor, StringRef reader) {
  int exponent = 0;
  if (std::frexp(std::fabs(factor), &exponent) != 0.5f)
    return {"power-of-two",
            llvm::formatv("times {0}, which is no power of two, {1} rounds otherwise", textOf(factor),
                          reader)};
  return {"normal-range",
          llvm::formatv("times {0}, values below 2^-126 round otherwise and nothing says that "
                        "there are none",
                        textOf(factor))};
}

namespace {

/// A product with a constant that only `Op` reads, as an operand to which its result is
/// proportional, or by whose order alone it goes.
template <typename Op>
struct FoldScale : OpRewritePattern<ScaleOp> {
  FoldScale(MLIRContext *context, Simplifier &simplifier)
      : OpRewritePattern(context), simplifier(simplifier) {}

  LogicalResult matchAndRewrite(ScaleOp scale, PatternRewriter &rewriter) const override {
    constexpr StringRef name = "folded-scale";
    Value value = scale.getResult();
    // Heads are a view of rows.
    while (value.hasOneUse() && isa<SplitHeadsOp, MergeHeadsOp>(*value.getUsers().begin()))
      value = value.getUsers().begin()->getResult(0);
    auto reader = value.hasOneUse() ? dyn_cast<Op>(*value.getUsers().begin()) : Op();
    if (!reader || !takes(reader, value))
      return failure();
    if (!simplifier.permits(name, scale))
      return failure();
    auto factor = static_cast<float>(scale.getFactor().convertToDouble());
    if (!(factor > 0))
      return simplifier.missed(name, scale, "positive",
                               "the factor is " + textOf(factor));
    if (!simplifier.foldScales) {
      auto [predicate, reason] = whyInexact(factor, nameOf(reader));
      return simplifier.missed(name, scale, predicate, reason + " (--fold-scales)");
    }
    simplifier.passed(name, scale, "times " + textOf(factor) + " is left to " + nameOf(reader));
    ++simplifier.foldedScales;
    rewriter.modifyOpInPlace(reader, [&] { give(reader, factor); });
    rewriter.replaceOp(scale, scale.getInput());
    return success();
  }

  static bool takes(Op reader, Value value) {
    if constexpr (std::is_same_v<Op, LinearAttentionOp> || std::is_same_v<Op, PagedAttentionOp>)
      return reader.getQuery() == value;
    else
      return reader.getWeights() == value;
  }

  static void give(Op reader, float factor) {
    if constexpr (std::is_same_v<Op, LinearAttentionOp> || std::is_same_v<Op, PagedAttentionOp>) {
      double scale = reader.getScale().convertToDouble() * double(factor);
      reader.setScaleAttr(FloatAttr::get(Float64Type::get(reader.getContext()), scale));
    }
  }

  Simplifier &simplifier;
};

} // namespace

void llmc::llm::addScaleSimplifications(RewritePatternSet &patterns, Simplifier &simplifier) {
  patterns.add<FoldScale<LinearAttentionOp>, FoldScale<PagedAttentionOp>,
               FoldScale<SelectPositionsOp>, FoldScale<SelectEntriesOp>>(patterns.getContext(),
                                                                         simplifier);
}
