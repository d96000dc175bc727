//===- Diff.cpp - what differs between two models -------------------------===//
#include "llmc/Frontend/Diff.h"

#include "ShapeHooks.h"
#include "llmc/Frontend/GgufConfig.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace llmc::frontend {

int64_t DiffSide::stateBytesBf16(int64_t tokens) const {
  int64_t bytes = report.fullAttentionBytesPerTokenBf16 * tokens;
  for (const InspectReport::Window &window : report.windows)
    bytes += window.bytesPerTokenBf16 * std::min(tokens, window.window);
  return bytes + 2 * (report.recurrentStateElements + report.recurrentConvElements +
                      report.recurrentBufferElements);
}

namespace {

std::string ropeText(const RopeRecord &rope) {
  auto number = [](double value) { return Value(value).toText(); };
  std::string text = std::string(ropeTypeName(rope.type)) + " theta " + number(rope.theta) + " of " +
                     std::to_string(rope.dim) + (rope.interleaved ? " interleaved" : " halves");
  if (rope.factor != 1)
    text += " factor " + number(rope.factor);
  if (rope.attentionFactor != 1)
    text += " times " + number(rope.attentionFactor);
  if (rope.originalMaxPositions)
    text += " from " + std::to_string(rope.originalMaxPositions);
  if (rope.rotatedPairs)
    text += " pairs " + std::to_string(rope.rotatedPairs);
  return text;
}

/// Counts operations by name and settings; tensors and weights are no settings.
class OperatorCounter final : public ShapeHooks {
public:
  explicit OperatorCounter(const ResolvedModel &model) : ShapeHooks(model), model(model) {}

  std::map<std::string, int64_t> counts;

  std::vector<Value> op(const OpCall &call) override {
    if (call.name != "observe" && call.name != "layers") {
      bool inLayer = !(call.path == "model" || call.path.starts_with("model."));
      int64_t times = inLayer ? int64_t(model.kinds[currentKind].layers.size()) : 1;
      // A product a weight, however many stand in one statement.
      bool perWeight = call.name == "linear" || call.name == "expert_linear";
      int64_t weights = std::count_if(call.args.begin(), call.args.end(), [](const Value &value) {
        return value.is<WeightRef>();
      });
      counts[signature(call)] += times * (perWeight ? std::max<int64_t>(1, weights) : 1);
    }
    return ShapeHooks::op(call);
  }

private:
  std::string setting(const Value &value) const {
    if (const RopeRef *rope = value.get<RopeRef>())
      return ropeText(model.ropes[rope->index]);
    return value.toText();
  }
  std::string signature(const OpCall &call) const {
    std::string settings;
    auto add = [&](const std::string &name, const Value &value) {
      if (!value.is<Handle>() && !value.is<WeightRef>() && !value.isNull())
        settings += (settings.empty() ? "" : ", ") + (name.empty() ? "" : name + ": ") +
                    setting(value);
    };
    for (const Value &value : call.args)
      add("", value);
    auto named = call.named;
    std::sort(named.begin(), named.end(),
              [](const auto &x, const auto &y) { return x.first < y.first; });
    for (const auto &[name, value] : named)
      add(name, value);
    return call.name + (settings.empty() ? "" : "(" + settings + ")");
  }

