//===- Diff.h - what differs between two models -----------------*- C++ -*-===//
#ifndef LLMC_FRONTEND_DIFF_H
#define LLMC_FRONTEND_DIFF_H

#include "llmc/Frontend/Inspect.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace llmc::frontend {

/// What is compared of one model, and reported of it whether or not it differs.
struct DiffSide {
  std::string path;
  InspectReport report;
  /// Name of the description, and those that it extends, nearest first.
  std::string description;
  std::vector<std::string> extends;
  int64_t layers = 0, contextLength = 0, vocabSize = 0, hiddenSize = 0;
  struct Kind {
    std::string name;
    std::vector<int64_t> layers;
    bool operator==(const Kind &) const = default;
  };
  std::vector<Kind> kinds;
  /// Values of the description's parameters, as text.
  std::map<std::string, std::string> params;
  /// Config keys that decide something, in one spelling, with their values as JSON text.
  std::map<std::string, std::string> keys;
  /// An operation with its settings, "attend(kind: paged, window: 4096)" -> how often it runs
  /// for a token, over all layers.
  std::map<std::string, int64_t> operators;
  /// Role of the description -> "NAME [shape] x count", one for each shape.
  std::map<std::string, std::vector<std::string>> tensors;

  /// Bytes of all weights at two bytes an element; tied ones once.
  int64_t weightBytesBf16() const { return 2 * report.parametersTotal; }
  /// Bytes of the state of one sequence of so many tokens, at two bytes an element.
  int64_t stateBytesBf16(int64_t tokens) const;
};

/// A thing that has one value in the one model and another in the other; absent where it is none.
struct DiffEntry {
  std::string name;
  std::optional<std::string> a, b;
};

/// What differs between two sets of texts, by their names.
std::vector<DiffEntry> compareTexts(const std::map<std::string, std::string> &a,
                                    const std::map<std::string, std::string> &b);
/// A section as docs/Diff.md says, and its lines for people under `title`; no lines without entries.
Json diffList(const std::vector<DiffEntry> &entries);
std::string diffLines(const std::string &title, const std::vector<DiffEntry> &entries);

/// The differences between two models; see docs/Diff.md for the published form.
struct ModelDiff {
  DiffSide a, b;
  std::vector<DiffEntry> structure, params, keys, operators, tensors, state, memory;

  bool equal() const {
    return structure.empty() && params.empty() && keys.empty() && operators.empty() &&
           tensors.empty() && state.empty() && memory.empty();
  }
  std::string toJson() const;
  std::string toText() const;
};

/// Compares the headers of two models. Throws InputError where one of them is not described well
/// enough to be compared, with the reasons.
ModelDiff diffModels(std::shared_ptr<const ModelSource> a, std::shared_ptr<const ModelSource> b,
                     DescriptionSet &descriptions, const InspectOptions &options = {});

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_DIFF_H
