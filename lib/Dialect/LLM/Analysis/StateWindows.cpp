//===- StateWindows.cpp - how far back state is read ----------------------===//
#include "llmc/Dialect/LLM/Analysis/StateWindows.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace llmc::llm {

int64_t attentionWindow(PagedAttentionOp attention) {
  int64_t window = attention.getWindow().value_or(0), chunk = attention.getChunk().value_or(0);
  return !window ? chunk : !chunk ? window : std::min(window, chunk);
}

llvm::MapVector<func::FuncOp, SmallVector<int64_t>> layersOfFunctions(ModuleOp module) {
  llvm::MapVector<func::FuncOp, SmallVector<int64_t>> layers;
  module.walk([&](RepeatOp repeat) {
    int64_t period = int64_t(repeat.getCallees().size());
    for (auto [j, callee] : llvm::enumerate(repeat.getCallees().getAsRange<FlatSymbolRefAttr>()))
      if (auto function = module.lookupSymbol<func::FuncOp>(callee))
        for (int64_t r = 0; r < int64_t(repeat.getCount()); ++r)
          layers[function].push_back(int64_t(repeat.getFrom()) + r * period + int64_t(j));
  });
  return layers;
}

namespace {

constexpr int64_t kWhole = 0, kUnread = -1;

/// Of two readers.
int64_t farther(int64_t a, int64_t b) {
  return a == kUnread ? b : b == kUnread ? a : a == kWhole || b == kWhole ? kWhole : std::max(a, b);
}

/// What everything that uses a version of the state sees.
int64_t windowOf(Value cache) {
  int64_t window = kUnread;
  for (OpOperand &use : cache.getUses()) {
    int64_t seen =
        llvm::TypeSwitch<Operation *, int64_t>(use.getOwner())
            .Case([&](KVAppendOp append) {
              return append.getCache() == cache ? windowOf(append.getResult()) : kWhole;
            })
            .Case([](PagedAttentionOp attention) { return attentionWindow(attention); })
            .Case([&](FusionOp fusion) {
              return windowOf(fusion.getBody().front().getArgument(use.getOperandNumber()));
            })
            .Case([&](YieldOp yield) {
              return windowOf(yield->getParentOp()->getResult(use.getOperandNumber()));
            })
            // Joint attention reads entries of all positions by the same blocks; choices are made
            // among all positions.
            .Default([](Operation *) { return kWhole; });
    window = farther(window, seen);
  }
  return window;
}

/// State of some layers, which is used in one place of the program.
struct Place {
  StringRef family;
  SmallVector<int64_t> layers;
  int64_t window;
};

} // namespace

llvm::StringMap<LayerWindows> findStateWindows(ModuleOp module) {
  SmallVector<Place> places;
  auto layers = layersOfFunctions(module);
  module.walk([&](StateOp state) {
    IntegerAttr other;
    bool isOther = state.getLayer() && matchPattern(state.getLayer(), m_Constant(&other));
    places.push_back({state.getFamily(),
                      isOther ? SmallVector<int64_t>{other.getInt()}
                              : layers.lookup(state->getParentOfType<func::FuncOp>()),
                      windowOf(state.getResult())});
  });
  // Layers that share a place are alike, which may reach further layers by another place.
  llvm::StringMap<LayerWindows> windows;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Place &place : places) {
      LayerWindows &known = windows[place.family];
      int64_t window = place.window;
      for (int64_t layer : place.layers)
        window = farther(window, known.try_emplace(layer, kUnread).first->second);
      for (int64_t layer : place.layers)
        changed |= std::exchange(known[layer], window) != window;
    }
  }
  for (auto &family : windows)
    std::erase_if(family.second, [](const auto &entry) { return entry.second <= 0; });
  return windows;
}

} // namespace llmc::llm
