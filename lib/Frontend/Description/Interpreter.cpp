//===- Interpreter.cpp - running blocks against hooks ---------------------===//
#include "Hints.h"
#include "ParamEvaluator.h"

#include <algorithm>
#include <cmath>

namespace llmc::frontend {

namespace {

/// One run of the model statements or of one layer's block.
class BlockRunner {
public:
  BlockRunner(const ResolvedModel &model, ParamEvaluator &params, OpHooks &hooks,
              std::optional<int64_t> layer, bool expandNames)
      : model(model), params(params), hooks(hooks), layer(layer), expandNames(expandNames) {}

  Value run(const std::vector<Statement> &statements, std::map<std::string, Value> locals,
            const std::string &path) {
    Scope scope(*this, std::move(locals), path);
    Value last;
    for (const Statement &statement : statements) {
      scope.location = &statement.location;
      last = evaluate(*statement.value, scope);
      if (last.isAbsent())
        expressionError(*statement.value, "this statement has no value");
      if (!statement.targets.empty())
        scope.held.add(*statement.value, last);
      assign(statement, last, scope.locals);
    }
    return last;
  }

private:
  struct Scope : EvalContext {
    Scope(BlockRunner &runner, std::map<std::string, Value> locals, std::string path)
        : runner(runner), locals(std::move(locals)), path(std::move(path)) {}
    Value lookup(const Expr &expr) override { return runner.lookup(expr, *this); }
    Value call(const Expr &expr, ValueList args,
               std::vector<std::pair<std::string, Value>> named) override {
      return runner.call(expr, std::move(args), std::move(named), *this);
    }
    BlockRunner &runner;
    std::map<std::string, Value> locals;
    std::string path;
    const SourceLocation *location = nullptr;
    HeldValues held;
  };

  static void assign(const Statement &statement, const Value &value,
                     std::map<std::string, Value> &locals) {
    const auto &targets = statement.targets;
    if (targets.empty())
      return;
    if (targets.size() == 1) {
      locals[targets[0]] = value;
      return;
    }
    const ValueList *list = value.get<ValueList>();
    if (!list || list->size() != targets.size())
      expressionError(
          *statement.value,
          "there are " + std::to_string(targets.size()) + " names for " +
              (list ? std::to_string(list->size()) + " values" : std::string(value.kindName())));
    for (size_t i = 0; i < targets.size(); ++i)
      locals[targets[i]] = (*list)[i];
  }

  Value lookup(const Expr &expr, Scope &scope) {
    const std::string &name = expr.name;
    if (auto it = scope.locals.find(name); it != scope.locals.end())
      return it->second;
    if (name == "i" && layer)
      return *layer;
    if (const ParamDef *param = model.description->findParam(name)) {
      if (param->isFunction)
        expressionError(expr, "'" + name + "' is a function and needs its arguments");
      return params.param(*param);
    }
    if (const TensorDef *tensor = model.description->findTensor(name))
      return weight(expr, *tensor);
    std::vector<std::string> names;
    for (const ParamDef &known : model.description->params)
      names.push_back(known.name);
    for (const TensorDef &known : model.description->tensors)
      names.push_back(known.role);
    for (const auto &local : scope.locals)
      names.push_back(local.first);
    std::vector<std::string> near = nearWords(name, names, 1);
    expressionError(expr, "'" + name +
                              "' is neither a value of this block nor a parameter nor "
                              "a tensor" +
                              (near.empty() ? "" : "; did you mean '" + near[0] + "'?"));
  }

  /// Null where the model has no such tensor, so that a block can ask.
  Value weight(const Expr &expr, const TensorDef &tensor) {
    if (tensor.perLayer && !layer)
      expressionError(expr, "'" + tensor.role + "' is a layer's tensor, used outside of layers");
    WeightRef ref;
    ref.role = tensor.role;
    ref.perLayer = tensor.perLayer;
    if (!tensor.parts.empty())
      expressionError(expr, "'" + tensor.role + "' is stored in parts: use '" +
                                tensor.parts.front().role + "' and the others by their names");
    int32_t found = -1;
    std::string bias = biasRole(tensor.role);
    for (size_t i = 0; i < model.families.size(); ++i) {
      const WeightFamily &family = model.families[i];
      bool here = !family.perLayer ||
                  (layer && std::binary_search(family.layers.begin(), family.layers.end(), *layer));
      if (here && family.role == tensor.role)
        found = int32_t(i);
      else if (here && family.role == bias)
        ref.biasFamily = int32_t(i);
    }
    if (found < 0)
      return Value();
    ref.family = uint32_t(found);
    return ref;
  }

