//===- Rules.cpp - the table of rules, and results of an op ---------------===//
#include "llmc/Reference/Rules.h"

#include "RuleSets.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

#include <type_traits>

using namespace llmc::reference;

/// To the nearest value of the type, ties to even.
static float roundTo(const llvm::fltSemantics &semantics, float value) {
  llvm::APFloat rounded(value);
  bool losesInfo;
  rounded.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToFloat();
}

template <typename T>
void llmc::reference::roundToElement(mlir::Type type, llvm::MutableArrayRef<T> values) {
  if constexpr (std::is_same_v<T, float>)
    if (auto element = mlir::dyn_cast<mlir::FloatType>(type); element && element.getWidth() < 32)
      for (float &value : values)
        value = roundTo(element.getFloatSemantics(), value);
}

template void llmc::reference::roundToElement(mlir::Type, llvm::MutableArrayRef<float>);
template void llmc::reference::roundToElement(mlir::Type, llvm::MutableArrayRef<double>);

template <typename T> void OpContext<T>::result(HostTensor<T> tensor) {
  unsigned number = unsigned(results.size());
  if (number < op->getNumResults())
    if (auto type = mlir::dyn_cast<mlir::RankedTensorType>(op->getResult(number).getType()))
      roundToElement<T>(type.getElementType(), tensor.data);
  results.push_back(makeTensor<T>(std::move(tensor)));
}

template <typename T> RuleTable<T> &RuleTable<T>::global() {
  static RuleTable table = [] {
    RuleTable rules;
    addStreamRules(rules);
    addAttentionRules(rules);
    addElementRules(rules);
    addEmbeddingRules(rules);
    addEntryRules(rules);
    addLinearRules(rules);
    addNormRules(rules);
    addRecurrentRules(rules);
    addRoutingRules(rules);
    addStructureRules(rules);
    return rules;
  }();
  return table;
}

template class llmc::reference::OpContext<float>;
template class llmc::reference::OpContext<double>;
template class llmc::reference::RuleTable<float>;
template class llmc::reference::RuleTable<double>;
