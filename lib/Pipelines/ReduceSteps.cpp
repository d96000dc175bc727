//===- ReduceSteps.cpp - ways to make a program smaller -------------------===//
#include "ReduceSteps.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <set>

using namespace mlir;

namespace llmc {

using namespace llm;

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

template <typename Op> static SmallVector<Op> all(ModuleOp module) {
  SmallVector<Op> ops;
  module.walk([&](Op op) { ops.push_back(op); });
  return ops;
}

template <typename Op> static int64_t countOf(ModuleOp module) {
  return int64_t(all<Op>(module).size());
}

static func::FuncOp entryOf(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("llm.entry"))
      return function;
  return nullptr;
}

/// Of tokens, whose rows an embedding could give.
static bool isRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && (tensor.getRank() == 2 || tensor.getRank() == 3) && tensor.isDynamicDim(0) &&
         !tensor.isDynamicDim(1) && tensor.getElementType().isF32();
}

/// Operations that compute rows, state or a choice.
static SmallVector<Operation *> computations(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (op->getNumResults() && !isa<ParamOp, StateOp, RepeatOp, arith::ConstantOp>(op))
      ops.push_back(op);
  });
  return ops;
}

int64_t countOps(ModuleOp module) { return int64_t(computations(module).size()); }

//===----------------------------------------------------------------------===//
// Tidying
//===----------------------------------------------------------------------===//

static bool eraseDeadOps(ModuleOp module) {
  SmallVector<Operation *> dead;
  module.walk([&](Operation *op) {
    if (op->getNumResults() && op->use_empty() &&
        (isOpTriviallyDead(op) || isa<FusionOp, RepeatOp, ParamOp, StateOp>(op)))
      dead.push_back(op);
  });
  for (Operation *op : llvm::reverse(dead))
    if (op->use_empty())
      op->erase();
  return !dead.empty();
}

/// The layers that each function runs for.
using LayerTable = llvm::MapVector<StringRef, std::set<int64_t>>;

static LayerTable numberLayers(ModuleOp module) {
  LayerTable table;
  int64_t next = 0;
  for (RepeatOp repeat : all<RepeatOp>(module)) {
    repeat.setFrom(uint64_t(next));
    auto callees = repeat.getCallees().getAsRange<FlatSymbolRefAttr>();
    for (uint64_t i = 0; i < repeat.getCount(); ++i)
      for (FlatSymbolRefAttr callee : callees)
        table[callee.getValue()].insert(next++);
  }
  auto facts = module->getAttrOfType<DictionaryAttr>("llm.model");
  if (facts && facts.get("layers")) {
    NamedAttrList list(facts);
    // A program without layers does not say that it has none.
    if (next)
      list.set("layers", Builder(module.getContext()).getI64IntegerAttr(next));
    else
      list.erase("layers");
    module->setAttr("llm.model", list.getDictionary(module.getContext()));
  }
  return table;
}

static LayersAttr layersAttr(MLIRContext *context, const std::set<int64_t> &layers) {
  SmallVector<int64_t> bounds;
  for (int64_t layer : layers) {
    if (bounds.empty() || bounds.back() != layer) {
      bounds.push_back(layer);
      bounds.push_back(layer);
    }
    bounds.back() = layer + 1;
  }
  return LayersAttr::get(context, bounds);
}

/// A family has the members that its functions ask for; one that nobody asks goes.
static void tidyFamilies(ModuleOp module, LayerTable &table) {
  llvm::StringMap<std::set<int64_t>> layers;
  std::set<std::string> used, fixed;
  auto ask = [&](Operation *op, StringRef family, Value layer) {
    used.insert(family.str());
    auto argument = dyn_cast_or_null<BlockArgument>(layer);
    if (IntegerAttr number; layer && matchPattern(layer, m_Constant(&number)))
      layers[family].insert(number.getInt());
    else if (layer && !argument)
      fixed.insert(family.str());
    if (argument)
      for (int64_t number : table[op->getParentOfType<func::FuncOp>().getSymName()])
        layers[family].insert(number);
  };
  module.walk([&](ParamOp param) { ask(param, param.getFamily(), param.getLayer()); });
  module.walk([&](StateOp state) { ask(state, state.getFamily(), state.getLayer()); });
  for (auto family : llvm::make_early_inc_range(module.getOps<WeightFamilyOp>())) {
    std::string name = family.getSymName().str();
    if (!used.count(name))
      family.erase();
    else if (family.getLayersAttr() && !fixed.count(name) && !family.getValues())
      family.setLayersAttr(layersAttr(module.getContext(), layers[name]));
  }
  for (auto family : llvm::make_early_inc_range(module.getOps<StateFamilyOp>())) {
    std::string name = family.getSymName().str();
    if (!used.count(name))
      family.erase();
    else if (!fixed.count(name))
      family.setLayersAttr(layersAttr(module.getContext(), layers[name]));
  }
}

