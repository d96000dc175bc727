//===- LinearParts.cpp - before and behind the products of a launch -------===//
#include "LinearParts.h"

using namespace mlir;

namespace llmc {

using namespace llm;
using kernels::RowProgram;

static bool isProduct(Operation *op) { return isa<LinearOp, OutputHeadOp, ExpertLinearOp>(op); }

static bool isElementwise(Operation *op) {
  return isa<ScaleOp, OffsetOp, ClampOp, SoftcapOp, ActivationOp, GateOp, BinaryOp, ResidualAddOp>(
      op);
}

static ArrayRef<int64_t> rowOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().drop_front();
}

static bool isInside(const Unit &unit, Value value) {
  return llvm::is_contained(unit.ops, value.getDefiningOp());
}

//===----------------------------------------------------------------------===//
// The parts
//===----------------------------------------------------------------------===//

namespace {
/// How a value from outside lies beside the rows of a product.
enum class Beside { Rows, Vector, Scalars, Neither };
} // namespace

static Beside besideProduct(const Unit &unit, Value value, ArrayRef<int64_t> row) {
  ArrayRef<int64_t> own = rowOf(value);
  if (weightBehind(unit.resolve(value)))
    return own.back() == row.back() && ShapedType::getNumElements(own) == row.back()
               ? Beside::Vector
               : Beside::Neither;
  if (own == row)
    return Beside::Rows;
  bool oneEach = row.size() == 2 && own.size() == 1
                     ? own[0] == row[0]
                     : own.size() == row.size() && own.back() == 1 &&
                           own.drop_back() == row.drop_back();
  return oneEach ? Beside::Scalars : Beside::Neither;
}

/// What makes the rows that are multiplied.
static std::optional<Refusal> splitBefore(const Unit &unit, LinearParts &parts) {
  Operation *product = parts.products.front();
  for (Operation *op : parts.products)
    if (unit.resolve(op->getOperand(0)) != unit.resolve(product->getOperand(0)))
      return Refusal{op, "reads another input than the first product of the launch"};
  for (Value value = parts.input(); isInside(unit, value);) {
    Operation *op = value.getDefiningOp();
    if (!isa<RMSNormOp, LayerNormOp, SelectRowsOp>(op) || isa<ExpertLinearOp>(product))
      return Refusal{op, "does not make rows that this kernel multiplies (norm, choice of rows)"};
    for (Operation *user : value.getUsers())
      if (!llvm::is_contained(parts.products, user) &&
          (parts.before.empty() || user != parts.before.back()))
        return Refusal{op, "makes rows that the launch does more with than multiply them"};
    if (unit.isResult(value))
      return Refusal{op, "is a result of a launch that multiplies it"};
    parts.before.push_back(op);
    value = op->getOperand(0);
    if (isa<SelectRowsOp>(op) && isInside(unit, value))
      return Refusal{op, "chooses rows that the same launch makes"};
  }
  std::reverse(parts.before.begin(), parts.before.end());
  return std::nullopt;
}

static std::optional<Refusal> splitBehind(const Unit &unit, LinearParts &parts) {
  ArrayRef<int64_t> row = rowOf(parts.products.front()->getResult(0));
  llvm::SmallDenseSet<Operation *> unread(parts.products.begin(), parts.products.end());
  for (Operation *op : unit.ops) {
    if (isProduct(op) || llvm::is_contained(parts.before, op))
      continue;
    if (!isElementwise(op))
      return Refusal{op, "is not part of the linear kernel's epilogue (bias, element-wise "
                         "operations, residual)"};
    if (parts.products.size() > 2)
      return Refusal{op, "takes one of " + std::to_string(parts.products.size()) +
                             " products of a launch"};
    if (rowOf(op->getResult(0)) != row)
      return Refusal{op, "has rows of another shape than the product of the launch"};
    for (Value value : op->getOperands()) {
      if (isInside(unit, value))
        unread.erase(value.getDefiningOp());
      else if (besideProduct(unit, value, row) == Beside::Neither)
        return Refusal{op, "reads rows that do not stand beside those of the product"};
    }
    parts.behind.push_back(op);
    unread.insert(op);
  }
  if (parts.behind.empty())
    return std::nullopt;
  for (Operation *op : unit.ops)
    if (op != parts.behind.back() && (unread.contains(op) || unit.isResult(op->getResult(0))))
      return Refusal{op, "has a result beside the last one of the launch"};
  return std::nullopt;
}

