//===- SimplifyElements.cpp - views, parts of rows and arithmetic ---------===//
#include "Simplifier.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmc::llm;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static StringRef nameOf(Operation *op) { return op->getName().getStringRef(); }

namespace {

//===----------------------------------------------------------------------===//
// identity
//===----------------------------------------------------------------------===//

/// An operation whose folder gives back a value that is there.
template <typename Op>
struct DropIdentity : OpRewritePattern<Op> {
  DropIdentity(MLIRContext *context, Simplifier &simplifier)
      : OpRewritePattern<Op>(context), simplifier(simplifier) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    constexpr StringRef name = "identity";
    SmallVector<OpFoldResult> results;
    if (failed(op->fold(ArrayRef<Attribute>(), results)) || results.size() != 1)
      return failure();
    auto value = dyn_cast<Value>(results.front());
    if (!value || !simplifier.permits(name, op))
      return failure();
    // Adding 0 makes a positive zero of a negative one; adding -0 does nothing.
    if constexpr (std::is_same_v<Op, OffsetOp>)
      if (!APFloat(op.getTerm()).isNegative())
        return simplifier.missed(name, op, "signed-zero",
                                 "adding 0 makes a positive zero of a negative one");
    simplifier.passed(name, op, nameOf(op) + " changes nothing");
    rewriter.replaceOp(op, value);
    return success();
  }

  Simplifier &simplifier;
};

//===----------------------------------------------------------------------===//
// nested-clamp
//===----------------------------------------------------------------------===//

/// min(max(min(max(x, a), b), c), d) is min(max(x, max(a, c)), min(b, d)) where the two ranges
/// meet; with both bounds of the outer one beyond the inner range it is one number.
struct MergeClamps : OpRewritePattern<ClampOp> {
  MergeClamps(MLIRContext *context, Simplifier &simplifier)
      : OpRewritePattern(context), simplifier(simplifier) {}

  LogicalResult matchAndRewrite(ClampOp op, PatternRewriter &rewriter) const override {
    constexpr StringRef name = "nested-clamp";
    auto inner = op.getInput().getDefiningOp<ClampOp>();
    if (!inner || !simplifier.permits(name, op))
      return failure();
    auto bound = [](std::optional<APFloat> value) -> std::optional<float> {
      if (!value)
        return std::nullopt;
      return static_cast<float>(value->convertToDouble());
    };
    std::optional<float> low = bound(op.getLow()), high = bound(op.getHigh());
    std::optional<float> innerLow = bound(inner.getLow()), innerHigh = bound(inner.getHigh());
    if ((innerHigh && low && *innerHigh < *low) || (innerLow && high && *innerLow > *high))
      return simplifier.missed(name, op, "ranges-meet", "the two ranges have nothing in common");
    // A bound of 0 gives one zero or the other, whichever the kernel's comparison keeps.
    for (std::optional<float> one : {low, high, innerLow, innerHigh})
      if (one == 0.0f)
        return simplifier.missed(name, op, "signed-zero",
                                 "a bound is 0, and which zero results depends on the order");
    if (innerLow && (!low || *low < *innerLow))
      low = innerLow;
    if (innerHigh && (!high || *high > *innerHigh))
      high = innerHigh;
    auto attribute = [&](std::optional<float> value) {
      return value ? rewriter.getF64FloatAttr(double(*value)) : FloatAttr();
    };
    simplifier.passed(name, op, "two clamps are one");
    rewriter.replaceOpWithNewOp<ClampOp>(op, op.getType(), inner.getInput(), attribute(low),
                                         attribute(high));
    return success();
  }

  Simplifier &simplifier;
};

//===----------------------------------------------------------------------===//
// flat-transpose
//===----------------------------------------------------------------------===//

struct ViewFlatTranspose : OpRewritePattern<TransposeOp> {
  ViewFlatTranspose(MLIRContext *context, Simplifier &simplifier)
      : OpRewritePattern(context), simplifier(simplifier) {}

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    constexpr StringRef name = "flat-transpose";
    ArrayRef<int64_t> shape = shapeOf(op.getInput());
    if (shape[1] != 1 && shape[2] != 1)
      return failure();
    if (!simplifier.permits(name, op))
      return failure();
    simplifier.passed(name, op,
                      llvm::formatv("{0} heads of {1} lie in memory as {1} heads of {0} do",
                                    shape[1], shape[2]));
    Value flat = MergeHeadsOp::create(rewriter, op.getLoc(), op.getInput());
    rewriter.replaceOpWithNewOp<SplitHeadsOp>(op, flat, shape[2]);
    return success();
  }

  Simplifier &simplifier;
};

//===----------------------------------------------------------------------===//
// slice-of-concat, slice-through-elements
//===----------------------------------------------------------------------===//

/// A part of a concat that is part of one of its inputs.
struct Part {
  Value input;
  int64_t from;
};

