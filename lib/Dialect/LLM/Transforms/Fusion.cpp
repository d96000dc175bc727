//===- Fusion.cpp - what the fusion passes share --------------------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmc;
using namespace llmc::llm;

std::string llm::describeSource(Value value) {
  if (auto fusion = value.getDefiningOp<FusionOp>())
    return "fusion " + fusion.getPattern().str();
  if (Operation *op = value.getDefiningOp())
    return op->getName().getStringRef().str();
  return "an argument";
}

bool llm::isSumOverRanks(Value value) { return value.getDefiningOp<shard::AllReduceOp>() != nullptr; }

FusionRefusal llm::refuseSource(const Twine &what, Value value) {
  if (isSumOverRanks(value))
    return {predicate::collective,
            (what + " from a sum over ranks, which is not known inside one launch").str()};
  return {predicate::producer, (what + " from " + describeSource(value)).str()};
}

Operation *llm::makerInFusion(Value value) {
  auto fusion = value.getDefiningOp<FusionOp>();
  if (!fusion)
    return nullptr;
  auto yield = cast<YieldOp>(fusion.getBody().front().getTerminator());
  return yield.getValues()[cast<OpResult>(value).getResultNumber()].getDefiningOp();
}

std::optional<FusionRefusal> llm::refuseFusedReader(const Twine &what, Value value,
                                                    llvm::function_ref<bool(Operation *)> isWanted) {
  for (OpOperand &use : value.getUses()) {
    auto fusion = dyn_cast<FusionOp>(use.getOwner());
    if (!fusion)
      continue;
    Block &body = fusion.getBody().front();
    if (llvm::any_of(body, llvm::IsaPred<LinearOp, OutputHeadOp, ExpertLinearOp>))
      continue;
    for (Operation *reader : body.getArgument(use.getOperandNumber()).getUsers())
      if (isWanted(reader))
        return FusionRefusal{predicate::otherFusion,
                             (reader->getName().getStringRef() + ", which reads " + what +
                              ", is part of fusion " + fusion.getPattern())
                                 .str()};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Whether swapping `a` and `b` could change what either sees. Observation has
/// no order among other effects: a point names its value.
static bool effectsConflict(Operation *a, Operation *b) {
  if (isa<ObserveOp>(a) || isa<ObserveOp>(b))
    return false;
  if (isMemoryEffectFree(a) || isMemoryEffectFree(b))
    return false;
  auto ofA = getEffectsRecursively(a), ofB = getEffectsRecursively(b);
  if (!ofA || !ofB)
    return true;
  for (const MemoryEffects::EffectInstance &x : *ofA)
    for (const MemoryEffects::EffectInstance &y : *ofB)
      if (x.getResource()->getResourceID() == y.getResource()->getResourceID() &&
          !(isa<MemoryEffects::Read>(x.getEffect()) && isa<MemoryEffects::Read>(y.getEffect())))
        return true;
  return false;
}

static bool readsAnyOf(Operation *op, const llvm::DenseSet<Operation *> &producers) {
  return op
      ->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *def = operand.getDefiningOp(); def && producers.contains(def))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
/// The fusion stands where its last op stood. Ops between the first and the
/// last that read one of its results move behind it, the others stay in front.
struct Placement {
  SmallVector<Operation *> behind;
  std::optional<FusionRefusal> obstacle;
};
} // namespace

/// " (at PLACE)": the first place in a model or file that the location names; empty without one.
static std::string placeOf(Location location) {
  std::string place;
  location->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part))
      place = name.getName().str();
    else if (auto file = dyn_cast<FileLineColLoc>(part))
      place = llvm::formatv("{0}:{1}:{2}", file.getFilename().getValue(), file.getLine(),
                            file.getColumn());
    return place.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return place.empty() ? "" : " (at " + place + ")";
}

/// `part` reads what one of `behind` makes, which read another part.
static FusionRefusal betweenParts(Operation *part, const llvm::DenseSet<Operation *> &behind) {
  Operation *between = nullptr;
  part->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && behind.contains(def))
        between = def;
  });
  return {predicate::convex, describeSource(between->getResult(0)) + ", outside of it" +
                                 placeOf(between->getLoc()) + ", reads one part and feeds another, " +
                                 part->getName().getStringRef().str()};
}

