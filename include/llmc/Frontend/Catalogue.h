//===- Catalogue.h - facts of well-known models by name ---------*- C++ -*-===//
#ifndef LLMC_FRONTEND_CATALOGUE_H
#define LLMC_FRONTEND_CATALOGUE_H

#include "llmc/Frontend/ModelSource.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llmc::frontend {

/// Models whose configs are restated as facts, so that they can be inspected and compared without a
/// download. models/catalogue holds the files, models/README.md says what they look like.
class Catalogue {
public:
  struct Model {
    std::string name, file;
    Json config;
    /// Elements of all weights as published; -1 where the file does not say.
    int64_t parameters = -1;
  };

  /// Every *.jsonc of a folder; a folder that does not exist is an empty catalogue. Throws
  /// InputError for a file that is none of a catalogue.
  explicit Catalogue(const std::string &folder);

  /// By name, in any case of letters.
  const Model *find(const std::string &name) const;
  /// Sorted.
  std::vector<std::string> names() const;

  /// A file or folder of that path, or else the model of that name. Throws InputError as
  /// ModelSource::open, with near names.
  std::shared_ptr<const ModelSource> open(const std::string &path) const;

private:
  void addFile(const std::string &file);

  /// By name in small letters.
  std::map<std::string, Model> models;
};

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_CATALOGUE_H
