//===- Plan.cpp - mistakes of passes on the plan dialect ------------------===//
#include "Miscompile.h"

#include "llmc/Dialect/Plan/IR/PlanOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmc::plan;

namespace llmc::test {

static ProgramOp programOf(ModuleOp module) { return *module.getOps<ProgramOp>().begin(); }

/// The first op of that kind for which `change` returns true.
template <typename Op> static bool changeFirst(ModuleOp module, function_ref<bool(Op)> change) {
  return module
      .walk([&](Op op) { return change(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

static SmallVector<UseAttr> usesOf(LaunchOp launch) {
  return llvm::to_vector(launch.getUsesAttr().getAsRange<UseAttr>());
}

static void setUses(LaunchOp launch, ArrayRef<UseAttr> uses) {
  launch.setUsesAttr(Builder(launch->getContext())
                         .getArrayAttr(SmallVector<Attribute>(uses.begin(), uses.end())));
}

/// The use with another symbol.
static UseAttr withSymbol(UseAttr use, StringRef symbol) {
  return UseAttr::get(use.getContext(), symbol, use.getAccess(), use.getLayer(), use.getFixed());
}

/// The first launch of a repeat with a use that `change` replaces.
static bool changeUse(ModuleOp module, function_ref<UseAttr(LaunchOp, UseAttr)> change) {
  return changeFirst<LaunchOp>(module, [&](LaunchOp launch) {
    if (!isa<plan::RepeatOp>(launch->getParentOp()))
      return false;
    SmallVector<UseAttr> uses = usesOf(launch);
    for (UseAttr &use : uses)
      if (UseAttr other = change(launch, use); other && other != use) {
        use = other;
        setUses(launch, uses);
        return true;
      }
    return false;
  });
}

template <typename Op> static Op lookup(ModuleOp module, UseAttr use) {
  return SymbolTable::lookupNearestSymbolFrom<Op>(&programOf(module).getBody().front().front(),
                                                  use.getSymbol());
}

//===----------------------------------------------------------------------===//
// convert-llm-to-plan
//===----------------------------------------------------------------------===//

/// Two steps of a layer change places.
static bool exchangeLaunches(ModuleOp module) {
  return changeFirst<LaunchOp>(module, [](LaunchOp launch) {
    auto next = dyn_cast_or_null<LaunchOp>(launch->getNextNode());
    if (!next || !isa<plan::RepeatOp>(launch->getParentOp()))
      return false;
    launch->moveAfter(next);
    return true;
  });
}

/// The last step of a layer, which adds to the stream in place, is lost.
static bool dropLaunch(ModuleOp module) {
  LaunchOp last;
  module.walk([&](LaunchOp launch) {
    if (isa<plan::RepeatOp>(launch->getParentOp()))
      last = launch;
  });
  if (last)
    last.erase();
  return bool(last);
}

static bool dropAppend(ModuleOp module) {
  return changeFirst<LaunchOp>(module, [&](LaunchOp launch) {
    for (UseAttr use : usesOf(launch))
      if (use.writes() && lookup<StateOp>(module, use)) {
        launch.erase();
        return true;
      }
    return false;
  });
}

/// All layers keep their state in that of one.
static bool shareState(ModuleOp module) {
  bool any = false;
  for (int i = 0; i < 2; ++i) // the append and the attention
    any |= changeUse(module, [&](LaunchOp launch, UseAttr use) -> UseAttr {
      auto state = lookup<StateOp>(module, use);
      if (!state || !use.getLayer())
        return {};
      auto repeat = cast<plan::RepeatOp>(launch->getParentOp());
      return UseAttr::get(use.getContext(), use.getSymbol().getValue(), use.getAccess(),
                          std::nullopt, int64_t(repeat.getFrom() + *use.getLayer()));
    });
  return any;
}

/// All layers read the weights of one.
static bool shareWeights(ModuleOp module) {
  return changeUse(module, [&](LaunchOp launch, UseAttr use) -> UseAttr {
    auto weights = lookup<WeightsOp>(module, use);
    if (!weights || !use.getLayer())
      return {};
    auto repeat = cast<plan::RepeatOp>(launch->getParentOp());
    return UseAttr::get(use.getContext(), use.getSymbol().getValue(), use.getAccess(),
                        std::nullopt, int64_t(repeat.getFrom() + *use.getLayer()));
  });
}

/// A step reads other weights of the same form.
static bool otherWeights(ModuleOp module) {
  return changeUse(module, [&](LaunchOp, UseAttr use) -> UseAttr {
    auto weights = lookup<WeightsOp>(module, use);
    for (auto other : programOf(module).getOps<WeightsOp>())
      if (weights && other != weights && other.getLayersAttr() == weights.getLayersAttr() &&
          other.getRows() == weights.getRows() && other.getCols() == weights.getCols() &&
          other.getLayout() == weights.getLayout() && other.getLayersAttr())
        return withSymbol(use, other.getSymName());
    return {};
  });
}

/// Sources of one length that are packed together change places.
static bool exchangeSources(ModuleOp module) {
  return changeFirst<WeightsOp>(module, [](WeightsOp weights) {
    SmallVector<Attribute> sources(weights.getSources().getValue());
    for (size_t i = 0; i + 1 < sources.size(); ++i)
      if (cast<SourceAttr>(sources[i]).getRows() == cast<SourceAttr>(sources[i + 1]).getRows()) {
        std::swap(sources[i], sources[i + 1]);
        weights.setSourcesAttr(ArrayAttr::get(weights.getContext(), sources));
        return true;
      }
    return false;
  });
}

/// A value that is still needed is overwritten: a later value of the same size takes its slice.
static bool reuseBuffer(ModuleOp module) {
  auto slices = llvm::to_vector(programOf(module).getOps<SliceOp>());
  auto written = [&](SliceOp slice, LaunchOp &where) {
    return module
        .walk([&](LaunchOp launch) {
          for (UseAttr use : usesOf(launch))
            if (use.getAccess() == Access::Write &&
                use.getSymbol().getValue() == slice.getSymName() &&
                isa<plan::RepeatOp>(launch->getParentOp())) {
              where = launch;
              return WalkResult::interrupt();
            }
          return WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (SliceOp kept : slices)
    for (SliceOp later : slices) {
      LaunchOp writer;
      if (kept == later || kept.getSize() != later.getSize() || !written(later, writer))
        continue;
      bool together = llvm::any_of(usesOf(writer), [&](UseAttr use) {
        return use.getSymbol().getValue() == kept.getSymName();
      });
      // Read again in the layer, behind the step that overwrites it.
      bool needed = false;
      for (Operation *op = writer->getNextNode(); op; op = op->getNextNode())
        if (auto launch = dyn_cast<LaunchOp>(op))
          for (UseAttr use : usesOf(launch))
            needed |= use.reads() && use.getSymbol().getValue() == kept.getSymName();
      if (together || !needed)
        continue;
      module.walk([&](LaunchOp launch) {
        SmallVector<UseAttr> uses = usesOf(launch);
        bool mixes = llvm::any_of(uses, [&](UseAttr use) {
          return use.getSymbol().getValue() == kept.getSymName();
        });
        for (UseAttr &use : uses)
          if (!mixes && use.getSymbol().getValue() == later.getSymName())
            use = withSymbol(use, kept.getSymName());
        setUses(launch, uses);
      });
      return true;
    }
  return false;
}

/// Some work items of a step are not done.
static bool dropItems(ModuleOp module) {
  return changeFirst<LaunchOp>(module, [](LaunchOp launch) {
    ItemsAttr items = launch.getItems();
    if (items.getFactor() < 2)
      return false;
    launch.setItemsAttr(ItemsAttr::get(launch.getContext(), items.getFactor() - 1, items.getOf(),
                                       items.getTile(), items.getPlus()));
    return true;
  });
}

/// Items are counted by outputs where tokens count.
static bool otherItems(ModuleOp module) {
  return changeFirst<LaunchOp>(module, [](LaunchOp launch) {
    ItemsAttr items = launch.getItems();
    if (items.getOf() != Extent::Tokens || !isa<plan::RepeatOp>(launch->getParentOp()))
      return false;
    launch.setItemsAttr(ItemsAttr::get(launch.getContext(), items.getFactor(), Extent::Outputs,
                                       items.getTile(), items.getPlus()));
    return true;
  });
}

/// A number somewhere below `attribute` changes; null where there is none.
static Attribute changeNumber(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValue().isZero()
               ? Attribute()
               : FloatAttr::get(number.getType(), number.getValueAsDouble() * 1.5);
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    SmallVector<Attribute> parts(list.getValue());
    for (Attribute &part : parts)
      if (Attribute changed = changeNumber(part)) {
        part = changed;
        return ArrayAttr::get(list.getContext(), parts);
      }
  }
  if (auto fields = dyn_cast<DictionaryAttr>(attribute)) {
    SmallVector<NamedAttribute> parts(fields.getValue());
    for (NamedAttribute &part : parts)
      if (Attribute changed = changeNumber(part.getValue())) {
        part.setValue(changed);
        return DictionaryAttr::get(fields.getContext(), parts);
      }
  }
  return {};
}

/// A kernel is asked for another constant: a scale, an epsilon.
static bool otherConstant(ModuleOp module) {
  return changeFirst<KernelOp>(module, [](KernelOp kernel) {
    Attribute config = kernel->getAttr("plan.config");
    Attribute changed = config ? changeNumber(config) : Attribute();
    if (changed)
      kernel->setAttr("plan.config", changed);
    return bool(changed);
  });
}

/// Logits are those of the first rows.
static bool otherOutput(ModuleOp module) {
  return changeFirst<OutputOp>(module, [&](OutputOp output) {
    for (auto slice : programOf(module).getOps<SliceOp>())
      if (slice.getSymName() != output.getSlice() && slice.getArena() == "activations") {
        output.setSlice(slice.getSymName());
        return true;
      }
    return false;
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void setLive(SliceOp slice, int64_t first, int64_t last) {
  slice.setLiveAttr(LiveAttr::get(slice.getContext(), first, last));
}

/// A slice dies before its last reader.
static bool shortenLife(ModuleOp module) {
  return changeFirst<SliceOp>(module, [](SliceOp slice) {
    LiveAttr live = slice.getLiveAttr();
    if (live.getLast() == live.getFirst())
      return false;
    setLive(slice, live.getFirst(), live.getLast() - 1);
    return true;
  });
}

/// A slice's life begins behind its writer.
static bool delayLife(ModuleOp module) {
  return changeFirst<SliceOp>(module, [](SliceOp slice) {
    LiveAttr live = slice.getLiveAttr();
    if (live.getLast() == live.getFirst())
      return false;
    setLive(slice, live.getFirst() + 1, live.getLast());
    return true;
  });
}

/// Two slices that live together get one address.
static bool overlapSlices(ModuleOp module) {
  auto slices = llvm::to_vector(programOf(module).getOps<SliceOp>());
  for (SliceOp a : slices)
    for (SliceOp b : slices)
      if (a != b && a.getArena() == b.getArena() && a.getLiveAttr().overlaps(b.getLiveAttr()) &&
          a.getOffset() != b.getOffset() && a.getOffset() < b.getOffset()) {
        b.setOffset(*a.getOffset());
        return true;
      }
  return false;
}

/// The same, and their lives are said not to meet.
static bool hideOverlap(ModuleOp module) {
  auto slices = llvm::to_vector(programOf(module).getOps<SliceOp>());
  for (SliceOp a : slices)
    for (SliceOp b : slices)
      if (a != b && a.getArena() == b.getArena() && a.getLiveAttr().overlaps(b.getLiveAttr()) &&
          a.getOffset() < b.getOffset() && a.getLiveAttr().getFirst() < b.getLiveAttr().getFirst()) {
        b.setOffset(*a.getOffset());
        setLive(a, a.getLiveAttr().getFirst(), b.getLiveAttr().getFirst() - 1);
        return true;
      }
  return false;
}

/// The end of a slice lies behind its arena.
static bool leaveArena(ModuleOp module) {
  SliceOp highest;
  for (auto slice : programOf(module).getOps<SliceOp>())
    if (!highest || slice.getOffset() > highest.getOffset())
      highest = slice;
  highest.setOffset(*highest.getOffset() + (1 << 20));
  return true;
}

static bool overlapWeights(ModuleOp module) {
  auto weights = llvm::to_vector(programOf(module).getOps<WeightsOp>());
  if (weights.size() < 2)
    return false;
  weights[1].setBase(*weights[0].getBase());
  return true;
}

/// Members of a family lie closer than they are long.
static bool shortenStride(ModuleOp module) {
  return changeFirst<WeightsOp>(module, [](WeightsOp weights) {
    if (!weights.getLayersAttr() || *weights.getStride() < 128)
      return false;
    weights.setStride(*weights.getStride() - 64);
    return true;
  });
}

/// A state gets fewer bytes than its members take.
static bool shrinkState(ModuleOp module) {
  return changeFirst<ArenaOp>(module, [](ArenaOp arena) {
    if (arena.getKind() != ArenaKind::State)
      return false;
    std::optional<Size> size = Size::fromMap(*arena.getSize());
    for (int64_t &term : size->terms)
      term /= 2;
    arena.setSize(size->getMap(arena.getContext()));
    return true;
  });
}

/// A kernel says that it may be launched otherwise than it is.
static bool otherContract(ModuleOp module) {
  return changeFirst<KernelOp>(module, [](KernelOp kernel) {
    auto contract = cast<ContractAttr>(kernel.getContractsAttr()[0]);
    ItemsAttr items = contract.getItems();
    auto more = ItemsAttr::get(kernel.getContext(), items.getFactor() + 1, items.getOf(),
                               items.getTile(), items.getPlus());
    kernel.setContractsAttr(ArrayAttr::get(
        kernel.getContext(), {ContractAttr::get(kernel.getContext(), more, contract.getOperands())}));
    return true;
  });
}

ArrayRef<Miscompilation> planMiscompilations() {
  static constexpr llvm::StringLiteral convert("convert-llm-to-plan"), pack("plan-pack-arenas"),
      live("plan-assign-liveness");
  static const Miscompilation table[] = {
      {"launches-exchanged", convert, "two steps of a layer change places", "qwen3", exchangeLaunches},
      {"launch-dropped", convert, "the last step of a layer is lost", "qwen3", dropLaunch},
      {"append-dropped", convert, "nothing is appended to the state", "qwen3", dropAppend},
      {"state-shared", convert, "all layers keep their state in that of one", "qwen3", shareState},
      {"weights-shared", convert, "all layers read the weights of one", "qwen3", shareWeights},
      {"weights-of-another", convert, "a step reads other weights of the same form", "qwen3", otherWeights},
      {"sources-exchanged", convert, "rows packed together change places", "qwen3", exchangeSources},
      {"buffer-reused", convert, "a value that is still needed is overwritten", "gemma3", reuseBuffer},
      {"items-dropped", convert, "some work items of a step are not done", "qwen3", dropItems},
      {"items-of-outputs", convert, "a step counts outputs where it should count tokens", "qwen3", otherItems},
      {"constant-changed", convert, "a kernel is made with another epsilon", "qwen3", otherConstant},
      {"output-exchanged", convert, "the output is another slice", "qwen3", otherOutput},
      {"life-shortened", live, "a slice dies before its last reader", "qwen3", shortenLife},
      {"life-delayed", live, "a slice lives from behind its writer on", "qwen3", delayLife},
      {"slices-overlap", pack, "two slices that live together get one address", "qwen3", overlapSlices},
      {"overlap-hidden", pack, "the same, and one is said to be dead", "qwen3", hideOverlap},
      {"slice-outside", pack, "a slice ends behind its arena", "qwen3", leaveArena},
      {"weights-overlap", pack, "two weights get one address", "qwen3", overlapWeights},
      {"stride-short", pack, "weights of layers lie closer than they are long", "qwen3", shortenStride},
      {"state-shrunk", pack, "the state's arena is half as large as its members", "qwen3", shrinkState},
      {"contract-changed", "plan-derive-contracts", "a kernel may be launched otherwise than it is", "qwen3", otherContract},
  };
  return table;
}

} // namespace llmc::test
