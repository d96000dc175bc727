//===- LinearRules.cpp - matrix products ----------------------------------===//
#include "MatrixProduct.h"
#include "RuleSets.h"

#include "llmc/Reference/Evaluator.h"

using namespace llmc::reference;
namespace llm = llmc::llm;

/// The product of rows with a weight [features, depth], or an error.
template <typename T>
static llvm::Expected<HostTensor<T>> product(const HostTensor<T> &x, const Weight &weight,
                                             OpContext<T> &context) {
  if (weight.shape.size() != 2 || x.rank() != 2 || x.width() != weight.shape[1])
    return context.error("needs rows as wide as the weight's columns; the input is " +
                         shapeText(x.shape) + ", the weight " + shapeText(weight.shape));
  HostTensor<T> y({x.rows(), weight.shape[0]});
  matrixProduct(x.data.data(), weight.values->data(), y.data.data(), x.rows(), x.width(),
                weight.shape[0], context.evaluator.getThreads());
  return y;
}

template <typename T> static llvm::Error linear(llm::LinearOp op, OpContext<T> &context) {
  llvm::Expected<HostTensor<T>> y =
      product(context.tensor(op.getInput()), context.weight(op.getWeight()), context);
  if (!y)
    return y.takeError();
  if (op.getBias()) {
    const Weight &bias = context.weight(op.getBias());
    if (bias.shape != Shape{y->width()})
      return context.error("needs a bias of " + llvm::Twine(y->width()) + " values, it is " +
                           shapeText(bias.shape));
    for (int64_t t = 0; t < y->rows(); ++t)
      for (int64_t n = 0; n < y->width(); ++n)
        y->row(t)[n] += T((*bias.values)[n]);
  }
  context.result(std::move(*y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error outputHead(llm::OutputHeadOp op, OpContext<T> &context) {
  llvm::Expected<HostTensor<T>> y =
      product(context.tensor(op.getInput()), context.weight(op.getWeight()), context);
  if (!y)
    return y.takeError();
  context.result(std::move(*y));
  return llvm::Error::success();
}

template <typename T> void llmc::reference::addLinearRules(RuleTable<T> &table) {
  table.template add<llm::LinearOp>(linear<T>);
  table.template add<llm::OutputHeadOp>(outputHead<T>);
}

template void llmc::reference::addLinearRules(RuleTable<float> &);
template void llmc::reference::addLinearRules(RuleTable<double> &);
