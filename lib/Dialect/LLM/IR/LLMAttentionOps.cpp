//===- LLMAttentionOps.cpp - heads, rotary, state, attention --------------===//
#include "VerifyUtils.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace llmc::llm;

//===----------------------------------------------------------------------===//
// split_heads and merge_heads
//===----------------------------------------------------------------------===//

/// `heads` is [tokens, heads, width] of the rows [tokens, heads * width].
static LogicalResult verifyHeadView(Operation *op, NamedShape rows, NamedShape heads) {
  if (failed(verifyRank(op, rows, 2)) || failed(verifyRank(op, heads, 3)) ||
      failed(verifySameRows(op, rows, heads)))
    return failure();
  for (unsigned i : {1, 2})
    if (ShapedType::isDynamic(heads.shape[i]))
      return op->emitOpError() << heads.name << " dimension " << i << " must be static";
  int64_t width = 0;
  if (llvm::MulOverflow(heads.shape[1], heads.shape[2], width))
    return op->emitOpError() << heads.name << " has " << heads.shape[1] << " heads of width "
                             << heads.shape[2] << ", more than a number of 64 bits holds";
  if (rows.shape[1] == width)
    return success();
  return op->emitOpError() << rows.name << " dimension 1 ("
                           << (ShapedType::isDynamic(rows.shape[1]) ? std::string("?")
                                                                    : std::to_string(rows.shape[1]))
                           << ") must equal " << heads.name << " heads times width ("
                           << heads.shape[1] << " * " << heads.shape[2] << " = " << width << ")";
}

void SplitHeadsOp::build(OpBuilder &builder, OperationState &state, Value input, int64_t heads) {
  auto rows = cast<RankedTensorType>(input.getType());
  auto type = RankedTensorType::get({rows.getDimSize(0), heads, rows.getDimSize(1) / heads},
                                    rows.getElementType());
  build(builder, state, type, input);
}

// split_heads_c1
LogicalResult SplitHeadsOp::verify() {
  return verifyHeadView(*this, {"input", getInput()}, {"result", getResult()});
}

void MergeHeadsOp::build(OpBuilder &builder, OperationState &state, Value input) {
  auto heads = cast<RankedTensorType>(input.getType());
  int64_t width = heads.getDimSize(1) * heads.getDimSize(2);
  auto type = RankedTensorType::get({heads.getDimSize(0), width}, heads.getElementType());
  build(builder, state, type, input);
}

// merge_heads_c1
LogicalResult MergeHeadsOp::verify() {
  return verifyHeadView(*this, {"result", getResult()}, {"input", getInput()});
}

//===----------------------------------------------------------------------===//
// rotary
//===----------------------------------------------------------------------===//

LogicalResult RotaryOp::verify() {
  NamedShape input("input", getInput());
  // rotary_c1
  if (failed(verifyRank(*this, input, 3)))
    return failure();
  // rotary_c2
  int64_t width = getRope().getWidth(), head = input.shape[2];
  if (width % 2 != 0)
    return emitOpError() << "rotary width must be even but is " << width;
  int64_t first = getFirst();
  if (ShapedType::isDynamic(head) || width > head)
    return emitOpError() << "rotary width (" << width
                         << ") must be at most the head width, input dimension 2 ("
                         << (ShapedType::isDynamic(head) ? std::string("?") : std::to_string(head))
                         << ")";
  if (first < 0 || first > head - width)
    return emitOpError() << "rotary width (" << width << ") from channel " << first
                         << " on must lie inside the head width, input dimension 2 (" << head
                         << ")";
  // rotary_c3
  int64_t frequencies = getRope().getFrequencies().size();
  if (frequencies != width / 2)
    return emitOpError() << "number of frequencies (" << frequencies
                         << ") must be half the rotary width (" << width / 2 << ")";
  if (int64_t longer = getRope().getLongFrequencies().size(); longer && longer != width / 2)
    return emitOpError() << "number of long frequencies (" << longer
                         << ") must be half the rotary width (" << width / 2 << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// kv_append
//===----------------------------------------------------------------------===//

/// State that is looked up by position.
static LogicalResult verifyByPosition(Operation *op, CacheType cache) {
  if (cache.getKind() == CacheKind::Paged || cache.getKind() == CacheKind::Window ||
      cache.getKind() == CacheKind::Latent)
    return success();
  return op->emitOpError() << "cache must be paged, window or latent but is "
                           << stringifyCacheKind(cache.getKind());
}

/// The type of the cache, the operand before the last.
LogicalResult KVAppendOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                           ValueRange operands, DictionaryAttr, OpaqueProperties,
                                           RegionRange, SmallVectorImpl<Type> &types) {
  if (operands.size() < 2)
    return failure();
  types.push_back(operands[operands.size() - 2].getType());
  return success();
}

