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
  /// For each entry of the overlay: index of the description that gave it.
  std::map<EntryKey, size_t> donors;
  /// Entries that stay whether or not something else is explained without them.
  std::set<EntryKey> kept;
  /// What is assumed with what was taken, as sentences.
  std::vector<std::string> notes;
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

/// How much comes with a tensor: the parameters in the statements of the state that read it, the
/// donor's blocks that read it, or all parameters of the state's blocks that read it.
enum class Reach { Statement, Readers, Block };

struct Bundle {
  /// To be laid over that of the state.
  Overlay overlay;
  /// What says how a tensor is used and goes with it, whether or not a key or tensor needs it.
  std::set<EntryKey> companions;
};

/// What of `donor` explains `wants` in `state`, with what that needs. Empty where it has nothing.
/// `configKeys` are those of the model.
Bundle bundleOf(const KnownDescriptions &known, const InferState &state,
                const KnownDescription &donor, const std::vector<Want> &wants, Reach reach,
                const std::set<std::string> &configKeys);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_INFERSEARCH_H
