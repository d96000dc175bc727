//===- TargetFile.cpp - a chip as data ------------------------------------===//
#include "llmc/Frontend/TargetFile.h"

#include "llmc/Support/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

namespace llmc::frontend {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string &file, const Json &at, const std::string &message) {
  throw InputError(file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
                   message);
}

void needKind(const std::string &file, const std::string &member, const Json &value, bool right,
              const char *wanted) {
  if (!right)
    fail(file, value, "'" + member + "' must be " + wanted + ", it is " + value.kindName());
}

void needMembers(const std::string &file, const std::string &where, const Json &object,
                 std::initializer_list<std::string_view> known) {
  needKind(file, where, object, object.isObject(), "an object");
  for (const auto &[key, value] : object.members)
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      std::string all;
      for (std::string_view name : known)
        all += (all.empty() ? "" : ", ") + std::string(name);
      fail(file, value, where + " has no member '" + key + "'; its members are " + all);
    }
}

std::string textMember(const std::string &file, const Json &object, const char *member,
                       bool needed) {
  const Json *value = object.find(member);
  if (!value) {
    if (needed)
      fail(file, object, std::string("'") + member + "' is missing");
    return "";
  }
  needKind(file, member, *value, value->isString() && !value->text.empty(), "a text");
  return value->text;
}

SourcedNumber sourcedNumber(const std::string &file, const std::string &member, const Json &value) {
  bool right = value.isArray() && value.items.size() == 2 && value.items[0].isNumber() &&
               value.items[1].isString() && !value.items[1].text.empty();
  needKind(file, member, value, right, "[number, source]");
  double number = value.items[0].asDouble();
  if (!(number > 0) || !std::isfinite(number))
    fail(file, value.items[0], "'" + member + "' must be positive, it is " + value.items[0].dump());
  return {number, value.items[1].text};
}

std::optional<std::string> factText(const std::string &file, const std::string &fact,
                                    const Json &value) {
  if (value.isNull())
    return std::nullopt;
  if (value.isString())
    return value.text;
  needKind(file, fact, value, value.isNumber() || value.isBool(), "a text, a number or null");
  return value.dump();
}

CoveredValues coveredValues(const std::string &file, const std::string &fact, const Json &value) {
  CoveredValues covered;
  if (value.isArray()) {
    for (const Json &item : value.items)
      covered.values.push_back(factText(file, fact, item));
    if (covered.values.empty())
      fail(file, value, "'" + fact + "' covers no value; leave the operator out instead");
    return covered;
  }
  needMembers(file, "'" + fact + "'", value, {"min", "max", "multiple_of"});
  auto bound = [&](const char *member) -> std::optional<double> {
    const Json *found = value.find(member);
    if (!found)
      return std::nullopt;
    needKind(file, fact + "." + member, *found, found->isNumber(), "a number");
    return found->asDouble();
  };
  covered.min = bound("min");
  covered.max = bound("max");
  covered.multipleOf = bound("multiple_of");
  if (covered.multipleOf && !(*covered.multipleOf > 0))
    fail(file, value, "'" + fact + ".multiple_of' must be positive");
  return covered;
}

std::map<std::string, CoveredOperator> coveredOperators(const std::string &file,
                                                        const Json &value) {
  needKind(file, "operators", value, value.isObject(), "an object");
  std::map<std::string, CoveredOperator> operators;
  for (const auto &[op, entry] : value.members) {
    needMembers(file, "'" + op + "'", entry, {"by", "only"});
    CoveredOperator covered;
    covered.by = textMember(file, entry, "by", true);
    if (const Json *only = entry.find("only")) {
      needKind(file, "only", *only, only->isObject(), "an object");
      for (const auto &[fact, values] : only->members)
        covered.only[fact] = coveredValues(file, fact, values);
    }
    operators[op] = std::move(covered);
  }
  return operators;
}

