//===- CheckPasses.h - does every pass keep the numbers ---------*- C++ -*-===//
//
// --check-passes: before and after every pass that changed the module, the
// program runs on seeded inputs and everything it observes is compared, row by
// row. A program of the llm dialect runs in the reference evaluator; what plan and
// kernels make of it is executed, against the evaluator behind the
// conversion, and bit for bit against the plan before the pass from there on.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_CHECKPASSES_H
#define LLMC_LIB_PIPELINES_CHECKPASSES_H

#include "PlanRun.h"
#include "ProgramRun.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <functional>
#include <memory>

namespace llmc {

/// What a pass did to the program.
struct PassDifference {
  std::string pass;
  /// One sentence.
  std::string text;
  /// Where it parts; empty where the program is refused or no longer runs.
  std::string tensor, step, op;
};

struct PassCheckOptions {
  /// Bounds on the error of a row (CompareRuns.h). Passes on llm
  /// restructure and never reorder a sum, so these only leave room for the last bits.
  double bound64 = 1e-12, bound32 = 1e-6;
  /// Kernels sum in an order of their own, so a plan may be off from the evaluator in f64 by this,
  /// or by so many times what the evaluator is off in f32.
  double planBound = 1e-5, planNoise = 20;
  /// Elements of all weights above which a program is run in part: few tokens, each layer of
  /// a repeat once, and f32 only where activations are rounded to less. A check then costs
  /// what the kinds of layers cost, and plans are not executed. And elements above which nothing
  /// is run at all; below which prompts are long.
  uint64_t wholeProgram = uint64_t(1) << 28, anyProgram = uint64_t(1) << 33,
           smallProgram = uint64_t(1) << 21;
  unsigned threads = 2;
  /// Of the deployment that is compiled for.
  StepLimits limits;
  /// Executes plans; null: they are not.
  std::shared_ptr<PlanRunner> plans;
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
  const std::optional<PassDifference> &difference() const { return found; }
  /// Passes that changed the module and kept the numbers.
  unsigned getChecked() const { return checked; }
  /// "9 passes checked, 1 not checked (toy-lower)": of those that changed the module.
  std::string summary() const;

  /// Gets the difference, which was emitted, with the llm program before the pass; behind the
  /// conversion that is the program which was converted. Not called where a program was cut.
  std::function<void(const PassDifference &difference, mlir::ModuleOp program,
                     mlir::Pass *pass)> onDifference;

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
    /// An operation of a dialect that the evaluator has no rule for; empty where there is none.
    std::string foreign;
    /// What a verify pass says against it; empty where nothing.
    std::string problem;
    std::optional<ProgramRun> run64, run32;

    bool isPlan = false;
    /// Complete, of a plan.
    std::optional<PlanCopy> plan;
    uint64_t planHash = 0;
  };
  /// The pass at hand and what it made of what.
  struct Around {
    mlir::Pass *pass;
    llvm::StringRef name;
    Snapshot &before, &after;
  };

  std::unique_ptr<Snapshot> take(mlir::ModuleOp module, uint64_t hash);
  void check(const Around &around);
  /// Runs what was not run yet; in f32 too where `in32` is set.
  mlir::LogicalResult evaluate(Snapshot &snapshot, bool in32);
  void checkProgram(const Around &around);
  void checkConversion(const Around &around);
  void checkPlan(const Around &around);
  /// False, with a word, where this plan cannot be executed here.
  bool canExecute(const Around &around);
  mlir::LogicalResult execute(const Around &around, Snapshot &snapshot);

  // CheckReport.cpp
  /// Emits what is wrong and keeps it; a note a line of `notes`.
  void fail(const Around &around, PassDifference difference,
            llvm::ArrayRef<std::string> notes = {});
  /// "'hidden.1' of the prefill step is …": where and by how much.
  static std::string describe(const Difference &difference);
  template <typename T> void reportProgram(const Around &around, const Difference &difference);
  void reportConversion(const Around &around, const Difference &difference);
  void reportPlan(const Around &around, const Difference &difference);
  llvm::Expected<ProgramRun> runObserved(mlir::ModuleOp module, llvm::StringMap<std::string> &kernels);

  void report(llvm::StringRef pass, const llvm::Twine &text);
  /// Counts a pass whose numbers are not known, and warns of it unless that was `said` before.
  void leaveUnchecked(const Around &around, const llvm::Twine &why, bool said = false);

  std::shared_ptr<reference::WeightSource> weights;
  PassCheckOptions options;
  std::unique_ptr<Snapshot> last;
  /// The same for all, so that a pass that changes a window is seen.
  llvm::SmallVector<NamedStep> steps;
  /// Whether the plans' weights are known, and what they were made of.
  bool prepared = false;
  mlir::OwningOpRef<mlir::ModuleOp> converted;
  bool failed = false;
  std::optional<PassDifference> found;
  unsigned checked = 0;
  std::vector<std::string> unchecked;
};

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_CHECKPASSES_H
