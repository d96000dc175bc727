//===- TwinShape.cpp - what a twin has to keep ----------------------------===//
#include "TwinShape.h"

#include "ShapeHooks.h"
#include "llmc/Frontend/AttentionSettings.h"
#include "llmc/Frontend/EntrySettings.h"
#include "llmc/Frontend/RouteSettings.h"

#include <algorithm>
#include <cmath>

namespace llmc::frontend {

namespace {

/// Which settings of a ramp between scaled and other frequencies matter to a record.
int64_t rampBits(const RopeRecord &rope) {
  if (rope.type != RopeType::Yarn && rope.type != RopeType::Llama3)
    return 0;
  std::vector<float> exact = computeInvFreq(rope);
  int64_t bits = 0, bit = 1;
  for (double RopeRecord::*end : {&RopeRecord::betaFast, &RopeRecord::betaSlow,
                                  &RopeRecord::lowFreqFactor, &RopeRecord::highFreqFactor}) {
    // A little and far, since ends of ramps are rounded and bounded.
    for (double by : {1.25, 0.8, 16.0, 1 / 16.0}) {
      RopeRecord other = rope;
      other.*end *= by;
      if (computeInvFreq(other) != exact)
        bits |= bit;
      bit *= 2;
    }
  }
  RopeRecord other = rope;
  other.truncate = !rope.truncate;
  return computeInvFreq(other) != exact ? bits | bit : bits;
}

int64_t thousandths(double value) {
  return std::llround(1000 * std::min(std::abs(value), 1e12));
}

/// Writes down operations without their sizes, and the numbers apart.
class Recorder : public ShapeHooks {
public:
  explicit Recorder(const ResolvedModel &model)
      : ShapeHooks(model), layerParts(model.kinds.size()), model(model) {}

  struct Part {
    std::string text;
    std::vector<TwinFact> facts;
    std::map<uint64_t, size_t> numbers;
    /// The first head beyond the second that is taken or put, below 0 before there is one.
    int64_t farPlace = -1;
  };
  Part around;
  std::vector<Part> layerParts;

  std::vector<Value> op(const OpCall &call) override {
    if (call.name == "layers") {
      around.text += "layers\n";
      isInLayers = true;
      std::vector<Value> results = ShapeHooks::op(call);
      isInLayers = false;
      return results;
    }
    write(call);
    std::vector<Value> results = ShapeHooks::op(call);
    addFacts(call);
    return results;
  }

private:
  using What = TwinFact::What;

  Part &part() { return isInLayers ? layerParts[currentKind] : around; }
  void add(What what, int64_t value) { part().facts.push_back({what, value}); }

  void write(const OpCall &call) {
    // Which head is taken is no size.
    bool isPlace = call.name == "take" || call.name == "put";
    part().text += call.path + ":" + call.name + "(";
    for (size_t i = 0; i < call.args.size(); ++i)
      if (call.name != "observe" || i == 0)
        write(call.args[i], isPlace);
    for (const auto &[name, value] : call.named) {
      part().text += name + ":";
      write(value, false);
    }
    part().text += ")\n";
  }

  void write(const Value &value, bool isPlace) {
    std::string &text = part().text;
    if (const auto *handle = value.get<Handle>()) {
      std::map<uint64_t, size_t> &numbers = part().numbers;
      text += "%" + std::to_string(numbers.try_emplace(handle->id, numbers.size()).first->second);
    } else if (const auto *weight = value.get<WeightRef>()) {
      text += weight->role + (weight->biasFamily >= 0 ? "+bias" : "");
    } else if (const auto *rope = value.get<RopeRef>()) {
      const RopeRecord &record = model.ropes[rope->index];
      text += std::string(ropeTypeName(record.type)) + " " + Value(record.theta).toText() + " " +
              Value(record.factor).toText() + (record.interleaved ? " interleaved" : "");
    } else if (value.isNumber() && !isPlace) {
      text += "#";
    } else if (const int64_t *place = value.get<int64_t>(); place && isPlace && *place >= 2) {
      // How far behind others depends on how many layers came before.
      int64_t &first = part().farPlace;
      first = first < 0 ? *place : first;
      text += "@" + std::to_string(*place - first);
    } else {
      text += value.toText();
    }
    text += ",";
  }

