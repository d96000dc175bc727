//===- Explain.cpp - the decisions of a compilation -----------------------===//
#include "Explain.h"

#include "LocationText.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"

using namespace mlir;

namespace llmc {

namespace {

class ExplainStreamer final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit ExplainStreamer(Explanation &explanation) : explanation(explanation) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    explanation.add(remark);
  }

private:
  Explanation &explanation;
};

} // namespace

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

std::string rangesText(ArrayRef<int64_t> layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(layers[i]);
    if (end > i + 1)
      text += (end > i + 2 ? " to " : ", ") + std::to_string(layers[end - 1]);
    i = end;
  }
  return text;
}

void LayerKinds::learn(ModuleOp module) {
  llvm::StringMap<std::vector<int64_t>> found;
  module.walk([&](llm::RepeatOp repeat) {
    auto callees = repeat.getCallees().getAsRange<FlatSymbolRefAttr>();
    int64_t period = int64_t(repeat.getCallees().size());
    for (auto [j, callee] : llvm::enumerate(callees))
      for (int64_t r = 0; r < int64_t(repeat.getCount()); ++r)
        found[callee.getValue()].push_back(int64_t(repeat.getFrom()) + r * period + int64_t(j));
  });
  if (found.empty())
    return;
  for (auto &entry : found)
    llvm::sort(entry.second);
  known = std::move(found);
}

int64_t LayerKinds::runs(StringRef function) const {
  auto found = known.find(function);
  return found == known.end() ? 1 : int64_t(found->second.size());
}

std::string LayerKinds::layers(StringRef function) const {
  auto found = known.find(function);
  return found == known.end() ? std::string() : rangesText(found->second);
}

//===----------------------------------------------------------------------===//
// Gathering
//===----------------------------------------------------------------------===//

void Explanation::attachTo(MLIRContext &context) {
  remark::RemarkCategories everything{std::nullopt, ".*", ".*", ".*", ".*"};
  (void)remark::enableOptimizationRemarks(context, std::make_unique<ExplainStreamer>(*this),
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(),
                                          everything);
}

void Explanation::add(StringRef outcome, StringRef name, StringRef location, StringRef text) {
  Decision decision;
  decision.outcome = outcome.str();
  decision.name = name.str();
  decision.location = location.str();
  decision.text = text.str();
  std::lock_guard guard(lock);
  taken.push_back({"", std::move(decision)});
}

static StringRef outcomeOf(llvm::remarks::Type type) {
  switch (type) {
  case llvm::remarks::Type::Passed:
    return "passed";
  case llvm::remarks::Type::Missed:
    return "missed";
  case llvm::remarks::Type::Failure:
    return "failed";
  default:
    return "info";
  }
}

/// Facts for machines: their texts differ where nothing that people decide does.
static bool isSilent(StringRef key) { return key == "kernel" || key == "kind" || key == "runs"; }

void Explanation::add(const remark::detail::Remark &remark) {
  if (paused)
    return;
  Decision decision;
  decision.outcome = outcomeOf(remark.getRemarkType()).str();
  decision.name = remark.getRemarkName().str();
  decision.category = remark.getCategoryName().str();
  decision.location = locationText(remark.getLocation());
  for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
    bool isText = arg.key == "Remark" || arg.key == "Reason";
    if (!isText)
      decision.facts.emplace_back(arg.key, arg.val);
    if (arg.key == "predicate")
      decision.predicate = arg.val;
    if (!isSilent(arg.key)) {
      if (!decision.text.empty() && !StringRef(decision.text).ends_with(" "))
        decision.text += arg.key == "Remark" ? "" : " ";
      decision.text += isText ? arg.val : arg.key + "=" + arg.val;
    }
    int64_t number = 0;
    if (isText || StringRef(arg.val).getAsInteger(10, number))
      continue;
    if (arg.key == "launches_saved")
      decision.launchesSaved = number;
    else if (arg.key == "bytes_per_token_saved")
      decision.bytesSaved = number;
    else if (arg.key == "runs")
      decision.runs = number;
  }
  // What a remark calls an unnamed function.
  StringRef function = remark.getFunction();
  if (function.starts_with("<"))
    function = "";
  std::lock_guard guard(lock);
  taken.push_back({function.str(), std::move(decision)});
}

