//===- Evaluator.cpp - values of expressions ------------------------------===//
//
// Integers are exact: what does not fit into 64 bits is an error, not a wrapped
// size. Equality of values of different kinds is an error as well, since it is
// always a mistake in a description; null may be compared with anything.
//
//===----------------------------------------------------------------------===//
#include "ParamEvaluator.h"

#include "llmc/Frontend/Expression.h"
#include "llmc/Frontend/Json.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace llmc::frontend {

thread_local uint64_t HeldValues::total = 0;

uint64_t elementsOf(const Value &value) {
  uint64_t count = 1;
  if (const auto *text = value.get<std::string>())
    count += text->size() / 64;
  if (const auto *list = value.get<ValueList>())
    for (const Value &item : *list)
      count += elementsOf(item);
  return count;
}

void HeldValues::add(const Expr &expr, const Value &value) {
  uint64_t count = elementsOf(value);
  mine += count;
  total += count;
  if (total > mostElements)
    expressionError(expr, "the values held here have more than " + std::to_string(mostElements) +
                              " elements");
}

static Value need(const Expr &expr, Value value) {
  if (const auto *absent = value.get<Value::Absent>())
    expressionError(expr, "the config has no key '" + absent->key + "' and there is no default");
  return value;
}

/// What operations compute on.
static bool isTensor(const Value &value) { return value.is<Handle>() || value.is<WeightRef>(); }

static double numberOf(const Expr &expr, const Value &value, const char *what) {
  if (!value.isNumber())
    expressionError(expr, std::string(what) + " needs a number, here it is " + value.kindName() +
                              " (" + value.toText() + ")");
  return value.asDouble();
}

static bool boolOf(const Expr &expr, const Value &value, const std::string &what) {
  const bool *flag = value.get<bool>();
  if (!flag)
    expressionError(expr, what + " needs a boolean, here it is " + value.kindName() + " (" +
                              value.toText() + ")");
  return *flag;
}

static Value integerPower(const Expr &expr, int64_t base, int64_t exponent) {
  int64_t result = 1;
  // At most 63 steps matter; larger exponents of |base| > 1 overflow before.
  for (int64_t i = 0; i < exponent; ++i) {
    if (base == 0 || base == 1)
      return base;
    if (base == -1)
      return int64_t(exponent % 2 ? -1 : 1);
    if (__builtin_mul_overflow(result, base, &result))
      expressionError(expr, std::to_string(base) + " ** " + std::to_string(exponent) +
                                " does not fit into 64 bits");
  }
  return result;
}

static Value integerArithmetic(const Expr &expr, const std::string &op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (op == "+")
    overflow = __builtin_add_overflow(a, b, &result);
  else if (op == "-")
    overflow = __builtin_sub_overflow(a, b, &result);
  else if (op == "*")
    overflow = __builtin_mul_overflow(a, b, &result);
  else if (op == "**")
    return b < 0 ? Value(std::pow(double(a), double(b))) : integerPower(expr, a, b);
  else {
    if (b == 0)
      expressionError(expr, std::to_string(a) + " " + op + " 0 has no value");
    if (a == INT64_MIN && b == -1)
      overflow = true;
    else if (op == "/") {
      if (a % b)
        return double(a) / double(b);
      result = a / b;
    } else {
      int64_t rest = a % b;
      bool negative = rest != 0 && (rest < 0) != (b < 0);
      result = op == "//" ? a / b - negative : rest + (negative ? b : 0);
    }
  }
  if (overflow)
    expressionError(expr, std::to_string(a) + " " + op + " " + std::to_string(b) +
                              " does not fit into 64 bits");
  return result;
}

