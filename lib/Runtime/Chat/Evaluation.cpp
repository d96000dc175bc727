//===- Evaluation.cpp - the expressions of a template ---------------------===//
#include "Interpreter.h"
#include "Lexer.h"
#include "Parser.h"
#include "Text.h"

#include <algorithm>

namespace llmc::rt::chat {

static constexpr unsigned maxEvaluationDepth = 1500;

std::string_view Interpreter::textOf(const Expr &expr) const {
  return std::string_view(source).substr(expr.begin, expr.end - expr.begin);
}

Value Interpreter::evaluate(const Expr &expr) {
  NestingGuard guard(depth);
  try {
    if (depth > maxEvaluationDepth)
      throw TemplateError("macros and expressions are nested too deeply");
    if (++steps > limits.maxSteps)
      throw TemplateError("the template takes more than " + std::to_string(limits.maxSteps) +
                          " steps");
    return dispatch(expr);
  } catch (const TemplateError &error) {
    failAt(expr.line, error.what(), textOf(expr));
  }
}

Value Interpreter::dispatch(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::Literal:
    return expr.value;
  case Expr::Kind::Name:
    return expr.name.empty() ? pipe : lookUp(expr.name);
  case Expr::Kind::List:
  case Expr::Kind::Tuple:
  case Expr::Kind::Dict:
    return collection(expr);
  case Expr::Kind::Unary: {
    Value operand = evaluate(*expr.operands[0]);
    if (expr.name == "not")
      return !operand.truthy();
    if (operand.isUndefined())
      throw TemplateError("\"" + operand.undefinedName() + "\" is undefined");
    if (operand.isFloat())
      return expr.name == "-" ? -operand.number() : operand.number();
    return expr.name == "-" ? applyBinary(*this, "-", int64_t(0), operand)
                            : Value(operand.integer());
  }
  case Expr::Kind::Binary:
    return binary(expr);
  case Expr::Kind::Compare:
    return compare(expr);
  case Expr::Kind::Condition:
    if (evaluate(*expr.operands[1]).truthy())
      return evaluate(*expr.operands[0]);
    return expr.operands.size() > 2 ? evaluate(*expr.operands[2]) : Value(Undefined{"else"});
  case Expr::Kind::Attribute:
    return attribute(evaluate(*expr.operands[0]), expr.name);
  case Expr::Kind::Subscript: {
    Value object = evaluate(*expr.operands[0]);
    return item(object, evaluate(*expr.operands[1]));
  }
  case Expr::Kind::Slice:
    return slice(expr);
  case Expr::Kind::Call:
    return call(expr);
  case Expr::Kind::Filter: {
    // default() is what an undefined value is for, so its operand may be one.
    Value operand = evaluate(*expr.operands[0]);
    return filter(expr.name, operand, arguments(expr));
  }
  case Expr::Kind::Spread:
    break; // only within arguments()
  case Expr::Kind::Test: {
    Value operand = evaluate(*expr.operands[0]);
    return test(expr.name, operand, arguments(expr));
  }
  }
  throw TemplateError("an expression of an unknown kind");
}

Value Interpreter::collection(const Expr &expr) {
  charge(expr.operands.size() * sizeof(Value));
  if (expr.kind != Expr::Kind::Dict) {
    List list;
    for (const ExprPtr &operand : expr.operands)
      list.push_back(evaluate(*operand));
    return Value::ofKind(expr.kind == Expr::Kind::List ? ListKind::List : ListKind::Tuple,
                         std::move(list));
  }
  Dict dict;
  for (size_t i = 0; i < expr.operands.size(); i += 2) {
    Value key = evaluate(*expr.operands[i]);
    if (!key.isHashable())
      throw TemplateError(std::string(key.typeName()) + " cannot be a key");
    Value value = evaluate(*expr.operands[i + 1]);
    scan(dict.size() * sizeof(Value));
    auto known = std::find_if(dict.begin(), dict.end(),
                              [&](const auto &entry) { return entry.first == key; });
    if (known != dict.end())
      known->second = std::move(value);
    else
      dict.emplace_back(std::move(key), std::move(value));
  }
  return dict;
}

