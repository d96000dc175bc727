//===- Twin.cpp - llmc twin: a small model of the same architecture --------===//
#include "Commands.h"
#include "Validators.h"

#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Frontend/Twin.h"
#include "llmc/Pipelines/CompileFlags.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace llmc {

namespace {
struct TwinArguments {
  std::string model, folder;
  bool force = false, json = false;
  frontend::TwinOptions options;
  DescriptionOptions descriptions;
};
} // namespace

void addTwinCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<TwinArguments>();
  CLI::App *command = app.add_subcommand(
      "twin", "Write a tiny model of the same architecture, with drawn weights. Needs no weights");
  command
      ->add_option("model", arguments->model,
                   "Folder with config.json, the config.json itself, .gguf, description, or a "
                   "name of the catalogue")
      ->required();
  command->add_option("-o,--output", arguments->folder, "New folder for the twin")->required();
  command->add_option("--seed", arguments->options.seed, "Of the weights' values")
      ->check(wholeNumber(0, UINT64_MAX))
      ->capture_default_str();
  command->add_flag("--force", arguments->force, "Replace an earlier twin");
  command->add_flag("--json", arguments->json, "Print one JSON object (docs/Twin.md)");
  addDescriptionFlags(*command, arguments->descriptions,
                      "Config key that may be unknown (repeatable)");
  command->callback([arguments, &exitCode] {
    frontend::DescriptionSet set;
    addDescriptions(set, arguments->descriptions);
    arguments->options.acceptKeys = arguments->descriptions.acceptKeys;
    frontend::Twin twin = frontend::makeTwin(openModel(arguments->model), set, arguments->options);
    frontend::writeTwin(twin, arguments->folder, arguments->force);
    std::cout << (arguments->json ? twin.toJson(arguments->folder) : twin.toText(arguments->folder));
    std::cout.flush();
    exitCode = 0;
  });
}

} // namespace llmc
