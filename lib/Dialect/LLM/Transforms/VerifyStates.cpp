//===- VerifyStates.cpp - who appends to state, and who reads it ----------===//
#include "VerifyStates.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "mlir/IR/Matchers.h"
#include <map>

using namespace mlir;
using namespace llmc::llm;

/// Whether the op appends to `state`, by itself or in a fusion's body.
static bool appendsTo(OpOperand &use) {
  if (auto append = dyn_cast<KVAppendOp>(use.getOwner()))
    return &append.getCacheMutable() == &use;
  if (auto append = dyn_cast<EntryAppendOp>(use.getOwner()))
    return &append.getCacheMutable() == &use;
  // A recurrent op takes nothing but its own state.
  if (isa<CausalConvOp, TokenShiftOp, LinearAttentionOp, PoolTokensOp>(use.getOwner()))
    return isa<CacheType>(use.get().getType());
  auto fusion = dyn_cast<FusionOp>(use.getOwner());
  if (!fusion)
    return false;
  BlockArgument inner = fusion.getBody().getArgument(use.getOperandNumber());
  return llvm::any_of(inner.getUses(), appendsTo);
}

static bool readsFrom(OpOperand &use) {
  if (isa<PagedAttentionOp, SelectPositionsOp, SelectEntriesOp, JointAttentionOp>(use.getOwner()))
    return true;
  auto fusion = dyn_cast<FusionOp>(use.getOwner());
  if (!fusion)
    return false;
  BlockArgument inner = fusion.getBody().getArgument(use.getOperandNumber());
  return llvm::any_of(inner.getUses(), readsFrom);
}

static LogicalResult refuseRead(Operation *reader, Operation *append) {
  auto diagnostic = reader->emitOpError("reads a state before it is appended to: what it sees of a "
                                        "prompt would depend on the steps that the prompt comes in");
  diagnostic.attachNote(append->getLoc()) << "the append, whose result holds this step's tokens too";
  return failure();
}

