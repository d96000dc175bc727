//===- ReduceCommand.h - programs made small on purpose ---------*- C++ -*-===//
#ifndef LLMC_PIPELINES_REDUCECOMMAND_H
#define LLMC_PIPELINES_REDUCECOMMAND_H

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>
#include <vector>

namespace llmc {

struct ReduceCommand {
  /// A program of the llm dialect, .mlir.
  std::string program;
  /// "builtin.module(...)": a program is interesting while one of these passes changes its numbers
  /// on seeded inputs, the same one as in the program given.
  std::string pipeline;
  /// Or: while this command, which gets a file with the program as its last argument, ends with
  /// exit code 1 (as the script of mlir-reduce).
  std::string test;
  /// Weights: safetensors or GGUF; empty: drawn.
  std::string checkpoint;
  /// Where the small program goes; empty: standard output.
  std::string output;
  /// Reduce nothing; say where the program parts.
  bool check = false;
  /// The difference, or what was reduced, as JSON on standard output (docs/Debugging.md).
  bool json = false;
  double seconds = 300;
  unsigned threads = 0;
  /// Rows, logits, sequences and positions that steps may have; empty: as many as they need.
  std::vector<int64_t> limits;
  /// As in CompileOptions.
  std::function<void(mlir::PassManager &)> instrument = {};
};

/// The exit code: 0, or with `check` 1 where a pass changes a number; 1 the input is at fault.
/// Nothing here throws.
int reduceMain(const ReduceCommand &command, llvm::raw_ostream &out);

} // namespace llmc

#endif // LLMC_PIPELINES_REDUCECOMMAND_H
