//===- CheckPasses.h - does every pass keep the numbers ---------*- C++ -*-===//
//
// --check-passes: before and after every pass that changed the module, the
// program runs in the reference evaluator and everything it observes is
// compared. It covers the passes on the llm dialect, import to optimize; what
// plan and kernels make is no llm program any more and is held to the golden
// tests, which execute artifacts.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_CHECKPASSES_H
#define LLMC_LIB_PIPELINES_CHECKPASSES_H

#include "ProgramRun.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <functional>
#include <memory>

namespace llmc {

struct PassCheckOptions {
  /// Bounds on a difference, relative to the largest magnitude of a tensor. Passes on llm
  /// restructure and never reorder a sum, so these only leave room for the last bits.
  double bound64 = 1e-12, bound32 = 1e-6;
  /// Elements of all weights above which a program is run in part: few tokens, each layer of
  /// a repeat once, and f32 only where activations are rounded to less. A check then costs
  /// what the kinds of layers cost. And elements above which nothing is run at all.
  uint64_t wholeProgram = uint64_t(1) << 28, anyProgram = uint64_t(1) << 33;
  unsigned threads = 2;
  /// Gets the pass's name and one sentence for every pass that was looked at; one that could
  /// not be is a warning.
  std::function<void(llvm::StringRef pass, llvm::StringRef text)> report;
};

/// Compares the program around the passes of any number of pass managers, one after another.
class PassChecker {
public:
  PassChecker(std::shared_ptr<reference::WeightSource> weights, PassCheckOptions options);
  ~PassChecker();

  /// To be added to a pass manager that runs on one thread (a program is evaluated as a
  /// whole) and that the checker outlives.
  std::unique_ptr<mlir::PassInstrumentation> makeInstrumentation();

  /// After the first difference, which was emitted as an error, nothing is checked any more.
  bool hasFailed() const { return failed; }
  /// Passes that changed the module and kept the numbers.
  unsigned getChecked() const { return checked; }

  void beforePass(mlir::Operation *op);
  void afterPass(mlir::Pass *pass, mlir::Operation *op);

private:
  /// The program of one moment, and its numbers once somebody asked.
  struct Snapshot {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    uint64_t hash = 0;
    std::string repeats;
    /// The module was cut down to one run of each layer, see PassCheckOptions.
    bool cut = false;
    std::optional<ProgramRun> run64, run32;
  };
  std::unique_ptr<Snapshot> take(mlir::ModuleOp module, uint64_t hash);
  /// Runs what was not run yet; in f32 too where `in32` is set.
  mlir::LogicalResult evaluate(Snapshot &snapshot, bool in32);
  template <typename T>
  void reportDifference(llvm::StringRef pass, mlir::ModuleOp module, Snapshot &after,
                        const Difference &difference, double bound);
  void report(llvm::StringRef pass, const llvm::Twine &text);

  std::shared_ptr<reference::WeightSource> weights;
  PassCheckOptions options;
  std::unique_ptr<Snapshot> last;
  bool failed = false;
  unsigned checked = 0;
};

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_CHECKPASSES_H
