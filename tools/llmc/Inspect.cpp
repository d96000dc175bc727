//===- Inspect.cpp - llmc inspect: what is this model? ---------------------===//
#include "Commands.h"

#include "llmc/Frontend/Description.h"
#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Frontend/Inspect.h"
#include "llmc/Support/Error.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace llmc {

namespace {
struct InspectArguments {
  std::string model;
  bool json = false;
  frontend::InspectOptions inspect;
  DescriptionOptions descriptions;
};
} // namespace

void addInspectCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App *command = app.add_subcommand(
      "inspect", "What is this model, and does it run? Needs no weights (exit 0: yes)");
  command
      ->add_option("model", arguments->model,
                   "Folder with config.json, the config.json itself, .gguf or description")
      ->required();
  command->add_flag("--json", arguments->json, "Print one JSON object (docs/Inspect.md)");
  command->add_option("--target", arguments->inspect.target, "Target that has to run it")
      ->capture_default_str();
  command
      ->add_option("--description", arguments->descriptions.files,
                   "A description of your own; wins over those that ship (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--exclude-description", arguments->descriptions.excluded,
                   "model_type whose description may not be used (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--accept-key", arguments->descriptions.acceptKeys,
                   "Config key that may be unknown (repeatable)")
      ->allow_extra_args(false);
  command->callback([arguments, &exitCode] {
    if (arguments->inspect.target != "cpu")
      throw UsageError("--target=" + arguments->inspect.target +
                       " is not known; this version compiles models for: cpu");
    frontend::DescriptionSet set;
    addDescriptions(set, arguments->descriptions);
    arguments->inspect.acceptKeys = arguments->descriptions.acceptKeys;
    auto source = std::make_shared<frontend::ModelSource>(
        frontend::ModelSource::open(arguments->model));
    frontend::InspectReport report = frontend::inspectModel(source, set, arguments->inspect);
    std::cout << (arguments->json ? report.toJson() : report.toText());
    std::cout.flush();
    exitCode = report.ok() ? 0 : 1;
  });
}

} // namespace llmc
