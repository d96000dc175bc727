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
  if (getCheckpoint())
    return verifyTemplate(*this, "checkpoint", *getCheckpoint(), layered);
  return success();
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