void tidyProgram(ModuleOp module) {
  while (eraseDeadOps(module)) {
  }
  LayerTable table = numberLayers(module);
  std::set<std::string> composites;
  module.walk([&](CompositeOp composite) { composites.insert(composite.getDecomposition().str()); });
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!function->hasAttr("llm.entry") && !table.count(function.getSymName()) &&
        !composites.count(function.getSymName().str()))
      function.erase();
  tidyFamilies(module, table);
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

static bool dropRepeat(ModuleOp module, int64_t number) {
  RepeatOp repeat = all<RepeatOp>(module)[size_t(number)];
  repeat.replaceAllUsesWith(repeat.getCarried());
  repeat.erase();
  return true;
}

static bool runOnce(ModuleOp module, int64_t number) {
  RepeatOp repeat = all<RepeatOp>(module)[size_t(number)];
  if (repeat.getCount() == 1)
    return false;
  repeat.setCount(1);
  return true;
}

static bool dropCallee(ModuleOp module, int64_t number) {
  for (RepeatOp repeat : all<RepeatOp>(module)) {
    SmallVector<Attribute> callees(repeat.getCallees().getValue());
    if (number >= int64_t(callees.size())) {
      number -= int64_t(callees.size());
      continue;
    }
    if (callees.size() == 1)
      return false;
    callees.erase(callees.begin() + number);
    repeat.setCalleesAttr(ArrayAttr::get(repeat.getContext(), callees));
    return true;
  }
  return false;
}

static int64_t countCallees(ModuleOp module) {
  int64_t count = 0;
  for (RepeatOp repeat : all<RepeatOp>(module))
    count += int64_t(repeat.getCallees().size());
  return count;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The entry returns what an op of it computes, and nothing behind that is left.
static bool returnEarly(ModuleOp module, int64_t number) {
  func::FuncOp entry = entryOf(module);
  Block &body = entry.getBody().front();
  auto op = std::next(body.begin(), number);
  if (op->hasTrait<OpTrait::IsTerminator>() || op->getNumResults() == 0 ||
      !isRows(op->getResult(0).getType()))
    return false;
  Operation *terminator = body.getTerminator();
  if (terminator->getNumOperands() == 1 && terminator->getOperand(0) == op->getResult(0))
    return false;
  while (&body.back() != &*op)
    body.back().erase();
  OpBuilder b = OpBuilder::atBlockEnd(&body);
  func::ReturnOp::create(b, entry.getLoc(), op->getResults().take_front());
  entry.setType(b.getFunctionType(entry.getArgumentTypes(), op->getResult(0).getType()));
  return true;
}

static int64_t countEntryOps(ModuleOp module) {
  func::FuncOp entry = entryOf(module);
  return entry ? int64_t(entry.getBody().front().getOperations().size()) : 0;
}

static bool dropObservation(ModuleOp module, int64_t number) {
  all<ObserveOp>(module)[size_t(number)].erase();
  return true;
}

/// A layer gives back what it was given.
static bool returnArgument(ModuleOp module, int64_t number) {
  func::ReturnOp terminator = all<func::ReturnOp>(module)[size_t(number)];
  auto function = terminator->getParentOfType<func::FuncOp>();
  if (function->hasAttr("llm.entry"))
    return false;
  bool changed = false;
  for (auto [i, operand] : llvm::enumerate(terminator->getOpOperands())) {
    BlockArgument argument = function.getArgument(unsigned(i) + 1);
    if (operand.get() == argument || operand.get().getType() != argument.getType())
      continue;
    operand.set(argument);
    changed = true;
  }
  return changed;
}

/// The value of an op is its first operand of the same type.
static bool bypass(ModuleOp module, int64_t number) {
  Operation *op = computations(module)[size_t(number)];
  for (Value result : op->getResults()) {
    Value by;
    for (Value operand : op->getOperands())
      if (!by && operand.getType() == result.getType())
        by = operand;
    if (!by)
      return false;
    result.replaceAllUsesWith(by);
  }
  op->erase();
  return true;
}

/// The same with the last operand: the other side of a sum or a gate.
static bool bypassLast(ModuleOp module, int64_t number) {
  Operation *op = computations(module)[size_t(number)];
  if (op->getNumResults() != 1)
    return false;
  Value first, last;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      first = first ? first : operand;
      last = operand;
    }
  if (!last || last == first)
    return false;
  op->getResult(0).replaceAllUsesWith(last);
  op->erase();
  return true;
}

