//===- Inspect.cpp - llmc inspect: what is this model? ---------------------===//
#include "Commands.h"

#include "llmc/Frontend/Description.h"
#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Frontend/Inspect.h"
#include "llmc/Pipelines/ArtifactReport.h"
#include "llmc/Pipelines/CompileFlags.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/GapReport.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Printable.h"
#include "llmc/Support/Target.h"

#include "llvm/ADT/StringExtras.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>

namespace llmc {

namespace {
struct InspectArguments {
  std::string model;
  bool json = false;
  frontend::InspectOptions inspect;
  DescriptionOptions descriptions;
  /// Where --target is no target of llmc-opt but describes a chip.
  std::optional<frontend::TargetFile> chip;
  /// Kernel libraries and passes of the user's own.
  PhaseOptions phase;

  GapOptions gaps() const {
    GapOptions options;
    options.phase = phase;
    return options;
  }
};

/// A target of llmc-opt by its name goes first; else a file that describes a chip, or its name.
void findChip(InspectArguments &arguments) {
  const std::string &target = arguments.inspect.target;
  if (findTarget(target))
    return;
  std::string folder = (std::filesystem::path(sharedFiles()) / "targets").string();
  std::vector<std::string> names = frontend::TargetFile::names(folder);
  std::error_code error;
  if (!llvm::is_contained(names, target) && !std::filesystem::exists(target, error))
    throw UsageError("--target=" + target + " is not known; known: " + targetNames() +
                     ", a file that describes a chip (targets/README.md), and those that ship: " +
                     llvm::join(names, ", ") + frontend::TargetFile::nearTo(target, names));
  arguments.chip = readTarget(target, folder, *makeModelContext());
  arguments.inspect.target = arguments.chip->name;
}

std::string by(const std::string &extension) {
  return extension.empty() ? "" : " (" + extension + ")";
}

/// What the file of a chip covers decides, operator by operator (docs/Gaps.md).
void gradeOperators(frontend::InspectReport &report, mlir::ModuleOp module,
                    const frontend::TargetFile &chip, const GapOptions &options) {
  using Verdict = frontend::InspectReport::Verdict;
  using Grade = GapReport::Grade;
  GapReport gaps = findGaps(module, chip, options);
  for (Grade grade : {Grade::Missing, Grade::Composable})
    for (const GapReport::Row &row : gaps.rows) {
      if (row.grade != grade)
        continue;
      bool missing = grade == Grade::Missing;
      report.verdict = std::max(report.verdict, missing ? Verdict::Missing : Verdict::Composable);
      report.reasons.push_back(row.location + ": " + row.op +
                               (missing ? " is missing: " + row.reason
                                        : " is composed of " + llvm::join(row.composedOf, ", ") +
                                              by(row.extension)));
    }
}

/// What runs with an operator or a kernel of others is told apart from what llmc computes alone.
void nameExtensions(frontend::InspectReport &report, const InspectArguments &arguments,
                    mlir::MLIRContext &context) {
  using Verdict = frontend::InspectReport::Verdict;
  ImportedModel model = importModelFrom(arguments.model, arguments.descriptions, context);
  if (!model.module || runPhases(*model.module, Phase::Import, Phase::Normalize, reportPhases()))
    return;
  frontend::TargetFile target;
  target.name = target.compilesAs = arguments.inspect.target;
  for (const GapReport::Row &row : findGaps(*model.module, target, arguments.gaps()).rows) {
    if (row.extension.empty())
      continue;
    bool isComposed = row.grade == GapReport::Grade::Composable;
    if (isComposed)
      report.verdict = std::max(report.verdict, Verdict::Composable);
    report.reasons.push_back(row.location + ": " + row.op +
                             (isComposed ? " is composed of " + llvm::join(row.composedOf, ", ")
                                         : " is computed by " + row.by) +
                             by(row.extension));
  }
}

/// All operators that the target has no kernel for: the plan itself stops at the first.
std::vector<std::string> refusedOperators(const InspectArguments &arguments,
                                          mlir::MLIRContext &context) {
  // As it was before the plan.
  ImportedModel model = importModelFrom(arguments.model, arguments.descriptions, context);
  if (!model.module ||
      runPhases(*model.module, Phase::Import, Phase::Normalize, reportPhases()))
    return {};
  frontend::TargetFile target;
  target.name = target.compilesAs = arguments.inspect.target;
  std::vector<std::string> refused;
  for (const GapReport::Row &row : findGaps(*model.module, target, arguments.gaps()).rows)
    // A plan composes nothing.
    if (row.grade != GapReport::Grade::Covered)
      refused.push_back(row.location + ": " + row.op + " is missing: " + row.reason);
  return refused;
}

/// "ready" is proved, not assumed: the headers go through the phases up to the plan, which
/// chooses a kernel for every operation. Milliseconds, and no weights.
void proveReady(frontend::InspectReport &report, const InspectArguments &arguments) {
  using Verdict = frontend::InspectReport::Verdict;
  std::unique_ptr<mlir::MLIRContext> context = makeModelContext();
  ErrorCollector problems(*context, /*printsRemarks=*/false);
  ImportedModel model = importModelFrom(arguments.model, arguments.descriptions, *context);
  PhaseOptions options = arguments.chip ? reportPhases() : arguments.phase;
  options.target = arguments.chip ? "cpu" : arguments.inspect.target;
  std::optional<Phase> failed = Phase::Import;
  if (model.module)
    failed = runPhases(*model.module, Phase::Import,
                       arguments.chip ? Phase::Normalize : Phase::Plan, options);
  if (failed) {
    // Up to the plan the model is at fault; that fails where an operation has no kernel.
    report.verdict = *failed == Phase::Plan ? Verdict::Missing : Verdict::Invalid;
    std::vector<std::string> refused;
    if (*failed == Phase::Plan)
      refused = refusedOperators(arguments, *context);
    llvm::append_range(report.reasons, refused.empty() ? problems.errors : refused);
  } else if (arguments.chip) {
    GapOptions gaps = arguments.gaps();
    if (model.resolved)
      gaps.quantization = QuantizationRules::read(*model.resolved->source);
    gradeOperators(report, *model.module, *arguments.chip, gaps);
  } else if (!arguments.descriptions.opLibraries.empty() || !options.passes.empty() ||
             !options.kernelLibraries.empty()) {
    nameExtensions(report, arguments, *context);
  }
}

/// Of an artifact there is nothing left to choose.
void warnOfUnused(const CLI::App &command) {
  auto isGiven = [](const CLI::Option *option) { return option->count() > 0; };
  for (const CLI::Option *option : command.get_options(isGiven))
    if (std::string name = option->get_name(); name != "model" && name != "--json")
      std::cerr << "llmc: warning: " << name
                << " is for models; an artifact is compiled already: not used\n";
}
} // namespace

void addInspectCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App *command = app.add_subcommand(
      "inspect", "What is this model, and does it run? Needs no weights (exit 0: yes)");
  command
      ->add_option("model", arguments->model,
                   "Folder with config.json, the config.json itself, .gguf, description, a name of "
                   "the catalogue, or an artifact")
      ->required();
  command->add_flag("--json", arguments->json, "Print one JSON object (docs/Inspect.md)");
  command
      ->add_option("--target", arguments->inspect.target,
                   "Target that has to run it, or a file that describes one (targets/README.md)")
      ->capture_default_str();
  addDescriptionFlags(*command, arguments->descriptions,
                      "Config key that may be unknown (repeatable)");
  addExtensionFlags(*command, arguments->phase);
  command->callback([arguments, command, &exitCode] {
    if (isArtifact(arguments->model)) {
      warnOfUnused(*command);
      ArtifactReport report = ArtifactReport::read(arguments->model);
      std::cout << (arguments->json ? report.toJson() : printable(report.toText()));
      std::cout.flush();
      exitCode = 0;
      return;
    }
    findChip(*arguments);
    frontend::DescriptionSet set;
    addDescriptions(set, arguments->descriptions);
    arguments->inspect.acceptKeys = arguments->descriptions.acceptKeys;
    std::shared_ptr<const frontend::ModelSource> source = openModel(arguments->model);
    frontend::InspectReport report = frontend::inspectModel(source, set, arguments->inspect);
    for (const std::string &note : report.notes)
      std::cerr << "llmc: warning: --description=" << printable(note) << "\n";
    if (report.ok())
      proveReady(report, *arguments);
    std::cout << (arguments->json ? report.toJson() : report.toText());
    std::cout.flush();
    exitCode = report.ok() ? 0 : 1;
  });
}

} // namespace llmc