  const ResolvedModel &model;
};

/// One spelling of a config key: without the nesting of multimodal configs, by its name and not
/// a synonym, rotary settings in one place.
std::string plainKey(std::string path, const Description &description) {
  static const std::string nesting = "text_config.", older = "rope_scaling.",
                           record = "rope_parameters.";
  if (path.starts_with(nesting))
    path.erase(0, nesting.size());
  if (path.starts_with(older))
    path.replace(0, older.size(), record);
  if (path == record + "type")
    return record + "rope_type";
  if (path == "rope_theta" || path == "original_max_position_embeddings")
    return record + path;
  if (path == "torch_dtype")
    return "dtype";
  for (const auto &[spelling, key] : description.synonyms)
    if (path == spelling)
      return key;
  return path;
}

/// The value of a path of the ledger; the parts of a path may themselves hold dots.
const Json *valueAt(const Json &object, const std::string &path) {
  for (const auto &[key, value] : object.members) {
    if (path == key || path == "'" + key + "'")
      return &value;
    if (value.isObject() && path.starts_with(key + "."))
      if (const Json *found = valueAt(value, path.substr(key.size() + 1)))
        return found;
  }
  return nullptr;
}

/// JSON text in which 1, 1.0 and 1e0 are one number.
std::string plainValue(const Json &value) {
  double number = value.asDouble();
  if (value.isNumber() && std::abs(number) < 1e15 && number == std::floor(number))
    return std::to_string(int64_t(number));
  return value.dump();
}

void fillKeys(DiffSide &side, const ResolvedModel &model) {
  const ModelSource &source = *model.source;
  Json config = source.isGguf() && model.description->gguf
                    ? ggufConfig(*source.gguf, *model.description->gguf)
                    : source.config;
  // Who made the file is no difference between models.
  static const std::set<std::string> identity = {"architectures", "model_type", "bos_token_id",
                                                 "eos_token_id", "pad_token_id"};
  std::set<std::string> paths;
  for (const auto &used : model.configLedger.used)
    paths.insert(used.first);
  for (const auto &unknown : model.configLedger.unknown)
    paths.insert(unknown.first);
  for (const std::string &path : paths) {
    std::string key = plainKey(path, *model.description);
    if (const Json *value = valueAt(config, path);
        value && !identity.count(key))
      side.keys[key] = plainValue(*value);
  }
}

void fillTensors(DiffSide &side, const ResolvedModel &model) {
  for (const WeightFamily &family : model.families)
    side.tensors[family.role].push_back(family.publishedName + " " + shapeText(family.shape) +
                                        " x " + std::to_string(family.count()) +
                                        (family.tiedTo >= 0 ? ", tied" : ""));
}

DiffSide describe(std::shared_ptr<const ModelSource> source, DescriptionSet &descriptions,
                  const InspectOptions &options) {
  DiffSide side;
  side.path = source->path;
  side.report = inspectModel(source, descriptions, options);
  std::shared_ptr<const Description> description = descriptions.match(*source);
  std::shared_ptr<ResolvedModel> model;
  if (description) {
    ResolveOptions resolve;
    resolve.collect = true;
    resolve.acceptKeys = options.acceptKeys;
    model = ResolvedModel::resolve(source, description, resolve);
  }
  if (!model || !model->isComplete()) {
    std::string message = side.path + ": cannot be compared, since it is " +
                          verdictName(side.report.verdict);
    for (size_t i = 0; i < side.report.reasons.size() && i < 10; ++i)
      message += "\n" + side.report.reasons[i];
    throw InputError(message);
  }
  side.description = description->name;
  side.extends = description->bases;
  side.layers = model->layerCount();
  side.contextLength = model->contextLength;
  side.vocabSize = model->vocabSize;
  side.hiddenSize = model->hiddenSize;
  for (const LayerKind &kind : model->kinds)
    side.kinds.push_back({kind.name, kind.layers});
  for (const auto &[name, value] : model->params) {
    const RopeRef *rope = value.get<RopeRef>();
    side.params[name] = rope ? ropeText(model->ropes[rope->index]) : value.toText();
  }
  fillKeys(side, *model);
  OperatorCounter counter(*model);
  model->emitModel(counter, Handle{0});
  side.operators = std::move(counter.counts);
  fillTensors(side, *model);
  return side;
}

void compareEntry(std::vector<DiffEntry> &out, const std::string &name, std::string a,
                  std::string b) {
  if (a != b)
    out.push_back({name, std::move(a), std::move(b)});
}

template <typename Map, typename Text>
std::vector<DiffEntry> compareMaps(const Map &a, const Map &b, Text text) {
  std::vector<DiffEntry> out;
  std::set<std::string> names;
  for (const Map *side : {&a, &b})
    for (const auto &entry : *side)
      names.insert(entry.first);
  for (const std::string &name : names) {
    DiffEntry entry{name, {}, {}};
    if (auto it = a.find(name); it != a.end())
      entry.a = text(it->second);
    if (auto it = b.find(name); it != b.end())
      entry.b = text(it->second);
    if (entry.a != entry.b)
      out.push_back(std::move(entry));
  }
  return out;
}

/// "0-4, 6"
std::string rangesText(const std::vector<int64_t> &layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i;
    while (end + 1 < layers.size() && layers[end + 1] == layers[end] + 1)
      ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(layers[i]) +
            (end > i ? "-" + std::to_string(layers[end]) : "");
    i = end + 1;
  }
  return text;
}

