//===- Chat.cpp - llmc chat: a conversation on a terminal -----------------===//

#include "Commands.h"
#include "Deployment.h"

#include <iostream>
#include <unistd.h>

namespace llmc {

namespace {
struct ChatArguments {
  DeploymentFlags deployment;
  GenerationFlags generation;
  std::string system;
};

class Conversation {
public:
  Conversation(const ChatArguments &arguments, rt::Session &session)
      : arguments(arguments), session(session), tokenizer(session.artifact().tokenizer()),
        generator(session) {
    reset();
  }

  void reset() {
    messages = nlohmann::ordered_json::array();
    if (!arguments.system.empty())
      messages.push_back({{"role", "system"}, {"content", arguments.system}});
  }

  void say(const std::string &text) {
    messages.push_back({{"role", "user"}, {"content", text}});
    try {
      InterruptScope interrupt(session);
      // What the state holds of the earlier turns is not run again.
      last = generator.generate(encodeChat(tokenizer, messages), arguments.generation.options,
                                [](std::string_view piece) {
                                  std::cout << piece << std::flush;
                                  return bool(std::cout);
                                });
    } catch (...) {
      messages.erase(messages.size() - 1);
      throw;
    }
    std::cout << std::endl;
    if (last.finish == rt::FinishReason::Context)
      std::cerr << "(the context is full; /reset begins anew)\n";
    messages.push_back({{"role", "assistant"}, {"content", last.text}});
  }

  void printStatistics() const {
    printTiming(std::cerr, last.timing);
    printMemory(std::cerr, session);
  }

private:
  const ChatArguments &arguments;
  rt::Session &session;
  const rt::Tokenizer &tokenizer;
  rt::Generator generator;
  nlohmann::ordered_json messages;
  rt::GenerateResult last;
};

void chat(const ChatArguments &arguments) {
  arguments.generation.options.sampler.validate();
  auto artifact = arguments.deployment.open();
  if (artifact->tokenizer().spec().chatTemplate.empty())
    throw InputError(artifact->manifestPath() +
                     ": the model has no chat template; `llmc run --raw` continues a text");
  rt::Session session(artifact, arguments.deployment.options(*artifact, 1));
  Conversation conversation(arguments, session);
  bool terminal = isTerminal(STDIN_FILENO);
  if (terminal)
    std::cerr << artifact->manifest().model.name << ", context of " << session.maxContext()
              << " tokens. /reset, /stats, /exit; Ctrl-C ends an answer.\n";
  for (std::string line;;) {
    if (terminal)
      std::cerr << "> " << std::flush;
    if (!std::getline(std::cin, line) || line == "/exit")
      break;
    if (line.empty())
      continue;
    if (line == "/reset") {
      conversation.reset();
    } else if (line == "/stats") {
      conversation.printStatistics();
    } else {
      try {
        conversation.say(line);
      } catch (const InputError &error) {
        if (!terminal)
          throw;
        std::cerr << "llmc: " << error.what() << "\n";
      }
    }
  }
  if (terminal)
    std::cerr << "\n";
}
} // namespace

void addChatCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<ChatArguments>();
  CLI::App *command = app.add_subcommand("chat", "Talk with a model; one message a line");
  arguments->deployment.add(*command);
  arguments->generation.add(*command);
  command->add_option("--system", arguments->system, "System prompt");
  command->callback([arguments, &exitCode] {
    chat(*arguments);
    exitCode = 0;
  });
}

} // namespace llmc
