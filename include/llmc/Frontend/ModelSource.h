//===- ModelSource.h - what the user named as the model ---------*- C++ -*-===//
#ifndef LLMC_FRONTEND_MODELSOURCE_H
#define LLMC_FRONTEND_MODELSOURCE_H

#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/Gguf.h"
#include "llmc/Frontend/Json.h"
#include "llmc/Frontend/PairedTensors.h"

#include <memory>
#include <optional>
#include <string>

namespace llmc::frontend {

/// A model as given: a Hugging Face folder, its config.json, a GGUF file, or a description
/// with a `config` object in it.
struct ModelSource {
  enum class Kind { Folder, ConfigFile, Gguf, Description };

  Kind kind = Kind::Folder;
  /// As given, and the name for messages.
  std::string path;
  /// File that holds `config` (config.json or the description); the GGUF file otherwise.
  std::string configFile;
  /// The config as written; null for GGUF, where the description maps metadata to keys.
  Json config;
  /// Null where there are no weights.
  std::shared_ptr<Checkpoint> checkpoint;
  /// Set for GGUF.
  std::optional<GgufFile> gguf;
  /// Folder with the tokenizer's files; empty for GGUF and descriptions.
  std::string tokenizerFolder;
  /// generation_config.json and hf_quant_config.json beside the config, null when absent.
  Json generationConfig, quantConfig;
  /// How the weights are quantised, where a config says so; the tensors of `checkpoint` are paired
  /// by it. `quantFault`: why it has no meaning.
  std::optional<QuantScheme> quantization;
  std::string quantFault;
  /// The file that is itself a description, to be added to the set.
  std::string descriptionFile;

  bool isGguf() const { return kind == Kind::Gguf; }
  /// Throws InputError naming the path and what was expected there.
  static ModelSource open(const std::string &path);
};

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_MODELSOURCE_H