/// `ops` are in block order.
static Placement place(ArrayRef<Operation *> ops) {
  Placement placement;
  llvm::DenseSet<Operation *> fused(ops.begin(), ops.end()), fusedOrBehind = fused, behind;
  // What has effects and has left its place so far: an op that stays in front passes them all.
  SmallVector<Operation *> passed;
  for (Operation *op = ops.front(); op; op = op->getNextNode()) {
    bool isFused = fused.contains(op);
    if (isFused && readsAnyOf(op, behind)) {
      placement.obstacle = betweenParts(op, behind);
      return placement;
    }
    bool movesBehind = !isFused && readsAnyOf(op, fusedOrBehind);
    bool hasEffects = !isMemoryEffectFree(op);
    for (Operation *earlier : hasEffects ? ArrayRef(passed) : ArrayRef<Operation *>()) {
      // A fused op overtakes only what moves behind; the rest keeps its order.
      bool overtakes = isFused ? behind.contains(earlier) : !movesBehind;
      if (overtakes && effectsConflict(earlier, op)) {
        placement.obstacle = {predicate::effectOrder,
                              "it would change the order of " +
                                  earlier->getName().getStringRef().str() + " and " +
                                  op->getName().getStringRef().str()};
        return placement;
      }
    }
    if (movesBehind) {
      behind.insert(op);
      fusedOrBehind.insert(op);
      placement.behind.push_back(op);
    }
    if (hasEffects && (isFused || movesBehind))
      passed.push_back(op);
    if (op == ops.back())
      break;
  }
  return placement;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Bytes of one row of an activation; nothing for weights, state and batch.
static int64_t bytesPerToken(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() < 2)
    return 0;
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  for (int64_t dim : type.getShape().drop_front())
    bytes *= ShapedType::isDynamic(dim) ? 1 : dim;
  return bytes;
}

/// Whether the operation only says where values lie.
static bool isView(Operation *op) {
  if (auto take = dyn_cast<TakeOp>(op))
    return !take.getLayer();
  if (auto slice = dyn_cast<SliceOp>(op))
    return cast<RankedTensorType>(slice.getInput().getType()).getRank() == 2;
  return isa<SplitHeadsOp, MergeHeadsOp, WeightRowsOp>(op);
}

/// Bytes of activations that an op reads and writes for each token.
static int64_t trafficPerToken(Operation *op) {
  if (isView(op))
    return 0;
  // Of longer rows only the part is read.
  if (isa<SliceOp, TakeOp>(op))
    return 2 * bytesPerToken(op->getResult(0));
  int64_t bytes = 0;
  for (Value value : op->getOperands())
    bytes += bytesPerToken(value);
  for (Value value : op->getResults())
    bytes += bytesPerToken(value);
  return bytes;
}

/// What the body of a fusion reads of `value`: of a row that it only cuts up, the parts.
static int64_t bytesReadOf(Value value, const llvm::DenseSet<Operation *> &fused) {
  int64_t parts = 0;
  for (Operation *user : value.getUsers()) {
    if (!fused.contains(user))
      continue;
    if (!isa<SliceOp, TakeOp>(user))
      return bytesPerToken(value);
    parts += bytesPerToken(user->getResult(0));
  }
  return std::min(parts, bytesPerToken(value));
}

FusionCost llm::costOf(ArrayRef<Operation *> ops) {
  FusionCost cost;
  llvm::DenseSet<Operation *> fused(ops.begin(), ops.end());
  llvm::DenseSet<Value> inputs;
  int64_t launches = 0;
  for (Operation *op : ops) {
    launches += !isView(op);
    cost.bytesSaved += trafficPerToken(op);
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          (!def || !fused.contains(def)) && inputs.insert(operand).second)
        cost.bytesSaved -= bytesReadOf(operand, fused);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !fused.contains(user); }))
        cost.bytesSaved -= bytesPerToken(result);
  }
  cost.launchesSaved = std::max<int64_t>(launches - 1, 0);
  return cost;
}

double llm::secondsSaved(const FusionCost &cost, const FusionFigures &figures, int64_t tokens) {
  double bytes = double(cost.bytesSaved - cost.recomputedBytes) * double(tokens);
  double operations = double(cost.recomputedOperations) * double(tokens);
  bytes -= double(cost.weightBytes);
  return double(cost.launchesSaved) * figures.launchSeconds + bytes / figures.bytesPerSecond -
         operations / figures.operationsPerSecond;
}

