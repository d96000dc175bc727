//===- ProloguePartsTest.cpp - heads that are put together ----------------===//
#include "PagedBatch.h"

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

/// Operands: heads of q and of k and v, each wider than what is used; the rests of both; scale and bias
/// of the norms; frequencies; state; q's own rows.
enum Operand : unsigned { Wide, Keys, RestOfQ, RestOfK, Scale, Bias, Freq, State, Out, operands };

struct Shape {
  int64_t heads, kvHeads, keyWidth, valueWidth, rest;
};

constexpr int64_t apart = 5; ///< Channels between two heads that are used.

PrologueSpec makeSpec(const Shape &shape) {
  PrologueSpec spec;
  spec.heads = shape.heads;
  spec.state = {shape.kvHeads, shape.keyWidth, shape.valueWidth, 32};
  spec.rest = shape.rest;
  int64_t own = shape.keyWidth - shape.rest, inner = own + apart;
  int64_t keys = shape.kvHeads * inner, values = shape.kvHeads * (shape.valueWidth + apart);
  spec.q = HeadRows{Wide, shape.heads * inner, apart, inner};
  spec.k = HeadRows{Keys, keys + values, 2, inner};
  if (shape.valueWidth)
    spec.v = HeadRows{Keys, keys + values, keys, shape.valueWidth + apart};
  if (shape.rest) {
    spec.qRest = HeadRows{RestOfQ, shape.heads * (shape.rest + 3), 3, shape.rest + 3};
    spec.kRest = HeadRows{RestOfK, shape.kvHeads * shape.rest, 0};
  }
  spec.qOut = HeadRows{Out, shape.heads * shape.keyWidth, 0};
  spec.rotary = Rotary{Freq, 8, shape.keyWidth - 8, RotaryPairs::Interleaved};
  spec.append = State;
  return spec;
}

/// A program that writes the heads of `from` where `to` has them, through a norm where there is one.
RowProgram move(const HeadRows &from, const HeadRows &to, int64_t heads, int64_t width,
                int64_t headOfTo, const std::optional<HeadNorm> &norm) {
  RowProgram program(width, heads);
  RowProgram::Node x = program.input(
      RowOperand{from.operand, from.stride, from.offset, from.inner ? from.inner : width});
  auto vector = [&](std::optional<unsigned> operand) {
    return operand ? program.constant(*operand) : RowProgram::none;
  };
  if (norm)
    x = norm->layer ? program.layerNorm(x, vector(norm->scale), vector(norm->bias), norm->eps)
                    : program.rmsNorm(x, vector(norm->scale), norm->eps, norm->offset);
  program.output(x, RowOperand{to.operand, to.stride, to.offset, headOfTo});
  return program;
}

/// The bits of kernels of rows that put q, k and v together densely, and a prologue that turns and
/// appends them.
void check(const PrologueSpec &spec) {
  ASSERT_EQ(checkPrologue(spec), "");
  const PagedState &state = spec.state;
  constexpr unsigned denseQ = Out, denseK = operands, denseV = operands + 1;
  PrologueSpec dense = spec;
  dense.rest = 0;
  dense.qRest = dense.kRest = std::nullopt;
  dense.qNorm = dense.kNorm = dense.vNorm = std::nullopt;
  dense.q = HeadRows{denseQ, spec.heads * state.keyWidth, 0};
  dense.qOut.reset();
  dense.k = HeadRows{denseK, state.heads * state.keyWidth, 0};
  if (spec.v)
    dense.v = HeadRows{denseV, state.heads * state.valueWidth, 0};
  std::vector<RowProgram> moves;
  int64_t own = state.keyWidth - spec.rest;
  auto add = [&](const HeadRows &from, HeadRows to, int64_t heads, int64_t width, int64_t at,
                 int64_t whole, const std::optional<HeadNorm> &norm) {
    to.offset += at;
    moves.push_back(move(from, to, heads, width, whole, norm));
  };
  add(*spec.q, *dense.q, spec.heads, own, 0, state.keyWidth, spec.qNorm);
  add(*spec.k, *dense.k, state.heads, own, 0, state.keyWidth, spec.kNorm);
  if (spec.rest) {
    add(*spec.qRest, *dense.q, spec.heads, spec.rest, own, state.keyWidth, std::nullopt);
    add(*spec.kRest, *dense.k, state.heads, spec.rest, own, state.keyWidth, std::nullopt);
  }
  if (spec.v)
    add(*spec.v, *dense.v, state.heads, state.valueWidth, 0, state.valueWidth, spec.vNorm);
  Kernels kernels;
  kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
    buildPrologueKernel(module, spec, variant);
    buildPrologueKernel(module, dense, variant);
    for (size_t i = 0; i < moves.size(); ++i)
      if (std::none_of(moves.begin(), moves.begin() + long(i), [&](const RowProgram &other) {
            return rowKernelName(other) == rowKernelName(moves[i]);
          }))
        buildRowKernel(module, moves[i], variant);
  });
  kernels.compile();
  PagedBatch paged(state, {{0, 40}, {1000, 3}, {63, 1}}, 1, /*hasPast=*/false);
  size_t tokens = size_t(paged.batch.tokens);
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  std::vector<Buffer<float>> buffers;
  auto make = [&](size_t count) {
    buffers.emplace_back(count);
    for (size_t i = 0; i < count; ++i)
      buffers.back()[i] = normal(random);
  };
  make(tokens * size_t(spec.q->stride));
  make(tokens * size_t(spec.k->stride));
  make(tokens * size_t(spec.qRest ? spec.qRest->stride : 1));
  make(tokens * size_t(spec.kRest ? spec.kRest->stride : 1));
  for (int i = 0; i < 2; ++i)
    make(size_t(std::max(state.keyWidth, state.valueWidth)));
  make(size_t(spec.rotary->width / 2));
  make(1); // The state, for each run its own.
  make(tokens * size_t(spec.heads * state.keyWidth));
  make(tokens * size_t(state.heads * state.keyWidth));
  make(tokens * size_t(std::max<int64_t>(state.heads * state.valueWidth, 1)));
  for (const CPUVariant *variant : Kernels::variants()) {
    auto run = [&](const PrologueSpec &what, int64_t step) {
      Buffer<float> kept(size_t(paged.batch.blocks * state.blockBytes() / 4), 1.0f);
      Buffer<char> scratch(size_t(prologueKernelScratch(what)), char(0xff));
      std::vector<void *> args = {&paged.batch};
      for (Buffer<float> &buffer : buffers)
        args.push_back(buffer.data());
      args[1 + State] = kept.data();
      llmc_kernel_fn kernel = kernels.find(prologueKernelName(what), *variant);
      for (int64_t i = 0; i < paged.batch.tokens; i += step)
        kernel(args.data(), i, std::min(paged.batch.tokens, i + step), scratch.data());
      EXPECT_TRUE(kept.intact() && scratch.intact());
      for (Buffer<float> &buffer : buffers)
        EXPECT_TRUE(buffer.intact());
      return kept;
    };
    auto copyOfOut = [&] {
      Buffer<float> copy(buffers[Out].size());
      std::copy_n(buffers[Out].data(), copy.size(), copy.data());
      return copy;
    };
    for (const RowProgram &program : moves) {
      std::vector<void *> args = {&paged.batch};
      for (Buffer<float> &buffer : buffers)
        args.push_back(buffer.data());
      Buffer<char> scratch(size_t(rowKernelScratch(program)));
      kernels.find(rowKernelName(program), *variant)(
          args.data(), 0, rowKernelItems(program, paged.batch), scratch.data());
    }
    Buffer<float> wantState = run(dense, 1 << 20), want = copyOfOut();
    for (int64_t step : {1 << 20, 7}) {
      std::fill_n(buffers[Out].data(), buffers[Out].size(), NAN);
      EXPECT_TRUE(sameBits(run(spec, step), wantState)) << variant->name.str();
      EXPECT_TRUE(sameBits(copyOfOut(), want)) << variant->name.str();
    }
  }
}

