//===- DiffPrinter.cpp - the differences as JSON and as text --------------===//
#include "llmc/Frontend/Diff.h"
#include "llmc/Support/Printable.h"

namespace llmc::frontend {

static Json sideOf(const DiffSide &side) {
  Json out = Json::makeObject();
  out.set("model", Json::makeString(side.path));
  out.set("architecture", Json::makeString(side.report.architecture));
  out.set("description", Json::makeString(side.description));
  Json extends = Json::makeArray();
  for (const std::string &name : side.extends)
    extends.items.push_back(Json::makeString(name));
  out.set("extends", std::move(extends));
  out.set("verdict", Json::makeString(verdictName(side.report.verdict)));
  out.set("layers", Json::makeInt(side.layers));
  out.set("parameters", Json::makeInt(side.report.parametersTotal));
  return out;
}

Json diffList(const std::vector<DiffEntry> &entries) {
  Json list = Json::makeArray();
  for (const DiffEntry &entry : entries) {
    Json item = Json::makeObject();
    item.set("name", Json::makeString(entry.name));
    item.set("a", entry.a ? Json::makeString(*entry.a) : Json());
    item.set("b", entry.b ? Json::makeString(*entry.b) : Json());
    list.items.push_back(std::move(item));
  }
  return list;
}

/// A value in a line for people.
static std::string shortened(const std::string &text) {
  constexpr size_t most = 160;
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

std::string diffLines(const std::string &title, const std::vector<DiffEntry> &entries) {
  if (entries.empty())
    return "";
  std::string out = title + "\n";
  for (const DiffEntry &entry : entries) {
    std::string line;
    if (!entry.a)
      line = "only b: " + entry.name + " = " + shortened(*entry.b);
    else if (!entry.b)
      line = "only a: " + entry.name + " = " + shortened(*entry.a);
    else
      line = entry.name + ": " + shortened(*entry.a) + " -> " + shortened(*entry.b);
    out += "  " + printable(line, /*line=*/true) + "\n";
  }
  return out;
}

namespace {
struct Section {
  const char *key, *title;
  const std::vector<DiffEntry> ModelDiff::*entries;
};
} // namespace

static constexpr Section sections[] = {
    {"structure", "structure", &ModelDiff::structure},
    {"config_keys", "config keys", &ModelDiff::keys},
    {"params", "parameters of the descriptions", &ModelDiff::params},
    {"operators", "operators, and how often a token takes them", &ModelDiff::operators},
    {"tensors", "tensors, by their roles", &ModelDiff::tensors},
    {"state", "state of a sequence", &ModelDiff::state},
    {"memory", "parameters and memory", &ModelDiff::memory},
};

std::string ModelDiff::toJson() const {
  Json root = Json::makeObject();
  root.set("a", sideOf(a));
  root.set("b", sideOf(b));
  root.set("equal", Json::makeBool(equal()));
  for (const Section &section : sections)
    root.set(section.key, diffList(this->*section.entries));
  return root.dump() + "\n";
}

std::string ModelDiff::toText() const {
  std::string out = "a  " + a.path + ": " + a.report.architecture + ", description " +
                    a.description + "\nb  " + b.path + ": " + b.report.architecture +
                    ", description " + b.description + "\n";
  if (equal())
    return out + "no differences\n";
  for (const Section &section : sections)
    out += diffLines(section.title, this->*section.entries);
  return out;
}

} // namespace llmc::frontend
