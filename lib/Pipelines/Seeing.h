//===- Seeing.h - what a compilation shows of itself ------------*- C++ -*-===//
//
// --explain, --emit=dot, --emit=html and --emit=fusion-report: watches the phases
// of one compilation.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_SEEING_H
#define LLMC_LIB_PIPELINES_SEEING_H

#include "FusionReport.h"
#include "ProgramView.h"
#include "llmc/Pipelines/Compiler.h"

#include <optional>

namespace llmc {

class Seeing {
public:
  /// Remarks of the context come here where anything wants them. Outlives the context's use.
  Seeing(const CompileOptions &options, mlir::MLIRContext &context);

  /// Whether decisions are gathered at all.
  bool gathers() const;
  void add(llvm::StringRef outcome, llvm::StringRef name, llvm::StringRef location,
           llvm::StringRef text) {
    explanation.add(outcome, name, location, text);
  }

  /// To be called around the passes of a phase.
  mlir::LogicalResult before(Phase phase, mlir::ModuleOp module);
  void after(Phase phase, mlir::ModuleOp module);
  /// Prints what --emit asks for once `phase` is done; true when that was it.
  llvm::FailureOr<bool> emit(Phase phase, mlir::ModuleOp module, llvm::raw_ostream &out);
  /// Prints the totals and, where all went well, writes the file of decisions.
  mlir::LogicalResult finish(bool succeeded);

private:
  bool wantsReport() const { return options.emit == "html" || options.emit == "fusion-report"; }
  mlir::LogicalResult writeDecisions() const;

  const CompileOptions &options;
  mlir::MLIRContext &context;
  Explanation explanation;
  std::optional<FusionReport> report;
  /// The program as its fusions left it.
  std::optional<ProgramView> fused;
};

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_SEEING_H
