//===- FiniteWeights.cpp - no NaN among packed weights --------------------===//
#include "FiniteWeights.h"

#include "llmc/Frontend/NonFinite.h"
#include "llmc/Frontend/OpHooks.h"

#include <atomic>
#include <set>
#include <thread>

namespace llmc {

/// The tensors that sources of weights name, each once.
static std::vector<const frontend::CheckpointTensor *>
packedTensors(plan::ProgramOp program, const frontend::Checkpoint &checkpoint) {
  std::set<std::string> names;
  for (plan::WeightsOp weights : program.getOps<plan::WeightsOp>())
    for (plan::SourceAttr source : weights.getSources().getAsRange<plan::SourceAttr>()) {
      if (source.getTensor().empty())
        continue;
      std::string text = source.getTensor().str();
      plan::LayersAttr layers = weights.getLayersAttr();
      if (!layers)
        names.insert(frontend::expandLayerName(text, 0));
      for (size_t i = 0; layers && i < layers.getNumRanges(); ++i)
        for (int64_t layer = layers.getRange(i).first; layer < layers.getRange(i).second; ++layer)
          names.insert(frontend::expandLayerName(text, layer));
    }
  std::vector<const frontend::CheckpointTensor *> tensors;
  for (const frontend::CheckpointTensor &tensor : checkpoint.tensors())
    // Those that are missing or of no format are refused where they are packed.
    if (names.count(tensor.name) && tensor.format && tensor.format->readable)
      tensors.push_back(&tensor);
  return tensors;
}

std::vector<std::string> findNonFiniteWeights(plan::ProgramOp program,
                                              const frontend::Checkpoint &checkpoint,
                                              unsigned threads) {
  std::vector<const frontend::CheckpointTensor *> tensors = packedTensors(program, checkpoint);
  std::vector<std::string> messages(tensors.size());
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex lock;
  auto work = [&] {
    for (size_t i; (i = next++) < tensors.size();) {
      try {
        if (auto found = frontend::findNonFinite(*tensors[i]->format, checkpoint.data(*tensors[i])))
          messages[i] = frontend::describeNonFinite(*tensors[i], *found);
      } catch (...) {
        std::lock_guard guard(lock);
        failure = std::current_exception();
        next = tensors.size();
      }
    }
  };
  unsigned count = threads ? threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> team;
  for (unsigned t = 1; t < count; ++t)
    team.emplace_back(work);
  work();
  for (std::thread &thread : team)
    thread.join();
  if (failure)
    std::rethrow_exception(failure);
  std::erase(messages, "");
  return messages;
}

} // namespace llmc
