//===- ExpertLinear.cpp - products with the weights of chosen experts -----===//
//
// An item walks the step's choices, sixteen at a time, for the rows that go to its
// expert. Rows lie anywhere: the paths of a linear kernel get them as a dense copy of
// as many as a register tile takes, which costs a small part of the product. A step
// of one token needs no search.
//
//===----------------------------------------------------------------------===//
#include "LinearEmitter.h"
#include "llmc/Kernels/CPU/ExpertKernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

/// Rows that are collected before they are computed, and the most that one look at sixteen
/// choices adds.
constexpr int64_t listed = linearTokenBlock, lanes = 16;

int64_t align64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

class ExpertEmitter : public LinearEmitter {
public:
  ExpertEmitter(KernelBuilder &k, const ExpertLinearSpec &spec)
      : LinearEmitter(k, spec.product, WithoutOperands()), experts(spec) {
    unsigned next = 0;
    x = k.operand(next++);
    choice = k.operand(next++);
    allWeights = k.operand(next++);
    if (spec.product.bias)
      allBiases = k.operand(next++);
    takeEpilogueOperands(next);
    out = k.operand(next++);
    gathered = k.at(k.scratch(), bufferBytes(spec.product) + decodedBytes(spec.product));
    list = k.at(gathered, gatheredBytes(spec));
  }

  static int64_t gatheredBytes(const ExpertLinearSpec &spec) {
    return align64(mostTileTokens * spec.product.cols * 4);
  }
  static int64_t scratchBytes(const ExpertLinearSpec &spec) {
    return bufferBytes(spec.product) + decodedBytes(spec.product) + gatheredBytes(spec) +
           align64((listed + lanes) * 4);
  }

  void run() {
    Value tokens = k.batch(BatchField::Tokens);
    k.ifElse(
        k.eq(tokens, 1), [&] { oneToken(); }, [&] { manyTokens(k.mul(tokens, experts.chosen)); });
  }

private:
  /// The expert's matrix, from one item on.
  void atExpert(Value expert, Value item, function_ref<void(Value base)> body) {
    Value matrix = k.at(allWeights, k.mul(expert, experts.expertBytes()));
    Value base = k.at(matrix, k.mul(item, itemBytes(spec.storage, spec.cols, spec.tile)));
    if (allBiases)
      bias = k.at(allBiases, k.mul(expert, experts.biasBytes()));
    body(base);
  }

  /// Row by row through the choices that fall into the range of items.
  void oneToken() {
    direct = true;
    k.whileLoop(
        {k.begin()}, [&](ValueRange next) { return k.lt(next[0], k.end()); },
        [&](ValueRange next) -> Values {
          Value item = k.div(next[0], experts.experts), first = k.rem(next[0], experts.experts);
          Value count = k.min(k.sub(k.c(experts.experts), first), k.sub(k.end(), next[0]));
          Value last = k.add(first, count);
          k.loop(k.c(0), k.c(experts.chosen), 1, [&](Value j) {
            Value expert = k.toI64(k.load(k.i32(), k.at(choice, k.mul(j, 4)), 4));
            k.ifThen(k.le(first, expert), [&] {
              k.ifThen(k.lt(expert, last), [&] {
                atExpert(expert, item, [&](Value base) { skinny(1, base, item, j); });
              });
            });
          });
          return {k.add(next[0], count)};
        });
    direct = false;
  }

  void manyTokens(Value pairs) {
    k.loop(k.begin(), k.end(), 1, [&](Value number) {
      Value item = k.div(number, experts.experts), expert = k.rem(number, experts.experts);
      atExpert(expert, item, [&](Value base) {
        k.whileLoop(
            {k.c(0)}, [&](ValueRange next) { return k.lt(next[0], pairs); },
            [&](ValueRange next) -> Values {
              Values found = collect(k.toI32(expert), next[0], pairs);
              k.ifThen(k.lt(k.c(0), found[1]),
                       [&] { compute(base, item, k.c(0), found[1]); });
              return {found[0]};
            });
      });
    });
  }

