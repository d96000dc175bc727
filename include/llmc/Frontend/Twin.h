//===- Twin.h - a small model of the same architecture ----------*- C++ -*-===//
//
// A twin has every kind of layer, the head ratios, the routing and the limits of
// positions of its original, and few enough weights to be computed in a moment. It
// is found by a search over the numbers of the config: no key is known by name,
// what a number does is seen by what the description makes of another value.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_TWIN_H
#define LLMC_FRONTEND_TWIN_H

#include "llmc/Frontend/Description.h"
#include "llmc/Frontend/ResolvedModel.h"

namespace llmc::frontend {

struct TwinOptions {
  /// Of the weights' values.
  uint64_t seed = 0;
  /// As of ResolveOptions.
  std::vector<std::string> acceptKeys;
};

/// A value of the config that the twin has otherwise, as JSON texts; lists by their lengths where
/// those differ. Empty: absent.
struct TwinChange {
  std::string key, from, to;
};

/// A key that the twin could not make small, and its value: a number, or how long the list is.
struct TwinKey {
  std::string key, value;
};

struct Twin {
  /// The original as given, its class, and its description.
  std::string original, architecture, description;
  /// Where the description says `inferred`; empty for others.
  std::string inferredAt;
  uint64_t seed = 0;
  /// What config.json holds.
  Json config;
  /// Of `config`, without weights.
  std::shared_ptr<const ResolvedModel> model;
  std::vector<TwinChange> changes;
  std::vector<TwinKey> large;
  int64_t originalLayers = 0, originalParameters = 0;
  /// Published elements of the twin, tied ones once.
  int64_t parameters = 0;

  /// The published form (docs/Twin.md); `folder` is where it was written.
  std::string toJson(const std::string &folder) const;
  std::string toText(const std::string &folder) const;
};

/// The twin of a model that has a description; of its weights nothing is read. Throws InputError
/// where it has none or does not resolve, and where no smaller numbers are found that keep the
/// architecture: then the message names the keys that stand in the way.
Twin makeTwin(std::shared_ptr<const ModelSource> source, DescriptionSet &descriptions,
              const TwinOptions &options = {});

/// Tensors of a twin in f32, by published name.
struct TwinTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
  /// Whole numbers, stored as such.
  bool integer = false;
};

/// Values by name and seed alone, the same on every machine: matrices that keep the size of what
/// they multiply, norms around one, biases around nothing, decays in between, router scores far
/// apart.
std::map<std::string, TwinTensor> twinWeights(const ResolvedModel &model, uint64_t seed);

/// Writes config.json and model.safetensors. The folder must not exist or be empty; with `force`
/// it may hold an earlier twin. Everything is written beside it and then renamed. Throws
/// InputError.
void writeTwin(const Twin &twin, const std::string &folder, bool force);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_TWIN_H
