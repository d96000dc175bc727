//===- Verify.cpp - llmc verify: is the artifact whole and right? ---------===//

#include "Commands.h"
#include "Deployment.h"

#include <filesystem>
#include <fstream>
#include <iostream>

using nlohmann::json;

namespace llmc {

namespace {
struct VerifyArguments {
  DeploymentFlags deployment;
  std::string perplexityFile;
  bool asJson = false;
  bool reseal = false;
};

/// Gives an edited manifest its digest, after everything else about it was checked.
void reseal(const std::string &folder) {
  rt::readManifest(folder, {.verifyHashes = true, .verifySeal = false});
  std::string path = (std::filesystem::path(folder) / "manifest.json").string();
  std::string sealed = rt::sealManifest(readTextFile(path), path);
  std::string temporary = path + ".partial";
  std::ofstream out(temporary, std::ios::binary);
  out << sealed;
  out.close();
  std::error_code error;
  if (out)
    std::filesystem::rename(temporary, path, error);
  if (!out || error) {
    std::filesystem::remove(temporary);
    throw InputError(path + ": cannot be written; is the disk full, or the folder read-only?");
  }
}

void verify(const VerifyArguments &arguments) {
  if (arguments.reseal)
    reseal(arguments.deployment.artifact);
  auto artifact = arguments.deployment.open(/*verifyHashes=*/true);
  json result = {{"files", artifact->manifest().files.size()}};
  if (!arguments.perplexityFile.empty()) {
    std::vector<int32_t> tokens =
        artifact->tokenizer().encode(readTextFile(arguments.perplexityFile));
    rt::Session session(artifact, arguments.deployment.options(*artifact, 1));
    InterruptScope interrupt(session);
    rt::Perplexity measured;
    try {
      measured = rt::measurePerplexity(session, tokens);
    } catch (const InputError &error) {
      throw InputError(arguments.perplexityFile + ": " + error.what());
    }
    result["mean_nll"] = measured.meanNll;
    result["tokens"] = measured.tokens;
    result["windows"] = measured.windows;
    result["context"] = session.maxContext();
    result["perplexity"] = measured.perplexity();
  }
  if (arguments.asJson) {
    printJson(result);
    return;
  }
  std::cout << artifact->folder().string() << ": manifest and " << artifact->manifest().files.size()
            << " files are whole\n";
  if (result.contains("mean_nll"))
    std::cout << arguments.perplexityFile << ": mean negative log-likelihood "
              << result["mean_nll"].get<double>() << " over " << result["tokens"].get<int64_t>()
              << " tokens, perplexity " << result["perplexity"].get<double>();
  if (result.contains("windows") && result["windows"].get<int64_t>() > 1)
    std::cout << ", in " << result["windows"].get<int64_t>() << " windows of "
              << result["context"].get<int64_t>() << " tokens";
  if (result.contains("mean_nll"))
    std::cout << "\n";
}
} // namespace

void addVerifyCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App *command = app.add_subcommand(
      "verify", "Check every file of an artifact against its hash, and measure likelihood");
  arguments->deployment.add(*command);
  command->add_option("--perplexity", arguments->perplexityFile,
                      "Text whose mean negative log-likelihood is measured, in windows of the "
                      "context where it is longer");
  command->add_flag("--reseal", arguments->reseal,
                    "Give the manifest the digest of its text, after an edit on purpose");
  command->add_flag("--json", arguments->asJson, "Print one JSON object");
  command->callback([arguments, &exitCode] {
    verify(*arguments);
    exitCode = 0;
  });
}

} // namespace llmc
