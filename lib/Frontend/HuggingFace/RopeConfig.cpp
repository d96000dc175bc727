//===- RopeConfig.cpp - the rotary record of a config ---------------------===//
//
// rope_theta + rope_scaling, rope_parameters, rope_parameters by layer type and
// GGUF metadata (mapped to rope_parameters) all end in one RopeRecord. A field
// that the type does not have stays unused, and so shows up in the ledger.
//
//===----------------------------------------------------------------------===//
#include "llmc/Frontend/ConfigView.h"

#include <cmath>

namespace llmc::frontend {

const ConfigView::Entry *ConfigView::ropeField(const RopeRequest &request,
                                               const std::string &field) {
  // A layer type's own value goes before one for all layers.
  for (const std::string &group : {request.layerType, std::string()}) {
    if (group.empty() && !request.shared)
      continue;
    const Spellings *spellings = ropeSpellings(group, field);
    if (!spellings)
      continue;
    mark(*spellings, request.user);
    // One for all layers that says the same again.
    const Spellings *shared = group.empty() ? nullptr : ropeSpellings("", field);
    if (shared && request.shared && *shared->front().value == *spellings->front().value)
      mark(*shared, request.user);
    return &spellings->front();
  }
  return nullptr;
}

const ConfigView::Spellings *ConfigView::ropeSpellings(const std::string &group,
                                                       const std::string &field) const {
  auto fields = ropeFields.find(group);
  if (fields == ropeFields.end())
    return nullptr;
  auto it = fields->second.find(field);
  return it == fields->second.end() ? nullptr : &it->second;
}

bool ConfigView::hasRope(const RopeRequest &request) const {
  for (const std::string &group : {request.layerType, std::string()})
    if (auto fields = ropeFields.find(group);
        (!group.empty() || request.shared) && fields != ropeFields.end() && !fields->second.empty())
      return true;
  return false;
}

namespace {

/// Typed look-ups with messages that name the key.
class Fields {
public:
  using Find = std::function<const ConfigView::Entry *(const std::string &)>;
  Fields(const ConfigView &view, Find find)
      : view(view), file(view.fileName()), find(std::move(find)) {}
  const std::string &fileName() const { return file; }

