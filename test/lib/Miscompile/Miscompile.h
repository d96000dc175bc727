//===- Miscompile.h - passes with a mistake on purpose ----------*- C++ -*-===//
//
// Each miscompilation is one wrong transformation that a pass could make: it is
// applied to the module right behind the pass that it is attributed to, before anybody
// else looks. --check-passes or a verify pass must find it and name that pass
// (utils/check_miscompilations.py). Linked into tools where tests are built.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_TEST_LIB_MISCOMPILE_MISCOMPILE_H
#define LLMC_TEST_LIB_MISCOMPILE_MISCOMPILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace llmc::test {

struct Miscompilation {
  llvm::StringLiteral name;
  /// The pass that makes the mistake.
  llvm::StringLiteral pass;
  llvm::StringLiteral what;
  /// A golden model in which the mistake changes a number.
  llvm::StringLiteral model;
  /// Makes the mistake once; false where the module has nothing to make it at.
  bool (*apply)(mlir::ModuleOp module);
};

/// All of them, in the order of the phases.
std::vector<Miscompilation> miscompilations();
/// Null where there is none of that name.
const Miscompilation *findMiscompilation(llvm::StringRef name);

/// Lets the pass of that name make the mistake when it runs in `pm`; says on stderr where it finds
/// nothing to make it at.
void miscompile(mlir::PassManager &pm, const Miscompilation &mistake);

/// Takes --test-miscompile=NAME out of a command line: the mistake, null without it. With
/// --test-miscompile=list it prints name, pass, model and what they do, tab between them, and exits.
const Miscompilation *takeMiscompilation(int &argc, char **argv);

// One file a phase.
llvm::ArrayRef<Miscompilation> programMiscompilations();
llvm::ArrayRef<Miscompilation> planMiscompilations();
llvm::ArrayRef<Miscompilation> kernelMiscompilations();

} // namespace llmc::test

#endif // LLMC_TEST_LIB_MISCOMPILE_MISCOMPILE_H
