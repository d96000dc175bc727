//===- Polynomials.h - transcendental functions of CPU kernels --*- C++ -*-===//
//
// Each function takes an f32 scalar or vector and writes the same operations in
// every variant, so that all give the same bits. No library is called. Errors
// are the largest seen over all inputs of the test (PolynomialsTest.cpp) against
// long double; NaN gives NaN.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_POLYNOMIALS_H
#define LLMC_KERNELS_CPU_POLYNOMIALS_H

#include "llmc/Kernels/CPU/KernelBuilder.h"
#include <utility>

namespace llmc::kernels {

/// e^x within 1.1 ulp; 0 below -87.33 (-inf too), where results would be
/// subnormal, and inf from 88.73 up.
mlir::Value polyExp(KernelBuilder &k, mlir::Value x);

/// tanh(x) within 1.5 ulp.
mlir::Value polyTanh(KernelBuilder &k, mlir::Value x);

/// erf(x) within 1.1 ulp.
mlir::Value polyErf(KernelBuilder &k, mlir::Value x);

/// log(x) within 1 ulp; -inf of 0 and NaN below.
mlir::Value polyLog(KernelBuilder &k, mlir::Value x);

/// log(1 + x) within 2 ulp for 0 <= x <= 1.
mlir::Value polyLog1p(KernelBuilder &k, mlir::Value x);

/// sin(x) and cos(x) within 1e-7 for |x| <= 1e6, by reduction in three parts;
/// beyond, the error grows with |x|. An infinite x gives NaN.
std::pair<mlir::Value, mlir::Value> polySinCos(KernelBuilder &k, mlir::Value x);

/// 1 / (1 + exp(-x)).
mlir::Value sigmoid(KernelBuilder &k, mlir::Value x);
/// x / (1 + exp(-x)).
mlir::Value silu(KernelBuilder &k, mlir::Value x);
/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
mlir::Value geluTanh(KernelBuilder &k, mlir::Value x);
/// 0.5 x (1 + erf(x / sqrt(2))).
mlir::Value geluErf(KernelBuilder &k, mlir::Value x);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_POLYNOMIALS_H
