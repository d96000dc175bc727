//===- Gaps.cpp - llmc gaps: what does a target lack for a model? ----------===//
#include "Commands.h"

#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Frontend/Importer.h"
#include "llmc/Frontend/ResolvedModel.h"
#include "llmc/Pipelines/CompileFlags.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/GapReport.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Printable.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

namespace llmc {

namespace {
struct GapArguments {
  std::string model, target = "cpu", specifications;
  bool json = false;
  GapOptions options;
  DescriptionOptions descriptions;
};

/// The model after import and normalisation; throws InputError.
ImportedModel importForReport(const GapArguments &arguments, mlir::MLIRContext &context) {
  ErrorCollector problems(context, /*printsRemarks=*/true);
  ImportedModel model = importModelFrom(arguments.model, arguments.descriptions, context);
  if (!model.module || runPhases(*model.module, Phase::Import, Phase::Normalize, reportPhases()))
    throw InputError(problems.errors.empty() ? arguments.model + ": cannot be imported"
                                             : problems.text());
  return model;
}

/// What the bytes of the report count.
void sayStorage(GapReport &report, const frontend::ResolvedModel *model) {
  report.weights = "as stored";
  report.weightsFrom = model ? "headers" : "program";
  report.inferred = model && !model->inferredFrom.empty();
  if (!model || model->source->checkpoint)
    return;
  llvm::StringRef published = frontend::publishedStorage(*model->source);
  report.weights = published.empty() ? "f32" : published.str();
  report.weightsFrom = published.empty() ? "assumed" : "config";
}
} // namespace

void addGapsCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<GapArguments>();
  CLI::App *command = app.add_subcommand(
      "gaps", "Which operators of a model does a target lack? Needs no weights (exit 0: none)");
  addModelAndTarget(*command, arguments->model, arguments->target);
  command
      ->add_option("--prompt-tokens", arguments->options.promptTokens,
                   "Tokens of the step that reads a prompt")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(1), int64_t(1) << 30));
  command
      ->add_option("--context", arguments->options.context,
                   "Positions held before the step that makes one token")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(0), int64_t(1) << 30));
  command->add_option("--specifications", arguments->specifications,
                      "New folder for a page and a test of every missing operator");
  command->add_flag("--json", arguments->json, "Print one JSON object (docs/Gaps.md)");
  addDescriptionFlags(*command, arguments->descriptions,
                      "Config key that may be unknown (repeatable)");
  addExtensionFlags(*command, arguments->options.phase);
  command->callback([arguments, &exitCode] {
    std::unique_ptr<mlir::MLIRContext> context = makeModelContext();
    std::filesystem::path shared = sharedFiles();
    frontend::TargetFile target =
        readTarget(arguments->target, (shared / "targets").string(), *context);
    ImportedModel model = importForReport(*arguments, *context);
    if (model.resolved)
      arguments->options.quantization = QuantizationRules::read(*model.resolved->source);
    GapReport report = findGaps(*model.module, target, arguments->options);
    if (auto facts = (*model.module)->getAttrOfType<mlir::DictionaryAttr>("llm.model"))
      if (auto name = facts.getAs<mlir::StringAttr>("architecture"))
        report.model = name.str();
    for (const std::string &warning : report.warnings)
      std::cerr << "llmc: warning: " << printable(warning) << "\n";
    sayStorage(report, model.resolved.get());
    if (!arguments->specifications.empty())
      for (const std::string &file :
           writeSpecifications(report, arguments->specifications,
                               (shared / "reference" / "LLM.md").string()))
        std::cerr << "llmc: wrote " << file << "\n";
    std::cout << (arguments->json ? report.toJson() : printable(report.toText()));
    std::cout.flush();
    exitCode = report.ok() ? 0 : 1;
  });
}

} // namespace llmc
