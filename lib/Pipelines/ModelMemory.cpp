//===- ModelMemory.cpp - weights and state as the model has them ----------===//
#include "ModelMemory.h"

#include "llmc/Dialect/LLM/Analysis/StateWindows.h"
#include "llmc/Dialect/Plan/IR/PlanSize.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;

namespace llmc {

using namespace llm;
using plan::saturatingMul;

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

StringRef StatePart::name() const {
  bool hasValues = type.getShape().size() > 2 && type.getShape()[2] > 0;
  switch (type.getKind()) {
  case CacheKind::Paged:
  case CacheKind::Window:
    return "keys and values";
  case CacheKind::Latent:
    return hasValues ? "latent" : "index keys";
  case CacheKind::Entries:
    return hasValues ? "entries" : "index entries";
  case CacheKind::Recurrent:
    return "recurrent";
  case CacheKind::Conv:
    return "convolution";
  }
  llvm_unreachable("closed enum");
}

/// The state that a cache value is a version of.
static StateOp stateBehind(Value cache) {
  while (cache) {
    Operation *op = cache.getDefiningOp();
    if (auto state = dyn_cast_or_null<StateOp>(op))
      return state;
    if (auto append = dyn_cast_or_null<KVAppendOp>(op))
      cache = append.getCache();
    else if (auto append = dyn_cast_or_null<EntryAppendOp>(op))
      cache = append.getCache();
    else
      return {};
  }
  return {};
}

namespace {
/// What reads the state of one layer.
struct Readers {
  bool any = false, seesAll = false;
  int64_t window = 0, queryHeads = 0;
};
} // namespace

SmallVector<StatePart> statePartsOf(ModuleOp module) {
  std::map<std::pair<std::string, int64_t>, Readers> readers;
  for (auto &[function, layers] : layersOfFunctions(module)) {
    auto read = [&, &layers = layers](Value cache, Value query, int64_t window) {
      StateOp state = stateBehind(cache);
      if (!state)
        return;
      IntegerAttr fixed;
      bool isOther = state.getLayer() && matchPattern(state.getLayer(), m_Constant(&fixed));
      for (int64_t layer : isOther ? SmallVector<int64_t>{fixed.getInt()} : layers) {
        Readers &found = readers[{state.getFamily().str(), layer}];
        found.any = true;
        found.seesAll |= window == 0;
        found.window = std::max(found.window, window);
        auto shape = cast<RankedTensorType>(query.getType()).getShape();
        found.queryHeads = std::max(found.queryHeads, shape[1]);
      }
    };
    function.walk([&](Operation *op) {
      TypeSwitch<Operation *>(op)
          .Case([&](PagedAttentionOp op) { read(op.getCache(), op.getQuery(), attentionWindow(op)); })
          .Case([&](SelectPositionsOp op) { read(op.getCache(), op.getQuery(), 0); })
          .Case([&](SelectEntriesOp op) { read(op.getCache(), op.getQuery(), 0); })
          .Case([&](JointAttentionOp op) {
            read(op.getCache(), op.getQuery(), op.getWindow().value_or(0));
            read(op.getEntries(), op.getQuery(), 0);
          });
    });
  }
  llvm::StringMap<LayerWindows> windows = findStateWindows(module);
  SmallVector<StatePart> parts;
  for (auto family : module.getOps<StateFamilyOp>()) {
    size_t first = parts.size();
    const LayerWindows &rings = windows[family.getSymName()];
    for (int64_t layer : family.getLayers().expand()) {
      const Readers &found = readers[{family.getSymName().str(), layer}];
      int64_t window = found.any && !found.seesAll ? found.window : 0;
      auto ring = rings.find(layer);
      int64_t ringWindow = ring == rings.end() ? 0 : ring->second;
      auto same = std::find_if(parts.begin() + first, parts.end(), [&](const StatePart &part) {
        return part.window == window && part.ringWindow == ringWindow &&
               part.queryHeads == found.queryHeads;
      });
      if (same == parts.end())
        same = parts.insert(same, StatePart{cast<CacheType>(family.getType()), {}, window,
                                            ringWindow, found.queryHeads});
      same->layers.push_back(layer);
    }
  }
  return parts;
}

/// Positions of a sequence that are kept.
static int64_t keptTokens(const StatePart &part, const StateExtent &extent) {
  bool bound = extent.boundByWindow && part.window;
  return bound ? std::min(part.window, extent.tokens) : extent.tokens;
}

int64_t stateBytes(const StatePart &part, const StateExtent &extent) {
  ArrayRef<int64_t> shape = part.type.getShape();
  int64_t heads = extent.heads ? extent.heads : shape[0], tokens = keptTokens(part, extent);
  auto product = [](std::initializer_list<int64_t> factors) {
    int64_t result = 1;
    for (int64_t factor : factors)
      result = saturatingMul(result, factor);
    return result;
  };
  switch (part.type.getKind()) {
  case CacheKind::Paged:
  case CacheKind::Window:
    return product({extent.layers, extent.sequences, tokens, heads, shape[1] + shape[2],
                    extent.elementBytes});
  case CacheKind::Latent:
    return product({extent.layers, extent.sequences, tokens, heads, shape[1], extent.elementBytes});
  case CacheKind::Entries:
    return product({extent.layers, extent.sequences, tokens / shape[0], shape[1],
                    extent.elementBytes});
  case CacheKind::Recurrent:
    return product({extent.layers, extent.sequences, heads, shape[1], shape[2], 4});
  case CacheKind::Conv:
    return product({extent.layers, extent.sequences, heads, shape[1], 4});
  }
  llvm_unreachable("closed enum");
}

std::string stateFormula(const StatePart &part, const StateExtent &extent) {
  ArrayRef<int64_t> shape = part.type.getShape();
  int64_t heads = extent.heads ? extent.heads : shape[0], tokens = keptTokens(part, extent);
  std::string sequences =
      extent.sequences == 1 ? "" : llvm::formatv(" x {0} sequences", extent.sequences).str();
  std::string begin = llvm::formatv("{0} layers{1}", extent.layers, sequences).str();
  std::string tokensText =
      llvm::formatv(" x {0} tokens{1}", tokens,
                    extent.isRing ? llvm::formatv(" of a ring for the window of {0}", part.ringWindow).str()
                    : tokens < extent.tokens ? " of the window"
                                             : "");
  switch (part.type.getKind()) {
  case CacheKind::Paged:
  case CacheKind::Window:
    if (shape[1] == shape[2])
      return llvm::formatv("2 x {0}{1} x {2} kv heads x {3} x {4} bytes", begin, tokensText, heads,
                           shape[1], extent.elementBytes);
    return llvm::formatv("{0}{1} x {2} kv heads x ({3} + {4}) x {5} bytes", begin, tokensText,
                         heads, shape[1], shape[2], extent.elementBytes);
  case CacheKind::Latent:
    return llvm::formatv("{0}{1} x {2} x {3} bytes", begin, tokensText, heads * shape[1],
                         extent.elementBytes);
  case CacheKind::Entries:
    return llvm::formatv("{0} x ({1} tokens / {2}) x {3} x {4} bytes", begin, tokens, shape[0],
                         shape[1], extent.elementBytes);
  case CacheKind::Recurrent:
    return llvm::formatv("{0} x {1} heads x {2} x {3} x 4 bytes", begin, heads, shape[1],
                         shape[2]);
  case CacheKind::Conv:
    return llvm::formatv("{0} x {1} channels x {2} x 4 bytes", begin, heads, shape[1]);
  }
  llvm_unreachable("closed enum");
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

SmallVector<int64_t> WeightPart::layers() const {
  LayersAttr layers = WeightFamilyOp(family).getLayersAttr();
  return layers ? layers.expand() : SmallVector<int64_t>();
}

/// Whether a product only scores experts: every device needs all of it.
static bool feedsRoute(Value result) {
  return llvm::any_of(result.getUsers(), [](Operation *user) { return isa<RouteOp>(user); });
}

static WeightPart::Split splitOf(ParamOp param) {
  using Split = WeightPart::Split;
  Split split = Split::None;
  for (Operation *user : param.getResult().getUsers())
    TypeSwitch<Operation *>(user)
        .Case<OutputHeadOp, EmbeddingOp>([&](auto) { split = Split::Vocabulary; })
        .Case([&](LinearOp product) {
          if (product.getWeight() == param.getResult() && !feedsRoute(product.getResult()))
            split = Split::Product;
        })
        .Case([&](HeadLinearOp) { split = Split::Product; })
        .Case([&](ExpertLinearOp product) {
          if (product.getWeight() == param.getResult())
            split = Split::Experts;
        });
  return split;
}

SmallVector<WeightPart> weightPartsOf(ModuleOp module) {
  SmallVector<WeightPart> parts;
  llvm::StringMap<size_t> places;
  for (auto family : module.getOps<WeightFamilyOp>()) {
    places[family.getSymName()] = parts.size();
    parts.push_back(WeightPart{family});
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    Operation *firstRepeat = nullptr;
    for (Operation &op : function.getBody().front())
      if (!firstRepeat && isa<RepeatOp>(op))
        firstRepeat = &op;
    bool isEntry = function->hasAttr("llm.entry");
    function.walk([&](ParamOp param) {
      auto place = places.find(param.getFamily());
      if (place == places.end())
        return;
      WeightPart &part = parts[place->second];
      WeightPart::Split split = splitOf(param);
      part.split = std::max(part.split, split);
      part.inside |= !isEntry;
      for (Operation *user : param.getResult().getUsers())
        if (isEntry && user->getBlock() == &function.getBody().front())
          (!firstRepeat || user->isBeforeInBlock(firstRepeat) ? part.before : part.behind) = true;
    });
  }
  return parts;
}

} // namespace llmc