TEST(ProloguePartsTest, PartsOfWiderHeads) {
  PrologueSpec spec = makeSpec({4, 2, 24, 20, 0});
  check(spec);
  spec.qTurns = false;
  check(spec);
  spec.qTurns = true;
  spec.kTurns = false;
  check(spec);
}

/// As in latent attention.
TEST(ProloguePartsTest, RestsFromElsewhere) {
  PrologueSpec spec = makeSpec({6, 1, 52, 0, 8});
  check(spec);
  spec.kNorm = HeadNorm{.scale = Scale, .eps = 1e-6f};
  check(spec);
  PrologueSpec many = makeSpec({4, 2, 40, 33, 24});
  many.qNorm = many.kNorm = spec.kNorm;
  check(many);
}

TEST(ProloguePartsTest, NormsOfEveryKind) {
  PrologueSpec spec = makeSpec({4, 2, 36, 40, 0});
  spec.qNorm = HeadNorm{.eps = 1e-6f};
  spec.kNorm = HeadNorm{.scale = Scale, .eps = 1e-5f, .layer = true, .bias = Bias};
  spec.vNorm = HeadNorm{.scale = Scale, .eps = 1e-6f, .offset = 1};
  check(spec);
  spec.vNorm = HeadNorm{.eps = 1e-6f};
  spec.rotary->first = 0;
  check(spec);
}

/// Heads of whole vectors go through norm and rotary in registers.
TEST(ProloguePartsTest, HeadsInRegisters) {
  for (int64_t width : {32, 64, 128}) {
    PrologueSpec spec = makeSpec({3, 2, width, 24, 0});
    spec.qNorm = HeadNorm{.eps = 1e-6f};
    spec.kNorm = HeadNorm{.scale = Scale, .eps = 1e-5f, .offset = width == 64 ? 1.0f : 0.0f};
    spec.rotary = Rotary{Freq, width, 0, RotaryPairs::Halves};
    check(spec);
    spec.rotary->width = 32;
    spec.rotary->first = width - 32;
    check(spec);
  }
}

TEST(ProloguePartsTest, RefusesHalfOfAHead) {
  PrologueSpec good = makeSpec({4, 2, 24, 20, 8}), bad = good;
  EXPECT_EQ(checkPrologue(good), "");
  bad.qRest.reset();
  EXPECT_EQ(checkPrologue(bad), "heads in two parts are put together elsewhere, the norm first");
  bad = good;
  bad.rest = 24;
  EXPECT_EQ(checkPrologue(bad), "the rest of heads of 24 is 24 channels from elsewhere");
  bad = good;
  bad.v.reset();
  bad.vNorm = HeadNorm{};
  EXPECT_EQ(checkPrologue(bad), "v is normed, but there is no v");
  bad = good;
  bad.kNorm = HeadNorm{.bias = Bias};
  EXPECT_EQ(checkPrologue(bad), "a layer norm has no offset, another norm no bias");
}

} // namespace
