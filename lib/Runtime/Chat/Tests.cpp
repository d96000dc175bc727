//===- Tests.cpp - the tests (`x is ...`) of a template -------------------===//
#include "Interpreter.h"
#include "Text.h"

#include <unordered_map>

namespace llmc::rt::chat {
namespace {

#define LLMC_TEST(...)                                                                             \
  [](Interpreter & interpreter, const Value &value, const Arguments &arguments) -> bool {          \
    (void)interpreter, (void)arguments;                                                            \
    return __VA_ARGS__;                                                                            \
  }

const Value &other(const Arguments &arguments) { return arguments.require(0, "other"); }

bool isDivisible(const Value &value, int64_t by) {
  if (by == 0)
    throw TemplateError("division by zero");
  return by == -1 || value.integer() % by == 0;
}

} // namespace

TestFunction findTest(const std::string &name) {
  static const std::unordered_map<std::string_view, TestFunction> table = {
      {"boolean", LLMC_TEST(value.isBool())},
      {"callable", LLMC_TEST(value.isCallable())},
      {"defined", LLMC_TEST(!value.isUndefined())},
      {"==", LLMC_TEST(value == other(arguments))},
      {"!=", LLMC_TEST(!(value == other(arguments)))},
      {"<", LLMC_TEST(applyComparison("<", value, other(arguments)))},
      {"<=", LLMC_TEST(applyComparison("<=", value, other(arguments)))},
      {">", LLMC_TEST(applyComparison(">", value, other(arguments)))},
      {">=", LLMC_TEST(applyComparison(">=", value, other(arguments)))},
      {"divisibleby", LLMC_TEST(isDivisible(value, other(arguments).integer()))},
      {"eq", LLMC_TEST(value == other(arguments))},
      {"equalto", LLMC_TEST(value == other(arguments))},
      {"escaped", LLMC_TEST(value.isMarkup())},
      {"even", LLMC_TEST(isDivisible(value, 2))},
      {"false", LLMC_TEST(value.isBool() && !value.truthy())},
      {"filter", LLMC_TEST(findFilter(value.text()) != nullptr)},
      {"float", LLMC_TEST(value.isFloat())},
      {"ge", LLMC_TEST(applyComparison(">=", value, other(arguments)))},
      {"greaterthan", LLMC_TEST(applyComparison(">", value, other(arguments)))},
      {"gt", LLMC_TEST(applyComparison(">", value, other(arguments)))},
      {"in", LLMC_TEST(contains(other(arguments), value))},
      {"integer", LLMC_TEST(value.isInteger() && !value.isBool())},
      {"iterable", LLMC_TEST(value.isString() || value.isList() || value.isDict() ||
                             value.isUndefined() || value.isGenerator() || value.loop())},
      {"le", LLMC_TEST(applyComparison("<=", value, other(arguments)))},
      {"lessthan", LLMC_TEST(applyComparison("<", value, other(arguments)))},
      {"lower", LLMC_TEST(lower(value.str()) == value.str() && upper(value.str()) != value.str())},
      {"lt", LLMC_TEST(applyComparison("<", value, other(arguments)))},
      {"mapping", LLMC_TEST(value.isDict())},
      {"ne", LLMC_TEST(!(value == other(arguments)))},
      {"none", LLMC_TEST(value.isNone())},
      {"number", LLMC_TEST(value.isNumber())},
      {"odd", LLMC_TEST(!isDivisible(value, 2))},
      // Python: the same object. Values do not change, so equal ones of a type.
      {"sameas", LLMC_TEST(value.isBool() == other(arguments).isBool() &&
                           value.isFloat() == other(arguments).isFloat() &&
                           value == other(arguments))},
      {"sequence", LLMC_TEST(value.isString() || value.isIndexed() || value.isDict() ||
                             value.isUndefined())},
      {"string", LLMC_TEST(value.isString())},
      {"test", LLMC_TEST(findTest(value.text()) != nullptr)},
      {"true", LLMC_TEST(value.isBool() && value.truthy())},
      {"undefined", LLMC_TEST(value.isUndefined())},
      {"upper", LLMC_TEST(upper(value.str()) == value.str() && lower(value.str()) != value.str())},
  };
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace llmc::rt::chat
