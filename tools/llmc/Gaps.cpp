//===- Gaps.cpp - llmc gaps: what does a target lack for a model? ----------===//
#include "Commands.h"

#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/InitAllDialects.h"
#include "llmc/Pipelines/CompileFlags.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/GapReport.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Target.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

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
  std::string problems;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      problems += (problems.empty() ? "" : "\n") + diagnostic.str();
    else if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Remark)
      std::cerr << "llmc: remark: " << diagnostic.str() << "\n";
    return mlir::success();
  });
  ImportedModel model = importModelFrom(arguments.model, arguments.descriptions, context);
  bool isGood = bool(model.module);
  for (Phase phase : {Phase::Import, Phase::Normalize}) {
    if (!isGood)
      break;
    mlir::PassManager pm(&context, mlir::ModuleOp::getOperationName());
    buildPhasePipeline(pm, phase, PhaseOptions());
    isGood = mlir::succeeded(pm.run(*model.module));
  }
  if (!isGood)
    throw InputError(problems.empty() ? arguments.model + ": cannot be imported" : problems);
  return model;
}
} // namespace

void addGapsCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<GapArguments>();
  CLI::App *command = app.add_subcommand(
      "gaps", "Which operators of a model does a target lack? Needs no weights (exit 0: none)");
  command
      ->add_option("model", arguments->model,
                   "Folder with config.json, the config.json itself, .gguf, description, .mlir, or a "
                   "name of the catalogue")
      ->required();
  command
      ->add_option("--target", arguments->target,
                   "Name of a target, or a file that describes one (targets/README.md)")
      ->capture_default_str();
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
  command->callback([arguments, &exitCode] {
    std::filesystem::path shared = sharedFiles();
    frontend::TargetFile target =
        frontend::TargetFile::read(arguments->target, (shared / "targets").string());
    if (!target.compilesAs.empty() && !findTarget(target.compilesAs))
      throw InputError(target.file + ": 'compiles_as' is '" + target.compilesAs +
                       "', which llmc-opt does not know; known: " + targetNames());
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.printOpOnDiagnostic(false);
    ImportedModel model = importForReport(*arguments, context);
    GapReport report = findGaps(*model.module, target, arguments->options);
    if (auto facts = (*model.module)->getAttrOfType<mlir::DictionaryAttr>("llm.model"))
      if (auto name = facts.getAs<mlir::StringAttr>("architecture"))
        report.model = name.str();
    if (!arguments->specifications.empty())
      for (const std::string &file :
           writeSpecifications(report, arguments->specifications,
                               (shared / "reference" / "LLM.md").string()))
        std::cerr << "llmc: wrote " << file << "\n";
    std::cout << (arguments->json ? report.toJson() : report.toText());
    std::cout.flush();
    exitCode = report.ok() ? 0 : 1;
  });
}

} // namespace llmc
