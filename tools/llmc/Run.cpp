//===- Run.cpp - llmc run: text from prompts ------------------------------===//

#include "Commands.h"
#include "Requests.h"

#include <chrono>
#include <iostream>
#include <unistd.h>

using nlohmann::json;

namespace llmc {

namespace {
struct RunArguments {
  DeploymentFlags deployment;
  GenerationFlags generation;
  std::vector<std::string> prompts, promptFiles;
  TemplateFlags chatTemplate;
  PromptOptions prompt;
  std::string jsonLines;
  bool asJson = false;
};

/// Text of --prompt and --prompt-file, those of --prompt first.
std::vector<std::string> promptTexts(const RunArguments &arguments) {
  std::vector<std::string> texts = arguments.prompts;
  for (const std::string &file : arguments.promptFiles) {
    if (file == "-")
      texts.emplace_back(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
    else
      texts.push_back(readTextFile(file));
  }
  return texts;
}

/// The session's share of an object.
void addSession(json &value, const rt::Session &session) {
  value["memory"] = memoryJson(session);
  value["threads"] = session.threads();
  value["variant"] = session.variant();
}

void printFacts(const rt::GenerateResult &result, const rt::Session &session) {
  std::cerr << "ended by " << rt::finishReasonName(result.finish) << " after "
            << result.tokens.size() << " tokens; " << session.threads() << " threads, kernels '"
            << session.variant() << "'\n";
}

/// The likelihoods, for people.
void printScores(const rt::Artifact &artifact, const std::vector<rt::TokenScore> &scores,
                 const char *whose) {
  for (const rt::TokenScore &score : scores) {
    auto shown = [&](int32_t id, double logprob) {
      char number[32];
      std::snprintf(number, sizeof number, "%9.4f ", logprob);
      std::cerr << number << json(artifact.tokenizer().tokenText(id))
                                 .dump(-1, ' ', false, json::error_handler_t::replace);
    };
    std::cerr << whose << " ";
    shown(score.id, score.logprob);
    for (size_t i = 0; i < score.top.size(); ++i) {
      std::cerr << (i ? ", " : "   of ");
      shown(score.top[i].id, score.top[i].logprob);
    }
    std::cerr << "\n";
  }
}

void runOne(const RunArguments &arguments, rt::Session &session, const std::vector<int32_t> &prompt,
            double loadSeconds) {
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
    json value = resultJson(session.artifact(), prompt, result);
    value["timing"] = timingJson(result.timing);
    value["timing"]["load_seconds"] = loadSeconds;
    addSession(value, session);
    return printJson(value);
  }
  std::cout << std::endl;
  checkOutput();
  printScores(session.artifact(), result.promptScores, "prompt");
  printScores(session.artifact(), result.scores, "token ");
  printFacts(result, session);
  printTiming(std::cerr, result.timing);
  printMemory(std::cerr, session);
}

/// All at once; the answers come in the order of the prompts.
void runSeveral(const RunArguments &arguments, rt::Session &session,
                const std::vector<std::vector<int32_t>> &prompts, double loadSeconds) {
  std::vector<rt::GenerateResult> results(prompts.size());
  rt::BatchGenerator batch(session);
  auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < prompts.size(); ++i) {
    try {
      batch.submit(prompts[i], arguments.generation.options,
                   [&results, i](rt::GenerateResult result, const std::exception_ptr &error) {
                     if (error)
                       std::rethrow_exception(error);
                     results[i] = std::move(result);
                   });
    } catch (const InputError &error) {
      throw InputError("prompt " + std::to_string(i + 1) + ": " + error.what());
    }
  }
  InterruptScope interrupt(session);
  while (batch.step())
    ;
  std::chrono::duration<double> total = std::chrono::steady_clock::now() - begin;
  size_t tokens = 0;
  for (const rt::GenerateResult &result : results)
    tokens += result.tokens.size();
  if (arguments.asJson) {
    json value = {{"results", json::array()}};
    for (size_t i = 0; i < results.size(); ++i) {
      json one = resultJson(session.artifact(), prompts[i], results[i]);
      one["timing"] = timingJson(results[i].timing);
      value["results"].push_back(std::move(one));
    }
    value["timing"] = {{"load_seconds", loadSeconds}, {"seconds", total.count()}};
    addSession(value, session);
    return printJson(value);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    std::cout << "=== " << i + 1 << "\n" << results[i].text << std::endl;
    checkOutput();
    printScores(session.artifact(), results[i].promptScores, "prompt");
    printScores(session.artifact(), results[i].scores, "token ");
    printFacts(results[i], session);
  }
  std::cerr << tokens << " tokens of " << results.size() << " answers in " << total.count()
            << " s\n";
  printMemory(std::cerr, session);
}

int run(RunArguments &arguments) {
  arguments.generation.options.sampler.validate();
  arguments.chatTemplate.read();
  arguments.prompt.chat = arguments.chatTemplate.options;
  auto begin = std::chrono::steady_clock::now();
  bool lines = !arguments.jsonLines.empty();
  bool progress = !arguments.asJson && !lines && isTerminal(STDERR_FILENO);
  if (progress)
    std::cerr << "loading " << arguments.deployment.artifact << " …" << std::flush;
  auto artifact = arguments.deployment.open();
  const rt::Limits &limits = artifact->manifest().limits;
  std::vector<std::vector<int32_t>> prompts;
  if (!lines)
    for (const std::string &text : promptTexts(arguments))
      prompts.push_back(promptTokens(*artifact, text, arguments.prompt));
  int64_t together = lines ? limits.maxSequences : int64_t(prompts.size());
  together = std::min(together, limits.maxSequences);
  rt::SessionOptions options = arguments.deployment.options(*artifact, together);
  // Several share the blocks that the artifact plans for, unless told otherwise.
  if (together > 1 && !arguments.deployment.context)
    options.maxContext = 0;
  rt::Session session(artifact, options);
  std::chrono::duration<double> loading = std::chrono::steady_clock::now() - begin;
  if (progress)
    std::cerr << "\r\033[K" << std::flush;
  if (lines) {
    int64_t faults = runJsonLines(
        {arguments.jsonLines, arguments.generation.options, arguments.prompt}, session);
    if (faults)
      std::cerr << "llmc: " << faults << (faults == 1 ? " line has" : " lines have")
                << " an error; see the objects with \"error\"\n";
    return faults != 0;
  }
  if (prompts.size() == 1)
    runOne(arguments, session, prompts.front(), loading.count());
  else
    runSeveral(arguments, session, prompts, loading.count());
  return 0;
}
} // namespace

void addRunCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App *command = app.add_subcommand("run", "Generate text from prompts");
  arguments->deployment.add(*command);
  arguments->generation.add(*command, "until the end or a full context");
  rt::GenerateOptions &options = arguments->generation.options;
  auto *logprobs =
      command
          ->add_option("--logprobs", options.logprobs,
                       "Log probability of every token, and of the N likeliest at its place")
          ->check(wholeNumber(0, 1000));
  command
      ->add_flag("--prompt-logprobs", options.promptLogprobs,
                 "Log probabilities of the prompt's tokens as well")
      ->needs(logprobs);
  auto *prompt = command->add_option_group("prompt");
  prompt->add_option("-p,--prompt", arguments->prompts, "The prompt (repeatable)")
      ->allow_extra_args(false);
  prompt
      ->add_option("--prompt-file", arguments->promptFiles,
                   "File with the prompt; -: standard input (repeatable)")
      ->allow_extra_args(false);
  auto *lines = prompt->add_option("--jsonl", arguments->jsonLines,
                                   "File with a request a line, as JSON; -: standard input");
  prompt->require_option(1, 0);
  auto *raw = command->add_flag("--raw", arguments->prompt.raw,
                                "Take the prompt as it is, without the "
                                "model's chat template");
  command->add_flag("--parse-special", arguments->prompt.parseSpecial,
                    "Special tokens written out in a raw prompt are those tokens; only for text "
                    "that you trust");
  command->add_option("--system", arguments->prompt.system, "System prompt")->excludes(raw);
  arguments->chatTemplate.add(*command);
  for (const char *other : {"--chat-template", "--template-args"})
    raw->excludes(command->get_option(other));
  auto *asJson = command->add_flag("--json", arguments->asJson, "Print one JSON object instead of text");
  lines->excludes(asJson);
  for (const char *other : {"--prompt", "--prompt-file"})
    lines->excludes(prompt->get_option(other));
  command->callback([arguments, &exitCode] { exitCode = run(*arguments); });
}

} // namespace llmc
