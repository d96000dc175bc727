//===- AttentionRules.cpp - heads, rotary, state, attention ---------------===//
#include "AttentionParts.h"
#include "MatrixProduct.h"
#include "Parallel.h"
#include "RuleSets.h"

#include "llmc/Reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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

template <typename T> static llvm::Error rotary(llm::RotaryOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const Batch &batch = context.batch(op.getBatch());
  llm::RopeAttr rope = op.getRope();
  llvm::ArrayRef<float> frequencies = rope.getFrequencies().asArrayRef();
  llvm::ArrayRef<float> longer = rope.getLongFrequencies().asArrayRef();
  int64_t pairs = rope.getWidth() / 2, first = op.getFirst();
  if (llvm::Error error = checkHeads(x, batch, context))
    return error;
  if (first < 0 || rope.getWidth() > x.width() - first || int64_t(frequencies.size()) != pairs ||
      (rope.hasLong() && int64_t(longer.size()) != pairs))
    return context.error("rotates " + llvm::Twine(rope.getWidth()) + " channels from " +
                         llvm::Twine(first) + " on by " + llvm::Twine(frequencies.size()) +
                         " frequencies, the heads have " +
                         llvm::Twine(x.width()));
  HostTensor<T> y = x;
  forEachToken(batch, [&](int64_t row, const BatchSequence &sequence, int64_t position) {
    bool isLong = rope.hasLong() && sequence.extent() > rope.getBeyond();
    turnHeads(rope, isLong, position, y.row(row) + first, x.shape[1], x.width());
  });
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error kvAppend(llm::KVAppendOp op, OpContext<T> &context) {
  const HostTensor<T> &key = context.tensor(op.getKey());
  // A latent state keeps keys alone.
  const HostTensor<T> *value = op.getValue() ? &context.tensor(op.getValue()) : nullptr;
  const Batch &batch = context.batch(op.getBatch());
  CacheHandle<T> cache = context.cache(op.getCache());
  CacheState<T> &state = *cache.state;
  if (llvm::Error error = checkHeads(key, batch, context))
    return error;
  if (value)
    if (llvm::Error error = checkHeads(*value, batch, context))
      return error;
  if (llvm::Error error = checkCurrent(cache, context))
    return error;
  if (llvm::Error error = checkAppend(batch, state, context))
    return error;
  if (state.shape.size() != 3 || state.shape[0] != key.shape[1] || state.shape[1] != key.shape[2] ||
      (value && (value->shape[1] != key.shape[1] || state.shape[2] != value->shape[2])))
    return context.error("appends keys " + shapeText(key.shape) + " and values " +
                         (value ? shapeText(value->shape) : std::string("none")) +
                         " to a state of " + shapeText(state.shape));
  mlir::Type element = mlir::cast<llm::CacheType>(op.getCache().getType()).getElementType();
  int64_t row = 0;
  for (const BatchSequence &sequence : batch.sequences) {
    SequenceState<T> &rows = state.sequences[sequence.id];
    auto append = [&](std::vector<T> &to, const HostTensor<T> &from) {
      to.resize(size_t(sequence.start * from.rowSize()));
      to.insert(to.end(), from.row(row), from.row(row + sequence.count));
      roundToElement<T>(element, llvm::MutableArrayRef<T>(to).drop_front(
                                     size_t(sequence.start * from.rowSize())));
    };
    append(rows.keys, key);
    if (value)
      append(rows.values, *value);
    rows.length = sequence.start + sequence.count;
    row += sequence.count;
  }
  cache.version = ++state.version;
  context.result(HostValue<T>(cache));
  return llvm::Error::success();
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

  const Weight *sinks = op.getSinks() ? &context.weight(op.getSinks()) : nullptr;
  if (sinks && sinks->shape != Shape{heads})
    return context.error("needs a sink for each of the " + llvm::Twine(heads) +
                         " heads, they are " + shapeText(sinks->shape));
  llvm::ArrayRef<float> slopes = op.getSlopes().value_or(llvm::ArrayRef<float>());
  const std::vector<int32_t> *selection = nullptr;
  int64_t chosen = 0;
  if (op.getSelection()) {
    selection = &context.tokens(op.getSelection());
    chosen = mlir::cast<mlir::RankedTensorType>(op.getSelection().getType()).getDimSize(1);
    if (int64_t(selection->size()) != chosen * query.rows())
      return context.error("needs a row of " + llvm::Twine(chosen) +
                           " positions for each of the " + llvm::Twine(query.rows()) +
                           " tokens, the selection has " + llvm::Twine(selection->size()));
  }
  bool isLatent = mlir::cast<llm::CacheType>(op.getCache().getType()).getKind() ==
                  llm::CacheKind::Latent;

  HostTensor<T> y({query.rows(), heads, valueWidth});
  int64_t longest = 0;
  for (const TokenPlace<T> &place : *places)
    longest = std::max(longest, place.position + 1);
  int64_t work = longest * heads * (keyWidth + valueWidth);
  parallelFor(context.evaluator.getThreads(), query.rows(), work, [&](int64_t from, int64_t to) {
    std::vector<int64_t> selected;
    for (int64_t row = from; row < to; ++row) {
      const TokenPlace<T> &place = (*places)[size_t(row)];
      SeenPositions seen;
      seen.first = place.position >= window ? place.position - window + 1 : 0;
      seen.first = std::max(seen.first, place.position / chunk * chunk);
      seen.count = place.position + 1 - seen.first;
      if (selection) {
        selected.assign(selection->data() + row * chosen, selection->data() + (row + 1) * chosen);
        llvm::erase_if(selected,
                       [&](int64_t j) { return j < seen.first || j > place.position; });
        std::sort(selected.begin(), selected.end());
        selected.erase(std::unique(selected.begin(), selected.end()), selected.end());
        seen.selected = selected.data();
        seen.count = int64_t(selected.size());
      }
      for (int64_t head = 0; head < heads; ++head) {
        int64_t kvHead = head / (heads / kvHeads);
        const T *keys = place.state->keys.data() + kvHead * keyWidth;
        const T *values = isLatent ? keys : place.state->values.data() + kvHead * valueWidth;
        HeadAttention<T> attention{keys,
                                   values,
                                   kvHeads * keyWidth,
                                   isLatent ? kvHeads * keyWidth : kvHeads * valueWidth,
                                   keyWidth,
                                   valueWidth,
                                   scale,
                                   softcap};
        if (!slopes.empty())
          attention.slope = T(slopes[head]);
        if (sinks)
          attention.sink = T((*sinks->values)[head]);
        attention.run(query.row(row) + head * keyWidth, place.position, seen,
                      y.row(row) + head * valueWidth);
      }
    }
  });
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error selectPositions(llm::SelectPositionsOp op, OpContext<T> &context) {
  const HostTensor<T> &query = context.tensor(op.getQuery());
  const HostTensor<T> &weights = context.tensor(op.getWeights());
  const Batch &batch = context.batch(op.getBatch());
  const CacheHandle<T> &cache = context.cache(op.getCache());
  const CacheState<T> &state = *cache.state;
  if (llvm::Error error = checkHeads(query, batch, context))
    return error;
  if (llvm::Error error = checkCurrent(cache, context))
    return error;
  int64_t heads = query.shape[1], width = query.width(), top = op.getTop();
  if (state.shape.size() != 3 || state.shape[0] != 1 || state.shape[1] != width ||
      weights.shape != Shape{query.rows(), heads} || top <= 0)
    return context.error("cannot select from queries " + shapeText(query.shape) + ", weights " +
                         shapeText(weights.shape) + " and a state of " + shapeText(state.shape));
  llvm::Expected<std::vector<TokenPlace<T>>> places = placesOf(batch, state, context);
  if (!places)
    return places.takeError();
  auto seen = [](int64_t position) { return position + 1; };
  context.result(makeTokens<T>(bestKeys<T>(query, weights, *places, seen, top, context)));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error noPositions(llm::NoPositionsOp op, OpContext<T> &context) {
  int64_t width = mlir::cast<mlir::RankedTensorType>(op.getResult().getType()).getDimSize(1);
  if (width < 0)
    return context.error("needs a static width");
  int64_t count = context.batch(op.getBatch()).tokens() * width;
  context.result(makeTokens<T>(std::vector<int32_t>(size_t(count), -1)));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error headLinear(llm::HeadLinearOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const Weight &weight = context.weight(op.getWeight());
  if (x.rank() != 3 || weight.shape.size() != 3 || weight.shape[0] != x.shape[1] ||
      weight.shape[2] != x.width())
    return context.error("needs a weight for each head, as wide as the heads; the input is " +
                         shapeText(x.shape) + ", the weight " + shapeText(weight.shape));
  int64_t heads = x.shape[1], depth = x.width(), features = weight.shape[1];
  HostTensor<T> y({x.rows(), heads, features});
  std::vector<T> in(size_t(x.rows() * depth)), out(size_t(x.rows() * features));
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t row = 0; row < x.rows(); ++row)
      std::copy_n(x.row(row) + head * depth, depth, in.begin() + row * depth);
    matrixProduct(in.data(), weight.values->data() + head * features * depth, out.data(), x.rows(),
                  depth, features, context.evaluator.getThreads());
    for (int64_t row = 0; row < x.rows(); ++row)
      std::copy_n(out.begin() + row * features, features, y.row(row) + head * features);
  }
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> void llmc::reference::addAttentionRules(RuleTable<T> &table) {
  table.template add<llm::SplitHeadsOp>(splitHeads<T>);
  table.template add<llm::MergeHeadsOp>(mergeHeads<T>);
  table.template add<llm::RotaryOp>(rotary<T>);
  table.template add<llm::KVAppendOp>(kvAppend<T>);
  table.template add<llm::PagedAttentionOp>(pagedAttention<T>);
  table.template add<llm::SelectPositionsOp>(selectPositions<T>);
  table.template add<llm::NoPositionsOp>(noPositions<T>);
  table.template add<llm::HeadLinearOp>(headLinear<T>);
}

template void llmc::reference::addAttentionRules(RuleTable<float> &);
template void llmc::reference::addAttentionRules(RuleTable<double> &);
