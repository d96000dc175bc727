//===- Resolver.h - the steps from description to ResolvedModel -*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_RESOLVER_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_RESOLVER_H

#include "ParamEvaluator.h"

#include <set>

namespace llmc::frontend {

class Resolver {
public:
  Resolver(ResolvedModel &model, const ResolveOptions &options)
      : model(model), options(options), source(*model.source), description(*model.description) {}

  void run();

private:
  // Resolver.cpp: config, facts, layer kinds.
  void runSteps();
  void readConfig();
  void checkClass(const Json *classes, const Json *type);
  void checkRequirements();
  void checkQuantization();
  void readFacts();
  void readLayerCount();
  /// Evaluates what something reads.
  void readParams();
  void findKinds();
  /// Weights and parameters of the description that take part in nothing.
  void checkUses();
  void reportUnreadParams();
  void markKnownKeys();
  void finishConfigLedger();
  /// `structural` ones stop every use of the model, others only the use of weights.
  void problem(Problem::Kind kind, std::string message, bool structural = true);

  // TensorLedger.cpp: families and the checkpoint.
  void buildFamilies();
  /// A tensor of one layer, with its bias where it has one, as families.
  void addTensor(const TensorDef &def, std::optional<int64_t> layer);
  /// Adds a layer to the family that differs in nothing else, or a new family.
  void addFamily(const TensorDef &def, WeightFamily family, const Expr &shapeExpr,
                 std::optional<int64_t> layer);
  void choosePrefixes();
  void resolveTies();
  void compareCheckpoint();
  void takeTensor(WeightFamily &family, size_t index, int64_t layer,
                  std::vector<std::string> &missing);
  void compareTied(const WeightFamily &family);
  void reportMissing(const std::vector<std::string> &missing);
  void reportLeftOver();
  void checkLeftOut(const CheckpointTensor &tensor);
  void readRopeTensors();
  std::vector<float> ropeTensor(const std::string &name);
  /// Empty where a GGUF file holds the parts of the tensor by themselves.
  std::string storedName(const TensorDef &def) const;
  bool isIgnored(const std::string &name) const;

  ResolvedModel &model;
  const ResolveOptions &options;
  const ModelSource &source;
  const Description &description;
  std::shared_ptr<ConfigView> view;
  int64_t layers = 0;
  /// Parameters that something reads; a key that only others mention is not used.
  std::set<std::string> paramsRead;
  /// Family -> the layers whose statements do not read it, of those that have it.
  std::vector<std::vector<int64_t>> unreadIn;
  /// Family -> the expression of its shape, for messages.
  std::vector<const Expr *> shapeExprs;
  std::vector<const TensorDef *> familyDefs;
  std::set<std::string> taken;
  /// Beginnings of names as published, and in this checkpoint.
  PrefixDef published, stored;
};

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_RESOLVER_H
