//===- Reproducer.cpp - a difference that can be run again ----------------===//
#include "Reproducer.h"

#include "SeededCheckpoint.h"
#include "SeededWeights.h"
#include "llmc/Frontend/Checkpoint.h"
#include "llmc/InitAllPasses.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Pipelines/Plugins.h"
#include "llmc/Support/Error.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace mlir;
namespace fs = std::filesystem;

namespace llmc {

QuietCopy quietCopy(ModuleOp module) {
  std::string text;
  {
    llvm::raw_string_ostream out(text);
    module->print(out, OpPrintingFlags().enableDebugInfo().useLocalScope());
  }
  QuietCopy copy;
  copy.context = makeModelContext();
  ErrorCollector messages(*copy.context, /*printsRemarks=*/false);
  copy.module = parseSourceString<ModuleOp>(text, copy.context.get());
  return copy;
}

ReplayResult replay(ModuleOp program, const Replay &how) {
  // Passes are known by name only once they are registered.
  static const bool registered = (registerAllPasses(), true);
  (void)registered;
  ReplayResult result;
  OwningOpRef<ModuleOp> module = program.clone();
  ErrorCollector messages(*module->getContext(), /*printsRemarks=*/false);
  std::shared_ptr<reference::WeightSource> weights = std::make_shared<SeededWeights>();
  if (how.checkpoint)
    weights = std::make_shared<reference::CheckpointWeights>(how.checkpoint);
  PassCheckOptions check;
  check.threads = how.threads;
  check.limits = how.limits;
  check.plans = std::make_shared<PlanRunner>(how.checkpoint, how.threads);
  PassChecker checker(weights, check);
  FailureOr<OpPassManager> passes = parsePassPipeline(how.pipeline, llvm::nulls());
  if (succeeded(passes) && passes->getOpAnchorName() == ModuleOp::getOperationName()) {
    PassManager pm(module->getContext(), ModuleOp::getOperationName());
    static_cast<OpPassManager &>(pm) = std::move(*passes);
    pm.addInstrumentation(checker.makeInstrumentation());
    if (how.instrument)
      how.instrument(pm);
    result.ran = succeeded(pm.run(*module));
  } else {
    messages.errors.push_back("'" + how.pipeline + "' is no pipeline of builtin.module");
  }
  result.difference = checker.difference();
  result.messages = messages.text();
  return result;
}

ReduceResult reduceDifference(ModuleOp program, const Replay &how,
                              const PassDifference &difference, double seconds) {
  ReduceOptions options;
  options.seconds = seconds;
  // A program that is refused is no smaller form of one that computes something else.
  auto kindOf = [](const PassDifference &one) { return one.text.substr(0, one.text.find(' ')); };
  options.isInteresting = [&](ModuleOp candidate) {
    std::optional<PassDifference> found = replay(candidate, how).difference;
    return found && found->pass == difference.pass && kindOf(*found) == kindOf(difference);
  };
  return reduceProgram(program, options);
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

static void writeText(const fs::path &path, const std::string &text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out)
    throw InputError(path.string() + ": cannot be written; is the disk full?");
}

/// As a shell reads it back.
static std::string shellWord(const std::string &text) {
  auto isPlain = [](char c) { return llvm::isAlnum(c) || StringRef("_-+.,/:=@%").contains(c); };
  if (llvm::all_of(text, isPlain))
    return text;
  std::string word = "'";
  for (char c : text)
    word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, OpPrintingFlags().enableDebugInfo().useLocalScope());
  return text + "\n";
}

void writeFields(llvm::json::OStream &json, const PassDifference &difference) {
  json.attribute("version", 1);
  json.attribute("pass", difference.pass);
  json.attribute("op", difference.op);
  json.attribute("tensor", difference.tensor);
  json.attribute("step", difference.step);
  json.attribute("message", difference.text);
}

static std::string jsonOf(const PassDifference &difference, const Replay &how) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out, 1);
  json.object([&] {
    writeFields(json, difference);
    json.attribute("pipeline", how.pipeline);
    json.attribute("weights", how.checkpoint ? "weights.safetensors" : "drawn");
  });
  return text + "\n";
}

