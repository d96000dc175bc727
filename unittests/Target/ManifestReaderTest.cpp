//===- ManifestReaderTest.cpp - what is written, the runtime reads --------===//
//
// Compiler and runtime share no code for the manifest. This is where the writer
// of the one and the reader of the other meet.
//
//===----------------------------------------------------------------------===//

#include "llmc/Dialect/Plan/Transforms/Passes.h"
#include "llmc/Runtime/Manifest.h"
#include "llmc/Target/Manifest/Manifest.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

namespace {

constexpr const char *program = R"mlir(
plan.program producer(<name = "llmc", version = "0.1.0", toolchain = "test">)
    model(<name = "m", architecture = "a", description = "d", vocab_size = 8, hidden_size = 4,
           layers = 2, context_length = 8, parameters = 1>)
    target(<device = "cpu", triple = "x86_64-unknown-linux-gnu">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2,
            max_outputs = 2>)
    accepted [#plan.accepted<"a", "b">] {
  plan.file "kernels.so" bytes 1
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  plan.file "w.bin" bytes 384
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  plan.arena @act kind activations
  plan.arena @w kind weights file "w.bin"
  plan.arena @pool kind state
  plan.arena @ws kind workspace
  plan.slice @x in @act size(tokens * 16)
  plan.slice @t in @act size(tokens * 16)
  plan.slice @y in @act size(outputs * 32)
  plan.weights @l in @w layers <0 to 2> rows 4 cols 1 storage f32 layout #plan.panels<tile = 2>
      bytes 128 sources [#plan.source<"l.{i}", rows = 2, name = "p">, #plan.source<zeros, rows = 2>]
  plan.weights @n in @w rows 4 cols 4 storage bf16 layout #plan.rows bytes 64
      sources [#plan.source<"n", rows = 4>]
  plan.weights @c in @w rows 2 cols 1 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<values [0.1, -2.0], rows = 2>]
  plan.state @kv in @pool layers <0 to 2> kind paged heads 1 key_width 2 value_width 2 element f32
      bytes_per_block 64
  plan.variant @avx2 suffix "_avx2" requires ["avx2", "fma"]
  plan.kernel @k symbol "k" generator "g" scratch 100
  plan.entry @forward {
    plan.launch @k [#plan.use<@x, write>, #plan.use<@n, read>] items <1, tokens tile 4 plus 1>
    plan.repeat from 0 count 2 period 1 {
      plan.launch @k [#plan.use<@x, read>, #plan.use<@t, write>, #plan.use<@l, read, layer = 0>,
                      #plan.use<@kv, readwrite, layer = 0>] items <3, one> remark "why"
      plan.launch @k [#plan.use<@x, readwrite>, #plan.use<@t, read>] items <1, one>
      plan.observe "layers.{i}.out" slice @x rows tokens width 4 layer 0
    }
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>, #plan.use<@c, read>]
        items <1, outputs>
    plan.output "logits" slice @y rows outputs width 8 element f32
  }
}
)mlir";

TEST(ManifestReaderTest, ReadsWhatTheCompilerWrites) {
  mlir::MLIRContext context;
  context.loadDialect<llmc::plan::PlanDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program, &context);
  ASSERT_TRUE(module);
  mlir::PassManager passes(&context);
  auto &nested = passes.nest<llmc::plan::ProgramOp>();
  nested.addPass(llmc::plan::createAssignLivenessPass());
  nested.addPass(llmc::plan::createPackArenasPass());
  nested.addPass(llmc::plan::createDeriveContractsPass());
  nested.addPass(llmc::plan::createVerifyPass());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  auto text = llmc::plan::exportManifest(*module->getOps<llmc::plan::ProgramOp>().begin());
  ASSERT_TRUE(succeeded(text));

  // Throws, with the path, where the two disagree, also about the digest.
  llmc::rt::Manifest manifest =
      llmc::rt::parseManifest(*text, "manifest.json", llmc::rt::Seal::Checked);

  // One contract for each form of the launches of @k.
  ASSERT_EQ(manifest.kernels[0].contracts.size(), 4u);
  EXPECT_EQ(manifest.kernels[0].contracts[0].items.plus, 1);
  EXPECT_EQ(manifest.kernels[0].contracts[1].operands[3].bytes.blocks, 64);

  EXPECT_EQ(manifest.limits.maxOutputs, 2);
  ASSERT_EQ(manifest.arenas.size(), 4u);
  // x and t are live together, 128 bytes each; y takes the place of t.
  EXPECT_EQ(manifest.arenas[0].size.constant, 256);
  // Two members of 128 bytes, then 64 and 64.
  EXPECT_EQ(manifest.arenas[1].size.constant, 384);
  EXPECT_EQ(manifest.arenas[2].size.blocks, 128);
  EXPECT_EQ(manifest.arenas[3].size.threads, 128);
  ASSERT_EQ(manifest.slices.size(), 3u);
  EXPECT_EQ(manifest.slices[0].liveFirst, 0);
  EXPECT_EQ(manifest.slices[0].liveLast, 4);
  EXPECT_EQ(manifest.slices[1].liveFirst, 1);
  EXPECT_EQ(manifest.slices[1].liveLast, 2);
  EXPECT_EQ(manifest.slices[2].offset, manifest.slices[1].offset);
  ASSERT_EQ(manifest.weights.size(), 3u);
  EXPECT_EQ(manifest.weights[1].base, 256);
  EXPECT_TRUE(manifest.weights[0].sources[1].zeros);
  EXPECT_EQ(manifest.weights[2].sources[0].values, (std::vector<float>{0.1f, -2.0f}));
  ASSERT_EQ(manifest.entries.size(), 1u);
  ASSERT_EQ(manifest.entries[0].steps.size(), 3u);
  EXPECT_EQ(manifest.entries[0].steps[1].steps[0].remark, "why");
  EXPECT_EQ(manifest.entries[0].steps[0].items.tile, 4);
  EXPECT_EQ(manifest.entries[0].steps[0].items.plus, 1);
  ASSERT_EQ(manifest.accepted.size(), 1u);
}

} // namespace
