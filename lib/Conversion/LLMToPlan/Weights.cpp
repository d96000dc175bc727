//===- Weights.cpp - weight families as packed families -------------------===//
#include "Converter.h"

#include "llmc/Kernels/CPU/Storage.h"
#include "llmc/Support/LayerName.h"
#include "llmc/Support/StateRing.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace llmc {

using namespace llm;

static plan::LayersAttr planLayers(LayersAttr layers) {
  return layers ? plan::LayersAttr::get(layers.getContext(), layers.getBounds())
                : plan::LayersAttr();
}

static std::optional<plan::Storage> planStorage(WeightType type) {
  return plan::symbolizeStorage(type.getStorageName());
}

static int64_t align64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

WeightFamilyOp Converter::familyOf(Value weight) {
  auto param = weight.getDefiningOp<ParamOp>();
  return param ? symbols.lookup<WeightFamilyOp>(param.getFamily()) : WeightFamilyOp();
}

FailureOr<std::optional<int64_t>> Converter::layerNumber(Operation *op, Value layer) {
  if (!layer)
    return std::optional<int64_t>();
  if (IntegerAttr number; matchPattern(layer, m_Constant(&number)))
    return std::optional(number.getInt());
  auto index = dyn_cast<BlockArgument>(layer);
  if (!index || index.getArgNumber() != 0 || !isa<func::FuncOp>(index.getOwner()->getParentOp()))
    return op->emitOpError("has a layer that is neither the index of the layer at hand nor a "
                           "number; the plan computes no indices");
  return std::optional<int64_t>();
}

FailureOr<Converter::Member> Converter::memberOf(Location loc, Value weight) {
  Member member;
  member.family = familyOf(weight);
  if (!member.family)
    return emitError(loc) << "weight is no member of a family";
  auto param = weight.getDefiningOp<ParamOp>();
  auto number = layerNumber(param, param.getLayer());
  if (failed(number))
    return failure();
  member.fixed = *number;
  LayersAttr layers = member.family.getLayersAttr();
  if (!layers)
    return member;
  if (!member.fixed && !functionLayers)
    return emitError(loc) << "@" << member.family.getSymName()
                          << " belongs to layers and is used outside of one";
  member.ofLayer = !member.fixed;
  for (int64_t layer : member.fixed ? SmallVector<int64_t>{*member.fixed} : functionLayers.expand())
    if (!layers.contains(layer))
      return emitError(loc) << "@" << member.family.getSymName() << " has no member for layer "
                            << layer;
  return member;
}

FailureOr<LayersAttr> Converter::layersHere(Location loc, ArrayRef<Value> weights) {
  LayersAttr layers;
  for (Value weight : weights) {
    if (!weight)
      continue;
    auto member = memberOf(loc, weight);
    if (failed(member))
      return failure();
    if (member->ofLayer)
      layers = functionLayers;
  }
  return layers;
}

std::string Converter::Member::name() {
  std::string name = family.getSymName().str();
  return fixed ? name + "." + std::to_string(*fixed) : name;
}

std::string Converter::Member::key() {
  std::string name = family.getSymName().str();
  return std::to_string(name.size()) + ":" + name + (fixed ? "." + std::to_string(*fixed) : "") + ",";
}

/// What keeps packed weights apart: members, layout and layers.
static std::string packedKey(StringRef members, StringRef layout, LayersAttr layers) {
  std::string key = (members + layout).str();
  if (layers)
    for (int64_t bound : layers.getBounds())
      key += "," + std::to_string(bound);
  return key;
}

