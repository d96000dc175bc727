//===- ExpertUnits.cpp - routers and the experts they choose --------------===//
#include "Converter.h"

#include "llmc/Conversion/TableBound.h"

using namespace mlir;

namespace llmc {

using namespace llm;

/// Of a unit with products of experts: one, and an activation of it, or two and their gate.
std::optional<Refusal> whyNotExperts(const Unit &unit) {
  auto products = unit.all<ExpertLinearOp>();
  auto gate = unit.first<GateOp>();
  auto activation = unit.first<ActivationOp>();
  for (Operation *op : unit.ops)
    if (!isa<ExpertLinearOp>(op) && op != gate.getOperation() && op != activation.getOperation())
      return Refusal{op, "is not part of the epilogue of a product of experts (bias, gate or "
                         "activation)"};
  ExpertLinearOp first = products.front();
  for (ExpertLinearOp product : products)
    if (unit.resolve(product.getInput()) != unit.resolve(first.getInput()) ||
        unit.resolve(product.getChoice()) != unit.resolve(first.getChoice()))
      return Refusal{product, "has another input or choice than the first product of the launch"};
  if (gate) {
    Value g = gate.getGate(), u = gate.getUp();
    if (products.size() != 2 || activation ||
        !((g == products[0].getResult() && u == products[1].getResult()) ||
          (g == products[1].getResult() && u == products[0].getResult())))
      return Refusal{gate, "does not read the two products of the launch"};
    return std::nullopt;
  }
  if (products.size() != 1)
    return Refusal{products[1], "is a second product of experts without a gate"};
  if (activation && (activation.getInput() != first.getResult() || unit.isResult(first.getResult())))
    return Refusal{activation, "does not take the launch's only product, and all of it"};
  return std::nullopt;
}

/// Rows from their first column on, at their own distance.
FailureOr<RowBuffer> Converter::wholeRows(Value value, const Unit &unit) {
  auto buffer = bufferOf(unit.resolve(value), unit.op);
  if (failed(buffer) || buffer->isWholeSlice())
    return buffer;
  RowBuffer own = newBuffer("input", buffer->width, buffer->rows);
  if (failed(copyRows(*buffer, own, unit.op->getLoc())))
    return failure();
  return own;
}

static LogicalResult checkTokens(const RowBuffer &rows, const Unit &unit) {
  if (rows.rows == plan::Extent::Tokens)
    return success();
  return unit.op->emitError("computes experts for rows that are not the step's tokens; choose "
                            "rows behind them");
}

static StringRef describe(const Unit &unit) {
  if (auto fusion = dyn_cast<FusionOp>(unit.op))
    return fusion.getPattern();
  return unit.op->getName().getStringRef();
}

LogicalResult Converter::lowerExpertLinear(const Unit &unit) {
  auto products = unit.all<ExpertLinearOp>();
  auto gate = unit.first<GateOp>();
  auto activation = unit.first<ActivationOp>();
  // The kernel's panels alternate gate first.
  if (gate && products.front().getResult() != gate.getGate())
    std::swap(products[0], products[1]);
  ExpertLinearOp first = products.front();
  auto type = cast<WeightType>(first.getWeight().getType());
  auto storage = kernels::findStorage(type.getStorageName());
  if (!storage)
    return unit.op->emitError("no CPU kernel reads weights stored as ") << type.getStorageName();
  auto x = wholeRows(first.getInput(), unit), choice = wholeRows(first.getChoice(), unit);
  if (failed(x) || failed(choice) || failed(checkTokens(*x, unit)))
    return failure();

  kernels::ExpertLinearSpec spec;
  spec.experts = type.getShape()[0];
  spec.chosen = choice->width;
  spec.rowsOfChoices = cast<RankedTensorType>(first.getInput().getType()).getRank() == 3;
  kernels::LinearSpec &product = spec.product;
  product.storage = *storage;
  product.cols = type.getShape()[2];
  product.gated = bool(gate);
  SmallVector<Value> weights, biases;
  SmallVector<int64_t> widths;
  for (ExpertLinearOp op : products) {
    int64_t width = cast<WeightType>(op.getWeight().getType()).getShape()[1];
    weights.push_back(unit.resolve(op.getWeight()));
    biases.push_back(op.getBias() ? unit.resolve(op.getBias()) : Value());
    widths.push_back(width);
    product.bias |= bool(op.getBias());
    product.rows += gate ? (width + 15) / 16 * 16 : width;
  }
  product.outputWidth = widths.front();
  if (gate)
    product.activation = kernelActivation(gate.getFunction());
  if (activation)
    product.activation = kernelActivation(activation.getFunction());
  product.tile = kernels::linearTile(product.rows, product.gated);
  if (std::string problem = kernels::checkExpertLinear(spec); !problem.empty())
    return unit.op->emitError("no kernel for these experts: ") << problem;
  auto weight = packPanels(unit.op->getLoc(), weights, product.tile, product.gated);
  if (failed(weight))
    return failure();
  SmallVector<plan::UseAttr> uses{use(*x, plan::Access::Read), use(*choice, plan::Access::Read),
                                  use(*weight)};
  if (product.bias) {
    auto bias = packVectors(unit.op->getLoc(), biases, widths, product.gated);
    if (failed(bias))
      return failure();
    uses.push_back(use(*bias));
  }
  RowBuffer out = newBuffer(gate ? "gated" : "product", spec.chosen * widths.front(), x->rows);
  uses.push_back(use(out, plan::Access::Write));
  bind(unit.resolve(gate         ? gate.getResult()
                    : activation ? activation.getResult()
                                 : first.getResult()),
       out);
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(kernels::expertLinearKernelItems(spec), plan::Extent::One), describe(unit));
  return success();
}

