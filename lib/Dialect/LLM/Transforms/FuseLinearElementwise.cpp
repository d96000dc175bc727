//===- FuseLinearElementwise.cpp - a product and what is done to it -------===//
//
// A match starts with one product and grows downwards over element-wise operations on values
// of its shape. Where another product of the same input meets it, the two are computed side by
// side. Of all that was reached the largest part with a single result is fused.
//
//===----------------------------------------------------------------------===//
#include "llmc/Dialect/LLM/IR/Elements.h"
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSELINEARELEMENTWISEPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

static bool isProduct(Operation *op) {
  return isa_and_present<LinearOp, OutputHeadOp, ExpertLinearOp>(op);
}

static bool isElementwise(Operation *op) {
  return isa_and_present<ScaleOp, OffsetOp, ClampOp, SoftcapOp, ActivationOp, GateOp, BinaryOp,
                         ResidualAddOp>(op);
}

static WeightType weightOf(Operation *product) {
  return TypeSwitch<Operation *, WeightType>(product)
      .Case<LinearOp, OutputHeadOp, ExpertLinearOp>(
          [](auto op) { return cast<WeightType>(op.getWeight().getType()); });
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether an epilogue can read `value` beside rows of `type`: it has the same shape or one
/// element for all of a row, or is a vector of weights.
static bool standsBeside(Value value, RankedTensorType type) {
  ArrayRef<int64_t> shape = typeOf(value).getShape(), row = type.getShape();
  if (shape == row)
    return true;
  if (weightBehind(value))
    return ShapedType::getNumElements(shape.drop_front()) == row.back() &&
           shape.back() == row.back();
  // One element a row; a value of rank 2 beside one of rank 3 has one a head.
  return row.size() == 3 && shape.size() == 2 ? shape[1] == row[1]
                                              : shape.size() == row.size() && shape.back() == 1 &&
                                                    shape.drop_back() == row.drop_back();
}

namespace {

/// Products and element-wise operations that one kernel would compute.
class Match {
public:
  explicit Match(Operation *product) : type(typeOf(product->getResult(0))), ops{product} {
    members.insert(product);
  }

  /// Adds what can be computed behind the products and `check` has nothing against.
  void grow(llvm::function_ref<std::optional<FusionRefusal>(ArrayRef<Operation *>)> check);

  ArrayRef<Operation *> best() const { return largest; }
  /// Why nothing, or no more, was found.
  const std::optional<FusionRefusal> &obstacle() const { return reason; }
  bool hasPair() const { return paired; }

private:
  bool has(Value value) const {
    Operation *def = value.getDefiningOp();
    return def && members.contains(def);
  }
  bool escapes(Operation *op) const {
    return llvm::any_of(op->getUsers(), [&](Operation *user) { return !members.contains(user); });
  }
  bool isCompatible(Operation *other) const;
  bool findProduct(Value value, SmallVectorImpl<Operation *> &path) const;
  bool take(Operation *op);

  RankedTensorType type;
  SmallVector<Operation *> ops, largest;
  llvm::DenseSet<Operation *> members;
  std::optional<FusionRefusal> reason;
  bool paired = false;
};

} // namespace

/// Whether `other` and the first product read the same rows and have weights of one layout.
bool Match::isCompatible(Operation *other) const {
  Operation *product = ops.front();
  if (paired || isa<OutputHeadOp>(product) || product->getName() != other->getName() ||
      typeOf(other->getResult(0)) != type || product->getOperand(0) != other->getOperand(0) ||
      weightOf(product).getStorage() != weightOf(other).getStorage())
    return false;
  auto expert = dyn_cast<ExpertLinearOp>(product);
  return !expert || (expert.getChoice() == cast<ExpertLinearOp>(other).getChoice() &&
                     weightOf(product).getShape() == weightOf(other).getShape());
}

/// The way from a compatible product to `value`, over operations that nothing else reads.
bool Match::findProduct(Value value, SmallVectorImpl<Operation *> &path) const {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != ops.front()->getBlock() || !value.hasOneUse())
    return false;
  bool found = isProduct(op) && isCompatible(op);
  if (isElementwise(op) && typeOf(value) == type)
    for (Value operand : op->getOperands())
      if (found || !findProduct(operand, path)) {
        if (!standsBeside(operand, type))
          return false;
      } else {
        found = true;
      }
  if (found)
    path.push_back(op);
  return found;
}

/// Adds an operation behind what is there, and the other product that it may need.
bool Match::take(Operation *op) {
  if (typeOf(op->getResult(0)) != type) {
    reason = {predicate::sameShape, op->getName().getStringRef().str() +
                                        " has rows of another shape than the product"};
    return false;
  }
  SmallVector<Operation *> path;
  for (Value operand : op->getOperands()) {
    if (has(operand) || (!paired && path.empty() && findProduct(operand, path)))
      continue;
    path.clear();
    if (!standsBeside(operand, type)) {
      reason = {predicate::sameShape, op->getName().getStringRef().str() + " reads rows of " +
                                          describeSource(operand) +
                                          " that do not stand beside those of the product"};
      return false;
    }
  }
  paired |= !path.empty();
  path.push_back(op);
  for (Operation *added : path) {
    ops.push_back(added);
    members.insert(added);
  }
  return true;
}

