//===- RowPrograms.cpp - operations that one row kernel computes ----------===//
#include "llmc/Dialect/LLM/Analysis/RowPrograms.h"

#include "llmc/Dialect/LLM/IR/Elements.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmc::llm;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// A token's dimensions; empty for what is no activation.
static ArrayRef<int64_t> shapeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() < 2)
    return {};
  return type.getShape().drop_front();
}

static int64_t elementsOf(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return shape.empty() ? 0 : ShapedType::getNumElements(shape);
}

/// [heads, width] of a value for itself.
static std::pair<int64_t, int64_t> ownRows(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return shape.size() == 2 ? std::pair(shape[0], shape[1]) : std::pair(int64_t(1), shape[0]);
}

bool llmc::llm::isRowView(Operation *op) { return isa<SplitHeadsOp, MergeHeadsOp>(op); }

bool llmc::llm::isRowOperation(Operation *op) {
  return isa<RMSNormOp, LayerNormOp, ResidualAddOp, ScaleOp, SoftcapOp, ActivationOp, GateOp,
             SelectRowsOp, BinaryOp, OffsetOp, ClampOp, SoftmaxOp, RowStatOp, MixOp, SliceOp,
             PositionScaleOp, WeightRowsOp>(op);
}

/// Operations whose rows are those of one head: the value that says which. Others do not care
/// where a token's elements are cut.
static Value boundRows(Operation *op) {
  if (auto statistic = dyn_cast<RowStatOp>(op))
    return statistic.getInput();
  if (isa<RMSNormOp, LayerNormOp, SoftmaxOp, MixOp, SliceOp>(op))
    return op->getResult(0);
  auto binary = dyn_cast<BinaryOp>(op);
  if (binary && binary.getLhs().getType() != binary.getRhs().getType() &&
      shapeOf(binary.getResult()).size() == 2)
    return binary.getResult();
  return {};
}

/// Whether the operation has values of one element beside whole rows.
static bool isUneven(Operation *op) {
  auto binary = dyn_cast<BinaryOp>(op);
  return isa<PositionScaleOp>(op) ||
         (binary && binary.getLhs().getType() != binary.getRhs().getType());
}

RowFrame llmc::llm::rowFrame(ArrayRef<Operation *> ops) {
  Value bound, largest;
  bool isFlat = true;
  for (Operation *op : ops) {
    Value own = boundRows(op);
    isFlat &= !own && !isUneven(op);
    if (own && (!bound || elementsOf(own) > elementsOf(bound)))
      bound = own;
    Value result = op->getResult(0);
    if (!largest || elementsOf(result) > elementsOf(largest) ||
        (elementsOf(result) == elementsOf(largest) &&
         shapeOf(result).size() > shapeOf(largest).size()))
      largest = result;
  }
  // What is bound decides, unless it is of one number a head beside rows of them.
  Value rows = bound && elementsOf(bound) >= elementsOf(largest) ? bound : largest;
  auto [heads, width] = ownRows(rows);
  if (!isFlat)
    return {width, heads, false};
  width *= heads;
  // A long row of independent elements, such as logits, is work for several threads.
  bool chosen = llvm::any_of(ops, [](Operation *op) { return isa<SelectRowsOp>(op); });
  constexpr int64_t longRow = 8192, mostParts = 64;
  int64_t parts = 1;
  while (!chosen && width / parts > longRow && width / parts % 32 == 0 && parts < mostParts)
    parts *= 2;
  return {width / parts, parts, true};
}

std::optional<std::pair<int64_t, int64_t>> llmc::llm::placeInFrame(const RowFrame &frame,
                                                                  Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (!shape.empty() && elementsOf(value) == frame.elements())
    return std::pair(frame.heads, frame.width);
  if (shape.empty() || frame.isFlat)
    return std::nullopt;
  // A row beside heads has one element a head.
  auto [heads, width] = shape.size() == 2 || frame.heads == 1 ? ownRows(value)
                                                              : std::pair(shape[0], int64_t(1));
  if ((heads != 1 && heads != frame.heads) || (width != 1 && width != frame.width))
    return std::nullopt;
  return std::pair(heads, width);
}

//===----------------------------------------------------------------------===//
// What fits together
//===----------------------------------------------------------------------===//

namespace {
using OpSet = llvm::DenseSet<Operation *>;
} // namespace

static bool isMadeBy(Value value, const OpSet &ops) {
  Operation *def = value.getDefiningOp();
  return def && ops.contains(def);
}

static bool isSeenOutside(Operation *op, const OpSet &ops) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) { return !ops.contains(user); });
}

static std::string textOf(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t dim : shape)
    text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text;
}

/// Operands that are read at other places than those of the row at hand.
static std::optional<RowObstacle> findForeignRead(Operation *op, const OpSet &ops) {
  if (!isa<SliceOp, MixOp, SelectRowsOp>(op))
    return std::nullopt;
  for (Value operand : op->getOperands())
    if (isMadeBy(operand, ops))
      return RowObstacle{op, "producer", "reads other rows than its own of a value that the same "
                                         "kernel makes"};
  return std::nullopt;
}

