//===- Reproducer.h - a difference that can be run again --------*- C++ -*-===//
//
// A folder with the smallest program whose numbers a pipeline changes:
//
//   program.mlir           the program before the passes
//   weights.safetensors    its weights, where drawn ones do not show the difference
//   command                how to see it again, with llmc-reduce
//   difference.json        pass, op, tensor, step and what is said
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_REPRODUCER_H
#define LLMC_LIB_PIPELINES_REPRODUCER_H

#include "CheckPasses.h"
#include "Reduce.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"

namespace llmc {

/// How a program is run through passes and looked at.
struct Replay {
  /// Of a builtin.module, as --pass-pipeline takes it: "builtin.module(llm-fuse-qkv-linear)".
  std::string pipeline;
  /// Null: weights are drawn.
  std::shared_ptr<const frontend::Checkpoint> checkpoint;
  StepLimits limits;
  unsigned threads = 1;
  /// Sees the pass manager before it runs (CompileOptions::instrument), and the flag that makes
  /// llmc-reduce do the same; both empty but in tests.
  std::function<void(mlir::PassManager &)> instrument;
  std::string flag;
};

/// What came of it.
struct ReplayResult {
  /// Where the program parts; nothing where no pass changes a number.
  std::optional<PassDifference> difference;
  /// All that was said; also where the pipeline fails for another reason.
  std::string messages;
  bool ran = false;
};

/// Runs the pipeline on a copy of the program, checking every pass.
ReplayResult replay(mlir::ModuleOp program, const Replay &how);

/// The members of difference.json and of llmc-reduce --check --json that say what parts.
void writeFields(llvm::json::OStream &json, const PassDifference &difference);

/// The smallest program for which the same pass still makes a difference.
ReduceResult reduceDifference(mlir::ModuleOp program, const Replay &how,
                              const PassDifference &difference, double seconds);

/// Throws InputError where no reproducer can be written into the folder; leaves nothing there.
void checkReproducerFolder(const std::string &folder);

/// Writes the folder; an empty text, or what went wrong. `told` gets a line for people.
std::string writeReproducer(mlir::ModuleOp program, Replay how, const std::string &folder,
                            double seconds, std::string &told);

/// A copy in a context of its own, where nobody listens.
struct QuietCopy {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};
QuietCopy quietCopy(mlir::ModuleOp module);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_REPRODUCER_H
