//===- PlanTrafficTest.cpp - bytes of launches, counted by hand -----------===//

#include "PlanTraffic.h"
#include "llmc/Pipelines/ModelContext.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace llmc;
using namespace mlir;

namespace {

constexpr llvm::StringLiteral head = R"mlir(
plan.program producer(<name = "llmc", version = "0", toolchain = "t">)
    model(<name = "m", architecture = "a", description = "d", vocab_size = 100, hidden_size = 16,
           layers = 3, context_length = 512, parameters = 1>)
    target(<device = "cpu", triple = "x">)
    limits(<max_tokens = 64, max_sequences = 4, max_context = 512, block_tokens = 16, blocks = 128,
            max_outputs = 4>) ranks(1) {
  plan.arena @act kind activations
  plan.arena @w kind weights file "weights.bin"
  plan.arena @pool kind state
  plan.slice @x in @act size(tokens * 64)
  plan.slice @y in @act size(tokens * 128)
  plan.slice @logits in @act size(outputs * 400)
  plan.weights @table in @w rows 100 cols 16 storage f32 layout #plan.rows bytes 6400
      sources [#plan.source<"table", rows = 100>]
  plan.weights @experts in @w layers <0 to 3> rows 16 cols 16 matrices 8 storage f32
      layout #plan.panels<tile = 1> bytes 8192 sources [#plan.source<"e", rows = 16>]
  plan.weights @norm in @w rows 16 cols 1 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"n", rows = 16>]
  plan.state @kv in @pool layers <0 to 3> kind paged heads 1 key_width 4 value_width 4 element f32
      bytes_per_block 512
  plan.state @delta in @pool layers <0 to 3> kind recurrent heads 1 key_width 4 value_width 4
      element f32 bytes_per_sequence 64
)mlir";

class PlanTraffic : public testing::Test {
protected:
  /// A plan of these kernels and steps.
  StepTraffic of(llvm::StringRef rest, const TrafficStep &step) {
    module = parseSourceString<ModuleOp>((head + rest + "\n}").str(), context.get());
    EXPECT_TRUE(module);
    if (!module)
      return {};
    return trafficOf(*module->getOps<plan::ProgramOp>().begin(), step);
  }

