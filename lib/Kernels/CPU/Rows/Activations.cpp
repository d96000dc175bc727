//===- Activations.cpp - activation functions of a vector -----------------===//
#include "llmc/Kernels/CPU/Polynomials.h"
#include "llmc/Kernels/CPU/RowKernels.h"

using namespace mlir;

namespace llmc::kernels {

Value emitActivation(KernelBuilder &kb, Activation activation, Value x) {
  switch (activation) {
  case Activation::SiLU:
    return silu(kb, x);
  case Activation::Sigmoid:
    return sigmoid(kb, x);
  case Activation::GeluQuick: {
    Value e = polyExp(kb, kb.mulf(kb.splat(-1.702f), x));
    return kb.divf(x, kb.addf(kb.splat(1), e));
  }
  case Activation::GeluTanh:
    return geluTanh(kb, x);
  case Activation::GeluErf:
    return geluErf(kb, x);
  case Activation::Relu:
    // Zero first: a NaN stays.
    return kb.maxf(kb.splat(0), x);
  case Activation::ReluSquared: {
    Value positive = kb.maxf(kb.splat(0), x);
    return kb.mulf(positive, positive);
  }
  case Activation::Tanh:
    return polyTanh(kb, x);
  case Activation::Softplus:
    return kb.addf(kb.maxf(kb.splat(0), x), polyLog1p(kb, polyExp(kb, kb.negf(kb.absf(x)))));
  case Activation::Exp:
    return polyExp(kb, x);
  case Activation::Log:
    return polyLog(kb, x);
  case Activation::Sqrt:
    return kb.sqrt(x);
  case Activation::Reciprocal:
    return kb.divf(kb.splat(1), x);
  }
  llvm_unreachable("unknown activation");
}

Value emitSoftcap(KernelBuilder &kb, float cap, Value x) {
  return kb.mulf(kb.splat(cap), polyTanh(kb, kb.divf(x, kb.splat(cap))));
}

} // namespace llmc::kernels
