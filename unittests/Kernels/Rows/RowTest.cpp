//===- RowTest.cpp - row programs against double precision ----------------===//
#include "KernelTest.h"
#include "RandomRows.h"
#include "RowReference.h"
#include <bit>
#include <cstring>
#include <random>
#include <set>

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

/// What a float keeps when stored as `element`, and its bits.
uint16_t narrow(float value, RowElement element) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (element == RowElement::BF16)
    return uint16_t(bits >> 16);
  return std::bit_cast<uint16_t>(_Float16(value));
}
float widen(uint16_t bits, RowElement element) {
  if (element == RowElement::BF16)
    return std::bit_cast<float>(uint32_t(bits) << 16);
  return float(std::bit_cast<_Float16>(bits));
}

/// Operands of a launch: f32 unless stated.
struct Launch {
  explicit Launch(const RowProgram &program, int64_t tokens, int64_t outputs = 0)
      : program(program) {
    batch.tokens = tokens;
    batch.outputs = outputs;
    batch.output_rows = outputRows.data();
    batch.token_ids = tokenIds.data();
    batch.positions = positions.data();
    rows.resize(program.operandCount());
    halves.resize(program.operandCount());
    elements.resize(program.operandCount(), RowElement::F32);
    for (const RowOp &op : program.ops())
      if (op.kind == RowOpKind::Input)
        elements[op.operand.operand] = op.operand.element;
  }

  void fill(unsigned operand, size_t n, unsigned seed, float from = -3, float to = 3) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> values(from, to);
    rows[operand] = Buffer<float>(n);
    for (size_t i = 0; i < n; ++i)
      rows[operand][i] = values(random);
    if (elements[operand] == RowElement::F32)
      return;
    halves[operand] = Buffer<uint16_t>(n);
    for (size_t i = 0; i < n; ++i) {
      halves[operand][i] = narrow(rows[operand][i], elements[operand]);
      rows[operand][i] = widen(halves[operand][i], elements[operand]);
    }
  }

  void run(llmc_kernel_fn kernel, int64_t step = 1 << 30) {
    std::vector<void *> args = {&batch};
    for (size_t i = 0; i < rows.size(); ++i)
      args.push_back(elements[i] == RowElement::F32 ? (void *)rows[i].data()
                                                    : (void *)halves[i].data());
    Buffer<char> scratch(rowKernelScratch(program), char(0xff));
    int64_t items = rowKernelItems(program, batch);
    for (int64_t i = 0; i < items; i += step)
      kernel(args.data(), i, std::min(items, i + step), scratch.data());
    EXPECT_TRUE(scratch.intact());
    for (const Buffer<float> &buffer : rows)
      EXPECT_TRUE(buffer.intact());
  }

  const float *rowOf(const RowOperand &operand, int64_t item) const {
    int64_t token = item / program.rowsPerToken(), inner = item % program.rowsPerToken();
    if (operand.index == RowIndex::OutputRow)
      token = outputRows[token];
    if (operand.index == RowIndex::TokenId)
      token = tokenIds[token];
    int64_t chosen = operand.chooser < 0 ? 0 : int64_t(rows[size_t(operand.chooser)][0]);
    return rows[operand.operand].data() + token * operand.stride + inner * operand.inner +
           operand.offset + chosen * operand.chooserStep;
  }

  /// Values of every node, before anything was overwritten.
  std::vector<std::vector<Row>> reference() const {
    std::vector<std::vector<Row>> result;
    for (int64_t item = 0; item < rowKernelItems(program, batch); ++item) {
      std::vector<Row> inputs;
      for (const RowOp &op : program.ops()) {
        if (op.kind != RowOpKind::Input) {
          inputs.emplace_back();
          continue;
        }
        const float *row = rowOf(op.operand, item);
        if (op.operand.scalar)
          inputs.emplace_back(program.width(), row[0]);
        else
          inputs.emplace_back(row, row + program.width());
      }
      result.push_back(
          evaluate(program, inputs, positions[size_t(item / program.rowsPerToken())]));
    }
    return result;
  }

  void expectNear(const std::vector<std::vector<Row>> &reference, double bound) const {
    for (size_t item = 0; item < reference.size(); ++item)
      for (const RowProgram::Output &out : program.outputs()) {
        const float *row = rowOf(out.operand, item);
        for (int64_t e = 0; e < (out.operand.scalar ? 1 : program.width()); ++e) {
          double want = reference[item][out.node][e];
          ASSERT_NEAR(row[e], want, bound * std::max(1.0, std::abs(want)))
              << "item " << item << " element " << e << " width " << program.width();
        }
      }
  }

  const RowProgram &program;
  llmc_batch batch{};
  std::vector<int32_t> outputRows = {1, 2, 5}, tokenIds = {4, 0, 3, 3, 1, 2, 0},
                       positions = {0, 1, 2, 7, 8, 9, 4095};
  std::vector<Buffer<float>> rows;
  std::vector<Buffer<uint16_t>> halves;
  std::vector<RowElement> elements;
};

