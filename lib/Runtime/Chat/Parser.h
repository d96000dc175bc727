//===- Parser.h - builds the tree of a template -----------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_CHAT_PARSER_H
#define LLMC_LIB_RUNTIME_CHAT_PARSER_H

#include "Ast.h"
#include "Lexer.h"

#include <initializer_list>

namespace llmc::rt::chat {

/// Expressions, with the precedence of Jinja. The base of the parser.
class ExpressionParser {
protected:
  ExpressionParser(const std::string &source, std::vector<Token> tokens)
      : source(source), tokens(std::move(tokens)) {}

  ExprPtr parseExpression();
  /// What a `for` goes over: no `x if y` outside of brackets.
  ExprPtr parseWithoutCondition();
  /// An expression, or several with commas between them as a tuple.
  ExprPtr parseTuple(bool withCondition);
  /// Name, or names with commas between them and perhaps in brackets.
  Target parseTarget();
  Target parseTargetPart();
  ExprPtr parseFilterChain(ExprPtr operand);
  ExprPtr parsePostfix(ExprPtr operand);
  ExprPtr parsePrimary();
  void parseArguments(Expr &call);

  const Token &current() const { return tokens[at]; }
  bool isOperator(std::string_view text) const;
  bool isName(std::string_view text) const;
  bool acceptOperator(std::string_view text);
  bool acceptName(std::string_view text);
  void expectOperator(std::string_view text);
  void expectName(std::string_view text);
  std::string expectAnyName();
  [[noreturn]] void fail(const std::string &what) const;

  ExprPtr make(Expr::Kind kind, size_t begin) const;
  /// Sets depth and extent once the parts are in place.
  ExprPtr finish(ExprPtr expr) const;

  const std::string &source;
  std::vector<Token> tokens;
  size_t at = 0;
  unsigned nesting = 0;
  /// Special names of macros that were read so far.
  bool sawVarargs = false, sawKwargs = false, sawCaller = false;

private:
  ExprPtr parseOr();
  ExprPtr parseAnd();
  ExprPtr parseNot();
  ExprPtr parseCompare();
  ExprPtr parseUnary(bool withFilters);
  ExprPtr parseBinary(unsigned level);
  ExprPtr parseTest(ExprPtr operand);
  ExprPtr parseSubscript(ExprPtr operand);
  ExprPtr parseList();
  ExprPtr parseDict();
  ExprPtr parseNumber();
};

/// Counts how deep the parser itself is.
class NestingGuard {
public:
  explicit NestingGuard(unsigned &depth) : depth(depth) { ++depth; }
  ~NestingGuard() { --depth; }

private:
  unsigned &depth;
};

} // namespace llmc::rt::chat

#endif // LLMC_LIB_RUNTIME_CHAT_PARSER_H
