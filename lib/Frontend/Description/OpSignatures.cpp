//===- OpSignatures.cpp - operations that libraries add -------------------===//
#include "llmc/Frontend/OpSignatures.h"

#include "ShapeHooks.h"
#include "llmc/Frontend/Expression.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <cmath>

namespace llmc::frontend {

static std::string argumentText(const OpSignature::Argument &argument) {
  return (argument.isWeight ? "weight " : "tensor ") + shapeText(argument.shape);
}

std::string OpSignature::text() const {
  std::string text;
  for (const Argument &argument : arguments)
    text += (text.empty() ? "" : ", ") + argumentText(argument);
  for (const Setting &setting : settings)
    text += (text.empty() ? "" : ", ") + setting.name + ": " +
            (setting.isWhole ? Value(int64_t(setting.value)) : Value(setting.value)).toText();
  return name + "(" + text + ") -> " + shapeText(result);
}

std::map<int64_t, int64_t>
OpSignature::sizesOf(const OpCall &call, const std::vector<std::vector<int64_t>> &shapes) const {
  std::string declared = "; " + position + " declares " + text();
  if (shapes.size() != arguments.size())
    opError(call, "takes " + std::to_string(arguments.size()) + " arguments, not " +
                      std::to_string(shapes.size()) + declared);
  std::map<int64_t, int64_t> sizes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<int64_t> &example = arguments[i].shape;
    std::string which = "argument " + std::to_string(i + 1) + " is " + shapeText(shapes[i]);
    if (shapes[i].size() != example.size())
      opError(call, which + ", where " + shapeText(example) + " is declared" + declared +
                        "; a definition is for one rank: rows, and rows of heads, are two functions "
                        "with names of their own");
    for (size_t d = 0; d < example.size(); ++d) {
      // One element is repeated or is none of the model's sizes: it stands for itself.
      if (example[d] == 1 && shapes[i][d] != 1)
        opError(call, which + ", where dimension " + std::to_string(d + 1) + " must be 1" +
                          declared);
      int64_t known = sizes.emplace(example[d], shapes[i][d]).first->second;
      if (known != shapes[i][d])
        opError(call, which + ", but the size declared as " + std::to_string(example[d]) + " is " +
                          std::to_string(known) + " by an argument before it" + declared);
    }
  }
  return sizes;
}

std::vector<double> OpSignature::settingsOf(const OpCall &call) const {
  std::vector<std::string> known;
  for (const Setting &setting : settings)
    known.push_back(setting.name);
  for (const auto &[given, value] : call.named) {
    if (std::find(known.begin(), known.end(), given) != known.end())
      continue;
    std::vector<std::string> near = nearNames(given, known, 1);
    opError(call, "has no setting '" + given + "'" +
                      (near.empty() ? "" : "; did you mean '" + near[0] + "'?") + "; " + position +
                      " declares " + text());
  }
  std::vector<double> values;
  for (const Setting &setting : settings) {
    const Value *given = call.findNamed(setting.name);
    if (!given) {
      values.push_back(setting.value);
      continue;
    }
    double number = given->asDouble();
    // The operations compute in f32.
    bool fits = given->isNumber() && std::isfinite(float(number)) &&
                (!setting.isWhole || (given->is<int64_t>() && std::abs(number) < 1e15));
    if (!fits)
      opError(call, "setting '" + setting.name + "' must be " +
                        (setting.isWhole ? "an integer" : "a number that is finite in f32") +
                        ", got " + given->toText());
    values.push_back(number);
  }
  return values;
}

int64_t actualSize(const std::map<int64_t, int64_t> &sizes, int64_t example) {
  auto found = sizes.find(example);
  return found == sizes.end() ? example : found->second;
}

void OpSignatures::add(OpSignature signature) {
  const std::string &name = signature.name;
  std::string where = signature.position + ": '" + name + "' ";
  bool isName = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
                std::all_of(name.begin(), name.end(), [](unsigned char c) {
                  return std::isalnum(c) || c == '_';
                });
  if (!isName)
    throw InputError(where + "is no name that a statement can call: letters, digits and '_'");
  const std::vector<std::string> &operations = operationNames();
  // What operators, builtin functions and rope_record mean is taken too.
  static const std::vector<std::string> taken = {"residual_add", "add",     "sub",   "mul",
                                                 "div",          "row_max", "scale", "offset",
                                                 "rope_record"};
  if (std::find(operations.begin(), operations.end(), name) != operations.end() ||
      std::find(taken.begin(), taken.end(), name) != taken.end() || isBuiltinFunction(name))
    throw InputError(where + "is an operation of llmc already; give yours another name");
  auto [known, isNew] = byName.emplace(name, signature);
  if (!isNew)
    throw InputError(where + "is defined at " + known->second.position + " already");
}

const OpSignature *OpSignatures::find(const std::string &name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &found->second;
}

std::vector<std::string> OpSignatures::names() const {
  std::vector<std::string> names;
  for (const auto &entry : byName)
    names.push_back(entry.first);
  return names;
}

Value ShapeHooks::composite(const OpCall &call, const OpSignature &signature) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < call.args.size(); ++i) {
    bool isWeight = i < signature.arguments.size() && signature.arguments[i].isWeight;
    shapes.push_back(isWeight ? weightShape(call, i) : shape(call, i));
  }
  std::map<int64_t, int64_t> sizes = signature.sizesOf(call, shapes);
  signature.settingsOf(call);
  Shape result;
  for (int64_t example : signature.result)
    result.push_back(actualSize(sizes, example));
  return make(std::move(result));
}

} // namespace llmc::frontend