  Value call(const Expr &expr, ValueList args, std::vector<std::pair<std::string, Value>> named,
             Scope &scope) {
    if (expr.kind == Expr::Kind::Unary || expr.kind == Expr::Kind::Binary ||
        isBuiltinFunction(expr.name)) {
      if (!named.empty())
        expressionError(expr, expr.name + " takes no named arguments");
      return arithmetic(expr, std::move(args), scope);
    }
    if (const BlockDef *block = model.description->findBlock(expr.name))
      return callBlock(expr, *block, std::move(args), std::move(named), scope);
    if (const ParamDef *param = model.description->findParam(expr.name)) {
      if (!param->isFunction || !named.empty())
        expressionError(expr, param->isFunction ? expr.name + " takes no named arguments"
                                                : "'" + expr.name + "' is no function");
      return params.callFunction(*param, expr, std::move(args));
    }
    if (expr.name == "rope_record")
      return params.ropeRecord(expr, args, named);
    // The layers of a kind share their code, so a name keeps {i} open until a layer is meant.
    if (expr.name == "observe" && layer && expandNames && args.size() > 1)
      if (const std::string *name = args[1].get<std::string>())
        args[1] = expandLayerName(*name, *layer);
    if (const Value *counts = (expr.name == "take" || expr.name == "put") && !layer
                                  ? findNamed(named, "layer")
                                  : nullptr;
        counts && !(*counts == Value(false)))
      expressionError(expr, "there is no layer to count from outside of layers");
    checkEpsilon(expr, args, scope);
    return op(expr.name, std::move(args), std::move(named), scope);
  }

  static const Value *findNamed(const std::vector<std::pair<std::string, Value>> &named,
                                const char *name) {
    for (const auto &argument : named)
      if (argument.first == name)
        return &argument.second;
    return nullptr;
  }

  /// Operators, min and max where an operand is a tensor.
  Value arithmetic(const Expr &expr, ValueList args, Scope &scope) {
    const std::string &name = expr.name;
    auto negated = [&](Value x) { return op("scale", {std::move(x), -1}, {}, scope); };
    // Where there is no other tensor, a weight is the row of every token.
    auto rows = [&](Value &x) {
      if (x.is<WeightRef>())
        x = op("weight_rows", {x}, {}, scope);
    };
    if (args.size() == 1) {
      rows(args[0]);
      if (expr.kind == Expr::Kind::Unary)
        return negated(args[0]);
      if (name == "max")
        return op("row_max", std::move(args), {}, scope);
      expressionError(expr, name + " of one tensor is no operation");
    }
    Value result = args[0];
    for (size_t i = 1; i < args.size(); ++i)
      result = combine(expr, std::move(result), args[i], scope, rows, negated);
    return result;
  }

  template <typename Rows, typename Negated>
  Value combine(const Expr &expr, Value a, Value b, Scope &scope, Rows rows, Negated negated) {
    const std::string &name = expr.name;
    if (!a.isNumber() && !b.isNumber()) {
      if (!b.is<Handle>())
        rows(a);
      bool streams = a.is<Handle>() && b.is<Handle>();
      const char *operation = name == "+"   ? streams ? "residual_add" : "add"
                              : name == "-" ? "sub"
                              : name == "*" ? "mul"
                              : name == "/" ? "div"
                                            : name.c_str();
      return op(operation, {std::move(a), std::move(b)}, {}, scope);
    }
    if (a.isNumber() && b.isNumber())
      expressionError(expr, "put the tensor before the second number");
    bool numberFirst = a.isNumber();
    Value x = numberFirst ? std::move(b) : a, number = numberFirst ? a : b;
    rows(x);
    if (name == "*")
      return op("scale", {x, number}, {}, scope);
    if (name == "+" || (name == "-" && numberFirst))
      return op("offset", {name == "-" ? negated(x) : x, number}, {}, scope);
    if (name == "-")
      return op("offset", {x, -number.asDouble()}, {}, scope);
    if (name == "max")
      return op("clamp", {x, number, Value()}, {}, scope);
    if (name == "min")
      return op("clamp", {x, Value(), number}, {}, scope);
    if (numberFirst)
      return op("scale", {op("activation", {x, "reciprocal"}, {}, scope), number}, {}, scope);
    if (number.asDouble() == 0)
      expressionError(expr, "a division by 0");
    return op("scale", {x, 1 / number.asDouble()}, {}, scope);
  }

