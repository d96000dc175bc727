//===- TargetFile.cpp - a chip as data ------------------------------------===//
#include "llmc/Frontend/TargetFile.h"

#include "llmc/Frontend/ConfigView.h"
#include "llmc/Frontend/StorageFormat.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Printable.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

namespace llmc::frontend {

namespace fs = std::filesystem;

namespace {

std::string positionOf(const std::string &file, const Json &at) {
  return file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

[[noreturn]] void fail(const std::string &file, const Json &at, const std::string &message) {
  throw InputError(printable(positionOf(file, at) + ": " + message, /*line=*/true));
}

std::string listOf(const std::vector<std::string> &names) {
  std::string all;
  for (const std::string &name : names)
    all += (all.empty() ? "" : ", ") + name;
  return all;
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
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail(file, value, where + " has no member '" + key + "'; its members are " +
                            listOf({known.begin(), known.end()}));
}

std::string textMember(const std::string &file, const Json &object, const char *member,
                       bool needed) {
  const Json *value = object.find(member);
  if (!value) {
    if (needed)
      fail(file, object, std::string("'") + member + "' is missing");
    return "";
  }
  needKind(file, member, *value, value->isString(), "a text");
  if (value->text.empty())
    fail(file, *value, std::string("'") + member + "' must not be empty");
  // Reports have them in their lines.
  if (printable(value->text, /*line=*/true) != value->text)
    fail(file, *value, std::string("'") + member + "' must be one line of text, it is '" +
                           value->text + "'");
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

/// Formats that configs say of quantised weights and that no single tensor has: quants with scales
/// (llmc/Pipelines/QuantizedStorage.h).
constexpr const char *publishedFormats[] = {"fp8", "int4", "int8", "mxfp8"};

/// A format that no weight has covers nothing.
void checkStorage(const std::string &file, const Json &value) {
  if (!value.isString() || findStorageFormat(value.text))
    return;
  std::vector<std::string> known(std::begin(publishedFormats), std::end(publishedFormats));
  if (std::find(known.begin(), known.end(), value.text) != known.end())
    return;
  for (const StorageFormat &format : storageFormats())
    known.emplace_back(format.name);
  fail(file, value, "'" + value.text + "' is no storage of weights" +
                        TargetFile::nearTo(value.text, known) + "; there are " + listOf(known));
}

/// Bounds between which no number lies cover nothing, which is a mistake in one of them.
void checkNotEmpty(const std::string &file, const std::string &fact, const Json &value,
                   const CoveredValues &covered) {
  if (!covered.min || !covered.max)
    return;
  double least = *covered.min;
  if (covered.multipleOf)
    least = std::ceil(least / *covered.multipleOf) * *covered.multipleOf;
  if (!(least <= *covered.max))
    fail(file, value, "'" + fact + "' covers nothing: it must be " + covered.toText() +
                          "; change a bound, or leave the fact out");
}

CoveredValues coveredValues(const std::string &file, const std::string &fact, const Json &value) {
  CoveredValues covered;
  if (value.isArray()) {
    for (const Json &item : value.items) {
      covered.values.push_back(factText(file, fact, item));
      if (fact == "storage")
        checkStorage(file, item);
    }
    if (covered.values.empty())
      fail(file, value, "'" + fact + "' covers no value; leave the operator out instead");
    return covered;
  }
  if (!value.isObject())
    fail(file, value, "'" + fact + "' must be a list of values, such as [" + value.dump(40) +
                          "], or an object with min, max, multiple_of; it is " + value.kindName());
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
  checkNotEmpty(file, fact, value, covered);
  return covered;
}

std::map<std::string, CoveredOperator> coveredOperators(const std::string &file,
                                                        const Json &value) {
  needKind(file, "operators", value, value.isObject(), "an object");
  std::map<std::string, CoveredOperator> operators;
  for (const auto &[op, entry] : value.members) {
    needMembers(file, "'" + op + "'", entry, {"by", "only"});
    CoveredOperator covered;
    covered.position = positionOf(file, entry);
    covered.by = textMember(file, entry, "by", true);
    if (const Json *only = entry.find("only"))
      covered.only = readCoveredFacts(file, *only);
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
  std::string all = listOf(TargetFile::names(folder));
  return all.empty() ? "none" : all;
}

/// Figures that nobody states are left out by saying so, not by forgetting them.
constexpr std::string_view notStated = "not stated";

/// The object `member`, or null where the file has none or says that it states nothing.
const Json *figures(const std::string &file, const Json &json, const char *member) {
  const Json *value = json.find(member);
  if (!value || (value->isString() && value->text == notStated))
    return nullptr;
  needKind(file, member, *value, value->isObject(), "an object, or \"not stated\"");
  return value;
}

SourcedNumber figure(const std::string &file, const Json &object, const char *where,
                     const char *member) {
  const Json *value = object.find(member);
  if (!value)
    fail(file, object, std::string("'") + where + "." + member + "' is missing");
  return sourcedNumber(file, std::string(where) + "." + member, *value);
}

void readCompute(TargetFile &target, const std::string &file, const Json &compute) {
  static const std::vector<std::string> types = {"f64", "f32", "tf32", "f16",  "bf16",
                                                 "f8",  "f6",  "f4",   "int8", "int4"};
  if (compute.members.empty())
    fail(file, compute, "'compute' has no figure; state one, or write \"not stated\"");
  for (const auto &[type, number] : compute.members) {
    if (std::find(types.begin(), types.end(), type) == types.end())
      fail(file, number, "'compute' has no element type '" + type + "'" +
                             TargetFile::nearTo(type, types) + "; there are " + listOf(types));
    target.compute[type] = sourcedNumber(file, "compute." + type, number);
  }
}

/// A figure of fusions: where it belongs, and within which bounds it is no slip of the pen.
struct FigureOfFusion {
  const char *name, *unit;
  double FusionFigures::*number;
  int64_t FusionFigures::*count;
  double least, most;
};
constexpr FigureOfFusion figuresOfFusion[] = {
    {"launch_seconds", "seconds", &FusionFigures::launchSeconds, nullptr, 1e-12, 1},
    {"bytes_per_second", "bytes a second", &FusionFigures::bytesPerSecond, nullptr, 1e6, 1e18},
    {"operations_per_second", "operations a second", &FusionFigures::operationsPerSecond, nullptr,
     1e6, 1e21},
    {"vector_registers", "vectors", nullptr, &FusionFigures::vectorRegisters, 1, 65536},
    {"thread_bytes", "bytes", nullptr, &FusionFigures::threadBytes, 1, 1e12}};

std::string shortest(double number) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

/// Each figure by itself: one that is not here is that of what the file extends.
void readFusion(TargetFile &target, const std::string &file, const Json &fusion) {
  for (const auto &[name, value] : fusion.members) {
    auto known = std::find_if(std::begin(figuresOfFusion), std::end(figuresOfFusion),
                              [&](const FigureOfFusion &one) { return one.name == name; });
    if (known == std::end(figuresOfFusion)) {
      std::vector<std::string> names;
      for (const FigureOfFusion &one : figuresOfFusion)
        names.emplace_back(one.name);
      fail(file, value, "'fusion' has no member '" + name + "'" + TargetFile::nearTo(name, names) +
                            "; its members are " + listOf(names));
    }
    SourcedNumber number = sourcedNumber(file, "fusion." + name, value);
    bool isRight = number.value >= known->least && number.value <= known->most &&
                   (!known->count || number.value == std::floor(number.value));
    if (!isRight)
      fail(file, value.items[0],
           "'fusion." + name + "' is " + value.items[0].dump() + "; it must be " +
               (known->count ? "a whole number of " : "") + known->unit + " from " +
               shortest(known->least) + " to " + shortest(known->most));
    target.fusion[name] = number;
  }
}

/// Which members a target has, of its own or of what it extends.
struct Seen {
  bool memory = false, compute = false, operators = false;
};

/// What a file says goes over what it extends, member by member.
void readInto(TargetFile &target, Seen &seen, const std::string &file, const std::string &folder,
              unsigned depth) {
  Json json = readJsonFile(file, true);
  needMembers(file, "a target", json,
              {"name", "about", "extends", "compiles_as", "device", "memory", "compute", "links",
               "fusion", "operators"});
  if (const Json *base = json.find("extends")) {
    needKind(file, "extends", *base, base->isString(), "the name of a target");
    constexpr unsigned deepest = 8;
    if (depth == deepest)
      fail(file, *base, "'extends' goes through more than " + std::to_string(deepest) +
                            " files; is there a circle?");
    std::string baseFile = (fs::path(folder) / (base->text + ".jsonc")).string();
    if (base->text.find_first_of("/\\") != std::string::npos || !exists(baseFile))
      fail(file, *base, "'extends' names '" + base->text + "', which is no file in " + folder +
                            TargetFile::nearTo(base->text, TargetFile::names(folder)) +
                            "; there are " + allNames(folder));
    readInto(target, seen, baseFile, folder, depth + 1);
  }
  auto text = [&](const char *member, std::string &into) {
    if (json.find(member))
      into = textMember(file, json, member, false);
  };
  text("name", target.name);
  text("about", target.about);
  text("compiles_as", target.compilesAs);
  text("device", target.device);
  if (json.find("memory")) {
    seen.memory = true;
    target.memoryBytes = target.memoryBytesPerSecond = std::nullopt;
    if (const Json *memory = figures(file, json, "memory")) {
      needMembers(file, "'memory'", *memory, {"bytes", "bytes_per_second"});
      target.memoryBytes = figure(file, *memory, "memory", "bytes");
      // Beyond 9e15 a double holds no whole bytes.
      if (target.memoryBytes && !(target.memoryBytes->value >= 1 && target.memoryBytes->value <= 9e15))
        fail(file, *memory->find("bytes"), "'memory.bytes' must be 1 to 9e15, it is " +
                                               memory->find("bytes")->items[0].dump());
      target.memoryBytesPerSecond = figure(file, *memory, "memory", "bytes_per_second");
    }
  }
  if (json.find("compute")) {
    seen.compute = true;
    target.compute.clear();
    if (const Json *compute = figures(file, json, "compute"))
      readCompute(target, file, *compute);
  }
  if (const Json *links = json.find("links")) {
    needMembers(file, "'links'", *links, {"bytes_per_second"});
    target.linkBytesPerSecond = figure(file, *links, "links", "bytes_per_second");
  }
  if (const Json *fusion = figures(file, json, "fusion"))
    readFusion(target, file, *fusion);
  if (const Json *operators = json.find("operators")) {
    seen.operators = true;
    target.operators = coveredOperators(file, *operators);
  }
}

std::optional<double> numberOf(const std::string &text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

} // namespace

CoveredFacts readCoveredFacts(const std::string &file, const Json &only) {
  needKind(file, "only", only, only.isObject(), "an object");
  CoveredFacts facts;
  for (const auto &[fact, values] : only.members)
    facts[fact] = coveredValues(file, fact, values);
  return facts;
}

std::optional<std::string> findFact(const OperatorFacts &facts, const std::string &name) {
  auto found = std::find_if(facts.begin(), facts.end(),
                            [&](const auto &pair) { return pair.first == name; });
  return found == facts.end() ? std::nullopt : std::optional(found->second);
}

std::string whyNotCovered(const CoveredFacts &only, const OperatorFacts &facts,
                          const std::string &by) {
  for (const auto &[fact, covered] : only) {
    std::optional<std::string> value = findFact(facts, fact);
    if (!covered.covers(value))
      return fact + " is " + value.value_or("none") + ", covered by '" + by + "' is " +
             covered.toText();
  }
  return "";
}

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
                     allNames(folder) + nearTo(nameOrFile, names(folder)) +
                     "; targets/README.md says how to describe a chip");
  TargetFile target;
  Seen seen;
  target.file = path;
  readInto(target, seen, path, folder, 0);
  for (const auto &[member, value] : {std::pair("name", &target.name), {"about", &target.about}})
    if (value->empty())
      throw InputError(path + ": '" + member + "' is missing");
  for (auto [member, isThere, what] :
       {std::tuple("memory", seen.memory, "bytes and bytes_per_second"),
        {"compute", seen.compute, "operations a second by element type"}})
    if (!isThere)
      throw InputError(path + ": '" + member + "' is missing; state " + what +
                       " with their sources, or write \"" + member + "\": \"not stated\"");
  if (!target.device.empty() && target.compilesAs.empty())
    throw InputError(path + ": 'device' is '" + target.device +
                     "', and 'compiles_as', the target whose code it runs, is missing");
  if (!target.fusion.empty() && target.compilesAs.empty())
    throw InputError(path + ": 'fusion' judges fusions of code that llmc makes, and 'compiles_as', "
                            "the target whose code it is, is missing");
  if (!seen.operators && target.compilesAs.empty())
    throw InputError(path + ": has neither 'operators', what is covered, nor 'compiles_as', the "
                            "target of llmc-opt whose kernels cover it");
  return target;
}

FusionFigures TargetFile::fusionFigures(FusionFigures defaults) const {
  for (const FigureOfFusion &one : figuresOfFusion)
    if (auto stated = fusion.find(one.name); stated != fusion.end()) {
      if (one.count)
        defaults.*one.count = int64_t(stated->second.value);
      else
        defaults.*one.number = stated->second.value;
    }
  return defaults;
}

std::string TargetFile::nearTo(const std::string &name, const std::vector<std::string> &known) {
  // A part of a name is nearer than any misspelling.
  std::vector<std::string> near;
  if (name.size() > 1)
    std::copy_if(known.begin(), known.end(), std::back_inserter(near),
                 [&](const std::string &one) { return one.find(name) != std::string::npos; });
  if (near.empty())
    near = nearNames(name, known, 2);
  return near.empty() ? "" : "; near is " + listOf(near);
}

std::string TargetFile::whyNotCovered(const std::string &op, const OperatorFacts &facts,
                                      std::string &by) const {
  auto entry = operators.find(op);
  if (entry == operators.end())
    return name + " has no " + op;
  std::string reason =
      frontend::whyNotCovered(entry->second.only, facts, entry->second.by);
  if (!reason.empty())
    return reason;
  by = entry->second.by;
  return "";
}

} // namespace llmc::frontend
