//===- PictureDot.cpp - a program as a graph for graphviz -----------------===//
#include "Picture.h"

using namespace mlir;

namespace llmc {

namespace {

/// Inside of double quotes. Line ends are written as dot's own.
std::string quoted(StringRef text) {
  std::string result = "\"";
  for (char c : llvm::json::fixUTF8(text)) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else if ((unsigned char)c >= ' ')
      result += c;
  }
  return result + "\"";
}

class DotPrinter {
public:
  DotPrinter(const ProgramView &view, llvm::raw_ostream &out) : view(view), out(out) {}

  void print() {
    out << "digraph program {\n"
        << "  rankdir=TB;\n"
        << "  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n"
        << "  graph [fontname=\"Helvetica\", fontsize=12, labeljust=l];\n";
    for (auto &[name, value] : view.model)
      if (name == "name" || (name == "architecture" && view.model.front().first != "name"))
        out << "  label=" << quoted(value) << ";\n  labelloc=t;\n";
    for (size_t k = 0; k < view.kinds.size(); ++k)
      printKind(k);
    out << "}\n";
  }

private:
  static std::string nodeName(size_t kind, size_t item) {
    return "k" + std::to_string(kind) + "_" + std::to_string(item);
  }

  std::string title(const ViewKind &kind) const {
    if (kind.layers.empty())
      return kind.name + ": once a step";
    return kind.name + ": " + std::to_string(kind.layers.size()) +
           (kind.layers.size() == 1 ? " layer, " : " layers, ") + rangesText(kind.layers);
  }

  static std::string label(const ViewItem &item) {
    std::string text = item.what;
    if (!item.path.empty() && item.path != "-")
      text += "\n" + item.path;
    return text;
  }

  void printKind(size_t k) {
    const ViewKind &kind = view.kinds[k];
    out << "  subgraph cluster_" << k << " {\n    label=" << quoted(title(kind)) << ";\n";
    for (size_t i = 0; i < kind.items.size(); ++i)
      printItem(nodeName(k, i), kind.items[i]);
    for (size_t i = 0; i < kind.items.size(); ++i)
      for (const ViewRead &read : kind.items[i].reads)
        out << "    " << partName(nodeName(k, read.item), kind.items[read.item], read.part) << " -> "
            << partName(nodeName(k, i), kind.items[i], read.reader) << ";\n";
    out << "  }\n";
  }

  static std::string partName(const std::string &name, const ViewItem &item, size_t part) {
    return item.body.empty() ? name : name + "_" + std::to_string(part);
  }

  void printItem(const std::string &name, const ViewItem &item) {
    if (item.body.empty()) {
      out << "    " << name << " [label=" << quoted(label(item))
          << ", tooltip=" << quoted(item.facts) << "];\n";
      return;
    }
    out << "    subgraph cluster_" << name << " {\n      label=" << quoted(item.what)
        << "; style=\"filled,rounded\"; fillcolor=\"#dbeafe\";\n";
    for (size_t i = 0; i < item.body.size(); ++i)
      out << "      " << partName(name, item, i) << " [label=" << quoted(label(item.body[i]))
          << ", tooltip=" << quoted(item.body[i].facts) << ", style=filled, fillcolor=white];\n";
    out << "    }\n";
  }

  const ProgramView &view;
  llvm::raw_ostream &out;
};

} // namespace

void printDot(const ProgramView &view, llvm::raw_ostream &out) { DotPrinter(view, out).print(); }

} // namespace llmc
