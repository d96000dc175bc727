//===- Trace.h - named intermediate values of a model -----------*- C++ -*-===//
//
// Runs a prompt through a program and collects what it observes, the logits at
// every position and a greedy continuation decoded through the state.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_REFERENCE_TRACE_H
#define LLMC_REFERENCE_TRACE_H

#include "llmc/Reference/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <variant>
#include <vector>

namespace llmc::reference {

struct TraceOptions {
  /// Tokens to decode after the prompt.
  int64_t greedy = 0;
  /// Tokens of a prompt in one step; 0: all of it.
  int64_t chunk = 0;
  /// Leave out what the program observes.
  bool onlyLogits = false;
  /// Compute in f64 (see Evaluator.h).
  bool doublePrecision = true;
  /// Prompt of another request that runs in the same steps; empty: none.
  std::vector<int64_t> otherPrompt;
  unsigned threads = 2;
  /// Bytes of dequantised weights to keep.
  uint64_t weightBytes = uint64_t(2) << 30;
};

struct TraceTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::variant<std::vector<float>, std::vector<int64_t>> data;
};

/// The observed values of the prompt, [T, …] each, in the order they were first seen; then
/// `logits` [T, V], what the entry returns (a value observed under this name is left to it);
/// and with `options.greedy` > 0 the tokens `greedy` [N] and the logits that
/// each was chosen from, `greedy_logits` [N, V]. Ties go to the smaller token.
llvm::Expected<std::vector<TraceTensor>> traceModel(mlir::ModuleOp module, WeightSource &weights,
                                                    llvm::ArrayRef<int64_t> prompt,
                                                    const TraceOptions &options = {});

} // namespace llmc::reference

#endif // LLMC_REFERENCE_TRACE_H
