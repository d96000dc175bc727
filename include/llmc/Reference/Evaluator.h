//===- Evaluator.h - runs llm programs on host tensors ----------*- C++ -*-===//
//
// The reference for what a program of the llm dialect computes: each op by its
// documented formula, written for clarity and independent of the lowerings.
//
// Evaluator<double> computes everything in f64 from the f32 weights and rounds
// nowhere. Evaluator<float> computes in f32 in the order that an op documents
// and rounds results to the element types of the program.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_REFERENCE_EVALUATOR_H
#define LLMC_REFERENCE_EVALUATOR_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Reference/EvaluationError.h"
#include "llmc/Reference/HostValue.h"
#include "llmc/Reference/Rules.h"
#include "llmc/Reference/WeightSource.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

#include <functional>

namespace llmc::reference {

struct EvaluatorOptions {
  /// Threads for large ops. The results do not depend on it.
  unsigned threads = 2;
  /// Bytes of dequantised weights to keep.
  uint64_t weightBytes = uint64_t(2) << 30;
};

/// The input of an entry: what each sequence adds, and the rows whose logits are wanted.
struct Step {
  Batch batch;
  std::vector<int32_t> tokens;

  /// Adds tokens of a sequence; returns the row of the first one.
  int64_t add(int64_t sequence, int64_t start, llvm::ArrayRef<int32_t> tokens);
};

template <typename T> class Evaluator {
public:
  using Values = llvm::SmallVector<HostValue<T>>;
  using Observer = std::function<void(llvm::StringRef name, const HostTensor<T> &value)>;

  /// The module is verified, outlives the evaluator and does not change meanwhile.
  Evaluator(mlir::ModuleOp module, WeightSource &weights, EvaluatorOptions options = {});

  /// Called for every llm.observe, `{i}` and `{i+1}` resolved.
  void setObserver(Observer callback) { observer = std::move(callback); }

  /// Runs one function. State families keep their contents from call to call.
  llvm::Expected<Values> evaluateFunction(llvm::StringRef name,
                                          llvm::ArrayRef<HostValue<T>> inputs);
  /// Runs the entry (the function with `llm.entry`) and returns its first result, the
  /// logits. A sequence may start anywhere up to its length: later positions are dropped.
  llvm::Expected<HostTensor<T>> evaluateStep(const Step &step);
  /// Forgets a sequence.
  void release(int64_t sequence);

  // What rules use.
  llvm::Expected<Values> call(mlir::func::FuncOp function, llvm::ArrayRef<HostValue<T>> inputs);
  /// Runs a block up to its terminator and returns the terminator's operands.
  llvm::Expected<Values> runBlock(mlir::Block &block, llvm::ArrayRef<HostValue<T>> inputs);
  /// A member of a family, `layer` -1 for the only one.
  llvm::Expected<Weight> parameter(mlir::Operation *user, llvm::StringRef family, int64_t layer);
  /// State before the step, or `asItStands`: with what the layer has appended in it.
  llvm::Expected<CacheHandle<T>> state(mlir::Operation *user, llvm::StringRef family,
                                       int64_t layer, bool asItStands = false);
  mlir::func::FuncOp lookupFunction(llvm::StringRef name) const {
    return symbols.lookup<mlir::func::FuncOp>(name);
  }
  void observe(llvm::StringRef name, const HostTensor<T> &value) const {
    if (observer)
      observer(name, value);
  }
  unsigned getThreads() const { return options.threads; }

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  EvaluatorOptions options;
  WeightCache weights;
  Observer observer;
  std::map<std::pair<std::string, int64_t>, std::shared_ptr<CacheState<T>>> states;
  unsigned depth = 0;
};

extern template class Evaluator<float>;
extern template class Evaluator<double>;

} // namespace llmc::reference

#endif // LLMC_REFERENCE_EVALUATOR_H
