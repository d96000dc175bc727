//===- ParamEvaluator.cpp - parameter values of one model -----------------===//
#include "ParamEvaluator.h"
#include "Hints.h"

#include <algorithm>
#include <cmath>

namespace llmc::frontend {

/// `{"__float__": "Infinity"}`, as newer configs write what JSON has no number for.
static std::optional<double> floatOf(const Json &json) {
  const Json *text = json.members.size() == 1 ? json.find("__float__") : nullptr;
  if (!text || text->kind != Json::Kind::String)
    return std::nullopt;
  if (text->text == "Infinity" || text->text == "-Infinity")
    return text->text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
  return text->text == "NaN" ? std::optional<double>(NAN) : std::nullopt;
}

Value valueOf(const Json &json) {
  switch (json.kind) {
  case Json::Kind::Null:
    return Value();
  case Json::Kind::Bool:
    return json.boolean;
  case Json::Kind::Int:
    return json.integer;
  case Json::Kind::Double:
    return json.number;
  case Json::Kind::String:
    return json.text;
  case Json::Kind::Array: {
    ValueList list;
    for (const Json &item : json.items)
      list.push_back(valueOf(item));
    return list;
  }
  case Json::Kind::Object:
    if (std::optional<double> number = floatOf(json))
      return *number;
    return json.dump();
  }
  return Value();
}

/// Names as a definition sees them.
class ParamContext : public EvalContext {
public:
  ParamContext(ParamEvaluator &evaluator, const ParamDef *def,
               const std::map<std::string, Value> &locals)
      : evaluator(evaluator), def(def), locals(locals) {}

  Value lookup(const Expr &expr) override {
    if (auto it = locals.find(expr.name); it != locals.end())
      return it->second;
    const ParamDef *param = evaluator.description->findParam(expr.name);
    if (param && param != def) {
      if (param->isFunction)
        expressionError(expr, "'" + expr.name + "' is a function and needs its arguments");
      return evaluator.param(*param);
    }
    // Without a definition around it (a shape, say) only parameters are in sight.
    if (!def) {
      std::vector<std::string> names;
      for (const ParamDef &known : evaluator.description->params)
        names.push_back(known.name);
      std::vector<std::string> near = nearWords(expr.name, names, 1);
      expressionError(expr, "'" + expr.name + "' is no parameter" +
                                (near.empty() ? "" : "; did you mean '" + near[0] + "'?"));
    }
    const Json *value = evaluator.view->use(expr.name, def->name);
    if (!value)
      value = evaluator.description->findDefault(expr.name, *def);
    return value ? valueOf(*value) : Value(Value::Absent{expr.name});
  }

