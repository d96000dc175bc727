//===- ExpressionParser.cpp - expressions of a template -------------------===//
#include "Parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace llmc::rt::chat {

// Each level of brackets takes about ten calls of the parser.
static constexpr unsigned maxNesting = 100;

bool ExpressionParser::isOperator(std::string_view text) const {
  return current().kind == Token::Kind::Operator && current().text == text;
}
bool ExpressionParser::isName(std::string_view text) const {
  return current().kind == Token::Kind::Name && current().text == text;
}
bool ExpressionParser::acceptOperator(std::string_view text) {
  return isOperator(text) && ++at;
}
bool ExpressionParser::acceptName(std::string_view text) { return isName(text) && ++at; }

void ExpressionParser::expectOperator(std::string_view text) {
  if (!acceptOperator(text))
    fail("\"" + std::string(text) + "\" is expected");
}
void ExpressionParser::expectName(std::string_view text) {
  if (!acceptName(text))
    fail("\"" + std::string(text) + "\" is expected");
}
std::string ExpressionParser::expectAnyName() {
  if (current().kind != Token::Kind::Name)
    fail("a name is expected");
  return tokens[at++].text;
}

void ExpressionParser::fail(const std::string &what) const {
  // From the beginning of the tag to the token in question.
  size_t first = at;
  while (first > 0 && tokens[first].kind != Token::Kind::VariableBegin &&
         tokens[first].kind != Token::Kind::BlockBegin)
    --first;
  std::string found = current().kind == Token::Kind::End ? "the end of the template"
                                                         : "\"" + current().text + "\"";
  failAt(current().line, what + ", not " + found,
         std::string_view(source).substr(tokens[first].begin,
                                         current().end - tokens[first].begin));
}

ExprPtr ExpressionParser::make(Expr::Kind kind, size_t begin) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->begin = begin;
  expr->line = current().line;
  return expr;
}

ExprPtr ExpressionParser::finish(ExprPtr expr) const {
  expr->end = at ? tokens[at - 1].end : expr->begin;
  auto include = [&](const ExprPtr &part) {
    if (part)
      expr->depth = std::max(expr->depth, part->depth + 1);
  };
  for (const ExprPtr &part : expr->operands)
    include(part);
  for (const ExprPtr &part : expr->arguments)
    include(part);
  for (const auto &[name, part] : expr->namedArguments)
    include(part);
  if (expr->depth > maxTreeDepth)
    failAt(expr->line, "an expression has more than " + std::to_string(maxTreeDepth) + " levels",
           std::string_view(source).substr(expr->begin, 40));
  return expr;
}

ExprPtr ExpressionParser::parseExpression() {
  NestingGuard guard(nesting);
  if (nesting > maxNesting)
    fail("expressions are nested too deeply");
  ExprPtr expr = parseOr();
  while (isName("if")) {
    ExprPtr condition = make(Expr::Kind::Condition, expr->begin);
    ++at;
    condition->operands.push_back(std::move(expr));
    condition->operands.push_back(parseOr());
    if (acceptName("else"))
      condition->operands.push_back(parseExpression());
    expr = finish(std::move(condition));
  }
  return expr;
}

ExprPtr ExpressionParser::parseWithoutCondition() { return parseTuple(false); }

ExprPtr ExpressionParser::parseTuple(bool withCondition) {
  size_t begin = current().begin;
  ExprPtr tuple = make(Expr::Kind::Tuple, begin);
  bool isTuple = false;
  while (true) {
    tuple->operands.push_back(withCondition ? parseExpression() : parseOr());
    if (!acceptOperator(","))
      break;
    isTuple = true;
    // A comma may end the tuple.
    if (isOperator(")") || isOperator("=") || current().kind == Token::Kind::BlockEnd ||
        current().kind == Token::Kind::VariableEnd)
      break;
  }
  if (!isTuple)
    return std::move(tuple->operands.front());
  return finish(std::move(tuple));
}

