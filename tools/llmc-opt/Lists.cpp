//===- Lists.cpp - what this llmc-opt knows, as text or JSON --------------===//
#include "Lists.h"

#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "llmc/Kernels/KernelConfig.h"
#include "llmc/Kernels/NVPTX/RowKernels.h"
#include "llmc/Pipelines/Phases.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <variant>

namespace {

/// Fields of one line; the first is its name. Those of several words are for programs only.
using Words = std::vector<std::string>;
using Row = std::vector<std::pair<llvm::StringRef, std::variant<std::string, Words>>>;

struct List {
  /// The flag without "--list-" and the key in JSON.
  llvm::StringRef name;
  std::vector<Row> rows;
};

} // namespace

static List generators() {
  List list{"generators", {}};
  auto add = [&](const auto &generator) {
    list.rows.push_back({{"name", generator.name.str()},
                         {"kind", generator.kind.str()},
                         {"serves", generator.serves.str()}});
  };
  llvm::for_each(llmc::kernels::cpuGenerators(), add);
  llvm::for_each(llmc::kernels::nvptx::deviceGenerators(), add);
  return list;
}

static List fusions() {
  List list{"fusions", {}};
  for (const llmc::llm::FusionPattern &pattern : llmc::llm::fusionPatterns())
    list.rows.push_back({{"name", pattern.name.str()},
                         {"family", fusionFamilyName(pattern.family).str()},
                         {"pass", ("llm-fuse-" + pattern.name).str()},
                         {"summary", pattern.summary.str()},
                         {"predicates", Words(pattern.predicates.begin(), pattern.predicates.end())}});
  return list;
}

static List predicates() {
  List list{"predicates", {}};
  for (const llmc::llm::FusionPredicate &predicate : llmc::llm::fusionPredicates())
    list.rows.push_back({{"name", predicate.name.str()}, {"holds", predicate.meaning.str()}});
  return list;
}

static List simplifications() {
  List list{"simplifications", {}};
  for (const llmc::llm::Simplification &simplification : llmc::llm::simplifications())
    list.rows.push_back({{"name", simplification.name.str()},
                         {"exact", simplificationExactnessName(simplification.exactness).str()},
                         {"summary", simplification.summary.str()}});
  return list;
}

static List phaseList() {
  List list{"phases", {}};
  for (const llmc::PhaseInfo &phase : llmc::phases())
    list.rows.push_back({{"name", phase.name.str()}, {"contract", phase.contract.str()}});
  return list;
}

static void printText(const List &list) {
  std::vector<Words> lines;
  std::vector<size_t> widths;
  for (const Row &row : list.rows) {
    Words &line = lines.emplace_back();
    for (const auto &[key, value] : row)
      if (const auto *text = std::get_if<std::string>(&value))
        line.push_back(*text);
    widths.resize(std::max(widths.size(), line.size()));
    for (auto [width, text] : llvm::zip(widths, line))
      width = std::max(width, text.size());
  }
  for (const Words &line : lines) {
    for (size_t i = 0; i + 1 < line.size(); ++i)
      llvm::outs() << llvm::left_justify(line[i], unsigned(widths[i])) << "  ";
    llvm::outs() << line.back() << "\n";
  }
}

static void printJson(const std::vector<List> &lists) {
  llvm::json::OStream out(llvm::outs(), 2);
  out.object([&] {
    for (const List &list : lists)
      out.attributeArray(list.name, [&] {
        for (const Row &row : list.rows)
          out.object([&] {
            for (const auto &[key, value] : row)
              if (const auto *text = std::get_if<std::string>(&value))
                out.attribute(key, *text);
              else
                out.attribute(key, llvm::json::Array(std::get<Words>(value)));
          });
      });
  });
  llvm::outs() << "\n";
}

std::optional<int> llmc::listMain(int argc, char **argv) {
  std::vector<List> lists;
  bool json = false;
  std::string other;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef flag(argv[i]);
    flag.consume_front("-");
    flag.consume_front("-");
    if (flag == "list-generators")
      lists.push_back(generators());
    else if (flag == "list-fusions")
      lists.push_back(fusions());
    else if (flag == "list-predicates")
      lists.push_back(predicates());
    else if (flag == "list-simplifications")
      lists.push_back(simplifications());
    else if (flag == "list-phases")
      lists.push_back(phaseList());
    else if (flag == "json")
      json = true;
    else
      other = argv[i];
  }
  if (lists.empty())
    return std::nullopt;
  if (!other.empty()) {
    llvm::errs() << "llmc-opt: " << other << " does not go with --list-" << lists.front().name
                 << "; only --json and other lists do\n";
    return 2;
  }
  if (json)
    printJson(lists);
  else
    for (const List &list : lists)
      printText(list);
  return 0;
}
