//===- InferProgram.cpp - what a model computes, as text ------------------===//
#include "InferProgram.h"
#include "ShapeHooks.h"
#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::frontend {

namespace {

/// Writes down the operations of a model with what decides their meaning.
class ProgramText : public OpHooks {
public:
  explicit ProgramText(const ResolvedModel &model) : model(model) {}

  std::vector<Value> op(const OpCall &call) override {
    if (call.name == "layers")
      carried = call.args.size() + stepValues(call).size();
    std::vector<Value> out;
    for (size_t i = 0; i < resultCount(call); ++i)
      out.push_back(Handle{next++});
    if (call.name == "observe")
      return out;
    text += call.name + "(";
    for (const Value &value : call.args)
      add(value);
    auto named = call.named;
    std::sort(named.begin(), named.end(),
              [](const auto &a, const auto &b) { return a.first < b.first; });
    for (const auto &[name, value] : named) {
      // Null stands for what is left out.
      if (value.isNull())
        continue;
      text += name + ":";
      add(value);
    }
    text += ")\n";
    return out;
  }

  std::string text;
  size_t carried = 1;
  uint64_t next = 100;

private:
  void add(const Value &value) {
    if (const auto *weight = value.get<WeightRef>())
      addWeight(model.families[weight->family]);
    else if (const auto *rope = value.get<RopeRef>())
      addRope(model.ropes[rope->index]);
    else if (value.isNumber())
      text += Value(value.asDouble()).toText();
    else
      text += value.toText();
    text += ",";
  }
  void addWeight(const WeightFamily &family) {
    if (family.tiedTo >= 0)
      return addWeight(model.families[size_t(family.tiedTo)]);
    text += family.checkpointName;
    if (family.isLaterPart() || family.storedRows > 0)
      text += "+" + std::to_string(family.firstRow);
    text += "@" + std::to_string(family.view.first);
    for (int64_t stride : family.view.strides)
      text += "/" + std::to_string(stride);
    for (float constant : family.constants)
      text += " " + std::to_string(constant);
  }
  void addRope(const RopeRecord &rope) {
    text += std::to_string(rope.dim) + (rope.interleaved ? " neighbours" : " halves");
    auto list = [&](std::vector<float> factors) {
      text += ";";
      for (float factor : factors)
        text += " " + Value(double(factor)).toText();
    };
    list(computeInvFreq(rope));
    list(computeLongInvFreq(rope));
    text += " " + Value(rope.attentionFactor).toText();
  }

  const ResolvedModel &model;
};

} // namespace

std::optional<std::string> programOf(const ResolvedModel &model) {
  try {
    ProgramText hooks(model);
    model.emitModel(hooks, Handle{0});
    for (uint32_t kind = 0; kind < model.kinds.size(); ++kind) {
      const std::vector<int64_t> &layers = model.kinds[kind].layers;
      for (int64_t layer : layers)
        hooks.text += std::to_string(layer) + ",";
      hooks.text += "\n";
      ValueList values;
      for (size_t i = 0; i < hooks.carried; ++i)
        values.push_back(Handle{i});
      hooks.next = 1000;
      model.emitLayer(kind, hooks, values);
    }
    return hooks.text;
  } catch (const InputError &) {
    return std::nullopt;
  }
}

} // namespace llmc::frontend
