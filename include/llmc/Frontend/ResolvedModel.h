//===- ResolvedModel.h - a description applied to a model -------*- C++ -*-===//
//
// Everything the importer needs, proved: parameter values, weight families with
// names and shapes that agree with the checkpoint, layer kinds and schedule,
// rope records, and what became of every config key and every tensor.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_RESOLVEDMODEL_H
#define LLMC_FRONTEND_RESOLVEDMODEL_H

#include "llmc/Frontend/ConfigView.h"
#include "llmc/Frontend/Description.h"
#include "llmc/Frontend/OpHooks.h"
#include "llmc/Frontend/Rope.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace llmc::frontend {

/// Where the elements of a weight lie: [a, b, ...] is element
/// `first + a * strides[0] + b * strides[1] + ...`, row by row, of a tensor of shape `stored`.
struct StoredView {
  std::vector<int64_t> stored;
  int64_t first = 0;
  std::vector<int64_t> strides;

  /// All of a tensor of that shape.
  static StoredView whole(std::vector<int64_t> shape);
  friend bool operator==(const StoredView &, const StoredView &) = default;
};

/// The tensors of one role and one shape, over the layers that have it.
struct WeightFamily {
  std::string role;
  /// Name templates with {i} for the layer and {e} for the expert: in the published checkpoint,
  /// and in this one (they differ for GGUF).
  std::string publishedName, checkpointName;
  std::vector<int64_t> shape;
  bool perLayer = false;
  bool isBias = false;
  /// How it lies in its tensor of this checkpoint. `perExpert`: the checkpoint has a tensor for
  /// each index of the first dimension, and the view is that of one of them.
  StoredView view;
  bool perExpert = false;
  /// Where nothing but rows in a row is taken of a tensor of at most two dimensions: its first
  /// row, and the rows of all. No rows: it is the whole tensor, or not cut so simply.
  int64_t firstRow = 0, storedRows = 0;
  /// Stored as [columns, rows] in this checkpoint.
  bool transposed = false;
  /// Neither of the two says how it is stored; the view does.
  bool needsView = false;
  /// Another part of a tensor that an earlier family stands for.
  bool laterPart = false;
  /// A part that this checkpoint holds as a tensor of its own.
  bool storedByItself = false;
  /// A table of whole numbers; no parameter.
  bool integer = false;
  /// The elements of all members, one after another, where they are constants of the description:
  /// then no checkpoint has them.
  std::vector<float> constants;
  /// Ascending; empty for a global weight.
  std::vector<int64_t> layers;
  /// For each of `layers` (one entry for a global weight): the tensor, or that of expert 0. Null
  /// without a checkpoint or for a tied weight that is not stored.
  std::vector<const CheckpointTensor *> tensors;
  /// Family this one shares its storage with, -1 for none. Its tensors are that family's.
  int32_t tiedTo = -1;
  /// What llmc makes of it, see WeightFormats.h; null: it stays as it is stored.
  const StorageFormat *quantizedTo = nullptr;

  /// Shape of the tensor in this checkpoint, of one expert's where there is one for each.
  const std::vector<int64_t> &storedShape() const { return view.stored; }
  bool isLaterPart() const { return laterPart; }
  int64_t count() const { return perLayer ? int64_t(layers.size()) : 1; }
  /// Tensors that a member is made of.
  int64_t tensorCount() const { return perExpert ? shape.front() : 1; }
  /// The tensor of a layer (any value for a global weight), or null.
  const CheckpointTensor *tensorOf(int64_t layer) const;
  /// Its storage format, or null without a checkpoint.
  const StorageFormat *formatOf(int64_t layer) const;
};

/// A tensor as it is published, with {i} for the layer and {e} for the expert in its name.
struct PublishedTensor {
  std::string name;
  std::vector<int64_t> shape;
  /// Over layers and experts.
  int64_t count = 0;
  /// Shares its storage with another, so that checkpoints leave it out.
  bool tied = false;
  /// Whole numbers, no parameters.
  bool integer = false;

  int64_t elements() const;
};

/// Layers that run the same code: equal operations, values, shapes and storage formats.
struct LayerKind {
  /// The block's name, numbered when it gives several kinds: "decoder", "decoder_1".
  std::string name;
  std::string block;
  std::vector<int64_t> layers;
};

/// What became of the checkpoint's tensors.
struct TensorLedger {
  uint64_t used = 0;
  /// Stored copies of tied tensors, tensors of layers for multi-token prediction, and tensors
  /// ignored by name.
  std::vector<std::string> tied, mtp, ignored;
  /// What does not fit: tensors that the config calls for and nobody stores, stored ones that no
  /// parameter reads, and those of another shape; roles of weights that no statement reads.
  std::vector<std::string> missing, unread, misshapen, idleRoles;
};

