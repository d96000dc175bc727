//===- ShapeHooksRecurrent.cpp - mixers with a state per sequence ---------===//
#include "ShapeHooks.h"

#include "llmc/Frontend/RecurrentSettings.h"

namespace llmc::frontend {

Value ShapeHooks::causalConv(const OpCall &call) {
  int64_t channels = width(call, 0);
  std::optional<uint32_t> bias = convBias(call);
  const Shape &weight = weightShape(call, 1);
  bool plain = weight.size() == 2, published = weight.size() == 3 && weight[1] == 1;
  if ((!plain && !published) || weight[0] != channels)
    opError(call, "weight '" + weightArg(call, 1).role + "' of shape " + shapeText(weight) +
                      " is neither [channels, taps] nor [channels, 1, taps] for an input of " +
                      std::to_string(channels));
  int64_t taps = weight.back();
  if (taps < 2)
    opError(call, "weight '" + weightArg(call, 1).role + "' of shape " + shapeText(weight) +
                      " has one tap: that is a product with each channel, no convolution");
  if (bias && model.families[*bias].shape != Shape{channels})
    opError(call, "the bias of shape " + shapeText(model.families[*bias].shape) +
                      " is not one for each of " + std::to_string(channels) + " channels");
  recurrent.push_back({currentKind, 0, channels * (taps - 1)});
  return make({channels});
}

Value ShapeHooks::tokenShift(const OpCall &call) {
  if (call.args.size() != 1 || !call.named.empty())
    opError(call, "takes one tensor");
  int64_t channels = width(call, 0);
  recurrent.push_back({currentKind, 0, channels});
  return make({channels});
}

Value ShapeHooks::linearAttention(const OpCall &call) {
  LinearAttentionSettings settings = linearAttentionSettings(call);
  for (size_t i = 0; i < 3; ++i)
    needHeads(call, i);
  Shape q = shape(call, 0), k = shape(call, 1), v = shape(call, 2), decay = shape(call, 3);
  if (q != k || v[0] % k[0])
    opError(call, "queries " + shapeText(q) + ", keys " + shapeText(k) + " and values " +
                      shapeText(v) + " do not fit together: queries and keys are [key heads, key "
                      "width], values [heads, value width] with a multiple of the key heads");
  if (decay != Shape{v[0]} && decay != Shape{v[0], k[1]})
    opError(call, "decays of " + shapeText(decay) + " a token are neither one for each of the " +
                      std::to_string(v[0]) + " heads nor one for each key channel, [" +
                      std::to_string(v[0]) + ", " + std::to_string(k[1]) + "]");
  if (settings.beta && shapes[settings.beta->id] != Shape{v[0]})
    opError(call, "'beta' of " + shapeText(shapes[settings.beta->id]) +
                      " a token is not one for each of the " + std::to_string(v[0]) + " heads");
  for (const std::optional<Handle> &factor : {settings.rankOneA, settings.rankOneB})
    if (factor && shapes[factor->id] != k)
      opError(call, "a factor of 'rank_one' of " + shapeText(shapes[factor->id]) +
                        " a token is not of the shape of the keys, " + shapeText(k));
  recurrent.push_back({currentKind, v[0] * k[1] * v[1], 0});
  return make(v);
}

} // namespace llmc::frontend
