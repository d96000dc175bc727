//===- RowEmitter.cpp - code of row programs ------------------------------===//
//
// A pass runs over the row in chunks of 16 elements, four to an iteration: chunk
// c feeds accumulator c mod 4 of each reduction. The last, partial chunk reads
// and writes under a constant mask and gives reductions their neutral element.
//
//===----------------------------------------------------------------------===//
#include "RowPlan.h"
#include "llmc/Kernels/CPU/Polynomials.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include <limits>

using namespace mlir;

namespace llmc::kernels {
namespace {

constexpr int64_t lanes = 16;
constexpr int64_t accumulators = 4;

/// Sixteen elements of the row, or the first `count` of them.
struct Chunk {
  Value base;       ///< First element, null for 0.
  int64_t first;    ///< Added to base.
  int64_t count = lanes;
  Value mask;       ///< Set where count < lanes.
  unsigned accumulator;
};

int64_t bytesOf(RowElement element) { return element == RowElement::F32 ? 4 : 2; }

class RowEmitter {
public:
  RowEmitter(KernelBuilder &kb, const RowProgram &program, ArrayRef<Value> inputs,
             ArrayRef<Value> outputs, Value scratch, Value position = Value())
      : kb(kb), program(program), plan(program), inputs(inputs), outputs(outputs),
        scratch(scratch), position(position) {}

  void run() {
    loadScalars();
    for (const RowPlan::Pass &pass : plan.passes) {
      current = unsigned(&pass - plan.passes.begin());
      computeScalars();
      if (!pass.empty())
        emitPass(pass);
    }
  }

private:
  using Values = KernelBuilder::Values;

  void loadScalars();
  void computeScalars();
  Value positionScale(const RowOp &op);
  void emitPass(const RowPlan::Pass &pass);
  void emitChunk(const RowPlan::Pass &pass, const Chunk &chunk, Values &accs);
  void storeScalars(const RowPlan::Pass &pass);
  bool takesMax(const RowPlan::Reduction &reduction) const;
  Value accumulate(const RowPlan::Reduction &reduction, const Chunk &chunk, Value acc);
  void finish(const RowPlan::Reduction &reduction, ArrayRef<Value> accs);

  Value scalarOf(int node);
  Value valueOf(int node, const Chunk &chunk);
  Value compute(int node, const Chunk &chunk);
  Value reload(int node, const Chunk &chunk);
  Value load(Value row, RowElement element, const Chunk &chunk);
  void store(Value value, Value row, const Chunk &chunk);
  Value address(Value row, int64_t elementBytes, const Chunk &chunk);
  Value scratchRow(unsigned index) {
    return kb.at(scratch, int64_t(index) * int64_t(llvm::alignTo(program.width(), lanes)) * 4);
  }

