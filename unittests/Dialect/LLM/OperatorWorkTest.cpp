//===- OperatorWorkTest.cpp - multiply-adds and bytes of operations --------===//
//
// The expected numbers are counted by hand from shapes.
//
//===----------------------------------------------------------------------===//
#include "llmc/Dialect/LLM/Analysis/OperatorWork.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmc::llm;

namespace {

class Work : public testing::Test {
protected:
  Work() { context.loadDialect<LLMDialect, func::FuncDialect>(); }

  /// The last operator of a function with these arguments and this body.
  Operation *last(const std::string &arguments, const std::string &body) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(" + arguments + ") { " + body + "\n return }", &context);
    Operation *found = nullptr;
    if (module)
      module->walk([&](Operation *op) {
        if (isOperator(op))
          found = op;
      });
    EXPECT_TRUE(found) << body;
    return found;
  }
  std::string fact(Operation *op, StringRef name) {
    for (auto &[key, value] : operatorFacts(op))
      if (key == name)
        return value;
    return "";
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr StepShape prompt{.tokens = 10, .past = 0, .outputs = 1};
constexpr StepShape token{.tokens = 1, .past = 99, .outputs = 1};

TEST_F(Work, ProductReadsItsWeightOnce) {
  Operation *op = last("%x: tensor<?x64xf32>, %w: !llm.weight<[32, 64], #llm.dense<bf16>>",
                       "%y = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[32, 64], "
                       "#llm.dense<bf16>> -> tensor<?x32xf32>");
  OperatorWork work = workOf(op, prompt);
  EXPECT_EQ(work.multiplyAdds, 10 * 32 * 64);
  EXPECT_EQ(work.weightBytes, 32 * 64 * 2);
  EXPECT_EQ(work.rowBytes, 10 * (64 + 32) * 2);
  EXPECT_EQ(work.stateBytes, 0);
  EXPECT_EQ(fact(op, "storage"), "bf16");
  EXPECT_EQ(fact(op, "in"), "64");
  EXPECT_EQ(fact(op, "out"), "32");
}

TEST_F(Work, OnlyWantedRowsReachTheHead) {
  Operation *op =
      last("%x: tensor<?x64xf32>, %w: !llm.weight<[100, 64], #llm.dense<f32>>, %b: !llm.batch",
           "%s = llm.select_rows %x, %b : tensor<?x64xf32>\n"
           "%y = llm.output_head %s, %w : tensor<?x64xf32>, !llm.weight<[100, 64], "
           "#llm.dense<f32>> -> tensor<?x100xf32>");
  EXPECT_EQ(workOf(op, prompt).multiplyAdds, 100 * 64);
  StepShape all = prompt;
  all.outputs = 10;
  EXPECT_EQ(workOf(op, all).multiplyAdds, 10 * 100 * 64);
}

TEST_F(Work, LookupsReadRowsAlone) {
  Operation *op = last("%t: tensor<?xi32>, %w: !llm.weight<[100, 64], #llm.dense<f32>>",
                       "%y = llm.embedding %t, %w : tensor<?xi32>, !llm.weight<[100, 64], "
                       "#llm.dense<f32>> -> tensor<?x64xf32>");
  EXPECT_EQ(workOf(op, prompt).weightBytes, 10 * 64 * 4);
  EXPECT_EQ(workOf(op, prompt).multiplyAdds, 0);
}

std::string attention(const std::string &options) {
  return "%y = llm.paged_attention %q, %c, %b scale 1.0 " + options +
         " : tensor<?x8x16xf32>, !llm.cache<paged, [2, 16, 4], f32> -> tensor<?x8x4xf32>";
}
constexpr const char *attentionArguments =
    "%q: tensor<?x8x16xf32>, %c: !llm.cache<paged, [2, 16, 4], f32>, %b: !llm.batch";

TEST_F(Work, AttentionIsCausal) {
  Operation *op = last(attentionArguments, attention(""));
  // 1 + 2 + ... + 10 pairs, 8 heads, 16 + 4 channels.
  EXPECT_EQ(workOf(op, prompt).multiplyAdds, 55 * 8 * 20);
  EXPECT_EQ(workOf(op, prompt).stateBytes, 10 * 2 * 20 * 2);
  EXPECT_EQ(workOf(op, token).multiplyAdds, 100 * 8 * 20);
  EXPECT_EQ(workOf(op, token).stateBytes, 100 * 2 * 20 * 2);
  EXPECT_EQ(fact(op, "kv_heads"), "2");
  EXPECT_EQ(fact(op, "key_width"), "16");
  EXPECT_EQ(fact(op, "value_width"), "4");
  EXPECT_EQ(fact(op, "window"), "");
}

TEST_F(Work, WindowsBoundIt) {
  Operation *op = last(attentionArguments, attention("window 4"));
  // 1 + 2 + 3 + 4 * 7 pairs.
  EXPECT_EQ(workOf(op, prompt).multiplyAdds, 34 * 8 * 20);
  EXPECT_EQ(workOf(op, token).multiplyAdds, 4 * 8 * 20);
  EXPECT_EQ(workOf(op, token).stateBytes, 4 * 2 * 20 * 2);
  EXPECT_EQ(fact(op, "window"), "4");
}

TEST_F(Work, ExpertsThatAreChosenAreRead) {
  Operation *op = last(
      "%x: tensor<?x64xf32>, %l: tensor<?x8xf32>, %w: !llm.weight<[8, 32, 64], #llm.dense<f32>>",
      "%c, %s = llm.route softmax %l top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, "
      "tensor<?x2xf32>)\n"
      "%y = llm.expert_linear %x, %c, %w : (tensor<?x64xf32>, tensor<?x2xi32>, "
      "!llm.weight<[8, 32, 64], #llm.dense<f32>>) -> tensor<?x2x32xf32>");
  EXPECT_EQ(workOf(op, prompt).multiplyAdds, 10 * 2 * 32 * 64);
  // Of 8 experts, 2 random choices reach 1 + 7/8.
  EXPECT_NEAR(workOf(op, token).weightBytes, (1 + 7.0 / 8) * 32 * 64 * 4, 1e-6);
  EXPECT_LE(workOf(op, prompt).weightBytes, 8 * 32 * 64 * 4);
  EXPECT_EQ(fact(op, "experts"), "8");
}

TEST_F(Work, ViewsCostNothing) {
  module = parseSourceString<ModuleOp>(
      "func.func @f(%x: tensor<?x64xf32>) { %y = llm.split_heads %x : tensor<?x64xf32> -> "
      "tensor<?x4x16xf32>\n return }",
      &context);
  module->walk([&](SplitHeadsOp op) {
    EXPECT_FALSE(isOperator(op));
    EXPECT_EQ(workOf(op, prompt).bytes(), 0);
  });
}

} // namespace
