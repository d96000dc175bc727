//===- Reduce.cpp - the smallest program that still does it ---------------===//
#include "Reduce.h"

#include "ReduceSteps.h"
#include "llmc/Pipelines/ModelContext.h"

#include "mlir/IR/Verifier.h"

#include <chrono>

using namespace mlir;

namespace llmc {

namespace {

class Reducer {
public:
  Reducer(ModuleOp module, const ReduceOptions &options) : options(options) {
    result.module = module.clone();
    result.opsBefore = countOps(module);
  }

  ReduceResult run() {
    bool changed = true;
    while (changed && !result.outOfTime) {
      changed = false;
      for (const ReduceStep &step : reduceSteps())
        changed |= applyEverywhere(step);
    }
    result.opsAfter = countOps(*result.module);
    return std::move(result);
  }

private:
  /// From the last place to the first: what is behind is what less depends on.
  bool applyEverywhere(const ReduceStep &step) {
    bool changed = false;
    for (int64_t number = step.places(*result.module); number-- > 0 && !isOutOfTime();) {
      number = std::min(number, step.places(*result.module) - 1);
      if (number >= 0)
        changed |= attempt(step, number);
    }
    return changed;
  }

  bool isOutOfTime() {
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
    result.outOfTime |= spent.count() > options.seconds;
    return result.outOfTime;
  }

  bool attempt(const ReduceStep &step, int64_t number) {
    OwningOpRef<ModuleOp> candidate = result.module->clone();
    ErrorCollector messages(*candidate->getContext(), /*printsRemarks=*/false);
    if (!step.apply(*candidate, number))
      return false;
    tidyProgram(*candidate);
    if (failed(mlir::verify(*candidate)))
      return false;
    ++result.attempts;
    if (!options.isInteresting(*candidate))
      return false;
    result.module = std::move(candidate);
    return true;
  }

  const ReduceOptions &options;
  ReduceResult result;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

} // namespace

ReduceResult reduceProgram(ModuleOp module, const ReduceOptions &options) {
  return Reducer(module, options).run();
}

} // namespace llmc
