//===- ReduceCommand.cpp - programs made small on purpose -----------------===//
#include "llmc/Pipelines/ReduceCommand.h"

#include "ReduceSteps.h"
#include "Reproducer.h"
#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/Gguf.h"
#include "llmc/Frontend/OpLibrary.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Printable.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

using namespace mlir;

namespace llmc {

namespace {

/// The program as a file of its own, for a command that looks at it.
class TestCommand {
public:
  explicit TestCommand(const std::string &command) : command(command) {
    if (llvm::sys::fs::createTemporaryFile("llmc-reduce", "mlir", path))
      throw InputError("no temporary file can be made");
  }
  ~TestCommand() { llvm::sys::fs::remove(path); }

  bool isInteresting(ModuleOp module) const {
    std::error_code error;
    {
      llvm::raw_fd_ostream out(path, error);
      module->print(out, OpPrintingFlags().enableDebugInfo().useLocalScope());
      out << "\n";
    }
    std::string message, line = command + " " + path.str().str();
    std::optional<StringRef> quiet[] = {std::nullopt, StringRef(""), StringRef("")};
    int code = llvm::sys::ExecuteAndWait("/bin/sh", {"sh", "-c", line}, std::nullopt, quiet, 0, 0,
                                         &message);
    if (code < 0)
      throw InputError("'" + command + "' cannot be run: " + message);
    return code == 1;
  }

private:
  std::string command;
  llvm::SmallString<128> path;
};

std::shared_ptr<const frontend::Checkpoint> openWeights(const std::string &path) {
  if (path.empty())
    return nullptr;
  return StringRef(path).ends_with(".gguf") ? frontend::openGguf(path).checkpoint
                                            : frontend::openSafetensors(path);
}

Replay replayOf(const ReduceCommand &command) {
  Replay how;
  how.pipeline = command.pipeline;
  how.checkpoint = openWeights(command.checkpoint);
  how.threads = command.threads ? command.threads : 1;
  how.instrument = command.instrument;
  if (command.limits.size() == 4)
    how.limits = {command.limits[0], command.limits[1], command.limits[2], command.limits[3]};
  return how;
}

void printDifference(const PassDifference &difference, const ReduceCommand &command,
                     llvm::raw_ostream &out) {
  if (!command.json) {
    out << "pass '" << difference.pass << "' " << printable(difference.text) << "\n";
    if (!difference.op.empty())
      out << "  first at " << printable(difference.op) << "\n";
    return;
  }
  llvm::json::OStream json(out, 1);
  json.object([&] { writeFields(json, difference); });
  out << "\n";
}

void writeProgram(ModuleOp module, const std::string &path, llvm::raw_ostream &out) {
  OpPrintingFlags flags = OpPrintingFlags().enableDebugInfo().useLocalScope();
  if (path.empty()) {
    module->print(out, flags);
    out << "\n";
    return;
  }
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    module->print(file, flags);
    file << "\n";
    file.close();
    error = file.error();
    file.clear_error();
  }
  if (error)
    throw InputError(path + ": cannot be written: " + error.message());
}

int run(const ReduceCommand &command, llvm::raw_ostream &out) {
  std::unique_ptr<MLIRContext> context = makeModelContext();
  ErrorCollector messages(*context, /*printsRemarks=*/false);
  if (std::string problem = frontend::whyNotParsed(command.program); !problem.empty())
    throw InputError(command.program + ": " + problem);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(command.program, context.get());
  if (!module)
    throw InputError(command.program + ": " + messages.text());
  if (countOps(*module) == 0)
    throw InputError(command.program + ": holds no program of the llm dialect");
  ReduceResult result;
  ReduceOptions options;
  options.seconds = command.seconds;
  if (!command.test.empty()) {
    TestCommand test(command.test);
    options.isInteresting = [&](ModuleOp candidate) { return test.isInteresting(candidate); };
    if (!options.isInteresting(*module))
      throw InputError(command.program + ": '" + command.test +
                       "' does not end with exit code 1; nothing is looked for");
    result = reduceProgram(*module, options);
  } else {
    Replay how = replayOf(command);
    ReplayResult seen = replay(*module, how);
    if (seen.difference && command.check) {
      printDifference(*seen.difference, command, out);
      return 1;
    }
    if (!seen.difference && !seen.ran)
      throw InputError(command.program + ": " + seen.messages);
    if (!seen.difference && command.check) {
      out << (command.json ? "{}\n" : "no pass changes a number\n");
      return 0;
    }
    if (!seen.difference)
      throw InputError(command.program + ": no pass of " + command.pipeline +
                       " changes a number; there is nothing to reduce");
    result = reduceDifference(*module, how, *seen.difference, command.seconds);
  }
  writeProgram(*result.module, command.output, out);
  llvm::errs() << "llmc-reduce: " << result.opsAfter << " of " << result.opsBefore
               << " operations, " << result.attempts << " attempts"
               << (result.outOfTime ? ", time is up" : "") << "\n";
  return 0;
}

} // namespace

int reduceMain(const ReduceCommand &command, llvm::raw_ostream &out) {
  try {
    return run(command, out);
  } catch (const std::exception &error) {
    llvm::errs() << "llmc-reduce: error: " << printable(error.what()) << "\n";
    return dynamic_cast<const InputError *>(&error) ? 1 : 3;
  }
}

} // namespace llmc