/// Where `rows` rows of each matrix of a member come from, in a launch that has `layers`. Its type
/// has dimensions of matrices (`stacked`), rows and columns, of which a vector has none.
plan::SourceAttr Converter::sourceOf(const Member &member, LayersAttr layers, int64_t rows,
                                     bool stacked, bool isVector) {
  MLIRContext *context = module.getContext();
  WeightFamilyOp family = member.family;
  if (std::optional<ArrayRef<float>> values = family.getValues()) {
    if (!family.getLayersAttr())
      return plan::SourceAttr::get(context, rows, family.getValuesAttr());
    // Of the layers at hand.
    SmallVector<int64_t> all = family.getLayersAttr().expand();
    int64_t elements = family.getType().getNumElements();
    SmallVector<float> here;
    for (int64_t layer : member.fixed ? SmallVector<int64_t>{*member.fixed} : layers.expand())
      llvm::append_range(here, values->slice(size_t((llvm::find(all, layer) - all.begin()) * elements),
                                             size_t(elements)));
    return plan::SourceAttr::get(context, rows, DenseF32ArrayAttr::get(context, here));
  }
  // The tensor of one layer is the same one in whichever layers the launch runs.
  auto nameOf = [&](StringRef name) {
    return member.fixed ? resolveLayer(name, *member.fixed) : name.str();
  };
  std::string tensor = nameOf(family.getCheckpoint().value_or(family.getSource()));
  int64_t first = family.getFirstRow().value_or(0), of = family.getStoredRows().value_or(0);
  bool transposed = family.getTransposed();
  plan::ViewAttr view;
  if (family.getView() || (stacked && (of || transposed))) {
    ViewAttr own = family.getEffectiveView();
    SmallVector<int64_t> strides(own.getStrides());
    if (isVector)
      strides.push_back(1);
    view = plan::ViewAttr::get(context, own.getStored(), own.getFirst(), strides);
    first = of = 0;
    transposed = false;
  }
  return plan::SourceAttr::get(context, tensor, rows,
                               StringAttr::get(context, nameOf(family.getSource())),
                               DenseF32ArrayAttr(),
                               first, of, transposed, view);
}

/// A symbol that nothing else has.
static std::string freeName(llvm::StringMap<unsigned> &names, const std::string &name) {
  std::string symbol = name;
  for (unsigned i = 1; names.count(symbol); ++i)
    symbol = name + "." + std::to_string(i);
  names[symbol]++;
  return symbol;
}

FailureOr<Converter::PackedWeight> Converter::packPanels(Location loc, ArrayRef<Value> weights,
                                                         int64_t tile, bool interleave) {
  MLIRContext *context = module.getContext();
  std::string key, name;
  SmallVector<Attribute> sources;
  WeightType first;
  int64_t rows = 0;
  auto layers = layersHere(loc, weights);
  if (failed(layers))
    return failure();
  for (Value weight : weights) {
    auto member = memberOf(loc, weight);
    if (failed(member))
      return failure();
    auto type = cast<WeightType>(member->family.getType());
    if (!first)
      first = type;
    // All but the rows agree: [rows, columns], or [matrices, rows, columns].
    ArrayRef<int64_t> shape = type.getShape(), other = first.getShape();
    bool alike = shape.size() == other.size() && (shape.size() == 2 || shape.size() == 3) &&
                 shape.back() == other.back() && (shape.size() == 2 || shape[0] == other[0]);
    if (type.getStorage() != first.getStorage() || !alike)
      return emitError(loc) << "weights of one launch differ: @" << member->family.getSymName()
                            << " is " << type << ", the first is " << first;
    int64_t count = shape[shape.size() - 2];
    rows += interleave ? (count + 15) / 16 * 16 : count;
    sources.push_back(sourceOf(*member, *layers, count, /*stacked=*/shape.size() == 3));
    name += (name.empty() ? "" : "_") + member->name();
    key += member->key();
  }
  key = packedKey(key, (interleave ? ".gated." : ".panels.") + std::to_string(tile), *layers);
  if (auto known = packed.find(key); known != packed.end())
    return known->second;
  auto storage = planStorage(first);
  if (!storage)
    return emitError(loc) << "no CPU kernel reads weights stored as " << first.getStorageName();
  int64_t cols = first.getShape().back();
  int64_t matrices = first.getRank() == 3 ? first.getShape()[0] : 1;
  int64_t bytes = kernels::packedBytes(*kernels::findStorage(first.getStorageName()), rows, cols, tile);
  PackedWeight weight;
  weight.perLayer = bool(*layers);
  weight.symbol = freeName(names, name);
  auto op = plan::WeightsOp::create(declare, loc, weight.symbol, "weights", planLayers(*layers),
                                    rows, cols, *storage, plan::PanelsAttr::get(context, tile),
                                    interleave ? 16 : 0, bytes * matrices, sources, matrices);
  if (failed(markSplit(op, weights)))
    return failure();
  describeWeights(op);
  packed[key] = weight;
  return weight;
}