bool sameBits(const Buffer<float> &x, const Buffer<float> &y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * 4) == 0;
}

const int64_t widths[] = {1, 12, 16, 17, 64, 80, 100, 128, 576, 1000};

/// Operands: 0 x, 1 y, 2 scale, 3 sum, 4 norm.
RowProgram addNorm(int64_t width, unsigned sumOperand = 3) {
  RowProgram p(width);
  auto sum = p.add(p.input(0u), p.input(1u));
  p.output(sum, sumOperand);
  p.output(p.rmsNorm(sum, p.constant(2), 1e-5f), 4u);
  return p;
}

TEST(RowTest, AddNormOfEveryWidth) {
  Kernels kernels;
  std::vector<RowProgram> programs;
  for (int64_t width : widths)
    programs.push_back(addNorm(width));
  for (const RowProgram &p : programs)
    kernels.add([&](mlir::ModuleOp module, const CPUVariant &v) { buildRowKernel(module, p, v); });
  kernels.compile();
  for (const RowProgram &p : programs) {
    EXPECT_EQ(rowKernelScratch(p), 0);
    std::vector<Buffer<float>> bits;
    for (const CPUVariant *variant : Kernels::variants())
      for (int64_t step : {1, 2, 100}) {
        Launch launch(p, 5);
        for (unsigned operand : {0, 1, 3, 4})
          launch.fill(operand, 5 * p.width(), operand);
        launch.fill(2, p.width(), 9);
        auto want = launch.reference();
        launch.run(kernels.find(rowKernelName(p), *variant), step);
        launch.expectNear(want, 1e-6);
        bits.push_back(std::move(launch.rows[4]));
        EXPECT_TRUE(sameBits(bits.front(), bits.back())) << variant->name.str() << step;
      }
  }
}

TEST(RowTest, InPlaceIsSafe) {
  // The sum goes over x, and the norm needs both x's old value and the sum again.
  auto build = [](int64_t width, unsigned sumOperand) {
    RowProgram p(width);
    auto x = p.input(0u), sum = p.add(x, p.input(1u));
    p.output(sum, sumOperand);
    p.output(p.add(p.rmsNorm(sum, p.constant(2), 1e-5f, 1), x), 4u);
    return p;
  };
  for (int64_t width : {12, 576}) {
    RowProgram apart = build(width, 3), inPlace = build(width, 0);
    EXPECT_NE(rowKernelName(apart), rowKernelName(inPlace));
    EXPECT_EQ(rowKernelName(apart), rowKernelName(build(width, 3)));
    Kernels kernels;
    for (const RowProgram *p : {&apart, &inPlace})
      kernels.add(
          [&](mlir::ModuleOp module, const CPUVariant &v) { buildRowKernel(module, *p, v); });
    kernels.compile();
    for (const CPUVariant *variant : Kernels::variants()) {
      Launch x(apart, 4), y(inPlace, 4);
      for (Launch *launch : {&x, &y}) {
        for (unsigned operand : {0, 1, 3, 4})
          launch->fill(operand, 4 * width, operand);
        launch->fill(2, width, 9);
      }
      auto want = x.reference();
      x.run(kernels.find(rowKernelName(apart), *variant));
      y.run(kernels.find(rowKernelName(inPlace), *variant));
      x.expectNear(want, 2e-6);
      EXPECT_TRUE(sameBits(x.rows[3], y.rows[0]));
      EXPECT_TRUE(sameBits(x.rows[4], y.rows[4]));
    }
  }
}

