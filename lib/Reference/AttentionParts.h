//===- AttentionParts.h - what the rules of attention share -----*- C++ -*-===//
#ifndef LLMC_LIB_REFERENCE_ATTENTIONPARTS_H
#define LLMC_LIB_REFERENCE_ATTENTIONPARTS_H

#include "Parallel.h"

#include "llmc/Reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#pragma STDC FP_CONTRACT OFF

namespace llmc::reference {

/// A tensor of heads must be [tokens of the batch, heads, width].
template <typename T>
llvm::Error checkHeads(const HostTensor<T> &x, const Batch &batch, OpContext<T> &context) {
  if (x.rank() == 3 && x.rows() == batch.tokens())
    return llvm::Error::success();
  return context.error("needs [tokens, heads, width] for the batch's " +
                       llvm::Twine(batch.tokens()) + " tokens, the operand is " +
                       shapeText(x.shape));
}

/// Calls `body(row, sequence, position)` for every token of the batch.
template <typename Body> void forEachToken(const Batch &batch, const Body &body) {
  int64_t row = 0;
  for (const BatchSequence &sequence : batch.sequences)
    for (int64_t i = 0; i < sequence.count; ++i)
      body(row++, sequence, sequence.start + i);
}

template <typename T>
llvm::Error checkCurrent(const CacheHandle<T> &cache, OpContext<T> &context) {
  if (cache.isCurrent())
    return llvm::Error::success();
  return context.error("uses the state '" + cache.state->name +
                       "' as it was before a later append");
}

/// A step appends where the state of each sequence ends, or writes over what is there.
template <typename T>
llvm::Error checkAppend(const Batch &batch, const CacheState<T> &state, OpContext<T> &context) {
  for (const BatchSequence &sequence : batch.sequences) {
    auto it = state.sequences.find(sequence.id);
    int64_t length = it == state.sequences.end() ? 0 : it->second.length;
    if (sequence.start > length)
      return context.error("appends at position " + llvm::Twine(sequence.start) +
                           " of sequence " + llvm::Twine(sequence.id) + ", whose state holds " +
                           llvm::Twine(length) + " positions");
  }
  return llvm::Error::success();
}

/// Turns the channels of a token's heads in place: `x` is the first of them, of the first head,
/// and heads are `distance` apart.
template <typename T>
void turnHeads(llm::RopeAttr rope, bool isLong, int64_t position, T *x, int64_t heads,
               int64_t distance) {
  llvm::ArrayRef<float> frequencies =
      (isLong ? rope.getLongFrequencies() : rope.getFrequencies()).asArrayRef();
  bool halves = rope.getPairing() == llm::RopePairing::Halves;
  int64_t pairs = rope.getWidth() / 2;
  T magnitude = T(rope.getMagnitude());
  for (int64_t j = 0; j < pairs; ++j) {
    T angle = T(float(position)) * T(frequencies[size_t(j)]);
    T c = std::cos(angle) * magnitude, s = std::sin(angle) * magnitude;
    int64_t a = halves ? j : 2 * j, b = halves ? j + pairs : 2 * j + 1;
    for (T *head = x; head < x + heads * distance; head += distance) {
      T first = head[a], second = head[b];
      head[a] = first * c - second * s;
      head[b] = second * c + first * s;
    }
  }
}

/// Positions that one update of the running softmax takes.
inline constexpr int64_t softmaxBlock = 64;

/// The positions that a token sees, ascending: a range, or those that were selected.
struct SeenPositions {
  int64_t first = 0, count = 0;
  const int64_t *selected = nullptr;