FailureOr<Converter::PackedWeight> Converter::packVectors(Location loc, ArrayRef<Value> weights,
                                                          ArrayRef<int64_t> lengths,
                                                          bool interleave) {
  MLIRContext *context = module.getContext();
  std::string key, name;
  SmallVector<Attribute> sources;
  std::optional<plan::Storage> storage;
  int64_t rows = 0;
  auto layers = layersHere(loc, weights);
  if (failed(layers))
    return failure();
  std::optional<int64_t> stacked;
  for (auto [i, weight] : llvm::enumerate(weights)) {
    int64_t count;
    if (!weight) {
      count = lengths[i];
      sources.push_back(plan::SourceAttr::get(context, "", count, StringAttr()));
      name += ".zeros" + std::to_string(count);
      key += "0:" + std::to_string(count) + ",";
    } else {
      auto member = memberOf(loc, weight);
      if (failed(member))
        return failure();
      WeightFamilyOp family = member->family;
      auto type = cast<WeightType>(family.getType());
      // One vector, or one for each matrix of a product.
      int64_t matrices = type.getRank() == 2 ? type.getShape()[0] : 1;
      if (type.getRank() > 2 || (stacked && *stacked != matrices))
        return emitError(loc) << "@" << family.getSymName() << " is " << type
                              << ", expected a vector"
                              << (stacked && *stacked > 1
                                      ? " for each of " + std::to_string(*stacked)
                                      : std::string());
      stacked = matrices;
      auto own = planStorage(type);
      if (!own || (storage && *storage != *own))
        return emitError(loc) << "@" << family.getSymName() << " is stored as "
                              << type.getStorageName() << "; vectors of one launch are stored "
                              << "alike, as f32, f16 or bf16";
      storage = own;
      count = type.getShape().back();
      sources.push_back(sourceOf(*member, *layers, count, type.getRank() == 2, /*isVector=*/true));
      name += (name.empty() ? "" : "_") + member->name();
      key += member->key();
    }
    rows += interleave ? (count + 15) / 16 * 16 : count;
  }
  key = packedKey(key, interleave ? ".alternating" : ".rows", *layers);
  if (auto known = packed.find(key); known != packed.end())
    return known->second;
  int64_t matrices = stacked.value_or(1);
  PackedWeight weight;
  weight.perLayer = bool(*layers);
  weight.symbol = freeName(names, name);
  auto op = plan::WeightsOp::create(declare, loc, weight.symbol, "weights", planLayers(*layers),
                                    rows, 1, *storage, plan::RowsAttr::get(context), interleave ? 16 : 0,
                                    align64(rows * 4) * matrices, sources, matrices);
  if (failed(markSplit(op, weights)))
    return failure();
  describeWeights(op);
  packed[key] = weight;
  return weight;
}

