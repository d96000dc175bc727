//===- RoutingRules.cpp - routers and experts -----------------------------===//
#include "MatrixProduct.h"
#include "RuleSets.h"

#include "llmc/Reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#pragma STDC FP_CONTRACT OFF

using namespace llmc::reference;
namespace llm = llmc::llm;

/// In place: `exp(x - max) / sum`, ascending.
template <typename T> static void softmax(llvm::MutableArrayRef<T> values) {
  T largest = *llvm::max_element(values), sum = 0;
  for (T &value : values) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (T &value : values)
    value /= sum;
}

template <typename T>
static void toScores(llm::RouteScore score, llvm::MutableArrayRef<T> values) {
  if (score == llm::RouteScore::Softmax)
    return softmax(values);
  for (T &value : values)
    switch (score) {
    case llm::RouteScore::Sigmoid:
      value = 1 / (1 + std::exp(-value));
      break;
    case llm::RouteScore::SqrtSoftplus:
      // log1p(exp(x)), without an exponential that overflows.
      value = std::sqrt(std::max(value, T(0)) + std::log1p(std::exp(-std::fabs(value))));
      break;
    case llm::RouteScore::Softmax:
    case llm::RouteScore::Identity:
      break;
    }
}

/// The numbers of the `count` largest values among `candidates` (ascending), in descending
/// order; of equal values the lower number first.
template <typename T>
static std::vector<int32_t> largest(llvm::ArrayRef<T> values, std::vector<int32_t> candidates,
                                    int64_t count) {
  llvm::sort(candidates, [&](int32_t a, int32_t b) {
    return values[a] > values[b] || (values[a] == values[b] && a < b);
  });
  candidates.resize(size_t(count));
  return candidates;
}