Value Interpreter::binary(const Expr &expr) {
  Value left = evaluate(*expr.operands[0]);
  if (expr.name == "and")
    return left.truthy() ? evaluate(*expr.operands[1]) : left;
  if (expr.name == "or")
    return left.truthy() ? left : evaluate(*expr.operands[1]);
  return applyBinary(*this, expr.name, left, evaluate(*expr.operands[1]));
}

Value Interpreter::compare(const Expr &expr) {
  Value left = evaluate(*expr.operands[0]);
  for (size_t i = 0; i < expr.names.size(); ++i) {
    Value right = evaluate(*expr.operands[i + 1]);
    bool searches = expr.names[i].ends_with("in");
    scan(searches ? right.weight() : std::min(left.weight(), right.weight()));
    if (!applyComparison(expr.names[i], left, right))
      return false;
    left = std::move(right);
  }
  return true;
}

Arguments Interpreter::arguments(const Expr &expr) {
  Arguments result;
  for (const ExprPtr &argument : expr.arguments) {
    if (argument->kind != Expr::Kind::Spread) {
      result.positional.push_back(evaluate(*argument));
      continue;
    }
    auto items = iterate(evaluate(*argument->operands[0]));
    charge(items->size() * sizeof(Value));
    result.positional.insert(result.positional.end(), items->begin(), items->end());
  }
  auto add = [&](const std::string &name, Value value) {
    for (const auto &[known, other] : result.named)
      if (known == name)
        throw TemplateError("the argument \"" + name + "\" is given twice");
    result.named.emplace_back(name, std::move(value));
  };
  for (const auto &[name, argument] : expr.namedArguments) {
    if (argument->kind != Expr::Kind::Spread) {
      add(name, evaluate(*argument));
      continue;
    }
    Value values = evaluate(*argument->operands[0]);
    for (const auto &[key, value] : values.dict())
      add(key.text(), value);
  }
  return result;
}

Value Interpreter::call(const Expr &expr) {
  const Expr &callee = *expr.operands[0];
  if (callee.kind == Expr::Kind::Attribute) {
    Value object = evaluate(*callee.operands[0]);
    if (hasMethod(object, callee.name)) {
      scan(object.weight());
      Value result = callMethod(*this, object, callee.name, arguments(expr));
      charge(result.weight());
      return result;
    }
    Value function = attribute(object, callee.name);
    if (const Callable *callable = function.callable())
      return callable->call(arguments(expr));
    throw TemplateError(std::string(object.typeName()) + " has no method \"" + callee.name + "\"");
  }
  Value function = evaluate(callee);
  if (const Callable *callable = function.callable())
    return callable->call(arguments(expr));
  if (LoopState *loop = function.loop()) {
    if (!loop->recurse)
      throw TemplateError("the loop is not marked as recursive");
    Arguments values = arguments(expr);
    // A copy: the call may end the loop that holds the function.
    auto recurse = loop->recurse;
    return recurse(values.require(0, "iterable"));
  }
  if (function.isUndefined())
    throw TemplateError("the function \"" + function.undefinedName() + "\" is undefined");
  throw TemplateError(std::string(function.typeName()) + " cannot be called");
}

Value Interpreter::slice(const Expr &expr) {
  Value object = evaluate(*expr.operands[0]);
  Value parts[3];
  for (size_t i = 0; i < 3; ++i)
    if (expr.operands[i + 1])
      parts[i] = evaluate(*expr.operands[i + 1]);
  if (object.isString())
    charge(object.text().size());
  Value result = sliceOf(object, parts[0], parts[1], parts[2]);
  charge(result.weight());
  return result;
}

Value Interpreter::lookUp(const std::string &name) {
  for (const Scope *level = scope.get(); level; level = level->parent.get())
    for (const auto &[known, value] : level->variables)
      if (known == name)
        return value;
  return Undefined{name};
}

