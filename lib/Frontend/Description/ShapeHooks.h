//===- ShapeHooks.h - following shapes through a model ----------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_SHAPEHOOKS_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_SHAPEHOOKS_H

#include "llmc/Frontend/OpSignatures.h"
#include "llmc/Frontend/ResolvedModel.h"

#include <map>
#include <set>

namespace llmc::frontend {

struct EntrySettings;

/// Operations that statements call by name, for messages.
const std::vector<std::string> &operationNames();

/// Checks the operands of every operation and counts the state that attention keeps. Shapes
/// leave out the tokens: a residual stream is [D], heads are [H, Dh].
class ShapeHooks : public OpHooks {
public:
  explicit ShapeHooks(const ResolvedModel &model) : model(model) {}

  /// What one attention of a layer kind keeps for a token.
  struct AttentionState {
    uint32_t kind = 0;
    /// 0: unlimited.
    int64_t window = 0;
    int64_t elementsPerToken = 0;
    /// Keys of an indexer, kept beside those of the layer's attention.
    bool isIndex = false;
    /// Keys alone, whose first channels are the values.
    bool isLatent = false;
    int64_t heads = 0, keyWidth = 0, valueWidth = 0;
    /// One entry for so many tokens, beside what is kept for each of them.
    bool isEntries = false;
    int64_t tokensPerElement = 1;
  };
  std::vector<AttentionState> attention;
  /// What one recurrent mixer or convolution of a layer kind keeps for a sequence.
  struct RecurrentState {
    uint32_t kind = 0;
    int64_t stateElements = 0, convElements = 0;
    /// Rows that wait until their group is complete.
    int64_t bufferElements = 0;
  };
  std::vector<RecurrentState> recurrent;
  /// Families of which a token reads only so many experts.
  std::map<uint32_t, int64_t> expertUses;

  std::vector<Value> op(const OpCall &call) override;

protected:
  /// The kind of layer that is running.
  uint32_t currentKind = 0;

  /// What a value holds for a token; empty for token ids, and for what is no tensor.
  const std::vector<int64_t> &shapeOf(const Value &value) const {
    const Handle *handle = value.get<Handle>();
    return shapes[handle && handle->id < shapes.size() ? handle->id : 0];
  }

private:
  using Shape = std::vector<int64_t>;

  const Shape &shape(const OpCall &call, size_t index) const;
  const Shape &weightShape(const OpCall &call, size_t index) const;
  int64_t width(const OpCall &call, size_t index) const;
  void needHeads(const OpCall &call, size_t index) const;
  void needCount(const OpCall &call, size_t least, size_t most) const;
  /// take and put: the number, in every layer of the kind, is one of the heads.
  void needNumber(const OpCall &call, int64_t heads) const;
  Value make(Shape shape);
  std::vector<Value> shapesOf(const OpCall &call);
  /// Whether the operation is one of the rows that select_rows chose. Refuses those together with
  /// a row for each token, as the verifier of the llm dialect does.
  bool hasChosenRows(const OpCall &call) const;

  Value embedding(const OpCall &call);
  Value positionEmbedding(const OpCall &call);
  std::vector<Value> linear(const OpCall &call);
  Value norm(const OpCall &call, size_t weights);
  Value splitHeads(const OpCall &call);
  Value rotary(const OpCall &call);
  Value attend(const OpCall &call);
  Value selectPositions(const OpCall &call);
  Value noPositions(const OpCall &call);
  Value headLinear(const OpCall &call);
  Value poolTokens(const OpCall &call);
  Value selectEntries(const OpCall &call);
  Value jointAttend(const OpCall &call);
  Value sinkhorn(const OpCall &call);
  Value same(const OpCall &call, size_t tensors);
  Value arithmetic(const OpCall &call);
  Value weightRows(const OpCall &call);
  Value clamp(const OpCall &call);
  Value rowStatistic(const OpCall &call);
  Value slice(const OpCall &call);
  Value concat(const OpCall &call);
  Value transpose(const OpCall &call);
  Value take(const OpCall &call);
  Value put(const OpCall &call);
  Value mix(const OpCall &call);
  Value positionScale(const OpCall &call);
  std::vector<Value> route(const OpCall &call);
  std::vector<Value> expertLinear(const OpCall &call);
  Value expertSum(const OpCall &call);
  Value expertSpread(const OpCall &call);
  Value causalConv(const OpCall &call);
  Value tokenShift(const OpCall &call);
  Value linearAttention(const OpCall &call);
  /// Of an op library.
  Value composite(const OpCall &call, const OpSignature &signature);
  std::vector<Value> layers(const OpCall &call);
  /// The attention of an earlier layer whose keys and values this one reads.
  const AttentionState &sharedState(const OpCall &call, int64_t layer, int64_t keyWidth,
                                    bool isLatent) const;
  void addEntries(const OpCall &call, const EntrySettings &settings, bool isIndex);

  const ResolvedModel &model;
  std::vector<Shape> shapes{{}};
  /// Of a route's choice: how many experts it is from.
  std::map<uint64_t, int64_t> expertsOf;
  /// Values that select_positions and select_entries gave.
  std::set<uint64_t> selections, entrySelections;
  /// Values with the rows of select_rows alone, and those that are a weight for every row.
  std::set<uint64_t> chosenRows, weightsAsRows;
};

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_SHAPEHOOKS_H