  KernelBuilder &kb;
  const RowProgram &program;
  RowPlan plan;
  ArrayRef<Value> inputs, outputs;
  Value scratch;
  /// Of the token, null where no op needs it.
  Value position;
  unsigned current = 0;
  /// Values that all of the row has and that need no pass, by node.
  llvm::SmallDenseMap<int, Value> scalars;
  /// Values of the chunk at hand.
  llvm::SmallDenseMap<int, Value> memo;
  /// Results of finished reductions, broadcast: [node][phase].
  llvm::DenseMap<std::pair<int, unsigned>, Value> statistics;
};

//===----------------------------------------------------------------------===//
// Passes and chunks
//===----------------------------------------------------------------------===//

void RowEmitter::loadScalars() {
  for (auto [i, op] : llvm::enumerate(program.ops())) {
    if (op.kind == RowOpKind::PositionScale)
      scalars[int(i)] = kb.broadcast(positionScale(op));
    else if (op.kind == RowOpKind::Input && op.operand.scalar)
      scalars[int(i)] = kb.broadcast(kb.load(kb.f32(), inputs[i], 4));
  }
}

/// What becomes known with this pass and is the same for all of the row.
void RowEmitter::computeScalars() {
  for (auto [i, op] : llvm::enumerate(program.ops())) {
    if (!plan.isOfScalars(int(i)) || plan.passOf[i] != current)
      continue;
    SmallVector<Value> values;
    for (int input : op.inputs)
      values.push_back(input < 0 ? Value() : scalarOf(input));
    // Nothing needs what is computed of statistics that nothing needs.
    bool isKnown = llvm::all_of(llvm::zip_equal(op.inputs, values), [](auto pair) {
      return std::get<0>(pair) < 0 || std::get<1>(pair);
    });
    if (isKnown)
      scalars[int(i)] = emitElementwise(kb, op, values);
  }
}

/// Null where it is not computed.
Value RowEmitter::scalarOf(int node) {
  if (Value known = scalars.lookup(node))
    return known;
  const RowOp &op = program.ops()[node];
  return op.isStatistic() ? statistics.lookup({node, op.reductionPasses() - 1}) : Value();
}

Value RowEmitter::positionScale(const RowOp &op) {
  Value shifted = kb.add(kb.toI64(position), op.shift);
  Value periods = kb.add(kb.div(shifted, op.period), 1);
  Value log = polyLog(kb, kb.sitofp(periods, kb.f32()));
  return kb.addf(kb.cf(1), kb.mulf(kb.cf(op.params[0]), log));
}

/// Outputs of one element a row, after everything of the row has been read.
void RowEmitter::storeScalars(const RowPlan::Pass &pass) {
  memo.clear();
  Value mask;
  for (unsigned i : pass.outputs) {
    const RowProgram::Output &out = program.outputs()[i];
    if (!out.operand.scalar)
      continue;
    if (!mask) {
      SmallVector<bool> on(lanes, false);
      on.front() = true;
      auto type = kb.vec(lanes, kb.builder().getI1Type());
      mask = arith::ConstantOp::create(kb.builder(), kb.loc(),
                                       DenseElementsAttr::get(type, ArrayRef<bool>(on)));
    }
    Chunk first{Value(), 0, 1, mask, 0};
    // All of the row is read by now, so its values come from their homes or are computed anew.
    store(valueOf(out.node, first), outputs[i], first);
  }
}

void RowEmitter::emitPass(const RowPlan::Pass &pass) {
  Values accs;
  for (const RowPlan::Reduction &reduction : pass.reductions) {
    bool isMax = takesMax(reduction);
    Value init = kb.splat(isMax ? -std::numeric_limits<float>::infinity() : 0.0f);
    accs.append(accumulators, init);
  }

  // Statistics alone need no pass of their own.
  bool rows = !pass.reductions.empty() || !pass.spills.empty() ||
              llvm::any_of(pass.outputs, [&](unsigned i) {
                return !program.outputs()[i].operand.scalar;
              });
  if (!rows)
    return storeScalars(pass);

  int64_t full = program.width() / lanes, tail = program.width() % lanes;
  int64_t done = 0;
  constexpr int64_t step = lanes * accumulators;
  if (int64_t groups = full / accumulators; groups > 1) {
    accs = kb.loop(kb.c(0), kb.c(groups * step), step, accs, [&](Value base, ValueRange carried) {
      Values inner(carried);
      for (int64_t i = 0; i < accumulators; ++i)
        emitChunk(pass, {base, i * lanes, lanes, Value(), unsigned(i)}, inner);
      return inner;
    });
    done = groups * accumulators;
  }
  for (; done < full; ++done)
    emitChunk(pass, {Value(), done * lanes, lanes, Value(), unsigned(done % accumulators)}, accs);
  if (tail) {
    SmallVector<bool> on(lanes, false);
    std::fill_n(on.begin(), tail, true);
    OpBuilder &b = kb.builder();
    auto type = kb.vec(lanes, b.getI1Type());
    Value mask =
        arith::ConstantOp::create(b, kb.loc(), DenseElementsAttr::get(type, ArrayRef<bool>(on)));
    emitChunk(pass, {Value(), full * lanes, tail, mask, unsigned(full % accumulators)}, accs);
  }
  for (auto [i, reduction] : llvm::enumerate(pass.reductions))
    finish(reduction, ArrayRef<Value>(accs).slice(i * accumulators, accumulators));
  storeScalars(pass);
}

bool RowEmitter::takesMax(const RowPlan::Reduction &reduction) const {
  RowOpKind kind = program.ops()[reduction.node].kind;
  return kind == RowOpKind::RowMax || (kind == RowOpKind::Softmax && reduction.phase == 0);
}

void RowEmitter::emitChunk(const RowPlan::Pass &pass, const Chunk &chunk, Values &accs) {
  memo.clear();
  for (auto [i, reduction] : llvm::enumerate(pass.reductions)) {
    Value &acc = accs[i * accumulators + chunk.accumulator];
    acc = accumulate(reduction, chunk, acc);
  }
  // All loads of a chunk come before its stores: outputs may lie over inputs.
  auto isRow = [&](unsigned i) { return !program.outputs()[i].operand.scalar; };
  for (unsigned i : pass.outputs)
    if (isRow(i))
      valueOf(program.outputs()[i].node, chunk);
  for (int node : pass.spills)
    valueOf(node, chunk);
  for (unsigned i : pass.outputs)
    if (isRow(i))
      store(valueOf(program.outputs()[i].node, chunk), outputs[i], chunk);
  for (int node : pass.spills)
    store(valueOf(node, chunk), scratchRow(plan.homes[node].index), chunk);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value RowEmitter::accumulate(const RowPlan::Reduction &reduction, const Chunk &chunk, Value acc) {
  const RowOp &op = program.ops()[reduction.node];
  Value x = valueOf(op.inputs[0], chunk);
  auto neutral = [&](Value value, float other) {
    return chunk.mask ? kb.select(chunk.mask, value, kb.splat(other)) : value;
  };
  auto statistic = [&] { return statistics.lookup({reduction.node, 0}); };
  switch (op.kind) {
  case RowOpKind::RmsNorm:
  case RowOpKind::L2Norm:
    x = neutral(x, 0);
    return kb.fma(x, x, acc);
  case RowOpKind::Mean:
  case RowOpKind::Sum:
    return kb.addf(acc, neutral(x, 0));
  case RowOpKind::RowMax:
    return kb.maxf(acc, neutral(x, -std::numeric_limits<float>::infinity()));
  case RowOpKind::Deviation:
  case RowOpKind::LayerNorm: {
    if (reduction.phase == 0)
      return kb.addf(acc, neutral(x, 0));
    Value d = neutral(kb.subf(x, statistic()), 0);
    return kb.fma(d, d, acc);
  }
  case RowOpKind::Softmax:
    if (reduction.phase == 0)
      return kb.maxf(acc, neutral(x, -std::numeric_limits<float>::infinity()));
    return kb.addf(acc, neutral(polyExp(kb, kb.subf(x, statistic())), 0));
  default:
    llvm_unreachable("not a reduction");
  }
}

void RowEmitter::finish(const RowPlan::Reduction &reduction, ArrayRef<Value> accs) {
  const RowOp &op = program.ops()[reduction.node];
  bool isMax = takesMax(reduction);
  auto combine = [&](Value x, Value y) { return isMax ? kb.maxf(x, y) : kb.addf(x, y); };
  Value all = combine(combine(accs[0], accs[1]), combine(accs[2], accs[3]));
  Value result = isMax ? kb.reduceMax(all) : kb.reduceAdd(all);

  bool isMean = op.kind == RowOpKind::RmsNorm || op.kind == RowOpKind::LayerNorm ||
                op.kind == RowOpKind::Mean || op.kind == RowOpKind::Deviation;
  if (isMean)
    result = kb.divf(result, kb.cf(float(program.width())));
  bool isInverseRoot = op.kind == RowOpKind::RmsNorm || op.kind == RowOpKind::L2Norm ||
                       (op.kind == RowOpKind::LayerNorm && reduction.phase == 1);
  if (isInverseRoot)
    result = kb.divf(kb.cf(1), kb.sqrt(kb.addf(result, kb.cf(op.params[0]))));
  if (op.kind == RowOpKind::Deviation && reduction.phase == 1)
    result = kb.sqrt(result);
  statistics[{reduction.node, reduction.phase}] = kb.broadcast(result);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value RowEmitter::valueOf(int node, const Chunk &chunk) {
  if (plan.isScalar(node))
    return scalarOf(node);
  if (Value known = memo.lookup(node))
    return known;
  Value value = plan.passOf[node] < current ? reload(node, chunk) : compute(node, chunk);
  memo[node] = value;
  return value;
}

Value RowEmitter::compute(int node, const Chunk &chunk) {
  const RowOp &op = program.ops()[node];
  auto in = [&](unsigned i) { return valueOf(op.inputs[i], chunk); };
  auto param = [&](unsigned i) { return kb.splat(op.params[i]); };
  auto statistic = [&](unsigned phase) { return statistics.lookup({node, phase}); };
  switch (op.kind) {
  case RowOpKind::Input:
    return load(inputs[node], op.operand.element, chunk);
  case RowOpKind::RmsNorm: {
    Value y = kb.mulf(in(0), statistic(0));
    if (op.inputs[1] < 0)
      return y;
    Value scale = in(1);
    return kb.mulf(y, op.params[1] != 0 ? kb.addf(param(1), scale) : scale);
  }
  case RowOpKind::L2Norm:
    return kb.mulf(in(0), statistic(0));
  case RowOpKind::LayerNorm: {
    Value y = kb.mulf(kb.subf(in(0), statistic(0)), statistic(1));
    if (op.inputs[1] >= 0)
      y = kb.mulf(y, in(1));
    return op.inputs[2] >= 0 ? kb.addf(y, in(2)) : y;
  }
  case RowOpKind::Softmax:
    return kb.divf(polyExp(kb, kb.subf(in(0), statistic(0))), statistic(1));
  default: {
    SmallVector<Value> values;
    for (int input : op.inputs)
      values.push_back(input < 0 ? Value() : valueOf(input, chunk));
    return emitElementwise(kb, op, values);
  }
  }
}

Value RowEmitter::reload(int node, const Chunk &chunk) {
  const RowPlan::Home &home = plan.homes[node];
  switch (home.kind) {
  case RowPlan::Home::Operand:
    return load(inputs[node], program.ops()[node].operand.element, chunk);
  case RowPlan::Home::Output:
    return load(outputs[home.index], RowElement::F32, chunk);
  case RowPlan::Home::Scratch:
    return load(scratchRow(home.index), RowElement::F32, chunk);
  case RowPlan::Home::None:
    break;
  }
  llvm_unreachable("a value of an earlier pass without a home");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value RowEmitter::address(Value row, int64_t elementBytes, const Chunk &chunk) {
  if (chunk.base)
    row = kb.at(row, kb.mul(chunk.base, elementBytes));
  return kb.at(row, chunk.first * elementBytes);
}

Value RowEmitter::load(Value row, RowElement element, const Chunk &chunk) {
  Type type = element == RowElement::F32   ? kb.f32()
              : element == RowElement::F16 ? kb.f16()
                                           : kb.i16();
  int64_t bytes = bytesOf(element);
  Value pointer = address(row, bytes, chunk);
  VectorType vector = kb.vec(lanes, type);
  Value stored = chunk.mask ? kb.maskedLoad(vector, pointer, chunk.mask, bytes)
                            : kb.load(vector, pointer, bytes);
  if (element == RowElement::F16)
    return kb.extf(stored);
  if (element == RowElement::BF16)
    return kb.bitcast(kb.shl(kb.extui(stored), 16), kb.vecF());
  return stored;
}

void RowEmitter::store(Value value, Value row, const Chunk &chunk) {
  Value pointer = address(row, 4, chunk);
  if (chunk.mask)
    kb.maskedStore(value, pointer, chunk.mask, 4);
  else
    kb.store(value, pointer, 4);
}

} // namespace

Value rowAddress(KernelBuilder &kb, const RowOperand &operand, Value base, Value token, Value inner,
                 Value rows) {
  int64_t bytes = bytesOf(operand.element);
  Value row = kb.at(base, operand.offset * bytes);
  if (operand.stride) {
    if (rows)
      token = kb.toI64(kb.load(kb.i32(), kb.at(rows, kb.mul(token, 4)), 4));
    row = kb.at(row, kb.mul(token, operand.stride * bytes));
  }
  if (operand.inner && inner)
    row = kb.at(row, kb.mul(inner, operand.inner * bytes));
  return row;
}

void emitRow(KernelBuilder &kb, const RowProgram &program, ArrayRef<Value> inputs,
             ArrayRef<Value> outputs, Value scratch) {
  RowEmitter(kb, program, inputs, outputs, scratch).run();
}

void buildRowKernel(ModuleOp module, const RowProgram &program, const CPUVariant &variant) {
  KernelBuilder kb(module, rowKernelName(program), variant);
  SmallVector<Value> bases;
  for (unsigned i = 0, count = program.operandCount(); i < count; ++i)
    bases.push_back(kb.operand(i));
  Value outputRows, tokenIds, positions;
  // Numbers that choose rows, by operand.
  llvm::SmallDenseMap<int, Value> choosers;
  auto addChooser = [&](const RowOperand &operand) {
    if (operand.chooser < 0 || choosers.count(operand.chooser))
      return;
    Value number = kb.load(kb.f32(), bases[unsigned(operand.chooser)], 4);
    choosers[operand.chooser] = kb.toI64(
        arith::FPToSIOp::create(kb.builder(), kb.loc(), kb.i32(), number).getResult());
  };
  for (const RowProgram::Output &out : program.outputs())
    addChooser(out.operand);
  for (const RowOp &op : program.ops()) {
    if (op.kind == RowOpKind::PositionScale && !positions)
      positions = kb.batch(BatchField::Positions);
    if (op.kind == RowOpKind::Input)
      addChooser(op.operand);
    if (op.kind != RowOpKind::Input)
      continue;
    if (op.operand.index == RowIndex::OutputRow && !outputRows)
      outputRows = kb.batch(BatchField::OutputRows);
    if (op.operand.index == RowIndex::TokenId && !tokenIds)
      tokenIds = kb.batch(BatchField::TokenIds);
  }

  kb.loop(kb.begin(), kb.end(), 1, [&](Value item) {
    Value token = item, inner;
    if (program.rowsPerToken() != 1) {
      token = kb.div(item, program.rowsPerToken());
      inner = kb.rem(item, program.rowsPerToken());
    }
    auto rowOf = [&](const RowOperand &operand) {
      Value rows = operand.index == RowIndex::OutputRow ? outputRows
                   : operand.index == RowIndex::TokenId ? tokenIds
                                                        : Value();
      Value row = rowAddress(kb, operand, bases[operand.operand], token, inner, rows);
      if (operand.chooser < 0)
        return row;
      return kb.at(row, kb.mul(choosers[operand.chooser],
                               operand.chooserStep * bytesOf(operand.element)));
    };
    SmallVector<Value> inputs, outputs;
    for (const RowOp &op : program.ops())
      inputs.push_back(op.kind == RowOpKind::Input ? rowOf(op.operand) : Value());
    for (const RowProgram::Output &out : program.outputs())
      outputs.push_back(rowOf(out.operand));
    Value position;
    if (positions)
      position = kb.load(kb.i32(), kb.at(positions, kb.mul(token, 4)), 4);
    RowEmitter(kb, program, inputs, outputs, kb.scratch(), position).run();
  });
  kb.finish();
}

} // namespace llmc::kernels
