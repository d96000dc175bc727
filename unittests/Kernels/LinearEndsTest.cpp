//===- LinearEndsTest.cpp - fused ends of products against the sequence ---===//
//
// A product with a prologue and an epilogue gives the bits of row kernel, plain
// product and row kernel one after another, the values in between in memory.
//
//===----------------------------------------------------------------------===//
#include "KernelTest.h"
#include "RandomBlocks.h"
#include "llmc/Kernels/CPU/ExpertKernels.h"
#include "llmc/Kernels/CPU/LinearKernels.h"
#include "llmc/Kernels/CPU/Packing.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

using Node = RowProgram::Node;
using Nodes = std::vector<Node>;

/// Distance of the rows that an epilogue reads, of its scalars and of x.
constexpr int64_t besideStride = 333, scalarStride = 3, inputStride = 700;

/// What is done to `v`, whose operands of its own begin at number `first`: rows, a constant
/// vector, one number a row.
struct Operands {
  RowProgram &program;
  unsigned first;
  Node rows() { return program.input({first, besideStride, 5}); }
  Node vector() { return program.constant(first + 1); }
  Node scalar() {
    RowOperand operand{first + 2, scalarStride, 1};
    operand.scalar = true;
    return program.input(operand);
  }
};
using End = Node (*)(RowProgram &, const Nodes &sums, Operands own);
using Start = Node (*)(RowProgram &, Node x);

Node softcap(RowProgram &p, const Nodes &v, Operands) { return p.softcap(v[0], 2.5f); }
Node chain(RowProgram &p, const Nodes &v, Operands) {
  Node x = p.addConstant(p.clamp(p.scale(v[0], 0.37f), -1.5f, 2), 0.125f);
  return p.activate(Activation::GeluErf, p.softcap(x, 30));
}
Node swish(RowProgram &p, const Nodes &v, Operands own) {
  Node gate = p.activate(Activation::Sigmoid, v[0]);
  return p.mul(p.mul(v[0], gate), own.rows());
}
Node biases(RowProgram &p, const Nodes &v, Operands own) {
  return p.activate(Activation::Softplus, p.add(v[0], own.vector()));
}
Node all(RowProgram &p, const Nodes &v, Operands own) {
  Node x = p.sub(own.rows(), p.mul(v[0], own.scalar()));
  return p.div(p.max(p.min(x, own.vector()), v[0]), own.scalar());
}
Node clampedGate(RowProgram &p, const Nodes &v, Operands own) {
  Node gate = p.clamp(v[0], -INFINITY, 1), up = p.clamp(v[1], -1, 1);
  Node glu = p.mul(gate, p.activate(Activation::Sigmoid, p.scale(gate, 1.702f)));
  return p.mul(p.mul(p.addConstant(up, 1), glu), own.scalar());
}

Node rmsNorm(RowProgram &p, Node x) { return p.rmsNorm(x, p.constant(1), 1e-5f, 1); }
Node layerNorm(RowProgram &p, Node x) {
  return p.layerNorm(x, p.constant(1), p.constant(2), 1e-5f);
}
/// With a value that passes keep in scratch.
Node scaledNorm(RowProgram &p, Node x) {
  return p.rmsNorm(p.activate(Activation::SiLU, x), RowProgram::none, 1e-6f);
}

struct Case {
  LinearSpec spec;
  Start start = nullptr;
  End end = nullptr;
  RowIndex index = RowIndex::Item;

  Case(Storage storage, int64_t rows, int64_t cols, int64_t tile) {
    spec.storage = storage;
    spec.rows = rows;
    spec.cols = cols;
    spec.tile = tile;
  }

