//===- Linear.cpp - items and paths of matrix products --------------------===//
#include "LinearEmitter.h"

using namespace mlir;

namespace llmc::kernels {

//===----------------------------------------------------------------------===//
// The spec
//===----------------------------------------------------------------------===//

int64_t linearTile(int64_t rows, bool gated) {
  // Measured: 4 panels give 20% more than 2 to one thread, and cost more in
  // balance than that where threads share fewer than eight items.
  if (rows >= 512)
    return 4;
  return rows > panelFeatures || gated ? 2 : 1;
}

std::string checkLinear(const LinearSpec &spec) {
  StorageInfo info = storageInfo(spec.storage);
  if (spec.rows <= 0 || spec.cols <= 0)
    return "a product needs rows and columns";
  if (spec.cols % info.block)
    return "depth " + std::to_string(spec.cols) + " of " + std::string(info.name) +
           " weights is not a multiple of " + std::to_string(info.block);
  if (spec.tile != 1 && spec.tile != 2 && spec.tile != 4)
    return "an item has 1, 2 or 4 panels, not " + std::to_string(spec.tile);
  if (spec.gated && (spec.tile == 1 || spec.rows % (2 * panelFeatures)))
    return "a gated product needs whole runs of gate and up features in one item";
  if (spec.gated && !spec.activation && !spec.epilogue)
    return "a gated product needs an activation";
  if (spec.width() > (spec.gated ? spec.rows / 2 : spec.rows))
    return "the output is wider than the features of the weight";
  if (spec.inputDistance() < spec.cols || spec.outputDistance() < spec.width())
    return "rows would overlap";
  // Constant offsets inside a tile must fit an instruction.
  if (spec.inputDistance() * 4 * LinearEmitter::mostTileTokens > INT32_MAX)
    return "rows of " + std::to_string(spec.inputDistance()) + " elements are too long";
  return checkLinearEnds(spec);
}

std::string linearKernelName(const LinearSpec &spec) {
  std::string name = "linear_" + std::string(storageInfo(spec.storage).name) + "_n" +
                     std::to_string(spec.rows) + "_k" + std::to_string(spec.cols) + "_r" +
                     std::to_string(spec.tile);
  if (spec.bias)
    name += "_bias";
  if (spec.activation)
    name += "_" + activationName(*spec.activation).str();
  if (spec.gated)
    name += "_gated";
  if (spec.epilogue)
    name += "_end" + rowProgramName(*spec.epilogue);
  if (spec.residual)
    name += spec.inPlace ? "_residual_inplace" : "_residual";
  if (spec.width() != (spec.gated ? spec.rows / 2 : spec.rows))
    name += "_w" + std::to_string(spec.width());
  if (spec.inputDistance() != spec.cols)
    name += "_xs" + std::to_string(spec.inputDistance());
  if (spec.outputDistance() != spec.width())
    name += "_ys" + std::to_string(spec.outputDistance());
  if (spec.count == RowCount::Outputs)
    name += "_outputs";
  if (spec.prologue)
    name += "_of" + rowProgramName(*spec.prologue);
  return name;
}

int64_t LinearEmitter::bufferBytes(const LinearSpec &spec) {
  return std::max(mostTileTokens * widePanels(spec), skinnyTokens * spec.tile) * 64;
}

int64_t LinearEmitter::decodedBytes(const LinearSpec &spec) {
  if (spec.storage == Storage::F32)
    return 0;
  int64_t groups = 2 * storageInfo(spec.storage).group * spec.tile;
  return std::max(spec.cols * widePanels(spec), groups) * 64;
}

int64_t linearKernelScratch(const LinearSpec &spec) {
  return LinearEmitter::bufferBytes(spec) + LinearEmitter::decodedBytes(spec) +
         LinearEmitter::preparedBytes(spec);
}

int64_t linearKernelFactor(const LinearSpec &spec) { return panelItems(spec.rows, spec.tile); }

int64_t linearKernelItems(const LinearSpec &spec, const llmc_batch &batch) {
  int64_t rows = spec.count == RowCount::Outputs ? batch.outputs : batch.tokens;
  return linearKernelFactor(spec) * ((rows + linearTokenBlock - 1) / linearTokenBlock);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

LinearEmitter::LinearEmitter(KernelBuilder &k, const LinearSpec &spec, WithoutOperands)
    : k(k), spec(spec), info(storageInfo(spec.storage)),
      panels((spec.rows + panelFeatures - 1) / panelFeatures), buffer(k.scratch()),
      decoded(k.at(k.scratch(), bufferBytes(spec))), end(linearEnd(spec)),
      prepared(k.at(k.scratch(), bufferBytes(spec) + decodedBytes(spec))) {}

LinearEmitter::LinearEmitter(KernelBuilder &k, const LinearSpec &spec)
    : LinearEmitter(k, spec, WithoutOperands()) {
  unsigned next = 0;
  x = k.operand(next++);
  weights = k.operand(next++);
  if (spec.bias)
    bias = k.operand(next++);
  if (spec.prologue)
    for (unsigned i = 1; i < spec.prologue->operandCount(); ++i)
      prologueOperands.push_back(k.operand(next++));
  takeEpilogueOperands(next);
  if (spec.residual)
    residual = k.operand(spec.inPlace ? next : next++);
  out = k.operand(next++);
}

void LinearEmitter::run() {
  Value rows = k.batch(spec.count == RowCount::Outputs ? BatchField::Outputs : BatchField::Tokens);
  spec.prologue ? runPrepared(rows) : runPlain(rows);
}

void LinearEmitter::runPlain(Value rows) {
  Value blocks = k.ceilDiv(rows, linearTokenBlock);
  // A range of items holds the blocks of a panel one after another: take them at once.
  k.whileLoop(
      {k.begin()}, [&](ValueRange next) { return k.lt(next[0], k.end()); },
      [&](ValueRange next) -> Values {
        Value panel = k.div(next[0], blocks);
        Value block = k.rem(next[0], blocks);
        Value count = k.min(k.sub(blocks, block), k.sub(k.end(), next[0]));
        Value first = k.mul(block, linearTokenBlock);
        Value last = k.min(rows, k.mul(k.add(block, count), linearTokenBlock));
        item(panel, first, k.sub(last, first));
        return {k.add(next[0], count)};
      });
}

void LinearEmitter::runPrepared(Value rows) {
  Value blocks = k.ceilDiv(rows, linearTokenBlock);
  k.loop(k.c(0), blocks, 1, [&](Value block) {
    // The panels whose item of this block, panel * blocks + block, is in the range.
    auto panelFrom = [&](Value item) {
      Value behind = k.max(k.sub(item, block), 0);
      return k.div(k.add(behind, k.sub(blocks, 1)), blocks);
    };
    Value from = panelFrom(k.begin()), to = panelFrom(k.end());
    k.ifThen(k.lt(from, to), [&] {
      Value first = k.mul(block, linearTokenBlock);
      Value count = k.min(k.sub(rows, first), linearTokenBlock);
      prepare(first, count);
      k.loop(from, to, 1, [&](Value panel) { item(panel, first, count); });
    });
  });
}

void LinearEmitter::item(Value item, Value first, Value tokens) {
  compute(k.at(weights, k.mul(item, itemBytes(spec.storage, spec.cols, spec.tile))), item, first,
          tokens);
}

void LinearEmitter::compute(Value base, Value item, Value first, Value tokens) {
  // Paths differ in speed only: each sum is the same chain in all of them.
  k.ifElse(
      k.lt(k.c(skinnyTokens), tokens), [&] { wide(base, item, first, tokens); },
      [&] {
        for (int64_t n = 1; n <= skinnyTokens; ++n)
          k.ifThen(k.eq(tokens, n), [&] { skinny(n, base, item, first); });
      });
}

PanelStream LinearEmitter::streamOf(Value item, Value panel) {
  return {k.at(item, k.mul(panel, info.headerBytes)),
          k.at(k.at(item, info.headerBytes * spec.tile), k.mul(panel, info.recordBytes))};
}

PanelStream LinearEmitter::groupOf(PanelStream stream, Value group) {
  int64_t perBlock = info.block / info.group;
  Value inBlock = k.mul(k.rem(group, perBlock), info.recordBytes * spec.tile);
  Value block = k.mul(k.div(group, perBlock), info.panelBytes() * spec.tile);
  return {k.at(stream.headers, block), k.at(k.at(stream.records, block), inBlock)};
}

LinearEmitter::Values LinearEmitter::overGroups(
    PanelStream stream, ValueRange carried,
    function_ref<Values(PanelStream, Value, int64_t, ValueRange)> step) {
  int64_t stride = info.recordBytes * spec.tile;
  int64_t groups = spec.cols / info.group;
  if (info.headerBytes) {
    // Headers stand before the records of a block.
    int64_t perBlock = info.block / info.group, blockStride = info.panelBytes() * spec.tile;
    return k.loop(k.c(0), k.c(spec.cols / info.block), 1, carried, [&](Value b, ValueRange outer) {
      Value offset = k.mul(b, blockStride);
      Value headers = k.at(stream.headers, offset), records = k.at(stream.records, offset);
      return k.loop(k.c(0), k.c(perBlock), 1, outer, [&](Value g, ValueRange inner) {
        return step({headers, k.at(records, k.mul(g, stride))}, k.add(k.mul(b, perBlock), g), 1,
                    inner);
      });
    });
  }
  int64_t perStep = groupsPerStep(spec.storage), whole = groups / perStep * perStep;
  Values next(carried);
  if (whole)
    next = k.loop(k.c(0), k.c(whole), perStep, next, [&](Value g, ValueRange inner) {
      return step({stream.headers, k.at(stream.records, k.mul(g, stride))}, g, perStep, inner);
    });
  if (whole < groups)
    next = step({stream.headers, k.at(stream.records, whole * stride)}, k.c(whole), groups - whole,
                next);
  return next;
}

void buildLinearKernel(ModuleOp module, const LinearSpec &spec, const CPUVariant &variant) {
  assert(checkLinear(spec).empty() && "check the spec first");
  KernelBuilder k(module, linearKernelName(spec), variant);
  LinearEmitter(k, spec).run();
  k.finish();
}

} // namespace llmc::kernels
