//===- ShapeHooks.cpp - following shapes through a model ------------------===//
#include "ShapeHooks.h"
#include "Hints.h"

#include <algorithm>
#include <numeric>

namespace llmc::frontend {

const ShapeHooks::Shape &ShapeHooks::shape(const OpCall &call, size_t index) const {
  return shapes[handleArg(call, index).id];
}

const ShapeHooks::Shape &ShapeHooks::weightShape(const OpCall &call, size_t index) const {
  return model.families[weightArg(call, index).family].shape;
}

int64_t ShapeHooks::width(const OpCall &call, size_t index) const {
  const Shape &dims = shape(call, index);
  if (dims.size() != 1)
    opError(call, "argument " + std::to_string(index + 1) + " must be one vector a token, it is " +
                      shapeText(dims) + " a token");
  return dims[0];
}

void ShapeHooks::needHeads(const OpCall &call, size_t index) const {
  const Shape &dims = shape(call, index);
  if (dims.size() != 2)
    opError(call, "argument " + std::to_string(index + 1) + " must be split into heads, it is " +
                      shapeText(dims) + " a token");
}

Value ShapeHooks::make(Shape dims) {
  shapes.push_back(std::move(dims));
  return Handle{shapes.size() - 1};
}

Value ShapeHooks::embedding(const OpCall &call) {
  handleArg(call, 0);
  const Shape &table = weightShape(call, 1);
  if (table.size() != 2)
    opError(call, "the table must have two dimensions, it is " + shapeText(table));
  if (const Value *otherwise = call.findGiven("otherwise"))
    if (const int64_t *row = otherwise->get<int64_t>(); !row || *row < 0 || *row >= table[0])
      opError(call, "'otherwise' must be null or a row of the table, of which there are " +
                        std::to_string(table[0]) + ", it is " + otherwise->toText());
  return make({table[1]});
}

Value ShapeHooks::positionEmbedding(const OpCall &call) {
  const Shape &table = weightShape(call, 0);
  if (table.size() != 2)
    opError(call, "the table must have two dimensions, it is " + shapeText(table));
  if (call.args.size() != 1)
    opError(call, "needs a table and, by name, an offset");
  return make({table[1]});
}

std::vector<Value> ShapeHooks::linear(const OpCall &call) {
  int64_t in = width(call, 0);
  std::vector<Value> results;
  if (call.args.size() < 2)
    opError(call, "needs at least one weight");
  for (size_t i = 1; i < call.args.size(); ++i) {
    const Shape &weight = weightShape(call, i);
    if (weight.size() != 2 || weight[1] != in)
      opError(call, "weight '" + weightArg(call, i).role + "' of shape " + shapeText(weight) +
                        " does not fit an input of " + std::to_string(in));
    results.push_back(make({weight[0]}));
  }
  return results;
}

Value ShapeHooks::norm(const OpCall &call, size_t weights) {
  Shape dims = shape(call, 0);
  for (size_t i = 1; i <= weights; ++i) {
    // Norms without a scale or a bias.
    if (call.args.size() > i && call.args[i].isNull())
      continue;
    const Shape &weight = weightShape(call, i);
    if (weight.size() != 1 || dims.empty() || weight[0] != dims.back())
      opError(call, "weight '" + weightArg(call, i).role + "' of shape " + shapeText(weight) +
                        " does not fit the input " + shapeText(dims));
  }
  // Its value is the interpreter's to check.
  numberArg(call, weights + 1);
  return make(std::move(dims));
}

Value ShapeHooks::splitHeads(const OpCall &call) {
  int64_t in = width(call, 0), heads = intArg(call, 1), dim = intArg(call, 2);
  if (heads < 1 || dim < 1 || in % heads || in / heads != dim)
    opError(call, std::to_string(in) + " values are not " + std::to_string(heads) + " heads of " +
                      std::to_string(dim));
  return make({heads, dim});
}

Value ShapeHooks::same(const OpCall &call, size_t tensors) {
  Shape dims = shape(call, 0);
  for (size_t i = 1; i < tensors; ++i)
    if (shape(call, i) != dims)
      opError(call,
              "shapes " + shapeText(dims) + " and " + shapeText(shape(call, i)) + " must be equal");
  return make(std::move(dims));
}

std::vector<Value> ShapeHooks::layers(const OpCall &call) {
  ValueList inputs = call.args;
  for (size_t i = 0; i < call.args.size(); ++i)
    handleArg(call, i);
  for (const Value &value : stepValues(call))
    inputs.push_back(value);
  // A value of its own for each use; what is a choice of positions stays one.
  auto copy = [&](const Value &value) {
    uint64_t id = value.get<Handle>()->id;
    Value made = make(Shape(shapes[id]));
    if (selections.count(id))
      selections.insert(made.get<Handle>()->id);
    return made;
  };
  for (currentKind = 0; currentKind < model.kinds.size(); ++currentKind) {
    const std::string &kind = model.kinds[currentKind].name;
    ValueList given;
    for (const Value &value : inputs)
      given.push_back(copy(value));
    ValueList out = carriedValues(call, model.emitLayer(currentKind, *this, given), kind);
    for (size_t i = 0; i < out.size(); ++i) {
      uint64_t id = out[i].get<Handle>()->id, before = inputs[i].get<Handle>()->id;
      if (shapes[id] != shapes[before] || selections.count(id) != selections.count(before))
        opError(call, "a layer of kind '" + kind + "' turns carried value " +
                          std::to_string(i + 1) + ", " + shapeText(shapes[before]) +
                          (selections.count(before) ? " positions" : "") + ", into " +
                          shapeText(shapes[id]) + (selections.count(id) ? " positions" : ""));
    }
  }
  std::vector<Value> results;
  for (const Value &value : call.args)
    results.push_back(copy(value));
  return results;
}

const std::vector<std::string> &operationNames() {
  static const std::vector<std::string> names = {
      "linear",      "embedding", "output_head", "rms_norm", "layer_norm", "split_heads",
      "merge_heads", "rotary",    "attend",      "gate",     "activation", "select_rows",
      "observe",     "layers",    "softcap",     "position_embedding",
      "weight_rows", "clamp",     "softmax",     "mean",     "deviation",  "sum",
      "slice",       "concat",    "transpose",   "take",     "put",        "mix",
      "position_scale",
      "route",       "expert_linear", "expert_sum", "expert_spread",
      "causal_conv", "token_shift", "linear_attention",
      "head_linear", "select_positions", "no_positions",
      "pool_tokens", "select_entries", "joint_attend", "sinkhorn"};
  return names;
}

/// Which of `names` it is.
static bool isOneOf(const std::string &name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool ShapeHooks::hasChosenRows(const OpCall &call) const {
  bool isBinary = isOneOf(call.name, {"add", "sub", "mul", "div", "min", "max"});
  std::string chosen, tokens;
  bool isWeight = false;
  auto look = [&](const Value &value, const std::string &which) {
    const Handle *handle = value.get<Handle>();
    // Beside another value in arithmetic, the rows of a weight are as many as that one's.
    if (!handle || (isBinary && weightsAsRows.count(handle->id)))
      return;
    bool isChosen = chosenRows.count(handle->id);
    (isChosen ? chosen : tokens) = which;
    isWeight |= !isChosen && weightsAsRows.count(handle->id);
  };
  for (size_t i = 0; i < call.args.size(); ++i)
    look(call.args[i], "argument " + std::to_string(i + 1));
  for (const auto &[name, value] : call.named) {
    look(value, "'" + name + "'");
    if (const ValueList *list = value.get<ValueList>())
      for (const Value &item : *list)
        look(item, "'" + name + "'");
  }
  if (chosen.empty())
    return false;
  if (!tokens.empty())
    opError(call, chosen + " has only the rows that select_rows chose, and " + tokens +
                      " a row for each token; " +
                      (isWeight ? "add the weight itself, which fits any rows (x + w)"
                                : "call select_rows on both, or on the result"));
  if (isOneOf(call.name, {"select_rows", "rotary", "attend", "select_positions", "pool_tokens",
                          "select_entries", "joint_attend", "causal_conv", "token_shift",
                          "linear_attention", "layers"}))
    opError(call, "needs a row for each token, and " + chosen +
                      " has only the rows that select_rows chose; call select_rows behind it");
  return true;
}

std::vector<Value> ShapeHooks::op(const OpCall &call) {
  bool isChosen = hasChosenRows(call);
  std::vector<Value> results = shapesOf(call);
  bool isWeight = call.name == "weight_rows";
  if (isOneOf(call.name, {"split_heads", "merge_heads"}))
    isWeight = weightsAsRows.count(handleArg(call, 0).id);
  for (const Value &result : results)
    if (const Handle *handle = result.get<Handle>()) {
      if (isChosen || call.name == "select_rows")
        chosenRows.insert(handle->id);
      if (isWeight)
        weightsAsRows.insert(handle->id);
    }
  return results;
}

std::vector<Value> ShapeHooks::shapesOf(const OpCall &call) {
  const std::string &name = call.name;
  if (name == "linear")
    return linear(call);
  if (name == "embedding")
    return {embedding(call)};
  if (name == "position_embedding")
    return {positionEmbedding(call)};
  if (name == "output_head") {
    if (call.args.size() != 2)
      opError(call, "needs an input and a weight");
    return linear(call);
  }
  if (name == "rms_norm" || name == "layer_norm")
    return {norm(call, name == "rms_norm" ? 1 : 2)};
  if (name == "split_heads")
    return {splitHeads(call)};
  if (name == "merge_heads") {
    needHeads(call, 0);
    Shape dims = shape(call, 0);
    return {make({dims[0] * dims[1]})};
  }
  if (name == "rotary")
    return {rotary(call)};
  if (name == "attend")
    return {attend(call)};
  if (name == "select_positions")
    return {selectPositions(call)};
  if (name == "no_positions")
    return {noPositions(call)};
  if (name == "head_linear")
    return {headLinear(call)};
  if (name == "pool_tokens")
    return {poolTokens(call)};
  if (name == "select_entries")
    return {selectEntries(call)};
  if (name == "joint_attend")
    return {jointAttend(call)};
  if (name == "sinkhorn")
    return {sinkhorn(call)};
  if (name == "gate")
    return {same(call, 2)};
  if (name == "residual_add" || name == "add" || name == "sub" || name == "mul" ||
      name == "div" || name == "min" || name == "max")
    return {arithmetic(call)};
  if (name == "weight_rows")
    return {weightRows(call)};
  if (name == "clamp")
    return {clamp(call)};
  if (name == "mean" || name == "deviation" || name == "sum" || name == "row_max")
    return {rowStatistic(call)};
  if (name == "slice")
    return {slice(call)};
  if (name == "concat")
    return {concat(call)};
  if (name == "transpose")
    return {transpose(call)};
  if (name == "take")
    return {take(call)};
  if (name == "put")
    return {put(call)};
  if (name == "mix")
    return {mix(call)};
  if (name == "position_scale")
    return {positionScale(call)};
  if (name == "activation" || name == "scale" || name == "offset" || name == "softmax" ||
      name == "softcap" || name == "select_rows" || name == "observe")
    return {same(call, 1)};
  if (name == "layers")
    return layers(call);
  if (name == "route")
    return route(call);
  if (name == "expert_linear")
    return expertLinear(call);
  if (name == "expert_sum")
    return {expertSum(call)};
  if (name == "expert_spread")
    return {expertSpread(call)};
  if (name == "causal_conv")
    return {causalConv(call)};
  if (name == "token_shift")
    return {tokenShift(call)};
  if (name == "linear_attention")
    return {linearAttention(call)};
  const OpSignatures *libraries = model.description->operations.get();
  if (const OpSignature *added = libraries ? libraries->find(name) : nullptr)
    return {composite(call, *added)};
  std::vector<std::string> operations = operationNames();
  if (libraries)
    for (std::string &added : libraries->names())
      operations.push_back(std::move(added));
  std::vector<std::string> near = nearWords(name, operations);
  std::string all;
  for (const std::string &operation : operations)
    all += (all.empty() ? "" : ", ") + operation;
  throw UnsupportedError(call.location.position() + ": '" + name +
                         "' is neither a block, a parameter function nor an operation" +
                         (near.empty() ? "" : "; did you mean '" + near[0] + "'?") + ", in '" +
                         call.location.text + "'; the operations are " + all +
                         "; --op-library adds others (docs/Extending.md)");
}

} // namespace llmc::frontend
