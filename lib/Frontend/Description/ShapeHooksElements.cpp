//===- ShapeHooksElements.cpp - arithmetic of rows, heads and streams -----===//
#include "ShapeHooks.h"

#include "llmc/Frontend/ElementSettings.h"

#include <algorithm>
#include <cmath>

namespace llmc::frontend {

void ShapeHooks::needCount(const OpCall &call, size_t least, size_t most) const {
  if (call.args.size() < least || call.args.size() > most)
    opError(call, "takes " + std::to_string(least) +
                      (most == least ? "" : " to " + std::to_string(most)) + " arguments, not " +
                      std::to_string(call.args.size()));
}

Value ShapeHooks::arithmetic(const OpCall &call) {
  needCount(call, 2, 2);
  Shape dims[2];
  bool weights[2] = {call.args[0].is<WeightRef>(), call.args[1].is<WeightRef>()};
  for (size_t i : {0, 1})
    dims[i] = weights[i] ? weightShape(call, i) : shape(call, i);
  std::string text = shapeText(dims[0]) + " and " + shapeText(dims[1]);
  size_t rank = std::max(dims[0].size(), dims[1].size());
  for (size_t i : {0, 1})
    if (dims[i].size() == 1 && rank == 2) {
      // A weight is the same for every head; a value has one element a head.
      if (weights[i])
        dims[i].insert(dims[i].begin(), 1);
      else
        dims[i].push_back(1);
    }
  bool fit = dims[0].size() == dims[1].size() && (rank == 1 || rank == 2);
  Shape result;
  for (size_t d = 0; fit && d < rank; ++d) {
    int64_t a = dims[0][d], b = dims[1][d];
    fit = a == b || a == 1 || b == 1;
    result.push_back(std::max(a, b));
  }
  if (!fit)
    opError(call, "shapes " + text + " do not fit: dimensions must be equal or 1, and a vector "
                                     "beside heads has one element a head");
  return make(std::move(result));
}

Value ShapeHooks::weightRows(const OpCall &call) {
  needCount(call, 1, 1);
  Shape dims = weightShape(call, 0);
  if (dims.size() != 1 && dims.size() != 2)
    opError(call, "weight '" + weightArg(call, 0).role + "' of shape " + shapeText(dims) +
                      " is neither a vector nor one for each head");
  return make(std::move(dims));
}

Value ShapeHooks::clamp(const OpCall &call) {
  needCount(call, 3, 3);
  Shape dims = shape(call, 0);
  double bounds[2] = {-HUGE_VAL, HUGE_VAL};
  for (size_t i : {0, 1})
    if (!call.args[i + 1].isNull())
      bounds[i] = numberArg(call, i + 1);
  if (call.args[1].isNull() && call.args[2].isNull())
    opError(call, "needs a bound that is not null");
  if (bounds[0] > bounds[1])
    opError(call, "the lower bound " + call.args[1].toText() + " is above the upper one, " +
                      call.args[2].toText());
  return make(std::move(dims));
}

Value ShapeHooks::rowStatistic(const OpCall &call) {
  needCount(call, 1, 1);
  Shape dims = shape(call, 0);
  dims.back() = 1;
  return make(std::move(dims));
}

Value ShapeHooks::slice(const OpCall &call) {
  needCount(call, 3, 3);
  Shape dims = shape(call, 0);
  int64_t from = intArg(call, 1), size = intArg(call, 2);
  if (from < 0 || size < 1 || from > dims.back() || size > dims.back() - from)
    opError(call, std::to_string(size) + " elements from " + std::to_string(from) +
                      " on do not lie in " + shapeText(dims));
  dims.back() = size;
  return make(std::move(dims));
}

Value ShapeHooks::concat(const OpCall &call) {
  needCount(call, 1, 4096);
  Shape dims = shape(call, 0);
  for (size_t i = 1; i < call.args.size(); ++i) {
    const Shape &more = shape(call, i);
    if (more.size() != dims.size() || !std::equal(dims.begin(), dims.end() - 1, more.begin()))
      opError(call, "shapes " + shapeText(dims) + " and " + shapeText(more) +
                        " must agree in all but the last dimension");
    if (__builtin_add_overflow(dims.back(), more.back(), &dims.back()))
      opError(call, "is wider than a number of 64 bits holds");
  }
  return make(std::move(dims));
}

void ShapeHooks::needNumber(const OpCall &call, int64_t heads) const {
  int64_t number = intArg(call, 1), lowest = number, highest = number;
  if (countsFromLayer(call) && currentKind < model.kinds.size()) {
    const std::vector<int64_t> &layers = model.kinds[currentKind].layers;
    lowest += *std::min_element(layers.begin(), layers.end());
    highest += *std::max_element(layers.begin(), layers.end());
  }
  if (lowest < 0 || highest >= heads)
    opError(call, "number " + std::to_string(lowest < 0 ? lowest : highest) + " is none of the " +
                      std::to_string(heads) + " there are");
}

Value ShapeHooks::take(const OpCall &call) {
  needCount(call, 2, 2);
  needHeads(call, 0);
  Shape dims = shape(call, 0);
  needNumber(call, dims[0]);
  return make({dims[1]});
}

Value ShapeHooks::put(const OpCall &call) {
  needCount(call, 3, 3);
  needHeads(call, 0);
  Shape dims = shape(call, 0);
  needNumber(call, dims[0]);
  if (width(call, 2) != dims[1])
    opError(call, "a row of " + std::to_string(width(call, 2)) + " does not fit into " +
                      shapeText(dims));
  return make(std::move(dims));
}

Value ShapeHooks::transpose(const OpCall &call) {
  needCount(call, 1, 1);
  needHeads(call, 0);
  Shape dims = shape(call, 0);
  return make({dims[1], dims[0]});
}

Value ShapeHooks::mix(const OpCall &call) {
  needCount(call, 2, 2);
  needHeads(call, 0);
  needHeads(call, 1);
  Shape c = shape(call, 0), x = shape(call, 1);
  if (c[1] != x[0])
    opError(call, "coefficients " + shapeText(c) + " do not fit " + shapeText(x) +
                      ": they need a column for each of its heads");
  return make({c[0], x[1]});
}

Value ShapeHooks::positionScale(const OpCall &call) {
  needCount(call, 0, 0);
  positionScaleOf(call);
  return make({1});
}

} // namespace llmc::frontend
