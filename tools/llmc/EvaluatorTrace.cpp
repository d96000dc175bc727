//===- EvaluatorTrace.cpp - llmc trace MODEL --device evaluator -----------===//
#include "Commands.h"

#include "llmc/Frontend/ResolvedModel.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Reference/Trace.h"
#include "llmc/Support/Error.h"

namespace llmc {

static std::vector<rt::TraceTensor> traceWithEvaluator(const TraceRequest &request) {
  std::unique_ptr<mlir::MLIRContext> context = makeModelContext();
  ErrorCollector messages(*context, /*printsRemarks=*/true);
  DescriptionOptions descriptions{request.descriptions, request.excludedDescriptions,
                                  request.acceptedKeys, request.quantize};
  ImportedModel model = importModelFrom(request.subject, descriptions, *context);
  if (!model.module)
    throw InputError(messages.text());
  if (!model.resolved)
    throw InputError(request.subject + ": a .mlir file has no weights to trace with");
  model.resolved->requireWeights();
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
