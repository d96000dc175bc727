//===- ExpertCombine.cpp - sums over experts, rows for experts ------------===//
#include "llmc/Kernels/CPU/ExpertKernels.h"

using namespace mlir;

namespace llmc::kernels {

static constexpr int64_t lanes = 16;

std::string checkExpertCombine(const ExpertCombineSpec &spec) {
  if (spec.chosen < 1 || spec.width < 1)
    return "rows of " + std::to_string(spec.chosen) + " experts with " +
           std::to_string(spec.width) + " columns";
  if (spec.spread && (spec.residual || spec.inPlace || !spec.weights))
    return "a row for each expert takes weights and no residual";
  if (spec.inPlace && !spec.residual)
    return "a sum in place needs a residual";
  return "";
}

std::string expertCombineKernelName(const ExpertCombineSpec &spec) {
  std::string name = std::string(spec.spread ? "expert_spread" : "expert_sum") + "_c" +
                     std::to_string(spec.chosen) + "_w" + std::to_string(spec.width);
  if (!spec.spread && !spec.weights)
    name += "_plain";
  if (spec.residual)
    name += spec.inPlace ? "_residual_inplace" : "_residual";
  return name;
}

void buildExpertCombineKernel(ModuleOp module, const ExpertCombineSpec &spec,
                              const CPUVariant &variant) {
  assert(checkExpertCombine(spec).empty() && "check the spec first");
  KernelBuilder k(module, expertCombineKernelName(spec), variant);
  unsigned next = 0;
  Value x = k.operand(next++), weights, residual;
  if (spec.weights)
    weights = k.operand(next++);
  if (spec.residual)
    residual = k.operand(spec.inPlace ? next : next++);
  Value out = k.operand(next++);
  int64_t rowBytes = spec.width * 4, tail = spec.width % lanes;

  k.loop(k.begin(), k.end(), 1, [&](Value token) {
    Value many = k.mul(token, spec.chosen * rowBytes), one = k.mul(token, rowBytes);
    Value own = weights ? k.at(weights, k.mul(token, spec.chosen * 4)) : Value();
    auto weight = [&](Value j) {
      return k.broadcast(k.load(k.f32(), k.at(own, k.mul(j, 4)), 4));
    };
    auto columns = [&](Value first, Value mask) {
      Value offset = k.mul(first, 4);
      auto load = [&](Value address) {
        return mask ? k.maskedLoad(k.vecF(), address, mask, 4) : k.load(k.vecF(), address, 4);
      };
      auto store = [&](Value value, Value address) {
        mask ? k.maskedStore(value, address, mask, 4) : k.store(value, address, 4);
      };
      if (spec.spread) {
        Value row = load(k.at(k.at(x, one), offset));
        k.loop(k.c(0), k.c(spec.chosen), 1, [&](Value j) {
          Value to = k.at(k.at(k.at(out, many), k.mul(j, rowBytes)), offset);
          store(k.mulf(weight(j), row), to);
        });
        return;
      }
      Value sum = k.loop(k.c(0), k.c(spec.chosen), 1, {k.splat(0)},
                         [&](Value j, ValueRange carried) -> KernelBuilder::Values {
                           Value row = load(k.at(k.at(k.at(x, many), k.mul(j, rowBytes)), offset));
                           return {weights ? k.fma(weight(j), row, carried[0])
                                           : k.addf(carried[0], row)};
                         })[0];
      if (spec.residual)
        sum = k.addf(load(k.at(k.at(residual, one), offset)), sum);
      store(sum, k.at(k.at(out, one), offset));
    };
    k.loop(k.c(0), k.c(spec.width - tail), lanes, [&](Value first) { columns(first, {}); });
    if (tail)
      columns(k.c(spec.width - tail), k.laneMask(k.c(tail)));
  });
  k.finish();
}

} // namespace llmc::kernels