/// Never over something else.
static void makeFolder(const fs::path &folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw InputError(folder.string() + ": is a file; name a folder for the reproducer");
  bool isOurs = fs::exists(folder / "program.mlir", error) && fs::exists(folder / "command", error);
  if (fs::exists(folder, error) && !fs::is_empty(folder, error) && !isOurs)
    throw InputError(folder.string() + ": holds other files than a reproducer; name a new folder");
  fs::create_directories(folder, error);
  if (std::error_code unknown; !fs::is_directory(folder, unknown))
    throw InputError(folder.string() + ": cannot be created: " + error.message() +
                     "; name a folder that can be written");
}

void checkReproducerFolder(const std::string &folder) {
  std::error_code error;
  fs::path path = fs::absolute(folder, error).lexically_normal();
  if (!path.has_filename())
    path = path.parent_path();
  std::vector<fs::path> missing;
  for (fs::path at = path; at.has_relative_path() && !fs::exists(at, error); at = at.parent_path())
    missing.push_back(at);
  auto removeMade = [&] {
    for (const fs::path &made : missing)
      fs::remove(made, error);
  };
  try {
    makeFolder(folder);
    // Only a file that was written shows that there can be one.
    fs::path probe = path / ("probe-" + std::to_string(::getpid()));
    std::ofstream out(probe);
    bool isWritten = bool(out << std::flush);
    out.close();
    fs::remove(probe, error);
    if (!isWritten)
      throw InputError(folder + ": no file can be made in it; name a folder that can be written");
  } catch (const InputError &) {
    removeMade();
    throw;
  }
  removeMade();
}

static std::string write(ModuleOp program, Replay &how, const fs::path &folder, double seconds) {
  QuietCopy copy = quietCopy(program);
  if (!copy.module)
    throw InternalError("the program cannot be printed and read again");
  // Drawn weights do as well, unless the difference hangs on values.
  std::shared_ptr<const frontend::Checkpoint> given = std::move(how.checkpoint);
  how.checkpoint = nullptr;
  ReplayResult seen = replay(*copy.module, how);
  if (!seen.difference && given) {
    how.checkpoint = given;
    seen = replay(*copy.module, how);
  }
  if (!seen.difference)
    throw InputError("the difference is gone when the program is run again by itself" +
                     (seen.messages.empty() ? "" : ": " + seen.messages));
  ReduceResult reduced = reduceDifference(*copy.module, how, *seen.difference, seconds);
  if (std::optional<PassDifference> small = replay(*reduced.module, how).difference)
    seen.difference = small;
  makeFolder(folder);
  for (const char *name : {"weights.safetensors", "program.mlir", "command", "difference.json"}) {
    std::error_code error;
    fs::remove(folder / name, error);
  }
  writeText(folder / "program.mlir", textOf(*reduced.module));
  std::string command = "llmc-reduce " + shellWord((folder / "program.mlir").string()) + " --check";
  // What passes and dialects the pipeline and the program may name.
  for (const LoadedPlugin &plugin : loadedPlugins())
    command += " --load-" + plugin.kind + "=" + shellWord(plugin.path);
  command += " --pass-pipeline=" + shellWord(how.pipeline);
  if (how.checkpoint) {
    reference::CheckpointWeights weights(how.checkpoint);
    writeCheckpointOf(*reduced.module, weights, (folder / "weights.safetensors").string());
    command += " --checkpoint=" + shellWord((folder / "weights.safetensors").string());
  }
  if (how.limits.tokens != INT64_MAX)
    command += " --limits=" + std::to_string(how.limits.tokens) + "," +
               std::to_string(how.limits.outputs) + "," + std::to_string(how.limits.sequences) +
               "," + std::to_string(how.limits.context);
  if (!how.flag.empty())
    command += " " + how.flag;
  writeText(folder / "command", command + "\n");
  writeText(folder / "difference.json", jsonOf(*seen.difference, how));
  return folder.string() + ": " + std::to_string(reduced.opsAfter) + " operations of " +
         std::to_string(reduced.opsBefore) + " that still part" +
         (reduced.outOfTime ? " (time is up; llmc-reduce goes on)" : "") + "; see it again with\n  " +
         command;
}

std::string writeReproducer(ModuleOp program, Replay how, const std::string &folder,
                            double seconds, std::string &told) {
  try {
    told = write(program, how, folder, seconds);
    return "";
  } catch (const std::exception &error) {
    return error.what();
  }
}

} // namespace llmc
