//===- StepBatch.cpp - the arrays behind an llmc_batch --------------------===//

#include "StepBatch.h"

#include <algorithm>

namespace llmc::rt {

StepBatch::StepBatch(const Limits &limits, const Sequences::Shape &shape)
    : shape(shape), ids(size_t(limits.maxTokens)), positions(ids.size()), sequenceOf(ids.size()),
      queryStart(size_t(shape.sequences) + 1), contexts(size_t(shape.sequences)),
      rowsOut(size_t(limits.maxOutputs)), extents(size_t(shape.sequences)),
      slots(size_t(shape.sequences)) {
  view.table_stride = (shape.maxContext + shape.blockTokens - 1) / shape.blockTokens;
  table.resize(size_t(view.table_stride * shape.sequences));
  view.blocks = shape.blocks;
  view.token_ids = ids.data();
  view.positions = positions.data();
  view.token_seq = sequenceOf.data();
  view.query_start = queryStart.data();
  view.context_len = contexts.data();
  view.block_table = table.data();
  view.output_rows = rowsOut.data();
  view.extents = extents.data();
  view.slots = slots.data();
  if (shape.ringBlocks)
    windowTable.resize(table.size());
}

void StepBatch::fill(std::span<const StepInput> inputs, const Sequences &sequences) {
  begin();
  for (const StepInput &input : inputs)
    add(input, sequences, sequences.length(input.sequence));
  end();
}

void StepBatch::fill(const StepInput &input, const Sequences &sequences, int64_t position) {
  begin();
  add(input, sequences, position);
  end();
}

void StepBatch::begin() { view.tokens = view.sequences = view.outputs = 0; }

void StepBatch::end() {
  queryStart[size_t(view.sequences)] = int32_t(view.tokens);
  windowView = view;
  windowView.block_table = windowTable.data();
  windowView.blocks = shape.ringBlocks * shape.sequences;
}

void StepBatch::add(const StepInput &input, const Sequences &sequences, int64_t position) {
  size_t row = size_t(view.tokens), outputs = size_t(view.outputs);
  size_t index = size_t(view.sequences);
  queryStart[index] = int32_t(row);
  for (int32_t id : input.tokens) {
    ids[row] = id;
    positions[row] = int32_t(position++);
    sequenceOf[row] = int32_t(index);
    if (input.logits == Logits::All)
      rowsOut[outputs++] = int32_t(row);
    ++row;
  }
  if (input.logits == Logits::Last)
    rowsOut[outputs++] = int32_t(row - 1);
  contexts[index] = int32_t(position);
  extents[index] = int32_t(std::clamp<int64_t>(input.known, position, INT32_MAX));
  slots[index] = sequences.slotOf(input.sequence);
  const std::vector<int32_t> &blocks = sequences.blocksOf(input.sequence);
  auto begin = table.begin() + ptrdiff_t(index) * view.table_stride;
  std::fill(std::copy(blocks.begin(), blocks.end(), begin), begin + view.table_stride, 0);
  // Round and round in the sequence's own blocks.
  if (int64_t ring = shape.ringBlocks) {
    int64_t first = slots[index] * ring, from = int64_t(index) * view.table_stride;
    for (int64_t i = 0, at = 0; i < view.table_stride; ++i, at = at + 1 == ring ? 0 : at + 1)
      windowTable[size_t(from + i)] = int32_t(first + at);
  }
  view.tokens = int64_t(row);
  view.sequences = int64_t(index) + 1;
  view.outputs = int64_t(outputs);
}

} // namespace llmc::rt
