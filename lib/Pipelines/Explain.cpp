//===- Explain.cpp - the decisions of a compilation, for people -----------===//
#include "Explain.h"

#include "LocationText.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "llvm/Support/Format.h"

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
  decisions.push_back(std::move(decision));
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

void Explanation::add(const remark::detail::Remark &remark) {
  Decision decision;
  decision.outcome = outcomeOf(remark.getRemarkType()).str();
  decision.name = remark.getRemarkName().str();
  decision.location = locationText(remark.getLocation());
  decision.function = remark.getFunction().str();
  for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
    if (!decision.text.empty() && !StringRef(decision.text).ends_with(" "))
      decision.text += arg.key == "Remark" ? "" : " ";
    bool isText = arg.key == "Remark" || arg.key == "Reason";
    decision.text += isText ? arg.val : arg.key + "=" + arg.val;
    int64_t number = 0;
    if (isText || StringRef(arg.val).getAsInteger(10, number))
      continue;
    if (arg.key == "launches_saved")
      decision.launchesSaved = number;
    else if (arg.key == "bytes_per_token_saved")
      decision.bytesSaved = number;
  }
  std::lock_guard guard(lock);
  decisions.push_back(std::move(decision));
}

/// How often a step runs each layer function.
static llvm::StringMap<int64_t> callsPerStep(ModuleOp module) {
  llvm::StringMap<int64_t> calls;
  module.walk([&](llm::RepeatOp repeat) {
    for (auto callee : repeat.getCallees().getAsRange<FlatSymbolRefAttr>())
      calls[callee.getValue()] += int64_t(repeat.getCount());
  });
  return calls;
}

void Explanation::endPhase(Phase phase, ModuleOp module) {
  std::lock_guard guard(lock);
  if (decisions.empty())
    return;
  llvm::StringMap<int64_t> calls = callsPerStep(module);
  size_t nameWidth = 0, locationWidth = 0;
  for (const Decision &decision : decisions) {
    nameWidth = std::max(nameWidth, decision.name.size());
    // One long path must not push every reason off the screen.
    if (decision.location.size() <= 60)
      locationWidth = std::max(locationWidth, decision.location.size());
  }
  out << "phase " << phaseName(phase) << "\n";
  for (const Decision &decision : decisions) {
    out << "  " << llvm::left_justify(decision.outcome, 6) << "  "
        << llvm::left_justify(decision.name, unsigned(nameWidth)) << "  "
        << llvm::left_justify(decision.location, unsigned(locationWidth)) << "  "
        << decision.text << "\n";
    auto called = calls.find(decision.function);
    int64_t times = called == calls.end() ? 1 : called->second;
    launchesSaved += decision.launchesSaved * times;
    bytesSaved += decision.bytesSaved * times;
    passed += decision.outcome == "passed";
    missed += decision.outcome == "missed" || decision.outcome == "failed";
  }
  decisions.clear();
}

void Explanation::printTotals() {
  std::lock_guard guard(lock);
  if (passed + missed == 0)
    return;
  out << "total: " << passed << " passed, " << missed << " missed; over all layers fusion saves "
      << launchesSaved << " launches a step and " << bytesSaved
      << " bytes of activations a token\n";
}

} // namespace llmc
