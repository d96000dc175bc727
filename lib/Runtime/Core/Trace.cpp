//===- Trace.cpp - named intermediate values of a run ---------------------===//

#include "llmc/Runtime/Trace.h"
#include "llmc/Runtime/Scheduler.h"

#include <algorithm>
#include <unordered_map>

namespace llmc::rt {

namespace {
/// Gathers the rows of one request, by position.
class Collector {
public:
  Collector(const Scheduler &scheduler, const Scheduler::Id &id, int64_t positions)
      : scheduler(scheduler), id(id), positions(positions) {}

  void show(const Observation &seen) {
    const llmc_batch &batch = seen.batch;
    bool ofOutputs = seen.rows != batch.tokens && seen.rows == batch.outputs;
    if (seen.rows != batch.tokens && !ofOutputs)
      return; // one row for all, or one for each sequence: not of a position
    std::vector<float> *values = nullptr;
    for (int64_t row = 0; row < seen.rows; ++row) {
      int64_t token = ofOutputs ? batch.output_rows[row] : row;
      int64_t position = batch.positions[token];
      if (scheduler.requestOf(batch.token_seq[token]) != id || position >= positions)
        continue;
      if (!values)
        values = &tensor(seen);
      std::copy_n(seen.data + row * seen.width, seen.width,
                  values->begin() + position * seen.width);
    }
  }

  /// What was seen, heads or streams before positions where rows have several.
  std::vector<TraceTensor> take() {
    for (TraceTensor &tensor : tensors) {
      if (tensor.shape.size() != 3)
        continue;
      int64_t heads = tensor.shape[1], width = tensor.shape[2];
      auto &values = std::get<std::vector<float>>(tensor.data);
      std::vector<float> turned(values.size());
      for (int64_t position = 0; position < positions; ++position)
        for (int64_t head = 0; head < heads; ++head)
          std::copy_n(values.begin() + (position * heads + head) * width, width,
                      turned.begin() + (head * positions + position) * width);
      values = std::move(turned);
      tensor.shape = {heads, positions, width};
    }
    return std::move(tensors);
  }

private:
  std::vector<TraceTensor> tensors;

  std::vector<float> &tensor(const Observation &seen) {
    auto [place, isNew] = places.emplace(seen.name, tensors.size());
    std::vector<int64_t> shape{positions, seen.width};
    if (seen.heads > 1)
      shape = {positions, seen.heads, seen.width / seen.heads};
    if (isNew)
      tensors.push_back(
          {seen.name, shape, std::vector<float>(size_t(positions * seen.width), 0)});
    TraceTensor &found = tensors[place->second];
    if (found.shape != shape)
      throw InputError("two instrumentation points are called '" + seen.name +
                       "' and have different widths");
    return std::get<std::vector<float>>(found.data);
  }

  const Scheduler &scheduler;
  const Scheduler::Id &id;
  int64_t positions;
  std::unordered_map<std::string, size_t> places;
};

int32_t largestOf(std::span<const float> logits) {
  return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}
} // namespace

std::vector<TraceTensor> traceSession(Session &session, const std::vector<int32_t> &prompt,
                                      const TraceOptions &options) {
  int64_t count = int64_t(prompt.size()), width = session.vocabSize();
  Scheduler scheduler(session, {options.chunk});
  Scheduler::Id id = 0;
  Collector collector(scheduler, id, count);
  std::vector<float> logits(size_t(count * width));
  std::vector<int64_t> greedy;
  std::vector<float> greedyLogits;

  Request request;
  request.prompt = prompt;
  request.maxTokens = options.greedy;
  request.promptLogits = true;
  request.onLogits = [&](int64_t position, std::span<const float> row) {
    if (position < count)
      std::copy(row.begin(), row.end(), logits.begin() + position * width);
  };
  request.next = [&](std::span<const float> row) {
    greedyLogits.insert(greedyLogits.end(), row.begin(), row.end());
    greedy.push_back(largestOf(row));
    return std::optional<int32_t>(int32_t(greedy.back()));
  };
  // The company comes first, so that the traced rows are not the first ones.
  if (!options.otherPrompt.empty()) {
    Request other;
    other.prompt = options.otherPrompt;
    int64_t places = session.maxContext() - int64_t(other.prompt.size()) + 1;
    other.maxTokens =
        std::min(std::max<int64_t>(options.greedy, 4), std::max<int64_t>(places, 0));
    other.next = [](std::span<const float> row) { return std::optional(largestOf(row)); };
    scheduler.submit(std::move(other));
  }
  id = scheduler.submit(std::move(request));
  if (!options.onlyLogits)
    session.observe([&](const Observation &seen) { collector.show(seen); });
  try {
    scheduler.run();
  } catch (...) {
    session.observe({});
    throw;
  }
  session.observe({});

  std::vector<TraceTensor> tensors = collector.take();
  auto put = [&](TraceTensor tensor) {
    std::erase_if(tensors, [&](const TraceTensor &other) { return other.name == tensor.name; });
    tensors.push_back(std::move(tensor));
  };
  put({"logits", {count, width}, std::move(logits)});
  if (options.greedy > 0) {
    int64_t chosen = int64_t(greedy.size());
    put({"greedy", {chosen}, std::move(greedy)});
    put({"greedy_logits", {chosen, width}, std::move(greedyLogits)});
  }
  return tensors;
}

} // namespace llmc::rt