Value Interpreter::item(const Value &object, const Value &key) {
  if (object.isUndefined())
    throw TemplateError("\"" + object.undefinedName() + "\" is undefined");
  if (object.isDict()) {
    scan(object.dict().size() * sizeof(Value));
    if (const Value *found = object.find(key))
      return *found;
  } else if ((object.isIndexed() || object.isString()) && key.isInteger()) {
    if (object.isString())
      scan(2 * object.text().size());
    int64_t size = object.length(), index = key.integer();
    if (index < 0)
      index += size;
    if (index >= 0 && index < size)
      return object.isList() ? object.list()[static_cast<size_t>(index)]
                             : Value(charactersOf(object.text())[static_cast<size_t>(index)]);
  } else if (key.isString()) {
    return attribute(object, key.text());
  }
  return Undefined{key.str()};
}

static Value loopMember(LoopState &loop, const std::string &name) {
  auto size = static_cast<int64_t>(loop.items->size());
  auto index = static_cast<int64_t>(loop.index);
  if (name == "index")
    return index + 1;
  if (name == "index0")
    return index;
  if (name == "revindex")
    return size - index;
  if (name == "revindex0")
    return size - index - 1;
  if (name == "first")
    return index == 0;
  if (name == "last")
    return index + 1 == size;
  if (name == "length")
    return size;
  if (name == "depth")
    return static_cast<int64_t>(loop.depth);
  if (name == "depth0")
    return static_cast<int64_t>(loop.depth) - 1;
  if (name == "previtem" && index > 0)
    return (*loop.items)[loop.index - 1];
  if (name == "nextitem" && index + 1 < size)
    return (*loop.items)[loop.index + 1];
  return Undefined{"loop." + name};
}

Value Interpreter::attribute(const Value &object, const std::string &name) {
  if (object.isUndefined())
    throw TemplateError("\"" + object.undefinedName() + "\" is undefined");
  if (LoopState *loop = object.loop(); loop && !hasMethod(object, name))
    return loopMember(*loop, name);
  if (const Namespace *space = object.space()) {
    for (const auto &[known, value] : space->members)
      if (known == name)
        return value;
    return Undefined{name};
  }
  if (object.isList(ListKind::Group) && (name == "grouper" || name == "list"))
    return object.list()[name == "list"];
  if (const Callable *callable = object.callable(); callable && callable->isMacro) {
    if (name == "name")
      return callable->name;
    if (name == "arguments")
      return Value::ofKind(ListKind::Tuple, {callable->parameters.begin(), callable->parameters.end()});
  }
  // As Python attributes come before members, so do methods.
  if (hasMethod(object, name)) {
    return std::make_shared<Callable>(
        Callable{name, [this, object, name](const Arguments &arguments) {
                   return callMethod(*this, object, name, arguments);
                 }});
  }
  if (object.isDict()) {
    scan(object.dict().size() * sizeof(Value));
    if (const Value *found = object.find(Value(name)))
      return *found;
  }
  return Undefined{name};
}

Value Interpreter::filter(const std::string &name, const Value &value,
                          const Arguments &arguments) {
  FilterFunction function = findFilter(name);
  if (!function)
    throw TemplateError("there is no filter \"" + name + "\"");
  if (value.isString())
    scan(value.text().size());
  Value result = function(*this, value, arguments);
  // What Markup of Python keeps when it is changed.
  if (value.isMarkup() && result.isString() && !result.isMarkup() &&
      (name == "upper" || name == "lower" || name == "capitalize" || name == "trim"))
    result = Value::markup(result.text());
  charge(result.weight());
  return result;
}

bool Interpreter::test(const std::string &name, const Value &value, const Arguments &arguments) {
  TestFunction function = findTest(name);
  if (!function)
    throw TemplateError("there is no test \"" + name + "\"");
  return function(*this, value, arguments);
}

} // namespace llmc::rt::chat