  const ConfigView::Entry *get(const std::string &field) const {
    const ConfigView::Entry *entry = find(field);
    return entry && !entry->value->isNull() ? entry : nullptr;
  }
  double number(const std::string &field, double otherwise, bool positive = true) const {
    const ConfigView::Entry *entry = get(field);
    if (!entry)
      return otherwise;
    double value = entry->value->asDouble();
    if (!entry->value->isNumber() || !std::isfinite(value) || (positive && value <= 0))
      fail(*entry, positive ? "a positive number" : "a number");
    // Angles are computed in f32.
    if (positive && !std::isnormal(float(value)))
      fail(*entry, "a positive number in the range of f32");
    return value;
  }
  /// By how much positions are stretched. Below 1 they would be squeezed, and beyond a million
  /// times nothing of an angle is left in f32.
  double stretch(double otherwise = 1) const {
    double value = number("factor", otherwise);
    if (value < 1 || value > 1e6)
      fail(*get("factor"), "from 1 to 1000000");
    return value;
  }
  int64_t integer(const std::string &field, int64_t otherwise) const {
    const ConfigView::Entry *entry = get(field);
    if (!entry)
      return otherwise;
    // Some configs write 8192.0.
    double value = entry->value->asDouble();
    if (!entry->value->isNumber() || value != std::floor(value) || value < 1 || value > 1e12)
      fail(*entry, "a whole number of positions");
    return int64_t(value);
  }
  bool flag(const std::string &field, bool otherwise) const {
    const ConfigView::Entry *entry = get(field);
    if (!entry)
      return otherwise;
    if (!entry->value->isBool())
      fail(*entry, "true or false");
    return entry->value->boolean;
  }
  /// Positive numbers in the range of f32.
  std::vector<float> numbers(const std::string &field, const std::string &type) const {
    const ConfigView::Entry *entry = get(field);
    if (!entry)
      missing(field, type);
    std::vector<float> out;
    for (const Json &item : entry->value->items) {
      float value = float(item.asDouble());
      if (!item.isNumber() || !std::isnormal(value) || value <= 0)
        fail(*entry, "a list of positive numbers");
      out.push_back(value);
    }
    if (!entry->value->isArray() || out.empty())
      fail(*entry, "a list of positive numbers");
    return out;
  }
  /// What scales the angles means nothing without the type that says how.
  void refuseWithoutType() const {
    std::string found;
    for (const char *field :
         {"factor", "short_factor", "long_factor", "low_freq_factor", "high_freq_factor",
          "beta_fast", "beta_slow", "attention_factor", "attention_factor_multiplier", "mscale",
          "mscale_all_dim"})
      if (const ConfigView::Entry *entry = get(field))
        found += (found.empty() ? "" : ", ") + view.quoted(entry->path) + " = " +
                 entry->value->dump(80);
    if (!found.empty())
      throw InputError(file + ": the rotary embedding is scaled by " + found +
                       ", but 'rope_type' (or 'type') is missing, which says how; add it beside "
                       "them, \"default\" where nothing is scaled");
  }
  [[noreturn]] void missing(const std::string &field, const std::string &type) const {
    throw InputError(file + ": rope type '" + type + "' needs '" + field +
                     "' in rope_parameters (or rope_scaling)");
  }
  [[noreturn]] void fail(const ConfigView::Entry &entry, const std::string &expected) const {
    throw InputError(file + ": key " + view.quoted(entry.path) + " = " + entry.value->dump(80) +
                     " must be " + expected);
  }

private:
  const ConfigView &view;
  const std::string &file;
  Find find;
};

} // namespace

static void readYarn(RopeRecord &rope, const Fields &fields, int64_t maxPositions,
                     const ConfigView::RopeRequest &request) {
  rope.type = RopeType::Yarn;
  rope.originalMaxPositions = fields.integer("original_max_position_embeddings", maxPositions);
  if (!rope.originalMaxPositions)
    fields.missing("original_max_position_embeddings", "yarn");
  if (fields.get("factor"))
    rope.factor = fields.stretch();
  else if (maxPositions)
    rope.factor = double(maxPositions) / double(rope.originalMaxPositions);
  else
    fields.missing("factor", "yarn");
  rope.betaFast = fields.number("beta_fast", 32);
  rope.betaSlow = fields.number("beta_slow", 1);
  rope.truncate = fields.flag("truncate", true);
  if (request.attentionFactor > 0) {
    rope.attentionFactor = fields.number("attention_factor", request.attentionFactor);
    return;
  }
  double mscale = fields.number("mscale", 0, false);
  double mscaleAllDim = fields.number("mscale_all_dim", 0, false);
  if (fields.get("attention_factor"))
    rope.attentionFactor = fields.number("attention_factor", 1);
  else if (mscale != 0 && mscaleAllDim != 0)
    rope.attentionFactor = yarnMscale(rope.factor, mscale) / yarnMscale(rope.factor, mscaleAllDim);
  else
    rope.attentionFactor = yarnMscale(rope.factor, 1);
  // GGUF stores a factor on top of the default instead of the result.
  rope.attentionFactor *= fields.number("attention_factor_multiplier", 1);
}

static void readLongRope(RopeRecord &rope, const Fields &fields, int64_t maxPositions,
                         const ConfigView::RopeRequest &request) {
  rope.type = RopeType::LongRope;
  bool stored = !request.longFactors.empty();
  rope.shortFactors = stored ? request.shortFactors : fields.numbers("short_factor", "longrope");
  rope.longFactors = stored ? request.longFactors : fields.numbers("long_factor", "longrope");
  rope.originalMaxPositions = fields.integer("original_max_position_embeddings", maxPositions);
  if (!rope.originalMaxPositions)
    fields.missing("original_max_position_embeddings", "longrope");
  if (rope.originalMaxPositions < 2)
    fields.fail(*fields.get("original_max_position_embeddings"), "at least 2");
  if (fields.get("factor"))
    rope.factor = fields.number("factor", 1);
  else if (maxPositions)
    rope.factor = double(maxPositions) / double(rope.originalMaxPositions);
  rope.attentionFactor = fields.number(
      "attention_factor", longropeAttentionFactor(rope.factor, rope.originalMaxPositions));
}

static void readDynamic(RopeRecord &rope, const Fields &fields, int64_t maxPositions,
                        const ConfigView::RopeRequest &request) {
  rope.type = RopeType::Dynamic;
  if (!fields.get("factor"))
    fields.missing("factor", "dynamic");
  rope.factor = fields.number("factor", 1);
  rope.originalMaxPositions = maxPositions;
  if (!maxPositions)
    fields.missing("max_position_embeddings", "dynamic");
  if (rope.dim < 4)
    fields.fail(*fields.get("factor"), "absent: dynamic scaling needs four rotated dimensions");
  rope.contextPositions = std::max(request.context, maxPositions);
}

/// The rotated width: the part of it that the record, or else the model, names.
static int64_t rotatedWidth(const ConfigView::RopeRequest &request, const Fields &fields) {
  double share = fields.number("partial_rotary_factor", request.partial);
  if (!(share > 0 && share <= 1))
    throw InputError(fields.fileName() + ": partial_rotary_factor is " +
                     Json::makeDouble(share).dump() + ", it must be above 0 and at most 1");
  return int64_t(double(request.dim) * share);
}

RopeRecord ConfigView::rope(const RopeRequest &request) {
  mark(emptyRope, request.user);
  std::map<std::string, Entry> defaults;
  if (!hasRope(request))
    for (const auto &[field, value] : request.otherwise)
      defaults[field] = {"the default of " + field, &value};
  std::map<std::string, Entry> own;
  for (const auto &[field, value] : request.own)
    own[field] = {"the layer type's own " + field, &value};
  Fields fields(*this, [&](const std::string &field) {
    auto found = own.find(field);
    if (found != own.end() && !ropeSpellings(request.layerType, field))
      return static_cast<const Entry *>(&found->second);
    found = defaults.find(field);
    return found != defaults.end() ? static_cast<const Entry *>(&found->second)
                                   : ropeField(request, field);
  });
  RopeRecord rope;
  const Entry *type = fields.get("rope_type");
  if (type && !type->value->isString())
    fields.fail(*type, "text");
  std::string name = type ? type->value->text : "default";
  if (name == "su")
    name = "longrope"; // as Phi-3 called it first
  if (!request.longFactors.empty() && name == "default")
    name = "longrope";
  else if (!type)
    fields.refuseWithoutType();
  // Proportional takes its share of the pairs, not of the width.
  rope.dim = rotatedWidth(request, fields);
  if (name == "proportional") {
    rope.rotatedPairs = rope.dim / 2;
    rope.dim = request.dim;
  }
  if (rope.dim < 2 || rope.dim % 2)
    throw InputError(file + ": a rotary embedding over " + std::to_string(rope.dim) +
                     " dimensions of a head; the number must be even and positive");
  if (rope.dim > (int64_t(1) << 20))
    throw InputError(file + ": a rotary embedding over " + std::to_string(rope.dim) +
                     " dimensions of a head is too large");
  rope.theta = fields.number("rope_theta", request.defaultTheta);
  if (rope.theta <= 1)
    throw InputError(file + ": key 'rope_theta' = " + Json::makeDouble(rope.theta).dump() +
                     " must be above 1");
  const Json *positions = use("max_position_embeddings", request.user);
  if (positions && !positions->isNull() && (!positions->isInt() || positions->integer < 1))
    throw InputError(describe("max_position_embeddings") + " must be a number of positions");
  int64_t maxPositions = positions && positions->isInt() ? positions->integer : 0;
  if (name == "default") {
    rope.type = RopeType::Default;
    // transformers writes these without using them.
    markIrrelevantRope(request, {"factor", "original_max_position_embeddings"});
  } else if (name == "linear") {
    rope.type = RopeType::Linear;
    if (!fields.get("factor"))
      fields.missing("factor", name);
    rope.factor = fields.stretch();
    markIrrelevantRope(request, {"original_max_position_embeddings"});
  } else if (name == "llama3") {
    rope.type = RopeType::Llama3;
    for (const char *field :
         {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"})
      if (!fields.get(field))
        fields.missing(field, name);
    rope.factor = fields.number("factor", 1);
    rope.lowFreqFactor = fields.number("low_freq_factor", 1);
    rope.highFreqFactor = fields.number("high_freq_factor", 1);
    rope.originalMaxPositions = fields.integer("original_max_position_embeddings", 0);
    // Equal ones leave nothing between the bands, as in Llama 4 Scout.
    if (rope.highFreqFactor < rope.lowFreqFactor)
      fields.fail(*fields.get("high_freq_factor"), "at least low_freq_factor");
  } else if (name == "yarn") {
    readYarn(rope, fields, maxPositions, request);
  } else if (name == "longrope") {
    readLongRope(rope, fields, maxPositions, request);
  } else if (name == "dynamic" && fields.get("alpha")) {
    // Hunyuan: one larger base, whatever the length.
    double alpha = fields.number("alpha", 1);
    if (rope.dim < 4)
      fields.fail(*fields.get("alpha"), "absent: it needs four rotated dimensions");
    rope.type = RopeType::Default;
    rope.theta *= std::pow(alpha, double(rope.dim) / double(rope.dim - 2));
    markIrrelevantRope(request, {"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim",
                                 "original_max_position_embeddings"});
  } else if (name == "dynamic") {
    readDynamic(rope, fields, maxPositions, request);
    // transformers writes it without using it.
    markIrrelevantRope(request, {"original_max_position_embeddings"});
  } else if (name == "proportional") {
    rope.type = RopeType::Proportional;
    rope.factor = fields.number("factor", 1);
    markIrrelevantRope(request, {"original_max_position_embeddings"});
  } else {
    throw UnsupportedError(file + ": key " + quoted(type->path) + " = " + type->value->dump(80) +
                           ": this rope type is not supported; supported are default, linear, "
                           "dynamic, llama3, yarn, longrope (su) and proportional");
  }
  markIrrelevantRope(request, {"finetuned"});
  if (std::string fault = ropeFault(rope); !fault.empty()) {
    std::string values;
    std::set<std::string> groups = {request.layerType, ""};
    for (const std::string &group : groups)
      if (auto fields = ropeFields.find(group); fields != ropeFields.end())
        for (const auto &[field, spellings] : fields->second)
          values += (values.empty() ? "" : ", ") + spellings.front().path + " = " +
                    spellings.front().value->dump(80);
    if (positions)
      values += (values.empty() ? "" : ", ") + std::string("max_position_embeddings = ") +
                positions->dump(80);
    throw InputError(file +
                     ": the values of rope_parameters (or rope_scaling) do not fit "
                     "together: " +
                     fault + "; they are " + (values.empty() ? "all absent" : values));
  }
  return rope;
}

void ConfigView::markIrrelevantRope(const RopeRequest &request,
                                    std::initializer_list<const char *> fields) {
  std::set<std::string> groups = {request.layerType};
  if (request.shared)
    groups.insert("");
  for (const std::string &group : groups)
    for (const char *field : fields)
      if (const Spellings *spellings = ropeSpellings(group, field))
        for (const Entry &entry : *spellings)
          irrelevantPatterns.push_back(entry.path);
}

} // namespace llmc::frontend
