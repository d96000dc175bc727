//===- HeadLinear.cpp - products of heads with weights of their own -------===//
#include "llmc/Kernels/CPU/HeadKernels.h"
#include "LinearEmitter.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

class HeadEmitter : public LinearEmitter {
public:
  HeadEmitter(KernelBuilder &k, const HeadLinearSpec &spec)
      : LinearEmitter(k, spec.product, WithoutOperands()), heads(spec), allX(k.operand(0)),
        allWeights(k.operand(1)), allOut(k.operand(2)) {}

  /// Items run head by head, in each panel by panel, in each over blocks of rows.
  void run() {
    Value rows = k.batch(BatchField::Tokens);
    Value blocks = k.ceilDiv(rows, linearTokenBlock);
    int64_t factor = linearKernelFactor(spec);
    k.whileLoop(
        {k.begin()}, [&](ValueRange next) { return k.lt(next[0], k.end()); },
        [&](ValueRange next) -> Values {
          Value place = k.div(next[0], blocks), block = k.rem(next[0], blocks);
          Value head = k.div(place, factor), item = k.rem(place, factor);
          Value count = k.min(k.sub(blocks, block), k.sub(k.end(), next[0]));
          Value first = k.mul(block, linearTokenBlock);
          Value last = k.min(rows, k.mul(k.add(block, count), linearTokenBlock));
          x = k.at(k.at(allX, heads.inputOffset * 4), k.mul(head, spec.cols * 4));
          out = k.at(allOut, k.mul(head, spec.rows * 4));
          Value matrix = k.at(allWeights, k.mul(head, heads.headBytes()));
          Value base = k.at(matrix, k.mul(item, itemBytes(spec.storage, spec.cols, spec.tile)));
          compute(base, item, first, k.sub(last, first));
          return {k.add(next[0], count)};
        });
  }

private:
  const HeadLinearSpec &heads;
  Value allX, allWeights, allOut;
};

} // namespace

int64_t HeadLinearSpec::headBytes() const {
  return packedBytes(product.storage, product.rows, product.cols, product.tile);
}

std::string checkHeadLinear(const HeadLinearSpec &spec) {
  const LinearSpec &product = spec.product;
  if (std::string problem = checkLinear(product); !problem.empty())
    return problem;
  if (spec.heads < 1 || spec.inputOffset < 0)
    return "a product of heads needs heads";
  if (product.bias || product.residual || product.gated || product.activation ||
      product.outputWidth || product.prologue || product.epilogue || product.count != RowCount::Tokens)
    return "a product of heads has rows of tokens and nothing at its end";
  if (product.inputDistance() < spec.heads * product.cols ||
      product.outputDistance() < spec.heads * product.rows)
    return "rows of a product of heads are at least as far apart as their " +
           std::to_string(spec.heads) + " heads are wide";
  return "";
}

std::string headLinearKernelName(const HeadLinearSpec &spec) {
  return "head_" + linearKernelName(spec.product) + "_h" + std::to_string(spec.heads) + "_at" +
         std::to_string(spec.inputOffset);
}

int64_t headLinearKernelScratch(const HeadLinearSpec &spec) {
  return linearKernelScratch(spec.product);
}

int64_t headLinearKernelFactor(const HeadLinearSpec &spec) {
  return spec.heads * linearKernelFactor(spec.product);
}

int64_t headLinearKernelItems(const HeadLinearSpec &spec, const llmc_batch &batch) {
  return spec.heads * linearKernelItems(spec.product, batch);
}

void buildHeadLinearKernel(ModuleOp module, const HeadLinearSpec &spec,
                           const CPUVariant &variant) {
  assert(checkHeadLinear(spec).empty() && "a valid spec");
  KernelBuilder k(module, headLinearKernelName(spec), variant);
  HeadEmitter(k, spec).run();
  k.finish();
}

} // namespace llmc::kernels
