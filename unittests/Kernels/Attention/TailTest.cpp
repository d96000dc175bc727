//===- TailTest.cpp - what an attention does with its heads ---------------===//
#include "PagedBatch.h"

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

AttentionSpec makeSpec(int64_t heads, int64_t kvHeads, int64_t keyWidth, int64_t valueWidth) {
  AttentionSpec spec;
  spec.heads = heads;
  spec.state = {kvHeads, keyWidth, valueWidth, 32};
  spec.scale = 0.3f;
  spec.itemHeads = attentionItemHeads(heads, kvHeads);
  spec.qStride = heads * keyWidth;
  spec.outStride = heads * spec.valueWidth();
  return spec;
}

/// The heads of an attention's result in `out`, as an operand.
RowOperand headsOf(const AttentionSpec &spec, unsigned operand) {
  return {operand, spec.outStride, spec.outOffset, spec.valueWidth()};
}

/// What a test computes behind an attention; `first` is the operand of the gates, the next that of
/// one number a head, the one after that of a norm's scale.
using Build = RowProgram::Node (*)(RowProgram &, RowProgram::Node attended, const AttentionSpec &,
                                   unsigned first);

RowProgram program(const AttentionSpec &spec, Build build, unsigned heads, unsigned first) {
  RowProgram result(spec.valueWidth(), spec.heads);
  RowProgram::Node attended = result.input(headsOf(spec, heads));
  result.output(build(result, attended, spec, first), headsOf(spec, heads));
  return result;
}

RowProgram::Node gate(RowProgram &p, RowProgram::Node x, const AttentionSpec &spec,
                      unsigned first) {
  // The second half of heads that are twice as wide.
  int64_t width = spec.valueWidth();
  RowProgram::Node g = p.input({first, spec.heads * 2 * width, width, 2 * width});
  return p.gate(Activation::Sigmoid, g, x);
}

RowProgram::Node scaled(RowProgram &p, RowProgram::Node x, const AttentionSpec &spec,
                        unsigned first) {
  RowOperand one{first + 1, spec.heads, 0, 1};
  one.scalar = true;
  return p.mul(x, p.activate(Activation::Softplus, p.input(one)));
}

RowProgram::Node normed(RowProgram &p, RowProgram::Node x, const AttentionSpec &spec,
                        unsigned first) {
  RowProgram::Node y = p.rmsNorm(x, p.constant(first + 2), 1e-5f, 1);
  return gate(p, p.layerNorm(y, RowProgram::none, RowProgram::none, 1e-5f), spec, first);
}