/// Every node of the program is also an output, or only the last one: the bits of
/// the last must agree. Then each op alone, one kernel after the other.
TEST(RowTest, FusedEqualsUnfused) {
  for (int64_t width : {12, 80, 1000}) {
    auto chain = [&](RowProgram &p, std::function<int(int)> cut) {
      int x = p.input(0u), y = p.input(1u), w = p.constant(2), b = p.constant(3);
      x = cut(p.layerNorm(x, w, b, 1e-5f));
      x = cut(p.gate(Activation::GeluTanh, x, y));
      x = cut(p.fma(x, y, w));
      x = cut(p.rmsNorm(x, w, 1e-6f, 1));
      x = cut(p.softcap(x, 3));
      x = cut(p.sub(p.gate(Activation::SiLU, x, y), x));
      x = cut(p.softmax(x));
      return x;
    };
    RowProgram fused(width);
    fused.output(chain(fused, [](int x) { return x; }), 4u);

    // Cut n stores to operand 5 + n and reads it back in the next program.
    std::vector<RowProgram> parts;
    RowProgram all(width);
    unsigned cuts = 0;
    chain(all, [&](int x) {
      all.output(x, 5 + cuts++);
      return x;
    });
    for (unsigned part = 0; part < cuts; ++part) {
      RowProgram p(width);
      unsigned n = 0;
      chain(p, [&](int x) {
        if (n == part)
          p.output(x, 5 + n);
        return p.input(5 + n++);
      });
      parts.push_back(p);
    }

    Kernels kernels;
    std::vector<const RowProgram *> programs = {&fused, &all};
    for (const RowProgram &p : parts)
      programs.push_back(&p);
    for (const RowProgram *p : programs)
      kernels.add(
          [&](mlir::ModuleOp module, const CPUVariant &v) { buildRowKernel(module, *p, v); });
    kernels.compile();

    std::vector<Buffer<float>> results;
    for (const CPUVariant *variant : Kernels::variants()) {
      auto fill = [&](Launch &launch) {
        launch.rows.resize(5 + cuts);
        launch.halves.resize(5 + cuts);
        launch.elements.resize(5 + cuts, RowElement::F32);
        for (unsigned operand = 0; operand < 5 + cuts; ++operand)
          launch.fill(operand, 3 * width, operand);
      };
      Launch whole(fused, 3);
      fill(whole);
      auto want = whole.reference();
      whole.run(kernels.find(rowKernelName(fused), *variant));
      whole.expectNear(want, 2e-6);

      Launch kept(all, 3);
      fill(kept);
      kept.run(kernels.find(rowKernelName(all), *variant));

      Buffer<float> last;
      std::vector<Buffer<float>> state;
      for (const RowProgram &p : parts) {
        Launch launch(p, 3);
        fill(launch);
        if (!state.empty())
          launch.rows = std::move(state);
        launch.run(kernels.find(rowKernelName(p), *variant));
        state = std::move(launch.rows);
      }
      EXPECT_TRUE(sameBits(whole.rows[4], kept.rows[4 + cuts]));
      EXPECT_TRUE(sameBits(whole.rows[4], state[4 + cuts]));
      results.push_back(std::move(whole.rows[4]));
      EXPECT_TRUE(sameBits(results.front(), results.back())) << variant->name.str();
    }
  }
}