/// Of `versions`, which all are the same state, one is appended to, once; all else is used in front
/// and reads nothing.
static LogicalResult verifyOneVersion(ArrayRef<Value> versions) {
  SmallVector<Operation *> appends;
  SmallVector<OpOperand *> others;
  for (Value version : versions)
    for (OpOperand &use : version.getUses()) {
      if (appendsTo(use))
        appends.push_back(use.getOwner());
      else
        others.push_back(&use);
    }
  if (appends.empty())
    return success();
  // Uses come in no particular order: the first append is the one that counts.
  for (Operation *&other : llvm::drop_begin(appends))
    if (other->getBlock() == appends.front()->getBlock() && other->isBeforeInBlock(appends.front()))
      std::swap(other, appends.front());
  Operation *append = appends.front();
  if (appends.size() > 1) {
    auto diagnostic = appends[1]->emitOpError("appends to a state that is appended to already");
    diagnostic.attachNote(append->getLoc()) << "the other append";
    return failure();
  }
  for (OpOperand *other : others) {
    Operation *ancestor = append->getBlock()->findAncestorOpInBlock(*other->getOwner());
    if (ancestor && ancestor->isBeforeInBlock(append)) {
      if (readsFrom(*other))
        return refuseRead(other->getOwner(), append);
      continue;
    }
    auto diagnostic = other->getOwner()->emitOpError("uses a state after it was appended to");
    diagnostic.attachNote(append->getLoc()) << "the append, whose result is the state from here on";
    return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Over layers
//===----------------------------------------------------------------------===//

namespace {
/// An op that uses the state of one layer as it stands before the step.
struct Use {
  Operation *op;
  int64_t layer;
  /// When: layer l runs at 2 l + 1, an op of the entry behind n layers at 2 n.
  int64_t time;
};

class StateOrder {
public:
  StateOrder(ModuleOp module, FunctionOpInterface entry, const LayerTable &layers)
      : module(module), entry(entry), layers(layers) {}

  LogicalResult verify() {
    module.walk([&](StateOp state) { note(state); });
    for (auto &[family, uses] : families)
      if (!uses.isOpaque && failed(verify(family, uses)))
        return failure();
    return success();
  }

private:
  struct Family {
    SmallVector<Use> appends, reads;
    /// Of some op it is not known whose state it uses.
    bool isOpaque = false;
  };

  int64_t timeInEntry(Operation *op) {
    int64_t before = 0;
    Block &block = entry.getFunctionBody().front();
    Operation *place = block.findAncestorOpInBlock(*op);
    for (auto repeat : block.getOps<RepeatOp>())
      if (place && repeat->isBeforeInBlock(place))
        before += int64_t(repeat.getCount()) * int64_t(repeat.getCallees().size());
    return 2 * before;
  }

  void note(StateOp state) {
    Family &family = families[state.getFamilyAttr()];
    auto function = state->getParentOfType<FunctionOpInterface>();
    IntegerAttr number;
    auto index = dyn_cast<BlockArgument>(state.getLayer());
    bool isFixed = matchPattern(state.getLayer(), m_Constant(&number));
    auto runs = layers.find(function);
    bool ofLayer = index && index.getArgNumber() == 0 && runs != layers.end() &&
                   index.getOwner() == &function.getFunctionBody().front();
    if (!isFixed && !ofLayer) {
      family.isOpaque = true;
      return;
    }
    for (OpOperand &use : state->getUses()) {
      if (!appendsTo(use) && !readsFrom(use))
        continue;
      SmallVector<Use> &uses = appendsTo(use) ? family.appends : family.reads;
      Operation *op = use.getOwner();
      if (function == entry)
        uses.push_back({op, number.getInt(), timeInEntry(op)});
      else if (runs != layers.end())
        for (int64_t layer : runs->second)
          uses.push_back({op, isFixed ? number.getInt() : layer, 2 * layer + 1});
    }
  }

  LogicalResult verify(Attribute name, Family &family) {
    std::map<int64_t, Use> appends;
    for (const Use &append : family.appends) {
      auto [known, isNew] = appends.try_emplace(append.layer, append);
      if (isNew)
        continue;
      auto diagnostic = append.op->emitOpError("appends to layer ")
                        << append.layer << " of family " << name
                        << ", which is appended to already in the same step";
      diagnostic.attachNote(known->second.op->getLoc()) << "the other append";
      return failure();
    }
    for (const Use &read : family.reads) {
      auto append = appends.find(read.layer);
      if (append == appends.end())
        return read.op->emitOpError("reads layer ")
               << read.layer << " of family " << name << ", to which nothing appends";
      const Use &other = append->second;
      Operation *place = other.op->getBlock()->findAncestorOpInBlock(*read.op);
      if (other.time > read.time ||
          (other.time == read.time && place && place->isBeforeInBlock(other.op)))
        return refuseRead(read.op, other.op);
    }
    return success();
  }

  ModuleOp module;
  FunctionOpInterface entry;
  const LayerTable &layers;
  llvm::MapVector<Attribute, Family> families;
};
} // namespace

LogicalResult llmc::llm::verifyStates(ModuleOp module, FunctionOpInterface entry,
                                      const LayerTable &layers) {
  // Two llm.state of one layer of one family are one state.
  llvm::MapVector<std::tuple<Operation *, Attribute, Value>, SmallVector<Value>> states;
  llvm::DenseSet<Attribute> appended;
  SmallVector<StateOp> readAsTheyWere;
  LogicalResult result = success();
  module.walk([&](Operation *op) {
    if (auto state = dyn_cast<StateOp>(op)) {
      auto function = op->getParentOfType<FunctionOpInterface>();
      states[{function, state.getFamilyAttr(), state.getLayer()}].push_back(state);
      if (llvm::any_of(state->getUses(), appendsTo))
        appended.insert(state.getFamilyAttr());
      else if (llvm::any_of(state->getUses(), readsFrom))
        readAsTheyWere.push_back(state);
      return;
    }
    SmallVector<Value> values(op->getResults());
    if (auto fusion = dyn_cast<FusionOp>(op))
      llvm::append_range(values, fusion.getBody().getArguments());
    for (Value value : values)
      if (isa<CacheType>(value.getType()) && failed(verifyOneVersion(value)))
        result = failure();
  });
  for (auto &[key, versions] : states)
    if (failed(verifyOneVersion(versions)))
      result = failure();
  for (StateOp state : readAsTheyWere)
    if (!appended.contains(state.getFamilyAttr()))
      result = state.emitOpError()
               << "is read but nothing appends to family " << state.getFamilyAttr();
  return failed(result) ? result : StateOrder(module, entry, layers).verify();
}