  LinearSpec fused() const {
    LinearSpec fused = spec;
    if (start) {
      RowProgram &program = fused.prologue.emplace(spec.cols);
      program.output(start(program, program.input(inputRow())), RowOperand{});
    }
    if (end) {
      RowProgram &program = fused.epilogue.emplace(spec.width());
      Nodes sums;
      for (unsigned i = 0; i < spec.sums(); ++i)
        sums.push_back(program.input(RowOperand{i}));
      program.output(end(program, sums, {program, spec.sums()}), RowOperand{});
    }
    return fused;
  }
  /// The product alone, of all features as they are packed.
  LinearSpec plain() const {
    LinearSpec plain = spec;
    plain.gated = plain.residual = plain.inPlace = false;
    plain.outputWidth = plain.outputStride = 0;
    return plain;
  }
  RowProgram before() const {
    RowProgram program(spec.cols);
    program.output(start(program, program.input(inputRow())), 3u);
    return program;
  }
  /// Operands: the sums, its own three, residual, out.
  RowProgram behind() const {
    RowProgram program(spec.width());
    unsigned count = spec.sums();
    Nodes sums;
    for (unsigned i = 0; i < count; ++i)
      sums.push_back(program.input(i));
    Node value = end ? end(program, sums, {program, count}) : sums[0];
    if (spec.residual)
      value = program.add(program.input({count + 3, spec.outputDistance()}), value);
    program.output(value, RowOperand{count + 4, spec.outputDistance()});
    return program;
  }

private:
  RowOperand inputRow() const { return {0, inputStride, 2, 0, RowElement::F32, index}; }
};

std::vector<Case> cases() {
  std::vector<Case> list;
  auto add = [&](Case base, Start start, End end, auto change) {
    base.start = start;
    base.end = end;
    change(base);
    list.push_back(base);
  };
  auto same = [](Case &) {};
  for (Storage storage : everyStorage())
    add({storage, 50, storageInfo(storage).block == 256 ? 256 : 64, 2}, rmsNorm, chain, same);
  Case q4(Storage::Q4_1, 75, 96, 2), q8(Storage::Q8_0, 128, 64, 4), f32(Storage::F32, 131, 45, 4);
  for (End end : {softcap, swish, biases, all})
    add(q4, nullptr, end, same);
  for (End end : {softcap, all})
    add(f32, nullptr, end, [](Case &c) { c.spec.bias = c.spec.residual = true; });
  add(q4, nullptr, softcap, [](Case &c) { c.spec.count = RowCount::Outputs; });
  add(q8, nullptr, all, [](Case &c) {
    c.spec.residual = c.spec.inPlace = true, c.spec.outputWidth = 100, c.spec.outputStride = 111;
  });
  add(q8, nullptr, clampedGate, [](Case &c) {
    c.spec.gated = c.spec.bias = true, c.spec.outputWidth = 41;
  });
  for (Start start : {rmsNorm, layerNorm, scaledNorm})
    add(f32, start, nullptr, same);
  add(q8, layerNorm, clampedGate, [](Case &c) {
    c.spec.gated = c.spec.residual = c.spec.inPlace = true;
  });
  add(q8, rmsNorm, softcap, [](Case &c) {
    c.spec.count = RowCount::Outputs, c.index = RowIndex::OutputRow;
  });
  return list;
}

void fill(Buffer<float> &buffer, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < buffer.size(); ++i)
    buffer[i] = normal(random);
}

Buffer<float> copyOf(const Buffer<float> &other) {
  Buffer<float> result(other.size());
  std::copy_n(other.data(), other.size(), result.data());
  return result;
}

/// Operands of a launch over random bytes.
struct Launch {
  const Case &c;
  const LinearSpec &spec;
  int64_t rows;
  llmc_batch batch = {};
  std::vector<int32_t> chosen;
  Buffer<std::byte> packed;
  Buffer<float> x, bias, scale, shift, beside, vector, scalar, before;

