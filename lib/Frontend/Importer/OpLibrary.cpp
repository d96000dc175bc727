//===- OpLibrary.cpp - operations defined by functions --------------------===//
#include "llmc/Frontend/OpLibrary.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

#include <set>

using namespace mlir;
using namespace llmc::llm;

namespace llmc::frontend {

std::string whyNotParsed(const std::string &path) {
  constexpr int64_t deepest = 512;
  constexpr uint64_t largest = uint64_t(1) << 30;
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    return "no such file";
  if (!llvm::sys::fs::is_regular_file(status))
    return "is no regular file";
  if (status.getSize() > largest)
    return "has " + std::to_string(status.getSize()) + " bytes; programs have at most " +
           std::to_string(largest);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return "cannot be read: " + buffer.getError().message();
  // Bytecode is for files that one's own programs wrote: its reader trusts what it reads.
  if ((*buffer)->getBuffer().starts_with("ML\xefR"))
    return "is MLIR bytecode; text is expected, which llmc-opt prints";
  if (size_t nul = (*buffer)->getBuffer().find('\0'); nul != StringRef::npos)
    return "is no text: byte " + std::to_string(nul) + " is 0";
  int64_t depth = 0;
  for (char c : (*buffer)->getBuffer()) {
    depth += c == '{' || c == '[' || c == '(' || c == '<';
    depth -= (c == '}' || c == ']' || c == ')' || c == '>') && depth > 0;
    if (depth > deepest)
      return "is nested more than " + std::to_string(deepest) + " deep, which no program is";
  }
  return "";
}

/// FILE:LINE of a location in a file, or the file alone.
static std::string positionOf(Location location, const std::string &file) {
  auto place = location->findInstanceOf<FileLineColRange>();
  return place ? place.getFilename().str() + ":" + std::to_string(place.getStartLine()) : file;
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Dimensions behind the tokens of a value of rows; false for another type.
static bool rowShape(Type type, std::vector<int64_t> &shape) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()) || tensor.getRank() < 2 ||
      tensor.getRank() > 3 || !tensor.isDynamicDim(0) || tensor.getNumDynamicDims() != 1)
    return false;
  shape.assign(tensor.getShape().begin() + 1, tensor.getShape().end());
  return true;
}

/// Why an operation cannot stand in a definition; empty where it can.
static StringRef whyNotInDefinition(Operation *op) {
  if (!op->isRegistered())
    return "is no operation of a dialect that is loaded; --load-dialect-plugin brings one";
  if (isa<CompositeOp, func::CallOp>(op))
    return "calls another function; write its operations here";
  if (isa<ParamOp, StateOp, RepeatOp, ObserveOp>(op))
    return "belongs to a model; weights are arguments, and a definition keeps no state";
  if (op->getNumRegions())
    return "has a region";
  for (Type type : op->getOperandTypes())
    if (isa<CacheType>(type))
      return "has a state, which a definition cannot keep";
  return "";
}

/// What a call can give and nothing reads: a setting that no operation binds, an argument without
/// uses. Only the batch may idle: calls leave it out. Empty where all is read.
static std::string unreadOf(func::FuncOp function, ArrayRef<OpSignature::Setting> settings) {
  Block &body = function.getBody().front();
  std::set<StringRef> bound;
  for (Operation &op : body)
    if (auto bindings = op.getAttrOfType<DictionaryAttr>("llm.bind"))
      for (NamedAttribute binding : bindings)
        bound.insert(cast<StringAttr>(binding.getValue()).getValue());
  for (const OpSignature::Setting &setting : settings)
    if (!bound.count(setting.name))
      return "has setting '" + setting.name +
             "', which no operation takes: bind it, {llm.bind = {ATTRIBUTE = \"" + setting.name +
             "\"}} behind an operation, or remove it from llm.settings";
  for (BlockArgument argument : body.getArguments())
    if (argument.use_empty() && !isa<BatchType>(argument.getType()))
      return "has argument " + std::to_string(argument.getArgNumber() + 1) +
             ", which no operation reads: use it or remove it";
  return "";
}

