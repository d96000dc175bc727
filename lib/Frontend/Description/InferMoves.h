//===- InferMoves.h - what a model's files say about a description -*- C++ -*-===//
//
// Changes to a description that no other gives: shapes and names in a checkpoint, and
// the place and value of a key, show them.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_INFERMOVES_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_INFERMOVES_H

#include "InferSearch.h"
#include "InferSwitches.h"
#include "Likeness.h"

namespace llmc::frontend {

/// All of it is taken, or nothing.
struct OwnMove {
  Overlay overlay;
  /// What is assumed with it, as a sentence.
  std::string note;
  /// Who gave an entry, where that was another description than the base.
  std::map<EntryKey, size_t> donors;
};

/// Finds them for a state. What it is given must live as long.
class OwnMoves {
public:
  /// `order` are the descriptions, the nearest first.
  OwnMoves(const KnownDescriptions &known, const ModelFacts &facts, const ModelSource &source,
           const std::vector<size_t> &order);

  /// In the order in which they are tried.
  std::vector<OwnMove> of(const InferState &state) const;

private:
  std::optional<OwnMove> otherPrefix(const InferState &state) const;
  std::optional<OwnMove> idleNames(const InferState &state) const;
  std::optional<OwnMove> inertKeys(const InferState &state) const;
  std::optional<OwnMove> otherNames(const InferState &state) const;
  std::vector<OwnMove> otherDefaults(const InferState &state) const;
  std::optional<OwnMove> transposed(const InferState &state) const;
  std::optional<OwnMove> withoutOnes(const InferState &state) const;
  std::optional<OwnMove> switches(const InferState &state) const;
  std::optional<OwnMove> withoutAbsent(const InferState &state) const;

  bool isKnown(const std::string &key) const;

  const KnownDescriptions &known;
  const ModelFacts &facts;
  const std::vector<size_t> &order;
  TensorPlaces places;
  /// Keys of the config that stand beside the object of the language model, those among them that
  /// hold the objects of other models, and keys whose value is false or null.
  std::set<std::string> outside, parts, off;
  /// Of a template: the shapes of its tensors.
  std::map<std::string, std::set<std::vector<int64_t>>> shapes;
};

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_INFERMOVES_H