  void addFacts(const OpCall &call) {
    if (call.name == "split_heads") {
      add(What::Heads, intArg(call, 1));
      add(What::HeadWidth, intArg(call, 2));
    } else if (call.name == "attend") {
      std::vector<int64_t> q = shapeOf(call.args[0]);
      AttentionSettings settings = attentionSettings(call, q[0]);
      add(What::Window, settings.window);
      add(What::Window, settings.chunk);
      add(What::Bound, thousandths(settings.softcap));
      if (settings.from < 0)
        add(What::Ratio, q[0] / shapeOf(call.args[1])[0]);
    } else if (call.name == "select_positions") {
      add(What::Window, positionsToSelect(call));
    } else if (call.name == "joint_attend") {
      JointSettings settings = jointSettings(call);
      add(What::Window, settings.window);
      add(What::Entry, settings.entries.group);
      add(What::Ratio, shapeOf(call.args[0])[0] / shapeOf(call.args[1])[0]);
    } else if (call.name == "select_entries") {
      add(What::Window, entrySelection(call).top);
    } else if (call.name == "linear_attention") {
      add(What::Ratio, shapeOf(call.args[2])[0] / shapeOf(call.args[1])[0]);
    } else if (call.name == "route") {
      int64_t experts = shapeOf(call.args[0])[0];
      RouteSettings settings = routeSettings(call, experts);
      add(What::Experts, experts);
      add(What::Chosen, settings.top);
      add(What::Groups, settings.groups);
      add(What::Kept, settings.keep);
    } else if (call.name == "rotary") {
      const RopeRecord &rope = model.ropes[ropeArg(call, 1).index];
      add(What::RotaryWidth, rope.dim);
      add(What::RotaryWhole, rope.dim == shapeOf(call.args[0])[1]);
      add(What::RotaryLimit, rope.originalMaxPositions);
      add(What::RotaryRamp, rampBits(rope));
    } else if (call.name == "position_scale") {
      if (const Value *period = call.findNamed("period"))
        add(What::Period, int64_t(period->asDouble()));
    } else if (call.name == "softcap" || call.name == "clamp") {
      for (size_t i = 1; i < call.args.size(); ++i)
        if (call.args[i].isNumber())
          add(What::Bound, thousandths(call.args[i].asDouble()));
    }
  }