  /// Lists the rows of the expert from choice `from` on until there are enough. Returns where to
  /// go on, and how many there are.
  Values collect(Value expert, Value from, Value pairs) {
    Value wanted = k.broadcast(expert, lanes);
    return k.whileLoop(
        {from, k.c(0)},
        [&](ValueRange state) {
          Value more = k.lt(state[0], pairs), room = k.lt(state[1], k.c(listed));
          return k.andi(more, room);
        },
        [&](ValueRange state) -> Values {
          Value position = state[0];
          Value here = k.laneMask(k.sub(pairs, position), lanes);
          Value numbers = k.maskedLoad(k.vecI(), k.at(choice, k.mul(position, 4)), here, 4);
          Value hits = k.andi(k.eq(numbers, wanted), here);
          Value bits = k.extract(
              vector::BitCastOp::create(k.builder(), k.loc(), k.vec(1, k.i16()), hits), 0);
          // Sixteen bits as a number: the lowest one that is set, until none is.
          Values rest = k.whileLoop(
              {toI64(bits), state[1]},
              [&](ValueRange left) { return k.lt(k.c(0), left[0]); },
              [&](ValueRange left) -> Values {
                Value lane = lowestBit(left[0]);
                Value place = k.at(list, k.mul(left[1], 4));
                k.store(k.toI32(k.add(position, lane)), place, 4);
                return {k.andi(left[0], k.sub(left[0], 1)), k.add(left[1], 1)};
              });
          return {k.add(position, lanes), rest[1]};
        });
  }

  Value toI64(Value bits) {
    return arith::ExtUIOp::create(k.builder(), k.loc(), k.i64(), bits);
  }
  Value lowestBit(Value bits) {
    return LLVM::CountTrailingZerosOp::create(k.builder(), k.loc(), k.i64(), bits,
                                              /*is_zero_poison=*/true);
  }

  Value listedRow(Value number) {
    return k.toI64(k.load(k.i32(), k.at(list, k.mul(number, 4)), 4));
  }
  Value rowOfX(Value pair) {
    Value row = experts.rowsOfChoices ? pair : k.div(pair, experts.chosen);
    return k.at(x, k.mul(row, spec.cols * 4));
  }

  /// Where there are several, side by side in the scratch.
  Value inputRows(Value first, Value count) override {
    if (direct)
      return rowOfX(first);
    if (getConstantIntValue(count) == 1)
      return rowOfX(listedRow(first));
    k.loop(k.c(0), count, 1, [&](Value i) {
      Value from = rowOfX(listedRow(k.add(first, i)));
      Value to = k.at(gathered, k.mul(i, spec.cols * 4));
      int64_t whole = spec.cols / lanes * lanes;
      k.loop(k.c(0), k.c(whole), lanes, [&](Value column) {
        Value offset = k.mul(column, 4);
        k.store(k.load(k.vecF(), k.at(from, offset), 4), k.at(to, offset), 4);
      });
      k.loop(k.c(whole), k.c(spec.cols), 1, [&](Value column) {
        Value offset = k.mul(column, 4);
        k.store(k.load(k.f32(), k.at(from, offset), 4), k.at(to, offset), 4);
      });
    });
    return gathered;
  }

  Value outputRow(Value row) override { return direct ? row : listedRow(row); }

  const ExpertLinearSpec &experts;
  Value choice, allWeights, allBiases, gathered, list;
  /// Rows are numbers of choices, not of the list.
  bool direct = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// The spec
//===----------------------------------------------------------------------===//

int64_t ExpertLinearSpec::expertBytes() const {
  return packedBytes(product.storage, product.rows, product.cols, product.tile);
}

int64_t ExpertLinearSpec::biasBytes() const { return align64(product.rows * 4); }

std::string checkExpertLinear(const ExpertLinearSpec &spec) {
  if (std::string problem = checkLinear(spec.product); !problem.empty())
    return problem;
  if (spec.experts < 1 || spec.chosen < 1)
    return "a product of experts needs experts, and some that are chosen";
  if (spec.experts > INT32_MAX || spec.chosen > spec.experts)
    return std::to_string(spec.chosen) + " of " + std::to_string(spec.experts) +
           " experts cannot be chosen";
  const LinearSpec &product = spec.product;
  if (product.residual || product.prologue || product.count != RowCount::Tokens || product.inputStride ||
      product.outputStride)
    return "a product of experts has no residual and no prologue, and dense rows of tokens";
  return "";
}

std::string expertLinearKernelName(const ExpertLinearSpec &spec) {
  return "expert_" + linearKernelName(spec.product) + "_e" + std::to_string(spec.experts) + "_c" +
         std::to_string(spec.chosen) + (spec.rowsOfChoices ? "_own" : "");
}

int64_t expertLinearKernelScratch(const ExpertLinearSpec &spec) {
  return ExpertEmitter::scratchBytes(spec);
}

int64_t expertLinearKernelItems(const ExpertLinearSpec &spec) {
  return linearKernelFactor(spec.product) * spec.experts;
}

void buildExpertLinearKernel(ModuleOp module, const ExpertLinearSpec &spec,
                             const CPUVariant &variant) {
  assert(checkExpertLinear(spec).empty() && "check the spec first");
  KernelBuilder k(module, expertLinearKernelName(spec), variant);
  ExpertEmitter(k, spec).run();
  k.finish();
}

} // namespace llmc::kernels
