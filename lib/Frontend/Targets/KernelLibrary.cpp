//===- KernelLibrary.cpp - kernels of the user's own ----------------------===//
#include "llmc/Frontend/KernelLibrary.h"

#include "llmc/Support/Error.h"
#include "llmc/Support/Printable.h"
#include "llmc/Support/RegularFile.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

namespace llmc::frontend {

namespace fs = std::filesystem;

namespace {

/// Bytes a thread; more is a mistake in a number. A machine of 64 threads has this much memory.
constexpr int64_t mostScratch = int64_t(1) << 30;

class Reader {
public:
  explicit Reader(std::string file) : file(std::move(file)) {}

  void readInto(std::vector<UserKernel> &kernels) {
    Json json = readJsonFile(file, true);
    needMembers("a kernel library", json, {"kernels"});
    const Json *list = json.find("kernels");
    if (!list || !list->isObject() || list->members.empty())
      fail(list ? *list : json, "'kernels' must be an object with a member for each kernel");
    for (const auto &[name, entry] : list->members) {
      UserKernel kernel = read(name, entry);
      for (const UserKernel &known : kernels)
        if (known.name == name)
          fail(entry, "kernel '" + name + "' is defined at " + known.position + " already");
      kernels.push_back(std::move(kernel));
    }
  }

private:
  [[noreturn]] void fail(const Json &at, const std::string &message) {
    throw InputError(printable(file + ":" + std::to_string(at.line) + ":" +
                                   std::to_string(at.column) + ": " + message,
                               /*line=*/true));
  }

  void needMembers(const std::string &where, const Json &object,
                   const std::vector<std::string> &known) {
    if (!object.isObject())
      fail(object, where + " must be an object, it is " + object.kindName());
    for (const auto &[key, value] : object.members)
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        std::string all;
        for (const std::string &one : known)
          all += (all.empty() ? "" : ", ") + one;
        fail(value, where + " has no member '" + key + "'" + TargetFile::nearTo(key, known) +
                        "; its members are " + all);
      }
  }

  std::string text(const Json &object, const char *member) {
    const Json *value = object.find(member);
    if (!value)
      fail(object, std::string("'") + member + "' is missing");
    if (!value->isString())
      fail(*value, std::string("'") + member + "' must be a text, it is " + value->kindName());
    if (value->text.empty())
      fail(*value, std::string("'") + member + "' must not be empty");
    return value->text;
  }

  /// Kernels and symbols are names in C.
  void needName(const Json &at, const std::string &what, const std::string &name) {
    bool right = !name.empty() && name.size() <= 200 &&
                 !std::isdigit(static_cast<unsigned char>(name[0])) &&
                 std::all_of(name.begin(), name.end(),
                             [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (!right)
      fail(at, what + " '" + name + "' must be a name of letters, digits and '_'");
  }

  UserKernel read(const std::string &name, const Json &entry) {
    needMembers("kernel '" + name + "'", entry,
                {"about", "op", "only", "object", "symbol", "facts", "scratch"});
    needName(entry, "kernel", name);
    UserKernel kernel;
    kernel.name = name;
    kernel.position =
        file + ":" + std::to_string(entry.line) + ":" + std::to_string(entry.column);
    kernel.op = text(entry, "op");
    kernel.symbol = text(entry, "symbol");
    needName(*entry.find("symbol"), "symbol", kernel.symbol);
    readObject(kernel, entry);
    if (const Json *only = entry.find("only"))
      kernel.only = readCoveredFacts(file, *only);
    if (const Json *facts = entry.find("facts"))
      readFacts(kernel, *facts);
    if (const Json *scratch = entry.find("scratch"))
      readScratch(kernel, *scratch);
    return kernel;
  }

  void readObject(UserKernel &kernel, const Json &entry) {
    fs::path object = text(entry, "object");
    if (object.is_relative())
      object = fs::path(file).parent_path() / object;
    std::error_code error;
    if (std::string problem = whyNotRegular(object); !problem.empty())
      fail(*entry.find("object"), "'object' is " + object.string() + ", which " + problem);
    if (!fs::is_regular_file(object, error))
      fail(*entry.find("object"), "'object' is " + object.string() + ", which is no file");
    kernel.object = fs::absolute(object, error).lexically_normal().string();
  }

  void readFacts(UserKernel &kernel, const Json &facts) {
    bool right = facts.isArray() && facts.items.size() <= 64 &&
                 std::all_of(facts.items.begin(), facts.items.end(),
                             [](const Json &item) { return item.isString(); });
    if (!right)
      fail(facts, "'facts' must be a list of at most 64 names of facts");
    for (const Json &fact : facts.items)
      kernel.facts.push_back(fact.text);
  }

  void readScratch(UserKernel &kernel, const Json &scratch) {
    auto bytes = [&](const Json &value) {
      if (!value.isInt() || value.integer < 0 || value.integer > mostScratch)
        fail(value, "'scratch' of kernel '" + kernel.name +
                        "' must count bytes of one thread, 0 to 2^30, it is " + value.dump(40) +
                        "; a buffer that is larger cannot be a thread's own");
      return value.integer;
    };
    if (scratch.isInt()) {
      kernel.scratch = bytes(scratch);
      return;
    }
    if (!scratch.isObject())
      fail(scratch, "'scratch' must be bytes a thread, or an object with bytes for each one of a "
                    "fact and for 'bytes'; it is " +
                        std::string(scratch.kindName()));
    for (const auto &[fact, value] : scratch.members) {
      if (fact == "bytes")
        kernel.scratch = bytes(value);
      else
        kernel.scratchPer.emplace_back(fact, bytes(value));
    }
  }

  std::string file;
};

std::optional<double> numberOf(const std::optional<std::string> &text) {
  double number = 0;
  if (!text)
    return std::nullopt;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

} // namespace

std::string numbersIn(const OperatorFacts &facts) {
  std::string names;
  for (const auto &[name, value] : facts)
    if (numberOf(value))
      names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "no numbers" : names;
}

std::string UserKernel::whyNot(const OperatorFacts &operatorFacts) const {
  std::string reason = whyNotCovered(only, operatorFacts, name);
  std::vector<std::string> asked = facts;
  for (const auto &[fact, bytes] : scratchPer)
    asked.push_back(fact);
  for (const std::string &fact : asked) {
    std::optional<std::string> value = findFact(operatorFacts, fact);
    if (reason.empty() && !numberOf(value))
      reason = "it asks for the fact '" + fact + "', which " +
               (value ? "is '" + *value + "' and no number"
                      : "the operation has not; it has " + numbersIn(operatorFacts));
  }
  if (reason.empty() && scratchOf(operatorFacts) < 0)
    reason = "its scratch is more than 2^30 bytes a thread";
  return reason;
}

std::vector<double> UserKernel::factsOf(const OperatorFacts &operatorFacts) const {
  std::vector<double> values;
  for (const std::string &fact : facts)
    values.push_back(numberOf(findFact(operatorFacts, fact)).value());
  return values;
}

int64_t UserKernel::scratchOf(const OperatorFacts &operatorFacts) const {
  double bytes = double(scratch);
  for (const auto &[fact, each] : scratchPer)
    bytes += double(each) * std::max(0.0, numberOf(findFact(operatorFacts, fact)).value());
  return bytes <= double(mostScratch) ? int64_t(std::ceil(bytes)) : -1;
}

std::vector<UserKernel> readKernelLibraries(const std::vector<std::string> &files) {
  std::vector<UserKernel> kernels;
  for (const std::string &file : files)
    Reader(file).readInto(kernels);
  return kernels;
}

} // namespace llmc::frontend
