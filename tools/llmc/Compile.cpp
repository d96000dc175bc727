//===- Compile.cpp - llmc compile: the compiler under its friendly name ----===//
#include "Commands.h"

#include "llmc/Pipelines/CompileFlags.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/Interrupt.h"
#include "llmc/Support/Error.h"

namespace llmc {

void addCompileCommand(CLI::App &app, int &exitCode) {
  struct Arguments {
    CompileOptions options;
    CompileFlags flags;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command =
      app.add_subcommand("compile", "Compile a model to an artifact (the same as llmc-opt)");
  addCompileFlags(*command, arguments->options, arguments->flags);
  command->callback([arguments, &exitCode] {
    if (std::string problem = finishCompileFlags(arguments->options, arguments->flags);
        !problem.empty())
      throw UsageError(problem);
    InterruptGuard guard("llmc");
    exitCode = compileModel(arguments->options, llvm::outs());
  });
}

} // namespace llmc
