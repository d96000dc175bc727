//===- AttentionRules.cpp - heads, rotary, state, attention ---------------===//
#include "Parallel.h"
#include "RuleSets.h"

#include "llmc/Reference/Evaluator.h"

#include <cmath>
#include <limits>

#pragma STDC FP_CONTRACT OFF

using namespace llmc::reference;
namespace llm = llmc::llm;

/// The elements of `x` in the shape of the op's result, whose first dimension stays.
template <typename T>
static llvm::Error reshape(const HostTensor<T> &x, mlir::Type type, OpContext<T> &context) {
  Shape shape(mlir::cast<mlir::RankedTensorType>(type).getShape());
  if (x.rank() == 0 || shape.empty())
    return context.error("needs tensors with rows");
  shape.front() = x.rows();
  for (int64_t dimension : shape)
    if (dimension < 0)
      return context.error("needs a static width");
  if (elementCount(shape) != int64_t(x.data.size()))
    return context.error("cannot view " + shapeText(x.shape) + " as " + shapeText(shape));
  context.result(HostTensor<T>(shape, x.data));
  return llvm::Error::success();
}

template <typename T> static llvm::Error splitHeads(llm::SplitHeadsOp op, OpContext<T> &context) {
  return reshape(context.tensor(op.getInput()), op.getResult().getType(), context);
}

template <typename T> static llvm::Error mergeHeads(llm::MergeHeadsOp op, OpContext<T> &context) {
  return reshape(context.tensor(op.getInput()), op.getResult().getType(), context);
}

/// A tensor of heads must be [tokens of the batch, heads, width].
template <typename T>
static llvm::Error checkHeads(const HostTensor<T> &x, const Batch &batch,
                              OpContext<T> &context) {
  if (x.rank() == 3 && x.rows() == batch.tokens())
    return llvm::Error::success();
  return context.error("needs [tokens, heads, width] for the batch's " +
                       llvm::Twine(batch.tokens()) + " tokens, the operand is " +
                       shapeText(x.shape));
}

/// Calls `body(row, sequence, position)` for every token of the batch.
template <typename Body> static void forEachToken(const Batch &batch, const Body &body) {
  int64_t row = 0;
  for (const BatchSequence &sequence : batch.sequences)
    for (int64_t i = 0; i < sequence.count; ++i)
      body(row++, sequence, sequence.start + i);
}

