//===- Diff.cpp - llmc diff: what changed between two models, or two dumps? --===//
#include "Commands.h"

#include "llmc/Frontend/Description.h"
#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Frontend/Diff.h"
#include "llmc/Pipelines/ArtifactReport.h"
#include "llmc/Pipelines/CompileFlags.h"
#include "llmc/Pipelines/DumpDiff.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Printable.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace llmc {

namespace {
struct DiffArguments {
  std::string a, b;
  bool json = false;
  DescriptionOptions descriptions;
};

/// By its name. MLIR bytecode under another one is a dump too, and is not read.
bool isDump(const std::string &path) {
  if (path.ends_with(".mlir"))
    return true;
  std::error_code error;
  char magic[4] = {};
  if (std::filesystem::is_regular_file(path, error) &&
      std::ifstream(path, std::ios::binary).read(magic, sizeof magic) &&
      std::string_view(magic, sizeof magic) == "ML\xefR")
    throw InputError(path + ": is MLIR bytecode; text is expected, which llmc-opt prints");
  return false;
}

/// Where one is `what`, both have to be.
bool areBoth(const DiffArguments &arguments, bool (*is)(const std::string &), const char *what) {
  bool a = is(arguments.a), b = is(arguments.b);
  if (a != b)
    throw UsageError((a ? arguments.a : arguments.b) + " is " + what + " and " +
                     (a ? arguments.b : arguments.a) +
                     " is none; give two models, two artifacts, or two .mlir of --dump-phases or "
                     "--emit");
  return a;
}

template <typename Difference>
void print(const Difference &diff, bool json) {
  std::cout << (json ? diff.toJson() : printable(diff.toText()));
  std::cout.flush();
}
} // namespace

void addDiffCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<DiffArguments>();
  CLI::App *command =
      app.add_subcommand("diff",
                         "What differs between two models, two artifacts, or two dumps? Needs no weights");
  command
      ->add_option("model_a", arguments->a,
                   "Folder with config.json, the config.json itself, .gguf, description, a name "
                   "of the catalogue, an artifact, or the .mlir of a dump")
      ->required();
  command->add_option("model_b", arguments->b, "The other one")->required();
  command->add_flag("--json", arguments->json, "Print one JSON object (docs/Diff.md)");
  addDescriptionFlags(*command, arguments->descriptions,
                      "Config key that may be unknown (repeatable)");
  command->callback([arguments, &exitCode] {
    exitCode = 0;
    const std::string &a = arguments->a, &b = arguments->b;
    if (areBoth(*arguments, isDump, "a dump"))
      return print(diffDumps(a, b), arguments->json);
    if (areBoth(*arguments, isArtifact, "an artifact"))
      return print(diffArtifacts(ArtifactReport::read(a), ArtifactReport::read(b)),
                   arguments->json);
    frontend::DescriptionSet set;
    addDescriptions(set, arguments->descriptions);
    frontend::InspectOptions options;
    options.acceptKeys = arguments->descriptions.acceptKeys;
    frontend::ModelDiff diff =
        frontend::diffModels(openModel(a), openModel(b), set, options);
    // What is not known of a model may differ as well.
    for (const frontend::DiffSide *side : {&diff.a, &diff.b})
      for (const std::string &reason : side->report.reasons)
        std::cerr << "llmc: remark: " << printable(reason) << "\n";
    print(diff, arguments->json);
  });
}

} // namespace llmc