/// Rows that the step brings along stand for what was computed: an embedding of few tokens, with
/// heads where there were some. For ops of the entry, where tokens are.
static bool replaceByRows(ModuleOp module, int64_t number) {
  Operation *op = computations(module)[size_t(number)];
  func::FuncOp entry = entryOf(module);
  if (!entry || op->getParentOp() != entry || op->getNumResults() != 1 ||
      !isRows(op->getResult(0).getType()) || isa<EmbeddingOp>(op))
    return false;
  Value tokens = entry.getArgument(0);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t width = 1;
  for (int64_t dim : type.getShape().drop_front())
    width *= dim;
  if (auto split = dyn_cast<SplitHeadsOp>(op); split && split.getInput().getDefiningOp<EmbeddingOp>())
    return false;
  auto table = WeightType::get(
      module.getContext(), {8, width},
      DenseAttr::get(module.getContext(), Float32Type::get(module.getContext())));
  std::string name = "rows_" + std::to_string(width);
  for (unsigned i = 1; SymbolTable::lookupSymbolIn(module, name); ++i)
    name = "rows_" + std::to_string(width) + "_" + std::to_string(i);
  OpBuilder b(entry);
  OperationState family(op->getLoc(), WeightFamilyOp::getOperationName());
  family.addAttribute("sym_name", b.getStringAttr(name));
  family.addAttribute("source", b.getStringAttr("reduced." + name));
  family.addAttribute("type", TypeAttr::get(table));
  b.create(family);
  b.setInsertionPoint(op);
  OperationState param(op->getLoc(), ParamOp::getOperationName(), {}, {table},
                       {b.getNamedAttr("family", FlatSymbolRefAttr::get(b.getContext(), name))});
  Value rows = EmbeddingOp::create(b, op->getLoc(), tokens, b.create(param)->getResult(0));
  if (type.getRank() == 3)
    rows = SplitHeadsOp::create(b, op->getLoc(), rows, type.getDimSize(1));
  op->getResult(0).replaceAllUsesWith(rows);
  op->erase();
  return true;
}

