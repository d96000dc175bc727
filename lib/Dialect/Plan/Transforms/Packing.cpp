//===- Packing.cpp - offsets for intervals of bytes -----------------------===//
//
// Packing intervals is NP-hard. Greedy best fit by decreasing size reaches the
// bound on almost every model, because the large slices of a layer follow one
// another. The search is for the rest: it ends quickly on the dozens of slices of
// a layer and tells whether the bound can be reached at all.
//
//===----------------------------------------------------------------------===//

#include "llmc/Dialect/Plan/Transforms/Packing.h"

#include "llmc/Dialect/Plan/IR/PlanSize.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
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

/// Those of them where no other has all the items that are live there, and more.
static SmallVector<int64_t> getMaximalPoints(ArrayRef<PackItem> items) {
  // What is live at a point and not at the one before begins there; so a point is maximal where
  // some item ends before the next point.
  SmallVector<int64_t> points = getPoints(items), maximal;
  for (auto [i, point] : llvm::enumerate(points)) {
    int64_t next = i + 1 < points.size() ? points[i + 1] : std::numeric_limits<int64_t>::max();
    if (llvm::any_of(items, [&, at = point](const PackItem &item) {
          return item.first <= at && at <= item.last && item.last < next;
        }))
      maximal.push_back(point);
  }
  return maximal;
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

/// Where no order reaches the bound: items that stick out over the best result so far move
/// forward in the order, so that they find a place before others take it.
static void improveOrder(ArrayRef<PackItem> items, PackResult &best) {
  // A round compares each with each; thousands of slices get fewer.
  constexpr size_t kMostRounds = 256, kMostComparisons = size_t(1) << 26;
  size_t rounds = std::min(kMostRounds, kMostComparisons / (items.size() * items.size() + 1));
  SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, items.size()));
  llvm::stable_sort(order, [&](size_t a, size_t b) { return items[a].size > items[b].size; });
  for (size_t round = 0; round < rounds && best.bytes > best.lowerBound; ++round) {
    PackResult result = packInOrder(items, order);
    if (result.bytes < best.bytes) {
      best.bytes = result.bytes;
      best.offsets = result.offsets;
    }
    // To the front, and every other round halfway there.
    for (size_t place = 1; place < order.size(); ++place) {
      size_t index = order[place];
      if (saturatingAdd(result.offsets[index], items[index].size) < best.bytes)
        continue;
      auto from = order.begin() + place;
      std::rotate(order.begin() + (round % 2 ? place / 2 : 0), from, from + 1);
    }
  }
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
      : items(items), best(best), nodes(nodes), points(getMaximalPoints(items)),
        live(items.size()), offsets(items.size(), 0), isPlaced(items.size(), false),
        tops(points.size(), 0), open(points.size(), 0),
        bySize(llvm::to_vector(llvm::seq<size_t>(0, items.size()))) {
    for (auto [i, point] : llvm::enumerate(points))
      for (auto [index, item] : llvm::enumerate(items))
        if (item.first <= point && point <= item.last) {
          live[index].push_back(i);
          open[i] = saturatingAdd(open[i], item.size);
        }
    // Large items first: they decide early whether there is room. Empty ones lie at 0.
    llvm::stable_sort(bySize, [&](size_t a, size_t b) { return items[a].size > items[b].size; });
    while (!bySize.empty() && items[bySize.back()].size == 0)
      bySize.pop_back();
  }

  /// Whether the search went through every order that could be better.
  bool run() {
    place(/*numPlaced=*/0, /*lowest=*/0, /*previous=*/0);
    return nodes > 0;
  }

private:
  bool isDone() const { return nodes <= 0 || best.bytes == best.lowerBound; }

  /// At some step, what lies there and what is still to come, which goes above `lowest`,
  /// reach the best.
  bool isHopeless(int64_t lowest) const {
    for (size_t i = 0; i < points.size(); ++i)
      if (open[i] && saturatingAdd(std::max(tops[i], lowest), open[i]) >= best.bytes)
        return true;
    return false;
  }

  /// Where an item would lie now.
  int64_t getOffset(size_t index) const {
    int64_t offset = 0;
    for (size_t i : live[index])
      offset = std::max(offset, tops[i]);
    return offset;
  }

  void place(size_t numPlaced, int64_t lowest, size_t previous) {
    if (numPlaced == bySize.size()) {
      int64_t bytes = *llvm::max_element(tops);
      if (bytes >= best.bytes)
        return;
      best.bytes = bytes;
      best.offsets.assign(offsets.begin(), offsets.end());
      return;
    }
    // Among the best packings take one with the least sum of offsets. Whatever comes next in it
    // lies below the end that any other item would have if it came next: that one could be moved
    // down under it otherwise.
    SmallVector<std::pair<int64_t, size_t>> candidates;
    int64_t lowestEnd = std::numeric_limits<int64_t>::max();
    for (auto [rank, index] : llvm::enumerate(bySize)) {
      if (isPlaced[index])
        continue;
      int64_t offset = getOffset(index);
      lowestEnd = std::min(lowestEnd, saturatingAdd(offset, items[index].size));
      // Ascending offsets, and equal ones in one order only.
      if (offset > lowest || (offset == lowest && (numPlaced == 0 || rank > previous)))
        candidates.push_back({offset, rank});
    }
    llvm::sort(candidates);
    for (auto [offset, rank] : candidates) {
      if (isDone() || offset >= lowestEnd)
        return;
      size_t index = bySize[rank];
      const PackItem &item = items[index];
      --nodes;
      SmallVector<int64_t> savedTops(tops), savedOpen(open);
      for (size_t i : live[index]) {
        tops[i] = saturatingAdd(offset, item.size);
        open[i] -= item.size;
      }
      isPlaced[index] = true;
      offsets[index] = offset;
      if (!isHopeless(offset))
        place(numPlaced + 1, offset, rank);
      isPlaced[index] = false;
      tops = std::move(savedTops);
      open = std::move(savedOpen);
    }
  }

  ArrayRef<PackItem> items;
  PackResult &best;
  int64_t nodes;
  SmallVector<int64_t> points;
  /// Of each item, the points where it is live.
  SmallVector<SmallVector<size_t>> live;
  SmallVector<int64_t> offsets;
  SmallVector<bool> isPlaced;
  /// For each point, the end of the highest placed item that is live there, and
  /// the sum of the sizes still to be placed there.
  SmallVector<int64_t> tops, open;
  /// Indices of the items, the largest first; a rank is a place in here.
  SmallVector<size_t> bySize;
};

} // namespace

PackResult llmc::plan::packItems(ArrayRef<PackItem> items, int64_t searchNodes) {
  PackResult result = packGreedily(items);
  result.lowerBound = getLowerBound(items);
  result.optimal = result.bytes == result.lowerBound;
  if (result.optimal || searchNodes <= 0)
    return result;
  improveOrder(items, result);
  // The depth of the search is the number of items; a plan of hundreds of slices
  // would not finish anyway.
  constexpr size_t kMostSearched = 256;
  result.optimal = result.bytes == result.lowerBound;
  if (result.optimal || items.size() > kMostSearched)
    return result;
  bool finished = Search(items, result, searchNodes).run();
  result.optimal = finished || result.bytes == result.lowerBound;
  return result;
}
