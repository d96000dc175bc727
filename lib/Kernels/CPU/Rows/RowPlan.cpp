//===- RowPlan.cpp - passes of a row program ------------------------------===//
#include "RowPlan.h"

using namespace llvm;

namespace llmc::kernels {

static bool isScalarOfItself(const RowOp &op) {
  return op.isStatistic() || op.kind == RowOpKind::PositionScale ||
         (op.kind == RowOpKind::Input && op.operand.scalar);
}

RowPlan::RowPlan(const RowProgram &program) {
  ArrayRef<RowOp> ops = program.ops();
  for (const RowOp &op : ops) {
    unsigned pass = 0;
    bool ofScalars = op.isElementwise() && op.kind != RowOpKind::Input;
    for (int input : op.inputs)
      if (input >= 0) {
        pass = std::max(pass, passOf[input]);
        ofScalars &= isScalar(input);
      }
    passOf.push_back(pass + op.reductionPasses());
    kinds.push_back(isScalarOfItself(op) ? Kind::Scalar
                    : ofScalars          ? Kind::OfScalars
                                         : Kind::Row);
  }
  homes.resize(ops.size());

  unsigned last = 0;
  firstStore = ~0u;
  for (const RowProgram::Output &out : program.outputs()) {
    last = std::max(last, passOf[out.node]);
    firstStore = std::min(firstStore, passOf[out.node]);
  }
  passes.resize(last + 1);
  for (auto [i, out] : llvm::enumerate(program.outputs()))
    passes[passOf[out.node]].outputs.push_back(i);

  // From the last pass backwards: what a pass needs of earlier ones is known
  // before those are visited. Reductions are only needed by values of later passes.
  SmallVector<bool> reduced(ops.size(), false);
  for (unsigned pass = passes.size(); pass-- > 0;) {
    SmallVector<bool> seen(ops.size(), false);
    for (unsigned i : passes[pass].outputs)
      visit(program, program.outputs()[i].node, pass, seen);
    // Values kept for later passes; visiting one only reaches earlier passes.
    for (unsigned i = 0; i < passes[pass].spills.size(); ++i)
      visit(program, passes[pass].spills[i], pass, seen);
    for (int node : passes[pass].statistics)
      visit(program, node, pass, seen);
    for (const Reduction &reduction : passes[pass].reductions)
      visit(program, ops[reduction.node].inputs[0], pass, seen);
    for (auto [i, op] : llvm::enumerate(ops)) {
      if (!seen[i] || !op.isReduction() || reduced[i])
        continue;
      reduced[i] = true;
      for (unsigned phase = 0, count = op.reductionPasses(); phase < count; ++phase)
        passes[passOf[i] - count + phase].reductions.push_back({int(i), phase});
    }
  }
}

/// Marks what computing `node` in `pass` touches; values of earlier passes get a
/// home.
void RowPlan::visit(const RowProgram &program, int node, unsigned pass,
                    SmallVectorImpl<bool> &seen) {
  if (seen[node])
    return;
  if (passOf[node] < pass)
    return keep(program, node, pass);
  seen[node] = true;
  for (int input : program.ops()[node].inputs)
    if (input >= 0)
      visit(program, input, pass, seen);
}

void RowPlan::keep(const RowProgram &program, int node, unsigned pass) {
  const RowOp &op = program.ops()[node];
  Home &home = homes[node];
  // One value for all of the row: it stays in a register.
  if (isScalar(node)) {
    if ((op.isStatistic() || isOfScalars(node)) &&
        !llvm::is_contained(passes[passOf[node]].statistics, node))
      passes[passOf[node]].statistics.push_back(node);
    return;
  }
  // The visits go from the last pass to the first: the first answer is the strictest.
  if (home.kind != Home::None)
    return;
  if (op.kind == RowOpKind::Input && (op.operand.isConstant() || firstStore >= pass)) {
    home = {Home::Operand, 0};
    return;
  }
  for (auto [i, out] : llvm::enumerate(program.outputs())) {
    if (out.node == node && !out.operand.scalar) {
      home = {Home::Output, unsigned(i)};
      return;
    }
  }
  home = {Home::Scratch, scratchRows++};
  passes[passOf[node]].spills.push_back(node);
}

} // namespace llmc::kernels
