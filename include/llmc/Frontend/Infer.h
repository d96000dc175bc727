//===- Infer.h - descriptions for architectures nobody described *- C++ -*-===//
//
// Where no description matches, one is put together from those there are: the
// nearest as the base, and from others the entries that give a meaning to the
// config keys and tensors which the base does not know. What comes out explains
// every key and every tensor, or there is none. It is a guess all the same:
// docs/Inference.md says what no key and no tensor shows.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_INFER_H
#define LLMC_FRONTEND_INFER_H

#include "llmc/Frontend/ResolvedModel.h"

#include <memory>
#include <string>
#include <vector>

namespace llmc::frontend {

/// What one description gave to an inferred one.
struct InferredPart {
  /// Name of the description that gave it.
  std::string donor;
  /// What it explains: config keys, and names of tensors with {i} and {e}.
  std::vector<std::string> explains;
  /// The entries taken: "params.qk_norm", "tensors.layer.q_norm"; those removed with "-" before.
  std::vector<std::string> entries;
};

struct Inference {
  /// The description: `extends` the base, with the entries of others. Null where nothing explains
  /// everything.
  Json text;
  std::shared_ptr<const Description> description;
  /// Collected as by ResolveOptions::collect; without a problem where `description` is set, and
  /// otherwise that of the nearest, null where there are no descriptions at all.
  std::shared_ptr<ResolvedModel> model;
  /// Name and file of the base, or of the nearest.
  std::string base, baseFile;
  std::vector<InferredPart> parts;
  /// What was chosen and could be otherwise, as sentences.
  std::vector<std::string> assumptions;
  /// Where there is no description: every key and tensor that the nearest has no meaning for.
  std::vector<std::string> unexplained;

  bool found() const { return description != nullptr; }
  /// "'qwen2', 'qwen3'": the base and the donors.
  std::string sources() const;
};

/// Infers a description of a source that nothing matches. Deterministic; the work is bounded by the
/// number of descriptions and the size of the model's headers. `acceptKeys` are keys to take as
/// irrelevant. Throws nothing for a fault of the model's content.
Inference inferDescription(std::shared_ptr<const ModelSource> source, DescriptionSet &descriptions,
                           const std::vector<std::string> &acceptKeys = {});

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_INFER_H
