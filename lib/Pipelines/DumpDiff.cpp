//===- DumpDiff.cpp - what differs between two dumps ----------------------===//
#include "llmc/Pipelines/DumpDiff.h"

#include "Explain.h"
#include "ProgramView.h"
#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Support/Error.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace mlir;

namespace llmc {

using Entries = std::vector<DumpDiff::Entry>;

namespace {

/// Name -> what a program has of it, each in its order.
using Things = std::map<std::string, std::vector<std::string>>;

/// "3 x in=64 out=64", or all that are there where they differ.
std::string textOf(const std::vector<std::string> &facts) {
  bool alike = llvm::all_equal(facts);
  std::string times = std::to_string(facts.size()) + " x";
  if (!alike)
    return times + " " + llvm::join(facts, "; ");
  if (facts.front().empty())
    return facts.size() == 1 ? "once" : std::to_string(facts.size()) + " times";
  return facts.size() == 1 ? facts.front() : times + " " + facts.front();
}

void compare(const Things &a, const Things &b, const std::string &function, int64_t layers,
             Entries &entries) {
  std::map<std::string, std::pair<const std::vector<std::string> *, const std::vector<std::string> *>>
      all;
  for (auto &[name, facts] : a)
    all[name].first = &facts;
  for (auto &[name, facts] : b)
    all[name].second = &facts;
  for (auto &[name, pair] : all) {
    auto [ofA, ofB] = pair;
    if (ofA && ofB && *ofA == *ofB)
      continue;
    entries.push_back({function, layers, name,
                       ofA ? std::optional(textOf(*ofA)) : std::nullopt,
                       ofB ? std::optional(textOf(*ofB)) : std::nullopt});
  }
}

std::string nameOf(const ViewItem &item) {
  return item.path.empty() || item.path == "-" ? item.what : item.what + " " + item.path;
}

/// Operations, with those of fusions where they stand.
void addOperations(const std::vector<ViewItem> &items, Things &things) {
  for (const ViewItem &item : items) {
    if (item.isFusion)
      addOperations(item.body, things);
    else
      things[nameOf(item)].push_back(item.facts);
  }
}

Things fusionsOf(const ViewKind &kind) {
  Things things;
  for (const ViewItem &item : kind.items)
    if (item.isFusion) {
      std::vector<std::string> body;
      for (const ViewItem &inner : item.body)
        body.push_back(inner.what);
      things[nameOf(item)].push_back(llvm::join(body, ", "));
    }
  return things;
}

void compareItems(const ViewKind &a, const ViewKind &b, bool ofPlan, DumpDiff &diff) {
  int64_t layers = int64_t(std::max(a.layers.size(), b.layers.size()));
  const std::string &function = a.name.empty() ? b.name : a.name;
  Things ofA, ofB;
  addOperations(a.items, ofA);
  addOperations(b.items, ofB);
  compare(ofA, ofB, function, layers, ofPlan ? diff.launches : diff.operations);
  compare(fusionsOf(a), fusionsOf(b), function, layers, diff.fusions);
}

/// Items of kinds that only one has are not listed: the kind is.
void compareKinds(const ProgramView &a, const ProgramView &b, DumpDiff &diff) {
  Things ofA, ofB;
  for (auto [view, things] : {std::pair(&a, &ofA), std::pair(&b, &ofB)})
    for (const ViewKind &kind : view->kinds)
      (*things)["@" + kind.name].push_back(kind.layers.empty() ? "once a step"
                                                               : "layers " + rangesText(kind.layers));
  compare(ofA, ofB, "", 0, diff.kinds);
  for (const ViewKind &kind : a.kinds)
    for (const ViewKind &other : b.kinds)
      if (kind.name == other.name)
        compareItems(kind, other, a.stage == ProgramView::Stage::Plan, diff);
}

void compareMemory(const ProgramView &a, const ProgramView &b, DumpDiff &diff) {
  Things arenas[2], slices[2], families[2];
  const ProgramView *views[] = {&a, &b};
  for (auto [i, view] : llvm::enumerate(views)) {
    for (const ViewArena &arena : view->arenas)
      arenas[i][arena.name].push_back(
          llvm::formatv("{0}, {1} bytes at the largest step", arena.size, arena.bytes));
    for (const ViewSlice &slice : view->slices)
      slices[i][slice.name].push_back(llvm::formatv("{0} at {1} of {2}, steps {3} to {4}", slice.size,
                                                    slice.offset, slice.arena, slice.first,
                                                    slice.last));
    for (const ViewMember &member : view->members)
      families[i][member.name].push_back(llvm::formatv("{0}, {1} bytes", member.facts, member.bytes));
  }
  compare(arenas[0], arenas[1], "", 0, diff.arenas);
  compare(slices[0], slices[1], "", 0, diff.slices);
  compare(families[0], families[1], "", 0, diff.families);
}

ProgramView read(const std::string &path, MLIRContext &context) {
  ErrorCollector errors(context, /*printsRemarks=*/false);
  ImportedModel model = importModelFrom(path, DescriptionOptions(), context);
  // What the importer says names the file already.
  auto fail = [&] {
    std::string text = errors.text();
    throw InputError(text.starts_with(path + ":") ? text : path + ": " + text);
  };
  if (!model.module || failed(verify(*model.module)))
    fail();
  FailureOr<ProgramView> view = viewOf(*model.module);
  if (failed(view))
    fail();
  return std::move(*view);
}

StringRef formOf(const ProgramView &view) {
  return view.stage == ProgramView::Stage::Plan ? "plan" : "llm";
}

struct Section {
  const char *key, *title;
  Entries DumpDiff::*entries;
};
constexpr Section sections[] = {{"model", "model and deployment", &DumpDiff::model},
                                {"kinds", "layers", &DumpDiff::kinds},
                                {"operations", "operations", &DumpDiff::operations},
                                {"fusions", "fusions", &DumpDiff::fusions},
                                {"launches", "launches", &DumpDiff::launches},
                                {"arenas", "arenas", &DumpDiff::arenas},
                                {"slices", "slices", &DumpDiff::slices},
                                {"families", "weights and state", &DumpDiff::families}};

std::string shortened(const std::string &text) {
  constexpr size_t most = 200;
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

} // namespace

DumpDiff diffDumps(const std::string &a, const std::string &b) {
  std::unique_ptr<MLIRContext> context = makeModelContext();
  ProgramView ofA = read(a, *context), ofB = read(b, *context);
  if (ofA.stage != ofB.stage)
    throw InputError(a + " is in the form " + formOf(ofA).str() + " and " + b + " in the form " +
                     formOf(ofB).str() + "; compare dumps of the same phase");
  DumpDiff diff;
  diff.a = a;
  diff.b = b;
  diff.form = formOf(ofA).str();
  Things facts[2];
  const ProgramView *views[] = {&ofA, &ofB};
  for (auto [i, view] : llvm::enumerate(views))
    for (auto &[name, value] : view->model)
      facts[i][name].push_back(value);
  compare(facts[0], facts[1], "", 0, diff.model);
  compareKinds(ofA, ofB, diff);
  compareMemory(ofA, ofB, diff);
  return diff;
}

bool DumpDiff::equal() const {
  return llvm::all_of(sections, [&](const Section &section) { return (this->*section.entries).empty(); });
}

std::string DumpDiff::toJson() const {
  llvm::json::Object root{{"a", llvm::json::fixUTF8(a)},
                          {"b", llvm::json::fixUTF8(b)},
                          {"form", form},
                          {"equal", equal()}};
  for (const Section &section : sections) {
    llvm::json::Array list;
    for (const Entry &entry : this->*section.entries) {
      auto value = [](const std::optional<std::string> &text) {
        return text ? llvm::json::Value(llvm::json::fixUTF8(*text)) : llvm::json::Value(nullptr);
      };
      list.push_back(llvm::json::Object{{"function", llvm::json::fixUTF8(entry.function)},
                                        {"layers", entry.layers},
                                        {"name", llvm::json::fixUTF8(entry.name)},
                                        {"a", value(entry.a)},
                                        {"b", value(entry.b)}});
    }
    root[section.key] = std::move(list);
  }
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(root)));
}

