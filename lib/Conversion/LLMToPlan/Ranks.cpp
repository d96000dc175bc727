//===- Ranks.cpp - programs of several ranks ------------------------------===//
//
// A module of several ranks is the program of each: types are those of one
// rank's part. Its shard.grid gives the ranks, shard.all_reduce becomes a
// collective. Families of weights that ranks divide say so in the words of
// shard.sharding, which itself only takes tensors: `shard.grid = @tp` and
// `shard.split_axes = #shard<axisarray[[], [0]]>` (here: by columns).
//
//===----------------------------------------------------------------------===//
#include "Converter.h"

#include "llmc/Conversion/WeightSplit.h"
#include "llmc/Dialect/Plan/IR/PlanSize.h"

using namespace mlir;

namespace llmc {

using namespace llm;

LogicalResult Converter::findRanks() {
  for (auto grid : module.getOps<shard::GridOp>()) {
    ArrayRef<int64_t> shape = grid.getShape();
    if (shape.size() != 1 || ShapedType::isDynamic(shape[0]))
      return grid.emitOpError("has ") << shape.size() << " axes; the plan takes grids of one axis "
                                      << "of fixed size";
    if (!ranksOf.empty())
      return grid.emitOpError("is a second grid; the plan takes one");
    ranksOf = grid.getSymName().str();
    ranks = shape[0];
  }
  return success();
}

LogicalResult Converter::convertAllReduce(shard::AllReduceOp reduce) {
  if (reduce.getGrid() != ranksOf)
    return reduce.emitOpError("runs over @") << reduce.getGrid() << ", which is no grid here";
  if (reduce.getGridAxes() != ArrayRef<int16_t>{0})
    return reduce.emitOpError("runs over no axis of the grid; write grid_axes = [0]");
  if (reduce.getReduction() != shard::ReductionKind::Sum)
    return reduce.emitOpError("reduces by ")
           << shard::stringifyReductionKind(reduce.getReduction()) << "; the plan has sums only";
  auto type = dyn_cast<RankedTensorType>(reduce.getResult().getType());
  if (!type || !type.getElementType().isF32() || type != reduce.getInput().getType())
    return reduce.emitOpError("adds ") << reduce.getInput().getType() << " to "
                                       << reduce.getResult().getType()
                                       << "; the plan adds tensors of f32";
  auto buffer = bufferOf(reduce.getInput(), reduce);
  if (failed(buffer))
    return failure();
  RowBuffer sum = *buffer;
  // In place: the rank's own part must be whole rows that nothing reads afterwards.
  if (!sum.isWholeSlice() || !diesAt(sum, reduce)) {
    sum = newBuffer("reduced", buffer->width, buffer->rows);
    if (failed(copyRows(*buffer, sum, reduce.getLoc(), "the rank's own part is still needed")))
      return failure();
  }
  MLIRContext *context = module.getContext();
  if (group.empty()) {
    group = ranksOf;
    for (unsigned i = 1; names.count(group); ++i)
      group = ranksOf + "." + std::to_string(i);
    names[group]++;
    auto members = llvm::to_vector(llvm::seq<int64_t>(0, ranks));
    plan::GroupOp::create(declare, reduce.getLoc(), declare.getStringAttr(group),
                          declare.getDenseI64ArrayAttr(members));
  }
  auto rows = sum.rows == plan::Extent::Tokens    ? plan::SizeSymbol::Tokens
              : sum.rows == plan::Extent::Outputs ? plan::SizeSymbol::Outputs
                                                  : plan::SizeSymbol::Sequences;
  plan::CollectiveOp::create(
      step, reduce.getLoc(), plan::CollectiveKindAttr::get(context, plan::CollectiveKind::AllReduce),
      FlatSymbolRefAttr::get(context, sum.slice), FlatSymbolRefAttr::get(context, group),
      TypeAttr::get(Float32Type::get(context)),
      AffineMapAttr::get(plan::Size::of(rows, sum.width).getMap(context)));
  bind(reduce.getResult(), sum);
  return success();
}

FailureOr<std::optional<int64_t>> Converter::splitOf(WeightFamilyOp family) {
  auto axes = family->getAttrOfType<shard::GridAxesArrayAttr>("shard.split_axes");
  auto grid = family->getAttrOfType<FlatSymbolRefAttr>("shard.grid");
  if (!axes && !grid)
    return std::optional<int64_t>();
  if (!axes || !grid || grid.getValue() != ranksOf)
    return family.emitOpError("is divided by ")
           << (grid ? "@" + grid.getValue().str() : std::string("no grid")) << "; give shard.grid, "
           << "a shard.grid of this module, and shard.split_axes";
  std::optional<int64_t> split;
  int64_t rank = cast<WeightType>(family.getType()).getRank();
  for (auto [dimension, list] : llvm::enumerate(axes.getAxes())) {
    if (list.empty())
      continue;
    if (split || list.asArrayRef() != ArrayRef<int16_t>{0} || int64_t(dimension) >= rank)
      return family.emitOpError("has split_axes ") << axes << "; one dimension of the weight is "
                                                   << "divided, along axis 0";
    split = int64_t(dimension);
  }
  return split;
}

LogicalResult Converter::markSplit(plan::WeightsOp weights, ArrayRef<Value> members) {
  std::optional<std::optional<int64_t>> common;
  for (Value member : members) {
    if (!member)
      continue;
    WeightFamilyOp family = familyOf(member);
    auto split = splitOf(family);
    if (failed(split))
      return failure();
    if (common && *common != *split)
      return family.emitOpError("is divided otherwise than the other weights of its launch");
    common = *split;
  }
  if (common && *common)
    weights->setAttr(splitAttrName, step.getI64IntegerAttr(**common));
  return success();
}

} // namespace llmc
