//===- FusionReportPrinter.cpp - the fusion report, as text and JSON ------===//
#include "FusionReport.h"

#include "llmc/Support/Printable.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace llmc {

using llvm::json::Array;
using llvm::json::Object;

static int64_t whole(double bytes) { return std::llround(bytes); }

/// What of the bytes that are moved any schedule has to move; 1 where nothing is moved.
static double share(const Traffic &least, const Traffic &moved) {
  return moved.total() > 0 ? least.total() / moved.total() : 1;
}

static Object jsonOf(const Traffic &bytes) {
  return Object{{"weights", whole(bytes.weights)},
                {"state", whole(bytes.state)},
                {"rows", whole(bytes.rows)},
                {"token_ids", whole(bytes.ids)},
                {"total", whole(bytes.total())}};
}

llvm::json::Value FusionReport::toJson() const {
  Array stepList, kindList, patternList;
  for (const Step &step : steps)
    stepList.push_back(Object{{"name", step.name},
                              {"tokens", step.shape.tokens},
                              {"past", step.shape.past},
                              {"outputs", step.shape.outputs},
                              {"unfused", jsonOf(step.unfused)},
                              {"fused", jsonOf(step.fused)},
                              {"unavoidable", jsonOf(step.least)},
                              {"unavoidable_share_unfused", share(step.least, step.unfused)},
                              {"unavoidable_share_fused", share(step.least, step.fused)}});
  for (const Kind &kind : kinds)
    kindList.push_back(Object{{"function", kind.function},
                              {"layers", kind.layers},
                              {"runs", kind.runs},
                              {"launches_unfused", kind.unfused},
                              {"launches_fused", kind.fused}});
  for (const Pattern &pattern : patterns) {
    Object saved, refused;
    for (auto [step, bytes] : llvm::zip_equal(steps, pattern.bytesSaved))
      saved[step.name] = whole(bytes);
    for (auto &[reason, times] : pattern.refused)
      refused[llvm::json::fixUTF8(reason)] = times;
    patternList.push_back(Object{{"name", pattern.name},
                                 {"family", pattern.family},
                                 {"enabled", pattern.enabled},
                                 {"made", pattern.made},
                                 {"launches_saved", pattern.launchesSaved},
                                 {"bytes_saved", std::move(saved)},
                                 {"refused", std::move(refused)}});
  }
  return Object{{"model", llvm::json::fixUTF8(model)},
                {"target", target},
                {"layers", layers},
                {"launches_unfused", launchesUnfused},
                {"launches_fused", launchesFused},
                {"steps", std::move(stepList)},
                {"kinds", std::move(kindList)},
                {"patterns", std::move(patternList)}};
}

namespace {

std::string number(double bytes) {
  std::string digits = std::to_string(whole(bytes)), text;
  bool negative = digits.front() == '-';
  for (size_t i = negative, n = digits.size(); i < n; ++i) {
    text += digits[i];
    if ((n - i - 1) % 3 == 0 && i + 1 < n)
      text += ' ';
  }
  return (negative ? "-" : "") + text;
}

std::string percent(double part) { return llvm::formatv("{0:f2}%", part * 100); }

void printStep(const FusionReport::Step &step, llvm::raw_ostream &out) {
  out << "\n" << step.name << ": " << step.shape.tokens
      << (step.shape.tokens == 1 ? " token" : " tokens");
  if (step.shape.past)
    out << " behind " << step.shape.past << " positions";
  out << ", bytes moved\n";
  out << llvm::formatv("  {0,-18} {1,18} {2,18} {3,18}\n", "", "unfused", "fused", "unavoidable");
  auto row = [&](llvm::StringRef name, auto get) {
    out << llvm::formatv("  {0,-18} {1,18} {2,18} {3,18}\n", name, number(get(step.unfused)),
                         number(get(step.fused)), number(get(step.least)));
  };
  row("weights", [](const Traffic &bytes) { return bytes.weights; });
  row("state", [](const Traffic &bytes) { return bytes.state; });
  row("rows", [](const Traffic &bytes) { return bytes.rows; });
  row("token ids", [](const Traffic &bytes) { return bytes.ids; });
  row("total", [](const Traffic &bytes) { return bytes.total(); });
  row("total, a token",
      [&](const Traffic &bytes) { return bytes.total() / double(step.shape.tokens); });
  out << llvm::formatv("  {0,-18} {1,18} {2,18} {3,18}\n", "unavoidable share",
                       percent(share(step.least, step.unfused)),
                       percent(share(step.least, step.fused)), percent(1));
}

std::string refusals(const FusionReport::Pattern &pattern) {
  std::string text;
  for (auto &[reason, times] : pattern.refused)
    text += (text.empty() ? "" : "; ") + printable(reason, /*line=*/true) + " x " +
            std::to_string(times);
  return text;
}

} // namespace

std::string FusionReport::toText() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "fusion report of " << printable(model, /*line=*/true) << " on "
      << printable(target, /*line=*/true) << ", " << layers << " layers\n\n";
  out << llvm::formatv("{0,-32} {1,10} {2,10} {3,10}\n", "launches", "runs", "unfused", "fused");
  for (const Kind &kind : kinds)
    out << llvm::formatv("  {0,-30} {1,10} {2,10} {3,10}\n",
                         printable("@" + kind.function, /*line=*/true), kind.runs, kind.unfused,
                         kind.fused);
  out << llvm::formatv("  {0,-30} {1,10} {2,10} {3,10}\n", "a step", 1, launchesUnfused,
                       launchesFused);
  for (const Step &step : steps)
    printStep(step, out);
  out << llvm::formatv("\n{0,-22} {1,6} {2,10} {3,16} {4,18}  {5}\n", "patterns, in order", "made",
                       "launches", "bytes, decode", "bytes, prefill", "refused, times a step");
  for (const Pattern &pattern : patterns)
    out << llvm::formatv("  {0,-20} {1,6} {2,10} {3,16} {4,18}  {5}\n", pattern.name, pattern.made,
                         number(double(pattern.launchesSaved)), number(pattern.bytesSaved[0]),
                         number(pattern.bytesSaved[1]),
                         pattern.enabled ? refusals(pattern) : "disabled");
  return text;
}

} // namespace llmc
