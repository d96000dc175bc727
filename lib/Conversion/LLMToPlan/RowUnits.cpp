//===- RowUnits.cpp - element-wise operations and norms along rows --------===//
#include "Converter.h"

#include "llmc/Dialect/LLM/Analysis/RowPrograms.h"
#include "llmc/Kernels/UserKernelClaims.h"

using namespace mlir;

namespace llmc {

using namespace llm;
using kernels::RowProgram;

/// [heads, width] of a value that is read in rows of `frame`, or in parts of its own rows.
static std::pair<int64_t, int64_t> cutAs(Value value, const RowFrame &frame) {
  if (auto place = placeInFrame(frame, value))
    return *place;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return shape.size() == 3 ? std::pair(shape[1], shape[2]) : std::pair(int64_t(1), shape[1]);
}

/// Whether something takes the value only as whole rows: a trace, which would be refused, or a
/// kernel that would copy columns of longer rows first.
static bool isReadAsWholeRows(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isRowView(user))
      return isReadAsWholeRows(user->getResult(0));
    if (auto fusion = dyn_cast<FusionOp>(user))
      return fusion.getPattern() == kernels::userKernelPattern ||
             isReadAsWholeRows(fusion.getBody().getArgument(use.getOperandNumber()));
    // Behind a product, the kernel adds whole rows.
    auto isProduct = [](Operation &op) { return isa<LinearOp, OutputHeadOp, ExpertSumOp>(op); };
    if (isa<ResidualAddOp>(user))
      return isa<FusionOp>(user->getParentOp()) && llvm::any_of(*user->getBlock(), isProduct);
    return isa<ObserveOp, RepeatOp, LinearOp, OutputHeadOp, ExpertLinearOp, RouteOp, ExpertSumOp,
               ExpertSpreadOp>(user);
  });
}