  std::unique_ptr<MLIRContext> context = makeModelContext();
  OwningOpRef<ModuleOp> module;
};

TEST_F(PlanTraffic, TablesGiveRowsAndOutputsTakeTheirs) {
  constexpr llvm::StringLiteral text = R"mlir(
  plan.kernel @embed symbol "embed" generator "embedding" scratch 0 tokens_below 100
  plan.kernel @select symbol "select" generator "rows" scratch 0
  plan.kernel @head symbol "head" generator "linear" scratch 0
  plan.entry @forward {
    plan.launch @embed [#plan.use<@table, read>, #plan.use<@x, write>] items <1, tokens>
    plan.launch @select [#plan.use<@x, readwrite>] items <1, outputs>
    plan.launch @head [#plan.use<@x, read>, #plan.use<@table, read>, #plan.use<@logits, write>]
        items <1, outputs>
    plan.output "logits" slice @logits rows outputs width 100 element f32
  })mlir";
  StepTraffic step = of(text, {10, 0, 2});
  ASSERT_EQ(step.launches.size(), 3u);
  EXPECT_EQ(step.launches[0].bytes.weights, 640);
  EXPECT_EQ(step.launches[0].bytes.rows, 640);
  EXPECT_EQ(step.launches[0].bytes.ids, 40);
  EXPECT_EQ(step.launches[1].bytes.rows, 2 * 2 * 64);
  EXPECT_EQ(step.launches[2].bytes.rows, 2 * 64 + 2 * 400);
  EXPECT_EQ(step.launches[2].bytes.weights, 6400);
  EXPECT_EQ(step.moved.weights, 7040);
  // The table once, as a whole; of the rows the logits.
  EXPECT_EQ(step.least.weights, 6400);
  EXPECT_EQ(step.least.rows, 800);
  EXPECT_EQ(step.least.ids, 40);
  EXPECT_EQ(step.launchesPerStep(), 3);
}

TEST_F(PlanTraffic, ExpertsAreThoseReached) {
  constexpr llvm::StringLiteral text = R"mlir(
  plan.kernel @up symbol "up" generator "expert-linear" scratch 0
      {plan.config = {experts = 8 : i64, chosen = 2 : i64}}
  plan.entry @forward {
    plan.repeat from 0 count 3 period 1 {
      plan.launch @up [#plan.use<@x, read>, #plan.use<@experts, read, layer = 0>,
                       #plan.use<@y, write>] items <1, one>
    }
  })mlir";
  // One token reaches two of eight: 8 * (1 - (7/8)^2) on average over draws that may repeat.
  StepTraffic one = of(text, {1, 0, 1});
  double reached = 8 * (1 - std::pow(7.0 / 8, 2));
  EXPECT_NEAR(one.launches[0].bytes.weights, 1024 * reached, 1e-9);
  EXPECT_NEAR(one.least.weights, 3 * 1024 * reached, 1e-9);
  EXPECT_NEAR(of(text, {500, 0, 1}).moved.weights, 3 * 8192, 1e-6);
}

TEST_F(PlanTraffic, PagedStateIsReadAsFarAsTokensSee) {
  constexpr llvm::StringLiteral text = R"mlir(
  plan.kernel @append symbol "append" generator "attention-prologue" scratch 0
  plan.kernel @full symbol "full" generator "paged-attention" scratch 0
  plan.kernel @window symbol "window" generator "paged-attention" scratch 0
      {plan.config = {window = 8 : i64}}
  plan.kernel @chunk symbol "chunk" generator "paged-attention" scratch 0
      {plan.config = {chunk = 16 : i64}}
  plan.kernel @top symbol "top" generator "paged-attention" scratch 0
      {plan.config = {selected = 4 : i64}}
  plan.entry @forward {
    plan.repeat from 0 count 2 period 1 {
      plan.launch @append [#plan.use<@x, read>, #plan.use<@kv, readwrite, layer = 0>] items <1, tokens>
      plan.launch @full [#plan.use<@kv, read, layer = 0>, #plan.use<@y, write>] items <1, tokens>
      plan.launch @window [#plan.use<@kv, read, layer = 0>, #plan.use<@y, write>] items <1, tokens>
      plan.launch @chunk [#plan.use<@kv, read, layer = 0>, #plan.use<@y, write>] items <1, tokens>
      plan.launch @top [#plan.use<@kv, read, layer = 0>, #plan.use<@y, write>] items <1, tokens>
      plan.launch @full [#plan.use<@kv, read fixed = 1>, #plan.use<@y, write>] items <1, tokens>
    }
  })mlir";
  // A position is 512 / 16 bytes.
  StepTraffic step = of(text, {3, 20, 1});
  ASSERT_EQ(step.launches.size(), 6u);
  EXPECT_EQ(step.launches[0].bytes.state, 3 * 32);
  EXPECT_EQ(step.launches[1].bytes.state, 23 * 32);
  EXPECT_EQ(step.launches[2].bytes.state, 10 * 32); // 13 to 22
  EXPECT_EQ(step.launches[3].bytes.state, 7 * 32);  // 16 to 22
  EXPECT_EQ(step.launches[4].bytes.state, 12 * 32); // 4 for each token
  // Two layers, each read once as far as any launch does and added to; what is read of another
  // layer is counted with that one.
  EXPECT_EQ(step.least.state, 2 * (23 + 3) * 32);
}

TEST_F(PlanTraffic, SlotsGoBothWaysAndConstantsOnce) {
  constexpr llvm::StringLiteral text = R"mlir(
  plan.kernel @delta_k symbol "delta" generator "linear-attention" scratch 0
  plan.entry @forward {
    plan.repeat from 0 count 3 period 1 {
      plan.launch @delta_k [#plan.use<@x, read>, #plan.use<@delta, readwrite, layer = 0>,
                            #plan.use<@norm, read>, #plan.use<@y, write>] items <1, sequences>
          {plan.layer_kind = "decoder", plan.touched_columns = array<i64: 10, 0, -1, -1, -1, -1, 0, 5>}
    }
  })mlir";
  StepTraffic step = of(text, {2, 7, 1});
  EXPECT_EQ(step.launches[0].kind, "decoder");
  EXPECT_EQ(step.launches[0].runs, 3);
  EXPECT_EQ(step.launches[0].bytes.state, 2 * 64);
  // Ten columns read and five written, of two rows.
  EXPECT_EQ(step.launches[0].bytes.rows, 2 * 4 * (10 + 5));
  EXPECT_EQ(step.moved.state, 3 * 2 * 64);
  EXPECT_EQ(step.least.state, 3 * 2 * 64);
  EXPECT_EQ(step.moved.weights, 3 * 64);
  EXPECT_EQ(step.least.weights, 64);
}

} // namespace
