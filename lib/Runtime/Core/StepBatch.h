//===- StepBatch.h - the arrays behind an llmc_batch ------------*- C++ -*-===//

#ifndef LLMC_RUNTIME_CORE_STEPBATCH_H
#define LLMC_RUNTIME_CORE_STEPBATCH_H

#include "Program.h"
#include "Sequences.h"
#include "llmc/Runtime/KernelABI.h"
#include "llmc/Runtime/Session.h"

namespace llmc::rt {

/// Keeps its address for the life of a session: launches point to it.
class StepBatch {
public:
  StepBatch(const Limits &limits, const Sequences::Shape &shape);
  StepBatch(const StepBatch &) = delete;
  StepBatch &operator=(const StepBatch &) = delete;

  /// The rows of a step whose inputs have been checked and reserved.
  void fill(std::span<const StepInput> inputs, const Sequences &sequences);
  /// The same for one sequence whose tokens begin at a position that its state holds already.
  void fill(const StepInput &input, const Sequences &sequences, int64_t position);

  const llmc_batch *batch() const { return &view; }
  BatchViews views() const { return {&view, shape.ringBlocks ? &windowView : &view}; }
  std::span<const int32_t> outputRows() const { return {rowsOut.data(), size_t(view.outputs)}; }
  Extent extent(int64_t threads) const {
    return {view.tokens, view.outputs, view.sequences, view.blocks, threads};
  }

private:
  void begin();
  void add(const StepInput &input, const Sequences &sequences, int64_t position);

  void end();

  const Sequences::Shape shape;
  llmc_batch view{}, windowView{};
  std::vector<int32_t> ids, positions, sequenceOf, queryStart, contexts, table, windowTable, rowsOut,
      extents, slots;
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_CORE_STEPBATCH_H
