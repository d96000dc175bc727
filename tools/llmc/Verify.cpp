//===- Verify.cpp - llmc verify: is the artifact whole and right? ---------===//

#include "Commands.h"
#include "Deployment.h"
#include "llmc/Runtime/ChatTemplate.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

using nlohmann::json;

namespace llmc {

namespace {
struct VerifyArguments {
  DeploymentFlags deployment;
  std::string perplexityFile;
  bool asJson = false;
  bool reseal = false;
};

/// What a run opens beside the manifest: the tokenizer and its chat template.
void checkTokenizer(const rt::Manifest &manifest, const std::filesystem::path &folder) {
  if (manifest.tokenizerFile.empty())
    return;
  std::string path = (folder / manifest.tokenizerFile).string();
  rt::Tokenizer tokenizer = rt::Tokenizer::fromFile(path);
  const rt::TokenizerSpec &spec = tokenizer.spec();
  // Added tokens may lie beyond the vocabulary, as the compilation says.
  std::vector<bool> added(spec.tokens.size());
  for (const rt::AddedToken &token : spec.addedTokens)
    added[size_t(token.id)] = true;
  for (size_t id = size_t(manifest.model.vocabSize); id < spec.tokens.size(); ++id)
    if (!added[id] && spec.tokens[id].type != rt::TokenType::Unused)
      throw InputError(path + ": token " + std::to_string(id) + " ('" + spec.tokens[id].text +
                       "') is beyond the vocabulary of " +
                       std::to_string(manifest.model.vocabSize) +
                       " that the manifest gives the model; compile the artifact again");
  try {
    if (!spec.chatTemplate.empty())
      rt::ChatTemplate parsed(spec.chatTemplate);
  } catch (const InputError &error) {
    throw InputError(path + ": the chat template cannot be used: " + error.what());
  }
}

/// Files in the folder that the manifest does not know: nobody reads them, and nobody checks.
void noteOtherFiles(const rt::Manifest &manifest, const std::filesystem::path &folder) {
  namespace fs = std::filesystem;
  std::set<fs::path> known = {"manifest.json"};
  for (const rt::FileEntry &file : manifest.files)
    known.insert(fs::path(file.path).lexically_normal());
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (fs::path name = it->path().lexically_relative(folder);
        !it->is_directory(error) && !known.count(name))
      std::cerr << "llmc: note: " << it->path().string()
                << ": is not a file of the artifact; the manifest does not list it\n";
}

/// Gives an edited manifest its digest, after everything else about it was checked.
void reseal(const std::string &folder) {
  checkTokenizer(rt::readManifest(folder, {.verifyHashes = true, .verifySeal = false}), folder);
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
  checkTokenizer(artifact->manifest(), artifact->folder());
  noteOtherFiles(artifact->manifest(), artifact->folder());
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
