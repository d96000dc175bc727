//===- Trace.cpp - llmc trace: inner values of a run ----------------------===//

#include "Commands.h"
#include "Deployment.h"

#include <filesystem>
#include <map>

namespace llmc {

namespace {
struct TraceArguments {
  DeploymentFlags deployment;
  TraceRequest request;
  std::string inputs, with, output, only;
};

std::map<std::string, TraceHook> &hooks() {
  static std::map<std::string, TraceHook> instance;
  return instance;
}

bool holds(const std::string &folder, const char *file) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(folder) / file, error);
}

std::vector<rt::TraceTensor> traceArtifact(const TraceArguments &arguments) {
  const TraceRequest &request = arguments.request;
  if (!holds(request.subject, "manifest.json"))
    throw InputError(request.subject +
                     ": is no artifact (it has no manifest.json). Compile the model first: "
                     "llmc-opt " +
                     request.subject + " --target=cpu -o DIR; or run it with --device evaluator");
  auto artifact = arguments.deployment.open();
  int64_t context = int64_t(request.prompt.size()) + request.greedy;
  if (!request.otherPrompt.empty())
    context = std::max(context, int64_t(request.otherPrompt.size()) + request.greedy + 4);
  // A generated token that ends the trace takes no place; what is too long all the same is
  // refused as the prompt that it is.
  const rt::Limits &limits = artifact->manifest().limits;
  context = std::min(context, limits.maxContext);
  rt::Session session(artifact, arguments.deployment.options(
                                    *artifact, request.otherPrompt.empty() ? 1 : 2, context));
  return rt::traceSession(session, request.prompt,
                          {request.greedy, request.chunk, request.onlyLogits, request.otherPrompt});
}

void trace(TraceArguments &arguments) {
  TraceRequest &request = arguments.request;
  request.subject = arguments.deployment.artifact;
  request.threads = arguments.deployment.threads;
  request.onlyLogits = arguments.only == "logits";
  rt::checkReplaceable(arguments.output);
  for (const std::string &input : {arguments.inputs, arguments.with}) {
    std::error_code error;
    if (std::filesystem::equivalent(input, arguments.output, error))
      throw UsageError(arguments.output + ": is an input of this trace; name another output");
  }
  request.prompt = rt::readInputIds(arguments.inputs);
  if (!arguments.with.empty())
    request.otherPrompt = rt::readInputIds(arguments.with);
  if (request.device == "evaluator" && holds(request.subject, "manifest.json") &&
      !holds(request.subject, "config.json"))
    throw InputError(request.subject + ": this is an artifact; the evaluator takes the model "
                                       "itself. Give the model, or leave --device evaluator out");
  std::vector<rt::TraceTensor> tensors;
  if (request.device == "cpu") {
    tensors = traceArtifact(arguments);
  } else {
    auto hook = hooks().find(request.device);
    if (hook == hooks().end())
      throw UsageError("--device " + request.device +
                       ": is not part of this build of llmc; it needs the compiler "
                       "(LLMC_ENABLE_COMPILER)");
    tensors = hook->second(request);
  }
  rt::writeTraceFile(arguments.output, tensors);
}
} // namespace

void setTraceHook(const std::string &device, TraceHook hook) { hooks()[device] = hook; }

void addTraceCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<TraceArguments>();
  TraceRequest &request = arguments->request;
  request.device = "cpu";
  CLI::App *command =
      app.add_subcommand("trace", "Write hidden states, logits and greedy tokens of a prompt");
  arguments->deployment.add(*command, /*withContext=*/false);
  command->add_option("--inputs", arguments->inputs, "safetensors with input_ids, I64 [1, T]")
      ->required();
  command->add_option("-o,--output", arguments->output, "safetensors to write")->required();
  command->add_option("--greedy", request.greedy, "Tokens to decode after the prompt")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--device", request.device,
                   "cpu: execute an artifact; evaluator: run a model in f64")
      ->check(CLI::IsMember({"cpu", "evaluator"}))
      ->capture_default_str();
  command->add_option("--only", arguments->only, "logits: leave the inner tensors out")
      ->check(CLI::IsMember({"logits"}));
  command->add_option("--chunk", request.chunk, "Prompt tokens of one step")
      ->check(CLI::PositiveNumber);
  command->add_option("--with", arguments->with,
                      "safetensors with the input_ids of another request in the same batches");
  command
      ->add_option("--description", request.descriptions,
                   "A description of your own (evaluator; repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--exclude-description", request.excludedDescriptions,
                   "model_type whose description may not be used (evaluator; repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--accept-key", request.acceptedKeys,
                   "Config key that may be unknown (evaluator; repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--op-library", request.opLibraries,
                   ".mlir with operations that descriptions may call (evaluator; repeatable)")
      ->allow_extra_args(false);
  for (auto [flag, into, text] :
       {std::tuple("--load-dialect-plugin", &request.dialectPlugins, "Shared object with MLIR dialects"),
        {"--load-pass-plugin", &request.passPlugins, "Shared object with MLIR passes"},
        {"--phase-pass", &request.phasePasses, "Passes that the model goes through first, as in llmc compile"}})
    command->add_option(flag, *into, std::string(text) + " (evaluator; repeatable)")
        ->allow_extra_args(false);
  command->add_option("--quantize", request.quantize,
                      "Quantise float weights as `llmc compile --quantize` does (evaluator)");
  command->callback([arguments, &exitCode] {
    trace(*arguments);
    exitCode = 0;
  });
}

} // namespace llmc