LogicalResult Converter::lowerRows(const Unit &unit) {
  RowFrame frame = rowFrame(unit.ops);
  RowProgram program(frame.width, frame.heads);
  SmallVector<plan::UseAttr> uses;
  DenseMap<Value, RowProgram::Node> nodes;
  /// Inputs over which a result may be written.
  SmallVector<std::pair<Value, unsigned>> inputs;
  plan::Extent rows = plan::Extent::Tokens;
  MLIRContext *context = module.getContext();

  /// Where a row of `value` lies: its own head, or its only one.
  auto place = [&](Value value, kernels::RowOperand operand) {
    auto [heads, width] = cutAs(value, frame);
    operand.scalar = !frame.isFlat && width == 1 && frame.width != 1;
    if (frame.heads == 1)
      operand.inner = operand.stride && !operand.scalar ? frame.width : 0;
    else
      operand.inner = frame.isFlat ? frame.width : heads == 1 ? 0 : width;
    return operand;
  };
  auto operandFor = [&](const RowBuffer &buffer, unsigned operand) {
    return kernels::RowOperand{operand, buffer.stride, buffer.offset, frame.width};
  };
  /// The operand of a value from outside, before any choice of elements.
  auto operandOf = [&](Value value, Operation *op) -> FailureOr<kernels::RowOperand> {
    Value source = unit.resolve(value);
    if (Value weight = weightBehind(source)) {
      auto packedWeight = packRows(unit.op->getLoc(), unit.resolve(weight));
      if (failed(packedWeight))
        return failure();
      // All its rows are alike, but the result has as many as were chosen.
      if (isa<SelectRowsOp>(op))
        rows = plan::Extent::Outputs;
      kernels::RowOperand operand{unsigned(uses.size()), 0, 0, 0};
      uses.push_back(use(*packedWeight));
      return place(value, operand);
    }
    auto buffer = bufferOf(source, unit.op);
    if (failed(buffer))
      return failure();
    kernels::RowOperand operand =
        place(value, {unsigned(uses.size()), buffer->stride, buffer->offset, 0});
    if (isa<SelectRowsOp>(op)) {
      operand.index = kernels::RowIndex::OutputRow;
      rows = plan::Extent::Outputs;
    } else {
      rows = buffer->rows;
    }
    inputs.push_back({source, unsigned(uses.size())});
    uses.push_back(use(*buffer, plan::Access::Read));
    return operand;
  };
  auto read = [&](Value value, Operation *op) -> FailureOr<RowProgram::Node> {
    if (auto known = nodes.find(value); known != nodes.end())
      return known->second;
    auto operand = operandOf(value, op);
    if (failed(operand))
      return failure();
    return nodes[value] = program.input(*operand);
  };
  auto constant = [&](Value weight) -> FailureOr<RowProgram::Node> {
    if (!weight)
      return RowProgram::none;
    Value source = unit.resolve(weight);
    auto packedWeight = packVectors(unit.op->getLoc(), {source}, {}, false);
    if (failed(packedWeight))
      return failure();
    unsigned operand = unsigned(uses.size());
    uses.push_back(use(*packedWeight));
    return program.constant(operand);
  };
  /// A part of each row of the input.
  auto part = [&](SliceOp slice) -> FailureOr<RowProgram::Node> {
    auto operand = operandOf(slice.getInput(), slice);
    if (failed(operand))
      return failure();
    operand->offset += int64_t(slice.getFrom());
    operand->scalar = slice.getSize() == 1 && frame.width != 1;
    return program.input(*operand);
  };
  /// y[i] = sum_j c[i, j] * x[j], one chain from zero.
  auto mix = [&](MixOp op) -> FailureOr<RowProgram::Node> {
    auto c = operandOf(op.getCoefficients(), op), x = operandOf(op.getInput(), op);
    if (failed(c) || failed(x))
      return failure();
    int64_t columns = cast<RankedTensorType>(op.getCoefficients().getType()).getShape()[2];
    c->scalar = frame.width != 1;
    x->inner = 0;
    RowProgram::Node sum = RowProgram::none;
    for (int64_t j = 0; j < columns; ++j) {
      RowProgram::Node factor = program.input(*c), row = program.input(*x);
      // A product that starts from zero has no negative zeros.
      sum = j ? program.fma(factor, row, sum) : program.addConstant(program.mul(factor, row), 0);
      ++c->offset;
      x->offset += frame.width;
    }
    return sum;
  };

  for (Operation *op : unit.ops) {
    SmallVector<RowProgram::Node> in;
    auto operand = [&](Value value) {
      return isa<WeightType>(value.getType()) ? constant(value) : read(value, op);
    };
    if (!isa<SliceOp, MixOp, WeightRowsOp>(op) &&
        failed(readRowNodes(op->getOperands(), operand, in)))
      return failure();
    FailureOr<RowProgram::Node> node =
        TypeSwitch<Operation *, FailureOr<RowProgram::Node>>(op)
            .Case([&](SliceOp slice) { return part(slice); })
            .Case([&](MixOp op) { return mix(op); })
            .Case([&](WeightRowsOp op) { return read(op.getResult(), op); })
            .Case<SelectRowsOp, SplitHeadsOp, MergeHeadsOp>([&](Operation *) { return in[0]; })
            .Default([&](Operation *other) { return *addRowNode(program, other, in); });
    if (failed(node))
      return failure();
    nodes[op->getResult(0)] = *node;
  }

  // Rows that are chosen from others, or read by several items, are never written over.
  bool shares = !unit.all<SelectRowsOp>().empty() || !unit.all<MixOp>().empty();
  for (Operation *op : unit.ops) {
    Value inside = op->getResult(0);
    if (!unit.isResult(inside))
      continue;
    kernels::RowOperand shape = place(inside, {0, 1, 0, 0});
    bool whole = !shape.scalar && (frame.heads == 1 || shape.inner == frame.width);
    int64_t width = ShapedType::getNumElements(
        cast<RankedTensorType>(inside.getType()).getShape().drop_front());
    // In place over the first input that dies here and has the result's shape.
    std::optional<RowBuffer> target;
    // A sum stays where the stream is, which the next layer reads.
    auto candidates = inputs;
    if (auto add = dyn_cast<ResidualAddOp>(op))
      llvm::stable_sort(candidates, [&](auto &a, auto &b) {
        Value stream = unit.resolve(add.getStream());
        return a.first == stream && b.first != stream;
      });
    if (!shares && whole)
      for (auto [value, operand] : candidates) {
        const RowBuffer &buffer = buffers[value];
        // Nor where another operand lies in the same memory.
        bool taken = llvm::any_of(program.outputs(), [&](const RowProgram::Output &out) {
          return out.operand.operand == operand;
        }) || llvm::count_if(uses, [&](plan::UseAttr other) {
          return other.getSymbol().getValue() == buffer.slice;
        }) > 1;
        bool fits = buffer.width == frame.elements();
        if (fits && !taken && !buffer.isWholeSlice() && isReadAsWholeRows(unit.resolve(inside))) {
          refused(unit.op->getLoc(), "in-place",
                  "the operand is columns of longer rows, and whole rows are read");
          continue;
        }
        if (!taken && fits && diesAt(buffer, unit.op)) {
          target = buffer;
          program.output(nodes[inside], operandFor(buffer, operand));
          uses[operand] = use(buffer, plan::Access::ReadWrite);
          break;
        }
      }
    if (!target) {
      target = newBuffer(op->getName().stripDialect(), width, rows);
      kernels::RowOperand out = operandFor(*target, unsigned(uses.size()));
      if (!frame.isFlat) {
        out.inner = shape.inner;
        out.scalar = shape.scalar;
      }
      program.output(nodes[inside], out);
      uses.push_back(use(*target, plan::Access::Write));
    }
    bind(unit.resolve(inside), *target);
  }
  StringRef what = "row operation";
  if (auto fusion = dyn_cast<FusionOp>(unit.op))
    what = fusion.getPattern();
  else
    what = unit.op->getName().getStringRef();
  launch(unit.op->getLoc(), kernels::describeKernel(context, program), uses,
         items(frame.heads, rows), what);
  return success();
}

} // namespace llmc
