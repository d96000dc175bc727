//===- PrologueUnits.cpp - what comes before an attention -----------------===//
#include "Converter.h"

using namespace mlir;

namespace llmc {

using namespace llm;

static ArrayRef<int64_t> rowOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().drop_front();
}

namespace {
/// Rows on their way through the unit: from outside, a part of each head perhaps, through a norm,
/// then a rotary.
struct HeadPath {
  Value source;
  /// Of a part of each head: its first channel, and the channels of a whole head.
  int64_t first = 0, inner = 0;
  Operation *norm = nullptr;
  RotaryOp rotary;
};

/// One of q, k, v; with `rest` the last channels of its heads come from elsewhere.
struct HeadPaths {
  Value last;
  HeadPath own;
  std::optional<HeadPath> rest;
  int64_t restWidth = 0;

  RotaryOp rotary() const { return rest ? rest->rotary : own.rotary; }
  /// The first channel that turns.
  int64_t firstTurned() const {
    int64_t before = rest ? rowOf(last).back() - restWidth : 0;
    return before + int64_t(rotary().getFirst());
  }
};
} // namespace

static bool isOf(const Unit &unit, Operation *op) { return op && llvm::is_contained(unit.ops, op); }

/// Walks back from `value` to what the unit reads.
static LogicalResult tracePath(const Unit &unit, Value value, HeadPath &path) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isOf(unit, def))
      break;
    auto rotary = dyn_cast<RotaryOp>(def);
    if (isa<SplitHeadsOp, MergeHeadsOp>(def)) {
      value = def->getOperand(0);
    } else if (auto slice = dyn_cast<SliceOp>(def); slice && rowOf(slice.getInput()).size() == 2) {
      path.first = int64_t(slice.getFrom());
      path.inner = rowOf(slice.getInput())[1];
      value = slice.getInput();
      while (isOf(unit, value.getDefiningOp()) &&
             isa<SplitHeadsOp, MergeHeadsOp>(value.getDefiningOp()))
        value = value.getDefiningOp()->getOperand(0);
      if (isOf(unit, value.getDefiningOp()))
        return def->emitError("is a part of heads that this launch makes; disable the fusion "
                              "attention-prologue");
      break;
    } else if (rotary && !path.rotary && !path.norm) {
      path.rotary = rotary;
      value = rotary.getInput();
    } else if (isa<RMSNormOp, LayerNormOp>(def) && !path.norm) {
      path.norm = def;
      value = def->getOperand(0);
    } else {
      return def->emitError("stands where the attention prologue kernel has only one norm and "
                            "then one rotary; disable the fusion attention-prologue");
    }
  }
  path.source = unit.resolve(value);
  return success();
}

static LogicalResult tracePaths(const Unit &unit, Value value, HeadPaths &paths) {
  paths.last = value;
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!isOf(unit, concat))
    return tracePath(unit, value, paths.own);
  paths.rest.emplace();
  paths.restWidth = rowOf(concat.getInputs().back()).back();
  if (concat.getInputs().size() != 2)
    return concat.emitError("puts heads together of more than two parts in one launch; disable the "
                            "fusion attention-prologue");
  if (failed(tracePath(unit, concat.getInputs()[0], paths.own)) ||
      failed(tracePath(unit, concat.getInputs()[1], *paths.rest)))
    return failure();
  if (paths.own.rotary || paths.rest->norm)
    return concat.emitError("takes heads of which the first part turns, or the second has a norm; "
                            "disable the fusion attention-prologue");
  return success();
}

