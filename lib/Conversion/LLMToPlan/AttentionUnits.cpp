//===- AttentionUnits.cpp - entries, attention, products of heads ---------===//
#include "Converter.h"

using namespace mlir;

namespace llmc {

using namespace llm;

kernels::HeadRows headRows(const RowBuffer &buffer, unsigned operand) {
  return {operand, buffer.stride, buffer.offset};
}

kernels::PagedState pagedState(CacheType type, int64_t blockTokens) {
  ArrayRef<int64_t> shape = type.getShape();
  if (type.getKind() == CacheKind::Entries)
    return {1, shape[1], 0, blockTokens};
  // A latent state keeps keys alone.
  return {shape[0], shape[1], type.getKind() == CacheKind::Latent ? 0 : shape[2], blockTokens};
}

kernels::Rotary Converter::turnBy(RopeAttr rope, int64_t first,
                                  SmallVectorImpl<plan::UseAttr> &uses) {
  kernels::Rotary turn;
  turn.invFreq = unsigned(uses.size());
  turn.width = rope.getWidth();
  turn.first = first;
  turn.pairs = rope.getPairing() == RopePairing::Halves ? kernels::RotaryPairs::Halves
                                                        : kernels::RotaryPairs::Interleaved;
  turn.magnitude = float(rope.getMagnitude());
  SmallVector<float> frequencies(rope.getFrequencies().asArrayRef());
  // No sequence gets so long otherwise, and the short ones are all that is ever used.
  if (rope.hasLong() && rope.getBeyond() < maxContext) {
    frequencies.append(rope.getLongFrequencies().asArrayRef().begin(),
                       rope.getLongFrequencies().asArrayRef().end());
    turn.beyond = rope.getBeyond();
    recomputeBeyond.insert(rope.getBeyond());
  }
  uses.push_back(use(packConstants("frequencies", frequencies)));
  return turn;
}

LogicalResult Converter::lowerEntryAppend(const Unit &unit) {
  auto append = cast<EntryAppendOp>(unit.ops.front());
  auto x = bufferOf(unit.resolve(append.getInput()), unit.op);
  if (failed(x))
    return failure();
  auto state = caches.find(unit.resolve(append.getCache()));
  if (state == caches.end())
    return append.emitError("appends to a cache that is no state of this layer");
  auto type = cast<CacheType>(append.getCache().getType());
  kernels::PrologueSpec spec;
  spec.state = pagedState(type, options.blockTokens);
  spec.group = type.getShape()[0];
  spec.k = headRows(*x, 0);
  spec.append = 1;
  PackedWeight version = state->second;
  SmallVector<plan::UseAttr> uses{use(*x, plan::Access::Read),
                                  use(version, plan::Access::ReadWrite)};
  if (std::optional<RopeAttr> rope = append.getRope())
    spec.rotary = turnBy(*rope, append.getFirst(), uses);
  if (std::string problem = kernels::checkPrologue(spec); !problem.empty())
    return append.emitError("has no CPU kernel: ") << problem;
  caches[unit.resolve(append.getResult())] = version;
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(1, x->rows), "entries of groups");
  return success();
}

