//===- ExpertUnits.cpp - routers and the experts they choose --------------===//
#include "LinearParts.h"

#include "llmc/Conversion/TableBound.h"

using namespace mlir;

namespace llmc {

using namespace llm;

/// Of a unit with products of experts: one, or two that element-wise operations bring together.
std::optional<Refusal> whyNotExperts(const Unit &unit) {
  LinearParts parts;
  if (std::optional<Refusal> refusal = splitLinear(unit, parts))
    return refusal;
  auto first = cast<ExpertLinearOp>(parts.products.front());
  for (Operation *op : parts.products) {
    auto product = dyn_cast<ExpertLinearOp>(op);
    if (!product || unit.resolve(product.getChoice()) != unit.resolve(first.getChoice()))
      return Refusal{op, "has another choice than the first product of the launch"};
  }
  if (parts.products.size() > 1 && !parts.isPaired())
    return Refusal{parts.products[1], "is a second product of experts without a gate"};
  return std::nullopt;
}

/// Rows from their first column on, at their own distance.
FailureOr<RowBuffer> Converter::wholeRows(Value value, const Unit &unit) {
  auto buffer = bufferOf(unit.resolve(value), unit.op);
  if (failed(buffer) || buffer->isWholeSlice())
    return buffer;
  RowBuffer own = newBuffer("input", buffer->width, buffer->rows);
  if (failed(copyRows(*buffer, own, unit.op->getLoc(), "the kernel reads whole rows, these are columns")))
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
  LinearParts parts;
  splitLinear(unit, parts);
  bool gated = parts.isPaired();
  // The kernel's panels alternate gate first.
  if (auto gate = unit.first<GateOp>();
      gate && gated && parts.products[1]->getResult(0) == gate.getGate())
    std::swap(parts.products[0], parts.products[1]);
  auto first = cast<ExpertLinearOp>(parts.products.front());
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
  product.gated = gated;
  SmallVector<Value> weights, biases;
  SmallVector<int64_t> widths;
  for (Operation *other : parts.products) {
    auto op = cast<ExpertLinearOp>(other);
    int64_t width = cast<WeightType>(op.getWeight().getType()).getShape()[1];
    weights.push_back(unit.resolve(op.getWeight()));
    biases.push_back(op.getBias() ? unit.resolve(op.getBias()) : Value());
    widths.push_back(width);
    product.bias |= bool(op.getBias());
    product.rows += gated ? (width + 15) / 16 * 16 : width;
  }
  product.outputWidth = widths.front();
  product.tile = kernels::linearTile(product.rows, product.gated);
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
  if (failed(addEpilogue(unit, parts, product, uses)))
    return failure();
  if (std::string problem = kernels::checkExpertLinear(spec); !problem.empty())
    return unit.op->emitError("no kernel for these experts: ") << problem;
  RowBuffer out = newBuffer(gated ? "gated" : "product", spec.chosen * widths.front(), x->rows);
  uses.push_back(use(out, plan::Access::Write));
  bind(unit.resolve(parts.value()), out);
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

FailureOr<kernels::RouteSpec> Converter::routeOf(RouteOp route, const Unit &unit,
                                                 SmallVectorImpl<plan::UseAttr> &uses) {
  kernels::RouteSpec spec;
  spec.experts = cast<RankedTensorType>(route.getLogits().getType()).getDimSize(1);
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
  return spec;
}

/// Numbers of experts are as wide as floats.
void Converter::bindRoute(RouteOp route, const Unit &unit, plan::Extent rows,
                          SmallVectorImpl<plan::UseAttr> &uses) {
  RowBuffer choice = newBuffer("choice", int64_t(route.getTop()), rows);
  RowBuffer weights = newBuffer("weights", int64_t(route.getTop()), rows);
  uses.push_back(use(choice, plan::Access::Write));
  uses.push_back(use(weights, plan::Access::Write));
  bind(unit.resolve(route.getChoice()), choice);
  bind(unit.resolve(route.getWeights()), weights);
}

LogicalResult Converter::lowerRoute(const Unit &unit) {
  auto route = unit.first<RouteOp>();
  auto logits = wholeRows(route.getLogits(), unit);
  if (failed(logits))
    return failure();
  if (route.getTable() && logits->rows != plan::Extent::Tokens)
    return unit.op->emitError("no CPU kernel chooses experts by a table for chosen rows alone");
  SmallVector<plan::UseAttr> uses{use(*logits, plan::Access::Read)};
  auto spec = routeOf(route, unit, uses);
  if (failed(spec))
    return failure();
  bindRoute(route, unit, logits->rows, uses);
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), *spec), uses,
         items(1, logits->rows), describe(unit));
  return success();
}

