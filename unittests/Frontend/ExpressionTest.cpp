//===- ExpressionTest.cpp - the expression language -----------------------===//
#include "llmc/Frontend/Expression.h"
#include "TestFiles.h"
#include "llmc/Frontend/OpHooks.h"

#include <map>

using namespace llmc;
using namespace llmc::frontend;
using testing::HasSubstr;

namespace {

class Names : public EvalContext {
public:
  std::map<std::string, Value> values = {{"a", 7},
                                         {"none", Value()},
                                         {"x", Handle{1}},
                                         {"y", Handle{2}},
                                         {"list", ValueList{1, 2, "three"}}};
  std::vector<std::string> calls;

  Value lookup(const Expr &expr) override {
    auto it = values.find(expr.name);
    return it == values.end() ? Value(Value::Absent{expr.name}) : it->second;
  }
  Value call(const Expr &expr, ValueList args,
             std::vector<std::pair<std::string, Value>> named) override {
    std::string text = expr.name + "(";
    for (const Value &arg : args)
      text += arg.toText() + ",";
    for (const auto &[name, value] : named)
      text += name + ":" + value.toText() + ",";
    calls.push_back(text + ")");
    return 99;
  }
};

Value eval(const std::string &text) {
  Names names;
  return evaluate(*parseExpression(text, {"f.jsonc", 3, 5, {}}), names);
}

} // namespace

TEST(Expression, Arithmetic) {
  EXPECT_EQ(eval("1 + 2 * 3"), Value(7));
  EXPECT_EQ(eval("(1 + 2) * 3"), Value(9));
  EXPECT_EQ(eval("10 - 4 - 3"), Value(3));
  EXPECT_EQ(eval("6 / 3"), Value(2));
  EXPECT_EQ(eval("7 / 2"), Value(3.5));
  EXPECT_EQ(eval("7 // 2"), Value(3));
  EXPECT_EQ(eval("-7 // 2"), Value(-4));
  EXPECT_EQ(eval("-7 % 3"), Value(2));
  EXPECT_EQ(eval("2 ** 10"), Value(1024));
  EXPECT_EQ(eval("-2 ** 2"), Value(-4));
  EXPECT_EQ(eval("2 ** 3 ** 2"), Value(512));
  EXPECT_EQ(eval("16 ** -0.5"), Value(0.25));
  EXPECT_EQ(eval("4 ** -1"), Value(0.25));
  EXPECT_EQ(eval("(-1) ** 1000001"), Value(-1));
  EXPECT_EQ(eval("1e-5 * 2"), Value(2e-5));
}

TEST(Expression, LogicAndChoice) {
  EXPECT_EQ(eval("1 < 2 && !(2 >= 3)"), Value(true));
  EXPECT_EQ(eval("true || missing"), Value(true));
  EXPECT_EQ(eval("false && missing"), Value(false));
  EXPECT_EQ(eval("a == 7 ? 'yes' : 'no'"), Value("yes"));
  EXPECT_EQ(eval("1 == 1.0"), Value(true));
  EXPECT_EQ(eval("none == null"), Value(true));
  EXPECT_EQ(eval("a == null"), Value(false));
  EXPECT_EQ(eval("false ? 1 : true ? 2 : 3"), Value(2));
  EXPECT_EQ(eval("[1, 'x'] == [1, 'x']"), Value(true));
}

TEST(Expression, NullAbsentAndDefaultDiffer) {
  EXPECT_EQ(eval("none ?? 5"), Value(5));
  EXPECT_EQ(eval("missing ?? 5"), Value(5));
  EXPECT_EQ(eval("a ?? 5"), Value(7));
  EXPECT_EQ(eval("default(missing, 5)"), Value(5));
  EXPECT_EQ(eval("default(none, 5)"), Value());
  EXPECT_EQ(eval("present(none)"), Value(true));
  EXPECT_EQ(eval("present(missing)"), Value(false));
  EXPECT_INPUT_ERROR(eval("missing + 1"), HasSubstr("'missing'"), HasSubstr("f.jsonc:3:5"));
}

TEST(Expression, ListsAndFunctions) {
  EXPECT_EQ(eval("len(list)"), Value(3));
  EXPECT_EQ(eval("list[2]"), Value("three"));
  EXPECT_EQ(eval("[[1, 2], [3]][0][1]"), Value(2));
  EXPECT_EQ(eval("(1, 2)"), Value(ValueList{1, 2}));
  EXPECT_EQ(eval("min(3, 2.5)"), Value(2.5));
  EXPECT_EQ(eval("max([3, 8, 1])"), Value(8));
  EXPECT_EQ(eval("contains(list, 'three')"), Value(true));
  EXPECT_EQ(eval("index_of(list, 2)"), Value(1));
  EXPECT_EQ(eval("floor(2.7) + ceil(2.2) + int(-2.7)"), Value(3));
  EXPECT_EQ(eval("sqrt(16)"), Value(4.0));
  EXPECT_EQ(eval("abs(-3)"), Value(3));
}