template <typename T> static llvm::Error rotary(llm::RotaryOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const Batch &batch = context.batch(op.getBatch());
  llm::RopeAttr rope = op.getRope();
  llvm::ArrayRef<float> frequencies = rope.getFrequencies().asArrayRef();
  llvm::ArrayRef<float> longer = rope.getLongFrequencies().asArrayRef();
  int64_t pairs = rope.getWidth() / 2;
  if (llvm::Error error = checkHeads(x, batch, context))
    return error;
  if (rope.getWidth() > x.width() || int64_t(frequencies.size()) != pairs ||
      (rope.hasLong() && int64_t(longer.size()) != pairs))
    return context.error("rotates " + llvm::Twine(rope.getWidth()) + " channels by " +
                         llvm::Twine(frequencies.size()) + " frequencies, the heads have " +
                         llvm::Twine(x.width()));
  bool halves = rope.getPairing() == llm::RopePairing::Halves;
  T magnitude = T(rope.getMagnitude());
  HostTensor<T> y = x;
  forEachToken(batch, [&](int64_t row, const BatchSequence &sequence, int64_t position) {
    bool isLong = rope.hasLong() && sequence.extent() > rope.getBeyond();
    for (int64_t j = 0; j < pairs; ++j) {
      T angle = T(float(position)) * T(isLong ? longer[j] : frequencies[j]);
      T c = std::cos(angle) * magnitude, s = std::sin(angle) * magnitude;
      int64_t a = halves ? j : 2 * j, b = halves ? j + pairs : 2 * j + 1;
      for (int64_t head = 0; head < x.shape[1]; ++head) {
        const T *in = x.row(row) + head * x.width();
        T *out = y.row(row) + head * x.width();
        out[a] = in[a] * c - in[b] * s;
        out[b] = in[b] * c + in[a] * s;
      }
    }
  });
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error checkCurrent(const CacheHandle<T> &cache,
                                                      OpContext<T> &context) {
  if (cache.isCurrent())
    return llvm::Error::success();
  return context.error("uses the state '" + cache.state->name +
                       "' as it was before a later append");
}

template <typename T> static llvm::Error kvAppend(llm::KVAppendOp op, OpContext<T> &context) {
  const HostTensor<T> &key = context.tensor(op.getKey());
  const HostTensor<T> &value = context.tensor(op.getValue());
  const Batch &batch = context.batch(op.getBatch());
  CacheHandle<T> cache = context.cache(op.getCache());
  CacheState<T> &state = *cache.state;
  if (llvm::Error error = checkHeads(key, batch, context))
    return error;
  if (llvm::Error error = checkHeads(value, batch, context))
    return error;
  if (llvm::Error error = checkCurrent(cache, context))
    return error;
  if (state.shape != Shape{key.shape[1], key.shape[2], value.shape[2]} ||
      key.shape[1] != value.shape[1])
    return context.error("appends keys " + shapeText(key.shape) + " and values " +
                         shapeText(value.shape) + " to a state of " + shapeText(state.shape));
  int64_t row = 0;
  for (const BatchSequence &sequence : batch.sequences) {
    SequenceState<T> &rows = state.sequences[sequence.id];
    if (sequence.start > rows.length)
      return context.error("appends at position " + llvm::Twine(sequence.start) +
                           " of sequence " + llvm::Twine(sequence.id) + ", whose state holds " +
                           llvm::Twine(rows.length) + " positions");
    auto append = [&](std::vector<T> &to, const HostTensor<T> &from) {
      to.resize(size_t(sequence.start * from.rowSize()));
      to.insert(to.end(), from.row(row), from.row(row + sequence.count));
    };
    append(rows.keys, key);
    append(rows.values, value);
    rows.length = sequence.start + sequence.count;
    row += sequence.count;
  }
  cache.version = ++state.version;
  context.result(HostValue<T>(cache));
  return llvm::Error::success();
}

namespace {

/// Positions that one update of the running softmax takes.
constexpr int64_t softmaxBlock = 64;

/// One query head against the positions [first, last] of a sequence.
template <typename T> struct HeadAttention {
  /// Key and value of position j lie at `j * stride`.
  const T *keys, *values;
  int64_t keyStride, valueStride;
  int64_t keyWidth, valueWidth;
  T scale;
  /// 0: none.
  T softcap;

  /// Softmax over blocks of positions in ascending order: what was summed under the old
  /// maximum is scaled to the new one.
  void run(const T *query, int64_t first, int64_t last, T *out) const {
    T maximum = -std::numeric_limits<T>::infinity(), sum = 0;
    std::fill_n(out, valueWidth, T(0));
    for (int64_t begin = first; begin <= last; begin += softmaxBlock) {
      int64_t count = std::min(softmaxBlock, last + 1 - begin);
      T scores[softmaxBlock];
      T blockMaximum = maximum;
      for (int64_t j = 0; j < count; ++j) {
        const T *key = keys + (begin + j) * keyStride;
        T dot = 0;
        for (int64_t d = 0; d < keyWidth; ++d)
          dot += query[d] * key[d];
        scores[j] = scale * dot;
        if (softcap != 0)
          scores[j] = softcap * std::tanh(scores[j] / softcap);
        blockMaximum = std::max(blockMaximum, scores[j]);
      }
      T rescale = std::exp(maximum - blockMaximum);
      maximum = blockMaximum;
      sum *= rescale;
      for (int64_t d = 0; d < valueWidth; ++d)
        out[d] *= rescale;
      for (int64_t j = 0; j < count; ++j) {
        const T *value = values + (begin + j) * valueStride;
        T weight = std::exp(scores[j] - maximum);
        sum += weight;
        for (int64_t d = 0; d < valueWidth; ++d)
          out[d] += weight * value[d];
      }
    }
    for (int64_t d = 0; d < valueWidth; ++d)
      out[d] /= sum;
  }
};

/// A token's place in its sequence.
template <typename T> struct TokenPlace {
  const SequenceState<T> *state;
  int64_t position;
};

} // namespace

/// The state and position of every token, whose own position must have been appended.
template <typename T>
static llvm::Expected<std::vector<TokenPlace<T>>>
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

template <typename T>
static llvm::Error pagedAttention(llm::PagedAttentionOp op, OpContext<T> &context) {
  const HostTensor<T> &query = context.tensor(op.getQuery());
  const Batch &batch = context.batch(op.getBatch());
  const CacheHandle<T> &cache = context.cache(op.getCache());
  const CacheState<T> &state = *cache.state;
  if (llvm::Error error = checkHeads(query, batch, context))
    return error;
  if (llvm::Error error = checkCurrent(cache, context))
    return error;
  int64_t heads = query.shape[1];
  if (state.shape.size() != 3 || state.shape[0] <= 0 || heads % state.shape[0] != 0 ||
      query.width() != state.shape[1])
    return context.error("cannot attend from queries " + shapeText(query.shape) +
                         " to a state of " + shapeText(state.shape));
  int64_t kvHeads = state.shape[0], keyWidth = state.shape[1], valueWidth = state.shape[2];
  llvm::Expected<std::vector<TokenPlace<T>>> places = placesOf(batch, state, context);
  if (!places)
    return places.takeError();
  int64_t window = op.getWindow().value_or(std::numeric_limits<int64_t>::max());
  int64_t chunk = op.getChunk().value_or(std::numeric_limits<int64_t>::max());
  T scale = T(op.getScale().convertToDouble());
  T softcap = 0;
  if (std::optional<llvm::APFloat> cap = op.getSoftcap())
    softcap = T(float(cap->convertToDouble()));

  HostTensor<T> y({query.rows(), heads, valueWidth});
  int64_t longest = 0;
  for (const TokenPlace<T> &place : *places)
    longest = std::max(longest, place.position + 1);
  int64_t work = longest * heads * (keyWidth + valueWidth);
  parallelFor(context.evaluator.getThreads(), query.rows(), work, [&](int64_t from, int64_t to) {
    for (int64_t row = from; row < to; ++row) {
      const TokenPlace<T> &place = (*places)[size_t(row)];
      int64_t first = place.position >= window ? place.position - window + 1 : 0;
      first = std::max(first, place.position / chunk * chunk);
      for (int64_t head = 0; head < heads; ++head) {
        int64_t kvHead = head / (heads / kvHeads);
        HeadAttention<T> attention{place.state->keys.data() + kvHead * keyWidth,
                                   place.state->values.data() + kvHead * valueWidth,
                                   kvHeads * keyWidth,
                                   kvHeads * valueWidth,
                                   keyWidth,
                                   valueWidth,
                                   scale,
                                   softcap};
        attention.run(query.row(row) + head * keyWidth, first, place.position,
                      y.row(row) + head * valueWidth);
      }
    }
  });
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> void llmc::reference::addAttentionRules(RuleTable<T> &table) {
  table.template add<llm::SplitHeadsOp>(splitHeads<T>);
  table.template add<llm::MergeHeadsOp>(mergeHeads<T>);
  table.template add<llm::RotaryOp>(rotary<T>);
  table.template add<llm::KVAppendOp>(kvAppend<T>);
  table.template add<llm::PagedAttentionOp>(pagedAttention<T>);
}

template void llmc::reference::addAttentionRules(RuleTable<float> &);
template void llmc::reference::addAttentionRules(RuleTable<double> &);
