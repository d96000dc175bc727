//===- Packing.cpp - offsets for intervals of bytes -----------------------===//
//
// Packing intervals is NP-hard. Greedy best fit by decreasing size reaches the
// bound on almost every model, because the large slices of a layer follow one
// another. The search is for the rest: it ends quickly on the dozen slices of a
// layer and tells whether the bound can be reached at all.
//
//===----------------------------------------------------------------------===//

#include "Packing.h"
#include "llmc/Dialect/Plan/IR/PlanSize.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace llmc::plan;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Steps at which items begin; sums of live sizes are largest at one of them.
static SmallVector<int64_t> getPoints(ArrayRef<PackItem> items) {
  SmallVector<int64_t> points;
  for (const PackItem &item : items)
    points.push_back(item.first);
  llvm::sort(points);
  points.erase(llvm::unique(points), points.end());
  return points;
}

static int64_t getLowerBound(ArrayRef<PackItem> items) {
  int64_t bound = 0;
  for (int64_t point : getPoints(items)) {
    int64_t live = 0;
    for (const PackItem &item : items)
      if (item.first <= point && point <= item.last)
        live = saturatingAdd(live, item.size);
    bound = std::max(bound, live);
  }
  return bound;
}

//===----------------------------------------------------------------------===//
// Greedy
//===----------------------------------------------------------------------===//

/// Places items in the given order, each into the tightest gap between the
/// interfering items that are placed, or above them.
static PackResult packInOrder(ArrayRef<PackItem> items, ArrayRef<size_t> order) {
  PackResult result;
  result.offsets.assign(items.size(), 0);
  SmallVector<size_t> placed; // by offset
  for (size_t index : order) {
    const PackItem &item = items[index];
    int64_t top = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
    for (size_t other : placed) {
      if (!item.interferes(items[other]))
        continue;
      int64_t gap = result.offsets[other] - top;
      if (gap >= item.size && gap < bestGap) {
        best = top;
        bestGap = gap;
      }
      top = std::max(top, saturatingAdd(result.offsets[other], items[other].size));
    }
    int64_t offset = best >= 0 ? best : top;
    result.offsets[index] = offset;
    result.bytes = std::max(result.bytes, saturatingAdd(offset, item.size));
    auto position = llvm::upper_bound(placed, offset, [&](int64_t value, size_t other) {
      return value < result.offsets[other];
    });
    placed.insert(position, index);
  }
  return result;
}

/// The best of three orders: by size, by size and length of life, by length.
static PackResult packGreedily(ArrayRef<PackItem> items) {
  auto length = [](const PackItem &item) { return item.last - item.first + 1; };
  auto area = [&](const PackItem &item) { return saturatingMul(item.size, length(item)); };
  SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, items.size()));
  PackResult best;
  auto consider = [&](auto key) {
    llvm::sort(order, [&](size_t a, size_t b) {
      return std::pair(key(items[b]), a) < std::pair(key(items[a]), b);
    });
    PackResult result = packInOrder(items, order);
    if (best.offsets.empty() || result.bytes < best.bytes)
      best = std::move(result);
  };
  consider([&](const PackItem &item) { return std::pair(item.size, length(item)); });
  consider([&](const PackItem &item) { return area(item); });
  consider([&](const PackItem &item) { return std::pair(length(item), item.size); });
  return best;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

namespace {

/// Branch and bound over placement orders. In a packing where nothing can be
/// pushed down, every item lies at 0 or on top of an interfering item below it;
/// so placing items by ascending offset, each on top of what interferes, reaches
/// every such packing, and among them one of the least size.
class Search {
public:
  Search(ArrayRef<PackItem> items, PackResult &best, int64_t nodes)
      : items(items), best(best), nodes(nodes), points(getPoints(items)),
        offsets(items.size(), 0), isPlaced(items.size(), false), tops(points.size(), 0),
        open(points.size(), 0) {
    for (auto [i, point] : llvm::enumerate(points))
      for (const PackItem &item : items)
        if (isLive(item, point))
          open[i] = saturatingAdd(open[i], item.size);
  }

  /// Whether the search went through every order.
  bool run() {
    place(/*numPlaced=*/0, /*lowest=*/0, /*previous=*/0);
    return nodes > 0;
  }

private:
  static bool isLive(const PackItem &item, int64_t point) {
    return item.first <= point && point <= item.last;
  }

  bool isDone() const { return nodes <= 0 || best.bytes == best.lowerBound; }

  /// At some step, what lies there and what is still to come reach the best.
  bool isHopeless() const {
    for (size_t i = 0; i < points.size(); ++i)
      if (saturatingAdd(tops[i], open[i]) >= best.bytes)
        return true;
    return false;
  }

  void place(size_t numPlaced, int64_t lowest, size_t previous) {
    if (numPlaced == items.size()) {
      best.bytes = llvm::max_element(tops)[0];
      best.offsets.assign(offsets.begin(), offsets.end());
      return;
    }
    for (size_t index = 0; index < items.size() && !isDone(); ++index) {
      if (isPlaced[index])
        continue;
      const PackItem &item = items[index];
      int64_t offset = 0;
      for (size_t i = 0; i < points.size(); ++i)
        if (isLive(item, points[i]))
          offset = std::max(offset, tops[i]);
      // Ascending offsets, and equal ones in one order only.
      if (offset < lowest || (numPlaced && offset == lowest && index < previous))
        continue;
      --nodes;
      SmallVector<int64_t> savedTops(tops), savedOpen(open);
      for (size_t i = 0; i < points.size(); ++i) {
        if (!isLive(item, points[i]))
          continue;
        tops[i] = saturatingAdd(offset, item.size);
        open[i] -= item.size;
      }
      isPlaced[index] = true;
      offsets[index] = offset;
      if (!isHopeless())
        place(numPlaced + 1, offset, index);
      isPlaced[index] = false;
      tops = std::move(savedTops);
      open = std::move(savedOpen);
    }
  }

  ArrayRef<PackItem> items;
  PackResult &best;
  int64_t nodes;
  SmallVector<int64_t> points;
  SmallVector<int64_t> offsets;
  SmallVector<bool> isPlaced;
  /// For each point, the end of the highest placed item that is live there, and
  /// the sum of the sizes still to be placed there.
  SmallVector<int64_t> tops, open;
};

} // namespace

PackResult llmc::plan::packItems(ArrayRef<PackItem> items, int64_t searchNodes) {
  PackResult result = packGreedily(items);
  result.lowerBound = getLowerBound(items);
  result.optimal = result.bytes == result.lowerBound;
  // The depth of the search is the number of items; a plan of hundreds of slices
  // would not finish anyway.
  constexpr size_t kMostSearched = 256;
  if (result.optimal || searchNodes <= 0 || items.size() > kMostSearched)
    return result;
  bool finished = Search(items, result, searchNodes).run();
  result.optimal = finished || result.bytes == result.lowerBound;
  return result;
}