  /// Here, where the expression still leads to the config key.
  void checkEpsilon(const Expr &expr, const ValueList &args, const Scope &scope) const {
    size_t at = expr.name == "rms_norm" ? 2 : expr.name == "layer_norm" ? 3 : SIZE_MAX;
    if (at >= args.size() || at >= expr.children.size() || !args[at].isNumber())
      return;
    // The operation computes in f32.
    float epsilon = float(args[at].asDouble());
    if (std::isfinite(epsilon) && epsilon > 0)
      return;
    std::string keys;
    for (const std::string &key : params.keysBehind(*expr.children[at]))
      if (params.view->has(key))
        keys += (keys.empty() ? "; it comes from " : ", ") + params.view->describe(key);
    expressionError(expr, "in " + scope.path + ", " + expr.name + ": epsilon is " +
                              args[at].toText() + ", it must be positive and finite in f32" + keys);
  }

  Value callBlock(const Expr &expr, const BlockDef &block, ValueList args,
                  std::vector<std::pair<std::string, Value>> named, Scope &scope) {
    if (std::find(active.begin(), active.end(), &block) != active.end())
      expressionError(expr, "block '" + block.name + "' runs itself; recursion is not allowed");
    if (args.size() > block.formals.size())
      expressionError(expr, "block '" + block.name + "' takes " +
                                std::to_string(block.formals.size()) + " arguments, not " +
                                std::to_string(args.size()));
    std::map<std::string, Value> locals;
    for (size_t i = 0; i < args.size(); ++i)
      locals[block.formals[i]] = std::move(args[i]);
    for (auto &[name, value] : named) {
      if (std::find(block.formals.begin(), block.formals.end(), name) == block.formals.end() ||
          locals.count(name))
        expressionError(expr, "block '" + block.name + "' has no free argument '" + name + "'");
      locals[name] = std::move(value);
    }
    for (const std::string &formal : block.formals)
      if (!locals.count(formal))
        expressionError(expr, "block '" + block.name + "' needs the argument '" + formal + "'");
    params.countCall(expr, block.name, active.size());
    active.push_back(&block);
    Value value = run(block.statements, std::move(locals), scope.path + "." + block.name);
    active.pop_back();
    return value;
  }

  Value op(std::string name, ValueList args, std::vector<std::pair<std::string, Value>> named,
           Scope &scope) {
    OpCall call;
    call.name = std::move(name);
    call.args = std::move(args);
    call.named = std::move(named);
    call.location = *scope.location;
    call.path = scope.path;
    std::vector<Value> results = hooks.op(call);
    if (results.empty())
      return Value();
    if (results.size() == 1)
      return std::move(results.front());
    return ValueList(std::move(results));
  }

  const ResolvedModel &model;
  ParamEvaluator &params;
  OpHooks &hooks;
  std::optional<int64_t> layer;
  bool expandNames;
  std::vector<const BlockDef *> active;
};

} // namespace

Value ResolvedModel::emitModel(OpHooks &hooks, Handle tokens) const {
  BlockRunner runner(*this, *evaluator, hooks, std::nullopt, false);
  return runner.run(description->model, {{"tokens", tokens}}, "model");
}

const BlockDef &ResolvedModel::layerBlock(int64_t layer) const {
  // During resolution the kinds are not there yet, so the block is asked for by layer.
  Value block = evaluator->evaluateWith(*description->layerBlock, {{"i", layer}});
  const std::string *name = block.get<std::string>();
  const BlockDef *def = name ? description->findBlock(*name) : nullptr;
  if (!def)
    expressionError(*description->layerBlock, "layer " + std::to_string(layer) + " is block " +
                                                  block.toText() +
                                                  ", which 'blocks' does not define");
  return *def;
}

Value ResolvedModel::runLayer(int64_t layer, bool expandNames, OpHooks &hooks,
                              const ValueList &values) const {
  const BlockDef &def = layerBlock(layer);
  if (def.formals.size() != values.size())
    expressionError(*description->layerBlock,
                    "block '" + def.name + "' of layer " + std::to_string(layer) + " takes " +
                        std::to_string(def.formals.size()) + " values, but 'layers' has " +
                        std::to_string(values.size()) + " for it");
  std::map<std::string, Value> locals;
  for (size_t i = 0; i < values.size(); ++i)
    locals[def.formals[i]] = values[i];
  BlockRunner runner(*this, *evaluator, hooks, layer, expandNames);
  return runner.run(def.statements, std::move(locals), def.name);
}

Value ResolvedModel::emitLayer(uint32_t kind, OpHooks &hooks, const ValueList &values) const {
  if (kind >= kinds.size())
    throw InternalError("layer kind " + std::to_string(kind) + " of " +
                        std::to_string(kinds.size()));
  return runLayer(kinds[kind].layers.front(), false, hooks, values);
}

Value ResolvedModel::emitLayerAt(int64_t layer, OpHooks &hooks, const ValueList &values) const {
  if (layer < 0 || layer >= layerCount())
    throw InternalError("layer " + std::to_string(layer) + " of " + std::to_string(layerCount()));
  return runLayer(layer, true, hooks, values);
}

} // namespace llmc::frontend
