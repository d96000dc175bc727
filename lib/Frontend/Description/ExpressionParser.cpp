//===- ExpressionParser.cpp - text to syntax tree -------------------------===//
#include "llmc/Frontend/Expression.h"
#include "llmc/Support/Error.h"

#include <charconv>
#include <string_view>

namespace llmc::frontend {

namespace {

struct Token {
  enum Kind { End, Name, Number, Text, Symbol } kind = End;
  std::string text;
  Value number;
  uint32_t offset = 0;
};

class Parser {
public:
  Parser(const std::string &text, const SourceLocation &location) : text(text) {
    auto own = std::make_shared<SourceLocation>(location);
    own->text = text;
    this->location = std::move(own);
    advance();
  }

  ExprPtr expression() {
    ExprPtr expr = conditional();
    if (token.kind != Token::End)
      fail("unexpected '" + token.text + "'");
    return expr;
  }

  Statement statement() {
    Statement result;
    result.location = *location;
    // `a, b = value`: names up to a lone '='. Anything else is an expression.
    size_t saveAt = at;
    Token saveToken = token;
    std::vector<std::string> targets;
    while (token.kind == Token::Name) {
      targets.push_back(token.text);
      advance();
      if (isSymbol("=")) {
        advance();
        for (size_t i = 0; i < targets.size(); ++i)
          for (size_t j = 0; j < i; ++j)
            if (targets[i] == targets[j] && targets[i] != "_")
              fail("'" + targets[i] + "' is assigned twice");
        result.targets = std::move(targets);
        result.value = expression();
        return result;
      }
      if (!isSymbol(","))
        break;
      advance();
    }
    at = saveAt;
    token = saveToken;
    result.value = expression();
    return result;
  }

private:
  [[noreturn]] void fail(const std::string &message) const {
    throw InputError(location->position() + ": " + message + " at character " +
                     std::to_string(token.offset + 1) + ", in '" + text + "'");
  }

  static bool isNameStart(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z' ? true : c == '_'; }
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }

  void advance() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n'))
      ++at;
    token = Token();
    token.offset = uint32_t(at);
    if (at >= text.size()) {
      token.text = "end of text";
      return;
    }
    char c = text[at];
    if (isNameStart(c)) {
      size_t start = at;
      while (at < text.size() && (isNameStart(text[at]) || isDigit(text[at])))
        ++at;
      token.kind = Token::Name;
      token.text = text.substr(start, at - start);
    } else if (isDigit(c)) {
      number();
    } else if (c == '\'' || c == '"') {
      size_t end = text.find(c, at + 1);
      if (end == std::string::npos)
        fail("a text is not closed");
      token.kind = Token::Text;
      token.text = text.substr(at + 1, end - at - 1);
      at = end + 1;
    } else {
      token.kind = Token::Symbol;
      for (std::string_view two : {"??", "||", "&&", "==", "!=", "<=", ">=", "//", "**"})
        if (std::string_view(text).substr(at, 2) == two) {
          token.text = two;
          at += 2;
          return;
        }
      if (std::string_view("?:|&=!<>+-*/%()[],").find(c) == std::string_view::npos)
        fail(std::string("unknown character '") + c + "'");
      token.text = std::string(1, c);
      ++at;
    }
  }

  void number() {
    size_t start = at;
    bool integral = true;
    auto digits = [&] {
      while (at < text.size() && isDigit(text[at]))
        ++at;
    };
    digits();
    if (at + 1 < text.size() && text[at] == '.' && isDigit(text[at + 1])) {
      integral = false;
      ++at;
      digits();
    }
    if (at < text.size() && (text[at] | 32) == 'e') {
      integral = false;
      ++at;
      if (at < text.size() && (text[at] == '-' || text[at] == '+'))
        ++at;
      digits();
    }
    token.kind = Token::Number;
    token.text = text.substr(start, at - start);
    const char *first = text.data() + start, *last = text.data() + at;
    if (integral) {
      int64_t value;
      auto result = std::from_chars(first, last, value);
      if (result.ec != std::errc() || result.ptr != last)
        fail("the integer " + token.text + " is too large");
      token.number = value;
    } else {
      double value;
      auto result = std::from_chars(first, last, value);
      if (result.ec != std::errc() || result.ptr != last)
        fail("'" + token.text + "' is no number");
      token.number = value;
    }
  }

