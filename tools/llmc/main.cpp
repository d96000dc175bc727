//===- main.cpp - llmc, the friendly front --------------------------------===//

#include "Commands.h"
#include "llmc/Runtime/Session.h"
#include "llmc/Runtime/llmc.h"

#include <csignal>
#include <iostream>

using namespace llmc;

/// All commands, in the order of the help.
static constexpr void (*commands[])(CLI::App &, int &) = {
#ifdef LLMC_HAVE_COMPILER
    addInspectCommand, addCompileCommand,
#endif
    addRunCommand,     addChatCommand,    addTraceCommand, addVerifyCommand, addBenchCommand,
};

enum ExitCode { exitInput = 1, exitUsage = 2, exitInternal = 3 };

int main(int argc, char **argv) {
  // A reader that goes away ends us quietly, as it does any program in a pipe.
  std::signal(SIGPIPE, SIG_DFL);
#ifdef LLMC_HAVE_EVALUATOR_TRACE
  registerEvaluatorTrace();
#endif
  CLI::App app{"llmc: from a model's description to an artifact that runs", "llmc"};
  app.set_version_flag("--version", std::string("llmc ") + llmc_version_string());
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  app.footer("Exit codes: 0 yes, 1 the model or input is at fault, 2 the command line is, "
             "3 llmc is.");
  int exitCode = 0;
  for (auto add : commands)
    add(app, exitCode);
  try {
    app.parse(argc, argv);
    std::cout.flush();
    if (!std::cout)
      throw InputError("standard output: writing failed");
    return exitCode;
  } catch (const CLI::Success &done) { // --help, --version
    return app.exit(done);
  } catch (const CLI::ParseError &error) {
    // CLI11 misses a command before it sees the word that is none.
    std::vector<std::string> rest = app.remaining();
    std::string what = app.get_subcommands().empty() && !rest.empty()
                           ? "'" + rest.front() + "' is no command"
                           : error.what();
    std::cerr << "llmc: " << what << "; see llmc --help\n";
    return exitUsage;
  } catch (const UsageError &error) {
    std::cerr << "llmc: " << error.what() << "\n";
    return exitUsage;
  } catch (const InputError &error) {
    std::cerr << "llmc: " << error.what() << "\n";
    return exitInput;
  } catch (const rt::CancelledError &) {
    std::cerr << "llmc: stopped by Ctrl-C\n";
    return exitInput;
  } catch (const std::exception &error) {
    std::cerr << "llmc: internal error: " << error.what()
              << ". Please report it with the command line and the model\n";
    return exitInternal;
  }
}