LogicalResult KVAppendOp::verify() {
  auto type = cast<CacheType>(getCache().getType());
  // kv_append_c1
  if (failed(verifyByPosition(*this, type)))
    return failure();
  // kv_append_c2
  NamedShape key("key", getKey()), cache("cache", getCache());
  if (failed(verifyRank(*this, key, 3)) || failed(verifySameDim(*this, key, 1, cache, 0)) ||
      failed(verifySameDim(*this, key, 2, cache, 1)))
    return failure();
  // kv_append_c3
  bool isLatent = type.getKind() == CacheKind::Latent;
  if (isLatent == bool(getValue()))
    return emitOpError() << (isLatent ? "takes no value: a latent cache keeps keys alone"
                                      : "needs a value: only a latent cache keeps keys alone");
  if (isLatent)
    return success();
  NamedShape value("value", getValue());
  return success(succeeded(verifyRank(*this, value, 3)) &&
                 succeeded(verifySameRows(*this, key, value)) &&
                 succeeded(verifySameDim(*this, value, 1, cache, 0)) &&
                 succeeded(verifySameDim(*this, value, 2, cache, 2)));
}

void KVAppendOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getCacheMutable(), CacheResource::get());
}

//===----------------------------------------------------------------------===//
// paged_attention
//===----------------------------------------------------------------------===//

void PagedAttentionOp::build(OpBuilder &builder, OperationState &state, Value query, Value cache,
                             Value batch, double scale, std::optional<int64_t> window) {
  auto rows = cast<RankedTensorType>(query.getType());
  int64_t width = cast<CacheType>(cache.getType()).getShape().back();
  auto type =
      RankedTensorType::get({rows.getDimSize(0), rows.getDimSize(1), width}, rows.getElementType());
  build(builder, state, type, query, cache, batch, /*sinks=*/Value(), /*selection=*/Value(),
        builder.getF64FloatAttr(scale), window ? builder.getI64IntegerAttr(*window) : IntegerAttr(),
        /*chunk=*/IntegerAttr(), /*softcap=*/FloatAttr(), /*slopes=*/DenseF32ArrayAttr());
}

static std::string extentText(int64_t dim) {
  return ShapedType::isDynamic(dim) ? "?" : std::to_string(dim);
}

