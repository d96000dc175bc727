//===- InferSearch.h - states and moves of inference ------------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_INFERSEARCH_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_INFERSEARCH_H

#include "InferEntries.h"
#include "llmc/Frontend/ResolvedModel.h"

#include <string_view>
#include <unordered_map>

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

/// What bundles are made for.
struct BundleContext {
  BundleContext(const KnownDescriptions &known, const InferState &state,
                const std::set<std::string> &configKeys);

  const KnownDescription &base;
  const InferState &state;
  /// Those of the model.
  const std::set<std::string> &configKeys;
  /// How many entries of the state read a name or have it as a literal, and how many tensors have a
  /// role.
  std::unordered_map<std::string_view, size_t> reads, roles;
};

/// What of `donor` explains `wants` in the state, with what that needs. Empty where it has nothing.
Bundle bundleOf(const BundleContext &context, const KnownDescription &donor,
                const std::vector<Want> &wants, Reach reach);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_INFERSEARCH_H
