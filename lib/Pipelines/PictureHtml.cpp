//===- PictureHtml.cpp - a compilation as one page ------------------------===//
//
// Static: what opens is <details>, what says more under the pointer is a title. All text of
// the model goes through htmlText.
//
//===----------------------------------------------------------------------===//
#include "Picture.h"
#include "PictureStyle.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace llmc {

std::string htmlText(StringRef text) {
  std::string result;
  for (char c : llvm::json::fixUTF8(text)) {
    switch (c) {
    case '&': result += "&amp;"; break;
    case '<': result += "&lt;"; break;
    case '>': result += "&gt;"; break;
    case '"': result += "&quot;"; break;
    case '\'': result += "&#39;"; break;
    default:
      if ((unsigned char)c >= ' ' || c == '\n')
        result += c;
    }
  }
  return result;
}

namespace {

/// 12 730 368.
std::string grouped(int64_t value) {
  std::string digits = std::to_string(value), text;
  for (size_t i = 0, n = digits.size(); i < n; ++i) {
    text += digits[i];
    if ((n - i - 1) % 3 == 0 && i + 1 < n && digits[i] != '-')
      text += "\xE2\x80\xAF"; // narrow no-break space
  }
  return text;
}
std::string grouped(double value) { return grouped(int64_t(std::llround(value))); }

/// "92.1 MiB", for what people compare at a glance.
std::string readable(double bytes) {
  constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0)
    return llvm::formatv("{0} B", int64_t(bytes));
  return llvm::formatv("{0:f1} {1}", bytes, units[unit]);
}

class HtmlPrinter {
public:
  HtmlPrinter(const ProgramView &llm, const ProgramView &plan, const FusionReport &report,
              const Explanation &explanation, llvm::raw_ostream &out)
      : llm(llm), plan(plan), report(report), explanation(explanation), out(out) {}

  void print();

private:
  void printHead();
  void printFigures();
  void printStep(const FusionReport::Step &step);
  void printPatterns();
  void printLayers();
  void printKind(size_t number, const ViewKind &kind);
  void printItem(const ViewItem &item);
  void printLaunches(const ViewKind &kind);
  void printDecisions();
  void printMemory();
  void printTimeline(const ViewArena &arena);
  void printFamilies();

  void cell(StringRef text, bool isNumber = false) {
    out << (isNumber ? "<td class=n>" : "<td>") << htmlText(text) << "</td>";
  }
  std::string fact(StringRef name) const {
    for (auto &[key, value] : plan.model)
      if (key == name)
        return value;
    return "";
  }
  /// Colours repeat after twelve kinds; the number tells them apart.
  static std::string colour(size_t kind) { return "c" + std::to_string(kind % 12); }

  const ProgramView &llm, &plan;
  const FusionReport &report;
  const Explanation &explanation;
  llvm::raw_ostream &out;
};

void HtmlPrinter::printHead() {
  std::string title = htmlText(fact("name"));
  out << "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
      << "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
      << "<meta name=color-scheme content=\"light dark\">\n"
      << "<title>llmc: " << title << "</title>\n<style>" << pictureStyle << "</style>\n</head>\n"
      << "<body>\n<header>\n<h1>" << title << "</h1>\n<p>";
  bool any = false;
  for (auto &[name, value] : plan.model) {
    if (name == "name")
      continue;
    out << (any ? " &middot; " : "") << htmlText(name) << " <b>" << htmlText(value) << "</b>";
    any = true;
  }
  out << "</p>\n"
      << "<nav><a href=\"#figures\">Figures</a> <a href=\"#layers\">Layers</a> "
      << "<a href=\"#memory\">Memory</a> <a href=\"#decisions\">Decisions</a></nav>\n</header>\n";
}