std::string DumpDiff::toText() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "a  " << a << "\nb  " << b << "\n";
  if (equal()) {
    out << "no differences in the form " << form << "\n";
    return text;
  }
  // What does not fit on a screen is read by a program.
  constexpr size_t most = 60;
  for (const Section &section : sections) {
    const Entries &entries = this->*section.entries;
    if (entries.empty())
      continue;
    out << section.title << "\n";
    std::string title;
    for (const Entry &entry : llvm::ArrayRef(entries).take_front(most)) {
      std::string own = entry.function.empty() ? "" : "  @" + entry.function;
      if (entry.layers)
        own += " x " + std::to_string(entry.layers) + (entry.layers == 1 ? " layer" : " layers");
      if (own != title && !own.empty())
        out << own << "\n";
      title = own;
      out << (own.empty() ? "  " : "    ");
      if (!entry.a)
        out << "only b: " << entry.name << ": " << shortened(*entry.b) << "\n";
      else if (!entry.b)
        out << "only a: " << entry.name << ": " << shortened(*entry.a) << "\n";
      else
        out << entry.name << ": " << shortened(*entry.a) << " -> " << shortened(*entry.b) << "\n";
    }
    if (entries.size() > most)
      out << "  and " << entries.size() - most << " more (--json has all)\n";
  }
  return text;
}

} // namespace llmc
