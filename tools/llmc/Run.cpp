//===- Run.cpp - llmc run: text from a prompt -----------------------------===//

#include "Commands.h"
#include "Deployment.h"
#include "llmc/Runtime/ChatTemplate.h"

#include <chrono>
#include <iostream>
#include <unistd.h>

using nlohmann::json;

namespace llmc {

namespace {
struct RunArguments {
  DeploymentFlags deployment;
  GenerationFlags generation;
  std::string prompt, promptFile, system;
  bool raw = false, asJson = false;
};

std::vector<int32_t> promptTokens(const RunArguments &arguments, const rt::Artifact &artifact) {
  std::string text = arguments.prompt;
  if (arguments.promptFile == "-")
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  else if (!arguments.promptFile.empty())
    text = readTextFile(arguments.promptFile);
  const rt::Tokenizer &tokenizer = artifact.tokenizer();
  bool raw = arguments.raw;
  if (!raw && tokenizer.spec().chatTemplate.empty()) {
    if (!arguments.system.empty())
      throw UsageError("--system: the model has no chat template to put it into");
    std::cerr << "llmc: note: the model has no chat template; the prompt is taken as it is "
                 "(as with --raw)\n";
    raw = true;
  }
  if (raw)
    return tokenizer.encode(text);
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  if (!arguments.system.empty())
    messages.push_back({{"role", "system"}, {"content", arguments.system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  return rt::encodeChat(artifact, messages);
}

void run(const RunArguments &arguments) {
  arguments.generation.options.sampler.validate();
  auto begin = std::chrono::steady_clock::now();
  bool progress = !arguments.asJson && isTerminal(STDERR_FILENO);
  if (progress)
    std::cerr << "loading " << arguments.deployment.artifact << " …" << std::flush;
  auto artifact = arguments.deployment.open();
  std::vector<int32_t> prompt = promptTokens(arguments, *artifact);
  rt::Session session(artifact, arguments.deployment.options(*artifact, 1));
  std::chrono::duration<double> loading = std::chrono::steady_clock::now() - begin;
  if (progress)
    std::cerr << "\r\033[K" << std::flush;

  rt::Generator generator(session);
  rt::TextCallback show;
  if (!arguments.asJson)
    show = [](std::string_view text) {
      std::cout << text << std::flush;
      return bool(std::cout);
    };
  InterruptScope interrupt(session);
  rt::GenerateResult result = generator.generate(prompt, arguments.generation.options, show);
  if (arguments.asJson) {
    json timing = timingJson(result.timing);
    timing["load_seconds"] = loading.count();
    printJson({{"prompt_tokens", prompt},
               {"tokens", result.tokens},
               {"text", result.text},
               {"finish", rt::finishReasonName(result.finish)},
               {"timing", std::move(timing)},
               {"memory", memoryJson(session)},
               {"threads", session.threads()},
               {"variant", session.variant()}});
    return;
  }
  std::cout << std::endl;
  std::cerr << "ended by " << rt::finishReasonName(result.finish) << " after "
            << result.tokens.size() << " tokens; " << session.threads() << " threads, kernels '"
            << session.variant() << "'\n";
  printTiming(std::cerr, result.timing);
  printMemory(std::cerr, session);
}
} // namespace

void addRunCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App *command = app.add_subcommand("run", "Generate text from a prompt");
  arguments->deployment.add(*command);
  arguments->generation.add(*command, "until the end or a full context");
  auto *prompt = command->add_option_group("prompt");
  prompt->add_option("-p,--prompt", arguments->prompt, "The prompt");
  prompt->add_option("--prompt-file", arguments->promptFile,
                     "File with the prompt; -: standard input");
  prompt->require_option(1);
  auto *raw = command->add_flag("--raw", arguments->raw,
                                "Take the prompt as it is, without the "
                                "model's chat template");
  command->add_option("--system", arguments->system, "System prompt")->excludes(raw);
  command->add_flag("--json", arguments->asJson, "Print one JSON object instead of text");
  command->callback([arguments, &exitCode] {
    run(*arguments);
    exitCode = 0;
  });
}

} // namespace llmc
