//===- PairQueue.h - neighbours that wait to be joined ----------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_PAIRQUEUE_H
#define LLMC_LIB_RUNTIME_TOKENIZER_PAIRQUEUE_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace llmc::rt {

/// A list of symbols, whose neighbours are joined in the order of a priority: the smallest
/// first, of equal ones the leftmost. A text of n symbols takes n log n steps, whatever it is.
template <typename Priority> class PairQueue {
public:
  static constexpr uint32_t none = ~uint32_t(0);

  struct Symbol {
    int32_t id;
    uint32_t previous, next; ///< none at the ends
    uint32_t begin;          ///< in the text
    uint32_t length;         ///< 0 once joined to its left neighbour
  };

  void clear() {
    symbols.clear();
    heap.clear();
  }

  void add(int32_t id, uint32_t begin, uint32_t length) {
    auto index = static_cast<uint32_t>(symbols.size());
    if (index)
      symbols.back().next = index;
    symbols.push_back({id, index ? index - 1 : none, none, begin, length});
  }

  void wait(Priority priority, uint32_t left, int32_t result) {
    const Symbol &a = symbols[left], &b = symbols[a.next];
    heap.push_back({priority, left, result, a.length, b.length});
    std::push_heap(heap.begin(), heap.end(), later);
  }

  /// \p consider is called with the left index of every pair of neighbours that there is or
  /// comes to be, and calls wait() where they may be joined.
  template <typename Consider> void run(Consider consider) {
    for (uint32_t i = 0; i + 1 < symbols.size(); ++i)
      consider(i);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Candidate best = heap.back();
      heap.pop_back();
      Symbol &left = symbols[best.left];
      // A neighbour has changed since: the pair is no more. Symbols only grow, so their
      // lengths tell.
      if (left.length != best.leftLength || left.next == none ||
          symbols[left.next].length != best.rightLength)
        continue;
      Symbol &right = symbols[left.next];
      left.id = best.result;
      left.length += right.length;
      right.length = 0;
      left.next = right.next;
      if (left.next != none)
        symbols[left.next].previous = best.left;
      if (left.previous != none)
        consider(left.previous);
      if (left.next != none)
        consider(best.left);
    }
  }

  std::vector<Symbol> symbols;

private:
  struct Candidate {
    Priority priority;
    uint32_t left;
    int32_t result;
    uint32_t leftLength, rightLength;
  };
  /// The order of a heap whose top is to be joined first.
  static bool later(const Candidate &a, const Candidate &b) {
    return a.priority != b.priority ? a.priority > b.priority : a.left > b.left;
  }

  std::vector<Candidate> heap;
};

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_PAIRQUEUE_H
