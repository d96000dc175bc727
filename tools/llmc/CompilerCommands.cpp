//===- CompilerCommands.cpp - the module of commands that compile ---------===//
//
// A module of its own, because MLIR and LLVM take 60 MiB and a tenth of a second
// to load, which commands that run an artifact need not pay.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"

using namespace llmc;

void llmc::addModelAndTarget(CLI::App &command, std::string &model, std::string &target) {
  command
      .add_option("model", model,
                  "Folder with config.json, the config.json itself, .gguf, description, .mlir, or a "
                  "name of the catalogue")
      ->required();
  command
      .add_option("--target", target,
                  "Name of a target, or a file that describes one (targets/README.md)")
      ->capture_default_str();
}

extern "C" __attribute__((visibility("default"))) void
llmc_register_compiler_commands(CLI::App &app, int &exitCode, SetTraceHook setHook) {
  addInspectCommand(app, exitCode);
  addDiffCommand(app, exitCode);
  addGapsCommand(app, exitCode);
  addPlanCommand(app, exitCode);
  addTwinCommand(app, exitCode);
  addNewCommand(app, exitCode);
  addCompileCommand(app, exitCode);
#ifdef LLMC_HAVE_EVALUATOR_TRACE
  setHook("evaluator", evaluatorTraceHook());
#else
  (void)setHook;
#endif
}