/// Why a model is not `ready`.
struct Problem {
  enum class Kind : uint8_t {
    /// A config key nobody knows, or a tensor nobody reads: the model is more than described.
    Unknown,
    /// A known feature that llmc cannot do yet.
    Unsupported,
    /// The input contradicts itself.
    Invalid,
  };
  Kind kind;
  std::string message;
  /// It stops every use of the model; others only stop the use of weights.
  bool structural = true;
};

struct ResolveOptions {
  /// Unknown config keys to accept; recorded in the ledger.
  std::vector<std::string> acceptKeys;
  /// Keep going and collect problems instead of throwing at the first group of them.
  bool collect = false;
  /// Whether a message on an unknown key says how to accept it: futile where the description is
  /// none that matched.
  bool adviseAcceptKey = true;
  /// Whether messages name what is spelled alike. Every name is compared with every other, which a
  /// search that resolves hundreds of times leaves out.
  bool nearNames = true;
};

class ResolvedModel {
public:
  /// Throws InputError (all problems of the first group in one message) unless
  /// `options.collect`; then only for what leaves no model to speak of.
  static std::shared_ptr<ResolvedModel> resolve(std::shared_ptr<const ModelSource> source,
                                                std::shared_ptr<const Description> description,
                                                const ResolveOptions &options = {});

  std::shared_ptr<const ModelSource> source;
  std::shared_ptr<const Description> description;

  /// The published class name, or model_type where the config names none.
  std::string architecture;
  /// Values of the parameters that something reads, functions left out.
  std::map<std::string, Value> params;
  std::vector<WeightFamily> families;
  /// What the model was published as, and its layers for multi-token prediction, which are no
  /// part of anything else here.
  std::vector<PublishedTensor> published, mtp;
  int64_t mtpLayers = 0;
  std::vector<LayerKind> kinds;
  /// For each layer: index into `kinds`.
  std::vector<uint32_t> schedule;
  std::vector<RopeRecord> ropes;
  int64_t contextLength = 0, vocabSize = 0, hiddenSize = 0;
  std::vector<int64_t> bosIds, eosIds;
  bool ropeInterleaved = false;
  ConfigLedger configLedger;
  TensorLedger tensorLedger;
  std::vector<Problem> problems;
  /// What is no fault but may surprise: of how the description was chosen.
  std::vector<std::string> notes;
  /// Files of descriptions that the user gave and that are not used, with the reasons.
  std::vector<std::string> unused;
  /// Names of the descriptions that an inferred one was put together from, in quotes; else empty.
  std::string inferredFrom;

  /// False after a collected problem that left the model half resolved; nothing can be
  /// emitted then.
  bool isComplete() const { return !schedule.empty(); }
  int64_t layerCount() const { return int64_t(schedule.size()); }
  /// Families of a role; a role whose shape differs between layers has several.
  std::vector<const WeightFamily *> familiesOf(const std::string &role) const;

  /// Runs the `model` statements: `tokens` is the token ids. Returns the last statement's
  /// value (the logits). The layers arrive as the operation "layers"; a hook that inlines
  /// them calls emitLayer for each entry of `schedule`.
  Value emitModel(OpHooks &hooks, Handle tokens) const;
  /// Runs the block of a kind on the values that `layers` carries and then those that it gives to
  /// every layer; the result is the value carried, or a list of them. The values are those of
  /// every layer of the kind.
  Value emitLayer(uint32_t kind, OpHooks &hooks, const ValueList &values) const;
  Value emitLayer(uint32_t kind, OpHooks &hooks, Handle x) const {
    return emitLayer(kind, hooks, ValueList{x});
  }
  /// The same for one layer: `observe` names are expanded.
  Value emitLayerAt(int64_t layer, OpHooks &hooks, const ValueList &values) const;
  Value emitLayerAt(int64_t layer, OpHooks &hooks, Handle x) const {
    return emitLayerAt(layer, hooks, ValueList{x});
  }

  /// Throws InputError when the checkpoint or its data is missing, or a tensor's storage
  /// format is not readable. Call before weights are needed.
  void requireWeights() const;

private:
  friend class Resolver;
  const BlockDef &layerBlock(int64_t layer) const;
  Value runLayer(int64_t layer, bool expandNames, OpHooks &hooks, const ValueList &values) const;
  /// For the interpreter, set by the resolver.
  std::shared_ptr<class ParamEvaluator> evaluator;
};

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_RESOLVEDMODEL_H
