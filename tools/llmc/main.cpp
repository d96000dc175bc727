//===- main.cpp - llmc, the friendly front --------------------------------===//

#include "../ParseExit.h"
#include "Commands.h"
#include "Pages.h"
#include "llmc/Runtime/Session.h"
#include "llmc/Runtime/llmc.h"
#include "llmc/Support/OutOfMemory.h"
#include "llmc/Support/Printable.h"

#include <csignal>
#include <dlfcn.h>
#include <iostream>

using namespace llmc;

/// The commands that need no compiler, in the order of the help.
static constexpr void (*commands[])(CLI::App &, int &) = {
    addRunCommand, addChatCommand, addTraceCommand, addVerifyCommand, addCheckDeviceCommand, addBenchCommand,
};

#ifdef LLMC_HAVE_COMPILER
/// Why the compiler's module was not loaded: the loader has no number for it, only words.
[[noreturn]] static void fail(const std::string &reason) {
  for (const char *words : {"failed to map segment", "annot allocate memory", "cannot map"})
    if (reason.find(words) != std::string::npos)
      throw InputError("not enough memory to load the compiler (" + reason +
                       "); it takes about 1 GB of address space: see ulimit -v and the limits of "
                       "the container");
  throw InternalError("the compiler's part is not there: " + reason);
}

/// Adds the commands of the compiler's module, unless the word is one that runs
/// an artifact: the help and everything else knows all of them.
static void addCompilerCommands(CLI::App &app, int &exitCode, std::string_view word) {
  for (std::string_view light : {"run", "chat", "verify", "bench", "--version"})
    if (word == light)
      return;
  using Register = void (*)(CLI::App &, int &, SetTraceHook);
  // By the run path of this program; stays for its life, its code is called from it.
  void *module = dlopen("libllmc-commands.so", RTLD_NOW | RTLD_GLOBAL);
  void *entry = module ? dlsym(module, "llmc_register_compiler_commands") : nullptr;
  if (!entry)
    fail(dlerror());
  reinterpret_cast<Register>(entry)(app, exitCode, setTraceHook);
}
#endif

enum ExitCode { exitInput = 1, exitUsage = 2, exitInternal = 3 };

int main(int argc, char **argv) {
  // A reader that goes away ends us quietly, as it does any program in a pipe.
  std::signal(SIGPIPE, SIG_DFL);
  OutOfMemory::install("llmc");
  CLI::App app{"llmc: from a model's description to an artifact that runs", "llmc"};
  app.set_version_flag("--version", std::string("llmc ") + llmc_version_string());
  std::string shell, pages;
  auto *completion = app.add_option("--completion", shell, "Print the completions of a shell")
                         ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  auto *manual = app.add_option("--write-pages", pages,
                                "Write manual pages and completions into a folder");
  app.require_subcommand(0, 1);
  app.failure_message(CLI::FailureMessage::help);
  app.footer("Exit codes: 0 yes, 1 the model or input is at fault, 2 the command line is, "
             "3 llmc is.");
  int exitCode = 0;
#ifdef LLMC_HAVE_COMPILER
  try {
    addCompilerCommands(app, exitCode, argc > 1 ? argv[1] : "");
  } catch (const InternalError &error) {
    std::cerr << "llmc: " << error.what() << ". Is the installation whole?\n";
    return exitInternal;
  } catch (const InputError &error) {
    std::cerr << "llmc: " << printable(error.what()) << "\n";
    return exitInput;
  }
#endif
  for (auto add : commands)
    add(app, exitCode);
  // CLI11 misses a command before it sees the word that is none.
  auto isFirst = [&](const CLI::App *command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(isFirst).empty()) {
    std::cerr << "llmc: '" << printable(argv[1]) << "' is no command; see llmc --help\n";
    return exitUsage;
  }
  try {
    app.parse(argc, argv);
    if (*completion)
      std::cout << completionScript(app, shell);
    if (*manual)
      writePages(app, pages);
    if (!*completion && !*manual && app.get_subcommands().empty())
      throw CLI::RequiredError("A subcommand");
    std::cout.flush();
    if (!std::cout)
      throw InputError("standard output: writing failed");
    return exitCode;
  } catch (const CLI::Success &done) { // --help, --version
    return exitAfterParse(app, done);
  } catch (const CLI::ParseError &error) {
    std::vector<CLI::App *> chosen = app.get_subcommands();
    std::string command = chosen.empty() ? "" : chosen.front()->get_name() + " ";
    std::cerr << "llmc: " << printable(error.what()) << "; see llmc " << command << "--help\n";
    return exitUsage;
  } catch (const UsageError &error) {
    std::cerr << "llmc: " << printable(error.what()) << "\n";
    return exitUsage;
  } catch (const InputError &error) {
    std::cerr << "llmc: " << printable(error.what()) << "\n";
    return exitInput;
  } catch (const rt::CancelledError &) {
    std::cerr << "llmc: stopped by Ctrl-C\n";
    return exitInput;
  } catch (const std::exception &error) {
    std::cerr << "llmc: internal error: " << printable(error.what())
              << ". Please report it with the command line and the model\n";
    return exitInternal;
  }
}