/// Of a unit with a router's product: it, operations on the logits one after another, the choice.
std::optional<Refusal> whyNotRouter(const Unit &unit) {
  Value row;
  for (Operation *op : unit.ops) {
    bool isProduct = isa<LinearOp>(op), isChoice = isa<RouteOp>(op);
    if (!isProduct && !isChoice &&
        !isa<ScaleOp, OffsetOp, ClampOp, SoftcapOp, ActivationOp, SoftmaxOp, RMSNormOp,
             LayerNormOp>(op))
      return Refusal{op, "is no part of a kernel of routers"};
    if (isProduct != (op == unit.ops.front()) || isChoice != (op == unit.ops.back()) ||
        (row && op->getOperand(0) != row) || (!isChoice && unit.isResult(op->getResult(0))))
      return Refusal{op, "does not stand between a router's product and its choice"};
    row = op->getResult(0);
  }
  if (auto route = unit.first<RouteOp>(); route.getTable())
    return Refusal{route, "has a table, which no kernel of routers has"};
  return std::nullopt;
}

LogicalResult Converter::lowerRouter(const Unit &unit) {
  auto product = unit.first<LinearOp>();
  auto route = unit.first<RouteOp>();
  auto type = cast<WeightType>(product.getWeight().getType());
  auto storage = kernels::findStorage(type.getStorageName());
  if (!storage)
    return unit.op->emitError("no CPU kernel reads weights stored as ") << type.getStorageName();
  auto x = wholeRows(product.getInput(), unit);
  if (failed(x) || failed(checkTokens(*x, unit)))
    return failure();
  kernels::RouterSpec spec;
  spec.product.storage = *storage;
  spec.product.rows = type.getShape()[0];
  spec.product.cols = type.getShape()[1];
  spec.product.tile = kernels::routerTile(spec.product.rows);
  spec.product.bias = bool(product.getBias());
  auto weight = packPanels(product.getLoc(), {unit.resolve(product.getWeight())},
                           spec.product.tile, /*interleave=*/false);
  if (failed(weight))
    return failure();
  SmallVector<plan::UseAttr> uses{use(*x, plan::Access::Read), use(*weight)};
  auto addVector = [&](Location loc, Value vector) -> LogicalResult {
    auto packedVector = packVectors(loc, {unit.resolve(vector)}, {}, false);
    if (succeeded(packedVector))
      uses.push_back(use(*packedVector));
    return packedVector;
  };
  if (product.getBias() && failed(addVector(product.getLoc(), product.getBias())))
    return failure();
  if (unit.ops.size() > 2) {
    kernels::RowProgram between(spec.product.rows);
    kernels::RowProgram::Node row = between.input(0u);
    for (Operation *op : ArrayRef<Operation *>(unit.ops).drop_front().drop_back()) {
      SmallVector<kernels::RowProgram::Node> in{row};
      auto constant = [&](Value vector) -> FailureOr<kernels::RowProgram::Node> {
        unsigned number = unsigned(uses.size());
        if (failed(addVector(op->getLoc(), vector)))
          return failure();
        return between.constant(number);
      };
      if (failed(readRowNodes(op->getOperands().drop_front(), constant, in)))
        return failure();
      row = *addRowNode(between, op, in);
    }
    between.output(row, 0u);
    spec.between = std::move(between);
  }
  auto choice = routeOf(route, unit, uses);
  if (failed(choice))
    return failure();
  spec.route = *choice;
  if (std::string problem = kernels::checkRouter(spec); !problem.empty())
    return unit.op->emitError("no kernel for this router: ") << problem;
  bindRoute(route, unit, x->rows, uses);
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(1, x->rows, kernels::routerItemTokens), describe(unit));
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
