//===- FiniteWeights.cpp - no NaN among packed weights --------------------===//
#include "FiniteWeights.h"

#include "WorkerTeam.h"
#include "llmc/Frontend/NonFinite.h"
#include "llmc/Frontend/OpHooks.h"

#include <set>

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
      auto add = [&](int64_t layer) {
        std::string name = frontend::expandLayerName(text, layer);
        int64_t tensors = source.isByMatrix() ? weights.getMatrices() : 1;
        for (int64_t matrix = 0; matrix < tensors; ++matrix)
          names.insert(frontend::expandExpertName(name, matrix));
      };
      if (!layers)
        add(0);
      for (size_t i = 0; layers && i < layers.getNumRanges(); ++i)
        for (int64_t layer = layers.getRange(i).first; layer < layers.getRange(i).second; ++layer)
          add(layer);
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
  forEachOnThreads(threads, tensors.size(), [&](size_t i) {
    if (auto found = frontend::findNonFinite(*tensors[i]->format, checkpoint.bytes(*tensors[i]).bytes))
      messages[i] = frontend::describeNonFinite(*tensors[i], *found);
  });
  std::erase(messages, "");
  return messages;
}

} // namespace llmc
