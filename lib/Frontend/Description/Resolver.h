//===- Resolver.h - the steps from description to ResolvedModel -*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_RESOLVER_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_RESOLVER_H

#include "ParamEvaluator.h"

#include <set>
#include <unordered_set>

namespace llmc::frontend {

/// A condition of a description; `otherwise` where it has none.
bool flagOf(ParamEvaluator &params, const ExprPtr &expr, const std::map<std::string, Value> &locals,
            bool otherwise);

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
  void runChecks();
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

  // TensorFamilies.cpp: weights, and how they are stored.
  void buildFamilies();
  /// A tensor of one layer, with its bias where it has one, as families.
  void addTensor(const TensorDef &def, std::optional<int64_t> layer);
  /// Adds a layer to the family that differs in nothing else, or a new family.
  void addFamily(const TensorDef &def, WeightFamily family, std::optional<int64_t> layer);
  /// Adds a tensor to a list of what is published. `evaluatedAt` is the layer whose conditions
  /// and sizes are meant.
  void publish(const TensorDef &def, std::optional<int64_t> evaluatedAt, const PrefixDef &renamed,
               const PrefixDef &prefix, std::vector<PublishedTensor> &list);
  void buildMtp();
  int64_t mtpNumber(const ExprPtr &expr, const char *what, int64_t most, int64_t otherwise);
  void choosePrefixes();
  void chooseForms();
  /// Whether the checkpoint holds a tensor of these roles.
  bool holdsAny(const std::vector<TensorDef> &tensors, const std::vector<std::string> &roles) const;
  void resolveTies();
  /// Empty where a GGUF file holds the parts of the tensor by themselves.
  std::string storedName(const TensorDef &def) const;

  // TensorLedger.cpp: the checkpoint.
  void compareCheckpoint();
  void takeTensor(WeightFamily &family, size_t index, int64_t layer,
                  std::vector<std::string> &missing);
  /// A tensor against what its family says; `first` is that of expert 0.
  void checkTensor(const WeightFamily &family, const CheckpointTensor &tensor,
                   const CheckpointTensor &first);
  void compareTied(const WeightFamily &family);
  void reportMissing(const std::vector<std::string> &missing);
  void reportLeftOver();
  void checkLeftOut(const CheckpointTensor &tensor);
  void readRopeTensors();
  std::vector<float> ropeTensor(const std::string &name);
  bool isIgnored(const std::string &name);
  bool isMtp(const CheckpointTensor &tensor);

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
  std::unordered_set<const CheckpointTensor *> taken;
  /// Beginnings of names as published, and in this checkpoint.
  PrefixDef published, stored;
  /// The tensors as published, and as this checkpoint holds them.
  const std::vector<TensorDef> *publishedForm = nullptr, *storedForm = nullptr;
  /// Tensors for multi-token prediction under the names of this checkpoint; the number of their
  /// first layer.
  std::vector<PublishedTensor> mtpStored;
  int64_t mtpFrom = 0;
  std::vector<std::string> ignoredPatterns;
};

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_RESOLVER_H