LogicalResult Converter::lowerAttention(const Unit &unit) {
  auto paged = unit.first<PagedAttentionOp>();
  auto joint = unit.first<JointAttentionOp>();
  Operation *op = paged ? paged.getOperation() : joint.getOperation();
  auto of = [&](auto get) { return paged ? get(paged) : get(joint); };
  auto q = bufferOf(unit.resolve(of([](auto op) { return op.getQuery(); })), unit.op);
  if (failed(q))
    return failure();
  Value cacheValue = of([](auto op) { return op.getCache(); });
  auto state = caches.find(unit.resolve(cacheValue));
  if (state == caches.end())
    return op->emitError("reads a cache that is no state of this layer");
  kernels::AttentionSpec spec;
  auto cache = cast<CacheType>(cacheValue.getType());
  spec.heads = cast<RankedTensorType>(op->getOperand(0).getType()).getShape()[1];
  spec.state = pagedState(cache, options.blockTokens);
  if (cache.getKind() == CacheKind::Latent)
    spec.latentValues = cache.getShape()[2];
  spec.scale = float(of([](auto op) { return op.getScale(); }).convertToDouble());
  spec.window = of([](auto op) { return op.getWindow(); }).value_or(0);
  if (paged)
    spec.chunk = paged.getChunk().value_or(0);
  if (std::optional<APFloat> cap = paged ? paged.getSoftcap() : std::nullopt)
    spec.softcap = float(cap->convertToDouble());
  spec.itemHeads = kernels::attentionItemHeads(spec.heads, spec.state.heads);
  spec.qStride = q->stride;
  spec.qOffset = q->offset;
  auto outShape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  RowBuffer out = newBuffer("attended", outShape[1] * outShape[2], q->rows);
  spec.outStride = out.stride;
  SmallVector<plan::UseAttr> uses{use(*q, plan::Access::Read), use(state->second),
                                  use(out, plan::Access::Write)};
  if (Value given = of([](auto op) { return op.getSinks(); })) {
    auto sinks = packVectors(op->getLoc(), {unit.resolve(given)}, {}, false);
    if (failed(sinks))
      return failure();
    spec.sinks = true;
    uses.push_back(use(*sinks));
  }
  if (std::optional<ArrayRef<float>> slopes = paged ? paged.getSlopes() : std::nullopt) {
    spec.slopes = true;
    uses.push_back(use(packConstants("slopes", *slopes)));
  }
  if (Value selection = of([](auto op) { return op.getSelection(); })) {
    selection = unit.resolve(selection);
    // Those of a layer before come as an argument.
    Operation *from = selection.getDefiningOp();
    if (from && !(paged ? isa<SelectPositionsOp, NoPositionsOp>(from) : isa<SelectEntriesOp>(from)))
      return op->emitError("no CPU kernel attends to ")
             << (paged ? "positions that are not from llm.select_positions, these are from "
                       : "entries that are not from llm.select_entries, these are from ")
             << from->getName();
    auto rows = wholeRows(selection, unit);
    if (failed(rows))
      return failure();
    spec.selected = rows->width;
    uses.push_back(use(*rows, plan::Access::Read));
  }
  if (joint) {
    auto entries = caches.find(unit.resolve(joint.getEntries()));
    if (entries == caches.end())
      return op->emitError("reads entries that are no state of this layer");
    spec.group = cast<CacheType>(joint.getEntries().getType()).getShape()[0];
    uses.push_back(use(entries->second));
  }
  if (unit.ops.size() > 1 && failed(addTail(unit, spec, uses)))
    return failure();
  bind(unit.op->getResult(0), out);
  if (std::string problem = kernels::checkAttention(spec); !problem.empty())
    return op->emitError("has no CPU kernel: ") << problem;
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(spec.heads / spec.itemHeads, q->rows),
         isa<FusionOp>(unit.op) ? cast<FusionOp>(unit.op).getPattern()
         : paged                ? "paged attention"
                                : "attention to positions and entries");
  return success();
}

LogicalResult Converter::lowerSelect(const Unit &unit) {
  Operation *op = unit.ops.front();
  auto ofPositions = dyn_cast<SelectPositionsOp>(op);
  Value query = op->getOperand(0), cache = op->getOperand(2);
  auto q = bufferOf(unit.resolve(query), unit.op);
  auto weights = bufferOf(unit.resolve(op->getOperand(1)), unit.op);
  if (failed(q) || failed(weights))
    return failure();
  auto state = caches.find(unit.resolve(cache));
  if (state == caches.end())
    return op->emitError("reads a cache that is no state of this layer");
  auto type = cast<CacheType>(cache.getType());
  kernels::SelectSpec spec;
  spec.heads = cast<RankedTensorType>(query.getType()).getShape()[1];
  spec.state = pagedState(type, options.blockTokens);
  spec.group = ofPositions ? 0 : type.getShape()[0];
  spec.top = ofPositions ? ofPositions.getTop() : cast<SelectEntriesOp>(op).getTop();
  spec.context = maxContext;
  spec.qStride = q->stride;
  spec.qOffset = q->offset;
  spec.weightStride = weights->stride;
  spec.weightOffset = weights->offset;
  if (std::string problem = kernels::checkSelect(spec); !problem.empty())
    return op->emitError("has no CPU kernel: ") << problem;
  RowBuffer out = newBuffer(ofPositions ? "positions" : "entries", spec.top, q->rows);
  bind(unit.resolve(op->getResult(0)), out);
  SmallVector<plan::UseAttr> uses{use(*q, plan::Access::Read)};
  uses.push_back(use(*weights, plan::Access::Read));
  uses.push_back(use(state->second));
  uses.push_back(use(out, plan::Access::Write));
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(1, q->rows), ofPositions ? "positions of an indexer" : "entries of an indexer");
  return success();
}