TEST(RowTest, EveryOperation) {
  int64_t width = 83;
  RowProgram p(width);
  int x = p.input(0u), y = p.input(1u), w = p.constant(2, RowElement::BF16),
      b = p.constant(3, RowElement::F16);
  std::vector<int> results = {p.add(x, y),         p.sub(x, w),
                              p.mul(x, b),         p.div(x, p.addConstant(w, 8)),
                              p.fma(x, y, w),      p.min(x, y),
                              p.max(x, y),         p.scale(x, 0.375f),
                              p.addConstant(x, 2), p.clamp(x, -1, 0.5f),
                              p.softcap(x, 2),     p.rmsNorm(x, RowProgram::none, 1e-5f),
                              p.l2Norm(x, 1e-6f),  p.layerNorm(x, RowProgram::none, b, 1e-5f),
                              p.layerNorm(x, w, RowProgram::none, 1e-5f),
                              p.softmax(y),
                              p.sub(x, p.mean(x)),
                              p.mul(p.softmax(y), p.deviation(x)),
                              p.add(p.sum(y), x),
                              p.sub(x, p.rowMax(x)),
                              p.mul(x, p.positionScale(0.25f, 3, 1)),
                              p.activate(Activation::Log, p.activate(Activation::Exp, y))};
  for (Activation activation :
       {Activation::SiLU, Activation::GeluTanh, Activation::GeluErf, Activation::GeluQuick,
        Activation::Relu, Activation::ReluSquared, Activation::Tanh, Activation::Sigmoid,
        Activation::Softplus, Activation::Exp})
    results.push_back(p.activate(activation, x));
  for (size_t i = 0; i < results.size(); ++i)
    p.output(results[i], 4 + i);

  Kernels kernels;
  kernels.add([&](mlir::ModuleOp module, const CPUVariant &v) { buildRowKernel(module, p, v); });
  kernels.compile();
  std::vector<std::vector<Buffer<float>>> bits;
  for (const CPUVariant *variant : Kernels::variants()) {
    Launch launch(p, 3);
    for (unsigned operand = 0; operand < p.operandCount(); ++operand)
      launch.fill(operand, (operand == 2 || operand == 3 ? 1 : 3) * width, operand, -6, 6);
    auto want = launch.reference();
    launch.run(kernels.find(rowKernelName(p), *variant));
    launch.expectNear(want, 1e-6);
    bits.push_back(std::move(launch.rows));
    for (size_t i = 4; i < bits.back().size(); ++i)
      EXPECT_TRUE(sameBits(bits.front()[i], bits.back()[i])) << i;
  }
}

TEST(RowTest, StridesHeadsAndIndices) {
  // Heads of a wider row, normed in place.
  RowProgram heads(12, 3);
  RowOperand slice{0, 50, 7, 12};
  heads.output(heads.rmsNorm(heads.input(slice), heads.constant(1), 1e-6f), slice);
  // The rows whose logits are wanted, densely.
  RowProgram outputs(20);
  RowOperand wanted{0, 20, 0, 0, RowElement::F32, RowIndex::OutputRow};
  outputs.output(outputs.scale(outputs.input(wanted), 2), 1u);
  // A lookup.
  RowProgram lookup(20);
  RowOperand embedding{0, 20, 0, 0, RowElement::BF16, RowIndex::TokenId};
  lookup.output(lookup.scale(lookup.input(embedding), 3), 1u);
  Kernels kernels;
  for (const RowProgram *p : {&heads, &outputs, &lookup})
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildRowKernel(module, *p, v); });
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    Launch inPlace(heads, 4);
    inPlace.fill(0, 4 * 50, 1);
    inPlace.fill(1, 12, 2);
    Launch before(heads, 4);
    before.fill(0, 4 * 50, 1);
    auto want = inPlace.reference();
    EXPECT_EQ(rowKernelItems(heads, inPlace.batch), 12);
    inPlace.run(kernels.find(rowKernelName(heads), *variant), 5);
    inPlace.expectNear(want, 1e-6);
    for (int64_t i = 0; i < 4 * 50; ++i)
      if (i % 50 < 7 || i % 50 >= 43)
        EXPECT_EQ(inPlace.rows[0][i], before.rows[0][i]);

    for (const RowProgram *p : {&outputs, &lookup}) {
      Launch launch(*p, 7, 3);
      launch.fill(0, 7 * 20, 1);
      launch.fill(1, 7 * 20, 2);
      EXPECT_EQ(rowKernelItems(*p, launch.batch), p == &outputs ? 3 : 7);
      auto reference = launch.reference();
      launch.run(kernels.find(rowKernelName(*p), *variant));
      launch.expectNear(reference, 1e-7);
    }
  }
}