/// Rows of outputs go through one select_rows, and all operands with them.
static std::optional<RowObstacle> findMixedChoice(ArrayRef<Operation *> ops, const OpSet &set) {
  if (llvm::none_of(ops, llvm::IsaPred<SelectRowsOp>))
    return std::nullopt;
  for (Operation *op : ops) {
    if (isa<SelectRowsOp>(op))
      continue;
    if (isa<PositionScaleOp, SliceOp, MixOp>(op))
      return RowObstacle{op, "kernel", "is of tokens, the rows of the kernel are chosen ones"};
    // A weight's rows are one for each token where others see them.
    if (weightBehind(op->getResult(0)) && isSeenOutside(op, set))
      return RowObstacle{op, "kernel", "is of tokens, the rows of the kernel are chosen ones"};
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (shapeOf(value).empty())
        continue;
      if (weightBehind(value) ? !isRowView(op) && !fitsAnyRows(operand) : !isMadeBy(value, set))
        return RowObstacle{op, "kernel",
                           "reads rows that the kernel's llm.select_rows has not chosen"};
    }
  }
  return std::nullopt;
}

/// An operation whose rows are not those of the frame.
static std::optional<RowObstacle> findMisfit(Operation *op, const RowFrame &frame,
                                             const OpSet &ops) {
  auto refuse = [&](Value value) {
    return RowObstacle{op, "same-shape",
                       llvm::formatv("has {0} elements a token, the kernel's rows are {1} x {2}",
                                     textOf(shapeOf(value)), frame.heads, frame.width)};
  };
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
    if (!shapeOf(value).empty() && !isa<SliceOp, MixOp>(op) && !placeInFrame(frame, value))
      return refuse(value);
  if (Value bound = boundRows(op)) {
    auto [heads, width] = ownRows(bound);
    auto place = placeInFrame(frame, bound);
    bool isWhole = width == frame.width && heads == frame.heads;
    // Single elements of heads, and what all heads share.
    bool isPart = place && place->first == heads && place->second == width &&
                  isa<SliceOp, BinaryOp>(op);
    if (!isWhole && !isPart)
      return refuse(bound);
  }
  auto place = placeInFrame(frame, op->getResult(0));
  if (place->first != frame.heads && isSeenOutside(op, ops))
    return RowObstacle{op, "same-shape",
                       llvm::formatv("makes a result of all heads in a kernel of {0} heads",
                                     frame.heads)};
  return std::nullopt;
}

std::optional<RowObstacle> llmc::llm::whyNotRowProgram(ArrayRef<Operation *> ops) {
  OpSet set(ops.begin(), ops.end());
  for (Operation *op : ops) {
    if (!isRowOperation(op) && !isRowView(op))
      return RowObstacle{op, "kernel",
                         ops.size() > 1
                             ? "no CPU kernel computes this operation as part of a row fusion"
                             : "no CPU kernel computes this operation"};
    if (std::optional<RowObstacle> obstacle = findForeignRead(op, set))
      return obstacle;
  }
  if (std::optional<RowObstacle> obstacle = findMixedChoice(ops, set))
    return obstacle;
  RowFrame frame = rowFrame(ops);
  for (Operation *op : ops)
    if (std::optional<RowObstacle> obstacle = findMisfit(op, frame, set))
      return obstacle;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Pressure
//===----------------------------------------------------------------------===//

/// Passes over the row before the value can be computed, as the kernel makes them.
static int64_t passesOf(Operation *op) {
  if (auto statistic = dyn_cast<RowStatOp>(op))
    return statistic.getStatistic() == RowStatistic::Deviation ? 2 : 1;
  if (isa<RMSNormOp>(op))
    return 1;
  return isa<LayerNormOp, SoftmaxOp>(op) ? 2 : 0;
}

RowPressure llmc::llm::rowPressure(ArrayRef<Operation *> ops) {
  RowPressure pressure;
  RowFrame frame = rowFrame(ops);
  OpSet set(ops.begin(), ops.end());
  llvm::DenseMap<Value, int64_t> levels, lastUse;
  llvm::DenseMap<int64_t, int64_t> reductions;
  int64_t last = int64_t(ops.size());
  for (auto [i, op] : llvm::enumerate(ops)) {
    int64_t level = 0;
    for (Value operand : op->getOperands()) {
      level = std::max(level, levels.lookup(operand));
      lastUse[operand] = int64_t(i);
    }
    reductions[level] += passesOf(op) != 0;
    levels[op->getResult(0)] = level + passesOf(op);
    if (isSeenOutside(op, set))
      lastUse[op->getResult(0)] = last;
  }
  auto isRow = [&](Value value) {
    auto place = placeInFrame(frame, value);
    return place && place->second != 1;
  };
  // Alive behind each operation: operands from outside are loaded where they are first read.
  llvm::DenseSet<Value> alive;
  int64_t most = 0;
  for (auto [i, op] : llvm::enumerate(ops)) {
    for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
      if (isRow(value))
        alive.insert(value);
    most = std::max(most, int64_t(alive.size()));
    // Whatever dies here is read or made here.
    for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
      if (lastUse.lookup(value) <= int64_t(i))
        alive.erase(value);
  }
  constexpr int64_t accumulators = 4;
  int64_t mostReductions = 0;
  for (auto [level, count] : reductions)
    mostReductions = std::max(mostReductions, count);
  pressure.registers = most + accumulators * mostReductions;

  for (Operation *op : ops) {
    Value value = op->getResult(0);
    bool isReadLater = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return set.contains(user) && levels.lookup(user->getResult(0)) > levels.lookup(value);
    });
    if (isReadLater && isRow(value) && !isRowView(op) && !isSeenOutside(op, set))
      pressure.scratchBytes += frame.width * 4;
    auto place = placeInFrame(frame, value);
    if (place && place->first < frame.heads && !isRowView(op))
      pressure.repeatedOperations += (frame.heads - 1) * elementsOf(value);
  }
  return pressure;
}
