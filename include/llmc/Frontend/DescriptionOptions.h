//===- DescriptionOptions.h - where descriptions come from ------*- C++ -*-===//
#ifndef LLMC_FRONTEND_DESCRIPTIONOPTIONS_H
#define LLMC_FRONTEND_DESCRIPTIONOPTIONS_H

#include <memory>
#include <string>
#include <vector>

namespace llmc {

namespace frontend {
class DescriptionSet;
struct ModelSource;
} // namespace frontend

/// The command line's say in which descriptions count.
struct DescriptionOptions {
  /// Files of the user's own; they win over those that ship.
  std::vector<std::string> files;
  /// model_types whose description can neither match nor be the nearest.
  std::vector<std::string> excluded;
  /// Config keys that may be unknown.
  std::vector<std::string> acceptKeys;
  /// Format that float weights are quantised to; empty: they stay floats.
  std::string quantize;
  /// Files of op libraries (docs/Extending.md).
  std::vector<std::string> opLibraries;
};

/// Adds the descriptions that ship (share/llmc/models beside the program's folder) and the
/// user's, and what op libraries let them call. Throws InputError for a file that is none.
void addDescriptions(frontend::DescriptionSet &set, const DescriptionOptions &options);

/// A model by its path, or by its name in the catalogue that ships. Throws InputError.
std::shared_ptr<const frontend::ModelSource> openModel(const std::string &path);

} // namespace llmc

#endif // LLMC_FRONTEND_DESCRIPTIONOPTIONS_H
