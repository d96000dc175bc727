//===- OperatorProgram.cpp - a program of one operation -------------------===//
#include "OperatorProgram.h"

#include "llmc/Dialect/LLM/Analysis/OperatorWork.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace llmc {

using namespace llm;

namespace {

/// What a step can be given from outside.
bool isStepValue(Type type) {
  if (isa<BatchType>(type) || type.isIndex())
    return true;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.isDynamicDim(0))
    return false;
  bool isTokens = tensor.getRank() == 1 && tensor.getElementType().isInteger(32);
  return isTokens || (tensor.getRank() >= 2 && isa<FloatType>(tensor.getElementType()));
}

bool isRows(Type type) { return isStepValue(type) && isa<RankedTensorType>(type) &&
                                cast<RankedTensorType>(type).getRank() >= 2; }

/// The operation that a state is read from, whatever was appended to it since.
Value originOfState(Value value) {
  while (isa<CacheType>(value.getType())) {
    Operation *producer = value.getDefiningOp();
    if (!producer || isa<StateOp>(producer))
      break;
    auto state = llvm::find_if(producer->getOperands(), [](Value operand) {
      return isa<CacheType>(operand.getType());
    });
    if (state == producer->operand_end())
      break;
    value = *state;
  }
  return value;
}

class Builder {
public:
  explicit Builder(Operation *op) : source(op->getParentOfType<ModuleOp>()) {}

  OwningOpRef<ModuleOp> build(Operation *op) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
    copyFacts(*module);
    // Such an operation is seen by what reads it.
    Operation *root = op;
    if (op->getNumResults() && llvm::none_of(op->getResultTypes(), isRows) &&
        !isa<CacheType>(op->getResult(0).getType()))
      for (Operation *user : op->getResult(0).getUsers())
        if (isOperator(user))
          root = user;
    collect(root);

    OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
    for (StringAttr name : symbols) {
      Operation *family = b.clone(*SymbolTable::lookupSymbolIn(source, name));
      if (family->hasAttr("layers"))
        family->setAttr("layers", LayersAttr::get(module->getContext(), {0, 1}));
    }

    // Arguments: the results, as what the layer replaces, then what it reads.
    SmallVector<Type> carried, read;
    for (Value result : root->getResults())
      if (isRows(result.getType()))
        carried.push_back(result.getType());
    Type plainRows = RankedTensorType::get({ShapedType::kDynamic, 32}, b.getF32Type());
    bool isDummy = carried.empty();
    if (isDummy)
      carried.push_back(plainRows);
    Value batch;
    SmallVector<Value> layerNumbers;
    for (Value value : inputs) {
      if (value.getType().isIndex())
        layerNumbers.push_back(value);
      else if (isa<BatchType>(value.getType()))
        batch = value;
      else
        read.push_back(value.getType());
    }
    SmallVector<Type> invariants = read;
    invariants.push_back(BatchType::get(module->getContext()));

    // One layer, since weights and state may be those of layers.
    SmallVector<Type> layerTypes{b.getIndexType()};
    llvm::append_range(layerTypes, carried);
    llvm::append_range(layerTypes, invariants);
    auto layer = func::FuncOp::create(b, root->getLoc(), "operator",
                                      b.getFunctionType(layerTypes, carried));
    layer.setPrivate();
    Block *body = layer.addEntryBlock();
    OpBuilder inside = OpBuilder::atBlockEnd(body);
    IRMapping map;
    for (Value number : layerNumbers)
      map.map(number, body->getArgument(0));
    size_t next = 1 + carried.size();
    for (Value value : inputs)
      if (!value.getType().isIndex() && !isa<BatchType>(value.getType()))
        map.map(value, body->getArgument(next++));
    if (batch)
      map.map(batch, body->getArgument(next));
    for (Operation *inner : ops) {
      for (Value operand : inner->getOperands())
        if (!map.contains(operand))
          map.map(operand, map.lookup(originOfState(operand)));
      inside.clone(*inner, map);
    }
    SmallVector<Value> results;
    for (Value result : root->getResults())
      if (isRows(result.getType()))
        results.push_back(map.lookup(result));
    if (isDummy)
      results.push_back(ScaleOp::create(inside, placeholderLocation(module->getContext()),
                                        body->getArgument(1), 2.0));
    func::ReturnOp::create(inside, root->getLoc(), results);

    auto entry = func::FuncOp::create(
        b, root->getLoc(), "forward",
        b.getFunctionType(SmallVector<Type>(llvm::drop_begin(layerTypes)), carried));
    entry->setAttr("llm.entry", b.getUnitAttr());
    Block *step = entry.addEntryBlock();
    OpBuilder main = OpBuilder::atBlockEnd(step);
    auto repeat = RepeatOp::create(
        main, root->getLoc(), carried, b.getArrayAttr({FlatSymbolRefAttr::get(layer)}),
        main.getI64IntegerAttr(0), main.getI64IntegerAttr(1),
        step->getArguments().take_front(carried.size()),
        step->getArguments().drop_front(carried.size()));
    func::ReturnOp::create(main, root->getLoc(), repeat.getResults());
    return module;
  }

private:
  void copyFacts(ModuleOp module) {
    auto facts = source->getAttrOfType<DictionaryAttr>("llm.model");
    if (!facts)
      return;
    // Others speak of all layers and of logits, which the program does not have.
    SmallVector<NamedAttribute> kept;
    for (StringRef name : {"architecture", "context_length", "description"})
      if (Attribute fact = facts.get(name))
        kept.emplace_back(StringAttr::get(source.getContext(), name), fact);
    kept.emplace_back(StringAttr::get(source.getContext(), "layers"),
                      IntegerAttr::get(IntegerType::get(source.getContext(), 64), 1));
    module->setAttr("llm.model", DictionaryAttr::get(source.getContext(), kept));
  }

  /// `op` and what has to be computed for it, in order.
  void collect(Operation *op) {
    if (llvm::is_contained(ops, op))
      return;
    for (Value operand : op->getOperands()) {
      Value value = originOfState(operand);
      Operation *producer = value.getDefiningOp();
      if (isStepValue(value.getType()) || !producer) {
        inputs.insert(value);
        continue;
      }
      collect(producer);
    }
    for (NamedAttribute attribute : op->getAttrs())
      if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue()))
        if (SymbolTable::lookupSymbolIn(source, symbol.getAttr()))
          symbols.insert(symbol.getAttr());
    ops.push_back(op);
  }

  ModuleOp source;
  SmallVector<Operation *> ops;
  llvm::SetVector<Value> inputs;
  llvm::SetVector<StringAttr> symbols;
};

} // namespace

Location placeholderLocation(MLIRContext *context) {
  return NameLoc::get(StringAttr::get(context, "llmc.placeholder"));
}

OwningOpRef<ModuleOp> programOf(Operation *op) { return Builder(op).build(op); }

} // namespace llmc
