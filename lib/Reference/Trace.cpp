//===- Trace.cpp - named intermediate values of a model -------------------===//
#include "llmc/Reference/Trace.h"

#include "llmc/Reference/Evaluator.h"

#include <algorithm>
#include <limits>

using namespace llmc::reference;

namespace {

/// A prompt on its way through the model, then its greedy continuation.
class Request {
public:
  Request(int64_t sequence, llvm::ArrayRef<int32_t> prompt)
      : sequence(sequence), promptSize(int64_t(prompt.size())), known(prompt) {}

  bool inPrompt() const { return greedy.empty() && done < promptSize; }
  /// Adds the next chunk of what the state does not hold, every row wanted. A state that was
  /// computed for a length on the other side of a threshold is computed anew.
  void addTo(Step &step, int64_t chunk, llvm::ArrayRef<int64_t> thresholds) {
    auto isBeyond = [&](int64_t threshold) {
      return threshold >= computedFor && threshold < int64_t(known.size());
    };
    if (done > 0 && llvm::any_of(thresholds, isBeyond))
      done = 0;
    computedFor = int64_t(known.size());
    int64_t rest = int64_t(known.size()) - done;
    count = chunk > 0 ? std::min(chunk, rest) : rest;
    row = step.add(sequence, done,
                   llvm::ArrayRef<int32_t>(known).slice(size_t(done), size_t(count)));
    step.batch.sequences.back().known = int64_t(known.size());
    for (int64_t i = 0; i < count; ++i)
      step.batch.outputRows.push_back(row + i);
  }
  /// Takes note of a step's logits.
  template <typename T> void advance(const HostTensor<T> &logits) {
    done += count;
    if (done < int64_t(known.size()))
      return;
    const T *last = logits.row(row + count - 1);
    greedyLogits.insert(greedyLogits.end(), last, last + logits.width());
    greedy.push_back(int32_t(std::max_element(last, last + logits.width()) - last));
    known.push_back(greedy.back());
  }

  int64_t sequence;
  int64_t promptSize;
  /// The prompt and what was chosen.
  llvm::SmallVector<int32_t> known;
  /// Tokens that the state holds, and how many were known then.
  int64_t done = 0, computedFor = 0;
  /// Where the request's rows stand in the present step.
  int64_t row = 0, count = 0;
  std::vector<int32_t> greedy;
  std::vector<float> greedyLogits;
};

/// Lengths of a sequence at which its rotary frequencies change.
llvm::SmallVector<int64_t> thresholdsOf(mlir::ModuleOp module) {
  llvm::SmallVector<int64_t> thresholds;
  module.walk([&](llmc::llm::RotaryOp rotary) {
    if (rotary.getRope().hasLong())
      thresholds.push_back(rotary.getRope().getBeyond());
  });
  return thresholds;
}

/// Gathers rows of one name from step to step.
class Collector {
public:
  /// Appends the rows [row, row + count) of a tensor that has `rows` of them.
  template <typename T>
  llvm::Error append(llvm::StringRef name, const HostTensor<T> &value, const Request &request,
                     int64_t rows) {
    if (value.rank() == 0 || value.rows() != rows)
      return fault("the value observed as '" + name + "' has shape " + shapeText(value.shape) +
                   ", expected " + llvm::Twine(rows) + " rows");
    std::vector<int64_t> shape(value.shape.begin(), value.shape.end());
    shape.front() = 0;
    auto [it, isNew] = byName.try_emplace(name, tensors.size());
    if (isNew)
      tensors.push_back({name.str(), shape, std::vector<float>()});
    TraceTensor &tensor = tensors[it->second];
    shape.front() = tensor.shape.front();
    if (shape != tensor.shape || shape.front() != request.done)
      return fault("'" + name + "' is observed twice in a step, or with different shapes");
    tensor.shape.front() += request.count;
    auto &data = std::get<std::vector<float>>(tensor.data);
    data.insert(data.end(), value.row(request.row), value.row(request.row + request.count));
    return llvm::Error::success();
  }
  /// What was seen, heads or streams before rows where a row has several.
  std::vector<TraceTensor> take() {
    for (TraceTensor &tensor : tensors) {
      if (tensor.shape.size() != 3)
        continue;
      auto [rows, heads, width] = std::tuple(tensor.shape[0], tensor.shape[1], tensor.shape[2]);
      auto &values = std::get<std::vector<float>>(tensor.data);
      std::vector<float> turned(values.size());
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t head = 0; head < heads; ++head)
          std::copy_n(values.begin() + (row * heads + head) * width, width,
                      turned.begin() + (head * rows + row) * width);
      values = std::move(turned);
      tensor.shape = {heads, rows, width};
    }
    return std::move(tensors);
  }

private:
  static llvm::Error fault(const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  }
  std::vector<TraceTensor> tensors;
  llvm::StringMap<size_t> byName;
};

} // namespace

