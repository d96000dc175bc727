//===- LLMStructureOps.cpp - layers, fusion, observation ------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/IR/LayerLimit.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace llmc::llm;

//===----------------------------------------------------------------------===//
// repeat
//===----------------------------------------------------------------------===//

// repeat_c2
LogicalResult RepeatOp::verify() {
  if (getCallees().empty())
    return emitOpError() << "needs at least one callee";
  int64_t from = getFrom(), count = getCount();
  if (count <= 0)
    return emitOpError() << "count must be positive but is " << count;
  if (from < 0)
    return emitOpError() << "from must not be negative but is " << from;
  if (from > maxLayers || count > (maxLayers - from) / int64_t(getCallees().size()))
    return emitOpError() << "runs more than " << maxLayers << " layers";
  return success();
}

// repeat_c1
LogicalResult RepeatOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<Type> arguments{IndexType::get(getContext())};
  llvm::append_range(arguments, getCarried().getTypes());
  llvm::append_range(arguments, getInvariants().getTypes());
  SmallVector<Type> results(getCarried().getTypes());
  for (Attribute entry : getCallees()) {
    auto name = cast<FlatSymbolRefAttr>(entry);
    auto callee = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, name);
    if (!callee)
      return emitOpError() << "callee " << name << " must be a function";
    if (callee.getArgumentTypes() == ArrayRef<Type>(arguments) &&
        callee.getResultTypes() == ArrayRef<Type>(results))
      continue;
    return emitOpError() << "callee " << name << " must have type "
                         << FunctionType::get(getContext(), arguments, results)
                         << " (layer index, carried and invariant values to carried values) but "
                         << "has type " << callee.getFunctionType();
  }
  if (getResults().getTypes() != getCarried().getTypes())
    return emitOpError() << "results must have the types of the carried values";
  return success();
}

//===----------------------------------------------------------------------===//
// fusion
//===----------------------------------------------------------------------===//

static LogicalResult verifyTypesAgree(Operation *op, StringRef what, TypeRange types,
                                      StringRef expectedWhat, TypeRange expected) {
  if (types.size() != expected.size())
    return op->emitOpError() << "number of " << what << "s (" << types.size()
                             << ") must equal the number of " << expectedWhat << "s ("
                             << expected.size() << ")";
  for (auto [i, type, want] : llvm::enumerate(types, expected))
    if (type != want)
      return op->emitOpError() << what << " " << i << " has type " << type << " but "
                               << expectedWhat << " " << i << " has type " << want;
  return success();
}

LogicalResult FusionOp::verifyRegions() {
  Block &body = getBody().front();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return emitOpError() << "body must end with llm.yield";
  // fusion_c1
  if (failed(verifyTypesAgree(*this, "block argument", body.getArgumentTypes(), "input",
                              getInputs().getTypes())))
    return failure();
  // fusion_c2
  return verifyTypesAgree(*this, "yielded value", yield.getValues().getTypes(), "result",
                          getResults().getTypes());
}

//===----------------------------------------------------------------------===//
// composite
//===----------------------------------------------------------------------===//

/// A composite that running `function` comes to and that leads back to it; null for none.
static CompositeOp findRecursion(FunctionOpInterface function, SymbolTableCollection &symbols) {
  llvm::SmallSetVector<Operation *, 8> reached;
  reached.insert(function);
  CompositeOp found;
  for (size_t next = 0; next < reached.size() && !found; ++next)
    reached[next]->walk([&](CompositeOp inner) {
      Operation *callee = symbols.lookupNearestSymbolFrom(inner, inner.getDecompositionAttr());
      if (callee == function)
        found = inner;
      else if (isa_and_nonnull<FunctionOpInterface>(callee))
        reached.insert(callee);
    });
  return found;
}

LogicalResult CompositeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto function =
      symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getDecompositionAttr());
  // composite_c1
  auto implements = function ? function->getAttrOfType<StringAttr>("llm.implements") : StringAttr();
  if (!implements || function.isExternal())
    return emitOpError() << "decomposition " << getDecompositionAttr()
                         << " must be a function with a body, marked llm.implements";
  if (implements != getNameAttr())
    return emitOpError() << "is '" << getName() << "' but " << getDecompositionAttr()
                         << " implements " << implements;
  // composite_c2
  auto type = FunctionType::get(getContext(), getInputs().getTypes(), getResults().getTypes());
  if (function.getFunctionType() != type)
    return emitOpError() << "has type " << type << " but " << getDecompositionAttr()
                         << " has type " << function.getFunctionType();
  // composite_c3
  if (CompositeOp inner = findRecursion(function, symbols)) {
    auto diagnostic = emitOpError()
                      << "decomposition " << getDecompositionAttr() << " leads to itself";
    diagnostic.attachNote(inner.getLoc()) << "by this composite";
    return diagnostic;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// observe
//===----------------------------------------------------------------------===//

// observe_c1
LogicalResult ObserveOp::verify() {
  bool layered = getName().contains("{i");
  if (layered == static_cast<bool>(getLayer()))
    return success();
  if (layered)
    return emitOpError() << "name '" << getName() << "' holds {i but no layer is given";
  return emitOpError() << "name '" << getName() << "' holds no {i but a layer is given";
}

void ObserveOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), ObservationResource::get());
}
