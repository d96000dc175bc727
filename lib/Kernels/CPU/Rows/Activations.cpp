//===- Activations.cpp - element-wise operations on a vector --------------===//
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

Value emitElementwise(KernelBuilder &kb, const RowOp &op, ArrayRef<Value> in) {
  auto param = [&](unsigned i) { return kb.splat(op.params[i]); };
  switch (op.kind) {
  case RowOpKind::Add:
    return kb.addf(in[0], in[1]);
  case RowOpKind::Sub:
    return kb.subf(in[0], in[1]);
  case RowOpKind::Mul:
    return kb.mulf(in[0], in[1]);
  case RowOpKind::Div:
    return kb.divf(in[0], in[1]);
  case RowOpKind::Fma:
    return kb.fma(in[0], in[1], in[2]);
  case RowOpKind::Min:
    return kb.minf(in[0], in[1]);
  case RowOpKind::Max:
    return kb.maxf(in[0], in[1]);
  case RowOpKind::Scale:
    return kb.mulf(in[0], param(0));
  case RowOpKind::AddConstant:
    return kb.addf(in[0], param(0));
  case RowOpKind::Clamp:
    // The constant first: a NaN of the row stays.
    return kb.minf(param(1), kb.maxf(param(0), in[0]));
  case RowOpKind::Softcap:
    return emitSoftcap(kb, op.params[0], in[0]);
  case RowOpKind::Activate:
    return emitActivation(kb, op.activation, in[0]);
  default:
    llvm_unreachable("not element-wise");
  }
}

} // namespace llmc::kernels
