//===- InferProgram.cpp - what a model computes, as text ------------------===//
#include "InferProgram.h"
#include "ShapeHooks.h"
#include "llmc/Support/Error.h"

#include <bit>

namespace llmc::frontend {

namespace {

/// Writes down the operations of a model with what decides their meaning.
class ProgramText : public OpHooks {
public:
  explicit ProgramText(const ResolvedModel &model) : model(model) {}

  std::vector<Value> op(const OpCall &call) override {
    text += call.name + "(";
    if (call.name == "layers") {
      carried = call.args.size() + stepValues(call).size();
    }
    for (const Value &value : call.args)
      add(value);
    for (const auto &[name, value] : call.named) {
      text += name + ":";
      add(value);
    }
    text += ")\n";
    std::vector<Value> out;
    for (size_t i = 0; i < resultCount(call); ++i)
      out.push_back(Handle{next++});
    return out;
  }

  std::string text;
  size_t carried = 1;

private:
  void add(const Value &value) {
    if (const auto *weight = value.get<WeightRef>())
      text += model.families[weight->family].publishedName;
    else if (const auto *rope = value.get<RopeRef>())
      addRope(model.ropes[rope->index]);
    else
      text += value.toText();
    text += ",";
  }
  void addRope(const RopeRecord &rope) {
    text += std::to_string(rope.dim) + (rope.interleaved ? " neighbours" : " halves");
    for (const std::vector<float> &frequencies : {computeInvFreq(rope), computeLongInvFreq(rope)})
      for (float frequency : frequencies)
        text += " " + std::to_string(std::bit_cast<uint32_t>(frequency));
    text += " " + std::to_string(rope.attentionFactor);
  }

  const ResolvedModel &model;
  uint64_t next = 100;
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
      ValueList values;
      for (size_t i = 0; i < hooks.carried; ++i)
        values.push_back(Handle{i});
      model.emitLayer(kind, hooks, values);
    }
    return hooks.text;
  } catch (const InputError &) {
    return std::nullopt;
  }
}

} // namespace llmc::frontend
