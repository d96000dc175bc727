//===- Commands.h - the subcommands of llmc ---------------------*- C++ -*-===//
//
// Every command registers itself on the application; its callback sets the exit
// code or throws (see llmc/Support/Error.h).
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_TOOLS_LLMC_COMMANDS_H
#define LLMC_TOOLS_LLMC_COMMANDS_H

#include "llmc/Runtime/TraceFile.h"

#include <CLI/CLI.hpp>

namespace llmc {

void addRunCommand(CLI::App &app, int &exitCode);
void addChatCommand(CLI::App &app, int &exitCode);
void addTraceCommand(CLI::App &app, int &exitCode);
void addBenchCommand(CLI::App &app, int &exitCode);
void addVerifyCommand(CLI::App &app, int &exitCode);
void addCheckDeviceCommand(CLI::App &app, int &exitCode);

// Commands that need the compiler: in a module that main.cpp loads for them.
void addInspectCommand(CLI::App &app, int &exitCode);
void addDiffCommand(CLI::App &app, int &exitCode);
void addGapsCommand(CLI::App &app, int &exitCode);
void addPlanCommand(CLI::App &app, int &exitCode);
void addTwinCommand(CLI::App &app, int &exitCode);
void addNewCommand(CLI::App &app, int &exitCode);
void addCompileCommand(CLI::App &app, int &exitCode);

/// The model, required, and --target of a command that asks about any model and any target.
void addModelAndTarget(CLI::App &command, std::string &model, std::string &target);

/// What `llmc trace` was asked for, where the runtime does not execute it.
struct TraceRequest {
  std::string subject, device;
  std::vector<int32_t> prompt;
  std::vector<int32_t> otherPrompt; ///< of --with; empty: none
  int64_t greedy = 0, chunk = 0;
  bool onlyLogits = false;
  int threads = 0; ///< 0: not given
  std::vector<std::string> descriptions, excludedDescriptions, acceptedKeys;
  /// Format of blocks for float weights (evaluator), or empty.
  std::string quantize;
  /// As the flags of the compiler, for the model that the evaluator runs.
  std::vector<std::string> opLibraries, dialectPlugins, passPlugins, phasePasses;
};
using TraceHook = std::vector<rt::TraceTensor> (*)(const TraceRequest &request);

/// Executes requests for `device`: "evaluator", "ptx". Call before parsing.
void setTraceHook(const std::string &device, TraceHook hook);
using SetTraceHook = void (*)(const std::string &device, TraceHook hook);

/// The evaluator's hook (built with the compiler).
TraceHook evaluatorTraceHook();

} // namespace llmc

#endif // LLMC_TOOLS_LLMC_COMMANDS_H
