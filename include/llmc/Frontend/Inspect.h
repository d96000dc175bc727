//===- Inspect.h - what llmc knows about a model ----------------*- C++ -*-===//
#ifndef LLMC_FRONTEND_INSPECT_H
#define LLMC_FRONTEND_INSPECT_H

#include "llmc/Frontend/ResolvedModel.h"

#include <string>
#include <vector>

namespace llmc::frontend {

struct InspectOptions {
  std::vector<std::string> acceptKeys;
  std::string target = "cpu";
};

/// The facts of one model; see `toJson` for the published form.
struct InspectReport {
  enum class Verdict : uint8_t { Ready, Composable, Inferred, Missing, Unknown, Invalid };

  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    int64_t count = 0;
  };
  struct Window {
    int64_t window = 0, layers = 0, bytesPerTokenBf16 = 0;
  };

  std::string architecture, description, target;
  /// Name of the nearest description where none matched: parameters, tensors and state are then
  /// what they would be if it did, and no part of the published form.
  std::string asIf;
  Verdict verdict = Verdict::Unknown;
  std::vector<std::string> reasons;
  /// For people, no part of the published form: description files that were given in vain.
  std::vector<std::string> notes;
  int64_t parametersTotal = 0, parametersWithTied = 0, parametersActive = 0;
  std::vector<std::string> keysUsed, keysIrrelevant, keysUnknown;
  std::vector<Tensor> tensors, mtp;
  /// Of an inferred description without headers, which would show them: names and shapes that are
  /// as in the description it was taken from.
  std::vector<Tensor> assumedTensors;
  int64_t fullAttentionLayers = 0, fullAttentionBytesPerTokenBf16 = 0;
  std::vector<Window> windows;
  int64_t recurrentStateElements = 0, recurrentConvElements = 0;
  /// Values and gates of tokens whose group is not complete, at most.
  int64_t recurrentBufferElements = 0;

  /// Ready and composable.
  bool ok() const { return verdict == Verdict::Ready || verdict == Verdict::Composable; }
  std::string toJson() const;
  std::string toText() const;
};

const char *verdictName(InspectReport::Verdict verdict);

/// Never throws for a fault of the model's content: that is a verdict. Throws InputError
/// when nothing can be read at `source` at all.
InspectReport inspectModel(std::shared_ptr<const ModelSource> source, DescriptionSet &descriptions,
                           const InspectOptions &options = {});

/// Opens, matches and resolves, with `notes`: what a compiler calls. When nothing matches, an inferred
/// description is taken and a note says so, see Infer.h; where there is none, or the user's own
/// files match nothing, InputError names the nearest description and the differences.
std::shared_ptr<ResolvedModel> loadModel(const std::string &path, DescriptionSet &descriptions,
                                         const ResolveOptions &options = {});
/// The same without the opening.
std::shared_ptr<ResolvedModel> loadModel(std::shared_ptr<const ModelSource> source,
                                         DescriptionSet &descriptions,
                                         const ResolveOptions &options = {});

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_INSPECT_H