size_t Explanation::endPhase(Phase phase) {
  std::lock_guard guard(lock);
  size_t first = decided.size();
  llvm::StringMap<size_t> known;
  for (Taken &each : taken) {
    const Decision &d = each.decision;
    std::string key = d.outcome + '\0' + d.name + '\0' + d.location + '\0' + d.text;
    int64_t runs = d.runs;
    auto [found, isNew] = known.try_emplace(key, decided.size());
    if (isNew)
      decided.push_back({phase, std::move(each.decision), {}});
    DecisionGroup::Places &places = decided[found->second].functions[each.function];
    (runs ? places.runs : places.everywhere) += runs ? runs : 1;
  }
  taken.clear();
  return first;
}

int64_t Explanation::times(const DecisionGroup &group) const {
  int64_t times = 0;
  for (auto &[function, places] : group.functions)
    times += places.everywhere * layerKinds.runs(function) + places.runs;
  return times;
}

int64_t Explanation::places(StringRef function, const DecisionGroup::Places &places) const {
  return places.everywhere + llvm::divideCeil(places.runs, layerKinds.runs(function));
}

Explanation::Totals Explanation::totals() const {
  Totals sum;
  for (const DecisionGroup &group : decided) {
    int64_t here = 0;
    for (auto &[function, found] : group.functions)
      here += places(function, found);
    const Decision &decision = group.decision;
    if (decision.outcome == "missed" || decision.outcome == "failed")
      sum.missed += here;
    // What a refused fusion would have saved is no saving.
    if (decision.outcome != "passed")
      continue;
    sum.passed += here;
    sum.fusions += decision.category == "fusion" ? here : 0;
    sum.launchesSaved += decision.launchesSaved * times(group);
    sum.bytesSaved += decision.bytesSaved * times(group);
    sum.launches += decision.category == "plan" && decision.name == "launch" ? times(group) : 0;
  }
  return sum;
}

std::optional<int64_t> Explanation::netLaunchesSaved(const Totals &sum) const {
  if (!unfusedLaunches || !sum.launches)
    return std::nullopt;
  return *unfusedLaunches - sum.launches;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

llvm::json::Value Explanation::toJson() const {
  llvm::json::Array kinds, decisions;
  llvm::StringMap<bool> seen;
  for (const DecisionGroup &group : decided) {
    llvm::json::Array places;
    for (auto &[function, found] : group.functions) {
      places.push_back(
          llvm::json::Object{{"function", function}, {"places", this->places(function, found)}});
      if (!function.empty() && seen.try_emplace(function, true).second)
        kinds.push_back(llvm::json::Object{{"function", function},
                                           {"runs", layerKinds.runs(function)},
                                           {"layers", layerKinds.layers(function)}});
    }
    const Decision &d = group.decision;
    llvm::json::Object facts;
    for (auto &[key, value] : d.facts) {
      int64_t number = 0;
      if (StringRef(value).getAsInteger(10, number))
        facts[key] = llvm::json::fixUTF8(value);
      else
        facts[key] = number;
    }
    decisions.push_back(llvm::json::Object{{"phase", phaseName(group.phase)},
                                           {"outcome", d.outcome},
                                           {"name", d.name},
                                           {"category", d.category},
                                           {"location", llvm::json::fixUTF8(d.location)},
                                           {"text", llvm::json::fixUTF8(d.text)},
                                           {"predicate", d.predicate},
                                           {"facts", std::move(facts)},
                                           {"functions", std::move(places)},
                                           {"times", times(group)}});
  }
  Totals sum = totals();
  return llvm::json::Object{
      {"kinds", std::move(kinds)},
      {"decisions", std::move(decisions)},
      {"totals",
       llvm::json::Object{{"passed", sum.passed},
                          {"missed", sum.missed},
                          {"launches", sum.launches},
                          {"launches_saved", netLaunchesSaved(sum).value_or(sum.launchesSaved)},
                          {"bytes_per_token_saved", sum.bytesSaved}}}};
}

} // namespace llmc