  int64_t operator[](int64_t i) const { return selected ? selected[i] : first + i; }
};

/// One query head against the positions that it sees.
template <typename T> struct HeadAttention {
  /// Key and value of position j lie at `j * stride`.
  const T *keys, *values;
  int64_t keyStride, valueStride;
  int64_t keyWidth, valueWidth;
  T scale;
  /// 0: none.
  T softcap;
  /// By distance; 0: none.
  T slope = 0;
  /// A logit without a value; -infinity: none.
  T sink = -std::numeric_limits<T>::infinity();

  /// Of what was seen so far.
  T maximum = 0, sum = 0;

  void run(const T *query, int64_t position, const SeenPositions &seen, T *out) {
    begin(out);
    see(query, position, seen, out);
    finish(out);
  }

  void begin(T *out) {
    maximum = sink;
    sum = std::isfinite(sink) ? 1 : 0;
    std::fill_n(out, valueWidth, T(0));
  }

  /// Softmax over blocks of positions in ascending order: what was summed under the old
  /// maximum is scaled to the new one.
  void see(const T *query, int64_t position, const SeenPositions &seen, T *out) {
    for (int64_t begin = 0; begin < seen.count; begin += softmaxBlock) {
      int64_t count = std::min(softmaxBlock, seen.count - begin);
      T scores[softmaxBlock];
      T blockMaximum = maximum;
      for (int64_t j = 0; j < count; ++j) {
        const T *key = keys + seen[begin + j] * keyStride;
        T dot = 0;
        for (int64_t d = 0; d < keyWidth; ++d)
          dot += query[d] * key[d];
        scores[j] = scale * dot;
        if (softcap != 0)
          scores[j] = softcap * std::tanh(scores[j] / softcap);
        if (slope != 0)
          scores[j] += slope * T(seen[begin + j] - position);
        blockMaximum = std::max(blockMaximum, scores[j]);
      }
      T rescale = std::exp(maximum - blockMaximum);
      maximum = blockMaximum;
      sum *= rescale;
      for (int64_t d = 0; d < valueWidth; ++d)
        out[d] *= rescale;
      for (int64_t j = 0; j < count; ++j) {
        const T *value = values + seen[begin + j] * valueStride;
        T weight = std::exp(scores[j] - maximum);
        sum += weight;
        for (int64_t d = 0; d < valueWidth; ++d)
          out[d] += weight * value[d];
      }
    }
  }

  void finish(T *out) const {
    // Nothing seen: nothing added.
    for (int64_t d = 0; d < valueWidth && sum != 0; ++d)
      out[d] /= sum;
  }
};

/// A token's place in its sequence.
template <typename T> struct TokenPlace {
  const SequenceState<T> *state;
  int64_t position;
};

/// The state and position of every token, whose own position must have been appended.
template <typename T>
llvm::Expected<std::vector<TokenPlace<T>>>
placesOf(const Batch &batch, const CacheState<T> &state, OpContext<T> &context) {
  std::vector<TokenPlace<T>> places;
  for (const BatchSequence &sequence : batch.sequences) {
    if (sequence.count == 0)
      continue;
    auto it = state.sequences.find(sequence.id);
    int64_t length = it == state.sequences.end() ? 0 : it->second.length;
    int64_t last = sequence.start + sequence.count - 1;
    if (last >= length)
      return context.error("attends from position " + llvm::Twine(last) + " of sequence " +
                           llvm::Twine(sequence.id) + ", whose state holds " +
                           llvm::Twine(length) + " positions");
    for (int64_t position = sequence.start; position <= last; ++position)
      places.push_back({&it->second, position});
  }
  return places;
}

/// For each token the numbers of the `top` keys of the greatest scores among the first
/// `seen(position)`, ascending, -1 behind them: `sum_h weights[h] * max(q_h . k, 0)`; of equal
/// ones the lower number. Keys are of one head.
template <typename T, typename Seen>
std::vector<int32_t> bestKeys(const HostTensor<T> &query, const HostTensor<T> &weights,
                              const std::vector<TokenPlace<T>> &places, const Seen &seen,
                              int64_t top, OpContext<T> &context) {
  int64_t heads = query.shape[1], width = query.width();
  std::vector<int32_t> result(size_t(query.rows() * top), -1);
  int64_t longest = 0;
  for (const TokenPlace<T> &place : places)
    longest = std::max(longest, seen(place.position));
  parallelFor(context.evaluator.getThreads(), query.rows(), longest * heads * width,
              [&](int64_t from, int64_t to) {
    std::vector<T> scores;
    std::vector<int64_t> order;
    for (int64_t row = from; row < to; ++row) {
      const TokenPlace<T> &place = places[size_t(row)];
      scores.assign(size_t(seen(place.position)), T(0));
      for (size_t j = 0; j < scores.size(); ++j)
        for (int64_t head = 0; head < heads; ++head) {
          T dot = 0;
          for (int64_t d = 0; d < width; ++d)
            dot += query.row(row)[head * width + d] * place.state->keys[j * size_t(width) + d];
          scores[j] += weights.row(row)[head] * std::max(dot, T(0));
        }
      order.resize(scores.size());
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        T first = scores[size_t(a)], second = scores[size_t(b)];
        return first != second ? first > second : a < b;
      });
      order.resize(std::min(order.size(), size_t(top)));
      std::sort(order.begin(), order.end());
      std::copy(order.begin(), order.end(), result.begin() + row * top);
    }
  });
  return result;
}

} // namespace llmc::reference

#endif // LLMC_LIB_REFERENCE_ATTENTIONPARTS_H
