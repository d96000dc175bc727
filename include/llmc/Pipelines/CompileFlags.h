//===- CompileFlags.h - flags that fill CompileOptions ----------*- C++ -*-===//
//
// Header-only, so that llmc-opt and `llmc compile` have the same flags without
// making the compiler library depend on a command line parser.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_COMPILEFLAGS_H
#define LLMC_PIPELINES_COMPILEFLAGS_H

#include "llmc/Frontend/Quantize.h"
#include "llmc/Frontend/WeightFormats.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/ExtensionFlags.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Target.h"

#include <CLI/CLI.hpp>

namespace llmc {

/// Flags that need a second look after parsing.
struct CompileFlags {
  std::string fusion = "on", from = "import", to = "package";
  /// "true", or a file.
  std::string explain;
};

inline void addDescriptionFlags(
    CLI::App &app, DescriptionOptions &options,
    const char *acceptKey = "Config key that may be unknown; recorded in the artifact (repeatable)") {
  app.add_option("--description", options.files,
                 "A description of your own; wins over those that ship (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--exclude-description", options.excluded,
                 "model_type whose description may not be used (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--accept-key", options.acceptKeys, acceptKey)->allow_extra_args(false);
  addLibraryFlags(app, options.opLibraries);
}

inline void addQuantizeFlag(CLI::App &app, DescriptionOptions &options) {
  app.add_option("--quantize", options.quantize,
                 "Format of blocks that the float weights of products are quantised to: " +
                     frontend::quantizableNames())
      ->check(CLI::Validator(
          [](const std::string &name) {
            try {
              frontend::quantizableFormat(name);
            } catch (const UsageError &error) {
              return std::string(error.what());
            }
            return std::string();
          },
          "FORMAT"));
}

inline void addCompileFlags(CLI::App &app, CompileOptions &options, CompileFlags &flags) {
  DeploymentOptions &deployment = options.phase.deployment;
  app.add_option("model", options.model,
                 "Folder with config.json and safetensors, .gguf, description or .mlir")
      ->required();
  app.add_option("--target", options.phase.target,
                 targetNames() + " (no whole model runs on a GPU yet)")->capture_default_str();
  app.add_option("-o,--output", options.output, "Folder of the artifact");
  app.add_option("--weights", options.weights, "packed, or none: compile from the config alone")
      ->check(CLI::IsMember({"packed", "none"}))
      ->capture_default_str();
  app.add_flag("--allow-nonfinite", options.allowNonFinite,
               "Pack weights that are NaN or infinite; recorded in the artifact");
  app.add_option("--checkpoint", options.checkpoint,
                 "Weights of a .mlir model: folder with safetensors, .safetensors or .gguf");
  app.add_option("--emit", options.emit,
                 "Print llm, plan, llvm, manifest, dot, html or fusion-report and stop")
      ->check(CLI::IsMember({"llm", "plan", "llvm", "manifest", "dot", "html", "fusion-report"}));
  app.add_flag("--json", options.json, "Print --emit=fusion-report as one JSON object");
  app.add_option("--report-context", options.reportContext,
                 "Positions before the token that the fusion report decodes (default: 512, or what "
                 "there is)")
      ->check(CLI::Range(0, 1 << 24));
  app.add_option("--fusion", flags.fusion, "All fusions on or off")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--disable-fusion", options.phase.disabledFusions,
                 "Fusion that is not made, by name (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--fuse-across-rounding", options.phase.fusionsAcrossRounding,
                 "Fusion that may keep a value wider than the type that it is rounded to "
                 "(repeatable)")
      ->allow_extra_args(false);
  app.add_option("--disable-simplification", options.phase.disabledSimplifications,
                 "Simplification that is not made, by name (repeatable)")
      ->allow_extra_args(false);
  app.add_flag("--fold-scales", options.phase.foldScales,
               "Also fold constant factors where sums then round otherwise; recorded in the "
               "artifact");
  app.add_option("--observe", options.observe,
                 "Values that traces can see: all, or logits; fewer observed values let more be "
                 "simplified")
      ->check(CLI::IsMember({"all", "logits"}))
      ->capture_default_str();
  app.add_option("--generators", options.phase.generators,
                 "Kernels to prefer: tuned, or generic wherever it can compute an operation")
      ->check(CLI::IsMember({"tuned", "generic"}))
      ->capture_default_str();
  app.add_option("--from", flags.from, "First phase; the model is then the .mlir of a dump");
  app.add_option("--to", flags.to, "Last phase");
  app.add_option("--dump-phases", options.dumpPhases, "Write one numbered file a phase here");
  app.add_flag("--explain", flags.explain,
               "Print every decision with its reason; --explain=FILE.json writes them there");
  app.add_flag("--check-passes", options.checkPasses,
               "Run the program before and after every pass on seeded inputs and compare the "
               "numbers, row by row: llm in the evaluator, plan and kernels executed");
  app.add_option("--reproducer", options.reproducer,
                 "With --check-passes: folder for the smallest program that shows a difference");
  app.add_flag("--timing", options.timing, "Print the seconds of every phase");
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
  addExtensionFlags(app, options.phase);
  addQuantizeFlag(app, options.descriptions);
}

