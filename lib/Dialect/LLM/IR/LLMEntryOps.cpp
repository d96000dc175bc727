//===- LLMEntryOps.cpp - groups of tokens kept as one entry ---------------===//
#include "VerifyUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmc::llm;

static LogicalResult verifyKind(Operation *op, StringRef name, CacheType type, CacheKind kind) {
  if (type.getKind() == kind)
    return success();
  return op->emitOpError() << name << " must be of kind " << stringifyCacheKind(kind)
                           << " but is of kind " << stringifyCacheKind(type.getKind());
}

//===----------------------------------------------------------------------===//
// pool_tokens
//===----------------------------------------------------------------------===//

int64_t PoolTokensOp::getGroup() {
  return cast<WeightType>(getBias().getType()).getShape().front();
}

LogicalResult PoolTokensOp::verify() {
  NamedShape values("values", getValues()), bias("bias", getBias()), state("state", getState()),
      result("result", getResult());
  // pool_tokens_c1
  if (failed(verifyRank(*this, values, 2)))
    return failure();
  int64_t width = values.shape[1];
  if (ShapedType::isDynamic(width) || (getOverlap() && width % 2 != 0))
    return emitOpError() << "values dimension 1 must be static, and even with overlap, but is "
                         << (ShapedType::isDynamic(width) ? "?" : std::to_string(width));
  // pool_tokens_c2
  if (failed(verifyRank(*this, bias, 2)) || failed(verifySameDim(*this, bias, 1, values, 1)))
    return failure();
  // pool_tokens_c3
  if (failed(verifyKind(*this, "state", cast<CacheType>(getState().getType()), CacheKind::Conv)))
    return failure();
  // Shapes of caches and weights are bounded: neither product overflows.
  int64_t rows = (getOverlap() ? 2 : 1) * getGroup() - 1;
  if (state.shape[0] != 2 * width || state.shape[1] != rows)
    return emitOpError() << "state must be [" << 2 * width << ", " << rows
                         << "], values and gates of the rows before the last, but is ["
                         << state.shape << "]";
  // pool_tokens_c4
  if (failed(verifyRank(*this, result, 2)) || failed(verifySameRows(*this, result, values)))
    return failure();
  int64_t pooled = getOverlap() ? width / 2 : width;
  if (result.shape[1] != pooled)
    return emitOpError() << "result dimension 1 must be " << pooled << " but is "
                         << (ShapedType::isDynamic(result.shape[1])
                                 ? "?"
                                 : std::to_string(result.shape[1]));
  return success();
}

void PoolTokensOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getStateMutable(), CacheResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), &getStateMutable(), CacheResource::get());
}

//===----------------------------------------------------------------------===//
// entry_append
//===----------------------------------------------------------------------===//

LogicalResult EntryAppendOp::verify() {
  NamedShape input("input", getInput()), cache("cache", getCache());
  // entry_append_c1
  if (failed(verifyKind(*this, "cache", cast<CacheType>(getCache().getType()), CacheKind::Entries)))
    return failure();
  // entry_append_c2
  if (failed(verifyRank(*this, input, 2)) || failed(verifySameDim(*this, input, 1, cache, 1)))
    return failure();
  // entry_append_c3
  int64_t first = getFirst(), key = cache.shape[1];
  if (!getRope())
    return first == 0 ? success()
                      : emitOpError() << "nothing turns from channel " << first << " on";
  int64_t width = getRope()->getWidth();
  if (width % 2 != 0)
    return emitOpError() << "rotary width must be even but is " << width;
  if (width > key || first < 0 || first > key - width)
    return emitOpError() << "rotary width (" << width << ") from channel " << first
                         << " on must lie inside the key, cache dimension 1 (" << key << ")";
  if (int64_t count = getRope()->getFrequencies().size(); count != width / 2)
    return emitOpError() << "number of frequencies (" << count
                         << ") must be half the rotary width (" << width / 2 << ")";
  if (getRope()->hasLong())
    return emitOpError("an entry turns once, and frequencies that depend on how long the sequence "
                       "becomes are not known then");
  return success();
}

void EntryAppendOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getCacheMutable(), CacheResource::get());
}

//===----------------------------------------------------------------------===//
// select_entries
//===----------------------------------------------------------------------===//

LogicalResult SelectEntriesOp::verify() {
  NamedShape query("query", getQuery()), weights("weights", getWeights()),
      cache("cache", getCache()), result("result", getResult());
  // select_entries_c1
  if (failed(verifyKind(*this, "cache", cast<CacheType>(getCache().getType()), CacheKind::Entries)))
    return failure();
  if (cache.shape[2] != 0)
    return emitOpError() << "cache must have no values but has width " << cache.shape[2];
  // select_entries_c2, select_entries_c3
  return verifySelection(*this, query, weights, cache, result, int64_t(getTop()));
}

void SelectEntriesOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getCacheMutable(), CacheResource::get());
}

//===----------------------------------------------------------------------===//
// joint_attention
//===----------------------------------------------------------------------===//

LogicalResult JointAttentionOp::verify() {
  NamedShape query("query", getQuery()), cache("cache", getCache()),
      entries("entries", getEntries()), result("result", getResult());
  // joint_attention_c1
  if (failed(
          verifyKind(*this, "cache", cast<CacheType>(getCache().getType()), CacheKind::Latent)) ||
      failed(verifyKind(*this, "entries", cast<CacheType>(getEntries().getType()),
                        CacheKind::Entries)))
    return failure();
  if (cache.shape[0] != 1 || cache.shape[2] == 0)
    return emitOpError() << "cache must have one head with values but is [" << cache.shape << "]";
  if (failed(verifySameDim(*this, entries, 1, cache, 1)) ||
      failed(verifySameDim(*this, entries, 2, cache, 2)))
    return failure();
  // joint_attention_c2
  if (failed(verifyRank(*this, query, 3)) || failed(verifySameDim(*this, query, 2, cache, 1)) ||
      failed(verifyRank(*this, result, 3)) || failed(verifySameRows(*this, result, query)) ||
      failed(verifySameDim(*this, result, 1, query, 1)) ||
      failed(verifySameDim(*this, result, 2, cache, 2)))
    return failure();
  // joint_attention_c3
  if (failed(verifyPositive(*this, "scale", getScale())))
    return failure();
  if (std::optional<uint64_t> window = getWindow(); window && int64_t(*window) <= 0)
    return emitOpError() << "window must be positive but is " << int64_t(*window);
  // joint_attention_c4
  if (getSinks()) {
    NamedShape sinks("sinks", getSinks());
    if (failed(verifyRank(*this, sinks, 1)) || failed(verifySameDim(*this, sinks, 0, query, 1)))
      return failure();
  }
  // joint_attention_c5
  if (!getSelection())
    return success();
  return verifySameRows(*this, {"selection", getSelection()}, query);
}

void JointAttentionOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getCacheMutable(), CacheResource::get());
  effects.emplace_back(MemoryEffects::Read::get(), &getEntriesMutable(), CacheResource::get());
}

//===----------------------------------------------------------------------===//
// sinkhorn
//===----------------------------------------------------------------------===//

LogicalResult SinkhornOp::verify() {
  NamedShape input("input", getInput());
  // sinkhorn_c1
  if (failed(verifyRank(*this, input, 3)) || failed(verifySameDim(*this, input, 1, input, 2)))
    return failure();
  // sinkhorn_c2
  if (int64_t steps = getSteps(); steps < 1 || steps > 1000)
    return emitOpError() << "steps must be from 1 to 1000 but are " << steps;
  if (!getEpsilon().isFinite() || getEpsilon().isNegative()) {
    SmallString<32> text;
    getEpsilon().toString(text);
    return emitOpError() << "epsilon must be finite and not negative but is " << text;
  }
  return success();
}
