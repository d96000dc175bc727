//===- SimplifyContext.cpp - bounds that no sequence reaches --------------===//
//
// A program is compiled for sequences of a longest length. Windows, chunks, thresholds and
// choices that are longer change nothing then, and positions from one on that no token has
// need no arithmetic.
//
//===----------------------------------------------------------------------===//
#include "Simplifier.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmc::llm;

/// Up to here every whole number is one of f32, and n / (n + 1) is below 1.
static constexpr int64_t exactNumbers = int64_t(1) << 24;

namespace {
class BoundDropper {
public:
  explicit BoundDropper(Simplifier &simplifier) : simplifier(simplifier) {}

  bool run() {
    simplifier.module.walk([&](Operation *op) {
      TypeSwitch<Operation *>(op)
          .Case([&](PagedAttentionOp attention) {
            dropWindow(attention);
            dropChunk(attention);
            dropSelection(attention);
          })
          .Case([&](JointAttentionOp attention) { dropWindow(attention); })
          .Case([&](RotaryOp rotary) { dropLong(rotary, rotary.getRope()); })
          .Case([&](EntryAppendOp append) {
            if (std::optional<RopeAttr> rope = append.getRope())
              dropLong(append, *rope);
          })
          .Case([&](BinaryOp product) { products.push_back(product); });
    });
    for (BinaryOp product : products)
      dropPositionScale(product);
    return changed;
  }

private:
  /// Whether a bound of `positions` is beyond every sequence, with a remark either way.
  bool isUnreached(StringRef name, Operation *op, int64_t positions, const Twine &what) {
    SimplifyNumber numbers[] = {{"positions", positions}, {"max_context", simplifier.maxContext}};
    if (!simplifier.permits(name, op))
      return false;
    if (positions < simplifier.maxContext) {
      (void)simplifier.missed(name, op, "max-context", what + " binds longer sequences", numbers);
      return false;
    }
    simplifier.passed(name, op, what + " binds no sequence", numbers);
    return changed = true;
  }

  template <typename Op>
  void dropWindow(Op op) {
    if (std::optional<uint64_t> window = op.getWindow();
        window && isUnreached("unreached-window", op, int64_t(*window), "the window"))
      op.removeWindowAttr();
  }

  void dropChunk(PagedAttentionOp op) {
    if (std::optional<uint64_t> chunk = op.getChunk();
        chunk && isUnreached("unreached-chunk", op, int64_t(*chunk), "the chunk"))
      op.removeChunkAttr();
  }

  /// A choice of as many positions as there are is of all of them.
  void dropSelection(PagedAttentionOp op) {
    if (!op.getSelection())
      return;
    auto select = op.getSelection().getDefiningOp<SelectPositionsOp>();
    if (select && isUnreached("unreached-selection", op, int64_t(select.getTop()), "the choice"))
      op.getSelectionMutable().clear();
  }

  void dropLong(Operation *op, RopeAttr rope) {
    if (!rope.hasLong() ||
        !isUnreached("unreached-frequencies", op, rope.getBeyond(), "the threshold"))
      return;
    op->setAttr("rope", RopeAttr::get(op->getContext(), rope.getType(), rope.getBase(),
                                      rope.getWidth(), rope.getPairing(), rope.getMagnitude(),
                                      rope.getFrequencies()));
  }

  /// 1 + scale * log(1 + floor((position + shift) / period)) is 1 in the first period.
  void dropPositionScale(BinaryOp product) {
    if (product.getFunction() != BinaryFunction::Mul)
      return;
    for (auto [factor, other] : {std::pair(product.getLhs(), product.getRhs()),
                                 std::pair(product.getRhs(), product.getLhs())}) {
      constexpr StringRef name = "unreached-position-scale";
      auto scale = factor.getDefiningOp<PositionScaleOp>();
      if (!scale || other.getType() != product.getType())
        continue;
      int64_t period = int64_t(scale.getPeriod());
      if (period > exactNumbers) {
        (void)simplifier.missed(name, product, "exact-quotient",
                                "positions just below the period are no f32 numbers",
                                {{"period", period}});
        continue;
      }
      if (!isUnreached(name, product, period - int64_t(scale.getShift()), "the period"))
        continue;
      product.getResult().replaceAllUsesWith(other);
      simplifier.notifyOperationErased(product);
      product.erase();
      return;
    }
  }

  Simplifier &simplifier;
  SmallVector<BinaryOp> products;
  bool changed = false;
};
} // namespace

bool llmc::llm::dropUnreachedBounds(Simplifier &simplifier) {
  bool changed = BoundDropper(simplifier).run();
  if (changed)
    eraseUnused(simplifier, /*report=*/false);
  return changed;
}

//===----------------------------------------------------------------------===//
// unread-state
//===----------------------------------------------------------------------===//

/// The operand that is a state to add to, of operations that do nothing else.
static OpOperand *appendedTo(Operation *op) {
  if (auto append = dyn_cast<KVAppendOp>(op))
    return &append.getCacheMutable();
  if (auto append = dyn_cast<EntryAppendOp>(op))
    return &append.getCacheMutable();
  return nullptr;
}

void llmc::llm::dropUnreadStates(Simplifier &simplifier) {
  constexpr StringRef name = "unread-state";
  ModuleOp module = simplifier.module;
  llvm::MapVector<Attribute, SmallVector<Operation *>> appendsOf;
  llvm::DenseSet<Attribute> read;
  module.walk([&](StateOp state) {
    Attribute family = state.getFamilyAttr().getAttr();
    for (OpOperand &use : state->getUses())
      if (appendedTo(use.getOwner()) == &use && use.getOwner()->use_empty())
        appendsOf[family].push_back(use.getOwner());
      else
        read.insert(family);
  });
  for (auto &[family, appends] : appendsOf) {
    if (read.contains(family))
      continue;
    auto symbol = module.lookupSymbol<StateFamilyOp>(cast<StringAttr>(family));
    if (!symbol || !simplifier.permits(name, symbol))
      continue;
    for (Operation *append : appends) {
      simplifier.passed(name, append, "nothing reads @" + symbol.getSymName());
      simplifier.notifyOperationErased(append);
      append->erase();
    }
    eraseUnused(simplifier, /*report=*/false);
    if (SymbolTable::symbolKnownUseEmpty(symbol, module))
      symbol.erase();
  }
}