LogicalResult Converter::lowerNoPositions(NoPositionsOp op) {
  kernels::SelectSpec spec;
  spec.top = cast<RankedTensorType>(op.getResult().getType()).getDimSize(1);
  if (std::string problem = kernels::checkSelect(spec); !problem.empty())
    return op.emitError("has no CPU kernel: ") << problem;
  RowBuffer out = newBuffer("positions", spec.top, plan::Extent::Tokens);
  bind(op.getResult(), out);
  launch(op.getLoc(), kernels::describeKernel(module.getContext(), spec),
         {use(out, plan::Access::Write)}, items(1, plan::Extent::Tokens), "no positions");
  return success();
}

LogicalResult Converter::lowerHeadLinear(const Unit &unit) {
  auto product = cast<HeadLinearOp>(unit.ops.front());
  auto x = bufferOf(unit.resolve(product.getInput()), unit.op);
  if (failed(x))
    return failure();
  auto type = cast<WeightType>(product.getWeight().getType());
  std::optional<kernels::Storage> storage = kernels::findStorage(type.getStorageName());
  if (!storage)
    return product.emitError("no CPU kernel reads weights stored as ") << type.getStorageName();
  ArrayRef<int64_t> shape = type.getShape();
  kernels::HeadLinearSpec spec;
  spec.heads = shape[0];
  spec.product.storage = *storage;
  spec.product.rows = shape[1];
  spec.product.cols = shape[2];
  spec.product.tile = kernels::linearTile(shape[0] * shape[1], /*gated=*/false);
  spec.product.inputStride = x->stride;
  spec.inputOffset = x->offset;
  RowBuffer out = newBuffer("heads", shape[0] * shape[1], x->rows);
  spec.product.outputStride = out.stride;
  if (x->rows == plan::Extent::Outputs)
    return product.emitError("no CPU kernel computes products of heads for chosen rows alone");
  if (std::string problem = kernels::checkHeadLinear(spec); !problem.empty())
    return product.emitError("has no CPU kernel: ") << problem;
  auto weight = packPanels(product.getLoc(), {unit.resolve(product.getWeight())},
                           spec.product.tile, /*interleave=*/false);
  if (failed(weight))
    return failure();
  bind(unit.resolve(product.getResult()), out);
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec),
         {use(*x, plan::Access::Read), use(*weight), use(out, plan::Access::Write)},
         items(kernels::headLinearKernelFactor(spec), x->rows, kernels::linearTokenBlock),
         "product of heads");
  return success();
}

LogicalResult Converter::lowerSinkhorn(const Unit &unit) {
  auto sinkhorn = cast<SinkhornOp>(unit.ops.front());
  auto x = bufferOf(unit.resolve(sinkhorn.getInput()), unit.op);
  if (failed(x))
    return failure();
  bool inPlace = diesAt(*x, unit.op);
  RowBuffer out = inPlace ? *x : newBuffer("balanced", x->width, x->rows);
  kernels::SinkhornSpec spec;
  spec.n = cast<RankedTensorType>(sinkhorn.getInput().getType()).getShape()[1];
  spec.steps = int64_t(sinkhorn.getSteps());
  spec.epsilon = float(sinkhorn.getEpsilon().convertToDouble());
  spec.x = {0, x->stride, x->offset};
  spec.out = {inPlace ? 0u : 1u, out.stride, out.offset};
  if (std::string problem = kernels::checkSinkhorn(spec); !problem.empty())
    return sinkhorn.emitError("has no CPU kernel: ") << problem;
  SmallVector<plan::UseAttr> uses{
      use(*x, inPlace ? plan::Access::ReadWrite : plan::Access::Read)};
  if (!inPlace)
    uses.push_back(use(out, plan::Access::Write));
  bind(unit.resolve(sinkhorn.getResult()), out);
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(1, x->rows), "sinkhorn");
  return success();
}

} // namespace llmc
