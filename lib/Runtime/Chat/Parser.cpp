//===- Parser.cpp - statements of a template ------------------------------===//
#include "Parser.h"

namespace llmc::rt::chat {
namespace {

constexpr unsigned maxBlocks = 100;

class TemplateParser : ExpressionParser {
public:
  explicit TemplateParser(const std::string &source)
      : ExpressionParser(source, tokenize(source)) {}

  Block run() {
    Block block = parseBlock({});
    if (current().kind != Token::Kind::End)
      fail("no tag to be closed is open here");
    return block;
  }

private:
  /// Statements up to `{% word` for one of \p ends, which is not consumed.
  Block parseBlock(std::initializer_list<std::string_view> ends) {
    NestingGuard guard(blocks);
    if (blocks > maxBlocks)
      fail("blocks are nested too deeply");
    Block block;
    while (current().kind != Token::Kind::End) {
      Statement statement{};
      statement.line = current().line;
      if (current().kind == Token::Kind::Data) {
        statement.kind = Statement::Kind::Text;
        statement.text = current().text;
        ++at;
      } else if (current().kind == Token::Kind::VariableBegin) {
        ++at;
        statement.kind = Statement::Kind::Output;
        statement.expr = parseTuple(true);
        if (current().kind != Token::Kind::VariableEnd)
          fail("\"}}\" is expected");
        ++at;
      } else {
        const Token &word = tokens[at + 1];
        if (word.kind == Token::Kind::Name)
          for (std::string_view end : ends)
            if (word.text == end)
              return block;
        if (word.kind == Token::Kind::Name &&
            (word.text.starts_with("end") || word.text == "else" || word.text == "elif")) {
          ++at;
          fail("no tag is open that this one belongs to");
        }
        parseStatement(statement);
      }
      block.push_back(std::move(statement));
    }
    if (ends.size())
      fail("\"{% " + std::string(*(ends.end() - 1)) + " %}\" is expected");
    return block;
  }

  void endTag() {
    if (current().kind != Token::Kind::BlockEnd)
      fail("\"%}\" is expected");
    ++at;
  }

  void closing(std::string_view word) {
    ++at; // {%
    expectName(word);
    endTag();
  }

  void parseStatement(Statement &statement) {
    ++at; // {%
    std::string word = expectAnyName();
    if (word == "if") {
      parseIf(statement);
    } else if (word == "for") {
      parseFor(statement);
    } else if (word == "set") {
      parseSet(statement);
    } else if (word == "macro") {
      statement.kind = Statement::Kind::Macro;
      statement.text = expectAnyName();
      parseParameters(statement);
      parseBody(statement, "endmacro");
    } else if (word == "call") {
      statement.kind = Statement::Kind::Call;
      if (isOperator("("))
        parseParameters(statement);
      statement.expr = parseExpression();
      if (statement.expr->kind != Expr::Kind::Call)
        fail("a call is expected");
      parseBody(statement, "endcall");
    } else if (word == "filter") {
      statement.kind = Statement::Kind::Filter;
      statement.expr = parseFilters();
      parseBody(statement, "endfilter");
    } else if (word == "with") {
      parseWith(statement);
    } else if (word == "generation") {
      statement.kind = Statement::Kind::Scope;
      parseBody(statement, "endgeneration");
    } else if (word == "include" || word == "import" || word == "from" || word == "extends" ||
               word == "block" || word == "autoescape" || word == "do" || word == "trans" ||
               word == "debug") {
      failAt(current().line, unsupported(word),
             std::string_view(source).substr(tokens[at - 2].begin, 40));
    } else if (word == "break" || word == "continue") {
      if (!loops)
        fail("\"" + word + "\" stands outside of a loop");
      statement.kind = word == "break" ? Statement::Kind::Break : Statement::Kind::Continue;
      endTag();
    } else {
      --at;
      fail("a tag that is supported is expected (if, for, set, macro, call, filter, with, raw, "
           "generation, break, continue)");
    }
  }

  /// Why a tag of Jinja is refused.
  static std::string unsupported(const std::string &word) {
    if (word == "do" || word == "trans" || word == "debug")
      return "\"" + word + "\" is an extension of Jinja that chat templates do not have";
    if (word == "autoescape")
      return "\"autoescape\" is not supported: chat templates are no HTML";
    return "\"" + word + "\" is not supported: a chat template is one file";
  }

