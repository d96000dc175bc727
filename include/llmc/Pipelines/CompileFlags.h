//===- CompileFlags.h - flags that fill CompileOptions ----------*- C++ -*-===//
//
// Header-only, so that llmc-opt and `llmc compile` have the same flags without
// making the compiler library depend on a command line parser.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_COMPILEFLAGS_H
#define LLMC_PIPELINES_COMPILEFLAGS_H

#include "llmc/Pipelines/Compiler.h"

#include <CLI/CLI.hpp>

namespace llmc {

/// Flags that need a second look after parsing.
struct CompileFlags {
  std::string fusion = "on", from = "import", to = "package";
};

inline void addDescriptionFlags(CLI::App &app, DescriptionOptions &options) {
  app.add_option("--description", options.files,
                 "A description of your own; wins over those that ship (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--exclude-description", options.excluded,
                 "model_type whose description may not be used (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--accept-key", options.acceptKeys,
                 "Config key that may be unknown; recorded in the artifact (repeatable)")
      ->allow_extra_args(false);
}

inline void addCompileFlags(CLI::App &app, CompileOptions &options, CompileFlags &flags) {
  DeploymentOptions &deployment = options.phase.deployment;
  app.add_option("model", options.model,
                 "Folder with config.json and safetensors, .gguf, description or .mlir")
      ->required();
  app.add_option("--target", options.phase.target, "cpu or nvidia-sm80")->capture_default_str();
  app.add_option("-o,--output", options.output, "Folder of the artifact");
  app.add_option("--weights", options.weights, "packed, or none: compile from the config alone")
      ->check(CLI::IsMember({"packed", "none"}))
      ->capture_default_str();
  app.add_option("--emit", options.emit, "Print llm, plan, llvm or manifest and stop")
      ->check(CLI::IsMember({"llm", "plan", "llvm", "manifest"}));
  app.add_option("--fusion", flags.fusion, "All fusions on or off")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--disable-fusion", options.phase.disabledFusions,
                 "Fusion that is not made, by name (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--from", flags.from, "First phase; the model is then the .mlir of a dump");
  app.add_option("--to", flags.to, "Last phase");
  app.add_option("--dump-phases", options.dumpPhases, "Write one numbered file a phase here");
  app.add_flag("--explain", options.explain, "Print every decision with its reason");
  app.add_flag("--check-passes", options.checkPasses,
               "Run the program before and after every pass and compare the numbers");
  app.add_option("--max-tokens", deployment.maxTokens, "Rows of one step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--max-outputs", deployment.maxOutputs, "Rows of one step that get logits")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--max-sequences", deployment.maxSequences, "Sequences of one step")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--max-context", deployment.maxContext,
                 "Positions of one sequence (default: the model's, at most 4096)")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--threads", options.threads, "Threads of the compiler (default: all)")
      ->check(CLI::Range(1, 1024));
  addDescriptionFlags(app, options.descriptions);
}

/// The rest of the checks; a message when the command line is at fault.
inline std::string finishCompileFlags(CompileOptions &options, const CompileFlags &flags) {
  options.phase.fusion = flags.fusion == "on";
  std::string known;
  for (const PhaseInfo &info : phases())
    known += (known.empty() ? "" : ", ") + info.name.str();
  auto from = phaseNamed(flags.from), to = phaseNamed(flags.to);
  if (!from)
    return "--from=" + flags.from + " is no phase; known: " + known;
  if (!to)
    return "--to=" + flags.to + " is no phase; known: " + known;
  options.from = *from;
  options.to = *to;
  if (*to < *from)
    return "--to=" + flags.to + " comes before --from=" + flags.from;
  for (const std::string &name : options.phase.disabledFusions)
    if (std::string names = unknownFusion(name); !names.empty())
      return "--disable-fusion=" + name + " is no fusion; known: " + names;
  if (options.phase.target != "cpu")
    return "--target=" + options.phase.target + " is not known; this version compiles models for: cpu";
  if (options.emit.empty() && options.output.empty())
    return "nothing to do: give -o DIR for an artifact, or --emit=WHAT to print something";
  return "";
}

} // namespace llmc

#endif // LLMC_PIPELINES_COMPILEFLAGS_H