static kernels::RouterScore kernelScore(RouteScore score) {
  switch (score) {
  case RouteScore::Softmax: return kernels::RouterScore::Softmax;
  case RouteScore::Sigmoid: return kernels::RouterScore::Sigmoid;
  case RouteScore::SqrtSoftplus: return kernels::RouterScore::SqrtSoftplus;
  case RouteScore::Identity: return kernels::RouterScore::Identity;
  }
  llvm_unreachable("closed enum");
}

static kernels::RouterNormalise kernelNormalise(RouteNormalise normalise) {
  switch (normalise) {
  case RouteNormalise::None: return kernels::RouterNormalise::None;
  case RouteNormalise::Sum: return kernels::RouterNormalise::Sum;
  case RouteNormalise::Softmax: return kernels::RouterNormalise::Softmax;
  case RouteNormalise::Margin: return kernels::RouterNormalise::Margin;
  }
  llvm_unreachable("closed enum");
}

LogicalResult Converter::lowerRoute(const Unit &unit) {
  auto route = cast<RouteOp>(unit.ops.front());
  auto logits = wholeRows(route.getLogits(), unit);
  if (failed(logits))
    return failure();
  kernels::RouteSpec spec;
  spec.experts = logits->width;
  spec.chosen = int64_t(route.getTop());
  spec.score = kernelScore(route.getScore());
  spec.normalise = kernelNormalise(route.getNormalise());
  spec.scale = float(route.getScale().convertToDouble());
  if (route.getMargin())
    spec.margin = float(route.getMargin()->convertToDouble());
  spec.groups = int64_t(route.getGroups().value_or(0));
  spec.keep = int64_t(route.getKeep().value_or(0));
  if (route.getGroupScore() == GroupScore::Top2)
    spec.groupScore = kernels::RouterGroupScore::Top2;
  SmallVector<plan::UseAttr> uses{use(*logits, plan::Access::Read)};
  auto vector = [&](Value weight, bool &present) -> LogicalResult {
    if (!(present = bool(weight)))
      return success();
    auto packedWeight = packVectors(unit.op->getLoc(), {unit.resolve(weight)}, {}, false);
    if (failed(packedWeight))
      return failure();
    uses.push_back(use(*packedWeight));
    return success();
  };
  if (failed(vector(route.getBias(), spec.bias)) ||
      failed(vector(route.getExpertScale(), spec.expertScale)))
    return failure();
  if (Value table = route.getTable()) {
    if (logits->rows != plan::Extent::Tokens)
      return unit.op->emitError("no CPU kernel chooses experts by a table for chosen rows alone");
    auto packedTable = packMatrix(unit.op->getLoc(), unit.resolve(table));
    if (failed(packedTable))
      return failure();
    spec.table = cast<WeightType>(table.getType()).getShape()[0];
    SymbolTable::lookupSymbolIn(program, packedTable->symbol)
        ->setAttr(numbersBelowAttrName, step.getI64IntegerAttr(spec.experts));
    uses.push_back(use(*packedTable));
  }
  if (std::string problem = kernels::checkRoute(spec); !problem.empty())
    return unit.op->emitError("no kernel for this router: ") << problem;
  // Numbers of experts are as wide as floats.
  RowBuffer choice = newBuffer("choice", spec.chosen, logits->rows);
  RowBuffer weights = newBuffer("weights", spec.chosen, logits->rows);
  uses.push_back(use(choice, plan::Access::Write));
  uses.push_back(use(weights, plan::Access::Write));
  bind(unit.resolve(route.getChoice()), choice);
  bind(unit.resolve(route.getWeights()), weights);
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(1, logits->rows), describe(unit));
  return success();
}