  void parseBody(Statement &statement, std::string_view end) {
    endTag();
    bool outerVarargs = std::exchange(sawVarargs, false);
    bool outerKwargs = std::exchange(sawKwargs, false);
    bool outerCaller = std::exchange(sawCaller, false);
    // A loop does not reach into a macro within it.
    unsigned outer = statement.kind == Statement::Kind::Macro ||
                             statement.kind == Statement::Kind::Call
                         ? std::exchange(loops, 0)
                         : loops;
    statement.body = parseBlock({end});
    loops = outer;
    statement.usesVarargs = sawVarargs;
    statement.usesKwargs = sawKwargs;
    statement.usesCaller = sawCaller;
    sawVarargs |= outerVarargs;
    sawKwargs |= outerKwargs;
    sawCaller |= outerCaller;
    closing(end);
  }

  void parseIf(Statement &statement) {
    statement.kind = Statement::Kind::If;
    ExprPtr condition = parseTuple(true);
    while (true) {
      endTag();
      Block body = parseBlock({"elif", "else", "endif"});
      statement.branches.emplace_back(std::move(condition), std::move(body));
      ++at; // {%
      if (acceptName("elif")) {
        condition = parseTuple(true);
        continue;
      }
      if (acceptName("else")) {
        endTag();
        statement.branches.emplace_back(nullptr, parseBlock({"endif"}));
        ++at; // {%
      }
      expectName("endif");
      return endTag();
    }
  }

  void parseFor(Statement &statement) {
    statement.kind = Statement::Kind::For;
    statement.target = parseTarget();
    if (!statement.target.attribute.empty())
      fail("a loop needs a plain name");
    expectName("in");
    statement.expr = parseWithoutCondition();
    if (acceptName("if"))
      statement.condition = parseExpression();
    statement.recursive = acceptName("recursive");
    endTag();
    ++loops;
    statement.body = parseBlock({"else", "endfor"});
    --loops;
    ++at; // {%
    if (acceptName("else")) {
      endTag();
      statement.otherwise = parseBlock({"endfor"});
      ++at; // {%
    }
    expectName("endfor");
    endTag();
  }

  void parseSet(Statement &statement) {
    statement.target = parseTarget();
    if (acceptOperator("=")) {
      statement.kind = Statement::Kind::Set;
      statement.expr = parseTuple(true);
      return endTag();
    }
    statement.kind = Statement::Kind::SetBlock;
    if (!statement.target.parts.empty())
      fail("\"=\" is expected");
    if (acceptOperator("|"))
      statement.expr = parseFilters();
    parseBody(statement, "endset");
  }

  void parseWith(Statement &statement) {
    statement.kind = Statement::Kind::With;
    while (current().kind != Token::Kind::BlockEnd) {
      Parameter parameter;
      parameter.name = expectAnyName();
      expectOperator("=");
      parameter.fallback = parseExpression();
      statement.parameters.push_back(std::move(parameter));
      if (!acceptOperator(","))
        break;
    }
    parseBody(statement, "endwith");
  }

  void parseParameters(Statement &statement) {
    expectOperator("(");
    while (!acceptOperator(")")) {
      Parameter parameter;
      parameter.name = expectAnyName();
      if (acceptOperator("="))
        parameter.fallback = parseExpression();
      else if (!statement.parameters.empty() && statement.parameters.back().fallback)
        fail("a parameter without a default follows one with a default");
      statement.parameters.push_back(std::move(parameter));
      if (!isOperator(")"))
        expectOperator(",");
    }
  }

  /// `name(arguments) | name ...`: a chain whose operand is an empty literal,
  /// which the interpreter replaces by the text of the block.
  ExprPtr parseFilters() {
    ExprPtr filter = make(Expr::Kind::Filter, current().begin);
    filter->name = expectAnyName();
    filter->operands.push_back(finish(make(Expr::Kind::Name, current().begin)));
    if (isOperator("("))
      parseArguments(*filter);
    return parseFilterChain(finish(std::move(filter)));
  }

  unsigned blocks = 0;
  unsigned loops = 0;
};

} // namespace

Block parse(const std::string &source) { return TemplateParser(source).run(); }

} // namespace llmc::rt::chat
