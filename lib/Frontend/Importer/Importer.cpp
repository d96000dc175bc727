//===- Importer.cpp - from a resolved model to the llm dialect ------------===//
//
// The hooks that turn the statements of a description into llm operations. The
// interpreter runs each layer kind once, so the module grows with kinds.
//
//===----------------------------------------------------------------------===//
#include "llmc/Frontend/Importer.h"

#include "ImporterRules.h"
#include "Schedule.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/IR/Storage.h"
#include "llmc/Frontend/ResolvedModel.h"
#include "llmc/Support/Error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace llmc::llm;

namespace llmc::frontend {

/// A symbol of a role: "q.bias" becomes "q_bias", numbered where it recurs.
static std::string uniqueSymbol(llvm::StringMap<unsigned> &uses, StringRef role) {
  std::string symbol;
  for (char c : role)
    symbol += isalnum(static_cast<unsigned char>(c)) ? c : '_';
  unsigned use = uses[symbol]++;
  return use ? symbol + "_" + std::to_string(use) : symbol;
}

Location Importer::at(const OpCall &call, const WeightRef *weight) {
  const SourceLocation &place = call.location;
  Location line = FileLineColLoc::get(&context, place.file, place.line, place.column);
  std::string path = call.path + "." + call.name;
  if (weight) {
    path = model.families[weight->family].publishedName;
    if (StringRef(path).ends_with(".weight"))
      path.resize(path.size() - 7);
  }
  return NameLoc::get(b.getStringAttr(path), line);
}

mlir::Value Importer::tensor(const OpCall &call, size_t index) {
  uint64_t id = handleArg(call, index).id;
  if (id >= values.size())
    throw InternalError("operation " + call.name + " got a value of another function");
  return values[id];
}

Importer::Results Importer::handle(mlir::Value value) {
  values.push_back(value);
  return {llmc::frontend::Value(Handle{values.size() - 1})};
}

constexpr const char *dtypeKeys[] = {"dtype", "torch_dtype"};

/// What a config says under a key, null for nothing.
static const Json *dtypeIn(const ModelSource &source, const char *key) {
  const Json *text = source.config.find("text_config");
  const Json *value = text ? text->find(key) : nullptr;
  value = value ? value : source.config.find(key);
  return value && !value->isNull() ? value : nullptr;
}

static StringRef storageNamed(const Json &value) {
  for (auto [name, storage] :
       {std::pair("bfloat16", "bf16"), {"float16", "f16"}, {"float32", "f32"}})
    if (value.isString() && value.text == name)
      return storage;
  return "";
}

StringRef publishedStorage(const ModelSource &source) {
  for (const char *key : dtypeKeys)
    if (const Json *value = dtypeIn(source, key))
      if (StringRef storage = storageNamed(*value); !storage.empty())
        return storage;
  return "";
}

std::string publishedStorageDoubt(const ModelSource &source) {
  StringRef chosen = publishedStorage(source);
  for (const char *key : dtypeKeys) {
    const Json *value = dtypeIn(source, key);
    if (!value || (!chosen.empty() && storageNamed(*value) == chosen))
      continue;
    return std::string("'") + key + "' = " + value->dump(60) +
           (storageNamed(*value).empty() ? ", which is none of bfloat16, float16, float32"
                                         : ", another than the key that is taken");
  }
  return "";
}

Attribute Importer::storageOf(const WeightFamily &family, int64_t layer) {
  const WeightFamily &stored = family.tiedTo >= 0 ? model.families[family.tiedTo] : family;
  const StorageFormat *read = stored.formatOf(layer);
  // f32 holds the numbers of a table exactly.
  bool isTable = stored.integer && (!read || read->name == "i32" || read->name == "i64");
  if (!stored.constants.empty() || isTable)
    return storageByName(&context, "f32");
  if (stored.quantizedTo)
    return storageByName(&context, stored.quantizedTo->name);
  if (const StorageFormat *format = stored.formatOf(layer)) {
    Attribute storage = storageByName(&context, compiledFormat(*format).name);
    if (!storage)
      throw InputError("tensor '" + stored.checkpointName + "' is stored as " +
                       std::string(format->name) +
                       ", which llmc cannot compile; convert it to one of f64, f8e4m3, f8e5m2, " +
                       llvm::join(storageNames(), ", "));
    return storage;
  }
  // Without a checkpoint the config says what its weights would be.
  StringRef published = publishedStorage(*model.source);
  return storageByName(&context, published.empty() ? "f32" : published);
}

StringRef Importer::weightSymbol(uint32_t index, int64_t layer, WeightType &type) {
  const WeightFamily *family = &model.families[index];
  if (family->tiedTo >= 0) {
    index = uint32_t(family->tiedTo);
    family = &model.families[index];
  }
  type = WeightType::get(&context, family->shape, storageOf(*family, layer));
  for (Weight &weight : weights)
    if (weight.family == index && weight.type == type)
      return weight.symbol;
  weights.push_back({uniqueSymbol(symbolUses, family->role), index, type, {}});
  return weights.back().symbol;
}

mlir::Value Importer::param(const OpCall &call, uint32_t index) {
  const WeightFamily &family = model.families[index];
  WeightType type;
  std::string symbol = weightSymbol(index, sampleLayer, type).str();
  mlir::Value layer;
  if (family.perLayer) {
    if (sampleLayer < 0)
      opError(call, "weight '" + family.role + "' belongs to layers and is used outside of one");
    layer = layerIndex;
    for (Weight &weight : weights)
      if (weight.symbol == symbol)
        weight.layers.insert(model.kinds[currentKind].layers.begin(),
                             model.kinds[currentKind].layers.end());
  }
  WeightRef ref;
  ref.family = index;
  return ParamOp::create(b, at(call, &ref), type, symbol, layer);
}

StringRef Importer::stateSymbol(CacheType type) {
  unsigned ordinal = statesInLayer[type]++;
  bool perSequence = type.getKind() == CacheKind::Recurrent || type.getKind() == CacheKind::Conv;
  const std::vector<int64_t> &layers = model.kinds[currentKind].layers;
  for (State &state : states)
    if (state.type == type && state.ordinal == ordinal) {
      state.layers.insert(layers.begin(), layers.end());
      return state.symbol;
    }
  states.push_back({uniqueSymbol(symbolUses, perSequence ? stringifyCacheKind(type.getKind()) : "kv"), type, ordinal, {layers.begin(), layers.end()}});
  return states.back().symbol;
}

Importer::Results Importer::embedding(const OpCall &call) {
  const WeightRef &weight = weightArg(call, 1);
  mlir::Value table = paramOf(call, weight);
  int64_t width = cast<WeightType>(table.getType()).getShape().back();
  IntegerAttr otherwise;
  if (const auto *row = call.findGiven("otherwise"))
    otherwise = b.getI64IntegerAttr(*row->get<int64_t>());
  return handle(EmbeddingOp::create(b, at(call, &weight), rows(width), tensor(call, 0), table,
                                    otherwise));
}

Importer::Results Importer::positionEmbedding(const OpCall &call) {
  const WeightRef &weight = weightArg(call, 0);
  mlir::Value table = paramOf(call, weight);
  ArrayRef<int64_t> shape = cast<WeightType>(table.getType()).getShape();
  int64_t offset = 0;
  if (const auto *value = call.findNamed("offset")) {
    const int64_t *rows = value->get<int64_t>();
    if (!rows || *rows < 0 || *rows >= shape[0])
      opError(call, "'offset' must be a row of the table, of which there are " +
                        std::to_string(shape[0]) + ", got " + value->toText());
    offset = *rows;
  }
  return handle(PositionEmbeddingOp::create(b, at(call, &weight), rows(shape[1]), batch, table,
                                            b.getI64IntegerAttr(offset)));
}

Importer::Results Importer::linear(const OpCall &call) {
  Results results;
  mlir::Value x = tensor(call, 0);
  for (size_t i = 1; i < call.args.size(); ++i) {
    const WeightRef &ref = weightArg(call, i);
    mlir::Value weight = paramOf(call, ref), bias;
    if (ref.biasFamily >= 0)
      bias = param(call, uint32_t(ref.biasFamily));
    int64_t width = cast<WeightType>(weight.getType()).getShape().front();
    results.push_back(
        handle(LinearOp::create(b, at(call, &ref), rows(width), x, weight, bias)).front());
  }
  return results;
}

Importer::Results Importer::rmsNorm(const OpCall &call) {
  mlir::Value x = tensor(call, 0), scale;
  const WeightRef *ref = call.args[1].isNull() ? nullptr : &weightArg(call, 1);
  if (ref)
    scale = paramOf(call, *ref);
  double offset = 0;
  if (const auto *value = call.findNamed("offset"))
    offset = value->asDouble();
  if (offset != 0 && !ref)
    opError(call, "there is no scale for the offset");
  return handle(RMSNormOp::create(b, at(call, ref), x.getType(), x, scale,
                                  b.getF64FloatAttr(numberArg(call, 2)),
                                  b.getF64FloatAttr(offset)));
}

Importer::Results Importer::layerNorm(const OpCall &call) {
  mlir::Value x = tensor(call, 0), scale, bias;
  const WeightRef *ref = call.args[1].isNull() ? nullptr : &weightArg(call, 1);
  if (ref)
    scale = paramOf(call, *ref);
  if (!call.args[2].isNull())
    bias = paramOf(call, weightArg(call, 2));
  if (bias && !scale)
    opError(call, "there is a bias but no scale");
  return handle(LayerNormOp::create(b, at(call, ref), x.getType(), x, scale, bias,
                                    b.getF64FloatAttr(numberArg(call, 3))));
}

Importer::Results Importer::splitHeads(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  int64_t heads = intArg(call, 1), width = intArg(call, 2);
  return handle(SplitHeadsOp::create(b, at(call), rows({heads, width}), x));
}

Importer::Results Importer::mergeHeads(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
  if (shape.size() != 3)
    opError(call, "the value has no heads: its rank is " + std::to_string(shape.size()) +
                      ", expected 3");
  return handle(MergeHeadsOp::create(b, at(call), rows(shape[1] * shape[2]), x));
}

static Activation activationNamed(const OpCall &call, const std::string &name) {
  // The spellings of published configs (transformers' ACT2FN).
  static const llvm::StringMap<Activation> table = {
      {"silu", Activation::Silu},          {"swish", Activation::Silu},
      {"gelu", Activation::GeluErf},       {"gelu_new", Activation::GeluTanh},
      {"gelu_tanh", Activation::GeluTanh}, {"gelu_pytorch_tanh", Activation::GeluTanh},
      {"relu", Activation::Relu},          {"sigmoid", Activation::Sigmoid},
      {"tanh", Activation::Tanh},          {"gelu_fast", Activation::GeluTanh},
      {"gelu_python", Activation::GeluErf}, {"quick_gelu", Activation::GeluQuick},
      {"gelu_quick", Activation::GeluQuick}, {"relu2", Activation::ReluSquared},
      {"relu_squared", Activation::ReluSquared}, {"sqrelu", Activation::ReluSquared},
      {"softplus", Activation::Softplus},  {"exp", Activation::Exp},
      {"log", Activation::Log},            {"sqrt", Activation::Sqrt},
      {"reciprocal", Activation::Reciprocal}};
  auto found = table.find(name);
  if (found == table.end())
    opError(call, "activation '" + name + "' is not known");
  return found->second;
}

Importer::Results Importer::gate(const OpCall &call) {
  const auto *act = call.findNamed("act");
  const std::string *name = act ? act->get<std::string>() : nullptr;
  if (!name)
    opError(call, "'act' must name an activation");
  mlir::Value g = tensor(call, 0), u = tensor(call, 1);
  return handle(GateOp::create(b, at(call), g.getType(), activationNamed(call, *name), g, u));
}

Importer::Results Importer::activation(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  return handle(ActivationOp::create(b, at(call), x.getType(),
                                     activationNamed(call, textArg(call, 1)), x));
}

Importer::Results Importer::scale(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  return handle(ScaleOp::create(b, at(call), x.getType(), x,
                                b.getF64FloatAttr(numberArg(call, 1))));
}

FloatAttr Importer::softcapOf(const OpCall &call, const llmc::frontend::Value &value) {
  // The operations compute in f32.
  float cap = value.isNumber() ? float(value.asDouble()) : 0;
  if (!std::isfinite(cap) || cap <= 0)
    opError(call, "a softcap must be a number that is positive and finite in f32, got " +
                      value.toText());
  return b.getF64FloatAttr(value.asDouble());
}

Importer::Results Importer::softcap(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  if (call.args.size() != 2)
    opError(call, "needs a value and its cap");
  return handle(SoftcapOp::create(b, at(call), x.getType(), x, softcapOf(call, call.args[1])));
}

Importer::Results Importer::selectRows(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  return handle(SelectRowsOp::create(b, at(call), x.getType(), x, batch));
}

Importer::Results Importer::outputHead(const OpCall &call) {
  const WeightRef &ref = weightArg(call, 1);
  mlir::Value x = tensor(call, 0), weight = paramOf(call, ref);
  int64_t width = cast<WeightType>(weight.getType()).getShape().front();
  return handle(OutputHeadOp::create(b, at(call, &ref), rows(width), x, weight));
}

Importer::Results Importer::observe(const OpCall &call) {
  const std::string &name = textArg(call, 1);
  mlir::Value layer = name.find("{i") == std::string::npos ? mlir::Value() : layerIndex;
  ObserveOp::create(b, at(call), tensor(call, 0), name, layer);
  return {call.args[0]};
}

Importer::Results Importer::layers(const OpCall &call) {
  SmallVector<mlir::Value> carried, invariants;
  for (size_t i = 0; i < call.args.size(); ++i)
    carried.push_back(tensor(call, i));
  for (const llmc::frontend::Value &value : stepValues(call))
    invariants.push_back(values.at(value.get<Handle>()->id));
  layersCall = call;
  carriedTypes.assign(ValueRange(carried).getTypes().begin(), ValueRange(carried).getTypes().end());
  stepTypes.assign(ValueRange(invariants).getTypes().begin(),
                   ValueRange(invariants).getTypes().end());
  invariants.push_back(batch);
  for (const ScheduleRun &run : compressSchedule(model.schedule)) {
    SmallVector<Attribute> callees;
    for (uint32_t kind : run.pattern)
      callees.push_back(FlatSymbolRefAttr::get(&context, model.kinds[kind].name));
    auto repeat = RepeatOp::create(b, at(call), TypeRange(carriedTypes), b.getArrayAttr(callees),
                                   b.getI64IntegerAttr(run.from), b.getI64IntegerAttr(run.count),
                                   carried, invariants);
    carried.assign(repeat.getResults().begin(), repeat.getResults().end());
  }
  Results results;
  for (mlir::Value value : carried)
    results.push_back(handle(value).front());
  return results;
}

std::vector<llmc::frontend::Value> Importer::op(const OpCall &call) {
  static const llvm::StringMap<Rule> rules = {{"embedding", &Importer::embedding},
                                              {"position_embedding",
                                               &Importer::positionEmbedding},
                                              {"linear", &Importer::linear},
                                              {"rms_norm", &Importer::rmsNorm},
                                              {"layer_norm", &Importer::layerNorm},
                                              {"split_heads", &Importer::splitHeads},
                                              {"merge_heads", &Importer::mergeHeads},
                                              {"rotary", &Importer::rotary},
                                              {"attend", &Importer::attend},
                                              {"select_positions", &Importer::selectPositions},
                                              {"pool_tokens", &Importer::poolTokens},
                                              {"select_entries", &Importer::selectEntries},
                                              {"joint_attend", &Importer::jointAttend},
                                              {"sinkhorn", &Importer::sinkhorn},
                                              {"no_positions", &Importer::noPositions},
                                              {"head_linear", &Importer::headLinear},
                                              {"gate", &Importer::gate},
                                              {"activation", &Importer::activation},
                                              {"residual_add", &Importer::arithmetic},
                                              {"add", &Importer::arithmetic},
                                              {"sub", &Importer::arithmetic},
                                              {"mul", &Importer::arithmetic},
                                              {"div", &Importer::arithmetic},
                                              {"min", &Importer::arithmetic},
                                              {"max", &Importer::arithmetic},
                                              {"weight_rows", &Importer::weightRows},
                                              {"offset", &Importer::offset},
                                              {"clamp", &Importer::clamp},
                                              {"softmax", &Importer::softmax},
                                              {"mean", &Importer::rowStatistic},
                                              {"deviation", &Importer::rowStatistic},
                                              {"sum", &Importer::rowStatistic},
                                              {"row_max", &Importer::rowStatistic},
                                              {"slice", &Importer::slice},
                                              {"concat", &Importer::concat},
                                              {"transpose", &Importer::transpose},
                                              {"take", &Importer::take},
                                              {"put", &Importer::put},
                                              {"mix", &Importer::mix},
                                              {"position_scale", &Importer::positionScale},
                                              {"scale", &Importer::scale},
                                              {"softcap", &Importer::softcap},
                                              {"select_rows", &Importer::selectRows},
                                              {"output_head", &Importer::outputHead},
                                              {"observe", &Importer::observe},
                                              {"route", &Importer::route},
                                              {"expert_linear", &Importer::expertLinear},
                                              {"expert_sum", &Importer::expertSum},
                                              {"causal_conv", &Importer::causalConv},
                                              {"token_shift", &Importer::tokenShift},
                                              {"linear_attention", &Importer::linearAttention},
                                              {"expert_spread", &Importer::expertSpread},
                                              {"layers", &Importer::layers}};
  auto rule = rules.find(call.name);
  if (func::FuncOp definition; rule == rules.end() && library)
    if ((definition = library->find(call.name)))
      return composite(call, definition);
  if (rule == rules.end())
    opError(call, "no operation of the llm dialect has this name");
  return (this->*rule->second)(call);
}

void Importer::emitKind(uint32_t kind) {
  const LayerKind &layer = model.kinds[kind];
  currentKind = kind;
  sampleLayer = layer.layers.front();
  statesInLayer.clear();
  values.clear();
  SmallVector<Type> arguments{b.getIndexType()};
  llvm::append_range(arguments, carriedTypes);
  llvm::append_range(arguments, stepTypes);
  arguments.push_back(BatchType::get(&context));
  b.setInsertionPointToEnd(module->getBody());
  Location loc = NameLoc::get(b.getStringAttr("model.layers.{i}"));
  auto function =
      func::FuncOp::create(b, loc, layer.name, b.getFunctionType(arguments, carriedTypes));
  function.setPrivate();
  Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  layerIndex = body->getArgument(0);
  batch = body->getArguments().back();
  ValueList inputs;
  for (mlir::Value argument : body->getArguments().drop_front().drop_back())
    inputs.push_back(handle(argument).front());
  SmallVector<mlir::Value> out;
  for (const llmc::frontend::Value &value :
       carriedValues(layersCall, model.emitLayer(kind, *this, inputs), layer.name))
    out.push_back(values[value.get<Handle>()->id]);
  if (TypeRange(ValueRange(out)) != TypeRange(carriedTypes))
    throw InputError(model.description->file + ": block '" + layer.block +
                     "' hands on values of other types than it was given");
  func::ReturnOp::create(b, loc, out);
}

void Importer::emitEntry() {
  sampleLayer = -1;
  values.clear();
  layerIndex = nullptr;
  b.setInsertionPointToEnd(module->getBody());
  Location loc = NameLoc::get(b.getStringAttr("model"));
  Type tokens = RankedTensorType::get({ShapedType::kDynamic}, b.getI32Type());
  Type batchType = BatchType::get(&context);
  auto function = func::FuncOp::create(
      b, loc, "forward",
      b.getFunctionType({tokens, batchType}, {rows(model.vocabSize)}));
  function->setAttr("llm.entry", b.getUnitAttr());
  Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  batch = body->getArgument(1);
  values.push_back(body->getArgument(0));
  llmc::frontend::Value result = model.emitModel(*this, Handle{0});
  const Handle *out = result.get<Handle>();
  if (!out)
    throw InputError(model.description->file + ": 'model' does not end in a tensor");
  mlir::Value logits = values[out->id];
  func::ReturnOp::create(b, loc, logits);
  function.setType(b.getFunctionType({tokens, batchType}, {logits.getType()}));
}

/// The constants of some layers of a family, null where it is stored.
DenseF32ArrayAttr Importer::constantsOf(const WeightFamily &family,
                                        const std::set<int64_t> &layers) {
  if (family.constants.empty())
    return {};
  if (!family.perLayer)
    return b.getDenseF32ArrayAttr(family.constants);
  size_t elements = family.constants.size() / family.layers.size();
  std::vector<float> values;
  for (size_t i = 0; i < family.layers.size(); ++i)
    if (layers.count(family.layers[i]))
      values.insert(values.end(), family.constants.begin() + i * elements,
                    family.constants.begin() + (i + 1) * elements);
  return b.getDenseF32ArrayAttr(values);
}

void Importer::emitFamilies() {
  b.setInsertionPointToStart(module->getBody());
  for (const Weight &weight : weights) {
    const WeightFamily &family = model.families[weight.family];
    LayersAttr layers;
    if (family.perLayer)
      layers = LayersAttr::fromList(
          &context, SmallVector<int64_t>(weight.layers.begin(), weight.layers.end()));
    StringAttr checkpoint;
    if (family.checkpointName != family.publishedName && !family.checkpointName.empty())
      checkpoint = b.getStringAttr(family.checkpointName);
    Location loc = NameLoc::get(b.getStringAttr(family.publishedName));
    bool rows = family.storedRows != 0;
    ViewAttr view;
    if (family.needsView)
      view = ViewAttr::get(&context, family.view.stored, family.view.first, family.view.strides);
    WeightFamilyOp::create(b, loc, b.getStringAttr(weight.symbol),
                           b.getStringAttr(family.publishedName), checkpoint, layers,
                           TypeAttr::get(weight.type),
                           rows ? b.getI64IntegerAttr(family.firstRow) : nullptr,
                           rows ? b.getI64IntegerAttr(family.storedRows) : nullptr,
                           family.transposed && !view ? b.getUnitAttr() : nullptr, view,
                           constantsOf(family, weight.layers));
  }
  for (const State &state : states)
    StateFamilyOp::create(
        b, b.getUnknownLoc(), b.getStringAttr(state.symbol),
        LayersAttr::fromList(&context,
                             SmallVector<int64_t>(state.layers.begin(), state.layers.end())),
        TypeAttr::get(state.type));
}

OwningOpRef<ModuleOp> Importer::run() {
  module = ModuleOp::create(b.getUnknownLoc());
  auto ids = [&](const std::vector<int64_t> &list) { return b.getDenseI64ArrayAttr(list); };
  int64_t parameters = 0;
  for (const WeightFamily &family : model.families) {
    if (family.tiedTo >= 0 || !family.constants.empty())
      continue;
    int64_t elements = family.count();
    for (int64_t dim : family.shape)
      elements *= dim;
    parameters += elements;
  }
  (*module)->setAttr(
      "llm.model",
      b.getDictionaryAttr(
          {b.getNamedAttr("architecture", b.getStringAttr(model.architecture)),
           b.getNamedAttr("description", b.getStringAttr(model.inferredFrom.empty()
                                                            ? model.description->name
                                                            : "inferred from " + model.inferredFrom +
                                                                  ", not proved")),
           b.getNamedAttr("vocab_size", b.getI64IntegerAttr(model.vocabSize)),
           b.getNamedAttr("hidden_size", b.getI64IntegerAttr(model.hiddenSize)),
           b.getNamedAttr("layers", b.getI64IntegerAttr(model.layerCount())),
           b.getNamedAttr("context_length", b.getI64IntegerAttr(model.contextLength)),
           b.getNamedAttr("parameters", b.getI64IntegerAttr(parameters)),
           b.getNamedAttr("bos_token_ids", ids(model.bosIds)),
           b.getNamedAttr("eos_token_ids", ids(model.eosIds))}));
  emitEntry();
  if (carriedTypes.empty())
    throw InputError(model.description->file + ": 'model' never calls 'layers'");
  for (uint32_t kind = 0; kind < model.kinds.size(); ++kind)
    emitKind(kind);
  emitFamilies();
  recordLibraries();
  return std::move(module);
}

OwningOpRef<ModuleOp> importModel(const ResolvedModel &model, MLIRContext &context,
                                  const OpLibrary *library) {
  context.loadDialect<LLMDialect, func::FuncDialect, arith::ArithDialect>();
  OwningOpRef<ModuleOp> module;
  try {
    module = Importer(model, context, library).run();
  } catch (const std::exception &error) {
    emitError(UnknownLoc::get(&context)) << error.what();
    return nullptr;
  }
  if (failed(verify(*module)))
    return nullptr;
  return module;
}

} // namespace llmc::frontend