void HtmlPrinter::printStep(const FusionReport::Step &step) {
  double most = std::max(step.unfused.total(), 1.0);
  out << "<h3>" << htmlText(step.name) << ": " << grouped(step.shape.tokens)
      << (step.shape.tokens == 1 ? " token" : " tokens");
  if (step.shape.past)
    out << " behind " << grouped(step.shape.past) << " positions";
  out << "</h3>\n<div class=scroll><table><tr><th>bytes moved<th class=n>weights<th "
         "class=n>state<th class=n>rows<th class=n>total<th class=n>unavoidable share<th>\n";
  auto row = [&](StringRef name, const Traffic &bytes) {
    double total = std::max(bytes.total(), 1.0);
    out << "<tr>";
    cell(name);
    for (double part : {bytes.weights, bytes.state, bytes.rows})
      cell(readable(part), true);
    out << "<td class=n title=\"" << grouped(bytes.total()) << " bytes\">"
        << readable(bytes.total()) << "</td>";
    cell(llvm::formatv("{0:f2}%", 100 * step.least.total() / total).str(), true);
    out << "<td class=bar><div class=stack style=\"width:"
        << llvm::formatv("{0:f2}", 100 * total / most) << "%\">";
    for (auto [part, kind] : {std::pair(bytes.weights, "w"), std::pair(bytes.state, "s"),
                              std::pair(bytes.rows, "r")})
      out << "<i class=" << kind << " style=\"width:" << llvm::formatv("{0:f2}", 100 * part / total)
          << "%\"></i>";
    out << "</div></td>\n";
  };
  row("unfused", step.unfused);
  row("fused", step.fused);
  row("unavoidable", step.least);
  out << "</table></div>\n";
}

void HtmlPrinter::printPatterns() {
  out << "<h3>Patterns</h3>\n<div class=scroll><table><tr><th>fusion<th>family<th class=n>made a "
         "step<th class=n>launches saved<th class=n>bytes, decode<th class=n>bytes, prefill"
         "<th>refused, times a step\n";
  for (const FusionReport::Pattern &pattern : report.patterns) {
    out << (pattern.made ? "<tr>" : "<tr class=quiet>");
    cell(pattern.name);
    cell(pattern.family);
    cell(grouped(pattern.made), true);
    cell(grouped(pattern.launchesSaved), true);
    for (double saved : pattern.bytesSaved)
      cell(grouped(saved), true);
    out << "<td>";
    if (!pattern.enabled)
      out << "disabled ";
    for (auto &[reason, times] : pattern.refused)
      out << "<span class=tag>" << htmlText(reason) << " &times; " << grouped(times) << "</span> ";
    out << "</td>\n";
  }
  out << "</table></div>\n";
}

void HtmlPrinter::printFigures() {
  double layers = double(std::max<int64_t>(report.layers, 1));
  int64_t inLayers[2] = {0, 0};
  for (const FusionReport::Kind &kind : report.kinds)
    if (!kind.layers.empty()) {
      inLayers[0] += kind.unfused * kind.runs;
      inLayers[1] += kind.fused * kind.runs;
    }
  out << "<section id=figures>\n<h2>What fusion saves</h2>\n<div class=cards>";
  auto card = [&](StringRef what, const std::string &before, const std::string &after) {
    out << "<div class=card><span>" << what << "</span><b>" << after << "</b><small>" << before
        << " unfused</small></div>";
  };
  card("launches a layer", llvm::formatv("{0:f1}", inLayers[0] / layers),
       llvm::formatv("{0:f1}", inLayers[1] / layers));
  card("launches a step", grouped(report.launchesUnfused), grouped(report.launchesFused));
  for (const FusionReport::Step &step : report.steps) {
    auto perToken = [&](const Traffic &bytes) {
      return readable(bytes.total() / double(step.shape.tokens));
    };
    card("a token, " + step.name, perToken(step.unfused), perToken(step.fused));
  }
  out << "</div>\n<p class=legend><i class=w></i> weights <i class=s></i> state <i class=r></i> rows "
         "between launches</p>\n";
  for (const FusionReport::Step &step : report.steps)
    printStep(step);
  printPatterns();
  out << "</section>\n";
}

void HtmlPrinter::printItem(const ViewItem &item) {
  auto path = [&](const ViewItem &of) {
    if (!of.path.empty() && of.path != "-")
      out << " <span class=path>" << htmlText(of.path) << "</span>";
  };
  if (item.body.empty()) {
    out << "<div class=op title=\"" << htmlText(item.facts) << "\"><code>" << htmlText(item.what)
        << "</code>";
    path(item);
    // Which layers, what the op alone does not say.
    if (item.what == "llm.repeat")
      out << " <small>" << htmlText(item.facts) << "</small>";
    out << "</div>\n";
    return;
  }
  out << "<details class=fusion><summary><code>" << htmlText(item.what) << "</code> <small>"
      << item.body.size() << " operations</small>";
  path(item);
  out << "</summary>\n";
  for (const ViewItem &inner : item.body) {
    out << "<div class=op><code>" << htmlText(inner.what) << "</code>";
    path(inner);
    if (!inner.facts.empty())
      out << " <small>" << htmlText(inner.facts) << "</small>";
    out << "</div>\n";
  }
  for (const DecisionGroup &group : explanation.groups())
    if (group.decision.category == "fusion" && group.decision.name == item.what &&
        group.decision.location == item.path)
      out << "<p class=remark>" << htmlText(group.decision.outcome + ": " + group.decision.text)
          << "</p>\n";
  out << "</details>\n";
}

