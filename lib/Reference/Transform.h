//===- Transform.h - a function of every element ----------------*- C++ -*-===//
#ifndef LLMC_LIB_REFERENCE_TRANSFORM_H
#define LLMC_LIB_REFERENCE_TRANSFORM_H

#include "llmc/Reference/Evaluator.h"

namespace llmc::reference {

/// The operation's result: `function` of each element of x, in its shape.
template <typename T, typename Function>
llvm::Error transform(const HostTensor<T> &x, OpContext<T> &context, Function function) {
  HostTensor<T> y(x.shape);
  for (size_t i = 0; i < y.data.size(); ++i)
    y.data[i] = function(x.data[i]);
  context.result(std::move(y));
  return llvm::Error::success();
}

} // namespace llmc::reference

#endif // LLMC_LIB_REFERENCE_TRANSFORM_H
