//===- Likeness.h - how much a model is like a description ------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_LIKENESS_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_LIKENESS_H

#include "InferEntries.h"
#include "llmc/Frontend/ModelSource.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>

namespace llmc::frontend {

/// Names in a model's files: config keys, tensors as templates and the ends of those, model types.
struct ModelFacts {
  std::set<std::string> keys, templates, tails, types;
  /// Whether any key says something of rotary embeddings but their width.
  bool saysRope = false;
  /// Of each tensor its template.
  std::unordered_map<std::string, std::string> templateOfTensor;
};

ModelFacts factsOf(const ModelSource &source);

/// Compares by names, which are weighted by rarity: what few descriptions know says more.
class Similarity {
public:
  /// Both must live as long as this does.
  Similarity(const KnownDescriptions &known, const ModelFacts &facts);

  /// Greater is more alike; at most 3.3.
  double operator()(const KnownDescription &one) const;

private:
  double weight(const std::map<std::string, size_t> &counts, const std::string &name) const;
  double overlap(const std::set<std::string> &model, const std::set<std::string> &knows,
                 const std::set<std::string> &expects,
                 const std::map<std::string, size_t> &counts) const;

  const KnownDescriptions &known;
  const ModelFacts &facts;
  std::map<std::string, size_t> keyCount, tailCount;
};

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_LIKENESS_H
