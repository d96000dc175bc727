//===- Interpreter.h - runs a template --------------------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_CHAT_INTERPRETER_H
#define LLMC_LIB_RUNTIME_CHAT_INTERPRETER_H

#include "Ast.h"
#include "llmc/Runtime/ChatTemplate.h"

#include <optional>

namespace llmc::rt::chat {

/// One rendering. Filters, tests and methods get it for calls back.
class Interpreter {
public:
  Interpreter(const std::string &source, const TemplateLimits &limits, std::optional<int64_t> now);
  ~Interpreter();
  Interpreter(const Interpreter &) = delete;
  Interpreter &operator=(const Interpreter &) = delete;

  std::string run(const Block &block, const nlohmann::ordered_json &variables);

  // For filters, tests and methods. They throw TemplateError.
  Value attribute(const Value &object, const std::string &name);
  Value item(const Value &object, const Value &key);
  Value filter(const std::string &name, const Value &value, const Arguments &arguments);
  bool test(const std::string &name, const Value &value, const Arguments &arguments);
  /// Counts bytes that are about to be made against the limit.
  void charge(uint64_t bytes);
  /// The same for bytes that are only looked at, which is less work.
  void scan(uint64_t bytes) { charge(bytes / 2); }
  /// What a value is iterated over as, charged before it is made.
  std::shared_ptr<const List> iterate(const Value &value);
  Items items(const Value &value);

private:
  struct Scope {
    std::vector<std::pair<std::string, Value>> variables;
    std::shared_ptr<Scope> parent;
  };
  enum class Flow { Next, Break, Continue };

  Flow runBlock(const Block &block, std::string &out);
  Flow runStatement(const Statement &statement, std::string &out);
  Flow runFor(const Statement &statement, std::string &out);
  Flow runLoop(const Statement &statement, const Value &over, size_t level, std::string &out);
  void runCall(const Statement &statement, std::string &out);
  void runWith(const Statement &statement, std::string &out);
  std::string runInScope(const Block &block);
  void write(std::string &out, std::string_view text);
  Value piped(const ExprPtr &filters, std::string text);
  void assign(const Target &target, Value value, uint32_t line);
  Value makeMacro(const Statement &statement, std::string name);
  Value callMacro(const Statement &statement, const std::shared_ptr<Scope> &closure,
                  const std::string &name, const Arguments &arguments);

  Value evaluate(const Expr &expr);
  Value dispatch(const Expr &expr);
  Value binary(const Expr &expr);
  Value compare(const Expr &expr);
  Value call(const Expr &expr);
  Value slice(const Expr &expr);
  Value collection(const Expr &expr);
  Arguments arguments(const Expr &expr);
  Value lookUp(const std::string &name);
  void define(const std::string &name, Value value);
  std::string_view textOf(const Expr &expr) const;
  void addFunctions();
  void addFunction(const char *name, std::function<Value(const Arguments &)> call);

  const std::string &source;
  TemplateLimits limits;
  std::optional<int64_t> now;
  std::shared_ptr<Scope> globals, scope;
  std::vector<std::shared_ptr<Namespace>> namespaces; ///< emptied at the end: they may be cyclic
  std::vector<std::shared_ptr<Scope>> keptScopes;     ///< of macros, likewise
  Value pipe; ///< the text a filter block works on
  Value caller;
  size_t steps = 0;
  uint64_t work = 0;
  unsigned depth = 0;
};

// Operators.cpp
Value applyBinary(Interpreter &interpreter, const std::string &op, const Value &a, const Value &b);
bool applyComparison(const std::string &op, const Value &a, const Value &b);
bool contains(const Value &container, const Value &item);
/// A string with what is special in HTML replaced; markup stays as it is.
Value escaped(const Value &value);
Value sliceOf(const Value &object, const Value &start, const Value &stop, const Value &step);

// Format.cpp
/// printf-style formatting as of Python's % and the format filter: the items of
/// a tuple, the members of a mapping, or one value.
std::string formatPercent(Interpreter &interpreter, const std::string &format,
                          const Value &values);
/// str.format.
std::string formatBraces(Interpreter &interpreter, const std::string &format,
                         const Arguments &arguments);

// Methods.cpp
bool hasMethod(const Value &object, const std::string &name);
Value callMethod(Interpreter &interpreter, const Value &object, const std::string &name,
                 const Arguments &arguments);
/// replace() of strings; \p count below 0: all.
std::string replaceAll(Interpreter &interpreter, const std::string &text, const std::string &from,
                       const std::string &to, int64_t count);

// Filters.cpp, SequenceFilters.cpp, Tests.cpp
using FilterFunction = Value (*)(Interpreter &, const Value &, const Arguments &);
FilterFunction findFilter(const std::string &name);
FilterFunction findSequenceFilter(const std::string &name);
using TestFunction = bool (*)(Interpreter &, const Value &, const Arguments &);
TestFunction findTest(const std::string &name);

} // namespace llmc::rt::chat

#endif // LLMC_LIB_RUNTIME_CHAT_INTERPRETER_H