Target ExpressionParser::parseTarget() {
  Target first = parseTargetPart();
  if (!first.attribute.empty() || !isOperator(","))
    return first;
  Target target;
  target.parts.push_back(std::move(first));
  while (acceptOperator(",") && (isOperator("(") || current().kind == Token::Kind::Name))
    target.parts.push_back(parseTargetPart());
  return target;
}

Target ExpressionParser::parseTargetPart() {
  if (acceptOperator("(")) {
    NestingGuard guard(nesting);
    if (nesting > maxNesting)
      fail("names are nested too deeply");
    Target inner = parseTarget();
    expectOperator(")");
    return inner;
  }
  Target target;
  target.name = expectAnyName();
  for (std::string_view word : {"true", "false", "none", "True", "False", "None"})
    if (target.name == word) {
      --at;
      fail("a name that can be set is expected");
    }
  if (acceptOperator("."))
    target.attribute = expectAnyName();
  return target;
}

ExprPtr ExpressionParser::parseOr() {
  ExprPtr left = parseAnd();
  while (isName("or")) {
    ExprPtr expr = make(Expr::Kind::Binary, left->begin);
    ++at;
    expr->name = "or";
    expr->operands.push_back(std::move(left));
    expr->operands.push_back(parseAnd());
    left = finish(std::move(expr));
  }
  return left;
}

ExprPtr ExpressionParser::parseAnd() {
  ExprPtr left = parseNot();
  while (isName("and")) {
    ExprPtr expr = make(Expr::Kind::Binary, left->begin);
    ++at;
    expr->name = "and";
    expr->operands.push_back(std::move(left));
    expr->operands.push_back(parseNot());
    left = finish(std::move(expr));
  }
  return left;
}

ExprPtr ExpressionParser::parseNot() {
  if (!isName("not"))
    return parseCompare();
  NestingGuard guard(nesting);
  if (nesting > maxNesting)
    fail("expressions are nested too deeply");
  ExprPtr expr = make(Expr::Kind::Unary, current().begin);
  ++at;
  expr->name = "not";
  expr->operands.push_back(parseNot());
  return finish(std::move(expr));
}

ExprPtr ExpressionParser::parseCompare() {
  ExprPtr left = parseBinary(0);
  ExprPtr expr = make(Expr::Kind::Compare, left->begin);
  expr->operands.push_back(std::move(left));
  while (true) {
    static constexpr std::string_view comparisons[] = {"==", "!=", "<", "<=", ">", ">="};
    std::string name;
    if (current().kind == Token::Kind::Operator &&
        std::find(std::begin(comparisons), std::end(comparisons), current().text) !=
            std::end(comparisons)) {
      name = tokens[at++].text;
    } else if (acceptName("in")) {
      name = "in";
    } else if (isName("not") && tokens[at + 1].kind == Token::Kind::Name &&
               tokens[at + 1].text == "in") {
      at += 2;
      name = "not in";
    } else {
      break;
    }
    expr->names.push_back(name);
    expr->operands.push_back(parseBinary(0));
  }
  if (expr->names.empty())
    return std::move(expr->operands.front());
  return finish(std::move(expr));
}