std::optional<FusionRefusal> llm::judge(const FusionCost &cost, const FusionFigures &figures) {
  if (cost.registers > figures.vectorRegisters)
    return FusionRefusal{predicate::registers,
                         llvm::formatv("{0} vectors are alive at once, a thread holds {1}",
                                       cost.registers, figures.vectorRegisters),
                         {{"registers", cost.registers}, {"limit", figures.vectorRegisters}}};
  if (cost.scratchBytes > figures.threadBytes)
    return FusionRefusal{predicate::scratch,
                         llvm::formatv("rows of {0} bytes are kept between passes, a thread has {1}",
                                       cost.scratchBytes, figures.threadBytes),
                         {{"scratch_bytes", cost.scratchBytes}, {"limit", figures.threadBytes}}};
  for (int64_t tokens : judgedTokens) {
    double saved = secondsSaved(cost, figures, tokens);
    if (saved >= 0)
      continue;
    FusionRefusal refusal{
        predicate::cost,
        llvm::formatv("a step of {0} tokens would take {1} ns longer", tokens,
                      int64_t(-saved * 1e9)),
        {{"tokens", tokens},
         {"nanoseconds", int64_t(-saved * 1e9)},
         {"launches_saved", cost.launchesSaved},
         {"bytes_per_token_saved", cost.bytesSaved},
         {"bytes_per_token_recomputed", cost.recomputedBytes},
         {"operations_per_token_recomputed", cost.recomputedOperations}}};
    if (cost.weightBytes)
      refusal.numbers.push_back({"weight_bytes", cost.weightBytes});
    return refusal;
  }
  return std::nullopt;
}

/// A value inside that its type makes narrower than the f32 that a kernel keeps.
static std::optional<FusionRefusal> findRounding(ArrayRef<Operation *> ops) {
  llvm::DenseSet<Operation *> fused(ops.begin(), ops.end());
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      auto element = type ? dyn_cast<FloatType>(type.getElementType()) : FloatType();
      if (!element || element.getWidth() >= 32 ||
          llvm::none_of(result.getUsers(), [&](Operation *user) { return fused.contains(user); }))
        continue;
      std::string name;
      llvm::raw_string_ostream(name) << element;
      return FusionRefusal{predicate::roundingPoint,
                           op->getName().getStringRef().str() + " rounds to " + name +
                               ", inside a kernel its result would stay f32",
                           {{"bits", element.getWidth()}}};
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Fuser
//===----------------------------------------------------------------------===//

static StringRef functionOf(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName() : StringRef();
}

static std::string shortest(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

void Fuser::missed(Operation *op, const FusionRefusal &refusal) const {
  // Of a pattern that is off, nothing else is of interest; what it would have taken comes to `fuse`.
  if (!settings.enabled && refusal.predicate != predicate::enabled)
    return;
  // Lists of programs and tests are made from the table.
  const FusionPattern *known = findFusionPattern(pattern);
  if (known && !known->predicates.empty() && refusal.predicate != predicate::enabled &&
      !llvm::is_contained(known->predicates, refusal.predicate))
    emitWarning(op->getLoc()) << "fusion pattern '" << pattern << "' refuses by '"
                              << refusal.predicate
                              << "', which its row in the table of patterns does not list";
  auto remark = remark::missed(op->getLoc(), remark::RemarkOpts::name(pattern)
                                                 .category("fusion")
                                                 .function(functionOf(op)));
  remark << remark::reason("{0}", refusal.reason);
  remark << remark::metric("predicate", refusal.predicate);
  for (const FusionNumber &number : refusal.numbers)
    if (auto *whole = std::get_if<int64_t>(&number.second))
      remark << remark::metric(number.first, *whole);
    else
      remark << remark::metric(number.first, shortest(std::get<double>(number.second)));
}

FusionOp llm::makeFusion(OpBuilder &builder, ArrayRef<Operation *> ops, StringRef pattern) {
  llvm::DenseSet<Operation *> fused(ops.begin(), ops.end());
  llvm::SetVector<Value> inputs;
  SmallVector<Value> results;
  SmallVector<Location> locations;
  auto isOutside = [&](OpOperand &use) { return !fused.contains(use.getOwner()); };
  for (Operation *op : ops) {
    locations.push_back(op->getLoc());
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); !def || !fused.contains(def))
        inputs.insert(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUses(), isOutside))
        results.push_back(result);
  }

  Location loc = builder.getFusedLoc(locations);
  auto fusion = FusionOp::create(builder, loc, TypeRange(results), pattern, inputs.getArrayRef());
  Block *body = &fusion.getBody().emplaceBlock();
  for (auto [from, to] : llvm::zip_equal(results, fusion.getResults()))
    from.replaceUsesWithIf(to, isOutside);
  for (Operation *op : ops)
    op->moveBefore(body, body->end());
  for (Value input : inputs) {
    BlockArgument argument = body->addArgument(input.getType(), input.getLoc());
    input.replaceUsesWithIf(argument,
                            [&](OpOperand &use) { return fused.contains(use.getOwner()); });
  }
  builder.setInsertionPointToEnd(body);
  YieldOp::create(builder, loc, results);
  return fusion;
}