void compareSides(ModelDiff &diff) {
  const DiffSide &a = diff.a, &b = diff.b;
  auto numbers = [&](std::vector<DiffEntry> &out, const char *name, int64_t x, int64_t y) {
    compareEntry(out, name, std::to_string(x), std::to_string(y));
  };
  compareEntry(diff.structure, "architecture", a.report.architecture, b.report.architecture);
  compareEntry(diff.structure, "description", a.description, b.description);
  numbers(diff.structure, "layers", a.layers, b.layers);
  numbers(diff.structure, "hidden_size", a.hiddenSize, b.hiddenSize);
  numbers(diff.structure, "vocab_size", a.vocabSize, b.vocabSize);
  numbers(diff.structure, "context_length", a.contextLength, b.contextLength);
  numbers(diff.structure, "layer_kinds", int64_t(a.kinds.size()), int64_t(b.kinds.size()));
  for (size_t i = 0; i < std::max(a.kinds.size(), b.kinds.size()); ++i) {
    auto text = [&](const DiffSide &side) -> std::optional<std::string> {
      if (i >= side.kinds.size())
        return std::nullopt;
      return side.kinds[i].name + " in layers " + rangesText(side.kinds[i].layers);
    };
    if (std::max(a.kinds.size(), b.kinds.size()) > 1 && text(a) != text(b))
      diff.structure.push_back({"layer_kinds[" + std::to_string(i) + "]", text(a), text(b)});
  }
  diff.params = compareMaps(a.params, b.params, [](const std::string &text) { return text; });
  diff.keys = compareMaps(a.keys, b.keys, [](const std::string &text) { return text; });
  diff.operators =
      compareMaps(a.operators, b.operators, [](int64_t count) { return std::to_string(count); });
  diff.tensors = compareMaps(a.tensors, b.tensors, [](const std::vector<std::string> &lines) {
    std::string text;
    for (const std::string &line : lines)
      text += (text.empty() ? "" : "; ") + line;
    return text;
  });
  const InspectReport &x = a.report, &y = b.report;
  numbers(diff.state, "full_attention.layers", x.fullAttentionLayers, y.fullAttentionLayers);
  numbers(diff.state, "full_attention.bytes_per_token_bf16", x.fullAttentionBytesPerTokenBf16,
          y.fullAttentionBytesPerTokenBf16);
  std::map<std::string, std::string> windows[2];
  for (int i = 0; i < 2; ++i)
    for (const InspectReport::Window &window : (i ? y : x).windows) {
      std::string name = "window[" + std::to_string(window.window) + "]";
      windows[i][name + ".layers"] = std::to_string(window.layers);
      windows[i][name + ".bytes_per_token_bf16"] = std::to_string(window.bytesPerTokenBf16);
    }
  for (DiffEntry &entry :
       compareMaps(windows[0], windows[1], [](const std::string &text) { return text; }))
    diff.state.push_back(std::move(entry));
  numbers(diff.state, "recurrent.state_elements", x.recurrentStateElements,
          y.recurrentStateElements);
  numbers(diff.state, "recurrent.conv_elements", x.recurrentConvElements, y.recurrentConvElements);
  numbers(diff.state, "recurrent.buffer_elements", x.recurrentBufferElements,
          y.recurrentBufferElements);
  numbers(diff.memory, "parameters.total", x.parametersTotal, y.parametersTotal);
  numbers(diff.memory, "parameters.total_with_tied", x.parametersWithTied, y.parametersWithTied);
  numbers(diff.memory, "parameters.active", x.parametersActive, y.parametersActive);
  numbers(diff.memory, "weights_bytes_bf16", a.weightBytesBf16(), b.weightBytesBf16());
  for (int64_t tokens : {int64_t(1), int64_t(4096), int64_t(32768), int64_t(131072)}) {
    // What a model cannot hold is no number of it.
    auto bytes = [&](const DiffSide &side) -> std::optional<std::string> {
      if (side.contextLength && tokens > side.contextLength)
        return std::nullopt;
      return std::to_string(side.stateBytesBf16(tokens));
    };
    if (bytes(a) != bytes(b))
      diff.memory.push_back(
          {"state_bytes_bf16[" + std::to_string(tokens) + "]", bytes(a), bytes(b)});
  }
}

} // namespace

std::vector<DiffEntry> compareTexts(const std::map<std::string, std::string> &a,
                                    const std::map<std::string, std::string> &b) {
  return compareMaps(a, b, [](const std::string &text) { return text; });
}

ModelDiff diffModels(std::shared_ptr<const ModelSource> a, std::shared_ptr<const ModelSource> b,
                     DescriptionSet &descriptions, const InspectOptions &options) {
  ModelDiff diff;
  diff.a = describe(a, descriptions, options);
  diff.b = describe(b, descriptions, options);
  compareSides(diff);
  return diff;
}

} // namespace llmc::frontend
