//===- StopStrings.cpp - ends a stream of text at given strings -----------===//
#include "llmc/Runtime/StopStrings.h"

#include "llmc/Support/Error.h"

#include <deque>

namespace llmc::rt {

StopStrings::StopStrings(std::vector<std::string> list) : strings(std::move(list)) {
  constexpr size_t maxBytes = 16 << 10;
  size_t total = 0;
  for (size_t i = 0; i < strings.size(); ++i) {
    total += strings[i].size();
    if (strings[i].empty())
      throw UsageError("Stop string " + std::to_string(i) + " is empty.");
    if (total > maxBytes)
      throw UsageError("The stop strings have more than " + std::to_string(maxBytes) +
                       " bytes in all.");
    uint32_t at = 0;
    for (char byte : strings[i]) {
      uint32_t next = child(at, byte);
      if (!next) {
        next = static_cast<uint32_t>(states.size());
        states[at].next.emplace_back(byte, next);
        uint32_t depth = states[at].depth + 1;
        states.emplace_back().depth = depth;
      }
      at = next;
    }
    if (states[at].string < 0)
      states[at].string = static_cast<int32_t>(i);
  }

  // Breadth first, so that the fallback of a state is ready before the state.
  std::deque<uint32_t> queue{0};
  while (!queue.empty()) {
    uint32_t parent = queue.front();
    queue.pop_front();
    for (auto [byte, node] : states[parent].next) {
      states[node].fallback = parent ? step(states[parent].fallback, byte) : 0;
      if (states[node].string < 0)
        states[node].string = states[states[node].fallback].string;
      queue.push_back(node);
    }
  }
}

uint32_t StopStrings::child(uint32_t from, char byte) const {
  for (auto [label, node] : states[from].next)
    if (label == byte)
      return node;
  return 0;
}

uint32_t StopStrings::step(uint32_t from, char byte) const {
  while (true) {
    if (uint32_t next = child(from, byte))
      return next;
    if (from == 0)
      return 0;
    from = states[from].fallback;
  }
}

std::string StopStrings::push(std::string_view text) {
  if (matched)
    return {};
  for (char byte : text) {
    held += byte;
    state = step(state, byte);
    if (int32_t index = states[state].string; index >= 0) {
      matched = static_cast<size_t>(index);
      held.resize(held.size() - strings[*matched].size());
      std::string shown = std::move(held);
      held.clear();
      return shown;
    }
  }
  std::string shown = held.substr(0, held.size() - states[state].depth);
  held.erase(0, shown.size());
  return shown;
}

std::string StopStrings::flush() {
  state = 0;
  return std::exchange(held, {});
}

void StopStrings::reset() {
  state = 0;
  held.clear();
  matched.reset();
}

} // namespace llmc::rt