LogicalResult Converter::lowerExpertCombine(const Unit &unit) {
  Operation *op = unit.ops.front();
  auto spread = dyn_cast<ExpertSpreadOp>(op);
  auto sum = dyn_cast<ExpertSumOp>(op);
  Value input = op->getOperand(0), given = spread ? spread.getWeights() : sum.getWeights();
  auto x = wholeRows(input, unit);
  if (failed(x))
    return failure();
  kernels::ExpertCombineSpec spec;
  spec.spread = bool(spread);
  spec.weights = bool(given);
  auto shape = cast<RankedTensorType>((spread ? op->getResult(0) : input).getType()).getShape();
  spec.chosen = shape[1];
  spec.width = shape[2];
  SmallVector<plan::UseAttr> uses{use(*x, plan::Access::Read)};
  if (given) {
    auto weights = wholeRows(given, unit);
    if (failed(weights))
      return failure();
    uses.push_back(use(*weights, plan::Access::Read));
  }
  auto residual = unit.first<ResidualAddOp>();
  if (!residual) {
    RowBuffer out = newBuffer(spread ? "spread" : "sum",
                              spec.width * (spread ? spec.chosen : 1), x->rows);
    uses.push_back(use(out, plan::Access::Write));
    bind(unit.resolve(op->getResult(0)), out);
  } else {
    spec.residual = true;
    Value stream = residual.getDelta() == op->getResult(0) ? residual.getStream()
                                                           : residual.getDelta();
    auto buffer = wholeRows(stream, unit);
    if (failed(buffer))
      return failure();
    RowBuffer out = *buffer;
    if (diesAt(*buffer, unit.op) && !buffer->overlaps(*x)) {
      spec.inPlace = true;
      uses.push_back(use(*buffer, plan::Access::ReadWrite));
    } else {
      out = newBuffer("sum", spec.width, x->rows);
      uses.push_back(use(*buffer, plan::Access::Read));
      uses.push_back(use(out, plan::Access::Write));
    }
    bind(unit.resolve(residual.getResult()), out);
  }
  if (std::string problem = kernels::checkExpertCombine(spec); !problem.empty())
    return unit.op->emitError("no kernel for these experts: ") << problem;
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(1, x->rows), describe(unit));
  return success();
}

} // namespace llmc
