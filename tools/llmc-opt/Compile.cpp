//===- Compile.cpp - the compiler's command line --------------------------===//
#include "Compile.h"

#include "llmc/Pipelines/CompileFlags.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/Interrupt.h"

#include <CLI/CLI.hpp>

int llmc::compileMain(int argc, char **argv) {
  CLI::App app("Compiles a language model to an artifact", "llmc-opt");
  CompileOptions options;
  CompileFlags flags;
  addCompileFlags(app, options, flags);
  app.add_flag_callback("--help-compile", [] { throw CLI::CallForHelp(); }, "This text");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (std::string problem = finishCompileFlags(options, flags); !problem.empty()) {
    llvm::errs() << "llmc-opt: " << problem << "\n";
    return 2;
  }
  InterruptGuard guard("llmc-opt");
  return compileModel(options, llvm::outs());
}
