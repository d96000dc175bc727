//===- LLMWeightOps.cpp - symbols: weights and state ----------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"

using namespace mlir;
using namespace llmc::llm;

/// `{i}` stands in a name exactly where there are layers to count.
static LogicalResult verifyTemplate(Operation *op, StringRef what, StringRef name, bool layered) {
  if (name.empty())
    return op->emitOpError() << what << " must not be empty";
  if (name.contains("{i") == layered)
    return success();
  if (layered)
    return op->emitOpError() << what << " '" << name << "' must hold {i}: the family has layers";
  return op->emitOpError() << what << " '" << name
                           << "' must not hold {i}: the family has no layers";
}

LogicalResult WeightFamilyOp::verify() {
  bool layered = getLayers().has_value();
  // weight_family_c1
  if (failed(verifyTemplate(*this, "source", getSource(), layered)))
    return failure();
  // weight_family_c2
  if (getCheckpoint() &&
      failed(verifyTemplate(*this, "checkpoint", *getCheckpoint(), layered)))
    return failure();
  WeightType type = getType();
  // weight_family_c3
  if (getFirstRow().has_value() != getStoredRows().has_value())
    return emitOpError("has first_row without stored_rows or the reverse; give both or neither");
  int64_t rows = type.getShape().empty() ? 0 : type.getShape()[0];
  if (getFirstRow() && (int64_t(*getFirstRow()) < 0 || rows > int64_t(*getStoredRows()) ||
                        int64_t(*getFirstRow()) > int64_t(*getStoredRows()) - rows))
    return emitOpError("takes ") << rows << " rows from row " << int64_t(*getFirstRow())
                                 << " on, the stored tensor has " << int64_t(*getStoredRows());
  // weight_family_c4
  if (getTransposed() && type.getRank() != 2)
    return emitOpError("is transposed, which only a matrix can be, it is ") << type;
  return success();
}

SmallVector<int64_t> WeightFamilyOp::getStoredShape() {
  SmallVector<int64_t> shape(getType().getShape());
  if (getStoredRows() && !shape.empty())
    shape[0] = int64_t(*getStoredRows());
  if (getTransposed())
    std::swap(shape[0], shape[1]);
  return shape;
}

/// The family that a member names, with a message where there is none.
template <typename FamilyOp>
static FamilyOp lookUpFamily(Operation *op, FlatSymbolRefAttr name,
                             SymbolTableCollection &symbols) {
  auto family = symbols.lookupNearestSymbolFrom<FamilyOp>(op, name);
  if (!family)
    op->emitOpError() << "family " << name << " must be a symbol of "
                      << FamilyOp::getOperationName();
  return family;
}

static LogicalResult verifyMemberType(Operation *op, FlatSymbolRefAttr name, Type type,
                                      Type family) {
  if (type == family)
    return success();
  return op->emitOpError() << "result type " << type << " must be the type of family " << name
                           << ", " << family;
}

LogicalResult ParamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // param_c1
  auto family = lookUpFamily<WeightFamilyOp>(*this, getFamilyAttr(), symbols);
  if (!family || failed(verifyMemberType(*this, getFamilyAttr(), getType(), family.getType())))
    return failure();
  // param_c2
  bool layered = family.getLayers().has_value();
  if (layered == static_cast<bool>(getLayer()))
    return success();
  if (layered)
    return emitOpError() << "needs a layer: family " << getFamilyAttr() << " has layers";
  return emitOpError() << "takes no layer: family " << getFamilyAttr() << " has none";
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // state_c1
  auto family = lookUpFamily<StateFamilyOp>(*this, getFamilyAttr(), symbols);
  if (!family || failed(verifyMemberType(*this, getFamilyAttr(), getType(), family.getType())))
    return failure();
  // state_c2
  if (!getLayer())
    return emitOpError() << "needs a layer: family " << getFamilyAttr() << " has layers";
  return success();
}
