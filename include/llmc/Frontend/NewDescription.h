//===- NewDescription.h - the beginning of a description --------*- C++ -*-===//
//
// For an architecture nobody described: a file that extends the nearest
// description, matches the model at hand and lists, as comments at the place where
// it belongs, everything that is still to be said.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_NEWDESCRIPTION_H
#define LLMC_FRONTEND_NEWDESCRIPTION_H

#include "llmc/Frontend/Description.h"

namespace llmc::frontend {

struct NewDescriptionOptions {
  /// Begin one although the architecture has a description: an extension of that.
  bool force = false;
  std::vector<std::string> acceptKeys;
};

struct NewDescription {
  /// The model as given, and the description that is extended.
  std::string model, base;
  std::vector<std::string> modelTypes, architectures;
  /// What the base has no meaning for: config keys with values, and faults of tensors or values.
  std::vector<std::pair<std::string, std::string>> keys;
  std::vector<std::string> faults;
  /// What is taken over from the base without any sign in the config or the tensors.
  std::vector<std::string> assumptions;
  /// Entries of an inferred description beside `extends` and `match`; null where there are none.
  Json entries;

  /// Whether nothing is left to be said: the file describes the model as it stands.
  bool complete() const { return keys.empty() && faults.empty(); }
  /// The description, with comments; it parses whether or not it is complete.
  std::string text() const;
  /// A lit test and the commands that would prove it; `file` is the description's.
  std::string testText(const std::string &file) const;
  /// The published form (docs/Twin.md).
  std::string toJson(const std::string &file, const std::string &test) const;
};

/// Throws InputError for a model that has a description already (unless `force`), that says
/// neither model_type nor architectures, or with which there is nothing to compare.
NewDescription beginDescription(std::shared_ptr<const ModelSource> source,
                                DescriptionSet &descriptions,
                                const NewDescriptionOptions &options = {});

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_NEWDESCRIPTION_H
