//===- AttentionUnits.cpp - rotary, append, attention, products of heads --===//
#include "Converter.h"

using namespace mlir;

namespace llmc {

using namespace llm;

static kernels::HeadRows headRows(const RowBuffer &buffer, unsigned operand) {
  return {operand, buffer.stride, buffer.offset};
}

static kernels::PagedState pagedState(CacheType type, int64_t blockTokens) {
  ArrayRef<int64_t> shape = type.getShape();
  if (type.getKind() == CacheKind::Entries)
    return {1, shape[1], 0, blockTokens};
  // A latent state keeps keys alone.
  return {shape[0], shape[1], type.getKind() == CacheKind::Latent ? 0 : shape[2], blockTokens};
}

namespace {
/// One of q, k, v on its way through the unit: from outside, through norm and rotary.
struct HeadPath {
  Value source, last;
  RMSNormOp norm;
  RotaryOp rotary;
};
} // namespace

/// Walks back from `value` to what the unit reads.
static LogicalResult tracePath(const Unit &unit, Value value, HeadPath &path) {
  path.last = value;
  while (Operation *def = value.getDefiningOp()) {
    if (!llvm::is_contained(unit.ops, def))
      break;
    if (auto rotary = dyn_cast<RotaryOp>(def); rotary && !path.rotary && !path.norm) {
      path.rotary = rotary;
      value = rotary.getInput();
    } else if (auto norm = dyn_cast<RMSNormOp>(def); norm && !path.norm) {
      path.norm = norm;
      value = norm.getInput();
    } else {
      return def->emitError("stands where the attention prologue kernel has only one norm and "
                            "then one rotary; disable the fusion attention-prologue");
    }
  }
  path.source = unit.resolve(value);
  return success();
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

LogicalResult Converter::lowerPrologue(const Unit &unit) {
  MLIRContext *context = module.getContext();
  Location loc = unit.op->getLoc();
  auto append = unit.first<KVAppendOp>();
  SmallVector<RotaryOp> rotaries = unit.all<RotaryOp>();
  HeadPath q, k;
  bool hasQ = false, hasK = false;
  if (append) {
    hasK = true;
    if (failed(tracePath(unit, append.getKey(), k)))
      return failure();
  }
  for (RotaryOp rotary : rotaries)
    if (rotary != k.rotary) {
      if (hasQ)
        return rotary.emitError("is a third rotary in one launch; the kernel turns q and k");
      hasQ = true;
      if (failed(tracePath(unit, rotary.getResult(), q)))
        return failure();
    }
  if (q.rotary && k.rotary && q.rotary.getRope() != k.rotary.getRope())
    return unit.op->emitError("q and k turn by different rotary records in one launch; disable "
                              "the fusion attention-prologue");
  if (q.rotary && k.rotary && q.rotary.getFirst() != k.rotary.getFirst())
    return unit.op->emitError("q turns from channel ")
           << q.rotary.getFirst() << " on and k from " << k.rotary.getFirst()
           << " in one launch; disable the fusion attention-prologue";

  kernels::PrologueSpec spec;
  SmallVector<plan::UseAttr> uses;
  auto addNorm = [&](RMSNormOp norm) -> FailureOr<std::optional<kernels::HeadNorm>> {
    if (!norm)
      return std::optional<kernels::HeadNorm>();
    auto scale = packVectors(norm.getLoc(), {unit.resolve(norm.getScale())}, {}, false);
    if (failed(scale))
      return failure();
    kernels::HeadNorm head;
    head.scale = unsigned(uses.size());
    head.eps = float(norm.getEpsilon().convertToDouble());
    head.offset = float(norm.getOffset().convertToDouble());
    uses.push_back(use(*scale));
    return std::optional<kernels::HeadNorm>(head);
  };
  /// In place where the value dies here, else into a slice of its own.
  auto addRows = [&](const HeadPath &path, std::optional<kernels::HeadRows> &rows,
                     std::optional<kernels::HeadRows> &out, bool needsResult) -> LogicalResult {
    auto buffer = bufferOf(path.source, unit.op);
    if (failed(buffer))
      return failure();
    unsigned operand = unsigned(uses.size());
    bool shared = false;
    for (auto [i, other] : llvm::enumerate(uses))
      if (other.getSymbol().getValue() == buffer->slice) {
        operand = unsigned(i);
        shared = true;
      }
    if (!shared)
      uses.push_back(use(*buffer, plan::Access::Read));
    rows = headRows(*buffer, operand);
    if (!needsResult)
      return success();
    if (diesAt(*buffer, unit.op)) {
      uses[operand] = use(*buffer, plan::Access::ReadWrite);
      bind(unit.resolve(path.last), *buffer);
      return success();
    }
    RowBuffer own = newBuffer("turned", buffer->width, buffer->rows);
    out = headRows(own, unsigned(uses.size()));
    uses.push_back(use(own, plan::Access::Write));
    bind(unit.resolve(path.last), own);
    return success();
  };

  plan::Extent rows = plan::Extent::Tokens;
  if (hasQ) {
    auto shape = cast<RankedTensorType>(q.last.getType()).getShape();
    spec.heads = shape[1];
    spec.state.keyWidth = shape[2];
    if (failed(addRows(q, spec.q, spec.qOut, true)))
      return failure();
    auto norm = addNorm(q.norm);
    if (failed(norm))
      return failure();
    spec.qNorm = *norm;
  }
  if (hasK) {
    auto cacheType = cast<CacheType>(append.getCache().getType());
    kernels::PagedState state = pagedState(cacheType, options.blockTokens);
    if (hasQ && spec.state.keyWidth != state.keyWidth)
      return append.emitError("q is ")
             << spec.state.keyWidth << " wide and k " << state.keyWidth
             << "; one launch turns heads of one width: disable the fusion attention-prologue";
    spec.state = state;
    bool keySeen = k.last != k.source && unit.isResult(k.last);
    if (failed(addRows(k, spec.k, spec.kOut, keySeen)))
      return failure();
    auto norm = addNorm(k.norm);
    if (failed(norm))
      return failure();
    spec.kNorm = *norm;
    if (append.getValue()) {
      HeadPath v;
      v.source = v.last = unit.resolve(append.getValue());
      std::optional<kernels::HeadRows> none;
      if (failed(addRows(v, spec.v, none, false)))
        return failure();
    }
    Value cache = unit.resolve(append.getCache());
    auto state_ = caches.find(cache);
    if (state_ == caches.end())
      return append.emitError("appends to a cache that is no state of this layer");
    spec.append = unsigned(uses.size());
    PackedWeight version = state_->second;
    uses.push_back(use(version, plan::Access::ReadWrite));
    caches[unit.resolve(append.getResult())] = version;
  } else {
    spec.state.blockTokens = options.blockTokens;
  }
  if (RotaryOp rotary = q.rotary ? q.rotary : k.rotary) {
    spec.rotary = turnBy(rotary.getRope(), rotary.getFirst(), uses);
    if ((hasQ && !q.rotary) || (hasK && !k.rotary)) {
      if (hasQ && hasK)
        return unit.op->emitError("only one of q and k turns; one launch turns both: disable the "
                                  "fusion attention-prologue");
    }
  }
  launch(loc, kernels::describeKernel(context, spec), uses, items(1, rows),
         isa<FusionOp>(unit.op) ? cast<FusionOp>(unit.op).getPattern()
                                : unit.op->getName().getStringRef());
  return success();
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
  Operation *op = unit.ops.front();
  auto paged = dyn_cast<PagedAttentionOp>(op);
  auto joint = dyn_cast<JointAttentionOp>(op);
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
  bind(unit.resolve(op->getResult(0)), out);
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
  if (std::string problem = kernels::checkAttention(spec); !problem.empty())
    return op->emitError("has no CPU kernel: ") << problem;
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(spec.heads / spec.itemHeads, q->rows),
         paged ? "paged attention" : "attention to positions and entries");
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