void Match::grow(llvm::function_ref<std::optional<FusionRefusal>(ArrayRef<Operation *>)> check) {
  for (Operation *op = ops.front()->getNextNode(); op; op = op->getNextNode()) {
    if (members.contains(op) || !llvm::any_of(op->getOperands(), [&](Value v) { return has(v); }))
      continue;
    if (!isElementwise(op) || !take(op))
      continue;
    unsigned results = llvm::count_if(ops, [&](Operation *member) { return escapes(member); });
    if (results == 1 && escapes(op)) {
      std::optional<FusionRefusal> refusal = check(ops);
      if (!refusal)
        largest = ops;
      else if (!reason)
        reason = refusal;
    } else if (results > 1 && !reason) {
      reason = {predicate::singleUse, "a value inside has another use than what is behind it"};
    }
  }
}

namespace {
struct FuseLinearElementwisePass
    : FusionPassOver<llmc::llm::impl::FuseLinearElementwisePassBase<FuseLinearElementwisePass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("linear-elementwise", settings());
    SmallVector<Operation *> products;
    for (LinearOp op : collectUnfused<LinearOp>(getOperation()))
      products.push_back(op);
    for (ExpertLinearOp op : collectUnfused<ExpertLinearOp>(getOperation()))
      products.push_back(op);
    for (OutputHeadOp op : collectUnfused<OutputHeadOp>(getOperation()))
      products.push_back(op);
    for (Operation *product : products)
      if (!product->getParentOfType<FusionOp>())
        fuseBehind(product, fuser);
  }

  void fuseBehind(Operation *product, Fuser &fuser) {
    auto readers = llvm::make_filter_range(product->getUsers(), isElementwise);
    if (readers.empty())
      return reportLost(product, fuser);
    Operation *reader = *readers.begin();
    if (reader->getBlock() != product->getBlock())
      return fuser.missed(reader, predicate::sameBlock, "the product is made in another block");
    Match match(product);
    match.grow([&](ArrayRef<Operation *> ops) { return fuser.check(ops); });
    ArrayRef<Operation *> ops = match.best();
    if (ops.empty())
      return fuser.missed(reader, match.obstacle().value_or(FusionRefusal{
                                      predicate::singleUse,
                                      "the product has another use than the operation"}));
    if (isOfOtherPattern(ops, match.hasPair()))
      return;
    Operation *last = ops.back();
    if (llvm::any_of(last->getUsers(), llvm::IsaPred<RouteOp>))
      return fuser.missed(last, predicate::otherFusion, "the values choose experts (router)");
    if (!match.hasPair() && hasSibling(product))
      return fuser.missed(last, predicate::otherFusion,
                          "another product of the input is stored alike (qkv-linear)");
    fuser.fuse(ops);
  }

  /// Says where another fusion has what would be done to a product, or where only a sum over ranks
  /// stands between; gates, activations and residual adds have patterns of their own.
  static void reportLost(Operation *product, Fuser &fuser) {
    auto isWanted = [](Operation *op) {
      return isElementwise(op) && !isa<GateOp, ActivationOp, ResidualAddOp>(op);
    };
    if (auto refusal = refuseFusedReader("the product", product->getResult(0), isWanted))
      return fuser.missed(product, *refusal);
    for (Operation *sum : product->getUsers())
      for (Operation *reader : sum->getUsers())
        if (isSumOverRanks(sum->getResult(0)) && isElementwise(reader) &&
            !isa<ActivationOp, ResidualAddOp>(reader))
          return fuser.missed(reader, refuseSource("the input comes", sum->getResult(0)));
  }

  /// What patterns of a name of their own take, or leave for a reason that they report.
  static bool isOfOtherPattern(ArrayRef<Operation *> ops, bool hasPair) {
    if (hasPair)
      return ops.size() == 3 && isa<GateOp>(ops.back());
    if (ops.size() != 2)
      return false;
    auto add = dyn_cast<ResidualAddOp>(ops.back());
    return isa<ActivationOp>(ops.back()) || (add && add.getDelta() == ops[0]->getResult(0) &&
                                             isa<LinearOp>(ops[0]));
  }

  /// Whether the product would be computed together with another one.
  static bool hasSibling(Operation *product) {
    return isa<LinearOp>(product) &&
           llvm::any_of(product->getOperand(0).getUsers(), [&](Operation *other) {
             return other != product && isa<LinearOp>(other) &&
                    other->getBlock() == product->getBlock() &&
                    other->getOperand(0) == product->getOperand(0) &&
                    weightOf(other).getStorage() == weightOf(product).getStorage() &&
                    llvm::none_of(other->getUsers(), llvm::IsaPred<GateOp>);
           });
  }
};
} // namespace
