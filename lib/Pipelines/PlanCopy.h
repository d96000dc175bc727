//===- PlanCopy.h - a plan that can be run, at any point --------*- C++ -*-===//
//
// Between the passes of the plan phase a plan lacks addresses, contracts or
// kernels. A copy gets what is missing in the plainest way, so that the plan can
// be verified and executed: a difference is then that of the pass just run.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_PLANCOPY_H
#define LLMC_LIB_PIPELINES_PLANCOPY_H

#include "llmc/Dialect/Plan/IR/PlanOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>

namespace llmc {

/// In a context of its own: what is said and remarked there is nobody's business.
struct PlanCopy {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// What is wrong with the plan; empty where it is sound and complete.
  std::string problem;

  plan::ProgramOp program();
};

/// Whether the module holds a plan and no llm program any more.
bool isPlan(mlir::ModuleOp module);

/// Copies a plan and completes it: liveness where there is none, memory of its own for every
/// slice and weight where nothing is packed, contracts and kernels where they are missing. Then
/// plan-verify has the word.
PlanCopy completePlan(mlir::ModuleOp module);

/// Observes what every launch writes, right behind it, under the name "linear at model.norm":
/// generator and path in the model, [i] for the layer. The kernel of each name.
llvm::StringMap<std::string> observeLaunches(plan::ProgramOp program);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PLANCOPY_H
