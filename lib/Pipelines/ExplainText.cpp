//===- ExplainText.cpp - decisions as people read them --------------------===//
#include "Explain.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace llmc {

namespace {

/// Decisions that the same functions took, under one title.
struct Section {
  std::string title;
  /// Runs of all these functions in a step.
  int64_t runs = 1;
  std::vector<const DecisionGroup *> groups;
};

/// "@decoder, layers 0 to 29 (30)", "@decoder_1, @decoder_2, ... (24 kinds, 92 layers)".
std::string titleOf(const DecisionGroup &group, const LayerKinds &kinds) {
  constexpr size_t shown = 3;
  std::string names;
  int64_t layers = 0;
  size_t count = 0;
  for (auto &[function, places] : group.functions) {
    if (function.empty())
      return "the program";
    if (count < shown)
      names += (count ? ", @" : "@") + function;
    if (!kinds.layers(function).empty())
      layers += kinds.runs(function);
    ++count;
  }
  if (count > shown)
    names += ", ...";
  if (count > 1)
    return llvm::formatv("{0} ({1} functions, {2} layers)", names, count, layers);
  std::string which = kinds.layers(group.functions.begin()->first);
  if (which.empty())
    return names + " (once a step)";
  return llvm::formatv("{0} ({1} layer{2}: {3})", names, layers, layers == 1 ? "" : "s", which);
}

std::vector<Section> sectionsOf(ArrayRef<DecisionGroup> groups, const LayerKinds &kinds) {
  std::vector<Section> sections;
  llvm::StringMap<size_t> known;
  for (const DecisionGroup &group : groups) {
    std::vector<std::string> functions;
    int64_t runs = 0;
    for (auto &[function, places] : group.functions) {
      functions.push_back(function);
      runs += kinds.runs(function);
    }
    llvm::sort(functions);
    auto [found, isNew] = known.try_emplace(llvm::join(functions, ","), sections.size());
    if (isNew)
      sections.push_back({titleOf(group, kinds), runs, {}});
    sections[found->second].groups.push_back(&group);
  }
  return sections;
}

} // namespace

void Explanation::printPhase(size_t first, llvm::raw_ostream &out) const {
  ArrayRef<DecisionGroup> groups = ArrayRef(decided).drop_front(first);
  if (groups.empty())
    return;
  size_t nameWidth = 0, locationWidth = 0;
  for (const DecisionGroup &group : groups) {
    nameWidth = std::max(nameWidth, group.decision.name.size());
    // One long path must not push every reason off the screen.
    if (group.decision.location.size() <= 60)
      locationWidth = std::max(locationWidth, group.decision.location.size());
  }
  out << "phase " << phaseName(groups.front().phase) << "\n";
  for (const Section &section : sectionsOf(groups, layerKinds)) {
    out << "  " << section.title << "\n";
    for (const DecisionGroup *group : section.groups) {
      const Decision &decision = group->decision;
      out << "    " << llvm::left_justify(decision.outcome, 6) << "  "
          << llvm::left_justify(decision.name, unsigned(nameWidth)) << "  "
          << llvm::left_justify(decision.location, unsigned(locationWidth)) << "  "
          << decision.text;
      if (int64_t all = times(*group); all != section.runs)
        out << "  (x " << all << " a step)";
      out << "\n";
    }
  }
}

void Explanation::printTotals(llvm::raw_ostream &out) const {
  Totals sum = totals();
  if (sum.passed + sum.missed == 0)
    return;
  out << "total: " << sum.passed << " decisions passed (" << sum.fusions << " fusions), "
      << sum.missed << " missed; over all layers fusion saves ";
  std::optional<int64_t> net = netLaunchesSaved(sum);
  out << net.value_or(sum.launchesSaved) << " launches a step";
  if (net)
    out << ", net of copies,";
  out << " and " << sum.bytesSaved << " bytes of activations a token\n";
}

} // namespace llmc
