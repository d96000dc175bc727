//===- UserUnits.cpp - kernels of the user's own --------------------------===//
#include "Converter.h"

#include "llmc/Kernels/UserKernelClaims.h"

using namespace mlir;

namespace llmc {

using namespace llm;

/// What llmc-claim-kernels wrote; a message where a file says something else.
static std::string readClaim(FusionOp fusion, kernels::UserKernelSpec &spec,
                             ArrayRef<int64_t> &operands) {
  auto claim = fusion->getAttrOfType<DictionaryAttr>(kernels::userKernelAttr);
  auto text = [&](StringRef name) { return claim ? claim.getAs<StringAttr>(name) : StringAttr(); };
  auto facts = claim ? claim.getAs<DenseF64ArrayAttr>("facts") : DenseF64ArrayAttr();
  auto scratch = claim ? claim.getAs<IntegerAttr>("scratch") : IntegerAttr();
  auto order = claim ? claim.getAs<DenseI64ArrayAttr>("operands") : DenseI64ArrayAttr();
  if (!text("name") || !text("object") || !text("symbol") || !facts || !scratch || !order ||
      scratch.getValue().isNegative())
    return "needs the attribute 'kernel' that llmc-claim-kernels writes";
  for (int64_t input : order.asArrayRef())
    if (input < 0 || input >= int64_t(fusion.getInputs().size()))
      return "has no input " + std::to_string(input);
  spec.name = text("name").str();
  spec.object = text("object").str();
  spec.symbol = text("symbol").str();
  spec.facts.assign(facts.asArrayRef().begin(), facts.asArrayRef().end());
  spec.scratch = scratch.getInt();
  operands = order.asArrayRef();
  kernels::ObjectCode object;
  return kernels::readUserObject(spec.object, spec.symbol, object, spec.sha256);
}

LogicalResult Converter::lowerUserKernel(FusionOp fusion) {
  if (target->isGPU())
    return fusion.emitError("is claimed by a kernel of the user's own, which runs on CPUs only");
  kernels::UserKernelSpec spec;
  ArrayRef<int64_t> operands;
  if (std::string problem = readClaim(fusion, spec, operands); !problem.empty())
    return fusion.emitError("kernel of the user's own: ") << problem;
  Unit unit = makeUnit(fusion);
  SmallVector<plan::UseAttr> uses;
  std::optional<plan::Extent> rows;
  for (int64_t number : operands) {
    Value value = fusion.getInputs()[unsigned(number)];
    if (isa<BatchType>(value.getType()))
      continue;
    if (isa<WeightType>(value.getType())) {
      auto weight = packRows(fusion.getLoc(), value);
      if (failed(weight))
        return failure();
      uses.push_back(use(*weight));
      continue;
    }
    auto buffer = wholeRows(value, unit);
    if (failed(buffer))
      return failure();
    if (rows && *rows != buffer->rows)
      return fusion.emitError("takes rows of all tokens beside chosen ones");
    rows = buffer->rows;
    uses.push_back(use(*buffer, plan::Access::Read));
  }
  // Never in place: the function may read an argument after it has written a result.
  for (Value result : fusion.getResults()) {
    auto shape = cast<RankedTensorType>(result.getType()).getShape();
    RowBuffer out = newBuffer(spec.name, ShapedType::getNumElements(shape.drop_front()),
                              rows.value_or(plan::Extent::Tokens));
    uses.push_back(use(out, plan::Access::Write));
    bind(result, out);
  }
  launch(fusion.getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(1, rows.value_or(plan::Extent::Tokens)), "user kernel " + spec.name);
  return success();
}

} // namespace llmc
