//===- FusionUtils.cpp - what the fusion passes share ---------------------===//
#include "FusionUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

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
  std::string obstacle;
};
} // namespace

/// `ops` are in block order.
static Placement place(ArrayRef<Operation *> ops) {
  Placement placement;
  llvm::DenseSet<Operation *> fused(ops.begin(), ops.end()), fusedOrBehind = fused, behind;
  // What has left its place so far: an op that stays in front passes them all.
  SmallVector<Operation *> passed;
  for (Operation *op = ops.front(); op; op = op->getNextNode()) {
    bool isFused = fused.contains(op);
    if (isFused && readsAnyOf(op, behind)) {
      placement.obstacle = "an op that reads one part feeds another";
      return placement;
    }
    bool movesBehind = !isFused && readsAnyOf(op, fusedOrBehind);
    for (Operation *earlier : passed) {
      // A fused op overtakes only what moves behind; the rest keeps its order.
      bool overtakes = isFused ? behind.contains(earlier) : !movesBehind;
      if (overtakes && effectsConflict(earlier, op)) {
        placement.obstacle = "it would change the order of " +
                             earlier->getName().getStringRef().str() + " and " +
                             op->getName().getStringRef().str();
        return placement;
      }
    }
    if (movesBehind) {
      behind.insert(op);
      fusedOrBehind.insert(op);
      placement.behind.push_back(op);
    }
    if (isFused || movesBehind)
      passed.push_back(op);
    if (op == ops.back())
      break;
  }
  return placement;
}

//===----------------------------------------------------------------------===//
// Gain
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

/// Bytes of activations that an op reads and writes for each token.
static int64_t trafficPerToken(Operation *op) {
  int64_t bytes = 0;
  for (Value value : op->getOperands())
    bytes += bytesPerToken(value);
  for (Value value : op->getResults())
    bytes += bytesPerToken(value);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Fuser
//===----------------------------------------------------------------------===//

static StringRef functionOf(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName() : StringRef();
}

void Fuser::missed(Operation *op, const Twine &reason) const {
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name(pattern).category("fusion").function(functionOf(op)))
      << remark::reason("{0}", reason.str());
}

/// Moves `ops` into the body of a new fusion in front of `before`.
static FusionOp moveIntoFusion(OpBuilder &builder, ArrayRef<Operation *> ops, StringRef pattern) {
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

FusionOp Fuser::fuse(ArrayRef<Operation *> given) {
  SmallVector<Operation *> ops(given);
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  if (!enabled) {
    missed(ops.back(), "the pattern is disabled");
    return {};
  }
  Placement placement = place(ops);
  if (!placement.obstacle.empty()) {
    missed(ops.back(), placement.obstacle);
    return {};
  }

  int64_t before = 0;
  for (Operation *op : ops)
    before += trafficPerToken(op);
  Operation *last = ops.back();
  for (Operation *op : llvm::reverse(placement.behind))
    op->moveAfter(last);
  OpBuilder builder(last);
  FusionOp fusion = moveIntoFusion(builder, ops, pattern);
  remark::passed(fusion.getLoc(),
                 remark::RemarkOpts::name(pattern).category("fusion").function(functionOf(fusion)))
      << remark::metric("ops", static_cast<int64_t>(ops.size()))
      << remark::metric("launches_saved", static_cast<int64_t>(ops.size()) - 1)
      << remark::metric("bytes_per_token_saved", before - trafficPerToken(fusion));
  return fusion;
}