FailureOr<kernels::HeadNorm> Converter::headNorm(Operation *op, const Unit &unit,
                                                 SmallVectorImpl<plan::UseAttr> &uses) {
  kernels::HeadNorm head;
  auto vector = [&](Value weight, std::optional<unsigned> &operand) -> LogicalResult {
    if (!weight)
      return success();
    auto packedVector = packVectors(op->getLoc(), {unit.resolve(weight)}, {}, false);
    if (failed(packedVector))
      return failure();
    operand = unsigned(uses.size());
    uses.push_back(use(*packedVector));
    return success();
  };
  if (auto norm = dyn_cast<RMSNormOp>(op)) {
    head.eps = float(norm.getEpsilon().convertToDouble());
    head.offset = float(norm.getOffset().convertToDouble());
    if (failed(vector(norm.getScale(), head.scale)))
      return failure();
    return head;
  }
  auto norm = cast<LayerNormOp>(op);
  head.layer = true;
  head.eps = float(norm.getEpsilon().convertToDouble());
  if (failed(vector(norm.getScale(), head.scale)) || failed(vector(norm.getBias(), head.bias)))
    return failure();
  return head;
}

/// The rows of a path as an operand: one for all that a unit reads of a slice.
FailureOr<kernels::HeadRows> Converter::pathRows(Value source, int64_t first, int64_t inner,
                                                 const Unit &unit,
                                                 SmallVectorImpl<plan::UseAttr> &uses) {
  auto buffer = bufferOf(source, unit.op);
  if (failed(buffer))
    return failure();
  touch(*buffer, plan::Access::Read);
  unsigned operand = unsigned(uses.size());
  for (auto [i, other] : llvm::enumerate(uses))
    if (other.getSymbol().getValue() == buffer->slice)
      operand = unsigned(i);
  if (operand == uses.size())
    uses.push_back(use(*buffer, plan::Access::Read));
  return kernels::HeadRows{operand, buffer->stride, buffer->offset + first, inner};
}

/// The value beside the key that the unit makes: q.
static FailureOr<Value> findQuery(const Unit &unit, Value key) {
  Value query;
  for (Operation *op : unit.ops)
    for (Value result : op->getResults()) {
      if (isa<CacheType>(result.getType()) || result == key || !unit.isResult(result))
        continue;
      if (query)
        return op->emitError("is a third result of one launch; the kernel turns q and k");
      query = result;
    }
  return query;
}

/// What q and k must have in common.
static LogicalResult checkTogether(const Unit &unit, HeadPaths &q, HeadPaths &k) {
  RotaryOp a = q.rotary(), b = k.rotary();
  if (a && b && a.getRope() != b.getRope())
    return unit.op->emitError("q and k turn by different rotary records in one launch; disable "
                              "the fusion attention-prologue");
  if (a && b && q.firstTurned() != k.firstTurned())
    return unit.op->emitError("q turns from channel ")
           << q.firstTurned() << " on and k from " << k.firstTurned()
           << " in one launch; disable the fusion attention-prologue";
  if (q.restWidth != k.restWidth)
    return unit.op->emitError("the last ")
           << q.restWidth << " channels of q and the last " << k.restWidth
           << " of k come from elsewhere in one launch; disable the fusion attention-prologue";
  if (rowOf(q.last)[1] != rowOf(k.last)[1])
    return unit.op->emitError("q is ")
           << rowOf(q.last)[1] << " wide and k " << rowOf(k.last)[1]
           << "; one launch turns heads of one width: disable the fusion attention-prologue";
  return success();
}

