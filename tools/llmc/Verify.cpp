//===- Verify.cpp - llmc verify: is the artifact whole and right? ---------===//

#include "Commands.h"
#include "Deployment.h"

#include <iostream>

using nlohmann::json;

namespace llmc {

namespace {
struct VerifyArguments {
  DeploymentFlags deployment;
  std::string perplexityFile;
  bool asJson = false;
};

void verify(const VerifyArguments &arguments) {
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
              << " tokens, perplexity " << result["perplexity"].get<double>() << "\n";
}
} // namespace

void addVerifyCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App *command = app.add_subcommand(
      "verify", "Check every file of an artifact against its hash, and measure likelihood");
  arguments->deployment.add(*command);
  command->add_option("--perplexity", arguments->perplexityFile,
                      "Text whose mean negative log-likelihood is measured");
  command->add_flag("--json", arguments->asJson, "Print one JSON object");
  command->callback([arguments, &exitCode] {
    verify(*arguments);
    exitCode = 0;
  });
}

} // namespace llmc