TEST(RowTest, ScalarsAndStatistics) {
  // One value a head times a row that all heads share, and what becomes of each head, twice:
  // as numbers of their own, and where a later pass needs them.
  RowProgram heads(21, 3);
  auto factor = heads.input({0, 5, 1, 1, RowElement::F32, RowIndex::Item, true});
  auto shared = heads.input({1, 21, 0, 0});
  auto x = heads.mul(heads.input(2u), heads.mul(factor, shared));
  auto mean = heads.mean(x), deviation = heads.deviation(x);
  heads.output(heads.mul(heads.softmax(heads.sub(x, mean)), deviation), 3u);
  for (auto [i, node] : {std::pair(4u, mean), std::pair(5u, deviation),
                         std::pair(6u, heads.add(heads.rowMax(x), factor))})
    heads.output(node, {i, 3, 0, 1, RowElement::F32, RowIndex::Item, true});
  // A statistic alone, of rows shorter than a vector and longer ones.
  std::vector<RowProgram> alone;
  for (int64_t width : {1, 5, 16, 100}) {
    RowProgram &p = alone.emplace_back(width, 2);
    p.output(p.deviation(p.input(0u)), {1, 2, 0, 1, RowElement::F32, RowIndex::Item, true});
  }
  // A part of each row that another operand chooses, read and written.
  RowProgram chosen(6);
  RowOperand from{0, 30, 6};
  from.chooser = 2;
  from.chooserStep = 6;
  RowOperand to{1, 40, 2};
  to.chooser = 2;
  to.chooserStep = 9;
  chosen.output(chosen.scale(chosen.input(from), 2), to);

  std::vector<const RowProgram *> programs = {&heads, &chosen};
  for (const RowProgram &p : alone)
    programs.push_back(&p);
  Kernels kernels;
  for (const RowProgram *p : programs)
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildRowKernel(module, *p, v); });
  kernels.compile();
  std::vector<std::vector<Buffer<float>>> first(programs.size());
  for (const CPUVariant *variant : Kernels::variants())
    for (auto [i, p] : llvm::enumerate(programs)) {
      Launch launch(*p, 4);
      for (unsigned operand = 0; operand < p->operandCount(); ++operand)
        launch.fill(operand, 4 * 200, operand + 1, -1, 1);
      if (p == &chosen)
        launch.rows[2][0] = 3;
      auto want = launch.reference();
      launch.run(kernels.find(rowKernelName(*p), *variant), 5);
      launch.expectNear(want, 1e-6);
      if (first[i].empty())
        first[i] = std::move(launch.rows);
      else
        for (size_t operand = 0; operand < first[i].size(); ++operand)
          EXPECT_TRUE(sameBits(first[i][operand], launch.rows[operand])) << i << " " << operand;
    }
}

/// What fusing must not change: a statistic stored and read back gives the bits that it gives
/// inside of the program.
TEST(RowTest, StatisticsFusedEqualUnfused) {
  RowProgram fused(37), first(37), second(37);
  auto x = fused.input(0u);
  fused.output(fused.sub(x, fused.add(fused.mean(x), fused.deviation(x))), 1u);
  RowOperand mean{2, 1, 0, 0, RowElement::F32, RowIndex::Item, true}, deviation = mean;
  deviation.operand = 3;
  first.output(first.mean(first.input(0u)), mean);
  first.output(first.deviation(first.input(0u)), deviation);
  second.output(second.sub(second.input(0u), second.add(second.input(mean),
                                                        second.input(deviation))),
                4u);
  Kernels kernels;
  for (const RowProgram *p : {&fused, &first, &second})
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildRowKernel(module, *p, v); });
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    Launch a(fused, 5), b(first, 5), c(second, 5);
    for (Launch *launch : {&a, &b, &c}) {
      launch->rows.resize(5);
      launch->halves.resize(5);
      launch->elements.resize(5, RowElement::F32);
      for (unsigned operand = 0; operand < 5; ++operand)
        launch->fill(operand, 5 * 37, operand);
    }
    a.run(kernels.find(rowKernelName(fused), *variant));
    b.run(kernels.find(rowKernelName(first), *variant));
    c.rows[2] = std::move(b.rows[2]);
    c.rows[3] = std::move(b.rows[3]);
    c.run(kernels.find(rowKernelName(second), *variant));
    EXPECT_TRUE(sameBits(a.rows[1], c.rows[4]));
  }
}

