//===- OperatorWork.cpp - what an operation costs, whoever runs it --------===//
#include "llmc/Dialect/LLM/Analysis/OperatorWork.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/IR/BuiltinDialect.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace mlir;

namespace llmc::llm {

OperatorWork &OperatorWork::operator+=(const OperatorWork &other) {
  multiplyAdds += other.multiplyAdds;
  weightBytes += other.weightBytes;
  stateBytes += other.stateBytes;
  rowBytes += other.rowBytes;
  return *this;
}

OperatorWork OperatorWork::operator*(double times) const {
  return {multiplyAdds * times, weightBytes * times, stateBytes * times, rowBytes * times};
}

namespace {
template <typename... Ops>
bool isOneOf(OperationName name) {
  return ((name.getTypeID() == TypeID::get<Ops>()) || ...);
}
} // namespace

static bool isOperator(OperationName name) {
  return isa_and_nonnull<LLMDialect>(name.getDialect()) &&
         !isOneOf<WeightFamilyOp, StateFamilyOp, ParamOp, StateOp, RepeatOp, FusionOp, YieldOp,
                  ObserveOp, SplitHeadsOp, MergeHeadsOp>(name);
}

bool isOperator(Operation *op) {
  if (isOperator(op->getName()))
    return true;
  // Of a dialect that llmc has not: what computes rows.
  Dialect *dialect = op->getDialect();
  bool isKnown = !dialect || isa<LLMDialect, BuiltinDialect, func::FuncDialect,
                                 arith::ArithDialect, shard::ShardDialect>(dialect);
  return !isKnown && llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

std::vector<std::string> operatorNames(MLIRContext &context) {
  std::vector<std::string> names;
  context.getOrLoadDialect<LLMDialect>();
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (isOperator(name))
      names.push_back(name.getStringRef().str());
  return names;
}

/// Numbers that no kernel is chosen by.
static bool isNoFact(StringRef attribute) {
  return attribute == "decomposition" || attribute == "epsilon" || attribute == "offset" || attribute == "scale" ||
         attribute == "factor" || attribute == "operandSegmentSizes";
}

/// Of those, what is no number of the operation.
static bool isNoNumber(StringRef attribute) {
  return attribute == "decomposition" || attribute == "operandSegmentSizes";
}

/// The shortest text that reads as this number.
static std::string exactText(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::vector<std::string> factNames(StringRef op, MLIRContext &context) {
  std::vector<std::string> names = {"in",        "out",         "width",   "heads",     "kv_heads",
                                    "key_width", "value_width", "cache",   "selection", "sinks",
                                    "table",     "experts",     "groups",  "storage",   "rope_width",
                                    "pairing",   "taps",        "group"};
  context.getOrLoadDialect<LLMDialect>();
  if (auto name = RegisteredOperationName::lookup(op, &context))
    for (StringAttr attribute : name->getAttributeNames())
      if (!isNoFact(attribute) && !llvm::is_contained(names, attribute.getValue()))
        names.push_back(attribute.str());
  return names;
}

std::vector<std::string> kernelFactNames(StringRef op, MLIRContext &context) {
  std::vector<std::string> names = factNames(op, context);
  if (auto name = RegisteredOperationName::lookup(op, &context))
    for (StringAttr attribute : name->getAttributeNames())
      if (isNoFact(attribute) && !isNoNumber(attribute))
        names.push_back(attribute.str());
  return names;
}

namespace {

/// Elements of one row of a value of rows; 0 for other values.
double rowElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  double elements = 1;
  for (int64_t dim : tensor.getShape().drop_front())
    elements *= double(dim);
  return elements;
}

double shapeElements(Type weight) {
  double elements = 1;
  for (int64_t dim : cast<WeightType>(weight).getShape())
    elements *= double(dim);
  return elements;
}

double storedBytes(Type weight) { return double(cast<WeightType>(weight).getStorageBytes()); }

double cacheElements(CacheType cache) {
  ArrayRef<int64_t> shape = cache.getShape();
  switch (cache.getKind()) {
  case CacheKind::Paged:
  case CacheKind::Window:
    return double(shape[0]) * double(shape[1] + shape[2]);
  case CacheKind::Latent:
    return double(shape[0]) * double(shape[1]);
  case CacheKind::Entries:
    return double(shape[1]) / double(shape[0]);
  case CacheKind::Recurrent:
  case CacheKind::Conv: {
    double elements = 1;
    for (int64_t dim : shape)
      elements *= double(dim);
    return elements;
  }
  }
  llvm_unreachable("closed enum");
}

/// Pairs of a token of the step and a position that it sees.
double visiblePairs(const StepShape &step, double most) {
  double pairs = 0;
  double tokens = double(step.tokens), past = double(step.past);
  // Token t sees past + t + 1 positions, at most `most` of them.
  double growing = std::clamp(most - past, 0.0, tokens);
  pairs += growing * past + growing * (growing + 1) / 2;
  pairs += (tokens - growing) * most;
  return pairs;
}

/// Distinct ones among `draws` random choices out of `count`, on average.
double distinct(double count, double draws) {
  return count * -std::expm1(draws * std::log1p(-1 / std::max(count, 1.0 + 1e-9)));
}

} // namespace

OperatorWork workOf(Operation *op, const StepShape &step) {
  OperatorWork work;
  if (!isOperator(op))
    return work;
  // Behind select_rows there are as many rows as logits are wanted.
  auto rowsOf = [&](Value value) {
    Operation *producer = value.getDefiningOp();
    while (producer && !isa<SelectRowsOp>(producer) && producer->getNumOperands() &&
           isa<RankedTensorType>(producer->getOperand(0).getType()))
      producer = producer->getOperand(0).getDefiningOp();
    return double(isa_and_nonnull<SelectRowsOp>(producer) ? step.outputs : step.tokens);
  };
  double rows = op->getNumResults() ? rowsOf(op->getResult(0)) : double(step.tokens);
  for (Value operand : op->getOperands()) {
    work.rowBytes += rowsOf(operand) * rowElements(operand.getType()) * step.rowBytes;
    if (isa<WeightType>(operand.getType()))
      work.weightBytes += storedBytes(operand.getType());
  }
  for (Value result : op->getResults()) {
    work.rowBytes += rows * rowElements(result.getType()) * step.rowBytes;
    work.multiplyAdds += rows * rowElements(result.getType());
  }
  double tokens = double(step.tokens);
  TypeSwitch<Operation *>(op)
      .Case<LinearOp, OutputHeadOp>([&](auto product) {
        work.multiplyAdds = rows * shapeElements(product.getWeight().getType());
      })
      .Case([&](HeadLinearOp product) {
        work.multiplyAdds = rows * shapeElements(product.getWeight().getType());
      })
      .Case([&](ExpertLinearOp product) {
        auto weight = cast<WeightType>(product.getWeight().getType());
        double experts = double(weight.getShape()[0]);
        double choices = rows * rowElements(product.getChoice().getType());
        work.multiplyAdds = choices * shapeElements(weight) / experts;
        work.weightBytes *= distinct(experts, choices) / experts;
      })
      .Case<EmbeddingOp, PositionEmbeddingOp>([&](auto lookup) {
        auto table = cast<WeightType>(lookup.getTable().getType());
        double share = std::min(1.0, tokens / double(table.getShape()[0]));
        work.weightBytes = storedBytes(table) * share;
        work.multiplyAdds = 0;
      })
      .Case<SelectRowsOp, SliceOp, ConcatOp, TransposeOp, TakeOp, PutOp, WeightRowsOp>(
          [&](auto) { work.multiplyAdds = 0; })
      .Case([&](MixOp mix) {
        work.multiplyAdds = rows * rowElements(mix.getCoefficients().getType()) *
                            double(cast<RankedTensorType>(mix.getInput().getType()).getShape()[2]);
      })
      .Case([&](KVAppendOp append) {
        auto cache = cast<CacheType>(append.getCache().getType());
        work.stateBytes = tokens * cacheElements(cache) * step.stateBytes;
        work.multiplyAdds = 0;
      })
      .Case([&](PagedAttentionOp attention) {
        auto cache = cast<CacheType>(attention.getCache().getType());
        double most = double(step.past) + tokens;
        if (std::optional<int64_t> window = attention.getWindow())
          most = std::min(most, double(*window));
        if (std::optional<int64_t> chunk = attention.getChunk())
          most = std::min(most, double(*chunk));
        if (Value selection = attention.getSelection())
          most = std::min(most, rowElements(selection.getType()));
        double heads = double(cast<RankedTensorType>(attention.getQuery().getType()).getShape()[1]);
        work.multiplyAdds = visiblePairs(step, most) * heads *
                            double(cache.getShape()[1] + cache.getShape()[2]);
        // Every position that some token of the step sees is read once.
        double seen = std::min(double(step.past) + tokens, most + tokens - 1);
        work.stateBytes = seen * cacheElements(cache) * step.stateBytes;
      })
      .Case([&](SelectPositionsOp select) {
        auto cache = cast<CacheType>(select.getCache().getType());
        double positions = double(step.past) + tokens;
        work.multiplyAdds = visiblePairs(step, positions) *
                            rowElements(select.getQuery().getType());
        work.stateBytes = positions * cacheElements(cache) * step.stateBytes;
      })
      .Case([&](SelectEntriesOp select) {
        auto cache = cast<CacheType>(select.getCache().getType());
        double positions = double(step.past) + tokens, group = double(cache.getShape()[0]);
        work.multiplyAdds = visiblePairs(step, positions) / group *
                            rowElements(select.getQuery().getType());
        work.stateBytes = positions * cacheElements(cache) * step.stateBytes;
      })
      .Case([&](JointAttentionOp attention) {
        auto cache = cast<CacheType>(attention.getCache().getType()),
             entries = cast<CacheType>(attention.getEntries().getType());
        double positions = double(step.past) + tokens, group = double(entries.getShape()[0]);
        double near = positions;
        if (std::optional<int64_t> window = attention.getWindow())
          near = std::min(near, double(*window));
        double pairs = visiblePairs(step, positions) / group;
        if (Value selection = attention.getSelection())
          pairs = std::min(pairs, tokens * rowElements(selection.getType()));
        double heads = double(cast<RankedTensorType>(attention.getQuery().getType()).getShape()[1]);
        work.multiplyAdds = (visiblePairs(step, near) + pairs) * heads *
                            double(cache.getShape()[1] + cache.getShape()[2]);
        // Every position and entry that some token of the step sees is read once.
        work.stateBytes = (std::min(positions, near + tokens - 1) * cacheElements(cache) +
                           std::min(positions / group, pairs) * double(entries.getShape()[1])) *
                          step.stateBytes;
      })
      .Case([&](EntryAppendOp append) {
        auto cache = cast<CacheType>(append.getCache().getType());
        work.stateBytes = tokens * cacheElements(cache) * step.stateBytes;
        work.multiplyAdds = 0;
      })
      .Case([&](PoolTokensOp pool) {
        double state = cacheElements(cast<CacheType>(pool.getState().getType()));
        // A group's rows for each channel of the result: half of them on average, and with
        // overlap all of those before.
        double rows = double(pool.getGroup()) * (pool.getOverlap() ? 1.5 : 0.5);
        work.multiplyAdds = tokens * rows * rowElements(pool.getResult().getType());
        work.stateBytes = 2 * state * step.stateBytes;
      })
      .Case([&](SinkhornOp sinkhorn) {
        work.multiplyAdds = rows * rowElements(sinkhorn.getInput().getType()) *
                            double(2 * sinkhorn.getSteps() - 1);
      })
      .Case([&](CausalConvOp conv) {
        work.multiplyAdds = tokens * shapeElements(conv.getWeight().getType());
        work.stateBytes =
            2 * cacheElements(cast<CacheType>(conv.getState().getType())) * step.stateBytes;
      })
      .Case([&](TokenShiftOp shift) {
        work.stateBytes =
            2 * cacheElements(cast<CacheType>(shift.getState().getType())) * step.stateBytes;
      })
      .Case([&](LinearAttentionOp attention) {
        double state = cacheElements(cast<CacheType>(attention.getState().getType()));
        // Decay, write and read of every element; the delta rule reads it once more, a rank one
        // part reads and writes it once more.
        double passes = attention.getRankOneA() ? 5 : attention.getDelta() ? 4 : 3;
        work.multiplyAdds = tokens * state * passes;
        work.stateBytes = 2 * state * step.stateBytes;
      });
  return work;
}

std::vector<std::pair<std::string, std::string>> operatorFacts(Operation *op) {
  std::vector<std::pair<std::string, std::string>> facts;
  auto add = [&](StringRef name, const Twine &value) {
    facts.emplace_back(name.str(), value.str());
  };
  auto shapeOf = [](Type type) { return cast<RankedTensorType>(type).getShape(); };
  auto widths = [&](StringRef name, Type type) {
    if (!isa<RankedTensorType>(type))
      return;
    ArrayRef<int64_t> shape = shapeOf(type);
    if (shape.size() == 3)
      add("heads", Twine(shape[1]));
    if (shape.size() >= 2)
      add(name, Twine(shape.back()));
  };
  TypeSwitch<Operation *>(op)
      .Case([&](PagedAttentionOp attention) {
        auto cache = cast<CacheType>(attention.getCache().getType());
        add("heads", Twine(shapeOf(attention.getQuery().getType())[1]));
        add("kv_heads", Twine(cache.getShape()[0]));
        add("key_width", Twine(cache.getShape()[1]));
        add("value_width", Twine(cache.getShape()[2]));
        add("cache", stringifyCacheKind(cache.getKind()));
        if (Value selection = attention.getSelection())
          add("selection", Twine(shapeOf(selection.getType())[1]));
        if (attention.getSinks())
          add("sinks", "true");
      })
      .Case([&](KVAppendOp append) {
        auto cache = cast<CacheType>(append.getCache().getType());
        add("kv_heads", Twine(cache.getShape()[0]));
        add("key_width", Twine(cache.getShape()[1]));
        add("value_width", Twine(cache.getShape()[2]));
        add("cache", stringifyCacheKind(cache.getKind()));
      })
      .Default([&](Operation *other) {
        if (auto route = dyn_cast<RouteOp>(other); route && route.getTable())
          add("table", "true");
        if (auto conv = dyn_cast<CausalConvOp>(other))
          add("taps", Twine(conv.getTaps()));
        if (auto pool = dyn_cast<PoolTokensOp>(other))
          add("group", Twine(pool.getGroup()));
        for (Type type : other->getOperandTypes())
          if (auto cache = dyn_cast<CacheType>(type); cache && cache.getKind() == CacheKind::Entries)
            add("group", Twine(cache.getShape()[0]));
        bool isProduct = isa<LinearOp, OutputHeadOp, HeadLinearOp, ExpertLinearOp>(other);
        if (other->getNumOperands())
          widths(isProduct ? "in" : "width", other->getOperand(0).getType());
        if (other->getNumResults() &&
            (isProduct || !other->getNumOperands() ||
             other->getOperand(0).getType() != other->getResult(0).getType()))
          widths("out", other->getResult(0).getType());
      });
  for (Value operand : op->getOperands())
    if (auto weight = dyn_cast<WeightType>(operand.getType())) {
      if (weight.getRank() == 3)
        add(isa<ExpertLinearOp>(op) ? "experts" : "groups", Twine(weight.getShape()[0]));
      add("storage", weight.getStorageName());
      break;
    }
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    if (isNoFact(name))
      continue;
    if (auto rope = dyn_cast<RopeAttr>(attribute.getValue())) {
      add("rope_width", Twine(rope.getWidth()));
      add("pairing", stringifyRopePairing(rope.getPairing()));
      continue;
    }
    if (auto composite = dyn_cast<CompositeOp>(op); composite && name == "settings") {
      for (NamedAttribute setting : composite.getSettings()) {
        auto whole = dyn_cast<IntegerAttr>(setting.getValue());
        add(setting.getName().getValue(),
            exactText(whole ? double(whole.getInt())
                            : cast<FloatAttr>(setting.getValue()).getValueAsDouble()));
      }
      continue;
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (auto integer = dyn_cast<IntegerAttr>(attribute.getValue()))
      stream << integer.getValue();
    else if (auto number = dyn_cast<FloatAttr>(attribute.getValue()))
      stream << exactText(number.getValueAsDouble());
    else if (isa<UnitAttr>(attribute.getValue()))
      stream << "true";
    else if (auto string = dyn_cast<StringAttr>(attribute.getValue()))
      stream << string.getValue();
    else if (auto function = dyn_cast<ActivationAttr>(attribute.getValue()))
      stream << stringifyActivation(function.getValue());
    else if (auto function = dyn_cast<BinaryFunctionAttr>(attribute.getValue()))
      stream << stringifyBinaryFunction(function.getValue());
    else if (auto statistic = dyn_cast<RowStatisticAttr>(attribute.getValue()))
      stream << stringifyRowStatistic(statistic.getValue());
    else if (auto score = dyn_cast<RouteScoreAttr>(attribute.getValue()))
      stream << stringifyRouteScore(score.getValue());
    else if (auto score = dyn_cast<GroupScoreAttr>(attribute.getValue()))
      stream << stringifyGroupScore(score.getValue());
    else if (auto normalise = dyn_cast<RouteNormaliseAttr>(attribute.getValue()))
      stream << stringifyRouteNormalise(normalise.getValue());
    else {
      attribute.getValue().print(stream, /*elideType=*/true);
      constexpr size_t longest = 64;
      if (text.size() > longest)
        text = text.substr(0, longest) + "...";
    }
    add(name, text);
  }
  return facts;
}

std::vector<std::pair<std::string, std::string>> kernelFacts(Operation *op) {
  auto facts = operatorFacts(op);
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    if (!isNoFact(name) || isNoNumber(name))
      continue;
    if (auto number = dyn_cast<FloatAttr>(attribute.getValue()))
      facts.emplace_back(name.str(), exactText(number.getValueAsDouble()));
    else if (auto integer = dyn_cast<IntegerAttr>(attribute.getValue()))
      facts.emplace_back(name.str(), std::to_string(integer.getInt()));
  }
  return facts;
}

} // namespace llmc::llm
