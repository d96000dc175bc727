//===- llmc-reduce.cpp - the smallest program that still does it ----------===//
#include "../ParseExit.h"
#include "../llmc/Validators.h"
#include "llmc/Pipelines/ExtensionFlags.h"
#include "llmc/Pipelines/Interrupt.h"
#include "llmc/Pipelines/ReduceCommand.h"

#include "llmc/Support/Printable.h"

#include <CLI/CLI.hpp>
#include "llvm/Support/raw_ostream.h"

#ifdef LLMC_INCLUDE_TESTS
#include "Miscompile/Miscompile.h"
#endif

int main(int argc, char **argv) {
  CLI::App app("Makes a program of the llm dialect smaller while a pass still changes its numbers, "
               "or while a command still finds what it looks for",
               "llmc-reduce");
  llmc::ReduceCommand command;
#ifdef LLMC_INCLUDE_TESTS
  if (const llmc::test::Miscompilation *mistake = llmc::test::takeMiscompilation(argc, argv))
    command.instrument = [mistake](mlir::PassManager &pm) {
      llmc::test::miscompile(pm, *mistake);
    };
#endif
  app.add_option("program", command.program, "Program of the llm dialect, .mlir")->required();
  CLI::Option *pipeline = app.add_option(
      "--pass-pipeline", command.pipeline,
      "Passes of which one changes the numbers on seeded inputs: builtin.module(...)");
  CLI::Option *test =
      app.add_option("--test", command.test,
                     "Command that ends with exit code 1 while the program, its last argument, is "
                     "still of interest (as for mlir-reduce)");
  pipeline->excludes(test);
  app.add_flag("--check", command.check, "Reduce nothing, say where the program parts")
      ->needs(pipeline);
  app.add_option("--checkpoint", command.checkpoint,
                 "Weights: .safetensors or .gguf (default: drawn from the tensors' names)");
  app.add_option("-o,--output", command.output, "File of the small program (default: standard output)");
  app.add_option("--seconds", command.seconds, "Begin no new attempt after so long")
      ->check(llmc::number(0.001, 1e9))
      ->capture_default_str();
  app.add_option("--limits", command.limits,
                 "Rows, logits, sequences and positions that steps may have")
      ->delimiter(',')
      ->expected(4)
      ->check(llmc::wholeNumber(1, INT64_MAX));
  app.add_option("--threads", command.threads, "Threads (default: 1)")->check(CLI::Range(1, 1024));
  app.add_flag("--json", command.json, "With --check: one JSON object (docs/Debugging.md)");
  llmc::addPluginFlags(app);
  try {
    app.parse(argc, argv);
    if (command.pipeline.empty() && command.test.empty())
      throw CLI::RequiredError("--pass-pipeline or --test");
  } catch (const CLI::ParseError &error) {
    return llmc::exitAfterParse(app, error);
  } catch (const llmc::InputError &error) {
    llvm::errs() << "llmc-reduce: error: " << llmc::printable(error.what()) << "\n";
    return 1;
  }
  // Behind plug-ins, whose loader has a handler of its own for a while.
  llmc::endAtFailedOutput("llmc-reduce");
  return llmc::reduceMain(command, llvm::outs());
}