/// The bits of an attention and of a kernel of rows behind it, in every split.
void check(AttentionSpec plain, Build build) {
  AttentionSpec fused = plain;
  unsigned first = attentionOperands(plain);
  fused.tail = program(plain, build, attentionOut, first);
  RowProgram rows = program(plain, build, 0, 1);
  ASSERT_EQ(checkAttention(fused), "");
  Kernels kernels;
  kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
    buildAttentionKernel(module, plain, variant);
    buildAttentionKernel(module, fused, variant);
    buildRowKernel(module, rows, variant);
  });
  kernels.compile();
  PagedBatch paged(plain.state, {{0, 70}, {45, 1}, {31, 33}, {0, 1}, {200, 1}});
  int64_t tokens = paged.batch.tokens, width = plain.valueWidth();
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  auto fill = [&](int64_t count) {
    Buffer<float> buffer{size_t(count)};
    for (int64_t i = 0; i < count; ++i)
      buffer[size_t(i)] = normal(random);
    return buffer;
  };
  Buffer<float> q = fill(tokens * plain.qStride),
                state = fill(paged.batch.blocks * plain.state.blockBytes() / 4),
                gates = fill(tokens * plain.heads * 2 * width), ones = fill(tokens * plain.heads),
                scale = fill(width), sinks = fill(plain.heads);
  // Of every fifth row nothing is seen.
  Buffer<int32_t> selection(size_t(tokens * plain.selected), -1);
  for (int64_t t = 0; t < tokens && plain.selected; ++t)
    if (t % 5)
      selection[size_t(t * plain.selected)] = 0;
  int64_t items = attentionKernelItems(plain, paged.batch);
  for (const CPUVariant *variant : Kernels::variants()) {
    auto run = [&](const AttentionSpec &spec, int64_t step) {
      Buffer<float> out(size_t(tokens * spec.outStride), NAN);
      Buffer<char> scratch(size_t(attentionKernelScratch(spec)), char(0xff));
      std::vector<void *> args = {&paged.batch, q.data(), state.data(), out.data()};
      if (spec.sinks)
        args.push_back(sinks.data());
      if (spec.selected)
        args.push_back(selection.data());
      for (Buffer<float> *buffer : {&gates, &ones, &scale})
        args.push_back(buffer->data());
      llmc_kernel_fn kernel = kernels.find(attentionKernelName(spec), *variant);
      for (int64_t i = 0; i < items; i += step)
        kernel(args.data(), i, std::min(items, i + step), scratch.data());
      EXPECT_TRUE(out.intact() && scratch.intact());
      return out;
    };
    Buffer<float> want = run(plain, items);
    void *args[] = {&paged.batch, want.data(), gates.data(), ones.data(), scale.data()};
    Buffer<char> scratch(size_t(rowKernelScratch(rows)));
    kernels.find(rowKernelName(rows), *variant)(args, 0, tokens * plain.heads, scratch.data());
    for (int64_t step : {items, int64_t(1), int64_t(7)})
      EXPECT_TRUE(sameBits(want, run(fused, step))) << variant->name.str() << ' ' << step;
  }
}

TEST(TailTest, Gates) {
  check(makeSpec(4, 2, 16, 16), gate);
  check(makeSpec(6, 1, 24, 20), gate);
  check(makeSpec(8, 8, 64, 64), gate);
}

TEST(TailTest, OneNumberAHead) { check(makeSpec(6, 3, 40, 36), scaled); }

TEST(TailTest, NormsOfHeads) {
  check(makeSpec(4, 2, 16, 33), normed);
  check(makeSpec(2, 2, 72, 72), normed);
}

TEST(TailTest, BehindSinksAndSelections) {
  AttentionSpec sinks = makeSpec(4, 2, 24, 24), selected = sinks;
  sinks.sinks = true;
  selected.selected = 3;
  check(sinks, gate);
  check(selected, scaled);
}

TEST(TailTest, RefusesOtherRows) {
  AttentionSpec spec = makeSpec(4, 2, 16, 16);
  auto refuses = [&](Build build) {
    AttentionSpec fused = spec;
    fused.tail = program(spec, build, attentionOut, attentionOperands(spec));
    return checkAttention(fused);
  };
  EXPECT_EQ(refuses(gate), "");
  EXPECT_EQ(refuses([](RowProgram &p, RowProgram::Node x, const AttentionSpec &, unsigned) {
              return p.mul(x, p.positionScale(1, 4, 0));
            }),
            "the tail has no positions");
  EXPECT_EQ(refuses([](RowProgram &p, RowProgram::Node x, const AttentionSpec &s, unsigned) {
              return p.mul(x, p.input(headsOf(s, 0)));
            }),
            "the tail reads operand 0, which is one of the attention itself");
  EXPECT_EQ(refuses([](RowProgram &p, RowProgram::Node x, const AttentionSpec &s, unsigned first) {
              RowOperand rows = headsOf(s, first);
              rows.index = RowIndex::TokenId;
              return p.mul(x, p.input(rows));
            }),
            "the tail reads rows of its own tokens alone");
  AttentionSpec other = spec;
  other.tail = RowProgram(8, 4);
  other.tail->output(other.tail->input(headsOf(spec, attentionOut)), headsOf(spec, attentionOut));
  EXPECT_EQ(checkAttention(other),
            "the tail has 4 rows of 8 a token, the result 4 heads of 16");
}

} // namespace
