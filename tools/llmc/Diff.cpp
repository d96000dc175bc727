//===- Diff.cpp - llmc diff: what changed between two models? --------------===//
#include "Commands.h"

#include "llmc/Frontend/Description.h"
#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Frontend/Diff.h"
#include "llmc/Pipelines/CompileFlags.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace llmc {

namespace {
struct DiffArguments {
  std::string a, b;
  bool json = false;
  DescriptionOptions descriptions;
};
} // namespace

void addDiffCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<DiffArguments>();
  CLI::App *command =
      app.add_subcommand("diff", "What differs between two models? Needs no weights");
  command
      ->add_option("model_a", arguments->a,
                   "Folder with config.json, the config.json itself, .gguf, description, or a "
                   "name of the catalogue")
      ->required();
  command->add_option("model_b", arguments->b, "The other one")->required();
  command->add_flag("--json", arguments->json, "Print one JSON object (docs/Diff.md)");
  addDescriptionFlags(*command, arguments->descriptions,
                      "Config key that may be unknown (repeatable)");
  command->callback([arguments, &exitCode] {
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
    exitCode = 0;
  });
}

} // namespace llmc
