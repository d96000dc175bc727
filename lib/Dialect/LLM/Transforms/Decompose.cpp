//===- Decompose.cpp - operations made of simpler ones --------------------===//
#include "llmc/Dialect/LLM/Transforms/Decompose.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/Transforms/Composite.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace llmc::llm {

#define GEN_PASS_DEF_DECOMPOSEPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"

namespace {

/// Writes formulas at one place of a program.
class Formula {
public:
  Formula(RewriterBase &rewriter, Operation *op) : b(rewriter), loc(op->getLoc()) {}

  Value binary(BinaryFunction function, Value x, Value y) {
    return BinaryOp::create(b, loc, function, x, y);
  }
  Value mul(Value x, Value y) { return binary(BinaryFunction::Mul, x, y); }
  Value scaled(Value x, double by) { return ScaleOp::create(b, loc, x, by); }
  Value shifted(Value x, double by) { return by == 0 ? x : Value(OffsetOp::create(b, loc, x, by)); }
  Value activated(Activation function, Value x) {
    return ActivationOp::create(b, loc, x.getType(), function, x);
  }
  Value statistic(RowStatistic statistic, Value x) {
    return RowStatOp::create(b, loc, statistic, x);
  }
  Value atLeastZero(Value x) {
    return ClampOp::create(b, loc, x.getType(), x, b.getF64FloatAttr(0), FloatAttr());
  }
  Value heads(Value x, int64_t count) { return SplitHeadsOp::create(b, loc, x, count); }

  /// x / sqrt(mean(x * x) + epsilon)
  Value normalised(Value x, double epsilon) {
    Value mean = statistic(RowStatistic::Mean, mul(x, x));
    return binary(BinaryFunction::Div, x, activated(Activation::Sqrt, shifted(mean, epsilon)));
  }
  Value activation(Activation function, Value x) {
    switch (function) {
    case Activation::Silu:
      return mul(x, activated(Activation::Sigmoid, x));
    case Activation::GeluQuick:
      return mul(x, activated(Activation::Sigmoid, scaled(x, 1.702)));
    case Activation::Relu:
      return atLeastZero(x);
    case Activation::ReluSquared: {
      Value positive = atLeastZero(x);
      return mul(positive, positive);
    }
    case Activation::GeluTanh: {
      constexpr double rootTwoOverPi = 0.79788456080286535588;
      Value cubed = mul(mul(x, x), x);
      Value inner = scaled(binary(BinaryFunction::Add, x, scaled(cubed, 0.044715)), rootTwoOverPi);
      return mul(scaled(x, 0.5), shifted(activated(Activation::Tanh, inner), 1));
    }
    default:
      return {};
    }
  }

private:
  RewriterBase &b;
  Location loc;
};

/// The batch of the function, which a weight as rows takes.
Value batchOf(Operation *op) {
  for (Value argument : op->getParentOfType<func::FuncOp>().getArguments())
    if (isa<BatchType>(argument.getType()))
      return argument;
  return {};
}

double number(const APFloat &value) { return value.convertToDouble(); }

} // namespace