FailureOr<Converter::PackedWeight> Converter::packMatrix(Location loc, Value weight) {
  auto member = memberOf(loc, weight);
  if (failed(member))
    return failure();
  WeightFamilyOp family = member->family;
  auto type = cast<WeightType>(family.getType());
  auto storage = planStorage(type);
  if (!storage || !isa<DenseAttr>(type.getStorage()))
    return emitError(loc) << "@" << family.getSymName() << " is stored as "
                          << type.getStorageName() << ", expected f32, f16 or bf16";
  if (type.getRank() > 2 && (family.getView() || family.hasTensorPerExpert()))
    return emitError(loc) << "@" << family.getSymName() << " is " << type
                          << ", of which no kernel reads a part of a stored tensor";
  auto layers = layersHere(loc, weight);
  if (failed(layers))
    return failure();
  std::string name = member->name(), key = packedKey(member->key(), ".matrix", *layers);
  if (auto known = packed.find(key); known != packed.end())
    return known->second;
  PackedWeight matrix;
  matrix.perLayer = bool(*layers);
  matrix.symbol = freeName(names, name);
  int64_t rows = type.getShape()[0], cols = type.getNumElements() / rows;
  auto op = plan::WeightsOp::create(declare, loc, matrix.symbol, "weights",
                                    planLayers(*layers), rows, cols, *storage,
                                    plan::RowsAttr::get(module.getContext()), /*interleave=*/0,
                                    align64(rows * cols * 4),
                                    {sourceOf(*member, *layers, rows)});
  if (failed(markSplit(op, weight)))
    return failure();
  describeWeights(op);
  packed[key] = matrix;
  return matrix;
}

FailureOr<Converter::PackedWeight> Converter::packRows(Location loc, Value weight) {
  return cast<WeightType>(weight.getType()).getRank() == 1
             ? packVectors(loc, {weight}, {}, /*interleave=*/false)
             : packMatrix(loc, weight);
}

Converter::PackedWeight Converter::packLayerNumbers() {
  MLIRContext *context = module.getContext();
  std::string key = packedKey("layer", ".number", functionLayers);
  if (auto known = packed.find(key); known != packed.end())
    return known->second;
  PackedWeight weight;
  weight.perLayer = true;
  weight.symbol = "layer";
  for (unsigned i = 1; names.count(weight.symbol); ++i)
    weight.symbol = "layer." + std::to_string(i);
  names[weight.symbol]++;
  SmallVector<float> numbers;
  plan::LayersAttr layers = planLayers(functionLayers);
  for (size_t i = 0; i < layers.getNumRanges(); ++i)
    for (auto [layer, end] = layers.getRange(i); layer < end; ++layer)
      numbers.push_back(float(layer));
  auto source = plan::SourceAttr::get(context, 1, DenseF32ArrayAttr::get(context, numbers));
  plan::WeightsOp::create(declare, module.getLoc(), weight.symbol, "weights", layers, 1, 1,
                          plan::Storage::F32, plan::RowsAttr::get(context), 0, align64(4),
                          {source});
  packed[key] = weight;
  return weight;
}

Converter::PackedWeight Converter::packConstants(StringRef name, ArrayRef<float> values) {
  MLIRContext *context = module.getContext();
  std::string key = "=" + name.str();
  for (float value : values)
    key += "," + std::to_string(llvm::bit_cast<uint32_t>(value));
  if (auto known = packed.find(key); known != packed.end())
    return known->second;
  PackedWeight weight;
  weight.symbol = freeName(names, name.str());
  int64_t rows = int64_t(values.size());
  auto source =
      plan::SourceAttr::get(context, rows, DenseF32ArrayAttr::get(context, values));
  plan::WeightsOp::create(declare, module.getLoc(), weight.symbol, "weights", plan::LayersAttr(),
                          rows, 1, plan::Storage::F32, plan::RowsAttr::get(context), 0,
                          align64(rows * 4), {source});
  packed[key] = weight;
  return weight;
}

plan::LimitsAttr Converter::boundStates(plan::LimitsAttr limits) {
  windows = findStateWindows(module);
  int64_t blocks = 0;
  for (auto &family : windows) {
    std::erase_if(family.second,
                  [&](const auto &entry) { return !limits.wantsRing(entry.second); });
    for (auto [layer, window] : family.second)
      blocks = std::max(blocks, leastRingBlocks(window, limits.getMaxTokens(),
                                                limits.getBlockTokens()));
  }
  if (!blocks)
    return limits;
  return plan::LimitsAttr::get(limits.getContext(), limits.getMaxTokens(),
                               limits.getMaxSequences(), limits.getMaxContext(),
                               limits.getBlockTokens(), limits.getBlocks(),
                               limits.getMaxOutputs(), blocks);
}