LogicalResult PagedAttentionOp::verify() {
  auto type = cast<CacheType>(getCache().getType());
  NamedShape query("query", getQuery()), cache("cache", getCache()), result("result", getResult());
  // paged_attention_c1
  if (failed(verifyByPosition(*this, type)))
    return failure();
  if (cache.shape[2] == 0)
    return emitOpError("needs a cache with values, its value width is 0");
  if (failed(verifyRank(*this, query, 3)) || failed(verifySameDim(*this, query, 2, cache, 1)))
    return failure();
  if (ShapedType::isDynamic(query.shape[1]) || query.shape[1] % cache.shape[0] != 0)
    return emitOpError() << "query dimension 1 (" << extentText(query.shape[1])
                         << ") must be a multiple of the kv heads, cache dimension 0 ("
                         << cache.shape[0] << ")";
  // paged_attention_c2
  if (failed(verifyRank(*this, result, 3)) || failed(verifySameRows(*this, result, query)) ||
      failed(verifySameDim(*this, result, 1, query, 1)) ||
      failed(verifySameDim(*this, result, 2, cache, 2)))
    return failure();
  // paged_attention_c3
  if (failed(verifyPositive(*this, "scale", getScale())))
    return failure();
  for (auto [name, size] : {std::pair("window", getWindow()), std::pair("chunk", getChunk())})
    if (size && int64_t(*size) <= 0)
      return emitOpError() << name << " must be positive but is " << int64_t(*size);
  if (std::optional<APFloat> cap = getSoftcap();
      cap && failed(verifyPositive(*this, "softcap", *cap)))
    return failure();
  // paged_attention_c4
  if (getSinks()) {
    NamedShape sinks("sinks", getSinks());
    if (failed(verifyRank(*this, sinks, 1)) || failed(verifySameDim(*this, sinks, 0, query, 1)))
      return failure();
  }
  if (std::optional<ArrayRef<float>> slopes = getSlopes()) {
    if (int64_t(slopes->size()) != query.shape[1])
      return emitOpError() << "number of slopes (" << slopes->size()
                           << ") must equal query dimension 1 (" << query.shape[1] << ")";
    for (float slope : *slopes)
      if (!std::isfinite(slope))
        return emitOpError("slopes must be finite");
  }
  // paged_attention_c5
  if (!getSelection())
    return success();
  return verifySameRows(*this, {"selection", getSelection()}, query);
}

void PagedAttentionOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getCacheMutable(), CacheResource::get());
}

//===----------------------------------------------------------------------===//
// select_positions
//===----------------------------------------------------------------------===//

void SelectPositionsOp::build(OpBuilder &builder, OperationState &state, Value query,
                              Value weights, Value cache, Value batch, int64_t top) {
  auto rows = cast<RankedTensorType>(query.getType());
  auto type = RankedTensorType::get({rows.getDimSize(0), top}, builder.getI32Type());
  build(builder, state, type, query, weights, cache, batch, builder.getI64IntegerAttr(top));
}

LogicalResult SelectPositionsOp::verify() {
  auto type = cast<CacheType>(getCache().getType());
  NamedShape query("query", getQuery()), weights("weights", getWeights()),
      cache("cache", getCache()), result("result", getResult());
  // select_positions_c1
  if (type.getKind() != CacheKind::Latent)
    return emitOpError() << "cache must be latent but is " << stringifyCacheKind(type.getKind());
  if (cache.shape[0] != 1 || cache.shape[2] != 0)
    return emitOpError() << "cache must have one head without values but is [" << cache.shape
                         << "]";
  // select_positions_c2, select_positions_c3
  return verifySelection(*this, query, weights, cache, result, int64_t(getTop()));
}

void SelectPositionsOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getCacheMutable(), CacheResource::get());
}

//===----------------------------------------------------------------------===//
// head_linear
//===----------------------------------------------------------------------===//

void HeadLinearOp::build(OpBuilder &builder, OperationState &state, Value input, Value weight) {
  auto rows = cast<RankedTensorType>(input.getType());
  auto type = RankedTensorType::get({rows.getDimSize(0), rows.getDimSize(1),
                                     cast<WeightType>(weight.getType()).getShape()[1]},
                                    rows.getElementType());
  build(builder, state, type, input, weight);
}

LogicalResult HeadLinearOp::verify() {
  NamedShape input("input", getInput()), weight("weight", getWeight()),
      result("result", getResult());
  // head_linear_c1
  if (failed(verifyRank(*this, input, 3)) || failed(verifyRank(*this, weight, 3)) ||
      failed(verifySameDim(*this, weight, 0, input, 1)) ||
      failed(verifySameDim(*this, weight, 2, input, 2)))
    return failure();
  // head_linear_c2
  return success(succeeded(verifyRank(*this, result, 3)) &&
                 succeeded(verifySameRows(*this, result, input)) &&
                 succeeded(verifySameDim(*this, result, 1, input, 1)) &&
                 succeeded(verifySameDim(*this, result, 2, weight, 1)));
}