LogicalResult decompose(Operation *op, RewriterBase &rewriter) {
  rewriter.setInsertionPoint(op);
  if (auto composite = dyn_cast<CompositeOp>(op)) {
    rewriter.replaceOp(op, cloneDefinition(composite, rewriter, composite.getInputs()));
    return success();
  }
  Formula f(rewriter, op);
  Location loc = op->getLoc();
  Value result = TypeSwitch<Operation *, Value>(op)
      .Case([&](GateOp gate) {
        return f.mul(f.activated(gate.getFunction(), gate.getGate()), gate.getUp());
      })
      .Case([&](ActivationOp act) { return f.activation(act.getFunction(), act.getInput()); })
      .Case([&](SoftcapOp bound) {
        double cap = number(bound.getCap());
        Value inner = f.scaled(bound.getInput(), 1 / cap);
        return f.scaled(f.activated(Activation::Tanh, inner), cap);
      })
      .Case([&](ResidualAddOp add) {
        return f.binary(BinaryFunction::Add, add.getStream(), add.getDelta());
      })
      .Case([&](OutputHeadOp head) {
        return Value(LinearOp::create(rewriter, loc, head.getInput(), head.getWeight()));
      })
      .Case([&](SoftmaxOp softmax) {
        Value x = softmax.getInput();
        Value shifted = f.binary(BinaryFunction::Sub, x, f.statistic(RowStatistic::Max, x));
        Value powers = f.activated(Activation::Exp, shifted);
        return f.binary(BinaryFunction::Div, powers, f.statistic(RowStatistic::Sum, powers));
      })
      .Case([&](RowStatOp statistic) -> Value {
        if (statistic.getStatistic() != RowStatistic::Deviation)
          return {};
        Value x = statistic.getInput();
        Value d = f.binary(BinaryFunction::Sub, x, f.statistic(RowStatistic::Mean, x));
        return f.activated(Activation::Sqrt, f.statistic(RowStatistic::Mean, f.mul(d, d)));
      })
      .Case([&](RMSNormOp norm) -> Value {
        // The scale of a head would need its row once a head.
        if (norm.getScale() && cast<RankedTensorType>(norm.getType()).getRank() != 2)
          return {};
        Value y = f.normalised(norm.getInput(), number(norm.getEpsilon()));
        if (!norm.getScale())
          return y;
        Value scale = WeightRowsOp::create(rewriter, loc, norm.getScale(), batchOf(op));
        return f.mul(y, f.shifted(scale, number(norm.getOffset())));
      })
      .Case([&](LayerNormOp norm) -> Value {
        if ((norm.getScale() || norm.getBias()) &&
            cast<RankedTensorType>(norm.getType()).getRank() != 2)
          return {};
        Value x = norm.getInput();
        Value centred = f.binary(BinaryFunction::Sub, x, f.statistic(RowStatistic::Mean, x));
        Value y = f.normalised(centred, number(norm.getEpsilon()));
        if (norm.getScale())
          y = f.mul(y, WeightRowsOp::create(rewriter, loc, norm.getScale(), batchOf(op)));
        if (norm.getBias())
          y = f.binary(BinaryFunction::Add, y,
                       WeightRowsOp::create(rewriter, loc, norm.getBias(), batchOf(op)));
        return y;
      })
      .Case([&](ExpertSumOp sum) -> Value {
        if (!sum.getWeights())
          return {};
        Value weights = f.heads(sum.getWeights(), 1);
        Value mixed = MixOp::create(rewriter, loc, weights, sum.getInput());
        return Value(MergeHeadsOp::create(rewriter, loc, mixed));
      })
      .Case([&](SinkhornOp sinkhorn) {
        // Columns are the rows of what is transposed.
        Value x = sinkhorn.getInput();
        for (int64_t half = 1, n = 2 * int64_t(sinkhorn.getSteps()); half < n; ++half) {
          x = TransposeOp::create(rewriter, loc, x);
          Value sum = f.statistic(RowStatistic::Sum, x);
          x = f.binary(BinaryFunction::Div, x, f.shifted(sum, number(sinkhorn.getEpsilon())));
        }
        return Value(TransposeOp::create(rewriter, loc, x));
      })
      .Case([&](ExpertSpreadOp spread) {
        int64_t chosen = cast<RankedTensorType>(spread.getType()).getShape()[1];
        return f.mul(f.heads(spread.getInput(), 1), f.heads(spread.getWeights(), chosen));
      })
      .Default(Value());
  if (!result)
    return failure();
  rewriter.replaceOp(op, result);
  return success();
}

namespace {
struct DecomposePass : impl::DecomposePassBase<DecomposePass> {
  using DecomposePassBase::DecomposePassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> chosen;
    getOperation()->walk([&](Operation *op) {
      StringRef name = op->getName().getStringRef();
      if (llvm::is_contained(ops, name) || (ops.empty() && isa<LLMDialect>(op->getDialect())))
        chosen.push_back(op);
    });
    for (Operation *op : chosen)
      if (failed(decompose(op, rewriter)) && !ops.empty()) {
        op->emitError("has no composition of simpler operations");
        return signalPassFailure();
      }
  }
};
} // namespace

} // namespace llmc::llm