  Value call(const Expr &expr, ValueList args,
             std::vector<std::pair<std::string, Value>> named) override {
    if (expr.name == "rope_record")
      return evaluator.ropeRecord(expr, args, named);
    const ParamDef *param = evaluator.description->findParam(expr.name);
    if (!param || !param->isFunction)
      expressionError(expr, "'" + expr.name + "' is no function");
    if (!named.empty())
      expressionError(expr, expr.name + " takes no named arguments");
    return evaluator.callFunction(*param, expr, std::move(args));
  }

private:
  ParamEvaluator &evaluator;
  const ParamDef *def;
  const std::map<std::string, Value> &locals;
};

static const char *typeName(ParamDef::Type type) {
  static constexpr const char *names[] = {"anything",      "an integer", "a number",
                                          "true or false", "text",       "a list"};
  return names[size_t(type)];
}

void ParamEvaluator::checkType(const ParamDef &def, const Value &value) const {
  using Type = ParamDef::Type;
  auto fail = [&](const std::string &expected) {
    // The culprit is a config key where there is one behind the parameter.
    std::string culprit;
    for (const std::string &key : keysBehind(*def.value))
      if (view->has(key))
        culprit += (culprit.empty() ? "" : ", ") + view->describe(key);
    std::string subject = culprit.empty() ? view->fileName() : culprit;
    throw InputError(subject + ": must be " + expected + ", parameter '" + def.name + "' is " +
                     (value.isNull() ? "null" : value.toText()) + " (" + def.location.position() +
                     ")");
  };
  if (value.isNull()) {
    if (!def.nullable && def.type != Type::Any)
      fail(typeName(def.type));
    return;
  }
  bool good = true;
  switch (def.type) {
  case Type::Any:
    break;
  case Type::Int:
    good = value.is<int64_t>();
    break;
  case Type::Float:
    good = value.isNumber();
    break;
  case Type::Bool:
    good = value.is<bool>();
    break;
  case Type::Text:
    good = value.is<std::string>();
    break;
  case Type::List:
    good = value.is<ValueList>();
    break;
  }
  if (!good)
    fail(typeName(def.type));
  // Written so that NaN is outside.
  if (def.low && !(value.asDouble() >= *def.low && value.asDouble() <= *def.high)) {
    auto bound = [&](double number) {
      return def.type == Type::Int ? std::to_string(int64_t(number)) : Value(number).toText();
    };
    fail(std::string(typeName(def.type)) + " from " + bound(*def.low) + " to " + bound(*def.high));
  }
}

/// Parameters, functions or blocks inside one another.
static constexpr size_t mostNested = 256;

void ParamEvaluator::countCall(const Expr &call, const std::string &name, size_t depth) {
  constexpr uint64_t mostCalls = 1000000;
  if (depth >= mostNested)
    expressionError(call, "description '" + description->name + "': the call of '" + name +
                              "' stands inside more than " + std::to_string(mostNested) +
                              " others");
  if (++calls > mostCalls)
    expressionError(call, "description '" + description->name + "': more than " +
                              std::to_string(mostCalls) +
                              " calls of functions and blocks, the last of '" + name + "'");
}

Value ParamEvaluator::param(const ParamDef &def) {
  if (auto it = values.find(def.name); it != values.end())
    return it->second;
  if (std::find(active.begin(), active.end(), def.name) != active.end())
    throw InputError(def.location.position() + ": parameter '" + def.name +
                     "' depends on itself by way of '" + active.back() + "'");
  if (active.size() >= mostNested)
    throw InputError(def.location.position() + ": description '" + description->name +
                     "': more than " + std::to_string(mostNested) +
                     " parameters refer to one another in a chain, which reaches '" + def.name +
                     "' by way of '" + active.back() + "'");
  active.push_back(def.name);
  std::map<std::string, Value> none;
  ParamContext context(*this, &def, none);
  Value value = evaluate(*def.value, context);
  active.pop_back();
  if (const auto *absent = value.get<Value::Absent>()) {
    std::string hint;
    for (const std::string &name : nearWords(absent->key, view->keys()))
      hint += (hint.empty() ? "; near names there: " : ", ") + name;
    throw InputError(view->fileName() + ": key '" + absent->key +
                     "' is absent and has no default; parameter '" + def.name + "' (" +
                     def.location.position() + ") needs it" + hint);
  }
  checkType(def, value);
  elements += elementsOf(value);
  if (elements > mostElements)
    throw InputError(def.location.position() + ": description '" + description->name +
                     "': the parameters up to '" + def.name + "' have more than " +
                     std::to_string(mostElements) + " elements");
  values[def.name] = value;
  return value;
}

Value ParamEvaluator::callFunction(const ParamDef &def, const Expr &call, ValueList args) {
  if (args.size() != def.formals.size())
    expressionError(call, "'" + def.name + "' takes " + std::to_string(def.formals.size()) +
                              " arguments, not " + std::to_string(args.size()));
  if (std::find(active.begin(), active.end(), def.name) != active.end())
    expressionError(call, "'" + def.name + "' calls itself; recursion is not allowed");
  countCall(call, def.name, active.size());
  std::map<std::string, Value> locals;
  for (size_t i = 0; i < args.size(); ++i)
    locals[def.formals[i]] = std::move(args[i]);
  active.push_back(def.name);
  ParamContext context(*this, &def, locals);
  Value value = evaluate(*def.value, context);
  active.pop_back();
  if (const auto *absent = value.get<Value::Absent>())
    expressionError(call, "the config has no key '" + absent->key + "' and there is no default");
  checkType(def, value);
  return value;
}

/// The record of `otherwise: [['rope_type', 'yarn'], ['factor', 2.0]]`; nothing where it is none.
static std::optional<std::vector<std::pair<std::string, Json>>> recordOf(const Value &value) {
  const ValueList *list = value.get<ValueList>();
  if (!list)
    return std::nullopt;
  std::vector<std::pair<std::string, Json>> record;
  for (const Value &entry : *list) {
    const ValueList *pair = entry.get<ValueList>();
    const std::string *name = pair && pair->size() == 2 ? (*pair)[0].get<std::string>() : nullptr;
    if (!name)
      return std::nullopt;
    const Value &field = (*pair)[1];
    if (const std::string *text = field.get<std::string>())
      record.emplace_back(*name, Json::makeString(*text));
    else if (const int64_t *number = field.get<int64_t>())
      record.emplace_back(*name, Json::makeInt(*number));
    else if (field.isNumber())
      record.emplace_back(*name, Json::makeDouble(field.asDouble()));
    else
      return std::nullopt;
  }
  return record;
}

Value ParamEvaluator::ropeRecord(const Expr &call, const ValueList &args,
                                 const std::vector<std::pair<std::string, Value>> &named) {
  ConfigView::RopeRequest request;
  request.user = active.empty() ? "rope" : active.back();
  bool interleaved = ropeInterleaved;
  if (!args.empty())
    expressionError(call, "rope_record takes only the named arguments dim, partial, theta, "
                          "layer_type, shared, context, interleaved, otherwise, own and "
                          "attention_factor");
  for (const auto &[name, value] : named) {
    if (name == "dim" && value.is<int64_t>())
      request.dim = *value.get<int64_t>();
    else if (name == "theta" && value.isNumber())
      request.defaultTheta = value.asDouble();
    else if (name == "layer_type" && value.is<std::string>())
      request.layerType = *value.get<std::string>();
    else if (name == "partial" && value.isNumber())
      request.partial = value.asDouble();
    else if (name == "shared" && value.is<bool>())
      request.shared = *value.get<bool>();
    else if (name == "context" && value.is<int64_t>())
      request.context = *value.get<int64_t>();
    else if (name == "interleaved" && value.is<bool>())
      interleaved = *value.get<bool>();
    else if (auto record = recordOf(value); name == "otherwise" && record)
      request.otherwise = std::move(*record);
    else if (name == "own" && record)
      request.own = std::move(*record);
    else if (name == "attention_factor" && value.isNumber() && value.asDouble() > 0)
      request.attentionFactor = value.asDouble();
    else
      expressionError(call, "rope_record takes dim and context (integers), partial, theta and "
                            "attention_factor (numbers), layer_type (text), shared and "
                            "interleaved (true or false), otherwise and own (lists of fields, each "
                            "with its value), here is " +
                                name + ": " + value.toText());
  }
  request.shortFactors = ropeShortFactors;
  request.longFactors = ropeLongFactors;
  RopeRecord record = view->rope(request);
  record.interleaved = interleaved;
  record.freqDivisors = ropeDivisors;
  if (!ropeDivisors.empty() && int64_t(ropeDivisors.size()) != record.dim / 2)
    throw InputError(view->fileName() + ": the checkpoint stores " +
                     std::to_string(ropeDivisors.size()) + " rope frequency divisors, a head of " +
                     std::to_string(record.dim) + " needs " + std::to_string(record.dim / 2));
  if (std::string fault = ropeFault(record); !fault.empty())
    throw InputError(view->fileName() +
                     ": the rope frequency divisors of the checkpoint do not fit: " + fault);
  auto it = std::find(ropes.begin(), ropes.end(), record);
  if (it == ropes.end())
    it = ropes.insert(ropes.end(), record);
  return RopeRef{uint32_t(it - ropes.begin())};
}

Value ParamEvaluator::evaluateWith(const Expr &expr, const std::map<std::string, Value> &locals) {
  ParamContext context(*this, nullptr, locals);
  return evaluate(expr, context);
}

static void collectKeys(const Description &description, const ConfigView &view, const Expr &expr,
                        const ParamDef *def, std::vector<const ParamDef *> &visited,
                        std::vector<std::string> &keys, size_t depth = 0) {
  if (depth > mostNested)
    return;
  std::vector<std::string> names;
  collectNames(expr, names);
  for (const std::string &name : names) {
    const ParamDef *param = description.findParam(name);
    if (param && param != def) {
      if (std::find(visited.begin(), visited.end(), param) == visited.end()) {
        visited.push_back(param);
        collectKeys(description, view, *param->value, param, visited, keys, depth + 1);
      }
    } else if (view.has(name) && std::find(keys.begin(), keys.end(), name) == keys.end()) {
      keys.push_back(name);
    }
  }
}

std::vector<std::string> ParamEvaluator::keysBehind(const Expr &expr) const {
  // The expression may be a parameter's own, where its name means the key.
  const ParamDef *def = nullptr;
  for (const ParamDef &candidate : description->params)
    if (candidate.value.get() == &expr)
      def = &candidate;
  std::vector<const ParamDef *> visited;
  std::vector<std::string> keys;
  collectKeys(*description, *view, expr, def, visited, keys);
  return keys;
}

std::string ParamEvaluator::keysText(const Expr &expr) const {
  std::string text;
  for (const std::string &key : keysBehind(expr))
    if (const Json *value = view->peek(key))
      text += (text.empty() ? "" : ", ") + key + " = " + value->dump(40);
  return text;
}

void ParamEvaluator::markMentionedKeys(const std::set<std::string> &read) {
  for (const ParamDef &def : description->params) {
    if (!read.count(def.name))
      continue;
    std::vector<std::string> names;
    collectNames(*def.value, names);
    for (const std::string &name : names)
      if (name == def.name || !description->findParam(name))
        view->use(name, def.name);
  }
}

std::vector<std::string> ParamEvaluator::mentionedKeys() const {
  std::vector<std::string> names;
  for (const ParamDef &def : description->params)
    collectNames(*def.value, names);
  for (const std::string &key : description->irrelevantKeys)
    names.push_back(key);
  for (const RequireDef &def : description->requires_)
    names.push_back(def.key);
  for (const char *key : {"rope_theta", "rope_scaling", "rope_parameters", "dtype", "torch_dtype"})
    names.push_back(key);
  return names;
}

} // namespace llmc::frontend