static bool inlineFusion(ModuleOp module, int64_t number) {
  FusionOp fusion = all<FusionOp>(module)[size_t(number)];
  Block &body = fusion.getBody().front();
  Operation *yield = body.getTerminator();
  for (auto [argument, input] : llvm::zip(body.getArguments(), fusion.getInputs()))
    argument.replaceAllUsesWith(input);
  SmallVector<Value> values(yield->getOperands());
  yield->erase();
  fusion->getBlock()->getOperations().splice(fusion->getIterator(), body.getOperations());
  fusion.replaceAllUsesWith(values);
  fusion.erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Layers of the entry
//===----------------------------------------------------------------------===//

static std::string withLayer(StringRef name, int64_t layer) {
  std::string text = name.str();
  for (size_t at; (at = text.find("{i}")) != std::string::npos;)
    text.replace(at, 3, std::to_string(layer));
  return text;
}

/// The member of a layer as a family of its own.
static StringRef singleMember(ModuleOp module, WeightFamilyOp family, int64_t layer) {
  std::string name = (family.getSymName() + "_" + Twine(layer)).str();
  if (auto known = SymbolTable(module).lookup<WeightFamilyOp>(name))
    return known.getSymName();
  OpBuilder b(family);
  auto single = cast<WeightFamilyOp>(b.clone(*family));
  single.setSymName(name);
  single.removeLayersAttr();
  single.setSource(withLayer(family.getSource(), layer));
  if (family.getCheckpoint())
    single.setCheckpoint(withLayer(*family.getCheckpoint(), layer));
  return single.getSymName();
}

/// Layers that run once become part of the entry.
static bool inlineRepeat(ModuleOp module, int64_t number) {
  RepeatOp repeat = all<RepeatOp>(module)[size_t(number)];
  if (repeat.getCount() != 1)
    return false;
  SymbolTable symbols(module);
  SmallVector<Value> carried(repeat.getCarried());
  OpBuilder b(repeat);
  int64_t layer = int64_t(repeat.getFrom());
  for (auto callee : repeat.getCallees().getAsRange<FlatSymbolRefAttr>()) {
    auto function = symbols.lookup<func::FuncOp>(callee.getValue());
    Block &body = function.getBody().front();
    IRMapping map;
    Value index = arith::ConstantIndexOp::create(b, repeat.getLoc(), layer);
    map.map(body.getArgument(0), index);
    SmallVector<Value> inputs(carried);
    llvm::append_range(inputs, repeat.getInvariants());
    for (auto [i, input] : llvm::enumerate(inputs))
      map.map(body.getArgument(unsigned(i) + 1), input);
    for (Operation &op : body.without_terminator()) {
      Operation *copy = b.clone(op, map);
      auto param = dyn_cast<ParamOp>(copy);
      if (!param || !param.getLayer())
        continue;
      auto family = symbols.lookup<WeightFamilyOp>(param.getFamily());
      if (family.getValues())
        return false;
      param.setFamily(singleMember(module, family, layer));
      param.getLayerMutable().clear();
    }
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      carried[i] = map.lookupOrDefault(value);
    ++layer;
  }
  repeat.replaceAllUsesWith(carried);
  repeat.erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Sizes and the rest
//===----------------------------------------------------------------------===//

/// Nobody has to have the facts of the model that the program came from.
static bool dropFacts(ModuleOp module, int64_t) {
  auto facts = module->getAttrOfType<DictionaryAttr>("llm.model");
  SmallVector<NamedAttribute> kept;
  for (StringRef name : {"architecture", "context_length", "description", "layers"})
    if (Attribute fact = facts ? facts.get(name) : Attribute())
      kept.emplace_back(StringAttr::get(module.getContext(), name), fact);
  if (!facts || kept.size() == facts.size())
    return false;
  module->setAttr("llm.model", DictionaryAttr::get(module.getContext(), kept));
  return true;
}

static bool dropOptional(ModuleOp module, int64_t number) {
  Operation *op = computations(module)[size_t(number)];
  if (auto linear = dyn_cast<LinearOp>(op); linear && linear.getBias()) {
    linear.getBiasMutable().clear();
    return true;
  }
  if (auto norm = dyn_cast<RMSNormOp>(op); norm && norm.getScale()) {
    norm.getScaleMutable().clear();
    return true;
  }
  for (StringRef name : {"window", "chunk", "softcap", "slopes", "groups"})
    if (op->removeAttr(name))
      return true;
  return false;
}

/// Sizes of weights and rows, the largest last.
static SmallVector<int64_t> sizesOf(ModuleOp module) {
  std::set<int64_t> sizes;
  for (auto family : module.getOps<WeightFamilyOp>())
    for (int64_t dim : family.getType().getShape())
      if (dim > 2)
        sizes.insert(dim);
  return SmallVector<int64_t>(sizes.begin(), sizes.end());
}

/// Everything of a size becomes smaller: an eighth, a half, one less.
static bool shrink(ModuleOp module, int64_t number) {
  SmallVector<int64_t> sizes = sizesOf(module);
  int64_t from = sizes[size_t(number / 3)];
  int64_t to = number % 3 == 2 ? from / 8 : number % 3 == 1 ? from / 2 : from - 1;
  if (to < 2 || (number % 3 == 0 && from > 8))
    return false;
  auto change = [&](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> changed(shape);
    llvm::replace(changed, from, to);
    return changed;
  };
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](WeightType type) -> std::optional<Type> {
    return WeightType::get(type.getContext(), change(type.getShape()), type.getStorage());
  });
  replacer.addReplacement([&](CacheType type) -> std::optional<Type> {
    return CacheType::get(type.getContext(), type.getKind(), change(type.getShape()),
                          type.getElementType());
  });
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
    return type.clone(change(type.getShape()));
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return true;
}

ArrayRef<ReduceStep> reduceSteps() {
  static const ReduceStep steps[] = {
      {"facts", [](ModuleOp) { return int64_t(1); }, dropFacts},
      {"return early", countEntryOps, returnEarly},
      {"repeat", countOf<RepeatOp>, dropRepeat},
      {"layers once", countOf<RepeatOp>, runOnce},
      {"layer", countCallees, dropCallee},
      {"layer's work", countOf<func::ReturnOp>, returnArgument},
      {"inline layers", countOf<RepeatOp>, inlineRepeat},
      {"observation", countOf<ObserveOp>, dropObservation},
      {"rows", countOps, replaceByRows},
      {"operation", countOps, bypass},
      {"other side", countOps, bypassLast},
      {"fusion", countOf<FusionOp>, inlineFusion},
      {"option", countOps, dropOptional},
      {"size", [](ModuleOp module) { return int64_t(3 * sizesOf(module).size()); }, shrink},
  };
  return steps;
}

} // namespace llmc
