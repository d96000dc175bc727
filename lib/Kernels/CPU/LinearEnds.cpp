//===- LinearEnds.cpp - before and behind the sums of a product -----------===//
#include "LinearEmitter.h"

using namespace mlir;

namespace llmc::kernels {

//===----------------------------------------------------------------------===//
// The spec
//===----------------------------------------------------------------------===//

static std::string checkPrologue(const LinearSpec &spec) {
  const RowProgram &program = *spec.prologue;
  if (program.width() != spec.cols || program.rowsPerToken() != 1)
    return "a prologue makes rows of " + std::to_string(spec.cols) + " elements, not of " +
           std::to_string(program.width());
  if (spec.inputStride)
    return "a product with a prologue multiplies rows that lie densely";
  if (program.countsOutputs() && spec.count != RowCount::Outputs)
    return "a prologue that chooses rows needs a product of chosen rows";
  for (const RowOp &op : program.ops())
    if (op.kind == RowOpKind::PositionScale ||
        (op.kind == RowOpKind::Input &&
         (op.operand.index == RowIndex::TokenId || op.operand.chooser >= 0)))
      return "a prologue knows the numbers of its rows, no positions, tokens or choosers";
  return "";
}

static std::string checkEpilogue(const LinearSpec &spec) {
  const RowProgram &program = *spec.epilogue;
  if (spec.activation)
    return "an activation is part of the epilogue where there is one";
  if (program.width() != spec.width() || program.rowsPerToken() != 1)
    return "an epilogue has rows of " + std::to_string(spec.width()) + " elements, not of " +
           std::to_string(program.width());
  llvm::SmallVector<bool> read(spec.sums(), false);
  for (const RowOp &op : program.ops()) {
    if (!op.isElementwise())
      return "an epilogue has element-wise operations only";
    if (op.kind != RowOpKind::Input)
      continue;
    const RowOperand &operand = op.operand;
    if (operand.operand < spec.sums())
      read[operand.operand] = true;
    if (operand.element != RowElement::F32 || operand.index != RowIndex::Item || operand.inner ||
        operand.chooser >= 0)
      return "an epilogue reads f32 rows by the number of the row, or constants";
  }
  if (llvm::is_contained(read, false))
    return "an epilogue reads every sum of the product";
  return "";
}

std::string checkLinearEnds(const LinearSpec &spec) {
  for (const std::optional<RowProgram> *program : {&spec.prologue, &spec.epilogue}) {
    if (!*program)
      continue;
    if (std::string problem = checkRowProgram(**program); !problem.empty())
      return problem;
    if ((*program)->outputs().size() != 1)
      return "a product's prologue and epilogue have one output each";
  }
  if (spec.prologue)
    if (std::string problem = checkPrologue(spec); !problem.empty())
      return problem;
  return spec.epilogue ? checkEpilogue(spec) : "";
}

RowProgram linearEnd(const LinearSpec &spec) {
  if (spec.epilogue)
    return *spec.epilogue;
  RowProgram end(spec.width());
  RowProgram::Node value = end.input(RowOperand{0});
  if (spec.activation)
    value = end.activate(*spec.activation, value);
  if (spec.gated)
    value = end.mul(value, end.input(RowOperand{1}));
  end.output(value, RowOperand{});
  return end;
}

//===----------------------------------------------------------------------===//
// Before
//===----------------------------------------------------------------------===//

int64_t LinearEmitter::preparedBytes(const LinearSpec &spec) {
  if (!spec.prologue)
    return 0;
  int64_t rows = (linearTokenBlock * spec.cols * 4 + 63) / 64 * 64;
  return rows + rowKernelScratch(*spec.prologue);
}

Value LinearEmitter::inputRows(Value first, Value) {
  if (spec.prologue)
    return k.at(prepared, k.mul(k.sub(first, preparedFirst), inputDistance() * 4));
  return k.at(x, k.mul(first, inputDistance() * 4));
}

void LinearEmitter::prepare(Value first, Value count) {
  const RowProgram &program = *spec.prologue;
  Value chosen;
  if (program.countsOutputs())
    chosen = k.batch(BatchField::OutputRows);
  Value rowScratch = k.at(prepared, preparedBytes(spec) - rowKernelScratch(program));
  k.loop(k.c(0), count, 1, [&](Value i) {
    SmallVector<Value> inputs;
    for (const RowOp &op : program.ops()) {
      Value row;
      if (op.kind == RowOpKind::Input) {
        unsigned number = op.operand.operand;
        row = rowAddress(k, op.operand, number ? prologueOperands[number - 1] : x, k.add(first, i),
                         Value(), op.operand.index == RowIndex::OutputRow ? chosen : Value());
      }
      inputs.push_back(row);
    }
    emitRow(k, program, inputs, k.at(prepared, k.mul(i, inputDistance() * 4)), rowScratch);
  });
  preparedFirst = first;
}

//===----------------------------------------------------------------------===//
// Behind
//===----------------------------------------------------------------------===//

void LinearEmitter::takeEpilogueOperands(unsigned &next) {
  for (unsigned i = spec.sums(); i < end.operandCount(); ++i)
    epilogueOperands.push_back(k.operand(next++));
}

void LinearEmitter::finish(Value tokens, int64_t count, Value firstRow, Value firstPanel) {
  int64_t width = spec.width();
  int64_t step = spec.sums();
  // Panels past the last one that is written have no place in the output.
  int64_t written = (width + panelFeatures - 1) / panelFeatures * step;
  Value present = k.min(k.sub(k.c(written), firstPanel), count);
  k.loop(k.c(0), tokens, 1, [&](Value t) {
    Value sums = k.at(buffer, k.mul(t, count * 64));
    Value row = outputRow(k.add(firstRow, t));
    k.loop(k.c(0), present, step, [&](Value p) {
      Value panel = k.add(firstPanel, p);
      Value feature = k.mul(k.div(panel, step), panelFeatures);
      Value mask;
      if (width % panelFeatures)
        mask = k.laneMask(k.sub(k.c(width), feature));
      auto place = [&](Value base) {
        return k.at(base, k.mul(k.add(k.mul(row, spec.outputDistance()), feature), 4));
      };
      auto load = [&](Value address) {
        return mask ? k.maskedLoad(k.vecF(), address, mask, 4) : k.load(k.vecF(), address, 4);
      };
      auto input = [&](const RowOperand &operand) -> Value {
        if (operand.operand < step) {
          int64_t i = operand.operand;
          Value value = k.load(k.vecF(), k.at(sums, k.mul(k.add(p, i), 64)), 64);
          if (!spec.bias)
            return value;
          return k.addf(value, k.load(k.vecF(), k.at(bias, k.mul(k.add(panel, i), 64)), 64));
        }
        Value address = rowAddress(k, operand, epilogueOperands[operand.operand - size_t(step)],
                                   row, Value(), Value());
        if (operand.scalar)
          return k.broadcast(k.load(k.f32(), address, 4));
        return load(k.at(address, k.mul(feature, 4)));
      };
      SmallVector<Value> values;
      for (const RowOp &op : end.ops()) {
        SmallVector<Value> in;
        for (int node : op.inputs)
          in.push_back(node < 0 ? Value() : values[size_t(node)]);
        values.push_back(op.kind == RowOpKind::Input ? input(op.operand)
                                                     : emitElementwise(k, op, in));
      }
      Value value = values[size_t(end.outputs().front().node)];
      if (spec.residual)
        value = k.addf(load(place(residual)), value);
      if (mask)
        k.maskedStore(value, place(out), mask, 4);
      else
        k.store(value, place(out), 4);
    });
  });
}

} // namespace llmc::kernels
