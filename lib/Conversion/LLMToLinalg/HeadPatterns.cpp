//===- HeadPatterns.cpp - views of heads, rotary --------------------------===//
#include "LinalgBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace llmc {

using namespace llm;

namespace {

SmallVector<ReassociationIndices> headGroups() { return {{0}, {1, 2}}; }

struct SplitHeadsPattern : OpConversionPattern<SplitHeadsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SplitHeadsOp op, OpAdaptor in,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(op, op.getResult().getType(), in.getInput(),
                                                       headGroups());
    return success();
  }
};

struct MergeHeadsPattern : OpConversionPattern<MergeHeadsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MergeHeadsOp op, OpAdaptor in,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getResult().getType(),
                                                         in.getInput(), headGroups());
    return success();
  }
};

/// Cosines and sines of all pairs once for each token, then the turn of every head.
struct RotaryPattern : OpConversionPattern<RotaryOp> {
  using OpConversionPattern::OpConversionPattern;

  /// Where channel `d` finds its pair and its partner.
  struct Pairing {
    Value pair, partner, isFirst, turns;
  };
  static Pairing pairing(OpBuilder &b, Location loc, RopeAttr rope, int64_t start, Value channel) {
    auto c = [&](int64_t value) {
      return arith::ConstantIndexOp::create(b, loc, value).getResult();
    };
    auto below = [&](Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y);
    };
    auto select = [&](Value cond, Value x, Value y) -> Value {
      return arith::SelectOp::create(b, loc, cond, x, y);
    };
    Pairing p;
    // Channels before the first are far beyond the width, for numbers have no sign.
    Value d = start ? arith::SubIOp::create(b, loc, channel, c(start)).getResult() : channel;
    p.turns = below(d, c(rope.getWidth()));
    Value up, down;
    if (rope.getPairing() == RopePairing::Halves) {
      Value half = c(rope.getWidth() / 2);
      p.isFirst = below(d, half);
      up = arith::AddIOp::create(b, loc, d, half);
      down = arith::SubIOp::create(b, loc, d, half);
      p.pair = select(p.isFirst, d, down);
    } else {
      Value one = c(1);
      Value odd = arith::AndIOp::create(b, loc, d, one);
      p.isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, odd, c(0));
      up = arith::AddIOp::create(b, loc, d, one);
      down = arith::SubIOp::create(b, loc, d, one);
      p.pair = arith::ShRUIOp::create(b, loc, d, one);
    }
    // Channels that pass read in bounds, and what they read is not used.
    p.pair = select(p.turns, p.pair, c(0));
    p.partner = select(p.isFirst, up, down);
    if (start)
      p.partner = arith::AddIOp::create(b, loc, p.partner, c(start));
    p.partner = select(p.turns, p.partner, channel);
    return p;
  }

  LogicalResult matchAndRewrite(RotaryOp op, OpAdaptor in,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    LinalgBuilder linalg(rewriter, loc);
    RopeAttr rope = op.getRope();
    Value x = in.getInput();
    auto type = cast<RankedTensorType>(x.getType());
    auto f32 = rewriter.getF32Type();
    int64_t pairs = rope.getWidth() / 2;
    auto tableType = RankedTensorType::get({type.getShape()[0], pairs}, f32);
    auto constants = [&](DenseF32ArrayAttr values) -> Value {
      auto valuesType = RankedTensorType::get({pairs}, f32);
      return arith::ConstantOp::create(rewriter, loc,
                                       DenseElementsAttr::get(valuesType, values.asArrayRef()));
    };
    // Of a token's entry in the batch.
    auto entry = [&](int64_t column) {
      return AffineMap::get(2, 0, {rewriter.getAffineDimExpr(0),
                                   rewriter.getAffineConstantExpr(column)},
                            rewriter.getContext());
    };
    SmallVector<LinalgBuilder::Operand> operands{
        {in.getBatch(), entry(0)}, {constants(rope.getFrequencies()), linalg.last(2)}};
    if (rope.hasLong()) {
      operands.push_back({constants(rope.getLongFrequencies()), linalg.last(2)});
      operands.push_back({in.getBatch(), entry(1)});
    }
    auto table = [&](auto function) {
      return linalg.map(x, tableType, operands,
                        [&](ScalarBuilder &s, ValueRange v) {
                          Value frequency = v[1];
                          if (rope.hasLong()) {
                            Value beyond = arith::ConstantIntOp::create(
                                s.b, s.loc, std::min<int64_t>(rope.getBeyond(), INT32_MAX), 32);
                            Value isLong = arith::CmpIOp::create(
                                s.b, s.loc, arith::CmpIPredicate::sgt, v[3], beyond);
                            frequency =
                                arith::SelectOp::create(s.b, s.loc, isLong, v[2], frequency);
                          }
                          Value position = arith::SIToFPOp::create(s.b, s.loc, f32, v[0]);
                          Value turned = function(s, s.mul(position, frequency));
                          return rope.getMagnitude() == 1
                                     ? turned
                                     : s.mul(turned, s.constant(rope.getMagnitude()));
                        });
    };
    Value cosines = table([](ScalarBuilder &s, Value angle) -> Value {
      return math::CosOp::create(s.b, s.loc, angle);
    });
    Value sines = table([](ScalarBuilder &s, Value angle) -> Value {
      return math::SinOp::create(s.b, s.loc, angle);
    });
    rewriter.replaceOp(
        op, linalg.map(x, type, {{x, linalg.all(3)}}, [&](ScalarBuilder &s, ValueRange v) {
          auto index = [&](int64_t loop) -> Value {
            return linalg::IndexOp::create(s.b, s.loc, loop);
          };
          auto element = [&](Value tensor, ValueRange at) -> Value {
            return s.widen(tensor::ExtractOp::create(s.b, s.loc, tensor, at));
          };
          Value t = index(0), d = index(2);
          Pairing p = pairing(s.b, s.loc, rope, op.getFirst(), d);
          Value cosine = element(cosines, {t, p.pair}), sine = element(sines, {t, p.pair});
          Value partner = element(x, {t, index(1), p.partner});
          Value sign = arith::SelectOp::create(s.b, s.loc, p.isFirst, s.neg(sine), sine);
          Value turned = s.add(s.mul(v[0], cosine), s.mul(partner, sign));
          return arith::SelectOp::create(s.b, s.loc, p.turns, turned, v[0]).getResult();
        }));
    return success();
  }
};

} // namespace

void populateHeadPatterns(const TypeConverter &types, RewritePatternSet &patterns) {
  patterns.add<SplitHeadsPattern, MergeHeadsPattern, RotaryPattern>(types, patterns.getContext());
}

} // namespace llmc
