//===- EvaluatorTrace.cpp - llmc trace MODEL --device evaluator -----------===//
#include "Commands.h"

#include "llmc/Frontend/ResolvedModel.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Pipelines/Plugins.h"
#include "llmc/Reference/Trace.h"
#include "llmc/Support/Error.h"

namespace llmc {

/// Loads plug-ins, and returns the passes of --phase-pass.
static std::vector<PhasePass> loadExtensions(const TraceRequest &request) {
  for (auto [files, load] : {std::pair(&request.dialectPlugins, &loadDialectPlugin),
                             {&request.passPlugins, &loadPassPlugin}})
    for (const std::string &file : *files)
      if (std::string problem = load(file); !problem.empty())
        throw InputError(problem);
  std::vector<PhasePass> passes;
  for (const std::string &text : request.phasePasses)
    if (std::string problem = parsePhasePass(text, passes.emplace_back()); !problem.empty())
      throw UsageError("--phase-pass: " + problem);
  return passes;
}

static std::vector<rt::TraceTensor> traceWithEvaluator(const TraceRequest &request) {
  PhaseOptions phase;
  phase.passes = loadExtensions(request);
  std::unique_ptr<mlir::MLIRContext> context = makeModelContext();
  ErrorCollector messages(*context, /*printsRemarks=*/true);
  DescriptionOptions descriptions{request.descriptions, request.excludedDescriptions,
                                  request.acceptedKeys, request.quantize,
                                  request.opLibraries};
  ImportedModel model = importModelFrom(request.subject, descriptions, *context);
  if (!model.module)
    throw InputError(messages.text());
  if (!model.resolved)
    throw InputError(request.subject + ": a .mlir file has no weights to trace with");
  model.resolved->requireWeights();
  // What the evaluator has no rule for, passes write as what it has.
  if (!phase.passes.empty() && runPhases(*model.module, Phase::Import, Phase::Normalize, phase))
    throw InputError(messages.text());
  int64_t positions = int64_t(request.prompt.size()) + request.greedy;
  if (model.resolved->contextLength > 0 && positions > model.resolved->contextLength)
    throw InputError(request.subject + ": " + std::to_string(positions) +
                     " positions are wanted, the model's context is " +
                     std::to_string(model.resolved->contextLength) + "; shorten the input");
  reference::CheckpointWeights weights(model.resolved->source->checkpoint);

  reference::TraceOptions options;
  options.greedy = request.greedy;
  options.chunk = request.chunk;
  options.onlyLogits = request.onlyLogits;
  options.otherPrompt.assign(request.otherPrompt.begin(), request.otherPrompt.end());
  if (request.threads)
    options.threads = unsigned(request.threads);
  std::vector<int64_t> prompt(request.prompt.begin(), request.prompt.end());
  auto traced = reference::traceModel(*model.module, weights, prompt, options);
  if (!traced)
    throw InputError(llvm::toString(traced.takeError()) +
                     (messages.errors.empty() ? "" : "; " + messages.text()));

  std::vector<rt::TraceTensor> tensors;
  for (reference::TraceTensor &tensor : *traced) {
    rt::TraceTensor out{std::move(tensor.name), std::move(tensor.shape), std::move(tensor.data)};
    tensors.push_back(std::move(out));
  }
  return tensors;
}

TraceHook evaluatorTraceHook() { return traceWithEvaluator; }

} // namespace llmc
