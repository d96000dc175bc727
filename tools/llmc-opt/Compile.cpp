//===- Compile.cpp - the compiler's command line --------------------------===//
#include "Compile.h"

#include "../ParseExit.h"
#include "llmc/Pipelines/CompileFlags.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/Interrupt.h"
#include "llmc/Support/Printable.h"

#include <CLI/CLI.hpp>

#ifdef LLMC_INCLUDE_TESTS
#include "Miscompile/Miscompile.h"
#endif

bool llmc::isCompilerFlag(const std::string &name) {
  // These mean something to both.
  for (const char *shared : {"help", "output", "load-dialect-plugin", "load-pass-plugin", "json"})
    if (name == shared)
      return false;
  CLI::App app;
  CompileOptions options;
  CompileFlags flags;
  addCompileFlags(app, options, flags);
  return name == "help-compile" || (name.size() > 1 && app.get_option_no_throw("--" + name));
}

int llmc::compileMain(int argc, char **argv) {
  CLI::App app("Compiles a language model to an artifact", "llmc-opt");
  CompileOptions options;
  CompileFlags flags;
#ifdef LLMC_INCLUDE_TESTS
  if (const test::Miscompilation *mistake = test::takeMiscompilation(argc, argv)) {
    options.instrument = [mistake](mlir::PassManager &pm) { test::miscompile(pm, *mistake); };
    options.instrumentFlag = "--test-miscompile=" + mistake->name.str();
  }
#endif
  addCompileFlags(app, options, flags);
  app.add_flag_callback("--help-compile", [] { throw CLI::CallForHelp(); }, "This text");
  try {
    app.parse(argc, argv);
    if (std::string problem = finishCompileFlags(options, flags); !problem.empty()) {
      llvm::errs() << "llmc-opt: " << printable(problem) << "\n";
      return 2;
    }
  } catch (const CLI::ParseError &error) {
    return exitAfterParse(app, error);
  } catch (const InputError &error) {
    llvm::errs() << "llmc-opt: error: " << printable(error.what()) << "\n";
    return 1;
  }
  InterruptGuard guard("llmc-opt");
  return compileModel(options, llvm::outs());
}
