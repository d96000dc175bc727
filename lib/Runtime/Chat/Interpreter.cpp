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
    List list;
    for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
      charge(sizeof(Value));
      list.emplace_back(i);
      if (__builtin_add_overflow(i, step, &i))
        break;
    }
    return list;
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
  addFunction("dict", [](const Arguments &arguments) -> Value {
    Dict dict;
    if (!arguments.positional.empty())
      dict = arguments.positional[0].dict();
    for (const auto &[name, value] : arguments.named) {
      std::erase_if(dict, [&](const auto &entry) { return entry.first == Value(name); });
      dict.emplace_back(name, value);
    }
    return dict;
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
    Namespace *space = lookUp(target.names.front()).space();
    if (!space)
      failAt(line, "\"" + target.names.front() +
                       "\" is no namespace, so its members cannot be set");
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
  if (target.names.size() == 1)
    return define(target.names.front(), std::move(value));
  auto items = value.iterate();
  if (items->size() != target.names.size())
    throw TemplateError(std::to_string(items->size()) + " values cannot be unpacked into " +
                        std::to_string(target.names.size()) + " names");
  for (size_t i = 0; i < items->size(); ++i)
    define(target.names[i], (*items)[i]);
}

Interpreter::Flow Interpreter::runFor(const Statement &statement, std::string &out) {
  auto items = evaluate(*statement.expr).iterate();
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
  Restore<size_t> restoreDepth(loopDepth);
  loop->depth = ++loopDepth;
  for (size_t i = 0; i < items->size(); ++i) {
    if (++steps > limits.maxSteps)
      throw TemplateError("the template takes more than " + std::to_string(limits.maxSteps) +
                          " steps");
    loop->index = i;
    enter((*items)[i]);
    define("loop", Value(loop));
    if (runBlock(statement.body, out) == Flow::Break)
      break;
  }
  return Flow::Next;
}

Value Interpreter::makeMacro(const Statement &statement, std::string name) {
  // Weak: the scope holds the macro. One that outlives it sees the template's
  // outermost names.
  std::weak_ptr<Scope> closure = scope;
  return std::make_shared<Callable>(
      Callable{name, [this, &statement, closure, name](const Arguments &arguments) {
                 std::shared_ptr<Scope> outer = closure.lock();
                 return callMacro(statement, outer ? outer : keptScopes.front(), name, arguments);
               }});
}

Value Interpreter::callMacro(const Statement &statement, const std::shared_ptr<Scope> &closure,
                             const std::string &name, const Arguments &arguments) {
  Value callerOfThis = std::exchange(caller, Value(Undefined{"caller"}));
  Restore<std::shared_ptr<Scope>> restore(scope);
  scope = std::make_shared<Scope>();
  scope->parent = closure;
  arguments.atMost(statement.parameters.size(), "the macro " + name);
  for (const auto &[key, value] : arguments.named) {
    bool known = false;
    for (const Parameter &parameter : statement.parameters)
      known |= parameter.name == key;
    if (!known)
      throw TemplateError("the macro " + name + " has no parameter \"" + key + "\"");
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
