//===- ProgramView.cpp - a program by kinds of layers, as data ------------===//
#include "ProgramView.h"

#include "Explain.h"
#include "LocationText.h"
#include "PlanTraffic.h"
#include "llmc/Conversion/LaunchFacts.h"
#include "llmc/Dialect/LLM/Analysis/OperatorWork.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

using namespace mlir;

namespace llmc {

/// What is common to the texts, and of the rest what each has: `layers.{i}.{q_proj, k_proj}`.
static std::string joinPaths(ArrayRef<std::string> paths, MLIRContext *context) {
  SmallVector<Location> names;
  for (const std::string &path : paths)
    names.push_back(NameLoc::get(StringAttr::get(context, path)));
  return names.empty() ? std::string() : locationText(FusedLoc::get(context, names));
}

/// A path of the model; a place in a file is none.
static bool namesModel(Location location) {
  return location
      ->walk([](Location part) {
        return isa<NameLoc>(part) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static std::string pathOf(Location location, ArrayRef<std::string> weights) {
  if (namesModel(location))
    return locationText(location);
  return joinPaths(weights, location.getContext());
}

//===----------------------------------------------------------------------===//
// The llm dialect
//===----------------------------------------------------------------------===//

namespace {

class FunctionView {
public:
  FunctionView(func::FuncOp function, SymbolTable &symbols) : function(function), symbols(symbols) {}

  std::vector<ViewItem> items() {
    std::vector<ViewItem> items;
    for (Operation &op : function.getBody().front()) {
      if (!isShown(&op)) {
        look(&op);
        continue;
      }
      ViewItem item = itemOf(&op);
      std::set<ViewRead> reads;
      if (auto fusion = dyn_cast<llm::FusionOp>(op))
        readBody(fusion, items.size(), reads);
      else
        read(&op, items.size(), 0, reads);
      item.reads.assign(reads.begin(), reads.end());
      items.push_back(std::move(item));
    }
    return items;
  }

private:
  /// Where a value is from.
  struct Made {
    size_t item, part, result;
  };

  /// Notes what an operation takes and gives, the `part` of a fusion or an item by itself.
  void read(Operation *op, size_t item, size_t part, std::set<ViewRead> &reads) {
    for (Value operand : op->getOperands())
      if (auto made = makers.find(outside(operand)); made != makers.end())
        reads.insert({made->second.item, made->second.part, made->second.result, part});
    for (OpResult result : op->getResults())
      makers[result] = {item, part, result.getResultNumber()};
  }

  void readBody(llm::FusionOp fusion, size_t item, std::set<ViewRead> &reads) {
    Block &body = fusion.getBody().front();
    for (auto [part, inner] : llvm::enumerate(body.without_terminator()))
      read(&inner, item, part, reads);
    for (auto [given, result] :
         llvm::zip_equal(body.getTerminator()->getOperands(), fusion->getResults()))
      if (auto made = makers.find(outside(given)); made != makers.end())
        makers[result] = Made(made->second);
  }

  static bool isShown(Operation *op) {
    return llm::isOperator(op) || isa<llm::FusionOp, llm::RepeatOp>(op) ||
           op->getName().getDialectNamespace() == "shard";
  }

  /// Values of a view are those of what it looks at.
  void look(Operation *op) {
    for (Value operand : op->getOperands())
      if (auto made = makers.find(operand); made != makers.end())
        for (Value result : op->getResults())
          makers[result] = Made(made->second);
  }

  /// What a fusion takes, for an argument of its body.
  static Value outside(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto fusion = argument ? dyn_cast<llm::FusionOp>(argument.getOwner()->getParentOp()) : llm::FusionOp();
    return fusion ? fusion.getInputs()[argument.getArgNumber()] : value;
  }

  std::vector<std::string> weightsOf(Operation *op) {
    std::vector<std::string> names;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (auto param = outside(operand).getDefiningOp<llm::ParamOp>())
          if (auto family = symbols.lookup<llm::WeightFamilyOp>(param.getFamily()))
            names.push_back(family.getSource().str());
    });
    return names;
  }

  ViewItem itemOf(Operation *op) {
    ViewItem item;
    item.what = op->getName().getStringRef().str();
    item.path = pathOf(op->getLoc(), weightsOf(op));
    if (auto fusion = dyn_cast<llm::FusionOp>(op)) {
      item.what = fusion.getPattern().str();
      item.isFusion = true;
      for (Operation &inner : fusion.getBody().front().without_terminator())
        item.body.push_back(itemOf(&inner));
      return item;
    }
    if (auto repeat = dyn_cast<llm::RepeatOp>(op)) {
      SmallVector<StringRef> callees;
      for (auto callee : repeat.getCallees().getAsRange<FlatSymbolRefAttr>())
        callees.push_back(callee.getValue());
      item.facts = "layers from " + std::to_string(repeat.getFrom()) + ", " +
                   std::to_string(repeat.getCount()) + " x (" + llvm::join(callees, ", ") + ")";
      return item;
    }
    if (llm::isOperator(op))
      for (auto &[name, value] : llm::operatorFacts(op))
        item.facts += (item.facts.empty() ? "" : " ") + name + "=" + value;
    return item;
  }

  func::FuncOp function;
  SymbolTable &symbols;
  llvm::DenseMap<Value, Made> makers;
};

std::vector<int64_t> layersRun(ModuleOp module, StringRef function) {
  std::vector<int64_t> layers;
  module.walk([&](llm::RepeatOp repeat) {
    int64_t period = int64_t(repeat.getCallees().size());
    auto callees = repeat.getCallees().getAsRange<FlatSymbolRefAttr>();
    for (auto [j, callee] : llvm::enumerate(callees))
      for (int64_t r = 0; callee.getValue() == function && r < int64_t(repeat.getCount()); ++r)
        layers.push_back(int64_t(repeat.getFrom()) + r * period + int64_t(j));
  });
  llvm::sort(layers);
  return layers;
}

std::string textOf(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.str();
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return std::to_string(number.getInt());
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

ProgramView viewOfLLM(ModuleOp module, func::FuncOp entry) {
  ProgramView view;
  if (auto facts = module->getAttrOfType<DictionaryAttr>("llm.model"))
    for (NamedAttribute fact : facts)
      view.model.emplace_back(fact.getName().str(), textOf(fact.getValue()));
  SymbolTable symbols(module);
  auto add = [&](func::FuncOp function) {
    view.kinds.push_back({function.getSymName().str(), layersRun(module, function.getSymName()),
                          FunctionView(function, symbols).items()});
  };
  add(entry);
  for (auto function : module.getOps<func::FuncOp>())
    if (function != entry && !function.isExternal())
      add(function);
  return view;
}

} // namespace

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

namespace {

std::string sizeText(AffineMap map) {
  plan::Size size = *plan::Size::fromMap(map);
  std::string text;
  for (unsigned i = 0; i < plan::kNumSizeSymbols; ++i)
    if (size.terms[i])
      text += (text.empty() ? "" : " + ") + plan::getName(plan::SizeSymbol(i)).str() + " * " +
              std::to_string(size.terms[i]);
  if (text.empty() || size.constant)
    text += (text.empty() ? "" : " + ") + std::to_string(size.constant);
  return text;
}

class PlanView {
public:
  explicit PlanView(plan::ProgramOp program) : program(program), symbols(program) {}

  ProgramView view() {
    result.stage = ProgramView::Stage::Plan;
    plan::ModelAttr model = program.getModel();
    result.model = {{"name", model.getName().str()},
                    {"architecture", model.getArchitecture().str()},
                    {"description", model.getDescription().str()},
                    {"layers", std::to_string(model.getLayers())},
                    {"hidden_size", std::to_string(model.getHiddenSize())},
                    {"vocab_size", std::to_string(model.getVocabSize())},
                    {"parameters", std::to_string(model.getParameters())},
                    {"context_length", std::to_string(model.getContextLength())},
                    {"target", program.getTarget().getDevice().str()},
                    {"max_tokens", std::to_string(program.getLimits().getMaxTokens())},
                    {"max_sequences", std::to_string(program.getLimits().getMaxSequences())},
                    {"max_context", std::to_string(program.getLimits().getMaxContext())},
                    {"max_outputs", std::to_string(program.getLimits().getLargest(plan::Extent::Outputs))}};
    addMemory();
    addSteps();
    return std::move(result);
  }

private:
  void addMemory();
  void addSteps();
  ViewItem itemOf(plan::LaunchOp launch);
  /// Layers of the repeats that run a launch of that kind.
  void addRepeat(plan::RepeatOp repeat);
  void addLaunch(ViewKind &kind, plan::LaunchOp launch);

  plan::ProgramOp program;
  SymbolTable symbols;
  ProgramView result;
  /// In the kind at hand: slice -> item that wrote it last.
  llvm::StringMap<size_t> writers;
};

void PlanView::addMemory() {
  plan::LimitsAttr limits = program.getLimits();
  for (Operation &op : program.getBody().front()) {
    if (auto arena = dyn_cast<plan::ArenaOp>(op)) {
      ViewArena shown{arena.getSymName().str(), stringifyArenaKind(arena.getKind()).str(), "", 0, -1};
      if (arena.getSize()) {
        shown.size = sizeText(*arena.getSize());
        shown.bytes = limits.getLargest(*arena.getSize());
      }
      if (auto packing = arena.getPackingAttr())
        shown.lowerBound = packing.getLowerBound();
      result.arenas.push_back(std::move(shown));
    } else if (auto slice = dyn_cast<plan::SliceOp>(op)) {
      ViewSlice shown{slice.getSymName().str(), slice.getArena().str(), sizeText(slice.getSize())};
      shown.bytes = limits.getLargest(slice.getSize());
      shown.offset = int64_t(slice.getOffset().value_or(0));
      if (auto live = slice.getLiveAttr()) {
        shown.first = live.getFirst();
        shown.last = live.getLast();
      }
      result.slices.push_back(std::move(shown));
    } else if (auto weights = dyn_cast<plan::WeightsOp>(op)) {
      std::string facts = stringifyStorage(weights.getStorage()).str() + " " +
                          (weights.getMatrices() > 1 ? std::to_string(weights.getMatrices()) + " x " : "") +
                          std::to_string(weights.getRows()) + " x " + std::to_string(weights.getCols());
      llvm::raw_string_ostream(facts) << " " << weights.getLayout();
      result.members.push_back({weights.getSymName().str(), weights.getArena().str(), facts,
                                plan::saturatingMul(int64_t(weights.getBytes()), weights.getNumMembers())});
    } else if (auto state = dyn_cast<plan::StateOp>(op)) {
      plan::Size size = state.getMemberSize();
      result.members.push_back(
          {state.getSymName().str(), state.getArena().str(),
           stringifyStateKind(state.getKind()).str() + " " + std::to_string(state.getHeads()) +
               " heads, " + std::to_string(state.getKeyWidth()) + " + " +
               std::to_string(state.getValueWidth()) +
               (state.isPerSequence() ? ", a sequence" : ", a block"),
           plan::saturatingMul(*llvm::max_element(size.terms), state.getLayers().getNumLayers())});
    }
  }
}

ViewItem PlanView::itemOf(plan::LaunchOp launch) {
  ViewItem item;
  item.what = launch.getRemark().value_or(launch.getKernel()).str();
  std::vector<std::string> weights, operands;
  for (auto use : launch.getUsesAttr().getAsRange<plan::UseAttr>()) {
    operands.push_back((use.reads() && use.writes() ? "<> " : use.reads() ? "< " : "> ") +
                       use.getSymbol().getValue().str());
    if (auto family = symbols.lookup<plan::WeightsOp>(use.getSymbol().getValue()))
      for (auto source : family.getSources().getAsRange<plan::SourceAttr>())
        if (StringAttr name = source.getName())
          weights.push_back(name.str());
  }
  item.path = pathOf(launch.getLoc(), weights);
  llvm::raw_string_ostream(item.facts)
      << launch.getKernel() << " items " << launch.getItems().getFactor() << " x "
      << stringifyExtent(launch.getItems().getOf());
  item.operands = llvm::join(operands, " ");
  return item;
}

void PlanView::addLaunch(ViewKind &kind, plan::LaunchOp launch) {
  ViewItem item = itemOf(launch);
  std::set<ViewRead> reads;
  for (auto use : launch.getUsesAttr().getAsRange<plan::UseAttr>()) {
    StringRef symbol = use.getSymbol().getValue();
    if (symbols.lookup<plan::WeightsOp>(symbol))
      continue;
    if (auto writer = writers.find(symbol); writer != writers.end() && use.reads())
      reads.insert({.item = writer->second});
    if (use.writes())
      writers[symbol] = kind.items.size();
  }
  item.reads.assign(reads.begin(), reads.end());
  kind.items.push_back(std::move(item));
}

void PlanView::addRepeat(plan::RepeatOp repeat) {
  std::map<std::pair<int64_t, std::string>, std::vector<plan::LaunchOp>> places;
  for (auto launch : repeat.getBody().front().getOps<plan::LaunchOp>()) {
    auto place = launch->getAttrOfType<IntegerAttr>(placeAttrName);
    std::string name = kindOf(launch, "layers from " + std::to_string(repeat.getFrom()));
    places[{place && place.getType().isSignlessInteger(64) ? place.getInt() : 0, name}].push_back(launch);
  }
  for (auto &[key, launches] : places) {
    auto kind = llvm::find_if(result.kinds, [&](auto &kind) { return kind.name == key.second; });
    bool isNew = kind == result.kinds.end();
    if (isNew)
      kind = result.kinds.insert(result.kinds.end(), {key.second, {}, {}});
    for (int64_t r = 0; r < int64_t(repeat.getCount()); ++r)
      kind->layers.push_back(int64_t(repeat.getFrom()) + r * int64_t(repeat.getPeriod()) + key.first);
    llvm::sort(kind->layers);
    writers.clear();
    for (plan::LaunchOp launch : launches)
      if (isNew)
        addLaunch(*kind, launch);
  }
}

void PlanView::addSteps() {
  for (auto entry : program.getBody().front().getOps<plan::EntryOp>()) {
    size_t own = result.kinds.size();
    result.kinds.push_back({entry.getSymName().str(), {}, {}});
    llvm::StringMap<size_t> entryWriters;
    for (Operation &op : entry.getBody().front()) {
      if (auto launch = dyn_cast<plan::LaunchOp>(op)) {
        std::swap(writers, entryWriters);
        addLaunch(result.kinds[own], launch);
        std::swap(writers, entryWriters);
      } else if (auto repeat = dyn_cast<plan::RepeatOp>(op)) {
        addRepeat(repeat);
      }
    }
  }
  for (const ViewSlice &slice : result.slices)
    result.steps = std::max(result.steps, slice.last + 1);
}

} // namespace

FailureOr<ProgramView> viewOf(ModuleOp module) {
  auto programs = llvm::to_vector(module.getOps<plan::ProgramOp>());
  if (programs.size() == 1)
    return PlanView(programs.front()).view();
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("llm.entry") && !function.isExternal())
      return viewOfLLM(module, function);
  return module.emitError("is neither a plan nor a program with a function marked llm.entry");
}

} // namespace llmc
