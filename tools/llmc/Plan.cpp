//===- Plan.cpp - llmc plan: what a deployment takes -----------------------===//
#include "Commands.h"
#include "Validators.h"

#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Frontend/Importer.h"
#include "llmc/Frontend/ResolvedModel.h"
#include "llmc/Frontend/TargetFile.h"
#include "llmc/Pipelines/CompileFlags.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/GapReport.h"
#include "llmc/Pipelines/MemoryPlan.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Runtime/ThreadTeam.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Printable.h"
#include "llmc/Support/Target.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

namespace llmc {

namespace {
struct PlanArguments {
  std::string model, target = "cpu", memory, headroom, fusion = "on";
  bool json = false;
  MemoryRequest request;
  DescriptionOptions descriptions;
};

/// 80GB, 24GiB, 1.5 TB, or a number of bytes; empty where it is none.
std::optional<int64_t> bytesIn(const std::string &text) {
  size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception &) {
    return std::nullopt;
  }
  std::string unit = CLI::detail::trim_copy(text.substr(end));
  static constexpr std::pair<const char *, double> units[] = {
      {"", 1},       {"B", 1},           {"kB", 1e3},         {"MB", 1e6},        {"GB", 1e9},
      {"TB", 1e12},  {"KiB", 1024},      {"MiB", 1024 * 1024}, {"GiB", 1073741824.0},
      {"TiB", 1099511627776.0}};
  for (auto [name, factor] : units)
    if (unit == name) {
      double bytes = number * factor;
      // Beyond this a double holds no whole bytes.
      return bytes >= 0 && bytes <= 9e15 ? std::optional(int64_t(bytes)) : std::nullopt;
    }
  return std::nullopt;
}

CLI::Validator byteCount() {
  return CLI::Validator(
      [](const std::string &text) {
        return bytesIn(text) ? std::string()
                             : "'" + text + "' is no amount of memory such as 80GB, 24GiB or a "
                                            "number of bytes, up to 9000 TB";
      },
      "BYTES");
}

/// The target's memory, and whether llmc run is what executes.
void findTargetMemory(PlanArguments &arguments, mlir::MLIRContext &context) {
  MemoryRequest &request = arguments.request;
  request.runsHere = arguments.target == "cpu";
  std::string folder = (std::filesystem::path(sharedFiles()) / "targets").string();
  // The plan is that of the cpu's code, which a file may state other figures for.
  const TargetInfo &planned = *findTarget(request.phase.target);
  request.phase.figures = fusionFiguresOf(planned);
  if (!findTarget(arguments.target)) {
    frontend::TargetFile chip = readTarget(arguments.target, folder, context);
    if (chip.compilesAs == planned.name)
      request.phase.figures = chip.fusionFigures(planned.fusion);
    if (chip.memoryBytes)
      request.memory = int64_t(chip.memoryBytes->value);
    arguments.target = chip.name;
  }
  if (!arguments.memory.empty())
    request.memory = bytesIn(arguments.memory);
  if (!arguments.headroom.empty())
    request.headroom = *bytesIn(arguments.headroom);
  // Chips that llmc makes no code for keep what is usual.
  if (!request.runsHere && request.kvType.empty())
    request.kvType = "bf16";
}

/// The model after import and normalisation; throws InputError.
ImportedModel importForPlan(const PlanArguments &arguments, mlir::MLIRContext &context) {
  ErrorCollector problems(context, /*printsRemarks=*/true);
  ImportedModel model = importModelFrom(arguments.model, arguments.descriptions, context);
  if (!model.module || runPhases(*model.module, Phase::Import, Phase::Normalize))
    throw InputError(problems.errors.empty() ? arguments.model + ": cannot be imported"
                                             : problems.text());
  return model;
}

/// What the bytes of weights count where no headers say how they are stored.
std::string storageNote(const frontend::ResolvedModel *model) {
  if (!model || model->source->checkpoint)
    return "";
  llvm::StringRef published = frontend::publishedStorage(*model->source);
  std::string doubt = frontend::publishedStorageDoubt(*model->source);
  if (published.empty())
    return "weights are counted as f32: there are no headers, and the config " +
           (doubt.empty() ? "names no dtype" : "has " + doubt);
  return "weights are counted as " + published.str() +
         ", the dtype of the config: there are no headers" +
         (doubt.empty() ? "" : "; the config also has " + doubt);
}

/// Where a config says that weights are quantised, how their files store them.
void findQuantization(MemoryRequest &request, const frontend::ResolvedModel *model) {
  if (!model)
    return;
  request.quantization = QuantizationRules::read(*model->source);
  if (!request.quantization || model->source->checkpoint)
    return;
  llvm::StringRef published = frontend::publishedStorage(*model->source);
  if (!published.empty() && published != "f32")
    request.otherThanPlanned = "weights are quantised (" + request.quantization->method() +
                               "), and the cpu holds the values of quantised weights as f32; the "
                               "plan without headers has them as " + published.str();
}

void addDeploymentOptions(CLI::App &command, PlanArguments &arguments) {
  MemoryRequest &request = arguments.request;
  DeploymentOptions &deployment = request.phase.deployment;
  command
      .add_option("--context", deployment.maxContext,
                  "Positions of each sequence (default: the model's, at most 4096)")
      ->check(wholeNumber(1, 1 << 24));
  command.add_option("--batch", request.batch, "Sequences that are all as long as the context")
      ->check(wholeNumber(1, 4096))
      ->capture_default_str();
  command.add_option("--max-tokens", deployment.maxTokens, "Rows of one step")
      ->check(wholeNumber(1, 65536))
      ->capture_default_str();
  command.add_option("--max-outputs", deployment.maxOutputs, "Rows of one step that get logits")
      ->check(wholeNumber(1, 65536))
      ->capture_default_str();
  command
      .add_option("--max-sequences", deployment.maxSequences,
                  "Sequences of one step; never less than the batch")
      ->check(wholeNumber(1, 4096))
      ->capture_default_str();
  command
      .add_option("--threads", request.threads,
                  "Worker threads of a device (default: all the process may use; 1 on other "
                  "targets than cpu)")
      ->check(wholeNumber(1, 1024));
  command
      .add_option("--kv-dtype", request.kvType,
                  "Element of keys, values, latents and entries (default: f32, which is what the "
                  "cpu keeps; bf16 on other targets)")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "fp8", "int8"}));
  PhaseOptions &phase = request.phase;
  command.add_option("--fusion", arguments.fusion, "All fusions on or off")
      ->check(CLI::IsMember({"on", "off"}));
  command
      .add_option("--disable-fusion", phase.disabledFusions,
                  "Fusion that is not made, by name (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option("--generators", phase.generators,
                  "Kernels to prefer: tuned, or generic wherever it can compute an operation")
      ->check(CLI::IsMember({"tuned", "generic"}))
      ->capture_default_str();
  auto degree = [&](const char *name, int64_t &value, const char *what) {
    command.add_option(name, value, what)->check(wholeNumber(1, 4096))->capture_default_str();
  };
  degree("--tp", request.tensor, "Devices that divide products, tables and heads");
  degree("--pp", request.pipeline, "Stages that divide the layers");
  degree("--ep", request.expert, "Devices that divide experts, and sequences for all else");
  degree("--cp", request.context, "Devices that divide the positions of a sequence");
  command
      .add_option("--memory", arguments.memory,
                  "Bytes of a device, such as 80GB (default: what the target's file says)")
      ->check(byteCount());
  command.add_option("--headroom", arguments.headroom, "Of them, what is to stay free")
      ->check(byteCount());
}
} // namespace

void addPlanCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App *command = app.add_subcommand(
      "plan", "How much memory does a deployment take? Needs no weights (exit 1: does not fit)");
  addModelAndTarget(*command, arguments->model, arguments->target);
  arguments->request.threads = 0;
  addDeploymentOptions(*command, *arguments);
  command->add_flag("--json", arguments->json, "Print one JSON object (docs/Plan.md)");
  addDescriptionFlags(*command, arguments->descriptions,
                      "Config key that may be unknown (repeatable)");
  addQuantizeFlag(*command, arguments->descriptions);
  command->callback([arguments, &exitCode] {
    std::unique_ptr<mlir::MLIRContext> context = makeModelContext();
    PhaseOptions &phase = arguments->request.phase;
    phase.fusion = arguments->fusion == "on";
    for (const std::string &name : phase.disabledFusions)
      if (std::string known = unknownFusion(name); !known.empty())
        throw UsageError("--disable-fusion=" + name + " is no fusion; known: " + known);
    findTargetMemory(*arguments, *context);
    if (!arguments->request.threads)
      arguments->request.threads =
          arguments->request.runsHere ? rt::ThreadTeam::availableThreads() : 1;
    ImportedModel model = importForPlan(*arguments, *context);
    findQuantization(arguments->request, model.resolved.get());
    MemoryReport report = planMemory(*model.module, arguments->request);
    report.target = arguments->target;
    if (std::string note = storageNote(model.resolved.get()); !note.empty())
      report.notes.push_back(note);
    if (auto facts = (*model.module)->getAttrOfType<mlir::DictionaryAttr>("llm.model"))
      if (auto name = facts.getAs<mlir::StringAttr>("architecture"))
        report.model = name.str();
    std::cout << (arguments->json ? report.toJson() : printable(report.toText()));
    std::cout.flush();
    const std::optional<int64_t> &memory = arguments->request.memory;
    exitCode = memory && report.fullest().total() > *memory ? 1 : 0;
  });
}

} // namespace llmc
