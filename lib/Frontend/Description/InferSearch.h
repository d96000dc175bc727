//===- InferSearch.h - states and moves of inference ------------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_INFERSEARCH_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_INFERSEARCH_H

#include "InferEntries.h"
#include "llmc/Frontend/ResolvedModel.h"

namespace llmc::frontend {

/// What a description leaves unexplained of a model. Tensors are templates.
struct Leftovers {
  std::set<std::string> keys, unread, missing, misshapen, idleRoles;
  /// Keys with a value that stand in branches that were not taken.
  size_t withoutEffect = 0;
  /// Words in quotes of what is otherwise at fault.
  std::set<std::string> faultWords;
  size_t faults = 0;
  bool complete = false;

  double score() const;
  bool none() const {
    return complete && keys.empty() && unread.empty() && missing.empty() && misshapen.empty() &&
           idleRoles.empty() && faults == 0;
  }
};

/// A base with an overlay, resolved.
struct InferState {
  size_t base = 0;
  Overlay overlay;
  /// For each entry of the overlay: index of the description that gave it, and what it was taken
  /// for.
  std::map<EntryKey, size_t> donors;
  std::map<EntryKey, std::set<std::string>> reasons;
  std::shared_ptr<const Description> description;
  std::shared_ptr<ResolvedModel> model;
  Leftovers left;
};

/// One thing to explain.
struct Want {
  enum class Kind { Key, Unread, Missing, Misshapen, Idle, Fault } kind;
  std::string name;
};
std::vector<Want> wantsOf(const Leftovers &left);
/// Whether a description has any meaning for it.
bool hasMeaning(const KnownDescription &donor, const Want &want);

/// What of `donor` explains `wants` in `state`, with what that needs: an overlay to be laid over
/// that of the state. Empty where it has nothing.
Overlay bundleOf(const KnownDescriptions &known, const InferState &state,
                 const KnownDescription &donor, const std::vector<Want> &wants);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_INFERSEARCH_H