  Launch(const Case &c, int64_t rows)
      : c(c), spec(c.spec), rows(rows),
        packed(size_t(packedBytes(spec.storage, spec.rows, spec.cols, spec.tile))),
        x(size_t(2 * rows * inputStride)), bias(size_t((spec.rows + 15) / 16 * 16)),
        scale(size_t(spec.cols)), shift(size_t(spec.cols)), beside(size_t(rows * besideStride)),
        vector(size_t(spec.width())), scalar(size_t(rows * scalarStride)),
        before(size_t(rows * spec.outputDistance())) {
    StorageInfo info = storageInfo(spec.storage);
    auto bytes = randomBlocks(spec.storage, spec.rows * spec.cols / info.block, 5);
    packPanels({spec.storage, spec.cols, spec.tile, 0},
               std::vector<PackSource>{{spec.rows, bytes}},
               std::span(packed.data(), packed.size()));
    uint32_t seed = uint32_t(rows);
    for (Buffer<float> *buffer : {&x, &bias, &scale, &shift, &beside, &vector, &scalar, &before})
      fill(*buffer, ++seed);
    for (int64_t i = 0; i < rows; ++i)
      chosen.push_back(int32_t((i * 7 + 3) % (2 * rows)));
    bool outputs = spec.count == RowCount::Outputs;
    batch.tokens = outputs ? 2 * rows : rows;
    batch.outputs = outputs ? rows : 1;
    batch.output_rows = chosen.data();
  }

  /// Items in `parts` parts, the last one first.
  static void run(llmc_kernel_fn kernel, std::vector<void *> args, int64_t items, int64_t scratch,
                  int64_t parts) {
    Buffer<char> memory(size_t(scratch), char(0xff));
    for (int64_t i = parts; i-- > 0;)
      kernel(args.data(), items * i / parts, items * (i + 1) / parts, memory.data());
    EXPECT_TRUE(memory.intact());
  }
  void *batchOf() const { return const_cast<llmc_batch *>(&batch); }

  Buffer<float> runFused(Kernels &kernels, const CPUVariant &variant, int64_t parts) const {
    LinearSpec fused = c.fused();
    Buffer<float> out = copyOf(before);
    std::vector<void *> args = {batchOf(), x.data(), packed.data()};
    if (spec.bias)
      args.push_back(bias.data());
    void *own[] = {scale.data(), shift.data()};
    for (unsigned i = 1; fused.prologue && i < fused.prologue->operandCount(); ++i)
      args.push_back(own[i - 1]);
    void *others[] = {beside.data(), vector.data(), scalar.data()};
    for (unsigned i = spec.sums(); fused.epilogue && i < fused.epilogue->operandCount(); ++i)
      args.push_back(others[i - spec.sums()]);
    if (spec.residual && !spec.inPlace)
      args.push_back(before.data());
    args.push_back(out.data());
    run(kernels.find(linearKernelName(fused), variant), args, linearKernelItems(fused, batch),
        linearKernelScratch(fused), parts);
    EXPECT_TRUE(out.intact());
    return out;
  }

  Buffer<float> runSequence(Kernels &kernels, const CPUVariant &variant) const {
    Buffer<float> normed(size_t(rows * spec.cols));
    if (c.start) {
      RowProgram program = c.before();
      run(kernels.find(rowKernelName(program), variant),
          {batchOf(), x.data(), scale.data(), shift.data(), normed.data()}, rows,
          rowKernelScratch(program), 1);
    } else {
      for (int64_t t = 0; t < rows; ++t)
        std::copy_n(x.data() + t * spec.inputDistance(), spec.cols, normed.data() + t * spec.cols);
    }
    LinearSpec plain = c.plain();
    plain.inputStride = 0;
    Buffer<float> sums(size_t(rows * spec.rows));
    std::vector<void *> args = {batchOf(), normed.data(), packed.data()};
    if (spec.bias)
      args.push_back(bias.data());
    args.push_back(sums.data());
    run(kernels.find(linearKernelName(plain), variant), args, linearKernelItems(plain, batch),
        linearKernelScratch(plain), 1);
    std::vector<Buffer<float>> parts;
    for (unsigned i = 0; i < spec.sums(); ++i) {
      Buffer<float> &part = parts.emplace_back(size_t(rows * spec.width()));
      for (int64_t t = 0; t < rows; ++t)
        for (int64_t f = 0; f < spec.width(); ++f)
          part[size_t(t * spec.width() + f)] =
              sums[size_t(t * spec.rows + (spec.gated ? f / 16 * 32 + i * 16 + f % 16 : f))];
    }
    Buffer<float> out = copyOf(before);
    RowProgram program = c.behind();
    args = {batchOf()};
    for (Buffer<float> &part : parts)
      args.push_back(part.data());
    for (void *other : {beside.data(), vector.data(), scalar.data(), before.data(), out.data()})
      args.push_back(other);
    run(kernels.find(rowKernelName(program), variant), args, rows, rowKernelScratch(program), 1);
    return out;
  }
};