/// Any program gives the bits of its operations one by one, with what is between stored.
TEST(RowTest, RandomProgramsFusedEqualUnfused) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    RandomProgram random(seed);
    std::vector<RowProgram> programs{random.fused()};
    for (size_t i = 0; i < random.steps.size(); ++i)
      programs.push_back(random.alone(i));
    Kernels kernels;
    std::set<std::string> names;
    for (const RowProgram &p : programs)
      if (names.insert(rowKernelName(p)).second)
        kernels.add(
            [&](mlir::ModuleOp module, const CPUVariant &v) { buildRowKernel(module, p, v); });
    kernels.compile();
    size_t values = random.isScalar.size();
    auto filled = [&](const RowProgram &p) {
      Launch launch(p, 3);
      launch.rows.resize(values);
      launch.halves.resize(values);
      launch.elements.resize(values, RowElement::F32);
      for (unsigned value = 0; value < values; ++value)
        launch.fill(value, size_t(3 * random.heads * random.width), value + seed);
      return launch;
    };
    for (const CPUVariant *variant : Kernels::variants()) {
      Launch whole = filled(programs[0]);
      whole.run(kernels.find(rowKernelName(programs[0]), *variant));
      std::vector<Buffer<float>> state = std::move(filled(programs[0]).rows);
      for (size_t i = 1; i < programs.size(); ++i) {
        Launch part = filled(programs[i]);
        part.rows = std::move(state);
        part.run(kernels.find(rowKernelName(programs[i]), *variant));
        state = std::move(part.rows);
      }
      for (size_t i = 0; i < random.steps.size(); ++i)
        if (random.isSeen[i])
          EXPECT_TRUE(sameBits(whole.rows[i + 3], state[i + 3]))
              << "seed " << seed << ", step " << i << ", " << variant->name.str();
    }
  }
}

TEST(RowTest, ChecksPrograms) {
  EXPECT_EQ(checkRowProgram(addNorm(12)), "");
  RowProgram empty(12), mixed(12);
  EXPECT_EQ(checkRowProgram(empty), "a row program without outputs computes nothing");
  mixed.output(mixed.add(mixed.input({0, 12, 0, 0, RowElement::F32, RowIndex::OutputRow}),
                         mixed.input({1, 12, 0, 0, RowElement::F32, RowIndex::TokenId})),
               2u);
  EXPECT_NE(checkRowProgram(mixed), "");
  RowProgram positions(12);
  positions.output(positions.mul(positions.input({0, 12, 0, 0, RowElement::F32,
                                                  RowIndex::OutputRow}),
                                 positions.positionScale(0.1f, 3, 0)),
                   1u);
  EXPECT_EQ(checkRowProgram(positions),
            "positions are those of tokens; the items of this program count outputs");
}

TEST(RowTest, NaNStays) {
  RowProgram p(20);
  int x = p.input(0u);
  p.output(p.activate(Activation::Relu, x), 1u);
  p.output(p.clamp(x, -1, 1), 2u);
  p.output(p.rmsNorm(x, RowProgram::none, 1e-5f), 3u);
  Kernels kernels;
  kernels.add([&](mlir::ModuleOp module, const CPUVariant &v) { buildRowKernel(module, p, v); });
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    Launch launch(p, 1);
    for (unsigned operand = 0; operand < 4; ++operand)
      launch.fill(operand, 20, operand);
    launch.rows[0][17] = NAN;
    launch.run(kernels.find(rowKernelName(p), *variant));
    for (unsigned operand : {1, 2})
      for (int64_t e = 0; e < 20; ++e)
        EXPECT_EQ(std::isnan(launch.rows[operand][e]), e == 17);
    EXPECT_TRUE(std::isnan(launch.rows[3][0]));
  }
}

} // namespace