/// A message where --from, --to, --emit and -o ask for nothing that can be done.
inline std::string checkExtent(const CompileOptions &options) {
  std::string from = phaseName(options.from).str(), to = phaseName(options.to).str();
  if (options.to < options.from)
    return "--to=" + to + " comes before --from=" + from;
  if (options.from != Phase::Import && !llvm::StringRef(options.model).ends_with(".mlir"))
    return "--from=" + from + " starts from the .mlir of a dump (--dump-phases); " +
           options.model + " is none";
  if (options.checkPasses && options.from > Phase::Plan)
    return "--check-passes compares with the llm program; --from=" + from + " starts behind it";
  if (options.json && options.emit != "fusion-report")
    return "--json prints --emit=fusion-report; the decisions are written by --explain=FILE.json";
  if (options.reportContext && options.emit != "fusion-report")
    return "--report-context is for what --emit=fusion-report prints; give both";
  if (options.emit == "html" && options.from > Phase::Optimize)
    return "--emit=html shows fusions too; --from=" + from + " starts behind them";
  Phase emitted = emittedPhase(options);
  if (!options.emit.empty()) {
    if (!options.output.empty())
      return "--emit=" + options.emit + " prints to standard output and -o writes an artifact: "
             "give one of them";
    if (options.from > emitted)
      return "--emit=" + options.emit + " is what phase " + phaseName(emitted).str() +
             " gives; --from=" + from + " starts behind it";
    if (options.to < emitted)
      return "--emit=" + options.emit + " is what phase " + phaseName(emitted).str() +
             " gives; --to=" + to + " ends before it";
    return "";
  }
  if (!options.output.empty() && options.to != Phase::Package)
    return "--to=" + to + " ends before there is an artifact for -o; give --emit or "
           "--dump-phases to see what there is";
  if (options.output.empty() && options.dumpPhases.empty() && !options.explain &&
      options.explainFile.empty() && !options.checkPasses && !options.timing)
    return "nothing to do: give -o DIR for an artifact, or --emit=WHAT to print something";
  return "";
}

/// The rest of the checks; a message when the command line is at fault.
inline std::string finishCompileFlags(CompileOptions &options, const CompileFlags &flags) {
  options.phase.fusion = flags.fusion == "on";
  options.explain = flags.explain == "true";
  if (!flags.explain.empty() && !options.explain) {
    options.explainFile = flags.explain;
    if (!flags.explain.ends_with(".json"))
      return "--explain=" + flags.explain + " is no .json file; --explain alone prints the decisions";
  }
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
  for (const std::string &name : options.phase.disabledFusions)
    if (std::string names = unknownFusion(name); !names.empty())
      return "--disable-fusion=" + name + " is no fusion; known: " + names;
  for (const std::string &name : options.phase.disabledSimplifications)
    if (std::string names = unknownSimplification(name); !names.empty())
      return "--disable-simplification=" + name + " is no simplification; known: " + names;
  for (const std::string &name : options.phase.fusionsAcrossRounding)
    if (std::string names = unknownFusion(name); !names.empty())
      return "--fuse-across-rounding=" + name + " is no fusion; known: " + names;
  if (std::string problem = chooseTarget(std::string(options.phase.target), options.phase);
      !problem.empty())
    return problem;
  if (!options.reproducer.empty() && !options.checkPasses)
    return "--reproducer=" + options.reproducer + " is for what --check-passes finds: give both";
  if (!options.checkpoint.empty() && !options.model.ends_with(".mlir"))
    return "--checkpoint=" + options.checkpoint + " is for a model given as .mlir; " +
           options.model + " has weights of its own";
  if (std::string problem = checkExtent(options); !problem.empty())
    return problem;
  // Without a place for an artifact the last phase is the last one that needs none.
  if (options.output.empty())
    options.to = std::min(options.to, Phase::Kernels);
  return "";
}

} // namespace llmc

#endif // LLMC_PIPELINES_COMPILEFLAGS_H
