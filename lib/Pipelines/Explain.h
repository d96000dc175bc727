//===- Explain.h - the decisions of a compilation, for people ---*- C++ -*-===//
//
// With --explain every remark becomes a line "passed|missed  name  location
// reason", grouped by phase, with what the decisions save at the end.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_EXPLAIN_H
#define LLMC_LIB_PIPELINES_EXPLAIN_H

#include "llmc/Pipelines/Phases.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringMap.h"

#include <mutex>

namespace llmc {

/// Gathers remarks from the context; outlives it.
class Explanation {
public:
  explicit Explanation(llvm::raw_ostream &out) : out(out) {}

  /// Every remark of the context comes here from now on.
  void attachTo(mlir::MLIRContext &context);
  /// A decision that is no remark. Thread-safe.
  void add(llvm::StringRef outcome, llvm::StringRef name, llvm::StringRef location,
           llvm::StringRef text);
  void add(const mlir::remark::detail::Remark &remark);

  /// Prints what was decided since the last call, as that phase's.
  void endPhase(Phase phase, mlir::ModuleOp module);
  /// Prints what the decisions save over all layers; nothing when nothing was decided.
  void printTotals();

private:
  struct Decision {
    std::string outcome, name, location, text, function;
    int64_t launchesSaved = 0, bytesSaved = 0;
  };
  llvm::raw_ostream &out;
  std::mutex lock;
  std::vector<Decision> decisions;
  unsigned passed = 0, missed = 0;
  int64_t launchesSaved = 0, bytesSaved = 0;
};

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_EXPLAIN_H
