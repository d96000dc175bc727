//===- Diff.cpp - llmc diff: what changed between two models, or two dumps? --===//
#include "Commands.h"

#include "llmc/Frontend/Description.h"
#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Frontend/Diff.h"
#include "llmc/Pipelines/CompileFlags.h"
#include "llmc/Pipelines/DumpDiff.h"
#include "llmc/Support/Error.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace llmc {

namespace {
struct DiffArguments {
  std::string a, b;
  bool json = false;
  DescriptionOptions descriptions;
};

/// Where one is a dump, both have to be.
bool areDumps(const DiffArguments &arguments) {
  bool a = arguments.a.ends_with(".mlir"), b = arguments.b.ends_with(".mlir");
  if (a != b)
    throw UsageError((a ? arguments.a : arguments.b) + " is a dump and " +
                     (a ? arguments.b : arguments.a) +
                     " is none; give two models, or two .mlir of --dump-phases or --emit");
  return a;
}
} // namespace

void addDiffCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<DiffArguments>();
  CLI::App *command =
      app.add_subcommand("diff",
                         "What differs between two models, or two dumps of one? Needs no weights");
  command
      ->add_option("model_a", arguments->a,
                   "Folder with config.json, the config.json itself, .gguf, description, a name "
                   "of the catalogue, or the .mlir of a dump")
      ->required();
  command->add_option("model_b", arguments->b, "The other one")->required();
  command->add_flag("--json", arguments->json, "Print one JSON object (docs/Diff.md)");
  addDescriptionFlags(*command, arguments->descriptions,
                      "Config key that may be unknown (repeatable)");
  command->callback([arguments, &exitCode] {
    exitCode = 0;
    if (areDumps(*arguments)) {
      DumpDiff diff = diffDumps(arguments->a, arguments->b);
      std::cout << (arguments->json ? diff.toJson() : diff.toText());
      std::cout.flush();
      return;
    }
    frontend::DescriptionSet set;
    addDescriptions(set, arguments->descriptions);
    frontend::InspectOptions options;
    options.acceptKeys = arguments->descriptions.acceptKeys;
    frontend::ModelDiff diff =
        frontend::diffModels(openModel(arguments->a), openModel(arguments->b), set, options);
    // What is not known of a model may differ as well.
    for (const frontend::DiffSide *side : {&diff.a, &diff.b})
      for (const std::string &reason : side->report.reasons)
        std::cerr << "llmc: remark: " << reason << "\n";
    std::cout << (arguments->json ? diff.toJson() : diff.toText());
    std::cout.flush();
  });
}

} // namespace llmc