static SmallVector<Operation *> inBlockOrder(ArrayRef<Operation *> given) {
  SmallVector<Operation *> ops(given);
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
}

static FusionCost withMore(FusionCost cost, const FusionCost &more) {
  cost.recomputedBytes += more.recomputedBytes;
  cost.recomputedOperations += more.recomputedOperations;
  cost.weightBytes += more.weightBytes;
  cost.registers += more.registers;
  cost.scratchBytes += more.scratchBytes;
  return cost;
}

/// By everything but where the operations are.
static std::optional<FusionRefusal> checkWorth(ArrayRef<Operation *> ops, const FusionCost &more,
                                               const FusionSettings &settings) {
  if (!settings.acrossRounding)
    if (std::optional<FusionRefusal> refusal = findRounding(ops))
      return refusal;
  return judge(withMore(costOf(ops), more), settings.figures);
}

static std::optional<FusionRefusal> findOtherBlock(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (op->getBlock() != ops.front()->getBlock())
      return FusionRefusal{predicate::sameBlock, op->getName().getStringRef().str() + " and " +
                                                     ops.front()->getName().getStringRef().str() +
                                                     " are in different blocks"};
  return std::nullopt;
}

std::optional<FusionRefusal> Fuser::check(ArrayRef<Operation *> given,
                                          const FusionCost &more) const {
  if (std::optional<FusionRefusal> refusal = findOtherBlock(given))
    return refusal;
  SmallVector<Operation *> ops = inBlockOrder(given);
  if (Placement placement = place(ops); placement.obstacle)
    return placement.obstacle;
  return checkWorth(ops, more, settings);
}

FusionOp Fuser::fuse(ArrayRef<Operation *> given, const FusionCost &more) const {
  if (std::optional<FusionRefusal> refusal = findOtherBlock(given)) {
    missed(given.back(), *refusal);
    return {};
  }
  SmallVector<Operation *> ops = inBlockOrder(given);
  auto refuse = [&](const FusionRefusal &refusal) {
    missed(ops.back(), refusal);
    return FusionOp();
  };
  if (!settings.enabled)
    return refuse({predicate::enabled, "the pattern is disabled"});
  Placement placement = place(ops);
  if (placement.obstacle)
    return refuse(*placement.obstacle);
  if (std::optional<FusionRefusal> refusal = checkWorth(ops, more, settings))
    return refuse(*refusal);

  FusionCost cost = withMore(costOf(ops), more);
  Operation *last = ops.back();
  for (Operation *op : llvm::reverse(placement.behind))
    op->moveAfter(last);
  OpBuilder builder(last);
  FusionOp fusion = makeFusion(builder, ops, pattern);
  auto remark = remark::passed(fusion.getLoc(), remark::RemarkOpts::name(pattern)
                                                    .category("fusion")
                                                    .function(functionOf(fusion)));
  remark << remark::metric("ops", static_cast<int64_t>(ops.size()))
         << remark::metric("launches_saved", cost.launchesSaved)
         << remark::metric("bytes_per_token_saved", cost.bytesSaved);
  auto metric = [&](StringRef name, int64_t number) {
    if (number)
      remark << remark::metric(name, number);
  };
  metric("bytes_per_token_recomputed", cost.recomputedBytes);
  metric("operations_per_token_recomputed", cost.recomputedOperations);
  metric("weight_bytes", cost.weightBytes);
  metric("registers", cost.registers);
  metric("scratch_bytes", cost.scratchBytes);
  return fusion;
}
