//===- Expression.h - the expression language of descriptions ---*- C++ -*-===//
//
// A small total language: no loops, no input or output, recursion refused.
//
//   literals      1  2.5  1e-5  'text'  "text"  true  false  null  [a, b]  (a, b)
//   operators     ?:  ??  ||  &&  == !=  < <= > >=  + -  * / // %  unary - !  **  x[i]
//   calls         f(a, b, name: c)
//   statements    expression  |  a = expression  |  a, b = expression
//
// `a ?? b` is b when a is null or absent. `/` of two integers is an integer when
// it divides exactly and a number otherwise; `//` rounds down. `**` binds more
// tightly than unary minus. Integer overflow is an error.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_EXPRESSION_H
#define LLMC_FRONTEND_EXPRESSION_H

#include "llmc/Frontend/Value.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace llmc::frontend {

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  enum class Kind : uint8_t { Literal, Name, List, Unary, Binary, Conditional, Index, Call };
  Kind kind = Kind::Literal;
  /// Literal value.
  Value literal;
  /// Name, operator spelling or function name.
  std::string name;
  std::vector<ExprPtr> children;
  /// Named arguments of a call.
  std::vector<std::pair<std::string, ExprPtr>> named;
  /// Where this node starts; `text` is the whole expression.
  std::shared_ptr<const SourceLocation> location;
  /// Offset of the node in the text.
  uint32_t offset = 0;
};

struct Statement {
  /// Empty for a bare expression.
  std::vector<std::string> targets;
  ExprPtr value;
  SourceLocation location;
};

/// Parse one expression or statement; errors say "file:line:column: ... in 'text'".
ExprPtr parseExpression(const std::string &text, const SourceLocation &location);
Statement parseStatement(const std::string &text, const SourceLocation &location);

/// Throws InputError "file:line:column: message, in 'text'".
[[noreturn]] void expressionError(const Expr &expr, const std::string &message);

/// Every name and function an expression mentions.
void collectNames(const Expr &expr, std::vector<std::string> &names);

/// What an expression's names and functions mean. Operators and builtin functions
/// (len, min, max, floor, ceil, sqrt, log, abs, int, float, default, present, is_list, contains,
/// index_of, last_index_of, entry, only_fields, normal_quantile, error) are the evaluator's own.
class EvalContext {
public:
  virtual ~EvalContext() = default;
  /// The value of a name; report unknown ones by expressionError.
  virtual Value lookup(const Expr &name) = 0;
  /// A function that is no builtin.
  virtual Value call(const Expr &call, ValueList args,
                     std::vector<std::pair<std::string, Value>> named) = 0;
};

/// The values that an evaluation holds at a time, counted in elements of lists and bytes of
/// text: a chain of lists that each hold the one before twice must not take all memory. One
/// counter a thread, so that it is made and destroyed on the same one.
class HeldValues {
public:
  HeldValues() = default;
  ~HeldValues() { total -= mine; }
  HeldValues(const HeldValues &) = delete;
  HeldValues &operator=(const HeldValues &) = delete;

  /// Reports by expressionError where all together are too many.
  void add(const Expr &expr, const Value &value);

private:
  uint64_t mine = 0;
  static thread_local uint64_t total;
};

/// Elements of a value with those of its lists, a text counted by its length.
uint64_t elementsOf(const Value &value);
/// What may be held at a time, and by the parameters of one model.
inline constexpr uint64_t mostElements = uint64_t(1) << 20;

/// Evaluates; unary minus, + - * / and min and max become calls where an operand is a handle or a
/// weight.
Value evaluate(const Expr &expr, EvalContext &context);
/// The same, and the result must be a boolean.
bool evaluateBool(const Expr &expr, EvalContext &context);
/// True for names of builtin functions.
bool isBuiltinFunction(const std::string &name);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_EXPRESSION_H
