//===- Sinkhorn.cpp - matrices of tokens near to doubly stochastic --------===//
#include "llmc/Kernels/CPU/HeadKernels.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

constexpr int64_t lanes = 16;

class SinkhornEmitter {
public:
  SinkhornEmitter(ModuleOp module, const SinkhornSpec &spec, const CPUVariant &variant)
      : spec(spec), kb(module, sinkhornKernelName(spec), variant) {}

  void run() {
    Value x = kb.operand(spec.x.operand), out = kb.operand(spec.out.operand);
    kb.loop(kb.begin(), kb.end(), 1, [&](Value item) {
      auto rowOf = [&](Value base, const StepRows &rows) {
        return kb.at(kb.at(base, rows.offset * 4), kb.mul(item, rows.stride * 4));
      };
      Value from = rowOf(x, spec.x);
      matrix = rowOf(out, spec.out);
      copy(from);
      divideColumns();
      kb.loop(kb.c(1), kb.c(spec.steps), 1, [&](Value) {
        divideRows();
        divideColumns();
      });
    });
    kb.finish();
  }

private:
  using Values = KernelBuilder::Values;

  /// Rows of a matrix in vectors, of which the last is partial.
  void chunks(llvm::function_ref<void(int64_t column, Value mask)> body) {
    for (int64_t column = 0; column < spec.n; column += lanes)
      body(column, spec.n - column < lanes ? kb.laneMask(kb.c(spec.n - column)) : Value());
  }
  Value load(Value pointer, Value mask) {
    return mask ? kb.maskedLoad(kb.vecF(), pointer, mask, 4) : kb.load(kb.vecF(), pointer, 4);
  }
  void store(Value value, Value pointer, Value mask) {
    if (mask)
      kb.maskedStore(value, pointer, mask, 4);
    else
      kb.store(value, pointer, 4);
  }
  Value at(Value i, int64_t column) {
    return kb.at(kb.at(matrix, kb.mul(i, spec.n * 4)), column * 4);
  }

  void copy(Value from) {
    kb.loop(kb.c(0), kb.c(spec.n), 1, [&](Value i) {
      Value row = kb.at(from, kb.mul(i, spec.n * 4));
      chunks([&](int64_t column, Value mask) {
        store(load(kb.at(row, column * 4), mask), at(i, column), mask);
      });
    });
  }
  void divideColumns() {
    Value zero = kb.c(0), n = kb.c(spec.n);
    chunks([&](int64_t column, Value mask) {
      Value sum = kb.loop(zero, n, 1, {kb.splat(0)}, [&](Value i, ValueRange sums) -> Values {
        return {kb.addf(sums[0], load(at(i, column), mask))};
      })[0];
      Value divisor = kb.addf(sum, kb.splat(spec.epsilon));
      kb.loop(zero, n, 1, [&](Value i) {
        store(kb.divf(load(at(i, column), mask), divisor), at(i, column), mask);
      });
    });
  }
  void divideRows() {
    kb.loop(kb.c(0), kb.c(spec.n), 1, [&](Value i) {
      Value row = at(i, 0);
      Value sum = kb.loop(kb.c(0), kb.c(spec.n), 1, {kb.cf(0)},
                          [&](Value j, ValueRange sums) -> Values {
                            Value c = kb.load(kb.f32(), kb.at(row, kb.mul(j, 4)), 4);
                            return {kb.addf(sums[0], c)};
                          })[0];
      Value divisor = kb.broadcast(kb.addf(sum, kb.cf(spec.epsilon)));
      chunks([&](int64_t column, Value mask) {
        store(kb.divf(load(at(i, column), mask), divisor), at(i, column), mask);
      });
    });
  }

  const SinkhornSpec &spec;
  KernelBuilder kb;
  Value matrix;
};

} // namespace

std::string checkSinkhorn(const SinkhornSpec &spec) {
  if (spec.n < 1 || spec.n > mostSinkhorn)
    return "a matrix of " + std::to_string(spec.n) + " rows; the kernel has 1 to " +
           std::to_string(mostSinkhorn);
  if (spec.steps < 1)
    return "a matrix is divided at least once, not " + std::to_string(spec.steps) + " times";
  if (spec.x.stride < spec.n * spec.n || spec.out.stride < spec.n * spec.n)
    return "rows of " + std::to_string(spec.n * spec.n) + " elements would overlap";
  if (spec.x.operand == spec.out.operand &&
      (spec.x.stride != spec.out.stride || spec.x.offset != spec.out.offset))
    return "a matrix is divided where it lies, or elsewhere";
  return "";
}

std::string sinkhornKernelName(const SinkhornSpec &spec) {
  std::string name = "sinkhorn_" + std::to_string(spec.n) + "_" + std::to_string(spec.steps) +
                     "_e" + std::to_string(llvm::bit_cast<uint32_t>(spec.epsilon));
  for (const StepRows &rows : {spec.x, spec.out})
    name += "_" + std::to_string(rows.operand) + "_" + std::to_string(rows.stride) + "_" +
            std::to_string(rows.offset);
  return name;
}

void buildSinkhornKernel(ModuleOp module, const SinkhornSpec &spec, const CPUVariant &variant) {
  assert(checkSinkhorn(spec).empty() && "check the spec first");
  SinkhornEmitter(module, spec, variant).run();
}

} // namespace llmc::kernels
