//===- Chat.cpp - llmc chat: a conversation on a terminal -----------------===//

#include "Commands.h"
#include "Requests.h"

#include <iostream>
#include <unistd.h>

namespace llmc {

namespace {
struct ChatArguments {
  DeploymentFlags deployment;
  GenerationFlags generation;
  TemplateFlags chatTemplate;
  std::string system;
};

constexpr const char *help = "/help         these lines\n"
                             "/reset        begin a new conversation\n"
                             "/system TEXT  begin a new conversation with this system prompt\n"
                             "/stats        speed and memory\n"
                             "/quit         end; so do /exit and the end of the input\n"
                             "Every other line is a message; with a space before it, also one that "
                             "begins with a slash. Ctrl-C ends an answer.\n";

class Conversation {
public:
  Conversation(const ChatArguments &arguments, rt::Session &session)
      : arguments(arguments), session(session), generator(session), system(arguments.system) {
    reset();
  }

  /// Forgets the conversation; the next one begins with this system prompt.
  void reset(const std::string &newSystem) {
    system = newSystem;
    reset();
  }

  void reset() {
    full = false;
    messages = nlohmann::ordered_json::array();
    if (!system.empty())
      messages.push_back({{"role", "system"}, {"content", system}});
  }

  /// Throws InputError when the context is full, and from then on until reset().
  void say(const std::string &text) {
    if (full)
      throwFull();
    messages.push_back({{"role", "user"}, {"content", text}});
    rt::GenerateResult last;
    try {
      std::vector<int32_t> prompt =
          rt::encodeChat(session.artifact(), messages, arguments.chatTemplate.options);
      if (int64_t(prompt.size()) > session.maxContext()) {
        // A shorter message may fit; without one before, only that is the remedy.
        full = messages.size() > (system.empty() ? 1u : 2u);
        if (full)
          throwFull();
      }
      InterruptScope interrupt(session);
      // What the state holds of the earlier turns is not run again.
      last = generator.generate(prompt, arguments.generation.options, [](std::string_view piece) {
        std::cout << piece << std::flush;
        return bool(std::cout);
      });
    } catch (...) {
      messages.erase(messages.size() - 1);
      throw;
    }
    add(last);
    std::cout << std::endl;
    checkOutput();
    messages.push_back({{"role", "assistant"}, {"content", last.text}});
    if (last.finish == rt::FinishReason::Context) {
      full = true;
      throwFull();
    }
    if (last.finish == rt::FinishReason::Length)
      std::cerr << "(cut after " << last.tokens.size() << " tokens; --max-tokens allows more)\n";
  }

  void printStatistics() const {
    printTiming(std::cerr, total);
    printMemory(std::cerr, session);
  }
  bool answered() const { return answers > 0; }

private:
  [[noreturn]] void throwFull() const {
    throw InputError("the context of " + std::to_string(session.maxContext()) +
                     " tokens is full; begin anew (/reset), or " + session.largerContext());
  }

  /// The sums over all answers; the first token is the last answer's.
  void add(const rt::GenerateResult &result) {
    ++answers;
    total.promptTokens += result.timing.promptTokens;
    total.reusedTokens += result.timing.reusedTokens;
    total.decodedTokens += result.timing.decodedTokens;
    total.prefillSeconds += result.timing.prefillSeconds;
    total.decodeSeconds += result.timing.decodeSeconds;
    total.firstTokenSeconds = result.timing.firstTokenSeconds;
  }

  const ChatArguments &arguments;
  rt::Session &session;
  rt::Generator generator;
  std::string system;
  nlohmann::ordered_json messages;
  rt::GenerateTiming total;
  int64_t answers = 0;
  bool full = false;
};

/// Reads messages and commands until the end.
void converse(Conversation &conversation, bool terminal) {
  for (std::string line;;) {
    if (terminal)
      std::cerr << "> " << std::flush;
    if (!std::getline(std::cin, line) || line == "/quit" || line == "/exit")
      return;
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    if (line == "/help") {
      std::cerr << help;
    } else if (line == "/reset") {
      conversation.reset();
    } else if (line == "/system" || line.starts_with("/system ")) {
      conversation.reset(line.size() > 8 ? line.substr(8) : "");
    } else if (line == "/stats") {
      conversation.printStatistics();
    } else if (line.front() == '/') {
      std::cerr << "llmc: '" << line.substr(0, line.find(' '))
                << "' is no command; /help lists them\n";
    } else {
      try {
        conversation.say(line.starts_with(" /") ? line.substr(1) : line);
      } catch (const InputError &error) {
        // Nobody is there to answer on a pipe.
        if (!terminal)
          throw;
        std::cerr << "llmc: " << error.what() << "\n";
      }
    }
  }
}

void chat(ChatArguments &arguments) {
  arguments.generation.options.sampler.validate();
  arguments.chatTemplate.read();
  auto artifact = arguments.deployment.open();
  if (artifact->tokenizer().spec().chatTemplate.empty() &&
      !arguments.chatTemplate.options.chatTemplate)
    throw InputError(artifact->manifestPath() +
                     ": the model has no chat template; give one with --chat-template, or "
                     "continue a text with `llmc run --raw`");
  rt::Session session(artifact, arguments.deployment.options(*artifact, 1));
  Conversation conversation(arguments, session);
  bool terminal = isTerminal(STDIN_FILENO);
  if (terminal)
    std::cerr << artifact->manifest().model.name << ", context of " << session.maxContext()
              << " tokens. /help lists the commands; Ctrl-C ends an answer.\n";
  converse(conversation, terminal);
  if (terminal)
    std::cerr << "\n";
  if (conversation.answered())
    conversation.printStatistics();
}
} // namespace

void addChatCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<ChatArguments>();
  CLI::App *command = app.add_subcommand("chat", "Talk with a model; one message a line");
  arguments->deployment.add(*command);
  arguments->generation.options.maxTokens = 512;
  arguments->generation.add(*command, "512 of an answer");
  command->add_option("--system", arguments->system, "System prompt");
  arguments->chatTemplate.add(*command);
  command->callback([arguments, &exitCode] {
    chat(*arguments);
    exitCode = 0;
  });
}

} // namespace llmc