static OpSignature signatureOf(func::FuncOp function, const std::string &file) {
  OpSignature signature;
  signature.name = function->getAttrOfType<StringAttr>("llm.implements").str();
  signature.position = positionOf(function.getLoc(), file);
  auto refuse = [&](const Twine &what) {
    throw InputError(signature.position + ": '" + signature.name + "' " + what.str());
  };
  if (function.isExternal() || !function.getBody().hasOneBlock())
    refuse("needs a body of one block");
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    OpSignature::Argument argument;
    if (isa<BatchType>(type))
      continue;
    auto weight = dyn_cast<WeightType>(type);
    argument.isWeight = bool(weight);
    if (weight)
      argument.shape.assign(weight.getShape().begin(), weight.getShape().end());
    else if (!rowShape(type, argument.shape))
      refuse("has argument " + Twine(i + 1) + " of type " + textOf(type) +
             "; there are rows (tensor<?x96xf32>, tensor<?x4x24xf32>), weights "
             "(!llm.weight<[96], #llm.dense<f32>>) and !llm.batch");
    signature.arguments.push_back(std::move(argument));
  }
  if (function.getNumResults() != 1 ||
      !rowShape(function.getResultTypes().front(), signature.result))
    refuse("must return one value of rows, such as tensor<?x96xf32>");
  if (auto settings = function->getAttrOfType<DictionaryAttr>("llm.settings"))
    for (NamedAttribute setting : settings) {
      auto whole = dyn_cast<IntegerAttr>(setting.getValue());
      double value = whole ? double(whole.getInt())
                           : cast<FloatAttr>(setting.getValue()).getValueAsDouble();
      signature.settings.push_back({setting.getName().str(), value, bool(whole)});
    }
  for (Operation &op : function.getBody().front())
    if (StringRef why = whyNotInDefinition(&op); !why.empty())
      throw InputError(positionOf(op.getLoc(), file) + ": in '" + signature.name + "', " +
                       op.getName().getStringRef().str() + " " + why.str());
  if (std::string unread = unreadOf(function, signature.settings); !unread.empty())
    refuse(unread);
  return signature;
}

void OpLibrary::addFile(const std::string &file, MLIRContext &context) {
  if (std::string problem = whyNotParsed(file); !problem.empty())
    throw InputError(file + ": " + problem);
  // What is recorded is what is parsed.
  auto text = llvm::MemoryBuffer::getFile(file);
  if (!text)
    throw InputError(file + ": cannot be read: " + text.getError().message());
  StringRef content = (*text)->getBuffer();
  std::string message;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty())
        message = positionOf(diagnostic.getLocation(), file) + ": " + diagnostic.str();
      return success();
    });
    // What no dialect has is named by signatureOf.
    bool allowed = context.allowsUnregisteredDialects();
    context.allowUnregisteredDialects(true);
    module = parseSourceString<ModuleOp>(content, &context, file);
    context.allowUnregisteredDialects(allowed);
  }
  if (!module)
    throw InputError((message.empty() ? file + ": is no MLIR" : message) +
                     ". An op library is a module of functions (docs/Extending.md)");
  bool any = false;
  for (auto function : module->getOps<func::FuncOp>()) {
    if (!function->hasAttr("llm.implements"))
      continue;
    any = true;
    OpSignature signature = signatureOf(function, file);
    std::string name = signature.name;
    ops->add(std::move(signature));
    functions[name] = function;
    fileNumbers[name] = files.size();
  }
  if (!any)
    throw InputError(file + ": no function is marked llm.implements, so it defines no operation");
  modules.push_back(std::move(module));
  files.push_back({llvm::sys::path::filename(file).str(),
                   llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(content)),
                               /*LowerCase=*/true)});
}

std::shared_ptr<const OpLibrary> OpLibrary::read(const std::vector<std::string> &files,
                                                 MLIRContext &context) {
  context.loadDialect<LLMDialect, func::FuncDialect>();
  auto library = std::make_shared<OpLibrary>();
  for (const std::string &file : files)
    library->addFile(file, context);
  return library;
}

//===----------------------------------------------------------------------===//
// A definition for the sizes of a call
//===----------------------------------------------------------------------===//

namespace {

class Instance {
public:
  Instance(func::FuncOp function, DictionaryAttr settings)
      : function(function), settings(settings) {}

  void fit(ArrayRef<Type> types) {
    Block &body = function.getBody().front();
    for (auto [argument, type] : llvm::zip_equal(body.getArguments(), types)) {
      learn(argument.getType(), type);
      argument.setType(type);
    }
    for (Operation &op : body.without_terminator()) {
      bind(&op);
      setResultTypes(&op);
    }
    function->removeAttr("llm.settings");
    function.setType(FunctionType::get(function.getContext(), types,
                                       body.getTerminator()->getOperandTypes()));
  }

private:
  static ArrayRef<int64_t> shapeOf(Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      return tensor.getShape().drop_front();
    if (auto weight = dyn_cast<WeightType>(type))
      return weight.getShape();
    return {};
  }