/// The last addition is the kernel's own where it adds rows from outside: it may be in place.
static void splitResidual(const Unit &unit, LinearParts &parts) {
  auto add = parts.behind.empty() ? ResidualAddOp() : dyn_cast<ResidualAddOp>(parts.behind.back());
  if (!add || isa<ExpertLinearOp>(parts.products.front()))
    return;
  bool stream = isInside(unit, add.getStream()), delta = isInside(unit, add.getDelta());
  Value outside = stream ? add.getDelta() : add.getStream();
  bool onlyResult = parts.products.size() == 1 || parts.behind.size() > 1;
  if (stream == delta || !onlyResult || weightBehind(unit.resolve(outside)))
    return;
  parts.residual = add;
  parts.behind.pop_back();
}

std::optional<Refusal> splitLinear(const Unit &unit, LinearParts &parts) {
  for (Operation *op : unit.ops)
    if (isProduct(op))
      parts.products.push_back(op);
  if (std::optional<Refusal> refusal = splitBefore(unit, parts))
    return refusal;
  if (std::optional<Refusal> refusal = splitBehind(unit, parts))
    return refusal;
  splitResidual(unit, parts);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Row programs
//===----------------------------------------------------------------------===//

LogicalResult Converter::addPrologue(const Unit &unit, const LinearParts &parts,
                                     const RowBuffer &x, kernels::LinearSpec &spec,
                                     SmallVectorImpl<plan::UseAttr> &uses) {
  RowProgram program(spec.cols);
  kernels::RowOperand operand{0, x.stride, x.offset};
  if (isa<SelectRowsOp>(parts.before.front()))
    operand.index = kernels::RowIndex::OutputRow;
  RowProgram::Node row = program.input(operand);
  unsigned number = 1;
  auto constant = [&](Value vector) -> FailureOr<RowProgram::Node> {
    auto packed = packVectors(unit.op->getLoc(), {unit.resolve(vector)}, {}, false);
    if (failed(packed))
      return failure();
    uses.push_back(use(*packed));
    return program.constant(number++);
  };
  for (Operation *op : parts.before) {
    if (isa<SelectRowsOp>(op))
      continue;
    SmallVector<RowProgram::Node> in{row};
    if (failed(readRowNodes(op->getOperands().drop_front(), constant, in)))
      return failure();
    row = *addRowNode(program, op, in);
  }
  program.output(row, kernels::RowOperand{});
  spec.prologue = std::move(program);
  return success();
}

LogicalResult Converter::addEpilogue(const Unit &unit, const LinearParts &parts,
                                     kernels::LinearSpec &spec,
                                     SmallVectorImpl<plan::UseAttr> &uses) {
  ArrayRef<Operation *> behind = parts.behind;
  if (behind.empty())
    return success();
  // The common ends have fields of their own.
  if (auto gate = dyn_cast<GateOp>(behind.front()); gate && spec.gated && behind.size() == 1) {
    spec.activation = kernelActivation(gate.getFunction());
    return success();
  }
  if (auto activation = dyn_cast<ActivationOp>(behind.front());
      activation && behind.size() == 1) {
    spec.activation = kernelActivation(activation.getFunction());
    return success();
  }

  RowProgram program(spec.width());
  ArrayRef<int64_t> row = rowOf(parts.products.front()->getResult(0));
  DenseMap<Value, RowProgram::Node> nodes;
  for (auto [i, product] : llvm::enumerate(parts.products))
    nodes[product->getResult(0)] = program.input(kernels::RowOperand{unsigned(i)});
  unsigned number = spec.sums();
  auto read = [&](Value value) -> FailureOr<RowProgram::Node> {
    if (auto known = nodes.find(value); known != nodes.end())
      return known->second;
    kernels::RowOperand operand{number++};
    Beside beside = besideProduct(unit, value, row);
    if (beside == Beside::Vector) {
      auto packed = packRows(unit.op->getLoc(), unit.resolve(weightBehind(unit.resolve(value))));
      if (failed(packed))
        return failure();
      uses.push_back(use(*packed));
    } else {
      // Rows of choices have one distance only where they are all of a buffer.
      auto buffer = row.size() == 2 ? wholeRows(value, unit)
                                    : bufferOf(unit.resolve(value), unit.op);
      if (failed(buffer))
        return failure();
      operand.scalar = beside == Beside::Scalars;
      operand.stride = row.size() == 1 ? buffer->stride : operand.scalar ? 1 : row.back();
      operand.offset = buffer->offset;
      uses.push_back(use(*buffer, plan::Access::Read));
    }
    return nodes[value] = program.input(operand);
  };
  for (Operation *op : behind) {
    SmallVector<RowProgram::Node> in;
    if (failed(readRowNodes(op->getOperands(), read, in)))
      return failure();
    nodes[op->getResult(0)] = *addRowNode(program, op, in);
  }
  program.output(nodes[behind.back()->getResult(0)], kernels::RowOperand{});
  spec.epilogue = std::move(program);
  return success();
}

} // namespace llmc
