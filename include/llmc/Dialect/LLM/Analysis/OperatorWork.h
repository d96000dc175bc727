//===- OperatorWork.h - what an operation costs, whoever runs it -*- C++ -*-===//
//
// Multiply-adds and bytes of one operation in one step, from its types alone: what
// any kernel has to do at least. Reports on operators and layouts share it.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_DIALECT_LLM_ANALYSIS_OPERATORWORK_H
#define LLMC_DIALECT_LLM_ANALYSIS_OPERATORWORK_H

#include "mlir/IR/Operation.h"

#include <string>
#include <utility>
#include <vector>

namespace llmc::llm {

/// A step of one sequence.
struct StepShape {
  /// Rows of the step, positions held before it, rows whose logits are wanted.
  int64_t tokens = 1, past = 0, outputs = 1;
  /// Bytes of one element of rows between operations, and of state.
  double rowBytes = 2, stateBytes = 2;
};

/// All are sums over the step. Floating, because products of a large model exceed 2^63.
struct OperatorWork {
  /// Multiply-adds of products and of attention; for other operations one for each element
  /// of the result.
  double multiplyAdds = 0;
  /// Bytes of weights as stored, each read once; of a table only the rows that are looked up,
  /// of experts as many as `tokens` random choices reach on average.
  double weightBytes = 0;
  /// Bytes of state read and written.
  double stateBytes = 0;
  /// Bytes of rows read and written.
  double rowBytes = 0;

  double bytes() const { return weightBytes + stateBytes + rowBytes; }
  OperatorWork &operator+=(const OperatorWork &other);
  OperatorWork operator*(double times) const;
};

/// The work of an operation of the dialect that computes rows. Views (split_heads and
/// merge_heads), symbols, observations and structure cost nothing.
OperatorWork workOf(mlir::Operation *op, const StepShape &step);

/// Whether the operation computes something, so that a device has to have it.
bool isOperator(mlir::Operation *op);

/// The names of all operations that do: "llm.linear", ...
std::vector<std::string> operatorNames(mlir::MLIRContext &context);

/// What distinguishes one use of an operation from another as far as kernels are concerned:
/// widths, weight storage, attributes; `name` and value, in a fixed order. Names are those of
/// the operation's page, widths `width`, `in`, `out`, `heads`, `kv_heads`,
/// `key_width`, `value_width`, `experts`, `taps`, `group`, `top`.
std::vector<std::pair<std::string, std::string>> operatorFacts(mlir::Operation *op);

/// Names that the facts of an operation called `op` can have.
std::vector<std::string> factNames(llvm::StringRef op, mlir::MLIRContext &context);

/// The facts and, behind them, the numbers of the operation that llmc's own kernels take as they
/// come: `epsilon`, `offset`, `scale`, `factor`. A number's text reads as exactly that number.
std::vector<std::pair<std::string, std::string>> kernelFacts(mlir::Operation *op);

/// Names that those of an operation called `op` can have.
std::vector<std::string> kernelFactNames(llvm::StringRef op, mlir::MLIRContext &context);

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_ANALYSIS_OPERATORWORK_H
