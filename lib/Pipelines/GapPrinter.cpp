//===- GapPrinter.cpp - the gap report as JSON, text and pages ------------===//
#include "llmc/Pipelines/GapReport.h"

#include "llmc/Frontend/Json.h"
#include "llmc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace llvm;

namespace llmc {

using frontend::Json;
using Grade = GapReport::Grade;
using Row = GapReport::Row;

namespace {

StringRef gradeName(Grade grade) {
  switch (grade) {
  case Grade::Covered: return "covered";
  case Grade::Composable: return "composable";
  case Grade::Missing: return "missing";
  }
  llvm_unreachable("closed enum");
}

Json workJson(const llm::OperatorWork &work) {
  Json json = Json::makeObject();
  json.set("multiply_adds", Json::makeDouble(work.multiplyAdds));
  json.set("weight_bytes", Json::makeDouble(work.weightBytes));
  json.set("state_bytes", Json::makeDouble(work.stateBytes));
  json.set("row_bytes", Json::makeDouble(work.rowBytes));
  return json;
}

Json textList(const std::vector<std::string> &texts) {
  Json list = Json::makeArray();
  for (const std::string &text : texts)
    list.items.push_back(Json::makeString(text));
  return list;
}

Json rowJson(const Row &row) {
  Json json = Json::makeObject(), facts = Json::makeObject();
  json.set("op", Json::makeString(row.op));
  for (const auto &[name, value] : row.facts)
    facts.set(name, Json::makeString(value));
  json.set("facts", std::move(facts));
  json.set("kernel_facts", textList(row.kernelFacts));
  json.set("location", Json::makeString(row.location));
  json.set("calls", Json::makeInt(row.calls));
  json.set("prefill", workJson(row.prefill));
  json.set("decode", workJson(row.decode));
  json.set("grade", Json::makeString(gradeName(row.grade).str()));
  json.set("by", Json::makeString(row.by));
  json.set("extension", Json::makeString(row.extension));
  json.set("composed_of", textList(row.composedOf));
  if (row.grade == Grade::Composable) {
    json.set("composed_prefill", workJson(row.composedPrefill));
    json.set("composed_decode", workJson(row.composedDecode));
  }
  json.set("reason", Json::makeString(row.grade == Grade::Covered ? "" : row.reason));
  return json;
}

/// 1234567 as "1.23 M".
std::string amount(double number) {
  static constexpr const char *units[] = {"", " k", " M", " G", " T", " P", " E"};
  size_t unit = 0;
  while (number >= 999.5 && unit + 1 < std::size(units)) {
    number /= 1000;
    ++unit;
  }
  if (unit == 0)
    return formatv("{0}", int64_t(number + 0.5)).str();
  return formatv(number < 9.995 ? "{0:f2}{1}" : number < 99.95 ? "{0:f1}{1}" : "{0:f0}{1}", number,
                 units[unit])
      .str();
}

std::string share(double part, double whole) {
  return whole > 0 ? formatv("{0:f1}%", 100 * part / whole).str() : "-";
}

std::string factsText(const frontend::OperatorFacts &facts) {
  std::string text;
  for (const auto &[name, value] : facts)
    text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

void writeFile(const std::string &path, const std::string &text) {
  std::error_code error;
  raw_fd_ostream file(path, error, sys::fs::CD_CreateNew);
  if (!error) {
    file << text;
    file.close();
    error = file.error();
    file.clear_error();
  }
  if (error)
    throw InputError(path + ": cannot be written: " + error.message());
}

/// The section of the operation in docs/Reference/LLM.md, or a pointer to it.
std::string documentation(StringRef reference, StringRef op) {
  std::string heading = ("### `" + op + "`").str();
  size_t begin = reference.find(heading);
  if (begin == StringRef::npos)
    return "docs/Reference/LLM.md describes the operation.\n";
  size_t end = reference.find("\n### ", begin + heading.size());
  StringRef section = reference.slice(begin, end);
  return section.drop_until([](char c) { return c == '\n'; }).trim().str() + "\n";
}

} // namespace

std::string GapReport::toJson() const {
  Json root = Json::makeObject();
  root.set("model", Json::makeString(model));
  root.set("target", Json::makeString(target));
  root.set("target_file", Json::makeString(targetFile));
  root.set("weights", Json::makeString(weights));
  root.set("weights_from", Json::makeString(weightsFrom));
  root.set("quantization",
           Json::makeString(options.quantization ? options.quantization->method() : ""));
  root.set("not_counted", Json::makeString(notCounted));
  root.set("inferred", Json::makeBool(inferred));
  root.set("prompt_tokens", Json::makeInt(options.promptTokens));
  root.set("context", Json::makeInt(options.context));
  root.set("verdict", Json::makeString(ok() ? "complete" : "missing"));
  root.set("prefill", workJson(prefillTotal()));
  root.set("decode", workJson(decodeTotal()));
  Json list = Json::makeArray();
  for (const Row &row : rows)
    list.items.push_back(rowJson(row));
  root.set("operators", std::move(list));
  return root.dump() + "\n";
}

std::string GapReport::toText() const {
  std::string text;
  raw_string_ostream out(text);
  llm::OperatorWork prefill = prefillTotal(), decode = decodeTotal();
  size_t missing = 0, composable = 0;
  for (const Row &row : rows) {
    missing += row.grade == Grade::Missing;
    composable += row.grade == Grade::Composable;
  }
  out << formatv("{0} on {1}: {2} operators, {3} covered, {4} composable, {5} missing\n", model,
                 target, rows.size(), rows.size() - missing - composable, composable, missing);
  if (weightsFrom == "config" || weightsFrom == "assumed")
    out << "weights: " << weights
        << (weightsFrom == "config" ? ", by the config"
                                    : ", assumed: neither headers nor the config's 'dtype' say it")
        << "\n";
  if (!notCounted.empty())
    out << "not counted: " << notCounted << "; its weights are judged and counted as above\n";
  else if (options.quantization)
    out << "quantised weights: as quantization_config (" << options.quantization->method()
        << ") has them published; llmc's own kernels read their values as f32\n";
  out << formatv("prompt of {0} tokens: {1} multiply-adds, {2}B; one token behind {3}: {4} "
                 "multiply-adds, {5}B\n\n",
                 options.promptTokens, amount(prefill.multiplyAdds), amount(prefill.bytes()),
                 options.context, amount(decode.multiplyAdds), amount(decode.bytes()));
  out << formatv("{0,-22}{1,7}{2,9}{3,9}  {4,-11}{5}\n", "operator", "calls", "prefill", "decode",
                 "grade", "by");
  for (const Row &row : rows) {
    out << formatv("{0,-22}{1,7}{2,9}{3,9}  {4,-11}{5}\n", row.op, row.calls,
                   share(row.prefill.multiplyAdds, prefill.multiplyAdds),
                   share(row.decode.bytes(), decode.bytes()), gradeName(row.grade), row.by);
    out << "    " << factsText(row.facts) << "\n";
    if (!row.extension.empty())
      out << "    " << row.extension << "\n";
    if (row.grade == Grade::Composable)
      out << formatv("    of {0}; {1}B a token instead of {2}B\n", join(row.composedOf, ", "),
                     amount(row.composedDecode.bytes()), amount(row.decode.bytes()));
    if (row.grade == Grade::Missing)
      out << "    " << row.reason << "; first at " << row.location << "\n";
  }
  out << "\nprefill: share of the multiply-adds; decode: share of the bytes\n";
  return text;
}

std::vector<std::string> writeSpecifications(const GapReport &report, const std::string &folder,
                                             const std::string &referenceFile) {
  std::string reference;
  if (auto buffer = MemoryBuffer::getFile(referenceFile))
    reference = (*buffer)->getBuffer().str();
  if (std::error_code error = sys::fs::create_directories(folder))
    throw InputError(folder + ": cannot be made: " + error.message());
  std::error_code error;
  if (sys::fs::directory_iterator(folder, error) != sys::fs::directory_iterator())
    throw InputError(folder + ": is not empty; specifications go into a new or empty folder");
  std::vector<std::string> files;
  std::set<std::string> done;
  for (const Row &first : report.rows) {
    if (first.grade != Grade::Missing || !done.insert(first.op).second)
      continue;
    std::string page, test;
    raw_string_ostream out(page), program(test);
    StringRef name = StringRef(first.op).split('.').second;
    out << "# " << first.op << " on " << report.target << "\n\n"
        << report.model << " needs this operator, and " << report.target
        << " has no kernel for it.\n\n## What it computes\n\n"
        << documentation(reference, first.op) << "\n## Where it is used\n\n"
        << "| facts | first at | calls | multiply-adds, prompt of " << report.options.promptTokens
        << " | bytes, a token behind " << report.options.context << " | why not |\n"
        << "|---|---|---|---|---|---|\n";
    unsigned uses = 0;
    for (const Row &row : report.rows) {
      if (row.op != first.op || row.grade != Grade::Missing)
        continue;
      out << "| " << factsText(row.facts) << " | `" << row.location << "` | " << row.calls << " | "
          << amount(row.prefill.multiplyAdds) << " | " << amount(row.decode.bytes()) << " | "
          << row.reason << " |\n";
      if (uses++)
        program << "\n// -----\n\n";
      program << "// " << factsText(row.facts) << "\n" << row.program;
    }
    out << "\n## How to prove it\n\n`" << name << ".mlir` holds a program of the operator alone for "
        << "each line above, with seeded weights in place of real ones. The evaluator defines the "
        << "right numbers:\n\n```\nllmc-opt " << name
        << ".mlir --split-input-file\nllmc-opt " << name << ".mlir --target="
        << report.target << " --weights=none --check-passes -o out\n```\n";
    for (const auto &[ending, text] : {std::pair(".md", &page), std::pair(".mlir", &test)}) {
      SmallString<256> path(folder);
      sys::path::append(path, name + ending);
      writeFile(path.str().str(), *text);
      files.push_back(path.str().str());
    }
  }
  return files;
}

} // namespace llmc