static Value arithmetic(const Expr &expr, const Value &left, const Value &right,
                        EvalContext &context) {
  const std::string &op = expr.name;
  if (isTensor(left) || isTensor(right)) {
    if (op != "+" && op != "-" && op != "*" && op != "/")
      expressionError(expr, "tensors have no '" + op + "'");
    for (const Value *side : {&left, &right})
      if (!isTensor(*side))
        numberOf(expr, *side, ("'" + op + "' with a tensor").c_str());
    return context.call(expr, {left, right}, {});
  }
  if (op == "+" && left.is<std::string>() && right.is<std::string>())
    return *left.get<std::string>() + *right.get<std::string>();
  if (op == "+" && left.is<ValueList>() && right.is<ValueList>()) {
    ValueList list = *left.get<ValueList>();
    const ValueList &more = *right.get<ValueList>();
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }
  if (left.is<int64_t>() && right.is<int64_t>())
    return integerArithmetic(expr, op, *left.get<int64_t>(), *right.get<int64_t>());
  double a = numberOf(expr, left, ("'" + op + "'").c_str());
  double b = numberOf(expr, right, ("'" + op + "'").c_str());
  double result = 0;
  if (op == "+")
    result = a + b;
  else if (op == "-")
    result = a - b;
  else if (op == "*")
    result = a * b;
  else if (op == "**")
    result = std::pow(a, b);
  else if (b == 0)
    expressionError(expr, "a division by 0");
  else if (op == "/")
    result = a / b;
  else if (op == "//")
    result = std::floor(a / b);
  else
    result = a - b * std::floor(a / b);
  if (!std::isfinite(result))
    expressionError(expr, left.toText() + " " + op + " " + right.toText() + " is not finite");
  return result;
}

static Value compare(const Expr &expr, const Value &left, const Value &right) {
  const std::string &op = expr.name;
  if (op == "==" || op == "!=") {
    bool equal;
    if (left.isNumber() && right.isNumber())
      equal = left.is<int64_t>() && right.is<int64_t>()
                  ? *left.get<int64_t>() == *right.get<int64_t>()
                  : left.asDouble() == right.asDouble();
    else if (left.isNull() || right.isNull() || left.storage.index() == right.storage.index())
      equal = left == right;
    else
      expressionError(expr,
                      "'" + op + "' compares " + left.kindName() + " with " + right.kindName());
    return equal == (op == "==");
  }
  double a = numberOf(expr, left, ("'" + op + "'").c_str());
  double b = numberOf(expr, right, ("'" + op + "'").c_str());
  if (op == "<")
    return a < b;
  if (op == "<=")
    return a <= b;
  return op == ">" ? a > b : a >= b;
}

static Value binary(const Expr &expr, EvalContext &context) {
  const std::string &op = expr.name;
  const Expr &leftExpr = *expr.children[0], &rightExpr = *expr.children[1];
  if (op == "??") {
    Value left = evaluate(leftExpr, context);
    return left.isNull() || left.isAbsent() ? evaluate(rightExpr, context) : left;
  }
  Value left = need(leftExpr, evaluate(leftExpr, context));
  // Only the side that decides is evaluated, so that a guard protects what follows it.
  if (op == "&&" || op == "||") {
    if (boolOf(leftExpr, left, "'" + op + "'") == (op == "||"))
      return left;
    return boolOf(rightExpr, need(rightExpr, evaluate(rightExpr, context)), "'" + op + "'");
  }
  HeldValues held;
  held.add(expr, left);
  Value right = need(rightExpr, evaluate(rightExpr, context));
  held.add(expr, right);
  if (op[0] == '=' || op[0] == '!' || op[0] == '<' || op[0] == '>')
    return compare(expr, left, right);
  return arithmetic(expr, left, right, context);
}

static Value unary(const Expr &expr, EvalContext &context) {
  Value value = need(*expr.children[0], evaluate(*expr.children[0], context));
  if (expr.name == "!")
    return !boolOf(expr, value, "'!'");
  if (isTensor(value))
    return context.call(expr, {value}, {});
  if (const int64_t *integer = value.get<int64_t>())
    return integerArithmetic(expr, "-", 0, *integer);
  return -numberOf(expr, value, "'-'");
}

