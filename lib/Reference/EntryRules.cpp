//===- EntryRules.cpp - groups of tokens kept as one entry ----------------===//
#include "AttentionParts.h"
#include "RuleSets.h"
#include "SequenceRuns.h"

#pragma STDC FP_CONTRACT OFF

using namespace llmc::reference;
namespace llm = llmc::llm;

namespace {

/// Rows of one run, and those before it from the state: [channels, rows], oldest first.
template <typename T> struct RowHistory {
  const HostTensor<T> &values, &gates;
  const Run<T> &run;
  int64_t kept;

  /// Channel c of the row that lies `back` before row `row`; gates behind the values.
  T at(int64_t row, int64_t back, int64_t c) const {
    int64_t width = values.width(), index = row - run.row - back;
    if (index >= 0)
      return c < width ? values.row(run.row + index)[c] : gates.row(run.row + index)[c - width];
    return (*run.state)[size_t(c * kept + kept + index)];
  }
};

} // namespace

template <typename T> static llvm::Error poolTokens(llm::PoolTokensOp op, OpContext<T> &context) {
  const HostTensor<T> &values = context.tensor(op.getValues()),
                      &gates = context.tensor(op.getGates());
  const Weight &bias = context.weight(op.getBias());
  CacheHandle<T> cache = context.cache(op.getState());
  Shape shape = cache.state->shape;
  int64_t width = values.width(), group = bias.shape.empty() ? 0 : bias.shape.front();
  bool overlap = op.getOverlap();
  int64_t kept = (overlap ? 2 : 1) * group - 1, pooled = overlap ? width / 2 : width;
  if (values.rank() != 2 || gates.shape != values.shape || bias.shape != Shape{group, width} ||
      group < 1 || shape != Shape{2 * width, kept})
    return context.error("pools values " + shapeText(values.shape) + " by gates " +
                         shapeText(gates.shape) + " with a bias of " + shapeText(bias.shape) +
                         " and a state of " + shapeText(shape));
  llvm::Expected<std::vector<Run<T>>> runs =
      beginStep(cache, context.batch(op.getBatch()), values.rows(), context);
  if (!runs)
    return runs.takeError();
  HostTensor<T> y(Shape{values.rows(), pooled});
  std::vector<T> logits, summands;
  for (const Run<T> &run : *runs) {
    RowHistory<T> history{values, gates, run, kept};
    for (int64_t row = run.row; row < run.row + run.count; ++row) {
      int64_t position = run.start + row - run.row, own = position % group;
      // How far back the oldest row that counts lies.
      int64_t oldest = overlap && position >= group ? own + group : own;
      for (int64_t d = 0; d < pooled; ++d) {
        logits.clear();
        summands.clear();
        for (int64_t back = oldest; back >= 0; --back) {
          // Of two halves the second is for the row's own group.
          int64_t c = overlap && back <= own ? pooled + d : d;
          int64_t place = (position - back) % group;
          logits.push_back(history.at(row, back, width + c) +
                           T((*bias.values)[size_t(place * width + c)]));
          summands.push_back(history.at(row, back, c));
        }
        T maximum = *std::max_element(logits.begin(), logits.end()), sum = 0, mean = 0;
        for (T &logit : logits)
          sum += logit = std::exp(logit - maximum);
        for (size_t j = 0; j < logits.size(); ++j)
          mean += logits[j] / sum * summands[j];
        y.row(row)[d] = mean;
      }
    }
    // The rows before what comes next.
    int64_t last = run.row + run.count;
    std::vector<T> next(run.state->size());
    for (int64_t c = 0; c < 2 * width; ++c)
      for (int64_t r = 0; r < kept; ++r)
        next[size_t(c * kept + r)] = history.at(last, kept - r, c);
    *run.state = std::move(next);
  }
  context.result(std::move(y));
  context.result(HostValue<T>(cache));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error entryAppend(llm::EntryAppendOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const Batch &batch = context.batch(op.getBatch());
  CacheHandle<T> cache = context.cache(op.getCache());
  CacheState<T> &state = *cache.state;
  if (llvm::Error error = checkCurrent(cache, context))
    return error;
  if (x.rank() != 2 || x.rows() != batch.tokens() || state.shape.size() != 3 ||
      state.shape[0] < 1 || state.shape[1] != x.width())
    return context.error("makes entries of " + shapeText(x.shape) + " for " +
                         llvm::Twine(batch.tokens()) + " tokens in a state of " +
                         shapeText(state.shape));
  int64_t group = state.shape[0], width = x.width();
  if (llvm::Error error = checkAppend(batch, state, context))
    return error;
  for (const BatchSequence &sequence : batch.sequences) {
    SequenceState<T> &rows = state.sequences[sequence.id];
    rows.keys.resize(size_t(sequence.start / group * width));
    rows.length = sequence.start + sequence.count;
  }
  forEachToken(batch, [&](int64_t row, const BatchSequence &sequence, int64_t position) {
    if (position % group != group - 1)
      return;
    std::vector<T> &keys = state.sequences[sequence.id].keys;
    keys.insert(keys.end(), x.row(row), x.row(row) + width);
    if (std::optional<llm::RopeAttr> rope = op.getRope())
      turnHeads(*rope, /*isLong=*/false, position - group + 1,
                keys.data() + keys.size() - width + int64_t(op.getFirst()), 1, width);
  });
  cache.version = ++state.version;
  context.result(HostValue<T>(cache));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error selectEntries(llm::SelectEntriesOp op, OpContext<T> &context) {
  const HostTensor<T> &query = context.tensor(op.getQuery());
  const HostTensor<T> &weights = context.tensor(op.getWeights());
  const Batch &batch = context.batch(op.getBatch());
  const CacheHandle<T> &cache = context.cache(op.getCache());
  const CacheState<T> &state = *cache.state;
  if (llvm::Error error = checkHeads(query, batch, context))
    return error;
  if (llvm::Error error = checkCurrent(cache, context))
    return error;
  int64_t top = op.getTop();
  if (state.shape.size() != 3 || state.shape[0] < 1 || state.shape[1] != query.width() ||
      weights.shape != Shape{query.rows(), query.shape[1]} || top <= 0)
    return context.error("cannot select from queries " + shapeText(query.shape) + ", weights " +
                         shapeText(weights.shape) + " and a state of " + shapeText(state.shape));
  llvm::Expected<std::vector<TokenPlace<T>>> places = placesOf(batch, state, context);
  if (!places)
    return places.takeError();
  int64_t group = state.shape[0];
  auto seen = [group](int64_t position) { return (position + 1) / group; };
  context.result(makeTokens<T>(bestKeys<T>(query, weights, *places, seen, top, context)));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error jointAttention(llm::JointAttentionOp op, OpContext<T> &context) {
  const HostTensor<T> &query = context.tensor(op.getQuery());
  const Batch &batch = context.batch(op.getBatch());
  const CacheHandle<T> &cache = context.cache(op.getCache()),
                       &entries = context.cache(op.getEntries());
  if (llvm::Error error = checkHeads(query, batch, context))
    return error;
  for (const CacheHandle<T> *handle : {&cache, &entries})
    if (llvm::Error error = checkCurrent(*handle, context))
      return error;
  Shape keys = cache.state->shape, groups = entries.state->shape;
  int64_t heads = query.shape[1], width = query.width();
  if (keys.size() != 3 || groups.size() != 3 || groups[0] < 1 || keys[0] != 1 ||
      keys[1] != width || groups[1] != width || keys[2] != groups[2])
    return context.error("cannot attend from queries " + shapeText(query.shape) +
                         " to a state of " + shapeText(keys) + " and entries of " +
                         shapeText(groups));
  llvm::Expected<std::vector<TokenPlace<T>>> places = placesOf(batch, *cache.state, context);
  if (!places)
    return places.takeError();
  llvm::Expected<std::vector<TokenPlace<T>>> grouped = placesOf(batch, *entries.state, context);
  if (!grouped)
    return grouped.takeError();
  const Weight *sinks = op.getSinks() ? &context.weight(op.getSinks()) : nullptr;
  if (sinks && sinks->shape != Shape{heads})
    return context.error("needs a sink for each of the " + llvm::Twine(heads) +
                         " heads, they are " + shapeText(sinks->shape));
  const std::vector<int32_t> *selection = nullptr;
  int64_t chosen = 0;
  if (op.getSelection()) {
    selection = &context.tokens(op.getSelection());
    chosen = mlir::cast<mlir::RankedTensorType>(op.getSelection().getType()).getDimSize(1);
    if (int64_t(selection->size()) != chosen * query.rows())
      return context.error("needs a row of " + llvm::Twine(chosen) +
                           " entries for each of the " + llvm::Twine(query.rows()) +
                           " tokens, the selection has " + llvm::Twine(selection->size()));
  }
  int64_t window = op.getWindow().value_or(std::numeric_limits<int64_t>::max());
  T scale = T(op.getScale().convertToDouble());
  HostTensor<T> y({query.rows(), heads, keys[2]});
  int64_t longest = 0;
  for (const TokenPlace<T> &place : *places)
    longest = std::max(longest, std::min(window, place.position + 1) + place.position / groups[0]);
  parallelFor(context.evaluator.getThreads(), query.rows(), longest * heads * (width + keys[2]),
              [&](int64_t from, int64_t to) {
    std::vector<int64_t> selected;
    for (int64_t row = from; row < to; ++row) {
      const TokenPlace<T> &place = (*places)[size_t(row)], &group = (*grouped)[size_t(row)];
      SeenPositions near, far;
      near.first = place.position >= window ? place.position - window + 1 : 0;
      near.count = place.position + 1 - near.first;
      far.count = (place.position + 1) / groups[0];
      if (selection) {
        selected.assign(selection->data() + row * chosen, selection->data() + (row + 1) * chosen);
        llvm::erase_if(selected, [&](int64_t n) { return n < 0 || n >= far.count; });
        std::sort(selected.begin(), selected.end());
        selected.erase(std::unique(selected.begin(), selected.end()), selected.end());
        far.selected = selected.data();
        far.count = int64_t(selected.size());
      }
      for (int64_t head = 0; head < heads; ++head) {
        const T *own = place.state->keys.data(), *of = query.row(row) + head * width;
        T *out = y.row(row) + head * keys[2];
        HeadAttention<T> attention{own, own, width, width, width, keys[2], scale, 0};
        if (sinks)
          attention.sink = T((*sinks->values)[head]);
        attention.begin(out);
        attention.see(of, place.position, near, out);
        attention.keys = attention.values = group.state->keys.data();
        attention.see(of, place.position, far, out);
        attention.finish(out);
      }
    }
  });
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error sinkhorn(llm::SinkhornOp op, OpContext<T> &context) {
  HostTensor<T> y = context.tensor(op.getInput());
  int64_t n = y.width();
  T epsilon = T(float(op.getEpsilon().convertToDouble()));
  // Rows lie `outer` apart and their elements `inner`, or the other way round.
  auto divide = [&](T *matrix, int64_t outer, int64_t inner) {
    for (int64_t i = 0; i < n; ++i) {
      T sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += matrix[i * outer + j * inner];
      for (int64_t j = 0; j < n; ++j)
        matrix[i * outer + j * inner] /= sum + epsilon;
    }
  };
  for (int64_t t = 0; t < y.rows(); ++t)
    for (int64_t step = 0; step < int64_t(op.getSteps()); ++step) {
      if (step)
        divide(y.row(t), n, 1);
      divide(y.row(t), 1, n);
    }
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> void llmc::reference::addEntryRules(RuleTable<T> &table) {
  table.template add<llm::PoolTokensOp>(poolTokens<T>);
  table.template add<llm::EntryAppendOp>(entryAppend<T>);
  table.template add<llm::SelectEntriesOp>(selectEntries<T>);
  table.template add<llm::JointAttentionOp>(jointAttention<T>);
  table.template add<llm::SinkhornOp>(sinkhorn<T>);
}

template void llmc::reference::addEntryRules(RuleTable<float> &);
template void llmc::reference::addEntryRules(RuleTable<double> &);