TEST(LinearEndsTest, BitsOfTheSequence) {
  Kernels kernels;
  std::vector<std::string> known;
  auto once = [&](std::string name, auto build) {
    if (llvm::is_contained(known, name))
      return;
    known.push_back(name);
    kernels.add(build);
  };
  std::vector<Case> list = cases();
  for (const Case &c : list) {
    LinearSpec fused = c.fused(), plain = c.plain();
    plain.inputStride = 0;
    ASSERT_EQ(checkLinear(fused), "");
    ASSERT_EQ(checkLinear(plain), "");
    for (const LinearSpec &spec : {fused, plain})
      once(linearKernelName(spec), [&](mlir::ModuleOp module, const CPUVariant &variant) {
        buildLinearKernel(module, spec, variant);
      });
    std::vector<RowProgram> programs = {c.behind()};
    if (c.start)
      programs.push_back(c.before());
    for (const RowProgram &program : programs) {
      ASSERT_EQ(checkRowProgram(program), "");
      once(rowKernelName(program), [&](mlir::ModuleOp module, const CPUVariant &variant) {
        buildRowKernel(module, program, variant);
      });
    }
  }
  kernels.compile();
  for (const Case &c : list)
    for (int64_t rows : {1, 4, 5, 13, 97, 203}) {
      if (rows > 13 && c.spec.rows * c.spec.cols > 10000)
        continue;
      Launch launch(c, rows);
      for (const CPUVariant *variant : Kernels::variants()) {
        Buffer<float> expected = launch.runSequence(kernels, *variant);
        for (int64_t parts : {1, 3}) {
          Buffer<float> out = launch.runFused(kernels, *variant, parts);
          EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
              << linearKernelName(c.fused()) << variant->suffix.str() << ", " << rows << " rows, "
              << parts << " parts";
        }
      }
    }
}

TEST(LinearEndsTest, ExpertsHaveTheSameEnds) {
  // Rows of an epilogue are those of choices.
  ExpertLinearSpec spec;
  spec.experts = 3;
  spec.chosen = 2;
  Case c(Storage::F32, 64, 24, 2);
  c.end = clampedGate;
  c.spec.gated = c.spec.bias = true;
  spec.product = c.fused();
  ASSERT_EQ(checkExpertLinear(spec), "");
  ExpertLinearSpec plain = spec;
  plain.product = c.plain();
  RowProgram behind = c.behind();
  Kernels kernels;
  kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
    buildExpertLinearKernel(module, spec, variant);
    buildExpertLinearKernel(module, plain, variant);
    buildRowKernel(module, behind, variant);
  });
  kernels.compile();
  int64_t width = c.spec.width(), packedRows = c.spec.rows;
  Buffer<float> weights(size_t(spec.experts * spec.expertBytes() / 4));
  Buffer<float> bias(size_t(spec.experts * spec.biasBytes() / 4));
  fill(weights, 1);
  fill(bias, 2);
  for (int64_t tokens : {1, 7, 40}) {
    int64_t pairs = tokens * spec.chosen;
    llmc_batch batch{}, rows{};
    batch.tokens = tokens;
    rows.tokens = pairs;
    Buffer<float> x(size_t(tokens * c.spec.cols)), scalar(size_t(pairs * scalarStride));
    Buffer<float> unused(size_t(pairs * besideStride));
    fill(x, 3);
    fill(scalar, 4);
    Buffer<int32_t> choice{size_t(pairs)};
    for (int64_t i = 0; i < pairs; ++i)
      choice[size_t(i)] = int32_t((i + i / 2) % spec.experts);
    for (const CPUVariant *variant : Kernels::variants()) {
      Buffer<float> out(size_t(pairs * width)), sums(size_t(pairs * packedRows));
      Launch::run(kernels.find(expertLinearKernelName(spec), *variant),
                  {&batch, x.data(), choice.data(), weights.data(), bias.data(), unused.data(),
                   unused.data(), scalar.data(), out.data()},
                  expertLinearKernelItems(spec), expertLinearKernelScratch(spec), 3);
      Launch::run(kernels.find(expertLinearKernelName(plain), *variant),
                  {&batch, x.data(), choice.data(), weights.data(), bias.data(), sums.data()},
                  expertLinearKernelItems(plain), expertLinearKernelScratch(plain), 1);
      Buffer<float> gate(size_t(pairs * width)), up(size_t(pairs * width));
      for (int64_t i = 0; i < pairs * width; ++i) {
        int64_t f = i % width, at = i / width * packedRows + f / 16 * 32 + f % 16;
        gate[size_t(i)] = sums[size_t(at)];
        up[size_t(i)] = sums[size_t(at + 16)];
      }
      Buffer<float> expected(size_t(pairs * width));
      Launch::run(kernels.find(rowKernelName(behind), *variant),
                  {&rows, gate.data(), up.data(), unused.data(), unused.data(), scalar.data(),
                   unused.data(), expected.data()},
                  pairs, rowKernelScratch(behind), 1);
      EXPECT_TRUE(out.intact());
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
          << tokens << " tokens" << variant->suffix.str();
    }
  }
}