static Value index(const Expr &expr, EvalContext &context) {
  Value base = need(*expr.children[0], evaluate(*expr.children[0], context));
  Value at = need(*expr.children[1], evaluate(*expr.children[1], context));
  const ValueList *list = base.get<ValueList>();
  const std::string *text = base.get<std::string>();
  const int64_t *position = at.get<int64_t>();
  if ((!list && !text) || !position)
    expressionError(expr, std::string("indexing needs a list or a text, and an integer; here are ") +
                              base.kindName() + " and " + at.kindName());
  if (text) {
    if (*position < 0 || uint64_t(*position) >= text->size())
      expressionError(expr, "index " + std::to_string(*position) + " is outside of the text of " +
                                std::to_string(text->size()) + " characters");
    return text->substr(size_t(*position), 1);
  }
  if (*position < 0 || uint64_t(*position) >= list->size())
    expressionError(expr, "index " + std::to_string(*position) + " is outside of the list of " +
                              std::to_string(list->size()) + " values");
  return (*list)[size_t(*position)];
}

namespace {
struct Builtin {
  size_t least, most;
  std::function<Value(const Expr &, const ValueList &)> run;
};
} // namespace

static const ValueList &listOf(const Expr &expr, const Value &value) {
  const ValueList *list = value.get<ValueList>();
  if (!list)
    expressionError(expr, expr.name + " needs a list, here it is " + value.kindName());
  return *list;
}

static Value extreme(const Expr &expr, const ValueList &args, bool largest) {
  const ValueList &values = args.size() == 1 ? listOf(expr, args[0]) : args;
  if (values.empty())
    expressionError(expr, expr.name + " of no values");
  Value best = values[0];
  for (const Value &value : values) {
    double a = numberOf(expr, value, expr.name.c_str());
    double b = numberOf(expr, best, expr.name.c_str());
    if (largest ? a > b : a < b)
      best = value;
  }
  return best;
}

static Value position(const Expr &expr, const ValueList &args) {
  const ValueList &list = listOf(expr, args[0]);
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] == args[1])
      return int64_t(i);
  return Value();
}

/// The last place of a value before a position.
static Value lastPosition(const Expr &expr, const ValueList &args) {
  const ValueList &list = listOf(expr, args[0]);
  const int64_t *before = args[2].get<int64_t>();
  if (!before || *before < 0)
    expressionError(expr, "last_index_of needs a position before which to look, here it is " +
                              args[2].toText());
  for (size_t i = std::min(list.size(), size_t(*before)); i-- > 0;)
    if (list[i] == args[1])
      return int64_t(i);
  return Value();
}

/// An object of the config, which the language holds as its text.
static const Json &objectOf(const Expr &expr, const Value &value) {
  // Every layer asks anew for the same one.
  thread_local std::pair<std::string, Json> last;
  const std::string *text = value.get<std::string>();
  if (!text || text->empty() || text->front() != '{')
    expressionError(expr, expr.name + " needs an object, here it is " +
                              (text ? "the text '" + *text + "'" : value.kindName()));
  if (last.first != *text)
    last = {*text, parseJson(*text, "an object of the config")};
  return last.second;
}

/// Down an object by keys; null where one is not there.
static Value entryOf(const Expr &expr, const ValueList &args) {
  if (args[0].isNull())
    return Value();
  const Json *at = &objectOf(expr, args[0]);
  for (size_t i = 1; i < args.size() && at; ++i) {
    if (!args[i].is<std::string>() && !args[i].is<int64_t>())
      expressionError(expr, "the key of an object is text or an integer, here it is " +
                                args[i].toText());
    const std::string *key = args[i].get<std::string>();
    at = at->kind == Json::Kind::Object
             ? at->find(key ? *key : std::to_string(*args[i].get<int64_t>()))
             : nullptr;
  }
  return at ? valueOf(*at) : Value();
}

