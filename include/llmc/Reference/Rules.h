//===- Rules.h - what the reference evaluator does for an op ----*- C++ -*-===//
//
// A rule computes the results of one op. The evaluator guarantees that every
// operand matches its SSA type (kind, rank, static dimensions) and checks the
// results the same way; a rule checks what types do not say, such as the number
// of rows of its operands.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_REFERENCE_RULES_H
#define LLMC_REFERENCE_RULES_H

#include "llmc/Reference/EvaluationError.h"
#include "llmc/Reference/HostValue.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace llmc::reference {

template <typename T> class Evaluator;

/// The values of a block's run.
template <typename T> using Environment = llvm::DenseMap<mlir::Value, HostValue<T>>;

/// One op about to be computed.
template <typename T> class OpContext {
public:
  OpContext(Evaluator<T> &evaluator, mlir::Operation *op, const Environment<T> &environment)
      : evaluator(evaluator), op(op), environment(environment) {}

  const HostValue<T> &value(mlir::Value operand) const {
    return environment.find(operand)->second;
  }
  const HostTensor<T> &tensor(mlir::Value operand) const {
    return *std::get<std::shared_ptr<const HostTensor<T>>>(value(operand));
  }
  const std::vector<int32_t> &tokens(mlir::Value operand) const {
    return *std::get<std::shared_ptr<const std::vector<int32_t>>>(value(operand));
  }
  const Batch &batch(mlir::Value operand) const {
    return *std::get<std::shared_ptr<const Batch>>(value(operand));
  }
  const Weight &weight(mlir::Value operand) const { return std::get<Weight>(value(operand)); }
  const CacheHandle<T> &cache(mlir::Value operand) const {
    return std::get<CacheHandle<T>>(value(operand));
  }
  int64_t index(mlir::Value operand) const { return std::get<int64_t>(value(operand)); }
  llvm::SmallVector<HostValue<T>> values(mlir::ValueRange operands) const {
    llvm::SmallVector<HostValue<T>> list;
    for (mlir::Value operand : operands)
      list.push_back(value(operand));
    return list;
  }

  /// The next result; a tensor is rounded to the result's element type, see Evaluator.h.
  void result(HostTensor<T> tensor);
  void result(HostValue<T> value) { results.push_back(std::move(value)); }
  llvm::SmallVector<HostValue<T>> takeResults() { return std::move(results); }

  llvm::Error error(const llvm::Twine &message) const { return errorAt(op, message); }

  Evaluator<T> &evaluator;

private:
  mlir::Operation *op;
  const Environment<T> &environment;
  llvm::SmallVector<HostValue<T>> results;
};

/// Rounds what is computed in f32 to a narrower element type; f64 stays as it is.
template <typename T> void roundToElement(mlir::Type type, llvm::MutableArrayRef<T> values);

template <typename T>
using Rule = std::function<llvm::Error(mlir::Operation *op, OpContext<T> &context)>;

/// Rules by op name.
template <typename T> class RuleTable {
public:
  /// The table that evaluators use; holds the rules of the llm dialect from the start.
  static RuleTable &global();

  /// Replaces a rule of that name.
  void add(llvm::StringRef opName, Rule<T> rule) { rules[opName] = std::move(rule); }
  template <typename OpTy, typename Function> void add(Function function) {
    add(OpTy::getOperationName(), [function](mlir::Operation *op, OpContext<T> &context) {
      return function(mlir::cast<OpTy>(op), context);
    });
  }
  /// Null where there is none.
  const Rule<T> *lookup(llvm::StringRef opName) const {
    auto it = rules.find(opName);
    return it == rules.end() ? nullptr : &it->second;
  }

private:
  llvm::StringMap<Rule<T>> rules;
};

/// Adds a rule for an op of any dialect. Not while an evaluator runs.
template <typename T> void registerRule(llvm::StringRef opName, Rule<T> rule) {
  RuleTable<T>::global().add(opName, std::move(rule));
}

extern template class OpContext<float>;
extern template class OpContext<double>;
extern template class RuleTable<float>;
extern template class RuleTable<double>;

} // namespace llmc::reference

#endif // LLMC_REFERENCE_RULES_H
