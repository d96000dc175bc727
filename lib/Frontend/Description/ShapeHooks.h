//===- ShapeHooks.h - following shapes through a model ----------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_SHAPEHOOKS_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_SHAPEHOOKS_H

#include "llmc/Frontend/ResolvedModel.h"

namespace llmc::frontend {

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
  };
  std::vector<AttentionState> attention;

  std::vector<Value> op(const OpCall &call) override;

private:
  using Shape = std::vector<int64_t>;

  const Shape &shape(const OpCall &call, size_t index) const;
  const Shape &weightShape(const OpCall &call, size_t index) const;
  int64_t width(const OpCall &call, size_t index) const;
  void needHeads(const OpCall &call, size_t index) const;
  Value make(Shape shape);

  Value embedding(const OpCall &call);
  Value positionEmbedding(const OpCall &call);
  std::vector<Value> linear(const OpCall &call);
  Value norm(const OpCall &call, size_t weights);
  Value splitHeads(const OpCall &call);
  Value rotary(const OpCall &call);
  Value attend(const OpCall &call);
  Value same(const OpCall &call, size_t tensors);
  Value layers(const OpCall &call);

  const ResolvedModel &model;
  std::vector<Shape> shapes{{}};
  uint32_t currentKind = 0;
};

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_SHAPEHOOKS_H
