//===- ExtensionFlags.h - flags for what llmc lacks -------------*- C++ -*-===//
//
// Header-only for the reason of CompileFlags.h. docs/Extending.md is their manual.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_EXTENSIONFLAGS_H
#define LLMC_PIPELINES_EXTENSIONFLAGS_H

#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Pipelines/Phases.h"
#include "llmc/Pipelines/Plugins.h"
#include "llmc/Support/Error.h"

#include <CLI/CLI.hpp>

namespace llmc {

/// MLIR's plug-ins, which are loaded while the command line is read. A file that is none throws
/// InputError out of the parser.
inline void addPluginFlags(CLI::App &app) {
  auto addPlugin = [&](const char *flag, const char *text, std::string (*load)(const std::string &)) {
    app.add_option_function<std::vector<std::string>>(
           flag,
           [load](const std::vector<std::string> &files) {
             for (const std::string &file : files)
               if (std::string problem = load(file); !problem.empty())
                 throw InputError(problem);
           },
           text)
        ->allow_extra_args(false);
  };
  addPlugin("--load-dialect-plugin", "Shared object with MLIR dialects (repeatable)",
            loadDialectPlugin);
  addPlugin("--load-pass-plugin", "Shared object with MLIR passes (repeatable)", loadPassPlugin);
}

/// --op-library and the plug-ins.
inline void addLibraryFlags(CLI::App &app, std::vector<std::string> &opLibraries) {
  app.add_option("--op-library", opLibraries,
                 ".mlir with operations that descriptions may call (docs/Extending.md; repeatable)")
      ->allow_extra_args(false);
  addPluginFlags(app);
}

/// --kernel-library and --phase-pass; behind addLibraryFlags, whose plug-ins have the passes.
inline void addExtensionFlags(CLI::App &app, PhaseOptions &options) {
  app.add_option("--kernel-library", options.kernelLibraries,
                 "JSON with kernels of your own (docs/Extending.md; repeatable)")
      ->allow_extra_args(false);
  app.add_option_function<std::vector<std::string>>(
         "--phase-pass",
         [&options](const std::vector<std::string> &texts) {
           for (const std::string &text : texts) {
             PhasePass pass;
             if (std::string problem = parsePhasePass(text, pass); !problem.empty())
               throw CLI::ValidationError("--phase-pass", problem);
             options.passes.push_back(std::move(pass));
           }
         },
         "PHASE:PASSES before a phase's own passes, PHASE-end:PASSES behind them (repeatable)")
      ->allow_extra_args(false);
}

} // namespace llmc

#endif // LLMC_PIPELINES_EXTENSIONFLAGS_H