void HtmlPrinter::printLaunches(const ViewKind &kind) {
  auto planned = llvm::find_if(plan.kinds, [&](auto &other) { return other.name == kind.name; });
  if (planned == plan.kinds.end())
    return;
  out << "<details><summary>" << planned->items.size()
      << (planned->items.size() == 1 ? " launch" : " launches")
      << "</summary>\n<div class=scroll><table><tr><th class=n>#<th>computes<th>path<th>kernel, "
         "items, operands (&lt; read, &gt; written)\n";
  for (auto [i, item] : llvm::enumerate(planned->items)) {
    out << "<tr>";
    cell(std::to_string(i + 1), true);
    cell(item.what);
    out << "<td class=path>" << htmlText(item.path) << "</td><td><code>" << htmlText(item.facts)
        << "</code><br><small>" << htmlText(item.operands) << "</small></td>\n";
  }
  out << "</table></div></details>\n";
}

void HtmlPrinter::printKind(size_t number, const ViewKind &kind) {
  size_t fusions = llvm::count_if(kind.items, [](auto &item) { return item.isFusion; });
  out << "<details class=kind" << (number < 3 ? " open" : "") << " id=k" << number
      << "><summary><i class=" << colour(number) << ">" << number << "</i> <b>"
      << htmlText(kind.name) << "</b> ";
  if (kind.layers.empty())
    out << "once a step";
  else
    out << kind.layers.size() << (kind.layers.size() == 1 ? " layer: " : " layers: ")
        << htmlText(rangesText(kind.layers));
  out << " <small>" << kind.items.size() << " parts, " << fusions << " fused</small></summary>\n";
  for (const ViewItem &item : kind.items)
    printItem(item);
  printLaunches(kind);
  out << "</details>\n";
}

void HtmlPrinter::printLayers() {
  out << "<section id=layers>\n<h2>Layers</h2>\n<p>A square is a layer; a number is what it runs. A "
         "fusion opens to its operations.</p>\n<div class=strip>";
  std::vector<std::pair<int64_t, size_t>> layers;
  for (auto [number, kind] : llvm::enumerate(llm.kinds))
    for (int64_t layer : kind.layers)
      layers.emplace_back(layer, number);
  llvm::sort(layers);
  for (auto [layer, kind] : layers)
    out << "<a class=" << colour(kind) << " href=\"#k" << kind << "\" title=\"layer " << layer << ": "
        << htmlText(llm.kinds[kind].name) << "\">" << kind << "</a>";
  out << "</div>\n";
  for (auto [number, kind] : llvm::enumerate(llm.kinds))
    printKind(number, kind);
  out << "</section>\n";
}