TEST(Expression, CallsAndTensors) {
  Names names;
  evaluate(*parseExpression("attend(x, y, 'paged', window: none, scale: 2 ** -1)", {}), names);
  evaluate(*parseExpression("x + y", {}), names);
  evaluate(*parseExpression("2 * x", {}), names);
  EXPECT_THAT(names.calls, testing::ElementsAre("attend(%1,%2,'paged',window:null,scale:0.5,)",
                                                "+(%1,%2,)", "*(2,%1,)"));
}

TEST(Expression, Statements) {
  Statement tuple = parseStatement("q, k = f(x)", {});
  EXPECT_THAT(tuple.targets, testing::ElementsAre("q", "k"));
  EXPECT_EQ(tuple.value->kind, Expr::Kind::Call);
  EXPECT_TRUE(parseStatement("f(x)", {}).targets.empty());
  EXPECT_TRUE(parseStatement("a == b", {}).targets.empty());
  EXPECT_INPUT_ERROR(parseStatement("a, a = f(x)", {}), HasSubstr("twice"));
}

TEST(Expression, ErrorsPointAtTheText) {
  auto refuses = [](const std::string &text, const std::string &word) {
    EXPECT_INPUT_ERROR(eval(text), HasSubstr("f.jsonc:3:5"), HasSubstr("in '" + text + "'"),
                       HasSubstr(word));
  };
  refuses("1 +", "end of text");
  refuses("1 2", "unexpected '2'");
  refuses("f(a: 1, 2)", "positional");
  refuses("f(a: 1, a: 2)", "twice");
  refuses("'open", "not closed");
  refuses("a # b", "unknown character");
  refuses("1 / 0", "no value");
  refuses("9223372036854775807 + 1", "64 bits");
  refuses("9223372036854775807 * 2", "64 bits");
  refuses("3 ** 100", "64 bits");
  refuses("99999999999999999999", "too large");
  refuses("'x' + 1", "number");
  refuses("1 ? 2 : 3", "boolean");
  refuses("1 && true", "boolean");
  refuses("'x' == 1", "compares");
  refuses("list[3]", "outside");
  refuses("list['x']", "indexing");
  refuses("len(1)", "list");
  refuses("min()", "arguments");
  refuses("sqrt(-1)", "negative");
  refuses("error('because')", "because");
  refuses("10.0 ** 400", "finite");
  refuses(std::string(1000, '('), "deep");
}

TEST(Expression, ValueTextsAreDistinct) {
  EXPECT_EQ(Value(1).toText(), "1");
  EXPECT_EQ(Value(1.0).toText(), "1.0");
  EXPECT_EQ(Value("1").toText(), "'1'");
}

TEST(Expression, LayerNames) {
  EXPECT_EQ(expandLayerName("blk.{i}.x", 4), "blk.4.x");
  EXPECT_EQ(expandLayerName("hidden.{i+1}", 4), "hidden.5");
  EXPECT_EQ(expandLayerName("{i}.{i}", 2), "2.2");
  EXPECT_EQ(expandLayerName("plain{", 2), "plain{");
}

TEST(Expression, ListsObjectsAndQuantiles) {
  EXPECT_EQ(eval("last_index_of(['a', 'b', 'a', 'b'], 'a', 4)"), Value(2));
  EXPECT_EQ(eval("last_index_of(['a', 'b', 'a', 'b'], 'a', 2)"), Value(0));
  EXPECT_EQ(eval("last_index_of(['a'], 'b', 1)"), Value());
  EXPECT_EQ(eval("is_list([1])"), Value(true));
  EXPECT_EQ(eval("is_list(1)"), Value(false));
  EXPECT_EQ(eval("entry('{\"2\": {\"n\": 5}}', 2, 'n')"), Value(5));
  EXPECT_EQ(eval("entry('{\"2\": {\"n\": 5}}', 3, 'n')"), Value());
  EXPECT_EQ(eval("entry(null, 3, 'n')"), Value());
  EXPECT_EQ(eval("only_fields('{\"2\": {\"n\": 5}}', ['n', 'm'])"), Value(true));
  EXPECT_EQ(eval("only_fields('{\"2\": {\"n\": 5}}', ['m'])"), Value(false));
  EXPECT_THAT([] { eval("entry('text', 1)"); },
              testing::ThrowsMessage<InputError>(HasSubstr("needs an object")));
  // The quantiles of tables.
  EXPECT_NEAR(eval("normal_quantile(0.95)").asDouble(), 1.6448536269514722, 1e-14);
  EXPECT_NEAR(eval("normal_quantile(0.5)").asDouble(), 0, 1e-15);
  EXPECT_NEAR(eval("normal_quantile(0.001)").asDouble(), -3.090232306167813, 1e-13);
  EXPECT_THAT([] { eval("normal_quantile(1)"); },
              testing::ThrowsMessage<InputError>(HasSubstr("needs a number between 0 and 1")));
}
