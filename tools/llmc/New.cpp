//===- New.cpp - llmc new: the beginning of a description ------------------===//
#include "Commands.h"

#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Frontend/NewDescription.h"
#include "llmc/Pipelines/CompileFlags.h"
#include "llmc/Support/Error.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace fs = std::filesystem;

namespace llmc {

namespace {
struct NewArguments {
  std::string model, file;
  bool json = false;
  frontend::NewDescriptionOptions options;
  DescriptionOptions descriptions;
};

void write(const std::string &path, const std::string &text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out)
    throw InputError(path + ": cannot be written: " + std::strerror(errno));
}

/// Both files or none.
void writeBoth(const frontend::NewDescription &description, const std::string &file,
               const std::string &test) {
  std::error_code error;
  try {
    write(file + ".unfinished", description.text());
    write(test, description.testText(file));
    fs::rename(file + ".unfinished", file, error);
    if (error)
      throw InputError(file + ": cannot be written: " + error.message());
  } catch (...) {
    fs::remove(file + ".unfinished", error);
    fs::remove(test, error);
    throw;
  }
}
} // namespace

void addNewCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<NewArguments>();
  CLI::App *command = app.add_subcommand(
      "new", "Begin the description of an architecture nobody described. Needs no weights");
  command
      ->add_option("model", arguments->model,
                   "Folder with config.json, the config.json itself, .gguf, or a name of the "
                   "catalogue")
      ->required();
  command->add_option("-o,--output", arguments->file, "New file, NAME.jsonc; NAME.test is written "
                                                      "beside it")
      ->required();
  command->add_flag("--force", arguments->options.force,
                    "Begin one that extends the description there is");
  command->add_flag("--json", arguments->json, "Print one JSON object (docs/Twin.md)");
  addDescriptionFlags(*command, arguments->descriptions,
                      "Config key that may be unknown (repeatable)");
  command->callback([arguments, &exitCode] {
    fs::path file(arguments->file);
    if (file.extension() != ".jsonc")
      throw UsageError("--output=" + arguments->file + ": a description's name ends in .jsonc");
    // It stands in the commands of the test.
    for (char c : file.filename().string())
      if (!std::isalnum(static_cast<unsigned char>(c)) &&
          std::string_view("._-+").find(c) == std::string_view::npos)
        throw UsageError("--output=" + arguments->file +
                         ": the name may have letters, digits and ._-+ only");
    std::string test = fs::path(file).replace_extension(".test").string();
    for (const std::string &path : {arguments->file, test})
      if (std::error_code error; fs::exists(path, error))
        throw InputError(path + ": exists already; name a new file");
    frontend::DescriptionSet set;
    addDescriptions(set, arguments->descriptions);
    arguments->options.acceptKeys = arguments->descriptions.acceptKeys;
    frontend::NewDescription description =
        frontend::beginDescription(openModel(arguments->model), set, arguments->options);
    writeBoth(description, arguments->file, test);
    if (arguments->json) {
      std::cout << description.toJson(arguments->file, test);
    } else {
      std::cout << arguments->file << ": extends " << description.base << ", "
                << description.keys.size() << " keys and " << description.faults.size()
                << " other things to explain\n"
                << test << ": what would prove it\n";
    }
    std::cout.flush();
    exitCode = 0;
  });
}

} // namespace llmc
