//===- Twin.cpp - a small model of the same architecture ------------------===//
#include "llmc/Frontend/Twin.h"

#include "TwinSearch.h"
#include "llmc/Frontend/GgufConfig.h"
#include "llmc/Support/Error.h"

#include <algorithm>

namespace llmc::frontend {

/// The config of a model that is no Hugging Face folder says what it matches by.
static void nameModel(Json &config, const ModelSource &source, const Description &description) {
  if (config.find("model_type") || config.find("architectures"))
    return;
  if (description.modelTypes.empty())
    throw InputError(source.path + ": description '" + description.name +
                     "' matches no model_type, so a twin could not say what it is; add \"match\": "
                     "{ \"model_type\": [...] } to " + description.file);
  config.set("model_type", Json::makeString(description.modelTypes.front()));
}

/// What a GGUF file says of rotations by tensors, a config says by lists.
static void addRotaryFactors(Json &config, const ModelSource &source, const ResolvedModel &model) {
  auto stored = std::find_if(model.ropes.begin(), model.ropes.end(), [](const RopeRecord &rope) {
    return !rope.freqDivisors.empty() || !rope.shortFactors.empty();
  });
  if (stored == model.ropes.end())
    return;
  bool isDivided = !stored->freqDivisors.empty();
  if (isDivided && stored->type != RopeType::Default)
    throw InputError(source.path + ": divides rotary frequencies by a tensor and scales them by '" +
                     ropeTypeName(stored->type) + "' as well, which no config.json can say; make "
                                                  "the twin of the model's config.json");
  auto list = [](const std::vector<float> &factors) {
    Json json = Json::makeArray();
    for (float factor : factors)
      json.items.push_back(Json::makeDouble(double(factor)));
    return json;
  };
  Json record = Json::makeObject();
  if (const Json *there = config.find("rope_parameters"); there && there->isObject())
    record = *there;
  record.set("rope_type", Json::makeString(ropeTypeName(RopeType::LongRope)));
  record.set("short_factor", list(isDivided ? stored->freqDivisors : stored->shortFactors));
  record.set("long_factor", list(isDivided ? stored->freqDivisors : stored->longFactors));
  record.set("attention_factor", Json::makeDouble(stored->attentionFactor));
  if (isDivided) {
    record.set("factor", Json::makeDouble(1.0));
    record.set("original_max_position_embeddings", Json::makeInt(model.contextLength));
  }
  config.set("rope_parameters", std::move(record));
}

static Json configOf(const ModelSource &source, const Description &description,
                     const ResolvedModel &model) {
  if (!source.isGguf())
    return source.config;
  Json config = Json::makeObject();
  for (const auto &[key, value] : ggufConfig(*source.gguf, *description.gguf).members)
    if (model.configLedger.used.count(key) ||
        std::any_of(model.configLedger.used.begin(), model.configLedger.used.end(),
                    [&](const auto &used) { return used.first.starts_with(key + "."); }))
      config.set(key, value);
  addRotaryFactors(config, source, model);
  return config;
}

/// A twin's weights are plain f32.
static void removeQuantization(Json &config) {
  std::erase_if(config.members, [](const JsonMember &member) {
    return member.first == "quantization_config" || member.first == "compression_config";
  });
  for (JsonMember &member : config.members)
    if (member.second.isString() && (member.first == "dtype" || member.first == "torch_dtype"))
      member.second.text = "float32";
  if (Json *inner = config.find("text_config"))
    removeQuantization(*inner);
}

static void compare(const Json *from, const Json *to, const std::string &key,
                    std::vector<TwinChange> &changes) {
  if (from && to && *from == *to)
    return;
  if (from && to && from->isObject() && to->isObject()) {
    std::string prefix = key.empty() ? "" : key + ".";
    for (const auto &[name, value] : from->members)
      compare(&value, to->find(name), prefix + name, changes);
    for (const auto &[name, value] : to->members)
      if (!from->find(name))
        compare(nullptr, &value, prefix + name, changes);
    return;
  }
  if (from && to && from->isArray() && to->isArray() && from->items.size() != to->items.size()) {
    changes.push_back({key, std::to_string(from->items.size()) + " values",
                       std::to_string(to->items.size()) + " values"});
    return;
  }
  changes.push_back({key, from ? from->dump(60) : "", to ? to->dump(60) : ""});
}

static std::string keysText(const std::vector<TwinKey> &keys) {
  std::string text;
  for (const auto &[key, value] : keys)
    text += (text.empty() ? "" : ", ") + key + " (" + value + ")";
  return text;
}

/// Where a twin would still be large: its largest tensor, and the keys that decide.
static void checkSize(const Twin &twin) {
  constexpr int64_t most = 20'000'000;
  if (twin.parameters <= most)
    return;
  const PublishedTensor *largest = nullptr;
  for (const PublishedTensor &tensor : twin.model->published)
    if (!largest || tensor.elements() > largest->elements())
      largest = &tensor;
  throw InputError(twin.original + ": no twin of under " + std::to_string(most) +
                   " parameters is found that keeps the architecture, the smallest has " +
                   std::to_string(twin.parameters) + "; the largest tensor is " + largest->name +
                   " " + shapeText(largest->shape) + ", " + std::to_string(largest->count) +
                   " times. Keys that could not be made smaller: " +
                   (twin.large.empty() ? "none; the description has the sizes as constants"
                                       : keysText(twin.large)));
}

Twin makeTwin(std::shared_ptr<const ModelSource> source, DescriptionSet &descriptions,
              const TwinOptions &options) {
  std::shared_ptr<const Description> description = descriptions.match(*source);
  if (!description)
    throw InputError(source->path + ": no description matches, and a twin is made by one; `llmc "
                                    "inspect` names the nearest, `llmc new` begins a new one, and "
                                    "--description FILE adds it");
  ResolveOptions resolve;
  resolve.acceptKeys = options.acceptKeys;
  std::shared_ptr<ResolvedModel> model = ResolvedModel::resolve(source, description, resolve);
  // What is tried from here on and refused, nobody reads about.
  resolve.nearNames = false;
  Twin twin;
  twin.original = source->path;
  twin.architecture = model->architecture;
  twin.description = description->name;
  twin.inferredAt = description->inferredAt;
  twin.seed = options.seed;
  Json config = configOf(*source, *description, *model);
  Json before = config;
  nameModel(config, *source, *description);
  removeQuantization(config);

  auto resolveConfig = [&](const Json &changed) -> std::shared_ptr<const ResolvedModel> {
    auto plain = std::make_shared<ModelSource>();
    plain->kind = ModelSource::Kind::ConfigFile;
    plain->path = source->path;
    plain->configFile = source->configFile;
    plain->config = changed;
    return ResolvedModel::resolve(plain, description, resolve);
  };
  TwinSearch search(std::move(config), resolveConfig);
  twin.originalLayers = int64_t(search.originalShape().schedule.size());
  twin.originalParameters = search.originalShape().parameters;
  search.run();
  twin.config = search.config();
  twin.model = resolveConfig(twin.config);
  twin.parameters = search.shape().parameters;
  compare(&before, &twin.config, "", twin.changes);
  twin.large = search.largeKeys();
  checkSize(twin);
  return twin;
}

std::string Twin::toJson(const std::string &folder) const {
  auto number = [](int64_t value) { return std::to_string(value); };
  std::string out = "{\n  \"original\": " + quoteJson(original) +
                    ",\n  \"architecture\": " + quoteJson(architecture) +
                    ",\n  \"description\": " + quoteJson(description) +
                    ",\n  \"inferred\": " + (inferredAt.empty() ? "false" : "true") +
                    ",\n  \"folder\": " + quoteJson(folder) + ",\n  \"seed\": " +
                    std::to_string(seed) + ",\n  \"layers\": {\"from\": " + number(originalLayers) +
                    ", \"to\": " + number(model->layerCount()) +
                    "},\n  \"parameters\": {\"from\": " + number(originalParameters) +
                    ", \"to\": " + number(parameters) + "},\n  \"changes\": [";
  for (size_t i = 0; i < changes.size(); ++i) {
    auto text = [](const std::string &value) {
      return value.empty() ? std::string("null") : quoteJson(value);
    };
    out += std::string(i ? "," : "") + "\n    {\"key\": " + quoteJson(changes[i].key) +
           ", \"from\": " + text(changes[i].from) + ", \"to\": " + text(changes[i].to) + "}";
  }
  out += "\n  ],\n  \"large\": [";
  for (size_t i = 0; i < large.size(); ++i)
    out += std::string(i ? "," : "") + "\n    {\"key\": " + quoteJson(large[i].key) +
           ", \"value\": " + quoteJson(large[i].value) + "}";
  return out + "\n  ]\n}\n";
}

std::string Twin::toText(const std::string &folder) const {
  std::string out = folder + ": twin of " + original + " (" + architecture + ", description " +
                    description + ")\n  layers: " + std::to_string(originalLayers) + " -> " +
                    std::to_string(model->layerCount()) + "\n  parameters: " +
                    std::to_string(originalParameters) + " -> " + std::to_string(parameters) +
                    "\n";
  if (!inferredAt.empty())
    out += "  inferred: " + inferredAt + " says that nobody has proved the description\n";
  for (const TwinChange &change : changes)
    out += "  " + change.key + ": " + (change.from.empty() ? "(absent)" : change.from) + " -> " +
           (change.to.empty() ? "(absent)" : change.to) + "\n";
  if (!large.empty())
    out += "  not made smaller: " + keysText(large) + "\n";
  return out;
}

} // namespace llmc::frontend