static std::vector<int32_t> countUpTo(int64_t count) {
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// The experts of the groups that are kept, in ascending order.
template <typename T>
static std::vector<int32_t> keptExperts(llm::RouteOp op, llvm::ArrayRef<T> values) {
  int64_t groups = *op.getGroups(), size = int64_t(values.size()) / groups;
  std::vector<T> scores;
  for (int64_t g = 0; g < groups; ++g) {
    llvm::ArrayRef<T> group = values.slice(size_t(g * size), size_t(size));
    if (*op.getGroupScore() == llm::GroupScore::Max) {
      scores.push_back(*llvm::max_element(group));
      continue;
    }
    std::vector<int32_t> two = largest<T>(group, countUpTo(size), 2);
    scores.push_back(group[two[0]] + group[two[1]]);
  }
  std::vector<int32_t> kept = largest<T>(scores, countUpTo(groups), int64_t(*op.getKeep()));
  llvm::sort(kept);
  std::vector<int32_t> experts;
  for (int32_t group : kept)
    for (int64_t e = 0; e < size; ++e)
      experts.push_back(int32_t(group * size + e));
  return experts;
}

/// The experts that the table names for a token.
template <typename T>
static llvm::Expected<std::vector<int32_t>> lookUp(const Weight &table, int32_t token,
                                                   int64_t experts, OpContext<T> &context) {
  if (token < 0 || token >= table.shape[0])
    return context.error("token " + llvm::Twine(token) + " is outside of the table of " +
                         llvm::Twine(table.shape[0]) + " rows");
  std::vector<int32_t> choice;
  for (int64_t j = 0; j < table.shape[1]; ++j) {
    float number = (*table.values)[size_t(token * table.shape[1] + j)];
    if (!(number >= 0 && number < float(experts)) || number != std::floor(number))
      return context.error("the table's row " + llvm::Twine(token) + " names expert " +
                           llvm::Twine(std::to_string(number)) + ", there are " + llvm::Twine(experts));
    choice.push_back(int32_t(number));
  }
  return choice;
}

/// The softmax value of expert `of` over those that no earlier choice took and that are near it.
template <typename T>
static T nearWeight(llvm::ArrayRef<T> scores, int32_t of, llvm::ArrayRef<int32_t> earlier,
                    T margin) {
  T own = scores[of], sum = 0;
  for (auto [e, score] : llvm::enumerate(scores)) {
    bool isFar = (own - score) / std::max(std::fabs(score), own) > margin;
    if (!isFar && !llvm::is_contained(earlier, int32_t(e)))
      sum += std::exp(score - own);
  }
  return 1 / sum;
}

template <typename T> static void toWeights(llm::RouteOp op, llvm::MutableArrayRef<T> weights) {
  switch (op.getNormalise()) {
  case llm::RouteNormalise::None:
    break;
  case llm::RouteNormalise::Sum: {
    T sum = 0;
    for (T weight : weights)
      sum += weight;
    sum += T(1e-20f);
    for (T &weight : weights)
      weight /= sum;
    break;
  }
  case llm::RouteNormalise::Softmax:
    softmax(weights);
    break;
  case llm::RouteNormalise::Margin:
    // Of all scores: nearWeight has made them.
    break;
  }
  if (T scale = T(float(op.getScale().convertToDouble())); scale != 1)
    for (T &weight : weights)
      weight *= scale;
}

template <typename T> static llvm::Error route(llm::RouteOp op, OpContext<T> &context) {
  const HostTensor<T> &logits = context.tensor(op.getLogits());
  const Weight *bias = op.getBias() ? &context.weight(op.getBias()) : nullptr;
  const Weight *table = op.getTable() ? &context.weight(op.getTable()) : nullptr;
  const Weight *expertScale =
      op.getExpertScale() ? &context.weight(op.getExpertScale()) : nullptr;
  int64_t experts = logits.width(), top = int64_t(op.getTop());
  if (table && int64_t(context.tokens(op.getTokens()).size()) != logits.rows())
    return context.error("needs a token for each row; there are " +
                         llvm::Twine(context.tokens(op.getTokens()).size()) + " tokens and " +
                         llvm::Twine(logits.rows()) + " rows");
  std::vector<int32_t> choices;
  HostTensor<T> weights({logits.rows(), top});
  for (int64_t t = 0; t < logits.rows(); ++t) {
    std::vector<T> scores(logits.row(t), logits.row(t) + experts);
    // A comparison with something that is no number has no order.
    for (T logit : scores)
      if (std::isnan(logit))
        return context.error("a logit of row " + llvm::Twine(t) + " is not a number");
    toScores<T>(op.getScore(), scores);
    std::vector<int32_t> choice;
    if (table) {
      auto found = lookUp(*table, context.tokens(op.getTokens())[size_t(t)], experts, context);
      if (!found)
        return found.takeError();
      choice = std::move(*found);
    } else {
      std::vector<T> values = scores;
      for (int64_t e = 0; bias && e < experts; ++e)
        values[size_t(e)] += T((*bias->values)[size_t(e)]);
      choice = largest<T>(
          values, op.getGroups() ? keptExperts<T>(op, values) : countUpTo(experts), top);
    }
    llvm::MutableArrayRef<T> row(weights.row(t), size_t(top));
    for (int64_t j = 0; j < top; ++j)
      row[j] = op.getMargin()
                   ? nearWeight<T>(scores, choice[j], llvm::ArrayRef(choice).take_front(j),
                                   T(float(op.getMargin()->convertToDouble())))
                   : scores[size_t(choice[j])];
    toWeights<T>(op, row);
    for (int64_t j = 0; expertScale && j < top; ++j)
      row[j] *= T((*expertScale->values)[size_t(choice[j])]);
    choices.insert(choices.end(), choice.begin(), choice.end());
  }
  context.result(makeTokens<T>(std::move(choices)));
  context.result(std::move(weights));
  return llvm::Error::success();
}

/// Rows go to their experts by expert, so that each weight is walked once.
template <typename T>
static llvm::Error expertLinear(llm::ExpertLinearOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const std::vector<int32_t> &choice = context.tokens(op.getChoice());
  const Weight &weight = context.weight(op.getWeight());
  const Weight *bias = op.getBias() ? &context.weight(op.getBias()) : nullptr;
  int64_t experts = weight.shape[0], features = weight.shape[1], depth = weight.shape[2];
  int64_t chosen = op.getChoice().getType().getDimSize(1);
  if (int64_t(choice.size()) != x.rows() * chosen)
    return context.error("needs a choice for each row; the input is " + shapeText(x.shape) +
                         ", there are " + llvm::Twine(choice.size() / size_t(chosen)));
  std::vector<std::vector<int64_t>> rowsOf(static_cast<size_t>(experts));
  for (auto [row, expert] : llvm::enumerate(choice)) {
    if (expert < 0 || expert >= experts)
      return context.error("row " + llvm::Twine(row / size_t(chosen)) + " goes to expert " +
                           llvm::Twine(expert) + ", there are " + llvm::Twine(experts));
    rowsOf[size_t(expert)].push_back(int64_t(row));
  }
  HostTensor<T> y({x.rows(), chosen, features});
  bool ownRows = x.rank() == 3;
  for (auto [expert, rows] : llvm::enumerate(rowsOf)) {
    if (rows.empty())
      continue;
    std::vector<T> in, out(rows.size() * size_t(features));
    for (int64_t row : rows) {
      const T *begin = x.data.data() + (ownRows ? row : row / chosen) * depth;
      in.insert(in.end(), begin, begin + depth);
    }
    matrixProduct(in.data(), weight.values->data() + int64_t(expert) * features * depth,
                  out.data(), int64_t(rows.size()), depth, features,
                  context.evaluator.getThreads());
    for (auto [i, row] : llvm::enumerate(rows))
      for (int64_t n = 0; n < features; ++n) {
        T value = out[i * size_t(features) + size_t(n)];
        if (bias)
          value += T((*bias->values)[expert * size_t(features) + size_t(n)]);
        y.data[size_t(row * features + n)] = value;
      }
  }
  context.result(std::move(y));
  return llvm::Error::success();
}

/// The router's weights must be [tokens, chosen] for rows of x.
template <typename T>
static llvm::Error checkWeights(const HostTensor<T> &weights, const HostTensor<T> &x,
                                OpContext<T> &context) {
  if (weights.rows() == x.rows())
    return llvm::Error::success();
  return context.error("needs weights for each row; the input is " + shapeText(x.shape) +
                       ", the weights " + shapeText(weights.shape));
}

template <typename T> static llvm::Error expertSum(llm::ExpertSumOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const HostTensor<T> *weights = op.getWeights() ? &context.tensor(op.getWeights()) : nullptr;
  if (weights)
    if (llvm::Error error = checkWeights(*weights, x, context))
      return error;
  int64_t chosen = x.shape[1], width = x.width();
  HostTensor<T> y({x.rows(), width});
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t j = 0; j < chosen; ++j)
      for (int64_t d = 0; d < width; ++d) {
        T value = x.row(t)[j * width + d];
        y.row(t)[d] = weights ? std::fma(weights->row(t)[j], value, y.row(t)[d])
                              : y.row(t)[d] + value;
      }
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error expertSpread(llm::ExpertSpreadOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const HostTensor<T> &weights = context.tensor(op.getWeights());
  if (llvm::Error error = checkWeights(weights, x, context))
    return error;
  int64_t chosen = weights.width(), width = x.width();
  HostTensor<T> y({x.rows(), chosen, width});
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t j = 0; j < chosen; ++j)
      for (int64_t d = 0; d < width; ++d)
        y.row(t)[j * width + d] = weights.row(t)[j] * x.row(t)[d];
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> void llmc::reference::addRoutingRules(RuleTable<T> &table) {
  table.template add<llm::RouteOp>(route<T>);
  table.template add<llm::ExpertLinearOp>(expertLinear<T>);
  table.template add<llm::ExpertSumOp>(expertSum<T>);
  table.template add<llm::ExpertSpreadOp>(expertSpread<T>);
}

template void llmc::reference::addRoutingRules(RuleTable<float> &);
template void llmc::reference::addRoutingRules(RuleTable<double> &);
