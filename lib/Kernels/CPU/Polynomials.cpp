//===- Polynomials.cpp - transcendental functions of CPU kernels ----------===//
#include "llmc/Kernels/CPU/Polynomials.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;

namespace llmc::kernels {
namespace {

/// Constants of the type of one value.
struct Like {
  KernelBuilder &k;
  VectorType vector;
  Like(KernelBuilder &k, Value x) : k(k), vector(dyn_cast<VectorType>(x.getType())) {}

  Value f(float value) const {
    return vector ? k.splat(value, vector.getNumElements()) : k.cf(value);
  }
  Value i(int32_t value) const {
    return vector ? k.splatI(value, vector.getNumElements()) : k.c32(value);
  }
  Type floats() const { return vector ? Type(k.vecF(vector.getNumElements())) : k.f32(); }
  Type ints() const { return vector ? Type(k.vecI(vector.getNumElements())) : k.i32(); }
};

/// Horner's rule; the highest power first.
Value horner(KernelBuilder &k, const Like &like, Value x, ArrayRef<float> coefficients) {
  Value sum = like.f(coefficients.front());
  for (float coefficient : coefficients.drop_front())
    sum = k.fma(sum, x, like.f(coefficient));
  return sum;
}

Value copySign(KernelBuilder &k, const Like &like, Value magnitude, Value sign) {
  Value bit = k.andi(k.bitcast(sign, like.ints()), like.i(INT32_MIN));
  return k.bitcast(k.ori(k.bitcast(magnitude, like.ints()), bit), like.floats());
}

/// 2^n for an integer -126 <= n <= 127.
Value powerOfTwo(KernelBuilder &k, const Like &like, Value n) {
  return k.bitcast(k.shl(k.add(n, like.i(127)), 23), like.floats());
}

} // namespace

Value polyExp(KernelBuilder &k, Value x) {
  Like like(k, x);
  // Smaller results would be subnormal, which costs some 50 ns each.
  Value tiny = k.ltf(x, like.f(-87.33f));
  // The operand order lets a NaN through both clamps.
  x = k.minf(like.f(89.0f), k.maxf(like.f(-87.33f), x));
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  Value magic = like.f(12582912.0f);
  Value biased = k.fma(x, like.f(1.44269504f), magic);
  Value n = k.subf(biased, magic);
  Value r = k.fma(n, like.f(-0.693145752f), x);
  r = k.fma(n, like.f(-1.42860677e-6f), r);
  Value p = horner(k, like, r,
                   {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                    1.6666665459e-1f, 5.0000001201e-1f});
  p = k.fma(p, k.mulf(r, r), r);
  p = k.addf(p, like.f(1.0f));
  // In two factors, since n reaches 128.
  Value exponent = k.sub(k.bitcast(biased, like.ints()), like.i(0x4b400000));
  Value half = arith::ShRSIOp::create(k.builder(), k.loc(), exponent, like.i(1));
  p = k.mulf(p, powerOfTwo(k, like, half));
  p = k.mulf(p, powerOfTwo(k, like, k.sub(exponent, half)));
  return k.select(tiny, like.f(0.0f), p);
}

Value polyTanh(KernelBuilder &k, Value x) {
  Like like(k, x);
  Value magnitude = k.absf(x);
  Value square = k.mulf(x, x);
  Value small = horner(k, like, square,
                       {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                        1.33314422036e-1f, -3.33332819422e-1f});
  small = k.fma(k.mulf(small, square), x, x);
  Value e = polyExp(k, k.addf(magnitude, magnitude));
  Value large = k.subf(like.f(1.0f), k.divf(like.f(2.0f), k.addf(e, like.f(1.0f))));
  return copySign(k, like, k.select(k.ltf(magnitude, like.f(0.625f)), small, large), x);
}

Value polyErf(KernelBuilder &k, Value x) {
  Like like(k, x);
  Value t = k.absf(x);
  Value s = k.mulf(x, x);
  Value small = horner(k, like, s,
                       {-5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f,
                        -3.76125336e-1f, 1.28379166e-1f});
  small = k.fma(small, x, x);
  // 1 - exp(-t + polynomial); beyond 4 the result is 1.
  Value u = k.minf(like.f(4.0f), t);
  Value high = k.fma(like.f(-1.72853470e-5f), u, like.f(3.83197126e-4f));
  Value low = k.fma(like.f(-3.88396438e-3f), u, like.f(2.42546219e-2f));
  Value r = k.fma(high, k.mulf(u, u), low);
  for (float coefficient : {-1.06777877e-1f, -6.34846687e-1f, -1.28717512e-1f})
    r = k.fma(r, u, like.f(coefficient));
  r = k.fma(r, u, k.negf(u));
  Value large = copySign(k, like, k.subf(like.f(1.0f), polyExp(k, r)), x);
  return k.select(k.gtf(t, like.f(0.927734375f)), large, small);
}

Value polyLog(KernelBuilder &k, Value x) {
  Like like(k, x);
  // Subnormal numbers times 2^23 are normal ones.
  Value tiny = k.ltf(x, like.f(1.17549435e-38f));
  Value scaled = k.select(tiny, k.mulf(x, like.f(8388608.0f)), x);
  // x = 2^e * m with sqrt(1/2) <= m < sqrt(2).
  Value bits = k.sub(k.bitcast(scaled, like.ints()), like.i(0x3f3504f3));
  Value e = arith::ShRSIOp::create(k.builder(), k.loc(), bits, like.i(23));
  Value m = k.bitcast(k.sub(k.bitcast(scaled, like.ints()), k.shl(e, 23)), like.floats());
  Value exponent = arith::SIToFPOp::create(k.builder(), k.loc(), like.floats(), e);
  exponent = k.subf(exponent, k.select(tiny, like.f(23.0f), like.f(0.0f)));
  Value f = k.subf(m, like.f(1.0f));
  Value p = horner(k, like, f,
                   {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
                    1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f,
                    3.3333331174e-1f});
  Value square = k.mulf(f, f);
  Value rest = k.mulf(k.mulf(p, f), square);
  rest = k.fma(exponent, like.f(-2.12194440e-4f), rest);
  rest = k.fma(like.f(-0.5f), square, rest);
  Value result = k.fma(exponent, like.f(0.693359375f), k.addf(f, rest));
  constexpr float infinity = std::numeric_limits<float>::infinity();
  result = k.select(k.ltf(x, like.f(infinity)), result, x);
  // Of 0 -inf, below NaN; a NaN stays.
  Value other = k.select(k.ltf(x, like.f(0.0f)),
                         like.f(std::numeric_limits<float>::quiet_NaN()),
                         k.addf(x, like.f(-infinity)));
  return k.select(k.gtf(x, like.f(0.0f)), result, other);
}

Value polyLog1p(KernelBuilder &k, Value x) {
  Like like(k, x);
  Value sum = k.addf(like.f(1.0f), x);
  // What the sum has lost of x.
  Value lost = k.subf(x, k.subf(sum, like.f(1.0f)));
  return k.addf(polyLog(k, sum), k.divf(lost, sum));
}

std::pair<Value, Value> polySinCos(KernelBuilder &k, Value x) {
  Like like(k, x);
  Value magic = like.f(12582912.0f);
  Value biased = k.fma(x, like.f(0.636619772f), magic);
  Value n = k.subf(biased, magic);
  // pi/2 in three parts. The first step is exact as long as n has 23 bits.
  Value r = k.fma(n, like.f(-1.57079637e+0f), x);
  r = k.fma(n, like.f(4.37113883e-8f), r);
  r = k.fma(n, like.f(1.71512451e-15f), r);
  Value z = k.mulf(r, r);
  Value sine = horner(k, like, z, {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f});
  sine = k.fma(k.mulf(sine, z), r, r);
  Value cosine = horner(k, like, z,
                        {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f,
                         -0.5f, 1.0f});
  Value quadrant = k.bitcast(biased, like.ints());
  Value zero = like.i(0);
  Value swap = k.eq(k.andi(quadrant, like.i(1)), zero);
  Value sinSign = k.shl(k.andi(quadrant, like.i(2)), 30);
  Value cosSign = k.shl(k.andi(k.add(quadrant, like.i(1)), like.i(2)), 30);
  auto flip = [&](Value value, Value sign) {
    return k.bitcast(k.xori(k.bitcast(value, like.ints()), sign), like.floats());
  };
  return {flip(k.select(swap, sine, cosine), sinSign), flip(k.select(swap, cosine, sine), cosSign)};
}

Value sigmoid(KernelBuilder &k, Value x) {
  Like like(k, x);
  return k.divf(like.f(1.0f), k.addf(like.f(1.0f), polyExp(k, k.negf(x))));
}

Value silu(KernelBuilder &k, Value x) {
  Like like(k, x);
  return k.divf(x, k.addf(like.f(1.0f), polyExp(k, k.negf(x))));
}

Value geluTanh(KernelBuilder &k, Value x) {
  Like like(k, x);
  Value cube = k.mulf(k.mulf(x, x), x);
  Value inner = k.mulf(like.f(0.797884561f), k.fma(like.f(0.044715f), cube, x));
  return k.mulf(k.mulf(like.f(0.5f), x), k.addf(like.f(1.0f), polyTanh(k, inner)));
}

Value geluErf(KernelBuilder &k, Value x) {
  Like like(k, x);
  Value e = polyErf(k, k.mulf(x, like.f(0.707106781f)));
  return k.mulf(k.mulf(like.f(0.5f), x), k.addf(like.f(1.0f), e));
}

} // namespace llmc::kernels