  void learn(Type example, Type actual) {
    for (auto [from, to] : llvm::zip_equal(shapeOf(example), shapeOf(actual)))
      sizes.emplace(from, to);
  }

  /// Attributes of the op that settings give.
  void bind(Operation *op) {
    auto bindings = op->getAttrOfType<DictionaryAttr>("llm.bind");
    op->removeAttr("llm.bind");
    if (!bindings)
      return;
    for (NamedAttribute binding : bindings) {
      Attribute given = settings.get(cast<StringAttr>(binding.getValue()).getValue());
      auto whole = dyn_cast<IntegerAttr>(given);
      if (auto old = dyn_cast<FloatAttr>(op->getAttr(binding.getName()))) {
        double value = whole ? double(whole.getInt()) : cast<FloatAttr>(given).getValueAsDouble();
        op->setAttr(binding.getName(), FloatAttr::get(old.getType(), value));
        continue;
      }
      if (!whole)
        throw InputError(positionOf(op->getLoc(), "") + ": '" + binding.getName().str() +
                         "' is an integer, and the setting that is bound to it is none");
      Type type = cast<IntegerAttr>(op->getAttr(binding.getName())).getType();
      op->setAttr(binding.getName(), IntegerAttr::get(type, whole.getInt()));
    }
  }

  /// What the operands' types decide where that is known; else the example's, with the sizes of
  /// this call.
  void setResultTypes(Operation *op) {
    SmallVector<Type> inferred;
    if (auto inference = dyn_cast<InferTypeOpInterface>(op)) {
      if (failed(inference.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                            op->getAttrDictionary(), op->getPropertiesStorage(),
                                            op->getRegions(), inferred)))
        throw InputError(positionOf(op->getLoc(), "") + ": " + op->getName().getStringRef().str() +
                         " does not fit its operands");
      for (auto [result, type] : llvm::zip_equal(op->getResults(), inferred))
        result.setType(type);
      return;
    }
    for (OpResult result : op->getResults())
      if (auto tensor = dyn_cast<RankedTensorType>(result.getType()))
        result.setType(tensor.clone(shapeOfResult(op, tensor)));
  }

  SmallVector<int64_t> shapeOfResult(Operation *op, RankedTensorType example) {
    auto input = [&](unsigned i) {
      return llvm::to_vector(cast<RankedTensorType>(op->getOperand(i).getType()).getShape());
    };
    constexpr int64_t rows = ShapedType::kDynamic;
    if (auto slice = dyn_cast<SliceOp>(op)) {
      SmallVector<int64_t> shape = input(0);
      shape.back() = int64_t(slice.getSize());
      return shape;
    }
    if (isa<ConcatOp>(op) && op->getNumOperands()) {
      SmallVector<int64_t> shape = input(0);
      for (unsigned i = 1; i < op->getNumOperands(); ++i)
        shape.back() += input(i).back();
      return shape;
    }
    if (isa<BinaryOp>(op))
      if (SmallVector<int64_t> shape = BinaryOp::broadcast(input(0), input(1)); !shape.empty())
        return shape;
    if (isa<MergeHeadsOp>(op) && input(0).size() == 3)
      return {rows, input(0)[1] * input(0)[2]};
    if (isa<TransposeOp>(op) && input(0).size() == 3)
      return {rows, input(0)[2], input(0)[1]};
    if (auto linear = dyn_cast<LinearOp>(op))
      return {rows, linear.getWeight().getType().getShape().front()};
    SmallVector<int64_t> shape;
    for (int64_t size : example.getShape())
      shape.push_back(ShapedType::isDynamic(size) ? size : actualSize(sizes, size));
    return shape;
  }

  func::FuncOp function;
  DictionaryAttr settings;
  std::map<int64_t, int64_t> sizes;
};

} // namespace

func::FuncOp instantiate(func::FuncOp definition, ArrayRef<Type> types, DictionaryAttr settings,
                         StringRef symbol, ModuleOp module) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto function = cast<func::FuncOp>(b.clone(*definition));
  function.setSymName(symbol);
  function.setPrivate();
  std::string message;
  ScopedDiagnosticHandler handler(function.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty())
      message = positionOf(diagnostic.getLocation(), "") + ": " + diagnostic.str();
    return success();
  });
  Instance(function, settings).fit(types);
  if (failed(verify(function)))
    throw InputError(message + "; the definition does not hold for these sizes");
  return function;
}

} // namespace llmc::frontend
