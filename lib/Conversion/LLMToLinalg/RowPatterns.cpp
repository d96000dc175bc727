//===- RowPatterns.cpp - norms, stream arithmetic, products ---------------===//
#include "LinalgBuilder.h"

#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace llmc {

using namespace llm;

namespace {

RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// f32, of the type's shape without its last dimension.
RankedTensorType statisticType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape().drop_back(), Float32Type::get(type.getContext()));
}

/// sqrt(sum / width + epsilon) for every row.
Value rootOf(LinalgBuilder &linalg, Value x, Value squares, int64_t width, double epsilon) {
  RankedTensorType type = tensorType(squares);
  unsigned rank = unsigned(type.getRank());
  return linalg.map(x, type, {{squares, linalg.all(rank)}}, [&](ScalarBuilder &s, ValueRange in) {
    return s.sqrt(s.add(s.div(in[0], s.constant(double(width))), s.constant(epsilon)));
  });
}

struct RMSNormPattern : OpConversionPattern<RMSNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(RMSNormOp op, OpAdaptor in,
                                ConversionPatternRewriter &rewriter) const override {
    LinalgBuilder linalg(rewriter, op.getLoc());
    Value x = in.getInput();
    RankedTensorType type = tensorType(x);
    unsigned rank = unsigned(type.getRank());
    Value squares =
        linalg.sum(x, statisticType(type), rank, {{x, linalg.all(rank)}},
                   [](ScalarBuilder &s, ValueRange v) { return s.fma(v[0], v[0], v[1]); });
    Value root =
        rootOf(linalg, x, squares, type.getShape().back(), op.getEpsilon().convertToDouble());
    double offset = op.getOffset().convertToDouble();
    SmallVector<LinalgBuilder::Operand> operands{{x, linalg.all(rank)},
                                                 {root, linalg.leading(rank)}};
    if (in.getScale())
      operands.push_back({in.getScale(), linalg.last(rank)});
    rewriter.replaceOp(op, linalg.map(x, type, operands, [&](ScalarBuilder &s, ValueRange v) {
      Value y = s.div(v[0], v[1]);
      if (v.size() < 3)
        return y;
      return s.mul(y, offset != 0 ? s.add(v[2], s.constant(offset)) : v[2]);
    }));
    return success();
  }
};

struct LayerNormPattern : OpConversionPattern<LayerNormOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LayerNormOp op, OpAdaptor in,
                                ConversionPatternRewriter &rewriter) const override {
    LinalgBuilder linalg(rewriter, op.getLoc());
    Value x = in.getInput();
    RankedTensorType type = tensorType(x), statistic = statisticType(type);
    unsigned rank = unsigned(type.getRank());
    int64_t width = type.getShape().back();
    Value total = linalg.sum(x, statistic, rank, {{x, linalg.all(rank)}},
                             [](ScalarBuilder &s, ValueRange v) { return s.add(v[1], v[0]); });
    Value mean = linalg.map(
        x, statistic, {{total, linalg.all(rank - 1)}},
        [&](ScalarBuilder &s, ValueRange v) { return s.div(v[0], s.constant(double(width))); });
    LinalgBuilder::Operand row{x, linalg.all(rank)}, middle{mean, linalg.leading(rank)};
    Value squares =
        linalg.sum(x, statistic, rank, {row, middle}, [](ScalarBuilder &s, ValueRange v) {
          Value d = s.sub(v[0], v[1]);
          return s.fma(d, d, v[2]);
        });
    Value root = rootOf(linalg, x, squares, width, op.getEpsilon().convertToDouble());
    SmallVector<LinalgBuilder::Operand> operands{
        row, middle, {root, linalg.leading(rank)}};
    if (in.getScale())
      operands.push_back({in.getScale(), linalg.last(rank)});
    if (in.getBias())
      operands.push_back({in.getBias(), linalg.last(rank)});
    rewriter.replaceOp(op, linalg.map(x, type, operands, [](ScalarBuilder &s, ValueRange v) {
      Value y = s.div(s.sub(v[0], v[1]), v[2]);
      if (v.size() > 3)
        y = s.mul(y, v[3]);
      return v.size() > 4 ? s.add(y, v[4]) : y;
    }));
    return success();
  }
};