static std::optional<Part> partOf(ConcatOp concat, int64_t from, int64_t size) {
  for (Value input : concat.getInputs()) {
    int64_t width = shapeOf(input).back();
    if (from < width)
      return from + size <= width ? std::optional(Part{input, from}) : std::nullopt;
    from -= width;
  }
  return std::nullopt;
}

struct SliceConcat : OpRewritePattern<SliceOp> {
  SliceConcat(MLIRContext *context, Simplifier &simplifier)
      : OpRewritePattern(context), simplifier(simplifier) {}

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    constexpr StringRef name = "slice-of-concat";
    auto concat = op.getInput().getDefiningOp<ConcatOp>();
    if (!concat || !simplifier.permits(name, op))
      return failure();
    int64_t from = int64_t(op.getFrom()), size = int64_t(op.getSize());
    std::optional<Part> part = partOf(concat, from, size);
    if (!part)
      return simplifier.missed(name, op, "one-input", "the part lies in several inputs",
                               {{"from", from}, {"size", size}});
    simplifier.passed(name, op, "the part is of one input");
    if (part->from == 0 && part->input.getType() == op.getType())
      rewriter.replaceOp(op, part->input);
    else
      rewriter.replaceOpWithNewOp<SliceOp>(op, part->input, part->from, size);
    return success();
  }

  Simplifier &simplifier;
};

/// Whether each element of the result is made of the operands' elements at the same place alone.
static bool isElementwise(Operation *op) {
  return isa<BinaryOp, ResidualAddOp, ScaleOp, OffsetOp, ClampOp, SoftcapOp, ActivationOp, GateOp>(
             op) &&
         llvm::all_of(op->getOperandTypes(), [&](Type type) {
           return type == op->getResult(0).getType();
         });
}

/// f(concat(a, b), w) of which only parts are read, each of one input of the concat: f(a, part
/// of w) and f(b, part of w), and no concat.
struct SliceElements : RewritePattern {
  SliceElements(MLIRContext *context, Simplifier &simplifier)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context), simplifier(simplifier) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    constexpr StringRef name = "slice-through-elements";
    if (op->getNumResults() != 1 || op->use_empty() || !isElementwise(op))
      return failure();
    SmallVector<ConcatOp> concats;
    for (Value operand : op->getOperands())
      if (auto concat = operand.getDefiningOp<ConcatOp>())
        concats.push_back(concat);
    bool isCut = llvm::any_of(op->getUsers(), [](Operation *user) { return isa<SliceOp>(user); });
    if (concats.empty() || !isCut || !simplifier.permits(name, op))
      return failure();

    int64_t width = shapeOf(op->getResult(0)).back(), read = 0;
    SmallVector<SliceOp> slices;
    for (Operation *user : op->getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice)
        return simplifier.missed(name, op, "only-parts-read", nameOf(user) + " reads all of it");
      int64_t from = int64_t(slice.getFrom()), size = int64_t(slice.getSize());
      for (ConcatOp concat : concats)
        if (!partOf(concat, from, size))
          return simplifier.missed(name, op, "one-input", "a part lies in several inputs",
                                   {{"from", from}, {"size", size}});
      slices.push_back(slice);
      read += size;
    }
    if (read > width)
      return simplifier.missed(name, op, "cost", "the parts are more than the whole",
                               {{"parts", read}, {"whole", width}});
    for (ConcatOp concat : concats)
      for (Operation *user : concat->getUsers())
        if (user != op)
          return simplifier.missed(name, op, "single-use",
                                   nameOf(user) + " needs the concat anyway");
    simplifier.passed(name, op, nameOf(op) + " is computed by parts",
                      {{"parts", int64_t(slices.size())}});
    for (SliceOp slice : slices)
      cut(op, slice, rewriter);
    rewriter.eraseOp(op);
    return success();
  }

  static void cut(Operation *op, SliceOp slice, PatternRewriter &rewriter) {
    rewriter.setInsertionPoint(op);
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, SliceOp::create(rewriter, op->getLoc(), operand,
                                           int64_t(slice.getFrom()), int64_t(slice.getSize())));
    Operation *part = rewriter.clone(*op, mapping);
    rewriter.modifyOpInPlace(part, [&] { part->getResult(0).setType(slice.getType()); });
    rewriter.replaceOp(slice, part->getResult(0));
  }

  Simplifier &simplifier;
};

} // namespace

void llmc::llm::addElementSimplifications(RewritePatternSet &patterns, Simplifier &simplifier) {
  MLIRContext *context = patterns.getContext();
  patterns.add<DropIdentity<ScaleOp>, DropIdentity<OffsetOp>, DropIdentity<SliceOp>,
               DropIdentity<ConcatOp>, DropIdentity<TransposeOp>, DropIdentity<SplitHeadsOp>,
               DropIdentity<MergeHeadsOp>, MergeClamps, ViewFlatTranspose,
               SliceConcat, SliceElements>(context, simplifier);
}