/// Whether the members of an object are objects that have no fields but these.
static Value hasOnlyFields(const Expr &expr, const ValueList &args) {
  const ValueList &names = listOf(expr, args[1]);
  if (args[0].isNull())
    return true;
  for (const auto &member : objectOf(expr, args[0]).members) {
    if (member.second.kind != Json::Kind::Object)
      return false;
    for (const auto &field : member.second.members)
      if (std::find(names.begin(), names.end(), Value(field.first)) == names.end())
        return false;
  }
  return true;
}

/// Where the standard normal distribution reaches a probability, by halving to the last bit.
static Value normalQuantile(const Expr &expr, const ValueList &args) {
  double p = numberOf(expr, args[0], "normal_quantile");
  if (!(p > 0 && p < 1))
    expressionError(expr, "normal_quantile needs a number between 0 and 1, here it is " +
                              args[0].toText());
  double low = -40, high = 40;
  auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  for (int i = 0; i < 200 && low < high; ++i) {
    double middle = 0.5 * (low + high);
    if (middle == low || middle == high)
      break;
    (below(middle) < p ? low : high) = middle;
  }
  return high;
}

static Value toInteger(const Expr &expr, double number) {
  if (!(std::fabs(number) < 9e18))
    expressionError(expr, Value(number).toText() + " does not fit into an integer");
  return int64_t(number);
}

static const std::map<std::string, Builtin> &builtins() {
  using E = const Expr &;
  using A = const ValueList &;
  static const std::map<std::string, Builtin> table = {
      {"len",
       {1, 1,
        [](E e, A a) -> Value {
          const std::string *text = a[0].get<std::string>();
          return int64_t(text ? text->size() : listOf(e, a[0]).size());
        }}},
      {"min", {1, 64, [](E e, A a) { return extreme(e, a, false); }}},
      {"max", {1, 64, [](E e, A a) { return extreme(e, a, true); }}},
      {"abs",
       {1, 1,
        [](E e, A a) -> Value {
          if (const int64_t *i = a[0].get<int64_t>())
            return *i < 0 ? integerArithmetic(e, "-", 0, *i) : a[0];
          return std::fabs(numberOf(e, a[0], "abs"));
        }}},
      {"floor",
       {1, 1, [](E e, A a) { return toInteger(e, std::floor(numberOf(e, a[0], "floor"))); }}},
      {"ceil", {1, 1, [](E e, A a) { return toInteger(e, std::ceil(numberOf(e, a[0], "ceil"))); }}},
      {"int", {1, 1, [](E e, A a) { return toInteger(e, std::trunc(numberOf(e, a[0], "int"))); }}},
      {"float", {1, 1, [](E e, A a) -> Value { return numberOf(e, a[0], "float"); }}},
      {"sqrt",
       {1, 1,
        [](E e, A a) -> Value {
          double x = numberOf(e, a[0], "sqrt");
          if (x < 0)
            expressionError(e, "sqrt of the negative " + a[0].toText());
          return std::sqrt(x);
        }}},
      {"log",
       {1, 1,
        [](E e, A a) -> Value {
          double x = numberOf(e, a[0], "log");
          if (x <= 0)
            expressionError(e, "log of " + a[0].toText() + ", which is not positive");
          return std::log(x);
        }}},
      {"is_list", {1, 1, [](E, A a) -> Value { return a[0].is<ValueList>(); }}},
      {"contains", {2, 2, [](E e, A a) -> Value { return !position(e, a).isNull(); }}},
      {"index_of", {2, 2, position}},
      {"last_index_of", {3, 3, lastPosition}},
      {"entry", {2, 8, entryOf}},
      {"only_fields", {2, 2, hasOnlyFields}},
      {"normal_quantile", {1, 1, normalQuantile}},
      {"error",
       {1, 1,
        [](E e, A a) -> Value {
          const std::string *text = a[0].get<std::string>();
          expressionError(e, text ? *text : a[0].toText());
        }}},
  };
  return table;
}