/// One element from one element of each operand.
template <typename Op>
struct ElementwisePattern : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;

  static Value compute(ResidualAddOp, ScalarBuilder &s, ValueRange v) { return s.add(v[0], v[1]); }
  static Value compute(ScaleOp op, ScalarBuilder &s, ValueRange v) {
    return s.mul(v[0], s.constant(op.getFactor().convertToDouble()));
  }
  static Value compute(SoftcapOp op, ScalarBuilder &s, ValueRange v) {
    Value cap = s.constant(op.getCap().convertToDouble());
    return s.mul(cap, math::TanhOp::create(s.b, s.loc, s.div(v[0], cap)));
  }
  static Value compute(ActivationOp op, ScalarBuilder &s, ValueRange v) {
    return s.activation(op.getFunction(), v[0]);
  }
  static Value compute(GateOp op, ScalarBuilder &s, ValueRange v) {
    return s.mul(s.activation(op.getFunction(), v[0]), v[1]);
  }

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor in,
                                ConversionPatternRewriter &rewriter) const override {
    LinalgBuilder linalg(rewriter, op.getLoc());
    RankedTensorType type = tensorType(op.getResult());
    SmallVector<LinalgBuilder::Operand> operands;
    for (Value operand : in.getOperands())
      operands.push_back({operand, linalg.all(unsigned(type.getRank()))});
    rewriter.replaceOp(
        op, linalg.map(operands.front().value, type, operands,
                       [&](ScalarBuilder &s, ValueRange v) { return compute(op, s, v); }));
    return success();
  }
};

/// `y[t, n] = sum_k x[t, k] * w[n, k]`, then the bias.
Value product(LinalgBuilder &linalg, Value x, Value weight, Value bias, RankedTensorType type) {
  auto f32 = Float32Type::get(type.getContext());
  AffineMap all = linalg.all(3);
  Value sums =
      linalg.sum(x, type.clone(f32), 3, {{x, all.dropResult(1)}, {weight, all.dropResult(0)}},
                 [](ScalarBuilder &s, ValueRange v) { return s.fma(v[0], v[1], v[2]); });
  if (!bias && type.getElementType() == f32)
    return sums;
  SmallVector<LinalgBuilder::Operand> operands{{sums, linalg.all(2)}};
  if (bias)
    operands.push_back({bias, linalg.last(2)});
  return linalg.map(x, type, operands, [](ScalarBuilder &s, ValueRange v) {
    return v.size() > 1 ? s.add(v[0], v[1]) : v[0];
  });
}

struct LinearPattern : OpConversionPattern<LinearOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LinearOp op, OpAdaptor in,
                                ConversionPatternRewriter &rewriter) const override {
    LinalgBuilder linalg(rewriter, op.getLoc());
    rewriter.replaceOp(op, product(linalg, in.getInput(), in.getWeight(), in.getBias(),
                                   tensorType(op.getResult())));
    return success();
  }
};

struct OutputHeadPattern : OpConversionPattern<OutputHeadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(OutputHeadOp op, OpAdaptor in,
                                ConversionPatternRewriter &rewriter) const override {
    LinalgBuilder linalg(rewriter, op.getLoc());
    rewriter.replaceOp(
        op, product(linalg, in.getInput(), in.getWeight(), Value(), tensorType(op.getResult())));
    return success();
  }
};

} // namespace

void populateRowPatterns(const TypeConverter &types, RewritePatternSet &patterns) {
  patterns.add<RMSNormPattern, LayerNormPattern, ElementwisePattern<ResidualAddOp>,
               ElementwisePattern<ScaleOp>, ElementwisePattern<SoftcapOp>, ElementwisePattern<ActivationOp>,
               ElementwisePattern<GateOp>, LinearPattern, OutputHeadPattern>(types,
                                                                             patterns.getContext());
}

} // namespace llmc
