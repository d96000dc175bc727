//===- Ast.h - a parsed template --------------------------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_CHAT_AST_H
#define LLMC_LIB_RUNTIME_CHAT_AST_H

#include "Value.h"

#include <memory>
#include <string>
#include <vector>

namespace llmc::rt::chat {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

/// Trees are walked by recursion, so parsing bounds how deep they are.
constexpr unsigned maxTreeDepth = 400;

struct Expr {
  enum class Kind {
    Literal,   ///< value
    Name,      ///< name
    List,      ///< operands
    Tuple,     ///< operands
    Spread,    ///< name "*" or "**": an argument that is several
    Dict,      ///< operands: key, value, key, value, ...
    Unary,     ///< name: "-", "+", "not"
    Binary,    ///< name: an arithmetic operator or "~", "and", "or"
    Compare,   ///< operands a b c ..., names the operators between them
    Condition, ///< operands: then, if, [else]
    Attribute, ///< operand.name
    Subscript, ///< operand[operand]
    Slice,     ///< operand[a:b:c]; absent parts are null
    Call,      ///< operand(arguments)
    Filter,    ///< operand | name(arguments)
    Test,      ///< operand is name(arguments)
  };
  Kind kind;
  std::string name;
  Value value;
  std::vector<ExprPtr> operands;
  std::vector<std::string> names;
  std::vector<ExprPtr> arguments;
  std::vector<std::pair<std::string, ExprPtr>> namedArguments;
  uint32_t line = 1;
  size_t begin = 0, end = 0; ///< bytes of the source
  unsigned depth = 1;
};

struct Statement;
using Block = std::vector<Statement>;

/// What a value is stored to: a name, a member of a namespace, or parts that
/// its items go to.
struct Target {
  std::string name;
  std::string attribute; ///< of name, for `set ns.x`
  std::vector<Target> parts;
};

struct Parameter {
  std::string name;
  ExprPtr fallback;
};

struct Statement {
  enum class Kind {
    Text,     ///< text
    Output,   ///< expr
    If,       ///< branches: condition (null for else) and block
    For,      ///< target in expr, condition of items, body, otherwise
    Set,      ///< target = expr
    SetBlock, ///< target = body, through the filters of expr
    Macro,    ///< text names it; parameters, body
    Call,     ///< expr is a call; body is its caller(), with parameters
    Filter,   ///< body through the filters of expr
    With,     ///< targets = arguments, body
    Scope,    ///< body as it is (generation)
    Break,
    Continue,
  };
  Kind kind;
  std::string text;
  ExprPtr expr, condition;
  Target target;
  std::vector<std::pair<ExprPtr, Block>> branches;
  std::vector<Parameter> parameters;
  Block body, otherwise;
  bool recursive = false; ///< For: `loop(items)` runs the body over other items
  /// Macro, Call: the body reads what was passed beyond its parameters.
  bool usesVarargs = false, usesKwargs = false, usesCaller = false;
  uint32_t line = 1;
};

/// Throws InputError naming line and expression.
Block parse(const std::string &source);

} // namespace llmc::rt::chat

#endif // LLMC_LIB_RUNTIME_CHAT_AST_H