/// From loose to tight: + -, then ~, then * / // %, then **.
ExprPtr ExpressionParser::parseBinary(unsigned level) {
  static constexpr std::string_view levels[4][4] = {
      {"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}};
  if (level == 4)
    return parseUnary(true);
  ExprPtr left = parseBinary(level + 1);
  while (current().kind == Token::Kind::Operator && !current().text.empty() &&
         std::find(std::begin(levels[level]), std::end(levels[level]), current().text) !=
             std::end(levels[level])) {
    ExprPtr expr = make(Expr::Kind::Binary, left->begin);
    expr->name = tokens[at++].text;
    expr->operands.push_back(std::move(left));
    expr->operands.push_back(parseBinary(level + 1));
    left = finish(std::move(expr));
  }
  return left;
}

ExprPtr ExpressionParser::parseUnary(bool withFilters) {
  ExprPtr expr;
  if (isOperator("-") || isOperator("+")) {
    NestingGuard guard(nesting);
    if (nesting > maxNesting)
      fail("expressions are nested too deeply");
    expr = make(Expr::Kind::Unary, current().begin);
    expr->name = tokens[at++].text;
    expr->operands.push_back(parseUnary(false));
    expr = finish(std::move(expr));
  } else {
    expr = parsePrimary();
  }
  expr = parsePostfix(std::move(expr));
  return withFilters ? parseFilterChain(std::move(expr)) : std::move(expr);
}

ExprPtr ExpressionParser::parseFilterChain(ExprPtr operand) {
  while (true) {
    if (isOperator("|")) {
      ExprPtr filter = make(Expr::Kind::Filter, operand->begin);
      ++at;
      filter->name = expectAnyName();
      filter->operands.push_back(std::move(operand));
      if (isOperator("("))
        parseArguments(*filter);
      operand = finish(std::move(filter));
    } else if (isName("is")) {
      operand = parseTest(std::move(operand));
    } else if (isOperator("(")) {
      operand = parsePostfix(std::move(operand));
    } else {
      return operand;
    }
  }
}

ExprPtr ExpressionParser::parseTest(ExprPtr operand) {
  ExprPtr test = make(Expr::Kind::Test, operand->begin);
  ++at; // is
  bool negated = acceptName("not");
  if (current().kind == Token::Kind::Name)
    test->name = expectAnyName();
  else
    fail("the name of a test is expected");
  test->operands.push_back(std::move(operand));
  if (isOperator("(")) {
    parseArguments(*test);
  } else {
    // `is divisibleby 3`: one argument without brackets.
    Token::Kind kind = current().kind;
    static constexpr std::string_view follows[] = {"else", "or", "and", "is", "if", "in", "not"};
    bool word = kind == Token::Kind::Name &&
                std::find(std::begin(follows), std::end(follows), current().text) ==
                    std::end(follows);
    if (word || kind == Token::Kind::String || kind == Token::Kind::Integer ||
        kind == Token::Kind::Float || isOperator("[") || isOperator("{"))
      test->arguments.push_back(parsePostfix(parsePrimary()));
  }
  test = finish(std::move(test));
  if (!negated)
    return test;
  ExprPtr expr = make(Expr::Kind::Unary, test->begin);
  expr->name = "not";
  expr->operands.push_back(std::move(test));
  return finish(std::move(expr));
}

void ExpressionParser::parseArguments(Expr &call) {
  expectOperator("(");
  while (!acceptOperator(")")) {
    if (isOperator("*") || isOperator("**")) {
      ExprPtr spread = make(Expr::Kind::Spread, current().begin);
      spread->name = tokens[at++].text;
      spread->operands.push_back(parseExpression());
      spread = finish(std::move(spread));
      if (spread->name == "*")
        call.arguments.push_back(std::move(spread));
      else
        call.namedArguments.emplace_back("", std::move(spread));
    } else if (current().kind == Token::Kind::Name && tokens[at + 1].kind == Token::Kind::Operator &&
        tokens[at + 1].text == "=") {
      std::string name = expectAnyName();
      ++at;
      call.namedArguments.emplace_back(name, parseExpression());
    } else {
      if (!call.namedArguments.empty())
        fail("an argument without a name follows one with a name");
      call.arguments.push_back(parseExpression());
    }
    if (!isOperator(")"))
      expectOperator(",");
  }
}

ExprPtr ExpressionParser::parsePostfix(ExprPtr operand) {
  while (true) {
    if (isOperator(".")) {
      ExprPtr expr = make(Expr::Kind::Attribute, operand->begin);
      ++at;
      if (current().kind == Token::Kind::Integer) {
        expr->kind = Expr::Kind::Subscript;
        expr->operands.push_back(std::move(operand));
        expr->operands.push_back(parseNumber());
      } else {
        expr->name = expectAnyName();
        expr->operands.push_back(std::move(operand));
      }
      operand = finish(std::move(expr));
    } else if (isOperator("[")) {
      operand = parseSubscript(std::move(operand));
    } else if (isOperator("(")) {
      ExprPtr call = make(Expr::Kind::Call, operand->begin);
      call->operands.push_back(std::move(operand));
      parseArguments(*call);
      operand = finish(std::move(call));
    } else {
      return operand;
    }
  }
}

ExprPtr ExpressionParser::parseSubscript(ExprPtr operand) {
  ExprPtr expr = make(Expr::Kind::Subscript, operand->begin);
  ++at; // [
  expr->operands.push_back(std::move(operand));
  std::vector<ExprPtr> parts(1);
  while (!isOperator("]")) {
    if (acceptOperator(":")) {
      parts.emplace_back();
      if (parts.size() > 3)
        fail("a slice has at most three parts");
    } else if (parts.back()) {
      break;
    } else {
      parts.back() = parseExpression();
    }
  }
  expectOperator("]");
  if (parts.size() > 1) {
    expr->kind = Expr::Kind::Slice;
    parts.resize(3);
  } else if (!parts.front()) {
    fail("an index is expected in the brackets");
  }
  for (ExprPtr &part : parts)
    expr->operands.push_back(std::move(part));
  return finish(std::move(expr));
}

ExprPtr ExpressionParser::parsePrimary() {
  const Token &token = current();
  ExprPtr expr = make(Expr::Kind::Literal, token.begin);
  switch (token.kind) {
  case Token::Kind::Name:
    ++at;
    if (token.text == "true" || token.text == "True") {
      expr->value = Value(true);
    } else if (token.text == "false" || token.text == "False") {
      expr->value = Value(false);
    } else if (token.text != "none" && token.text != "None") {
      expr->kind = Expr::Kind::Name;
      expr->name = token.text;
      sawVarargs |= expr->name == "varargs";
      sawKwargs |= expr->name == "kwargs";
      sawCaller |= expr->name == "caller";
    }
    return finish(std::move(expr));
  case Token::Kind::String: {
    // Neighbours are one string, as in Python.
    std::string text;
    while (current().kind == Token::Kind::String)
      text += tokens[at++].text;
    expr->value = Value(std::move(text));
    return finish(std::move(expr));
  }
  case Token::Kind::Integer:
  case Token::Kind::Float:
    return parseNumber();
  case Token::Kind::Operator:
    if (acceptOperator("(")) {
      if (acceptOperator(")")) {
        expr->kind = Expr::Kind::Tuple;
        return finish(std::move(expr));
      }
      ExprPtr inner = parseTuple(true);
      expectOperator(")");
      return inner;
    }
    if (isOperator("["))
      return parseList();
    if (isOperator("{"))
      return parseDict();
    [[fallthrough]];
  default:
    fail("an expression is expected");
  }
}

ExprPtr ExpressionParser::parseNumber() {
  const Token &token = current();
  ExprPtr expr = make(Expr::Kind::Literal, token.begin);
  const char *begin = token.text.data(), *end = begin + token.text.size();
  std::errc status;
  if (token.kind == Token::Kind::Integer) {
    int64_t number = 0;
    int base = 10;
    if (token.text.size() > 2 && token.text[0] == '0' && std::isalpha(token.text[1])) {
      base = token.text[1] == 'x' ? 16 : token.text[1] == 'o' ? 8 : 2;
      begin += 2;
    }
    status = std::from_chars(begin, end, number, base).ec;
    expr->value = Value(number);
  } else {
    double number = 0;
    status = std::from_chars(begin, end, number).ec;
    expr->value = Value(number);
  }
  if (status != std::errc())
    fail("a number in the range of 64 bits is expected");
  ++at;
  return finish(std::move(expr));
}

ExprPtr ExpressionParser::parseList() {
  ExprPtr list = make(Expr::Kind::List, current().begin);
  ++at; // [
  while (!acceptOperator("]")) {
    list->operands.push_back(parseExpression());
    if (!isOperator("]"))
      expectOperator(",");
  }
  return finish(std::move(list));
}

ExprPtr ExpressionParser::parseDict() {
  ExprPtr dict = make(Expr::Kind::Dict, current().begin);
  ++at; // {
  while (!acceptOperator("}")) {
    dict->operands.push_back(parseExpression());
    expectOperator(":");
    dict->operands.push_back(parseExpression());
    if (!isOperator("}"))
      expectOperator(",");
  }
  return finish(std::move(dict));
}

} // namespace llmc::rt::chat