/// No error for what cannot be a path, such as a name of thousands of letters.
bool exists(const std::string &path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string allNames(const std::string &folder) {
  std::string all;
  for (const std::string &name : TargetFile::names(folder))
    all += (all.empty() ? "" : ", ") + name;
  return all.empty() ? "none" : all;
}

/// What `extends` gives stands where the file has nothing.
Json readMerged(const std::string &file, const std::string &folder, unsigned depth) {
  Json json = readJsonFile(file, true);
  needMembers(file, "a target", json,
              {"name", "about", "extends", "compiles_as", "memory", "compute", "links",
               "operators"});
  const Json *base = json.find("extends");
  if (!base)
    return json;
  needKind(file, "extends", *base, base->isString(), "the name of a target");
  constexpr unsigned deepest = 8;
  if (depth == deepest)
    fail(file, *base, "'extends' goes through more than " + std::to_string(deepest) +
                          " files; is there a circle?");
  std::string baseFile = (fs::path(folder) / (base->text + ".jsonc")).string();
  if (base->text.find_first_of("/\\") != std::string::npos || !exists(baseFile))
    fail(file, *base, "'extends' names '" + base->text + "', which is no file in " + folder +
                          "; there are " + allNames(folder));
  Json merged = readMerged(baseFile, folder, depth + 1);
  for (const auto &[key, value] : json.members)
    merged.set(key, value);
  return merged;
}

std::optional<double> numberOf(const std::string &text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

} // namespace

bool CoveredValues::covers(const std::optional<std::string> &fact) const {
  if (!values.empty())
    return std::find(values.begin(), values.end(), fact) != values.end();
  std::optional<double> number = fact ? numberOf(*fact) : std::nullopt;
  return number && (!min || *number >= *min) && (!max || *number <= *max) &&
         (!multipleOf || std::fmod(*number, *multipleOf) == 0);
}

std::string CoveredValues::toText() const {
  std::string text;
  auto add = [&](const std::string &part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto &value : values)
    add(value.value_or("none"));
  auto plain = [](double number) {
    return number == std::floor(number) && std::abs(number) < 1e15
               ? std::to_string(int64_t(number))
               : std::to_string(number);
  };
  if (min)
    add("at least " + plain(*min));
  if (max)
    add("at most " + plain(*max));
  if (multipleOf)
    add("a multiple of " + plain(*multipleOf));
  return text;
}

std::vector<std::string> TargetFile::names(const std::string &folder) {
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".jsonc")
      found.push_back(entry->path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

TargetFile TargetFile::read(const std::string &nameOrFile, const std::string &folder) {
  std::string path = nameOrFile;
  bool isName = nameOrFile.find_first_of("/\\.") == std::string::npos;
  if (isName)
    path = (fs::path(folder) / (nameOrFile + ".jsonc")).string();
  if (!exists(path))
    throw InputError("target '" + nameOrFile + "' is neither a file nor one of " +
                     allNames(folder) + "; targets/README.md says how to describe a chip");
  TargetFile target;
  target.file = path;
  Json json = readMerged(path, folder, 0);
  target.name = textMember(path, json, "name", true);
  target.about = textMember(path, json, "about", true);
  target.compilesAs = textMember(path, json, "compiles_as", false);
  if (const Json *memory = json.find("memory")) {
    needMembers(path, "'memory'", *memory, {"bytes", "bytes_per_second"});
    if (const Json *bytes = memory->find("bytes"))
      target.memoryBytes = sourcedNumber(path, "memory.bytes", *bytes);
    if (const Json *speed = memory->find("bytes_per_second"))
      target.memoryBytesPerSecond = sourcedNumber(path, "memory.bytes_per_second", *speed);
  }
  if (const Json *links = json.find("links")) {
    needMembers(path, "'links'", *links, {"bytes_per_second"});
    if (const Json *speed = links->find("bytes_per_second"))
      target.linkBytesPerSecond = sourcedNumber(path, "links.bytes_per_second", *speed);
  }
  if (const Json *compute = json.find("compute")) {
    needKind(path, "compute", *compute, compute->isObject(), "an object");
    for (const auto &[type, number] : compute->members)
      target.compute[type] = sourcedNumber(path, "compute." + type, number);
  }
  if (const Json *operators = json.find("operators"))
    target.operators = coveredOperators(path, *operators);
  else if (target.compilesAs.empty())
    throw InputError(path + ": has neither 'operators', what is covered, nor 'compiles_as', the "
                            "target of llmc-opt whose kernels cover it");
  return target;
}

std::string TargetFile::whyNotCovered(const std::string &op, const OperatorFacts &facts,
                                      std::string &by) const {
  auto entry = operators.find(op);
  if (entry == operators.end())
    return name + " has no " + op;
  for (const auto &[fact, covered] : entry->second.only) {
    auto found = std::find_if(facts.begin(), facts.end(),
                              [&](const auto &pair) { return pair.first == fact; });
    std::optional<std::string> value;
    if (found != facts.end())
      value = found->second;
    if (!covered.covers(value))
      return fact + " is " + value.value_or("none") + ", covered by '" + entry->second.by +
             "' is " + covered.toText();
  }
  by = entry->second.by;
  return "";
}

} // namespace llmc::frontend
