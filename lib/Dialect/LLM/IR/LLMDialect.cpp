//===- LLMDialect.cpp - registration, aliases, discardable attributes -----===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace llmc::llm;

#include "llmc/Dialect/LLM/IR/LLMDialect.cpp.inc"
#include "llmc/Dialect/LLM/IR/LLMEnums.cpp.inc"

namespace {
/// Names for the attributes that would otherwise hide the line they stand on.
/// An alias may not end in a digit, hence `#q4_1_blocks`.
struct LLMOpAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (auto blocks = dyn_cast<BlocksAttr>(attr)) {
      os << blocks.getName() << "_blocks";
      return AliasResult::FinalAlias;
    }
    if (isa<RopeAttr>(attr)) {
      os << "rope";
      return AliasResult::FinalAlias;
    }
    return AliasResult::NoAlias;
  }
};
} // namespace

void LLMDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "llmc/Dialect/LLM/IR/LLMOps.cpp.inc"
      >();
  addInterfaces<LLMOpAsmInterface>();
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// Model facts are plain data: strings, numbers, flags and lists of these.
static bool isPlainFact(Attribute value) {
  if (auto list = dyn_cast<ArrayAttr>(value))
    return llvm::all_of(list, isPlainFact);
  return isa<StringAttr, IntegerAttr, FloatAttr, DenseI64ArrayAttr, DenseI32ArrayAttr>(value);
}

/// Name and hash of a file that the program came from: [["dyt.mlir", "64 digits"], ...].
static bool isFileList(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, [](Attribute entry) {
    auto file = dyn_cast<ArrayAttr>(entry);
    if (!file || file.size() != 2 || !llvm::all_of(file, llvm::IsaPred<StringAttr>))
      return false;
    StringRef name = cast<StringAttr>(file[0]).getValue();
    StringRef digest = cast<StringAttr>(file[1]).getValue();
    return !name.empty() && digest.size() == 64 &&
           digest.find_first_not_of("0123456789abcdef") == StringRef::npos;
  });
}

static LogicalResult verifyModelFacts(Operation *op, Attribute value) {
  auto facts = dyn_cast<DictionaryAttr>(value);
  if (!facts)
    return op->emitOpError() << "'llm.model' must be a dictionary but is " << value;
  for (NamedAttribute fact : facts) {
    StringRef key = fact.getName();
    if (key == "name" || key == "architecture") {
      if (!isa<StringAttr>(fact.getValue()))
        return op->emitOpError() << "'llm.model' key '" << key << "' must be a string but is "
                                 << fact.getValue();
      continue;
    }
    if (key == "vocab_size" || key == "hidden_size" || key == "layers" || key == "context_length") {
      auto number = dyn_cast<IntegerAttr>(fact.getValue());
      if (!number || number.getValue().isNegative() || number.getValue().isZero())
        return op->emitOpError() << "'llm.model' key '" << key
                                 << "' must be a positive integer but is " << fact.getValue();
      continue;
    }
    if (key == "op_libraries" && !isFileList(fact.getValue()))
      return op->emitOpError() << "'llm.model' key '" << key
                               << "' must be a list of [file name, 64 lower-case hexadecimal "
                                  "digits of its sha256] but is "
                               << fact.getValue();
    if (!isPlainFact(fact.getValue()))
      return op->emitOpError() << "'llm.model' key '" << key
                               << "' must be a string, number, flag or list but is "
                               << fact.getValue();
  }
  return success();
}

/// Settings of a function that implements an operation: numbers.
static LogicalResult verifySettings(Operation *op, Attribute value) {
  auto settings = dyn_cast<DictionaryAttr>(value);
  if (!isa<FunctionOpInterface>(op) || !op->hasAttr("llm.implements") || !settings)
    return op->emitOpError() << "'llm.settings' must be a dictionary on a function marked "
                                "llm.implements but is "
                             << value;
  for (NamedAttribute setting : settings) {
    auto number = dyn_cast<FloatAttr>(setting.getValue());
    bool isWhole = isa<IntegerAttr>(setting.getValue()) && !isa<BoolAttr>(setting.getValue());
    if (!isWhole && (!number || !number.getValue().isFinite()))
      return op->emitOpError() << "'llm.settings' key '" << setting.getName().getValue()
                               << "' must be a finite number but is " << setting.getValue();
  }
  return success();
}

/// Attributes of an op that settings of the function around it replace.
static LogicalResult verifyBindings(Operation *op, Attribute value) {
  auto bindings = dyn_cast<DictionaryAttr>(value);
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto settings =
      function ? function->getAttrOfType<DictionaryAttr>("llm.settings") : DictionaryAttr();
  if (!bindings || !settings)
    return op->emitOpError() << "'llm.bind' must be a dictionary, in a function with llm.settings, "
                                "but is "
                             << value;
  for (NamedAttribute binding : bindings) {
    auto setting = dyn_cast<StringAttr>(binding.getValue());
    if (!setting || !settings.contains(setting.getValue()))
      return op->emitOpError() << "'llm.bind' key '" << binding.getName().getValue()
                               << "' must name one of the function's llm.settings but is "
                               << binding.getValue();
    if (!isa_and_nonnull<FloatAttr, IntegerAttr>(op->getAttr(binding.getName())))
      return op->emitOpError() << "'llm.bind' key '" << binding.getName().getValue()
                               << "' must be an attribute of the op that is a number";
  }
  return success();
}

LogicalResult LLMDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == "llm.entry") {
    if (!isa<FunctionOpInterface>(op))
      return op->emitOpError() << "'llm.entry' belongs on a function";
    if (!isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError() << "'llm.entry' must be a unit attribute but is "
                               << attribute.getValue();
    return success();
  }
  if (name == "llm.model") {
    if (!isa<ModuleOp>(op))
      return op->emitOpError() << "'llm.model' belongs on a module";
    return verifyModelFacts(op, attribute.getValue());
  }
  if (name == "llm.implements") {
    auto implemented = dyn_cast<StringAttr>(attribute.getValue());
    if (!isa<FunctionOpInterface>(op) || !implemented || implemented.empty())
      return op->emitOpError() << "'llm.implements' must be the name of an operation, on a "
                                  "function, but is "
                               << attribute.getValue();
    return success();
  }
  if (name == "llm.settings")
    return verifySettings(op, attribute.getValue());
  if (name == "llm.bind")
    return verifyBindings(op, attribute.getValue());
  return op->emitOpError() << "'" << name << "' is not an attribute of the llm dialect: expected "
                           << "llm.entry, llm.model, llm.implements, llm.settings or llm.bind";
}
