//===- AttentionTail.cpp - what becomes of the heads of a result ----------===//
#include "AttentionEmitter.h"

using namespace mlir;

namespace llmc::kernels {

std::string checkAttentionTail(const AttentionSpec &spec) {
  const RowProgram &tail = *spec.tail;
  if (std::string problem = checkRowProgram(tail); !problem.empty())
    return "the tail: " + problem;
  if (tail.width() != spec.valueWidth() || tail.rowsPerToken() != spec.heads)
    return "the tail has " + std::to_string(tail.rowsPerToken()) + " rows of " +
           std::to_string(tail.width()) + " a token, the result " + std::to_string(spec.heads) +
           " heads of " + std::to_string(spec.valueWidth());
  if (tail.outputs().size() != 1 || tail.outputs()[0].operand.operand != attentionOut ||
      tail.outputs()[0].operand.scalar)
    return "the tail has one output, which is that of the attention";
  unsigned first = attentionOperands(spec);
  for (const RowOp &op : tail.ops()) {
    if (op.kind == RowOpKind::PositionScale)
      return "the tail has no positions";
    if (op.kind != RowOpKind::Input)
      continue;
    const RowOperand &operand = op.operand;
    if (operand.operand != attentionOut && operand.operand < first)
      return "the tail reads operand " + std::to_string(operand.operand) +
             ", which is one of the attention itself";
    if (operand.index != RowIndex::Item || operand.chooser >= 0)
      return "the tail reads rows of its own tokens alone";
  }
  return "";
}

void AttentionEmitter::storeTail(Value row, Value head, Value from, Value to) {
  Values inputs;
  for (const RowOp &op : spec.tail->ops()) {
    const RowOperand &operand = op.operand;
    if (op.kind != RowOpKind::Input) {
      inputs.push_back(Value());
    } else if (operand.operand == attentionOut) {
      inputs.push_back(from);
    } else {
      int64_t bytes = operand.element == RowElement::F32 ? 4 : 2;
      Value at = kb.at(tailOperands[operand.operand], operand.offset * bytes);
      if (operand.stride)
        at = kb.at(at, kb.mul(row, operand.stride * bytes));
      if (operand.inner)
        at = kb.at(at, kb.mul(head, operand.inner * bytes));
      inputs.push_back(at);
    }
  }
  emitRow(kb, *spec.tail, inputs, {to}, at(layout.tail, kb.c(0), 4));
}

} // namespace llmc::kernels
