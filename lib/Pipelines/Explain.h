//===- Explain.h - the decisions of a compilation ---------------*- C++ -*-===//
//
// Gathers every remark. Equal decisions of layers and kinds of layers are one, with
// how often a step takes it: what is printed grows with what is different.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_EXPLAIN_H
#define LLMC_LIB_PIPELINES_EXPLAIN_H

#include "llmc/Pipelines/Phases.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <atomic>
#include <map>
#include <mutex>

namespace llmc {

/// One decision, at one place of the program.
struct Decision {
  /// "passed", "missed", "failed", "info", or "check" of --check-passes.
  std::string outcome;
  /// Of a pattern, or of what is decided: `launch`, `packing`.
  std::string name;
  /// `fusion`, `plan`, … : the remark's.
  std::string category;
  /// Path in the model, or "-".
  std::string location;
  /// The reason or the result, with the facts that people read.
  std::string text;
  /// The predicate that refused it, where one has a name.
  std::string predicate;
  /// All that the remark says by name, in its order.
  std::vector<std::pair<std::string, std::string>> facts;
  int64_t launchesSaved = 0, bytesSaved = 0;
  /// Layers that take it, where the remark says so; else all that run its function.
  int64_t runs = 0;
};

/// A decision and all places where it was taken alike.
struct DecisionGroup {
  Phase phase;
  Decision decision;
  /// Where in a function it was taken.
  struct Places {
    /// For all runs of the function; and runs of the others, one by one.
    int64_t everywhere = 0, runs = 0;
  };
  /// By function. "" is the program as a whole.
  std::map<std::string, Places> functions;
};

/// Which layers run each function.
class LayerKinds {
public:
  /// Takes what an llm module says; a module without repeats changes nothing.
  void learn(mlir::ModuleOp module);
  /// How often a step runs the function: its layers, or once.
  int64_t runs(llvm::StringRef function) const;
  /// "0 to 29, 31"; empty for a function that no layer runs.
  std::string layers(llvm::StringRef function) const;

private:
  llvm::StringMap<std::vector<int64_t>> known;
};

/// Gathers remarks from the context; outlives it.
class Explanation {
public:
  /// Every remark of the context comes here from now on.
  void attachTo(mlir::MLIRContext &context);
  /// A decision that is no remark. Thread-safe.
  void add(llvm::StringRef outcome, llvm::StringRef name, llvm::StringRef location,
           llvm::StringRef text);
  void add(const mlir::remark::detail::Remark &remark);
  /// Whether remarks are left out: those of passes that only try something.
  void pause(bool now) { paused = now; }
  /// Tells which layers run what; to be called before a phase that erases functions.
  void learn(mlir::ModuleOp module) { layerKinds.learn(module); }
  /// Launches of a step of the same program without fusions. From then on what fusion saves in
  /// launches is the difference to the plan's: copies that it needs or spares count.
  void setUnfusedLaunches(std::optional<int64_t> launches) { unfusedLaunches = launches; }
  /// What was decided since the last call belongs to that phase; the first of its groups.
  size_t endPhase(Phase phase);

  const std::vector<DecisionGroup> &groups() const { return decided; }
  const LayerKinds &kinds() const { return layerKinds; }
  /// How often a step meets the decision.
  int64_t times(const DecisionGroup &group) const;
  /// Places of the function where it was taken: layers of one function are one place.
  int64_t places(llvm::StringRef function, const DecisionGroup::Places &places) const;

  /// Prints the groups from `first` on, which are of one phase, by the functions that they are of.
  void printPhase(size_t first, llvm::raw_ostream &out) const;
  /// Prints what the decisions save over all layers; nothing when nothing was decided.
  void printTotals(llvm::raw_ostream &out) const;
  /// docs/Seeing.md has the schema.
  llvm::json::Value toJson() const;

private:
  struct Taken {
    std::string function;
    Decision decision;
  };
  struct Totals {
    int64_t passed = 0, missed = 0;
    /// Of those that passed.
    int64_t fusions = 0;
    /// What the fusions say they save.
    int64_t launchesSaved = 0, bytesSaved = 0;
    /// Of the plan.
    int64_t launches = 0;
  };
  Totals totals() const;
  /// Launches that fusion saves, exactly; nothing where no plan was made.
  std::optional<int64_t> netLaunchesSaved(const Totals &sum) const;

  std::mutex lock;
  std::atomic<bool> paused = false;
  std::vector<Taken> taken;
  std::vector<DecisionGroup> decided;
  LayerKinds layerKinds;
  std::optional<int64_t> unfusedLaunches;
};

/// Layers, which ascend, as ranges: "0 to 29, 31".
std::string rangesText(llvm::ArrayRef<int64_t> layers);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_EXPLAIN_H
