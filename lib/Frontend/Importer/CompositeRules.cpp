//===- CompositeRules.cpp - operations of op libraries --------------------===//
#include "ImporterRules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmc::frontend {

Importer::Results Importer::composite(const OpCall &call, func::FuncOp definition) {
  const OpSignature &signature = *library->signatures().find(call.name);
  SmallVector<mlir::Value> inputs;
  size_t next = 0;
  for (Type type : definition.getArgumentTypes()) {
    if (isa<BatchType>(type)) {
      inputs.push_back(batch);
      continue;
    }
    bool isWeight = isa<WeightType>(type);
    inputs.push_back(isWeight ? paramOf(call, weightArg(call, next)) : tensor(call, next));
    ++next;
  }
  SmallVector<NamedAttribute> given;
  for (auto [setting, value] : llvm::zip_equal(signature.settings, signature.settingsOf(call)))
    given.push_back(b.getNamedAttr(setting.name,
                                   setting.isWhole ? Attribute(b.getI64IntegerAttr(int64_t(value)))
                                                   : Attribute(b.getF64FloatAttr(value))));
  DictionaryAttr settings = b.getDictionaryAttr(given);
  SmallVector<Type> types(ValueRange(inputs).getTypes());
  auto known = llvm::find_if(composites, [&](const Composite &one) {
    return one.definition == definition && one.types == types && one.settings == settings;
  });
  if (known == composites.end()) {
    // No role, state or kind of layer has a dot in its symbol.
    std::string symbol = "op." + call.name;
    for (size_t n = 1; module->lookupSymbol(symbol); ++n)
      symbol = "op." + call.name + "_" + std::to_string(n);
    try {
      func::FuncOp made = instantiate(definition, types, settings, symbol, *module);
      known = composites.insert(composites.end(), {definition, types, settings, made});
    } catch (const InputError &error) {
      opError(call, error.what());
    }
  }
  return handle(CompositeOp::create(b, at(call), known->made.getResultTypes(),
                                    b.getStringAttr(call.name),
                                    FlatSymbolRefAttr::get(known->made), inputs, settings)
                    .getResult(0));
}

} // namespace llmc::frontend
