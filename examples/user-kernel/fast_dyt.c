/* dyt(x, w) = w * tanh(alpha * x), as a kernel of its own. Calls no library: kernels have none.
 *   clang -O2 -march=x86-64-v3 -fPIC -fno-builtin -I PREFIX/include -c fast_dyt.c -o fast_dyt.o
 */
#include "llmc/Runtime/UserKernel.h"

/* exp of x in [-20, 20], within a few units of the last place. */
static float exp_of(float x) {
  float n = x * 1.44269504f + 12582912.0f; /* rounds to an integer */
  union {
    float f;
    uint32_t u;
  } bits = {n};
  int32_t power = (int32_t)(bits.u << 10) >> 10;
  n -= 12582912.0f;
  float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  bits.u = (uint32_t)(power + 127) << 23;
  return y * bits.f;
}

static float tanh_of(float x) {
  if (x > 9.0f)
    return 1.0f;
  if (x < -9.0f)
    return -1.0f;
  if (x > -0.25f && x < 0.25f) { /* where 1 - 2 / (e + 1) would lose digits */
    float s = x * x;
    return x + x * s * (-0.33333333f + s * (0.13333333f + s * (-0.053968254f + s * 0.021869489f)));
  }
  return 1.0f - 2.0f / (exp_of(2.0f * x) + 1.0f);
}

/* args: the batch, x [rows, width], w [width], y [rows, width]. Items are rows. facts: width and
   alpha, as kernels.json lists them. */
llmc_user_kernel fast_dyt;
void fast_dyt(void *const *args, int64_t begin, int64_t end, void *scratch, const double *facts) {
  (void)scratch;
  int64_t width = (int64_t)facts[0];
  float alpha = (float)facts[1];
  const float *x = args[1], *w = args[2];
  float *y = args[3];
  for (int64_t i = begin * width; i < end * width; i += width)
    for (int64_t d = 0; d < width; ++d)
      y[i + d] = tanh_of(alpha * x[i + d]) * w[d];
}