bool isBuiltinFunction(const std::string &name) {
  return name == "default" || name == "present" || builtins().count(name) != 0;
}

static Value call(const Expr &expr, EvalContext &context) {
  if (expr.name == "default" || expr.name == "present") {
    size_t arity = expr.name == "default" ? 2 : 1;
    if (expr.children.size() != arity || !expr.named.empty())
      expressionError(expr, expr.name + " takes " + std::to_string(arity) + " argument" +
                                (arity > 1 ? "s" : ""));
    Value value = evaluate(*expr.children[0], context);
    if (arity == 1)
      return !value.isAbsent();
    return value.isAbsent() ? evaluate(*expr.children[1], context) : value;
  }
  HeldValues held;
  ValueList args;
  for (const ExprPtr &child : expr.children) {
    args.push_back(need(*child, evaluate(*child, context)));
    held.add(*child, args.back());
  }
  std::vector<std::pair<std::string, Value>> named;
  for (const auto &[name, value] : expr.named) {
    named.emplace_back(name, need(*value, evaluate(*value, context)));
    held.add(*value, named.back().second);
  }
  auto it = builtins().find(expr.name);
  bool ofTensors = (expr.name == "min" || expr.name == "max") &&
                   std::any_of(args.begin(), args.end(), isTensor);
  if (it == builtins().end() || ofTensors)
    return context.call(expr, std::move(args), std::move(named));
  if (!named.empty())
    expressionError(expr, expr.name + " takes no named arguments");
  if (args.size() < it->second.least || args.size() > it->second.most)
    expressionError(expr,
                    expr.name + " does not take " + std::to_string(args.size()) + " arguments");
  return it->second.run(expr, args);
}

namespace {
/// Bounds the stack: chains of parameters and blocks nest the evaluations of their expressions.
/// A level takes up to 5 KiB in a build with sanitizers, and the stack may be 8 MiB.
struct EvaluationDepth {
  explicit EvaluationDepth(const Expr &expr) {
    constexpr unsigned most = 512;
    if (depth >= most)
      expressionError(expr, "the evaluation is nested deeper than " + std::to_string(most));
    ++depth;
  }
  ~EvaluationDepth() { --depth; }
  EvaluationDepth(const EvaluationDepth &) = delete;
  EvaluationDepth &operator=(const EvaluationDepth &) = delete;
  static thread_local unsigned depth;
};
thread_local unsigned EvaluationDepth::depth = 0;
} // namespace

Value evaluate(const Expr &expr, EvalContext &context) {
  EvaluationDepth guard(expr);
  switch (expr.kind) {
  case Expr::Kind::Literal:
    return expr.literal;
  case Expr::Kind::Name:
    return context.lookup(expr);
  case Expr::Kind::List: {
    HeldValues held;
    ValueList list;
    for (const ExprPtr &child : expr.children) {
      list.push_back(need(*child, evaluate(*child, context)));
      held.add(*child, list.back());
    }
    return list;
  }
  case Expr::Kind::Unary:
    return unary(expr, context);
  case Expr::Kind::Binary:
    return binary(expr, context);
  case Expr::Kind::Conditional: {
    Value condition = need(*expr.children[0], evaluate(*expr.children[0], context));
    return evaluate(*expr.children[boolOf(*expr.children[0], condition, "'?:'") ? 1 : 2], context);
  }
  case Expr::Kind::Index:
    return index(expr, context);
  case Expr::Kind::Call:
    return call(expr, context);
  }
  return Value();
}

bool evaluateBool(const Expr &expr, EvalContext &context) {
  return boolOf(expr, need(expr, evaluate(expr, context)), "this condition");
}

} // namespace llmc::frontend