static llvm::Expected<std::vector<int32_t>> toTokens(llvm::ArrayRef<int64_t> ids) {
  std::vector<int32_t> tokens;
  for (int64_t id : ids) {
    if (id < 0 || id > std::numeric_limits<int32_t>::max())
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     "the prompt holds " + llvm::Twine(id) +
                                         ", which is not a token");
    tokens.push_back(int32_t(id));
  }
  return tokens;
}

template <typename T>
static llvm::Expected<std::vector<TraceTensor>>
trace(mlir::ModuleOp module, WeightSource &weights, llvm::ArrayRef<int32_t> prompt,
      llvm::ArrayRef<int32_t> otherPrompt, const TraceOptions &options) {
  EvaluatorOptions evaluatorOptions;
  evaluatorOptions.threads = options.threads;
  evaluatorOptions.weightBytes = options.weightBytes;
  Evaluator<T> evaluator(module, weights, evaluatorOptions);
  Request request(0, prompt), other(1, otherPrompt);
  llvm::SmallVector<int64_t> thresholds = thresholdsOf(module);
  Collector collector;
  llvm::Error failure = llvm::Error::success();
  int64_t stepRows = 0;
  if (!options.onlyLogits)
    evaluator.setObserver([&](llvm::StringRef name, const HostTensor<T> &value) {
      // Decoded tokens are no part of the trace, and the first failure counts. The logits
      // are what the entry returns.
      if (request.inPrompt() && name != "logits" && !failure)
        failure = collector.append(name, value, request, stepRows);
    });

  while (request.inPrompt() || int64_t(request.greedy.size()) < options.greedy) {
    Step step;
    // The other request goes first, so that the rows are not those of a run alone.
    if (!otherPrompt.empty())
      other.addTo(step, options.chunk, thresholds);
    request.addTo(step, options.chunk, thresholds);
    stepRows = int64_t(step.tokens.size());
    llvm::Expected<HostTensor<T>> logits = evaluator.evaluateStep(step);
    if (!logits)
      return llvm::joinErrors(std::move(failure), logits.takeError());
    if (!failure && request.inPrompt())
      failure = collector.append("logits", *logits, request, stepRows);
    if (failure)
      return std::move(failure);
    if (logits->rank() != 2 || logits->rows() != stepRows || logits->width() == 0)
      return errorAt(module, "the entry returns " + shapeText(logits->shape) + " as logits of " +
                                 llvm::Twine(stepRows) + " rows");
    request.advance(*logits);
    if (!otherPrompt.empty())
      other.advance(*logits);
  }

  std::vector<TraceTensor> tensors = collector.take();
  if (options.greedy > 0) {
    int64_t count = options.greedy;
    int64_t width = int64_t(request.greedyLogits.size()) / count;
    tensors.push_back({"greedy", {count},
                       std::vector<int64_t>(request.greedy.begin(), request.greedy.end())});
    tensors.push_back({"greedy_logits", {count, width}, std::move(request.greedyLogits)});
  }
  return tensors;
}

llvm::Expected<std::vector<TraceTensor>>
llmc::reference::traceModel(mlir::ModuleOp module, WeightSource &weights,
                            llvm::ArrayRef<int64_t> prompt, const TraceOptions &options) {
  if (prompt.empty())
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "the prompt has no tokens");
  llvm::Expected<std::vector<int32_t>> tokens = toTokens(prompt);
  if (!tokens)
    return tokens.takeError();
  llvm::Expected<std::vector<int32_t>> others = toTokens(options.otherPrompt);
  if (!others)
    return others.takeError();
  if (options.doublePrecision)
    return trace<double>(module, weights, *tokens, *others, options);
  return trace<float>(module, weights, *tokens, *others, options);
}
