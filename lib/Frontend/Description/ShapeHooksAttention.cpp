//===- ShapeHooksAttention.cpp - positions, attention and its state -------===//
#include "ShapeHooks.h"

#include "llmc/Frontend/AttentionSettings.h"

namespace llmc::frontend {

Value ShapeHooks::rotary(const OpCall &call) {
  needHeads(call, 0);
  Shape dims = shape(call, 0);
  const RopeRecord &rope = model.ropes[ropeArg(call, 1).index];
  int64_t first = rotaryStart(call);
  if (rope.dim > dims[1] || first > dims[1] - rope.dim)
    opError(call, "a rotation of " + std::to_string(rope.dim) + " dimensions" +
                      (first ? " from " + std::to_string(first) + " on" : std::string()) +
                      " does not fit heads of " + std::to_string(dims[1]));
  return make(std::move(dims));
}

Value ShapeHooks::attend(const OpCall &call) {
  needHeads(call, 0);
  needHeads(call, 1);
  Shape q = shape(call, 0), k = shape(call, 1);
  AttentionSettings settings = attentionSettings(call, q[0]);
  AttentionState state;
  state.kind = currentKind;
  state.window = settings.window;
  state.elementsPerToken = k[0] * k[1];
  Shape v{k[0], settings.values};
  if (!settings.isLatent) {
    needHeads(call, 2);
    v = shape(call, 2);
    state.elementsPerToken += v[0] * v[1];
  }
  if (q[1] != k[1] || k[0] != v[0] || q[0] % k[0] || (settings.isLatent && v[1] > k[1]))
    opError(call, "queries " + shapeText(q) + ", keys " + shapeText(k) + " and values " +
                      shapeText(v) + " do not fit together");
  if (settings.sinks && model.families[settings.sinks->family].shape != Shape{q[0]})
    opError(call, "'sinks' of shape " + shapeText(model.families[settings.sinks->family].shape) +
                      " is not one for each of " + std::to_string(q[0]) + " heads");
  if (settings.selection && !selections.count(settings.selection->id))
    opError(call, "'selection' must be what select_positions gives");
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
