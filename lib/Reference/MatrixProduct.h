//===- MatrixProduct.h - rows times the rows of a weight --------*- C++ -*-===//
#ifndef LLMC_LIB_REFERENCE_MATRIXPRODUCT_H
#define LLMC_LIB_REFERENCE_MATRIXPRODUCT_H

#include <cstdint>

namespace llmc::reference {

/// `y[t, n] = sum_k x[t, k] * w[n, k]`, each output one FMA chain from zero in ascending k,
/// whatever the number of rows and threads. x is [rows, depth], w [features, depth].
template <typename T>
void matrixProduct(const T *x, const float *w, T *y, int64_t rows, int64_t depth,
                   int64_t features, unsigned threads);

} // namespace llmc::reference

#endif // LLMC_LIB_REFERENCE_MATRIXPRODUCT_H
