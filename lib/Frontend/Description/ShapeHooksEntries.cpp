//===- ShapeHooksEntries.cpp - groups of tokens kept as one entry ---------===//
#include "ShapeHooks.h"

#include "llmc/Frontend/EntrySettings.h"

namespace llmc::frontend {

Value ShapeHooks::poolTokens(const OpCall &call) {
  bool overlap = poolOverlaps(call);
  int64_t channels = width(call, 0);
  const Shape &bias = weightShape(call, 2);
  if (shape(call, 0).size() != 1 || shape(call, 1) != shape(call, 0))
    opError(call, "values " + shapeText(shape(call, 0)) + " and gates " +
                      shapeText(shape(call, 1)) + " must be one vector of the same width each");
  if (bias.size() != 2 || bias[0] < 2 || bias[1] != channels)
    opError(call, "the bias '" + weightArg(call, 2).role + "' of shape " + shapeText(bias) +
                      " is not [tokens of a group, at least 2; " + std::to_string(channels) + "]");
  if (overlap && channels % 2)
    opError(call, "with 'overlap' a row is two halves, it has " + std::to_string(channels) +
                      " channels");
  RecurrentState state;
  state.kind = currentKind;
  state.bufferElements = 2 * channels * ((overlap ? 2 : 1) * bias[0] - 1);
  recurrent.push_back(state);
  return make({overlap ? channels / 2 : channels});
}

void ShapeHooks::addEntries(const OpCall &call, const EntrySettings &settings, bool isIndex) {
  const Shape &entry = shape(call, 2);
  if (entry.size() != 1)
    opError(call, "an entry is one vector, the rows are " + shapeText(entry));
  if (settings.rope) {
    int64_t turning = model.ropes[settings.rope->index].dim;
    if (turning > entry[0] || settings.first > entry[0] - turning)
      opError(call, "a rotation of " + std::to_string(turning) + " dimensions from " +
                        std::to_string(settings.first) + " on does not fit entries of " +
                        std::to_string(entry[0]));
  }
  AttentionState state;
  state.kind = currentKind;
  state.isIndex = isIndex;
  state.isEntries = true;
  state.elementsPerToken = entry[0];
  state.tokensPerElement = settings.group;
  attention.push_back(state);
}

Value ShapeHooks::selectEntries(const OpCall &call) {
  needHeads(call, 0);
  EntrySelection settings = entrySelection(call);
  Shape q = shape(call, 0), entry = shape(call, 2);
  addEntries(call, settings.entries, true);
  if (q[1] != entry[0] || shape(call, 1) != Shape{q[0]})
    opError(call, "queries " + shapeText(q) + ", weights " + shapeText(shape(call, 1)) +
                      " and entries " + shapeText(entry) + " do not fit together");
  Value result = make({settings.top});
  entrySelections.insert(result.get<Handle>()->id);
  return result;
}

Value ShapeHooks::jointAttend(const OpCall &call) {
  for (size_t i : {0, 1})
    needHeads(call, i);
  JointSettings settings = jointSettings(call);
  Shape q = shape(call, 0), k = shape(call, 1), entry = shape(call, 2);
  addEntries(call, settings.entries, false);
  if (k[0] != 1 || q[1] != k[1] || entry[0] != k[1] || settings.values > k[1])
    opError(call, "queries " + shapeText(q) + ", keys " + shapeText(k) + ", entries " +
                      shapeText(entry) + " and values of " + std::to_string(settings.values) +
                      " channels do not fit together; there is one key, as wide as an entry");
  if (settings.sinks && model.families[settings.sinks->family].shape != Shape{q[0]})
    opError(call, "'sinks' of shape " + shapeText(model.families[settings.sinks->family].shape) +
                      " is not one for each of " + std::to_string(q[0]) + " heads");
  if (settings.selection && !entrySelections.count(settings.selection->id))
    opError(call, "'selection' must be what select_entries gives");
  AttentionState state;
  state.kind = currentKind;
  state.window = settings.window;
  state.isLatent = true;
  state.elementsPerToken = k[1];
  state.heads = 1;
  state.keyWidth = k[1];
  state.valueWidth = settings.values;
  attention.push_back(state);
  return make({q[0], settings.values});
}

Value ShapeHooks::sinkhorn(const OpCall &call) {
  needHeads(call, 0);
  sinkhornSettings(call);
  Shape dims = shape(call, 0);
  if (dims[0] != dims[1])
    opError(call, "a matrix of " + shapeText(dims) + " is not square");
  return make(std::move(dims));
}

} // namespace llmc::frontend
