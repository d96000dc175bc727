//===- ShapeHooksAttention.cpp - positions, attention and its state -------===//
#include "ShapeHooks.h"

#include "llmc/Frontend/AttentionSettings.h"
#include "llmc/Frontend/EntrySettings.h"

namespace llmc::frontend {

Value ShapeHooks::rotary(const OpCall &call) {
  needHeads(call, 0);
  Shape dims = shape(call, 0);
  const RopeRecord &rope = model.ropes[ropeArg(call, 1).index];
  int64_t first = rotaryStart(call);
  isInverse(call);
  if (rope.dim > dims[1] || first > dims[1] - rope.dim)
    opError(call, "a rotation of " + std::to_string(rope.dim) + " dimensions" +
                      (first ? " from " + std::to_string(first) + " on" : std::string()) +
                      " does not fit heads of " + std::to_string(dims[1]));
  return make(std::move(dims));
}

const ShapeHooks::AttentionState &ShapeHooks::sharedState(const OpCall &call, int64_t layer,
                                                          int64_t keyWidth, bool isLatent) const {
  int64_t own = model.kinds[currentKind].layers.front();
  if (layer >= own)
    opError(call, "'from' is layer " + std::to_string(layer) + ", which is none before layer " +
                      std::to_string(own));
  const AttentionState *found = nullptr;
  for (const AttentionState &state : attention) {
    if (state.kind != model.schedule[size_t(layer)] || state.isIndex || state.isEntries ||
        state.isLatent != isLatent || state.keyWidth != keyWidth)
      continue;
    if (found)
      opError(call, "layer " + std::to_string(layer) + " keeps keys of width " +
                        std::to_string(keyWidth) + " twice; 'from' names one state");
    found = &state;
  }
  if (!found)
    opError(call, "layer " + std::to_string(layer) + " keeps no " +
                      (isLatent ? "latent" : "paged") + " keys of width " +
                      std::to_string(keyWidth) + " that could be read");
  return *found;
}

Value ShapeHooks::attend(const OpCall &call) {
  needHeads(call, 0);
  Shape q = shape(call, 0);
  AttentionSettings settings = attentionSettings(call, q[0]);
  AttentionState state;
  state.kind = currentKind;
  state.window = settings.window;
  // No token sees more than its chunk, whose end it may be.
  if (settings.chunk && (!state.window || settings.chunk < state.window))
    state.window = settings.chunk;
  state.isLatent = settings.isLatent;
  Shape k, v;
  if (settings.from >= 0) {
    const AttentionState &shared = sharedState(call, settings.from, q[1], settings.isLatent);
    k = {shared.heads, shared.keyWidth};
    v = {shared.heads, settings.isLatent ? settings.values : shared.valueWidth};
  } else {
    needHeads(call, 1);
    k = shape(call, 1);
    if (!settings.isLatent)
      needHeads(call, 2);
    v = settings.isLatent ? Shape{k[0], settings.values} : shape(call, 2);
    state.elementsPerToken = k[0] * k[1] + (settings.isLatent ? 0 : v[0] * v[1]);
    state.heads = k[0];
    state.keyWidth = k[1];
    state.valueWidth = v[1];
  }
  if (q[1] != k[1] || k[0] != v[0] || q[0] % k[0] || (settings.isLatent && v[1] > k[1]))
    opError(call, "queries " + shapeText(q) + ", keys " + shapeText(k) + " and values " +
                      shapeText(v) + " do not fit together");
  if (settings.sinks && model.families[settings.sinks->family].shape != Shape{q[0]})
    opError(call, "'sinks' of shape " + shapeText(model.families[settings.sinks->family].shape) +
                      " is not one for each of " + std::to_string(q[0]) + " heads");
  if (settings.selection && !selections.count(settings.selection->id))
    opError(call, "'selection' must be what select_positions gives");
  // What another layer keeps is counted there.
  if (settings.from < 0)
    attention.push_back(state);
  return make({q[0], v[1]});
}

Value ShapeHooks::selectPositions(const OpCall &call) {
  for (size_t i : {0, 2})
    needHeads(call, i);
  Shape q = shape(call, 0), k = shape(call, 2);
  if (k[0] != 1 || q[1] != k[1] || shape(call, 1) != Shape{q[0]})
    opError(call, "queries " + shapeText(q) + ", weights " + shapeText(shape(call, 1)) +
                      " and keys " + shapeText(k) + " do not fit together; there is one key");
  AttentionState state;
  state.kind = currentKind;
  state.isIndex = true;
  state.elementsPerToken = k[1];
  attention.push_back(state);
  Value result = make({positionsToSelect(call)});
  selections.insert(result.get<Handle>()->id);
  return result;
}

Value ShapeHooks::noPositions(const OpCall &call) {
  Value result = make({emptySelection(call)});
  selections.insert(result.get<Handle>()->id);
  return result;
}

Value ShapeHooks::headLinear(const OpCall &call) {
  needHeads(call, 0);
  const Shape &in = shape(call, 0), &weight = weightShape(call, 1);
  if (call.args.size() != 2)
    opError(call, "needs heads and a weight");
  if (weight.size() != 3 || weight[0] != in[0] || weight[2] != in[1])
    opError(call, "weight '" + weightArg(call, 1).role + "' of shape " + shapeText(weight) +
                      " does not fit heads " + shapeText(in));
  if (weightArg(call, 1).biasFamily >= 0)
    opError(call, "weight '" + weightArg(call, 1).role + "' has a bias, which it cannot add");
  return make({in[0], weight[1]});
}

} // namespace llmc::frontend