  const ResolvedModel &model;
  bool isInLayers = false;
};

} // namespace

TwinShape TwinShape::of(const ResolvedModel &model) {
  TwinShape shape;
  Recorder recorder(model);
  model.emitModel(recorder, Handle{0});
  std::map<std::string, uint32_t> numbers;
  std::vector<uint32_t> ofKind;
  for (size_t kind = 0; kind < recorder.layerParts.size(); ++kind) {
    Recorder::Part &part = recorder.layerParts[kind];
    std::string text = model.kinds[kind].block + "\n" + part.text;
    ofKind.push_back(numbers.try_emplace(text, numbers.size()).first->second);
    shape.kinds.try_emplace(std::move(text), std::move(part.facts));
  }
  shape.kinds.try_emplace(std::move(recorder.around.text), std::move(recorder.around.facts));
  for (uint32_t kind : model.schedule)
    shape.schedule.push_back(ofKind[kind]);
  shape.repeats = std::set(shape.schedule.begin(), shape.schedule.end()).size() <
                  shape.schedule.size();
  for (const WeightFamily &family : model.families)
    shape.tensors.try_emplace(family.role, family.shape);
  for (const PublishedTensor &tensor : model.published)
    shape.parameters += tensor.tied ? 0 : tensor.elements();
  shape.context = model.contextLength;
  shape.vocabulary = model.vocabSize;
  shape.hidden = model.hiddenSize;
  for (const RopeRecord &rope : model.ropes)
    shape.rotaryPairs.insert(rope.dim / 2);
  for (const auto &[key, users] : model.configLedger.used)
    if (users != std::vector<std::string>{"tokens"})
      shape.keys.insert(key);
  return shape;
}

/// A bound that some of the values reach, which are around 1 by the weights that a twin has.
static constexpr int64_t reachedBound = 2000;

/// Down to what a number may become.
static int64_t leastOf(TwinFact::What what) {
  using What = TwinFact::What;
  switch (what) {
  case What::HeadWidth:
    return 8;
  case What::RotaryLimit:
    return 8;
  // Groups of few and of many tokens stay apart.
  case What::Entry:
    return 5;
  case What::Window:
  case What::RotaryWidth:
  case What::Period:
    return 4;
  case What::Bound:
    return reachedBound;
  case What::Heads:
  case What::Chosen:
  case What::Groups:
  case What::Kept:
    return 2;
  default:
    return 1;
  }
}

static bool keepsFacts(const std::vector<TwinFact> &now, const std::vector<TwinFact> &before) {
  using What = TwinFact::What;
  if (now.size() != before.size())
    return false;
  for (size_t i = 0; i < now.size(); ++i) {
    int64_t value = now[i].value, old = before[i].value;
    if (now[i].what == What::RotaryRamp && before[i].what == What::RotaryRamp) {
      if ((value & old) != old)
        return false;
      continue;
    }
    if (now[i].what != before[i].what || value < std::min(old, leastOf(now[i].what)) || value > old)
      return false;
    // Few heads share one as they did; of many it matters that they are several.
    if (now[i].what == What::Ratio && (old <= 8 ? value != old : value < 4))
      return false;
    if (now[i].what == What::RotaryWhole && value != old)
      return false;
    if (now[i].what != What::Experts)
      continue;
    // Experts, chosen, groups and kept stand in a row.
    int64_t chosen = now[i + 1].value, groups = now[i + 2].value, kept = now[i + 3].value;
    bool leavesSome = value >= std::min(2 * chosen, old);
    bool leavesGroups = !groups || before[i + 2].value == before[i + 3].value ||
                        (kept < groups && value / groups >= std::min<int64_t>(
                                                               2, old / before[i + 2].value));
    if (!leavesSome || !leavesGroups || (groups && chosen > kept * (value / groups)))
      return false;
  }
  return true;
}

bool TwinShape::keeps(const TwinShape &original, bool needsRepeat) const {
  if (kinds.size() != original.kinds.size() || (needsRepeat && !repeats))
    return false;
  for (const auto &[text, facts] : kinds) {
    auto there = original.kinds.find(text);
    if (there == original.kinds.end() || !keepsFacts(facts, there->second))
      return false;
  }
  if (hidden < std::min<int64_t>(original.hidden, 32) ||
      vocabulary < std::min<int64_t>(original.vocabulary, 64) ||
      context < std::min<int64_t>(original.context, 128))
    return false;
  for (const auto &[role, dims] : tensors) {
    auto there = original.tensors.find(role);
    if (there == original.tensors.end() || there->second.size() != dims.size())
      return false;
    for (size_t i = 0; i < dims.size(); ++i) {
      int64_t least = dims.size() > 1 && i + 1 == dims.size() ? 8 : 4;
      if (dims[i] < std::min(there->second[i], least))
        return false;
    }
  }
  return true;
}

double TwinShape::cost() const {
  using What = TwinFact::What;
  double cost = 2 * std::log2(double(std::max<int64_t>(parameters, 1))) +
                std::log2(double(std::max<int64_t>(context, 128)));
  for (const auto &[text, facts] : kinds)
    for (const TwinFact &fact : facts) {
      double enough = fact.what == What::Window        ? 6
                      : fact.what == What::Period      ? 6
                      : fact.what == What::Entry       ? 6
                      : fact.what == What::RotaryLimit ? 12
                      : fact.what == What::Bound       ? reachedBound
                      : fact.what == What::Chosen || fact.what == What::Groups ||
                              fact.what == What::Kept
                          ? 2
                          : 0;
      // Fewer heads let widths become smaller that are their product.
      if (fact.what == What::Heads)
        cost += 0.25 * std::log2(double(std::max<int64_t>(fact.value, 1)));
      if (enough)
        cost += std::log2(std::max(double(fact.value), enough));
    }
  return cost;
}

} // namespace llmc::frontend
