//===- Interpreter.cpp - the statements of a template ---------------------===//
#include "Interpreter.h"

#include "Lexer.h"
#include "Parser.h"
#include "llmc/Support/Error.h"

#include <chrono>
#include <ctime>

namespace llmc::rt::chat {

// Levels of evaluation within each other; one takes about a kilobyte of stack.
static constexpr unsigned maxEvaluationDepth = 1500;

Interpreter::Interpreter(const std::string &source, const TemplateLimits &limits,
                         std::optional<int64_t> now)
    : source(source), limits(limits), now(now), globals(std::make_shared<Scope>()),
      scope(globals), caller(Undefined{"caller"}) {
  addFunctions();
}

Interpreter::~Interpreter() {
  // Values may refer to the scope or the namespace that they live in.
  for (const auto &space : namespaces)
    space->members.clear();
  for (const auto &kept : keptScopes)
    kept->variables.clear();
  globals->variables.clear();
}

std::string Interpreter::run(const Block &block, const nlohmann::ordered_json &variables) {
  if (!variables.is_object() && !variables.is_null())
    throw UsageError("The variables of a chat template must be a JSON object.");
  try {
    for (const auto &[name, value] : variables.items())
      define(name, Value::fromJson(value));
  } catch (const TemplateError &error) {
    throw InputError(std::string("The variables of the chat template cannot be used: ") +
                     error.what() + ".");
  }
  // The template's own names shadow the variables it is given.
  scope = std::make_shared<Scope>();
  scope->parent = globals;
  keptScopes.push_back(scope);
  std::string out;
  runBlock(block, out);
  return out;
}

void Interpreter::addFunction(const char *name, std::function<Value(const Arguments &)> call) {
  define(name, Value(std::make_shared<Callable>(Callable{name, std::move(call)})));
}

void Interpreter::addFunctions() {
  addFunction("range", [this](const Arguments &arguments) -> Value {
    arguments.atMost(3, "range");
    int64_t start = 0, stop = arguments.require(0, "stop").integer(), step = 1;
    if (arguments.positional.size() > 1) {
      start = stop;
      stop = arguments.positional[1].integer();
    }
    if (arguments.positional.size() > 2)
      step = arguments.positional[2].integer();
    if (step == 0)
      throw TemplateError("the step of a range is zero");
    // The bound of Jinja's sandbox.
    constexpr uint64_t longest = 100'000;
    uint64_t width = step > 0 ? (stop > start ? uint64_t(stop) - uint64_t(start) : 0)
                              : (start > stop ? uint64_t(start) - uint64_t(stop) : 0);
    uint64_t stride = step > 0 ? uint64_t(step) : uint64_t(0) - uint64_t(step);
    uint64_t count = width / stride + (width % stride != 0);
    if (count > longest)
      throw TemplateError("a range has more than " + std::to_string(longest) + " items");
    charge(count * sizeof(Value));
    return Value::range(start, stop, step);
  });
  addFunction("namespace", [this](const Arguments &arguments) -> Value {
    auto space = std::make_shared<Namespace>();
    if (const Value *initial = arguments.find(0, "")) {
      for (const auto &[key, value] : initial->dict())
        space->members.emplace_back(key.text(), value);
    }
    for (const auto &[name, value] : arguments.named)
      space->members.emplace_back(name, value);
    charge(64);
    namespaces.push_back(space);
    return space;
  });
  addFunction("dict", [this](const Arguments &arguments) -> Value {
    Dict dict;
    if (!arguments.positional.empty() && arguments.positional[0].isDict()) {
      dict = arguments.positional[0].dict();
    } else if (!arguments.positional.empty()) {
      auto pairs = iterate(arguments.positional[0]);
      for (const Value &pair : *pairs) {
        auto parts = iterate(pair);
        scan(dict.size() * sizeof(Value)); // the search is linear
        if (parts->size() != 2 || !parts->front().isHashable())
          throw TemplateError("dict needs pairs of a key and a value");
        std::erase_if(dict, [&](const auto &entry) { return entry.first == parts->front(); });
        dict.emplace_back(parts->front(), parts->back());
      }
    }
    for (const auto &[name, value] : arguments.named) {
      std::erase_if(dict, [&](const auto &entry) { return entry.first == Value(name); });
      dict.emplace_back(name, value);
    }
    return dict;
  });
  addFunction("joiner", [this](const Arguments &arguments) -> Value {
    const Value *separator = arguments.find(0, "sep");
    charge(64);
    auto used = std::make_shared<bool>(false);
    auto next = [text = separator ? *separator : Value(", "), used](const Arguments &) -> Value {
      return std::exchange(*used, true) ? text : Value("");
    };
    return std::make_shared<Callable>(Callable{"joiner", next});
  });
  addFunction("raise_exception", [](const Arguments &arguments) -> Value {
    throw InputError("The chat template refuses the conversation: " +
                     arguments.require(0, "message").str());
  });
  addFunction("strftime_now", [this](const Arguments &arguments) -> Value {
    std::time_t seconds = now ? static_cast<std::time_t>(*now) : std::time(nullptr);
    std::tm parts{};
    if (!localtime_r(&seconds, &parts))
      throw TemplateError("the time cannot be told");
    const std::string &format = arguments.require(0, "format").text();
    // strftime returns 0 for an empty result and for a buffer that is too
    // small; a character in front tells the two apart.
    std::string buffer(format.size() * 16 + 64, '\0');
    size_t length = std::strftime(buffer.data(), buffer.size(), (" " + format).c_str(), &parts);
    if (!length)
      throw TemplateError("the format of strftime_now is too long");
    return buffer.substr(1, length - 1);
  });
}

void Interpreter::charge(uint64_t bytes) {
  work += bytes;
  if (work > limits.maxWorkBytes)
    throw TemplateError("the template makes more than " +
                        std::to_string(limits.maxWorkBytes >> 20) + " MiB of values");
}

std::shared_ptr<const List> Interpreter::iterate(const Value &value) {
  if (value.isString())
    charge(value.text().size() * sizeof(Value));
  else if (value.isDict())
    charge(value.dict().size() * sizeof(Value));
  return value.iterate();
}

Items Interpreter::items(const Value &value) {
  charge(value.isString() ? value.text().size() * sizeof(Value) : 0);
  return Items(value);
}

void Interpreter::define(const std::string &name, Value value) {
  for (auto &[known, old] : scope->variables) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  scope->variables.emplace_back(name, std::move(value));
}

void Interpreter::write(std::string &out, std::string_view text) {
  if (text.size() + out.size() > limits.maxOutputBytes)
    throw TemplateError("the output has more than " +
                        std::to_string(limits.maxOutputBytes >> 20) + " MiB");
  out += text;
}

Interpreter::Flow Interpreter::runBlock(const Block &block, std::string &out) {
  NestingGuard guard(depth);
  for (const Statement &statement : block) {
    Flow flow;
    try {
      if (depth > maxEvaluationDepth)
        throw TemplateError("macros and blocks are nested too deeply");
      if (++steps > limits.maxSteps)
        throw TemplateError("the template takes more than " + std::to_string(limits.maxSteps) +
                            " steps");
      flow = runStatement(statement, out);
    } catch (const TemplateError &error) {
      failAt(statement.line, error.what(), statement.expr ? textOf(*statement.expr) : "");
    }
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

Interpreter::Flow Interpreter::runStatement(const Statement &statement, std::string &out) {
  using Kind = Statement::Kind;
  switch (statement.kind) {
  case Kind::Text:
    write(out, statement.text);
    break;
  case Kind::Output:
    write(out, evaluate(*statement.expr).str());
    break;
  case Kind::If:
    for (const auto &[condition, body] : statement.branches)
      if (!condition || evaluate(*condition).truthy())
        return runBlock(body, out);
    break;
  case Kind::For:
    return runFor(statement, out);
  case Kind::Set:
    assign(statement.target, evaluate(*statement.expr), statement.line);
    break;
  case Kind::SetBlock:
    assign(statement.target, piped(statement.expr, runInScope(statement.body)), statement.line);
    break;
  case Kind::Macro:
    define(statement.text, makeMacro(statement, statement.text));
    break;
  case Kind::Call:
    runCall(statement, out);
    break;
  case Kind::Filter:
    write(out, piped(statement.expr, runInScope(statement.body)).str());
    break;
  case Kind::With:
    runWith(statement, out);
    break;
  case Kind::Scope:
    write(out, runInScope(statement.body));
    break;
  case Kind::Break:
    return Flow::Break;
  case Kind::Continue:
    return Flow::Continue;
  }
  return Flow::Next;
}

namespace {

/// Puts a value back at the end of a block, also when it is left by an error.
template <typename T> class Restore {
public:
  explicit Restore(T &place) : place(place), saved(place) {}
  ~Restore() { place = std::move(saved); }

private:
  T &place;
  T saved;
};

} // namespace

std::string Interpreter::runInScope(const Block &block) {
  Restore<std::shared_ptr<Scope>> restore(scope);
  auto inner = std::make_shared<Scope>();
  inner->parent = scope;
  scope = std::move(inner);
  std::string out;
  runBlock(block, out);
  charge(out.size());
  return out;
}

Value Interpreter::piped(const ExprPtr &filters, std::string text) {
  if (!filters)
    return text;
  Restore<Value> restore(pipe);
  pipe = Value(std::move(text));
  return evaluate(*filters);
}

void Interpreter::runWith(const Statement &statement, std::string &out) {
  std::vector<Value> values;
  for (const Parameter &parameter : statement.parameters)
    values.push_back(evaluate(*parameter.fallback));
  Restore<std::shared_ptr<Scope>> restore(scope);
  auto inner = std::make_shared<Scope>();
  inner->parent = scope;
  scope = std::move(inner);
  for (size_t i = 0; i < values.size(); ++i)
    define(statement.parameters[i].name, std::move(values[i]));
  runBlock(statement.body, out);
}

void Interpreter::assign(const Target &target, Value value, uint32_t line) {
  if (!target.attribute.empty()) {
    Namespace *space = lookUp(target.name).space();
    if (!space)
      failAt(line, "\"" + target.name + "\" is no namespace, so its members cannot be set");
    for (auto &[name, old] : space->members) {
      if (name == target.attribute) {
        old = std::move(value);
        return;
      }
    }
    charge(target.attribute.size() + sizeof(Value));
    space->members.emplace_back(target.attribute, std::move(value));
    return;
  }
  if (target.parts.empty())
    return define(target.name, std::move(value));
  auto items = iterate(value);
  if (items->size() != target.parts.size())
    throw TemplateError(std::to_string(items->size()) + " values cannot be unpacked into " +
                        std::to_string(target.parts.size()) + " names");
  for (size_t i = 0; i < items->size(); ++i)
    assign(target.parts[i], (*items)[i], line);
}

Interpreter::Flow Interpreter::runFor(const Statement &statement, std::string &out) {
  return runLoop(statement, evaluate(*statement.expr), 1, out);
}

Interpreter::Flow Interpreter::runLoop(const Statement &statement, const Value &over, size_t level,
                                       std::string &out) {
  NestingGuard guard(depth);
  if (depth > maxEvaluationDepth)
    throw TemplateError("loops are nested too deeply");
  auto items = iterate(over);
  Restore<std::shared_ptr<Scope>> restore(scope);
  std::shared_ptr<Scope> outer = scope;
  auto enter = [&](const Value &item) {
    scope = std::make_shared<Scope>();
    scope->parent = outer;
    assign(statement.target, item, statement.line);
  };

  if (statement.condition) {
    auto chosen = std::make_shared<List>();
    for (const Value &item : *items) {
      charge(sizeof(Value));
      enter(item);
      if (evaluate(*statement.condition).truthy())
        chosen->push_back(item);
    }
    items = chosen;
    scope = outer;
  }
  if (items->empty())
    return runBlock(statement.otherwise, out);

  auto loop = std::make_shared<LoopState>();
  loop->items = items;
  loop->depth = level;
  if (statement.recursive)
    loop->recurse = [this, &statement, level, weak = std::weak_ptr<Scope>(outer)](const Value &inner) {
      std::shared_ptr<Scope> around = weak.lock();
      if (!around)
        throw TemplateError("the loop has ended");
      Restore<std::shared_ptr<Scope>> restoreScope(scope);
      scope = around;
      std::string text;
      runLoop(statement, inner, level + 1, text);
      charge(text.size());
      return Value(std::move(text));
    };
  bool completed = false; // an item whose body came to its end
  for (size_t i = 0; i < items->size(); ++i) {
    if (++steps > limits.maxSteps)
      throw TemplateError("the template takes more than " + std::to_string(limits.maxSteps) +
                          " steps");
    loop->index = i;
    enter((*items)[i]);
    define("loop", Value(loop));
    Flow flow = runBlock(statement.body, out);
    if (flow == Flow::Break)
      break;
    completed |= flow == Flow::Next;
  }
  // As in Jinja, `else` also follows a loop whose bodies were all left early.
  scope = outer;
  if (!completed && !statement.otherwise.empty())
    return runBlock(statement.otherwise, out);
  return Flow::Next;
}

Value Interpreter::makeMacro(const Statement &statement, std::string name) {
  // Weak: the scope holds the macro. One that outlives it sees the template's
  // outermost names.
  std::weak_ptr<Scope> closure = scope;
  auto call = [this, &statement, closure, name](const Arguments &arguments) {
    std::shared_ptr<Scope> outer = closure.lock();
    return callMacro(statement, outer ? outer : keptScopes.front(), name, arguments);
  };
  Callable macro{name, std::move(call), true, {}};
  for (const Parameter &parameter : statement.parameters)
    macro.parameters.push_back(parameter.name);
  return std::make_shared<Callable>(std::move(macro));
}

Value Interpreter::callMacro(const Statement &statement, const std::shared_ptr<Scope> &closure,
                             const std::string &name, const Arguments &arguments) {
  Value callerOfThis = std::exchange(caller, Value(Undefined{"caller"}));
  Restore<std::shared_ptr<Scope>> restore(scope);
  scope = std::make_shared<Scope>();
  scope->parent = closure;
  size_t count = statement.parameters.size();
  if (!statement.usesVarargs)
    arguments.atMost(count, "the macro " + name);
  Dict kwargs;
  for (const auto &[key, value] : arguments.named) {
    size_t place = 0;
    while (place < count && statement.parameters[place].name != key)
      ++place;
    if (place < count && place < arguments.positional.size())
      throw TemplateError("the macro " + name + " gets its parameter \"" + key + "\" twice");
    if (place == count && !statement.usesKwargs)
      throw TemplateError("the macro " + name + " has no parameter \"" + key + "\"");
    if (place == count)
      kwargs.emplace_back(key, value);
  }
  if (!callerOfThis.isUndefined() && !statement.usesCaller)
    throw TemplateError("the macro " + name + " does not use its caller");
  if (statement.usesKwargs)
    define("kwargs", std::move(kwargs));
  if (statement.usesVarargs) {
    List rest;
    if (arguments.positional.size() > count)
      rest.assign(arguments.positional.begin() + static_cast<ptrdiff_t>(count),
                  arguments.positional.end());
    define("varargs", Value::ofKind(ListKind::Tuple, std::move(rest)));
  }
  define("caller", callerOfThis);
  for (size_t i = 0; i < statement.parameters.size(); ++i) {
    const Parameter &parameter = statement.parameters[i];
    if (const Value *value = arguments.find(i, parameter.name))
      define(parameter.name, *value);
    else if (parameter.fallback)
      define(parameter.name, evaluate(*parameter.fallback));
    else
      define(parameter.name, Undefined{parameter.name});
  }
  std::string out;
  runBlock(statement.body, out);
  charge(out.size());
  return out;
}

void Interpreter::runCall(const Statement &statement, std::string &out) {
  // Arguments first: a call within them is not the one that gets the body.
  Value function = evaluate(*statement.expr->operands.front());
  Arguments values = arguments(*statement.expr);
  if (!function.callable())
    throw TemplateError(std::string(function.typeName()) + " cannot be called");
  caller = makeMacro(statement, "caller");
  Value result = function.callable()->call(values);
  caller = Value(Undefined{"caller"});
  write(out, result.str());
}

} // namespace llmc::rt::chat