FailureOr<Converter::PackedWeight> Converter::stateOf(Value cache) {
  auto state = cache.getDefiningOp<llm::StateOp>();
  auto family = state ? symbols.lookup<StateFamilyOp>(state.getFamily()) : StateFamilyOp();
  if (!family)
    return emitError(cache.getLoc()) << "cache is no member of a state family";
  PackedWeight plan;
  plan.perLayer = true;
  // What another layer keeps: this step has added to it already.
  auto number = layerNumber(state, state.getLayer());
  if (failed(number))
    return failure();
  plan.fixed = *number;
  LayersAttr all = family.getLayersAttr();
  if (plan.fixed && all && !all.contains(*plan.fixed))
    return state.emitOpError("asks for layer ") << *plan.fixed << " but family @"
                                                << family.getSymName() << " has no such member";
  const LayerWindows &bound = windows[family.getSymName()];
  auto windowOf = [&](int64_t at) {
    auto found = bound.find(at);
    return found == bound.end() ? std::optional<int64_t>() : std::optional(found->second);
  };
  std::optional<int64_t> window;
  SmallVector<int64_t> alike = all ? all.expand() : SmallVector<int64_t>();
  if (!bound.empty() && (plan.fixed || functionLayers)) {
    // The layers of a function are alike.
    window = windowOf(plan.fixed ? *plan.fixed : functionLayers.expand().front());
    llvm::erase_if(alike, [&](int64_t other) { return windowOf(other) != window; });
  }
  std::string key = "state:" + family.getSymName().str() + ":" + std::to_string(window.value_or(0));
  if (auto known = packed.find(key); known != packed.end()) {
    plan.symbol = known->second.symbol;
    return plan;
  }
  bool isPart = alike.size() < (all ? all.expand().size() : 0);
  plan.symbol = freeName(names, family.getSymName().str() + (window && isPart ? ".window" : ""));
  auto type = cast<CacheType>(family.getType());
  ArrayRef<int64_t> shape = type.getShape();
  plan::LayersAttr layers =
      planLayers(isPart ? LayersAttr::fromList(module.getContext(), alike) : all);
  auto declareState = [&](plan::StateKind kind, ArrayRef<int64_t> dims, int64_t elements) {
    plan::StateOp::create(declare, family.getLoc(), plan.symbol, "state", layers, kind, dims[0],
                          dims[1], dims[2], type.getElementType(), align64(elements * 4), window);
  };
  switch (type.getKind()) {
  case CacheKind::Recurrent:
    declareState(plan::StateKind::Recurrent, shape, shape[0] * shape[1] * shape[2]);
    break;
  case CacheKind::Conv:
    // The rows are inputs, so that a kernel's vectors run over channels.
    declareState(plan::StateKind::Conv, {1, shape[1], shape[0]}, shape[0] * shape[1]);
    break;
  case CacheKind::Latent:
    // A paged state without values.
    declareState(plan::StateKind::Paged, {shape[0], shape[1], 0},
                 shape[0] * shape[1] * options.blockTokens);
    break;
  case CacheKind::Entries: {
    // Each token of a group has its share of the entry's channels at its own position.
    int64_t share = llvm::divideCeil(shape[1], shape[0]);
    declareState(plan::StateKind::Paged, {1, 0, share}, share * options.blockTokens);
    break;
  }
  case CacheKind::Paged:
  case CacheKind::Window:
    declareState(plan::StateKind::Paged, shape,
                 shape[0] * (shape[1] + shape[2]) * options.blockTokens);
  }
  packed[key] = plan;
  return plan;
}

} // namespace llmc