  bool isSymbol(std::string_view symbol) const {
    return token.kind == Token::Symbol && token.text == symbol;
  }
  bool accept(std::string_view symbol) {
    if (!isSymbol(symbol))
      return false;
    advance();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol))
      fail("expected '" + std::string(symbol) + "' instead of '" + token.text + "'");
  }

  std::shared_ptr<Expr> make(Expr::Kind kind, uint32_t offset) {
    auto expr = std::make_shared<Expr>();
    expr->kind = kind;
    expr->location = location;
    expr->offset = offset;
    return expr;
  }

  ExprPtr binary(std::string op, ExprPtr left, ExprPtr right, uint32_t offset) {
    auto expr = make(Expr::Kind::Binary, offset);
    expr->name = std::move(op);
    expr->children = {std::move(left), std::move(right)};
    return expr;
  }

  struct DepthGuard {
    explicit DepthGuard(Parser &parser) : parser(parser) {
      if (++parser.depth > 200)
        parser.fail("nested too deep");
    }
    ~DepthGuard() { --parser.depth; }
    Parser &parser;
  };

  ExprPtr conditional() {
    DepthGuard guard(*this);
    ExprPtr condition = binaryLevel(0);
    if (!isSymbol("?"))
      return condition;
    auto expr = make(Expr::Kind::Conditional, token.offset);
    advance();
    ExprPtr yes = conditional();
    expect(":");
    expr->children = {std::move(condition), std::move(yes), conditional()};
    return expr;
  }

  /// Binary operators from the loosest to the tightest, all but ?? left-associative (for ??
  /// the side does not matter).
  ExprPtr binaryLevel(size_t level) {
    static const std::vector<std::vector<std::string_view>> levels = {{"??"},
                                                                      {"||"},
                                                                      {"&&"},
                                                                      {"==", "!="},
                                                                      {"<", "<=", ">", ">="},
                                                                      {"+", "-"},
                                                                      {"*", "/", "//", "%"}};
    if (level == levels.size())
      return unary();
    ExprPtr left = binaryLevel(level + 1);
    for (;;) {
      bool found = false;
      for (std::string_view op : levels[level])
        found |= isSymbol(op);
      if (!found)
        return left;
      std::string op = token.text;
      uint32_t offset = token.offset;
      advance();
      left = binary(std::move(op), std::move(left), binaryLevel(level + 1), offset);
    }
  }

  ExprPtr unary() {
    DepthGuard guard(*this);
    if (isSymbol("-") || isSymbol("!")) {
      auto expr = make(Expr::Kind::Unary, token.offset);
      expr->name = token.text;
      advance();
      expr->children = {unary()};
      return expr;
    }
    ExprPtr base = postfix();
    if (!isSymbol("**"))
      return base;
    uint32_t offset = token.offset;
    advance();
    return binary("**", std::move(base), unary(), offset);
  }

  ExprPtr postfix() {
    ExprPtr base = primary();
    while (isSymbol("[")) {
      auto expr = make(Expr::Kind::Index, token.offset);
      advance();
      expr->children = {std::move(base), conditional()};
      expect("]");
      base = std::move(expr);
    }
    return base;
  }

  ExprPtr listUntil(std::string_view close, uint32_t offset, ExprPtr first) {
    auto list = make(Expr::Kind::List, offset);
    if (first)
      list->children.push_back(std::move(first));
    while (!isSymbol(close)) {
      list->children.push_back(conditional());
      if (!accept(","))
        break;
    }
    expect(close);
    return list;
  }

  ExprPtr primary() {
    uint32_t offset = token.offset;
    if (token.kind == Token::Number || token.kind == Token::Text) {
      auto expr = make(Expr::Kind::Literal, offset);
      expr->literal = token.kind == Token::Number ? token.number : Value(token.text);
      advance();
      return expr;
    }
    if (token.kind == Token::Name) {
      std::string name = token.text;
      advance();
      if (accept("("))
        return call(std::move(name), offset);
      bool isTrue = name == "true";
      if (isTrue || name == "false" || name == "null") {
        auto expr = make(Expr::Kind::Literal, offset);
        if (name != "null")
          expr->literal = Value(isTrue);
        return expr;
      }
      auto expr = make(Expr::Kind::Name, offset);
      expr->name = std::move(name);
      return expr;
    }
    if (accept("["))
      return listUntil("]", offset, nullptr);
    if (accept("(")) {
      ExprPtr first = conditional();
      if (accept(")"))
        return first;
      expect(",");
      return listUntil(")", offset, std::move(first));
    }
    fail("expected a value instead of '" + token.text + "'");
  }

  ExprPtr call(std::string name, uint32_t offset) {
    auto expr = make(Expr::Kind::Call, offset);
    expr->name = std::move(name);
    while (!isSymbol(")")) {
      // `name: value` is a named argument; a bare name is told apart by its colon.
      if (token.kind == Token::Name) {
        size_t saveAt = at;
        Token saveToken = token;
        advance();
        if (accept(":")) {
          for (const auto &named : expr->named)
            if (named.first == saveToken.text)
              fail("argument '" + saveToken.text + "' is given twice");
          expr->named.emplace_back(saveToken.text, conditional());
          if (!accept(","))
            break;
          continue;
        }
        at = saveAt;
        token = saveToken;
      }
      if (!expr->named.empty())
        fail("a positional argument follows a named one");
      expr->children.push_back(conditional());
      if (!accept(","))
        break;
    }
    expect(")");
    return expr;
  }

  const std::string &text;
  std::shared_ptr<const SourceLocation> location;
  size_t at = 0;
  unsigned depth = 0;
  Token token;
};

} // namespace

/// Trees are walked recursively, and a chain of operators is as deep as it is long.
static void checkLength(const std::string &text, const SourceLocation &location) {
  constexpr size_t most = 4096;
  if (text.size() > most)
    throw InputError(location.position() + ": an expression of " + std::to_string(text.size()) +
                     " characters, the longest allowed has " + std::to_string(most));
}

ExprPtr parseExpression(const std::string &text, const SourceLocation &location) {
  checkLength(text, location);
  return Parser(text, location).expression();
}

Statement parseStatement(const std::string &text, const SourceLocation &location) {
  checkLength(text, location);
  return Parser(text, location).statement();
}

void expressionError(const Expr &expr, const std::string &message) {
  const SourceLocation &at = *expr.location;
  // A value that stands in the message may be long.
  constexpr size_t longest = 1000;
  std::string shown = message.size() <= longest ? message : message.substr(0, longest) + "...";
  throw InputError(at.position() + ": " + shown + " at character " +
                   std::to_string(expr.offset + 1) + ", in '" + at.text + "'");
}

void collectNames(const Expr &expr, std::vector<std::string> &names) {
  if (expr.kind == Expr::Kind::Name || expr.kind == Expr::Kind::Call)
    names.push_back(expr.name);
  for (const ExprPtr &child : expr.children)
    collectNames(*child, names);
  for (const auto &named : expr.named)
    collectNames(*named.second, names);
}

} // namespace llmc::frontend
