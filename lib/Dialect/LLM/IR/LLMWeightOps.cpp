//===- LLMWeightOps.cpp - symbols: weights and state ----------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/IR/LayerLimit.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

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

static LogicalResult verifyView(WeightFamilyOp op, WeightType type, ViewAttr view,
                                bool tensorPerExpert) {
  ArrayRef<int64_t> shape = type.getShape().drop_front(tensorPerExpert ? 1 : 0);
  // weight_family_c6
  if (view.getStrides().size() != shape.size())
    return op.emitOpError("has a view of ")
           << view.getStrides().size() << " strides for " << shape.size()
           << " dimensions within a tensor";
  int64_t elements = 1, last = view.getFirst();
  for (int64_t dim : view.getStored())
    elements *= dim;
  for (auto [dim, stride] : llvm::zip(shape, view.getStrides())) {
    int64_t span;
    if (llvm::MulOverflow(dim - 1, stride, span) || llvm::AddOverflow(last, span, last) ||
        last >= elements)
      return op.emitOpError("has a view that reaches beyond the ")
             << elements << " elements of its tensor";
  }
  // weight_family_c7
  auto blocks = dyn_cast<BlocksAttr>(type.getStorage());
  // Where the elements of a row are apart, no stored block is taken: llmc makes blocks of them.
  if (!blocks || view.getStrides().back() != 1)
    return success();
  int64_t size = blocks.getSize();
  bool whole = view.getFirst() % size == 0 && view.getStored().back() % size == 0;
  for (int64_t stride : view.getStrides().drop_back())
    whole &= stride % size == 0;
  if (!whole)
    return op.emitOpError("has a view that cuts blocks of ") << size << " elements";
  return success();
}

/// weight_family_c8
static LogicalResult verifyValues(WeightFamilyOp op, ArrayRef<float> values) {
  if (op.getCheckpoint() || op.getFirstRow() || op.getTransposed() || op.getView() ||
      op.hasTensorPerExpert())
    return op.emitOpError("has values, so there is nothing that is read of a checkpoint");
  WeightType type = op.getType();
  if (type.getStorageName() != "f32")
    return op.emitOpError("has values of f32, its type is ") << type;
  int64_t members = op.getLayers() ? int64_t(op.getLayersAttr().expand().size()) : 1, needed;
  if (llvm::MulOverflow(members, type.getNumElements(), needed) ||
      int64_t(values.size()) != needed)
    return op.emitOpError("has ") << values.size() << " values for " << members
                                  << " members of " << type.getNumElements() << " elements";
  for (float value : values)
    if (!std::isfinite(value))
      return op.emitOpError("has a value that is not finite");
  return success();
}

LogicalResult WeightFamilyOp::verify() {
  bool layered = getLayers().has_value();
  // weight_family_c1
  if (failed(verifyTemplate(*this, "source", getSource(), layered)))
    return failure();
  if (layered && getLayers()->getBounds().back() > maxLayers)
    return emitOpError("has a member for layer ")
           << getLayers()->getBounds().back() - 1 << "; no model has more than " << maxLayers
           << " layers";
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
  // weight_family_c5
  if (hasTensorPerExpert() && (type.getRank() < 2 || getFirstRow() || getTransposed()))
    return emitOpError("has a tensor for each expert, so it has at least two dimensions and "
                       "neither 'rows' nor 'transposed'; it is ")
           << type;
  if (getValues() && failed(verifyValues(*this, *getValues())))
    return failure();
  if (!getView())
    return success();
  // weight_family_c6
  if (getFirstRow() || getTransposed())
    return emitOpError("has a view, which says all that 'rows' and 'transposed' do");
  return verifyView(*this, type, *getView(), hasTensorPerExpert());
}

bool WeightFamilyOp::hasTensorPerExpert() {
  return getCheckpoint().value_or(getSource()).contains("{e}");
}

/// Row by row: the strides of a whole tensor.
static SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

SmallVector<int64_t> WeightFamilyOp::getStoredShape() {
  if (getView())
    return SmallVector<int64_t>(getView()->getStored());
  SmallVector<int64_t> shape(getType().getShape());
  if (hasTensorPerExpert())
    shape.erase(shape.begin());
  if (getStoredRows() && !shape.empty())
    shape[0] = int64_t(*getStoredRows());
  if (getTransposed())
    std::swap(shape[0], shape[1]);
  return shape;
}

ViewAttr WeightFamilyOp::getEffectiveView() {
  if (getView())
    return *getView();
  SmallVector<int64_t> stored = getStoredShape(), strides = stridesOf(stored);
  if (getTransposed())
    std::swap(strides[0], strides[1]);
  int64_t first = int64_t(getFirstRow().value_or(0)) * (strides.empty() ? 1 : strides[0]);
  return ViewAttr::get(getContext(), stored, first, strides);
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