LogicalResult Converter::lowerPrologue(const Unit &unit) {
  auto append = unit.first<KVAppendOp>();
  HeadPaths q, k, v;
  if (append && failed(tracePaths(unit, append.getKey(), k)))
    return failure();
  if (append && append.getValue() && failed(tracePaths(unit, append.getValue(), v)))
    return failure();
  auto query = findQuery(unit, k.last);
  if (failed(query) || (*query && failed(tracePaths(unit, *query, q))))
    return failure();
  if (q.last && k.last && failed(checkTogether(unit, q, k)))
    return failure();
  if (v.rest || v.own.rotary)
    return append.emitError("takes values that turn or have two parts in one launch; disable the "
                            "fusion attention-prologue");

  kernels::PrologueSpec spec;
  SmallVector<plan::UseAttr> uses;
  /// Both parts, and the norm of the first.
  auto add = [&](HeadPaths &paths, std::optional<kernels::HeadRows> &own,
                 std::optional<kernels::HeadRows> &rest,
                 std::optional<kernels::HeadNorm> &norm) -> LogicalResult {
    auto rows = pathRows(paths.own.source, paths.own.first, paths.own.inner, unit, uses);
    if (failed(rows))
      return failure();
    own = *rows;
    if (paths.rest) {
      auto others = pathRows(paths.rest->source, paths.rest->first, paths.rest->inner, unit, uses);
      if (failed(others))
        return failure();
      rest = *others;
      spec.rest = paths.restWidth;
    }
    if (!paths.own.norm)
      return success();
    auto head = headNorm(paths.own.norm, unit, uses);
    if (succeeded(head))
      norm = *head;
    return head;
  };
  std::optional<kernels::HeadRows> noRest;
  if (q.last) {
    spec.heads = rowOf(q.last)[0];
    spec.state.keyWidth = rowOf(q.last)[1];
    spec.state.blockTokens = options.blockTokens;
    if (failed(add(q, spec.q, spec.qRest, spec.qNorm)))
      return failure();
  }
  if (append) {
    spec.state = pagedState(cast<CacheType>(append.getCache().getType()), options.blockTokens);
    if (failed(add(k, spec.k, spec.kRest, spec.kNorm)) ||
        (v.last && failed(add(v, spec.v, noRest, spec.vNorm))))
      return failure();
  }
  /// In place where the value dies here and nobody else in the launch reads it, else rows of its own;
  /// so is a key that is appended, which the kernel turns on its way to the state.
  auto place = [&](HeadPaths &paths, std::optional<kernels::HeadRows> &out) {
    RowBuffer buffer = buffers[paths.own.source];
    bool alone = &paths != &k && !paths.rest && !paths.own.inner && diesAt(buffer, unit.op);
    for (HeadPaths *other : {&q, &k, &v})
      for (const HeadPath *path : {&other->own, other->rest ? &*other->rest : nullptr})
        if (path && path->source && path != &paths.own)
          alone &= !buffers[path->source].overlaps(buffer);
    if (alone) {
      for (plan::UseAttr &operand : uses)
        if (operand.getSymbol().getValue() == buffer.slice)
          operand = use(buffer, plan::Access::ReadWrite);
      return bind(unit.resolve(paths.last), buffer);
    }
    RowBuffer own = newBuffer("turned", rowOf(paths.last)[0] * rowOf(paths.last)[1], buffer.rows);
    out = headRows(own, unsigned(uses.size()));
    uses.push_back(use(own, plan::Access::Write));
    bind(unit.resolve(paths.last), own);
  };
  plan::Extent rows = plan::Extent::Tokens;
  if (q.last)
    place(q, spec.qOut);
  if (append && isOf(unit, k.last.getDefiningOp()) && unit.isResult(k.last))
    place(k, spec.kOut);
  if (append) {
    auto state = caches.find(unit.resolve(append.getCache()));
    if (state == caches.end())
      return append.emitError("appends to a cache that is no state of this layer");
    spec.append = unsigned(uses.size());
    PackedWeight version = state->second;
    uses.push_back(use(version, plan::Access::ReadWrite));
    caches[unit.resolve(append.getResult())] = version;
  }
  RotaryOp ofQ = q.last ? q.rotary() : RotaryOp(), ofK = k.last ? k.rotary() : RotaryOp();
  if (RotaryOp rotary = ofQ ? ofQ : ofK) {
    spec.rotary = turnBy(rotary.getRope(), (ofQ ? q : k).firstTurned(), uses);
    spec.qTurns = ofQ || !q.last;
    spec.kTurns = ofK || !k.last;
  }
  if (std::string problem = kernels::checkPrologue(spec); !problem.empty())
    return unit.op->emitError("has no CPU kernel: ") << problem;
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(1, rows),
         isa<FusionOp>(unit.op) ? cast<FusionOp>(unit.op).getPattern()
                                : unit.op->getName().getStringRef());
  return success();
}

} // namespace llmc