TEST(LinearEndsTest, ChecksSayWhy) {
  Case base(Storage::F32, 32, 16, 2);
  base.end = softcap;
  base.start = rmsNorm;
  LinearSpec good = base.fused();
  EXPECT_EQ(checkLinear(good), "");
  auto refuses = [&](auto change, llvm::StringRef part) {
    LinearSpec spec = good;
    change(spec);
    EXPECT_NE(checkLinear(spec).find(part.str()), std::string::npos) << checkLinear(spec);
  };
  auto program = [](int64_t width, auto build) {
    RowProgram result(width);
    result.output(build(result), RowOperand{});
    return result;
  };
  refuses([](LinearSpec &s) { s.activation = Activation::SiLU; }, "part of the epilogue");
  refuses([](LinearSpec &s) { s.gated = true; }, "rows of 16 elements, not of 32");
  refuses([](LinearSpec &s) { s.outputWidth = 20; }, "rows of 20 elements, not of 32");
  refuses([](LinearSpec &s) { s.cols = 20; }, "rows of 20 elements, not of 16");
  refuses([](LinearSpec &s) { s.inputStride = 20; }, "densely");
  refuses([&](LinearSpec &s) {
    s.epilogue = program(32, [](RowProgram &p) { return p.softmax(p.input(RowOperand{0})); });
  }, "element-wise");
  refuses([&](LinearSpec &s) {
    s.epilogue = program(32, [](RowProgram &p) { return p.input(RowOperand{1, 32}); });
  }, "every sum");
  refuses([&](LinearSpec &s) {
    s.epilogue = program(32, [](RowProgram &p) {
      RowOperand chosen{1, 32, 0, 0, RowElement::F32, RowIndex::OutputRow};
      return p.add(p.input(RowOperand{0}), p.input(chosen));
    });
  }, "number of the row");
  refuses([&](LinearSpec &s) {
    s.prologue = program(16, [](RowProgram &p) {
      return p.input({0, 16, 0, 0, RowElement::F32, RowIndex::OutputRow});
    });
  }, "product of chosen rows");
  refuses([&](LinearSpec &s) {
    s.prologue = program(16, [](RowProgram &p) {
      return p.mul(p.input(RowOperand{0, 16}), p.positionScale(0.1f, 8, 0));
    });
  }, "no positions");
  refuses([](LinearSpec &s) { s.prologue->output(0, RowOperand{}); }, "one output each");
}

TEST(LinearEndsTest, NamesDiffer) {
  std::vector<std::string> names;
  for (const Case &c : cases()) {
    std::string name = linearKernelName(c.fused());
    EXPECT_FALSE(llvm::is_contained(names, name)) << name;
    names.push_back(name);
  }
}

} // namespace