void HtmlPrinter::printTimeline(const ViewArena &arena) {
  std::vector<const ViewSlice *> slices;
  for (const ViewSlice &slice : plan.slices)
    if (slice.arena == arena.name)
      slices.push_back(&slice);
  if (slices.empty() || arena.bytes <= 0)
    return;
  double steps = double(std::max<int64_t>(plan.steps, 1)), bytes = double(arena.bytes);
  out << "<figure><figcaption>" << htmlText(arena.name) << ", " << readable(bytes)
      << ": steps from left to right, addresses upwards; a box is a slice while it is live"
      << "</figcaption>\n<div class=map>\n";
  for (auto [i, slice] : llvm::enumerate(slices)) {
    double w = double(slice->last + 1 - slice->first) / steps * 100;
    double h = double(slice->bytes) / bytes * 100;
    out << llvm::formatv("<b class={0} style=\"left:{1:f3}%;bottom:{2:f3}%;width:{3:f3}%;height:{4:f3}%\"",
                         colour(i), double(slice->first) / steps * 100,
                         double(slice->offset) / bytes * 100, w, h)
        << " title=\"" << htmlText(slice->name) << ": " << htmlText(slice->size) << ", "
        << grouped(slice->bytes) << " bytes at " << grouped(slice->offset) << ", steps "
        << slice->first << " to " << slice->last << "\">";
    // Where a name can be read.
    if (w > 4 && h > 4)
      out << htmlText(slice->name);
    out << "</b>\n";
  }
  out << "</div></figure>\n<details><summary>" << slices.size()
      << (slices.size() == 1 ? " slice" : " slices")
      << "</summary>\n<div class=scroll><table><tr><th>slice<th>size<th class=n>largest "
         "step<th class=n>address<th class=n>steps\n";
  constexpr size_t most = 400;
  for (const ViewSlice *slice : ArrayRef(slices).take_front(most)) {
    out << "<tr>";
    cell(slice->name);
    cell(slice->size);
    cell(grouped(slice->bytes), true);
    cell(grouped(slice->offset), true);
    cell(std::to_string(slice->first) + "\xE2\x80\x93" + std::to_string(slice->last), true);
    out << "\n";
  }
  out << "</table></div>";
  if (slices.size() > most)
    out << "<p>and " << slices.size() - most << " more, which the picture has</p>";
  out << "</details>\n";
}

void HtmlPrinter::printFamilies() {
  out << "<details><summary>" << plan.members.size()
      << " families of weights and state</summary>\n<div class=scroll><table><tr><th>name<th>arena"
         "<th>stored as<th class=n>bytes of all layers\n";
  for (const ViewMember &member : plan.members) {
    out << "<tr>";
    cell(member.name);
    cell(member.arena);
    cell(member.facts);
    cell(grouped(member.bytes), true);
    out << "\n";
  }
  out << "</table></div></details>\n";
}

void HtmlPrinter::printMemory() {
  out << "<section id=memory>\n<h2>Memory</h2>\n<div class=scroll><table><tr><th>arena<th>kind<th>size<th "
         "class=n>largest step<th class=n>lower bound\n";
  for (const ViewArena &arena : plan.arenas) {
    out << "<tr>";
    cell(arena.name);
    cell(arena.kind);
    cell(arena.size);
    cell(grouped(arena.bytes), true);
    cell(arena.lowerBound < 0 ? "" : grouped(arena.lowerBound), true);
    out << "\n";
  }
  out << "</table></div>\n";
  for (const ViewArena &arena : plan.arenas)
    printTimeline(arena);
  printFamilies();
  out << "</section>\n";
}

void HtmlPrinter::printDecisions() {
  out << "<section id=decisions>\n<h2>Decisions</h2>\n";
  ArrayRef<DecisionGroup> groups = explanation.groups();
  while (!groups.empty()) {
    Phase phase = groups.front().phase;
    auto here = groups.take_while([&](auto &group) { return group.phase == phase; });
    groups = groups.drop_front(here.size());
    size_t missed = llvm::count_if(here, [](auto &group) { return group.decision.outcome == "missed"; });
    out << "<details" << (phase == Phase::Optimize ? " open" : "") << "><summary>phase "
        << phaseName(phase) << " <small>" << here.size() << " different, " << missed
        << " refused</small></summary>\n<div class=scroll><table><tr><th>outcome<th>name<th>where<th>why"
        << "<th class=n>a step\n";
    for (const DecisionGroup &group : here) {
      out << "<tr class=" << (group.decision.outcome == "missed" ? "missed" : "taken") << ">";
      cell(group.decision.outcome);
      cell(group.decision.name);
      out << "<td class=path>" << htmlText(group.decision.location) << "</td>";
      cell(group.decision.text);
      cell(grouped(explanation.times(group)), true);
      out << "\n";
    }
    out << "</table></div></details>\n";
  }
  out << "</section>\n";
}

void HtmlPrinter::print() {
  printHead();
  printFigures();
  printLayers();
  printMemory();
  printDecisions();
  out << "</body>\n</html>\n";
}

} // namespace

void printHtml(const ProgramView &llm, const ProgramView &plan, const FusionReport &report,
               const Explanation &explanation, llvm::raw_ostream &out) {
  HtmlPrinter(llm, plan, report, explanation, out).print();
}

} // namespace llmc
