//===- CompositeRules.cpp - operations of op libraries --------------------===//
#include "ImporterRules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

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

/// As facts of the model, which outlive the composites.
void Importer::recordLibraries() {
  std::set<std::pair<std::string, std::string>> called;
  for (const Composite &composite : composites) {
    auto op = composite.definition->getAttrOfType<StringAttr>("llm.implements");
    const OpLibraryFile &file = library->fileOf(op.getValue());
    called.emplace(file.name, file.sha256);
  }
  if (called.empty())
    return;
  SmallVector<Attribute> list;
  for (const auto &[name, sha256] : called)
    list.push_back(b.getStrArrayAttr({name, sha256}));
  NamedAttrList facts((*module)->getAttrOfType<DictionaryAttr>("llm.model"));
  facts.set("op_libraries", b.getArrayAttr(list));
  (*module)->setAttr("llm.model", facts.getDictionary(&context));
}

} // namespace llmc::frontend
