//===- TensorLedger.cpp - weight families against the checkpoint ----------===//
#include "Resolver.h"
#include "Hints.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace llmc::frontend {

/// Problems of one sort listed by name before only their number is given.
static constexpr size_t listed = 8;

const CheckpointTensor *WeightFamily::tensorOf(int64_t layer) const {
  if (!perLayer)
    return tensors.empty() ? nullptr : tensors.front();
  auto it = std::lower_bound(layers.begin(), layers.end(), layer);
  if (it == layers.end() || *it != layer)
    return nullptr;
  return tensors[size_t(it - layers.begin())];
}

const StorageFormat *WeightFamily::formatOf(int64_t layer) const {
  const CheckpointTensor *tensor = tensorOf(layer);
  return tensor ? tensor->format : nullptr;
}

std::string Resolver::storedName(const TensorDef &def) const {
  if (!source.isGguf())
    return def.nameTemplate;
  auto it = description.gguf->tensors.find(def.role);
  if (it == description.gguf->tensors.end())
    throw InputError(def.location.position() + ": role '" + def.role +
                     "' has no name in the 'gguf' section of description '" + description.name +
                     "'");
  return it->second;
}

/// The dimensions of a shape expression; they are positive and their product fits.
static std::vector<int64_t> shapeOf(ParamEvaluator &params, const ConfigView &view,
                                    const TensorDef &def,
                                    const std::map<std::string, Value> &locals) {
  Value value = params.evaluateWith(*def.shape, locals);
  const ValueList *list = value.get<ValueList>();
  if (!list)
    expressionError(*def.shape, "a shape must be a list of integers");
  std::vector<int64_t> shape;
  for (const Value &dim : *list) {
    const int64_t *size = dim.get<int64_t>();
    if (!size || *size < 1)
      throw InputError(view.fileName() + ": tensor '" + def.nameTemplate + "' gets the size " +
                       dim.toText() + " from " + params.keysText(*def.shape) +
                       "; sizes must be positive integers (" + def.location.position() + ")");
    shape.push_back(*size);
  }
  // A bound that leaves room for every later product and sum.
  auto count = elementCount(shape);
  if (!count || *count > (uint64_t(1) << 40))
    throw InputError(view.fileName() + ": tensor '" + def.nameTemplate + "' would be " +
                     shapeText(shape) + " by " + params.keysText(*def.shape) +
                     "; that is larger than any machine holds");
  return shape;
}

static bool flagOf(ParamEvaluator &params, const ExprPtr &expr,
                   const std::map<std::string, Value> &locals, bool otherwise) {
  if (!expr)
    return otherwise;
  Value value = params.evaluateWith(*expr, locals);
  const bool *flag = value.get<bool>();
  if (!flag)
    expressionError(*expr, "this condition must be true or false, it is " + value.toText());
  return *flag;
}

void Resolver::addFamily(const TensorDef &def, const std::string &role, const std::string &name,
                         const std::string &stored, std::vector<int64_t> shape,
                         const Expr &shapeExpr, std::optional<int64_t> layer, bool isBias) {
  // Layers of one role share a family as long as their shapes agree.
  for (WeightFamily &family : model.families)
    if (layer && family.role == role && family.shape == shape) {
      family.layers.push_back(*layer);
      family.tensors.push_back(nullptr);
      return;
    }
  WeightFamily family;
  family.role = role;
  family.publishedName = name;
  family.checkpointName = stored;
  family.shape = std::move(shape);
  family.perLayer = layer.has_value();
  family.isBias = isBias;
  if (layer)
    family.layers.push_back(*layer);
  family.tensors.push_back(nullptr);
  model.families.push_back(std::move(family));
  shapeExprs.push_back(&shapeExpr);
  familyDefs.push_back(&def);
}

void Resolver::buildFamilies() {
  ParamEvaluator &params = *model.evaluator;
  for (const TensorDef &def : description.tensors) {
    int64_t repeat = def.perLayer ? layers : 1;
    for (int64_t i = 0; i < repeat; ++i) {
      std::map<std::string, Value> locals;
      std::optional<int64_t> layer;
      if (def.perLayer) {
        locals["i"] = i;
        layer = i;
      }
      if (!flagOf(params, def.when, locals, true))
        continue;
      std::string stored = storedName(def);
      if (def.optional &&
          !(source.checkpoint && source.checkpoint->find(expandLayerName(stored, i))))
        continue;
      std::vector<int64_t> shape = shapeOf(params, *view, def, locals);
      std::vector<int64_t> biasShape(shape.begin(), shape.begin() + !shape.empty());
      addFamily(def, def.role, def.nameTemplate, stored, std::move(shape), *def.shape, layer,
                false);
      if (flagOf(params, def.bias, locals, false))
        addFamily(def, biasRole(def.role), biasName(def.nameTemplate), biasName(stored),
                  std::move(biasShape), *def.shape, layer, true);
    }
  }
}

void Resolver::resolveTies() {
  for (size_t i = 0; i < model.families.size(); ++i) {
    WeightFamily &family = model.families[i];
    const TensorDef &def = *familyDefs[i];
    if (family.isBias || !def.tied)
      continue;
    Value value = model.evaluator->evaluateWith(*def.tied, {});
    if (value.isNull())
      continue;
    const std::string *role = value.get<std::string>();
    auto other = std::find_if(model.families.begin(), model.families.end(),
                              [&](const auto &f) { return role && f.role == *role; });
    if (other == model.families.end() || other->perLayer != family.perLayer || &*other == &family)
      expressionError(*def.tied, "'" + family.role + "' is tied to " + value.toText() +
                                     ", which is no such tensor");
    if (other->shape != family.shape)
      expressionError(*def.tied, "'" + family.role + "' of shape " + shapeText(family.shape) +
                                     " is tied to '" + *role + "' of shape " +
                                     shapeText(other->shape));
    family.tiedTo = int32_t(other - model.families.begin());
  }
}

bool Resolver::isIgnored(const std::string &name) const {
  // {i} stands for any number, here and in tensor names.
  auto fits = [&](const std::string &pattern) {
    size_t open = pattern.find("{i}");
    if (open == std::string::npos)
      return pattern == name;
    std::string_view head(pattern.data(), open), tail(pattern.data() + open + 3);
    if (name.size() <= head.size() + tail.size() || !name.starts_with(head) ||
        !name.ends_with(tail))
      return false;
    return std::all_of(name.begin() + long(head.size()), name.end() - long(tail.size()),
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  const auto &patterns =
      source.isGguf() ? description.gguf->ignoredTensors : description.ignoredTensors;
  return std::any_of(patterns.begin(), patterns.end(), fits);
}

void Resolver::takeTensor(WeightFamily &family, size_t index, int64_t layer,
                          std::vector<std::string> &missing) {
  const Checkpoint &checkpoint = *source.checkpoint;
  std::string name = expandLayerName(family.checkpointName, layer);
  const CheckpointTensor *tensor = checkpoint.find(name);
  size_t number = size_t(&family - model.families.data());
  if (!tensor) {
    missing.push_back(name);
    return;
  }
  if (!taken.insert(name).second)
    throw InputError(checkpoint.files()[tensor->file] + ": tensor '" + name +
                     "' would be read by two parameters; one of them is '" + family.role +
                     "' of description '" + description.name + "'");
  family.tensors[index] = tensor;
  ++model.tensorLedger.used;
  if (!tensor->shapeKnown)
    return;
  const std::string &file = checkpoint.files()[tensor->file];
  if (tensor->shape != family.shape) {
    problem(Problem::Kind::Invalid, file + ": tensor '" + name + "' has shape " +
                                        shapeText(tensor->shape) + ", but the config gives " +
                                        shapeText(family.shape) + " (" +
                                        model.evaluator->keysText(*shapeExprs[number]) + ")");
  } else if (!tensor->format->readable) {
    problem(Problem::Kind::Unsupported,
            file + ": tensor '" + name + "' is stored as " + std::string(tensor->format->name) +
                ", which llmc cannot read yet; convert it to f16, bf16, q8_0 or q4_1",
            false);
  }
}

/// A tied tensor that is stored all the same must be a copy. Comparing all of it would read
/// the largest tensor twice, so pages spread over it stand for the rest.
void Resolver::compareTied(const WeightFamily &family) {
  const Checkpoint &checkpoint = *source.checkpoint;
  const WeightFamily &origin = model.families[size_t(family.tiedTo)];
  const CheckpointTensor *copy = checkpoint.find(family.checkpointName);
  const CheckpointTensor *tensor = checkpoint.find(origin.checkpointName);
  if (!copy || !tensor)
    return;
  taken.insert(copy->name);
  model.tensorLedger.tied.push_back(copy->name);
  if (!copy->shapeKnown)
    return;
  bool same = copy->shape == tensor->shape && copy->format == tensor->format;
  if (same && checkpoint.hasData()) {
    auto a = checkpoint.data(*copy), b = checkpoint.data(*tensor);
    constexpr size_t page = 4096, samples = 64;
    size_t step = std::max(page, a.size() / samples);
    for (size_t at = 0; at < a.size() && same; at += step)
      same = std::memcmp(a.data() + at, b.data() + at, std::min(page, a.size() - at)) == 0;
  }
  if (!same)
    problem(Problem::Kind::Invalid,
            checkpoint.files()[copy->file] + ": tensor '" + copy->name +
                "' is stored and differs from '" + tensor->name +
                "', but the config ties them; correct tie_word_embeddings or remove the tensor");
}

void Resolver::compareCheckpoint() {
  std::vector<std::string> missing;
  for (WeightFamily &family : model.families) {
    if (family.tiedTo >= 0)
      continue;
    for (size_t index = 0; index < family.tensors.size(); ++index)
      takeTensor(family, index, family.perLayer ? family.layers[index] : 0, missing);
  }
  for (WeightFamily &family : model.families)
    if (family.tiedTo >= 0) {
      compareTied(family);
      family.tensors = model.families[size_t(family.tiedTo)].tensors;
    }
  if (!missing.empty())
    reportMissing(missing);
  reportLeftOver();
  for (const std::string &fault : source.checkpoint->deferredFaults())
    problem(Problem::Kind::Invalid, fault);
}

void Resolver::reportMissing(const std::vector<std::string> &missing) {
  std::vector<std::string> names;
  for (const CheckpointTensor &tensor : source.checkpoint->tensors())
    if (!taken.count(tensor.name))
      names.push_back(tensor.name);
  std::string where =
      source.checkpoint->files().empty() ? source.path : source.checkpoint->files().front();
  for (size_t i = 0; i < missing.size() && i < listed; ++i) {
    std::string hint;
    for (const std::string &name : nearWords(missing[i], names, 2))
      hint += (hint.empty() ? "; near names there: " : ", ") + name;
    problem(Problem::Kind::Invalid, where + ": the checkpoint lacks tensor '" + missing[i] +
                                        "', which the config calls for (" +
                                        model.evaluator->keysText(*description.layerCount) + ")" +
                                        hint);
  }
  if (missing.size() > listed)
    problem(Problem::Kind::Invalid,
            where + ": " + std::to_string(missing.size() - listed) + " more tensors are missing");
}

void Resolver::reportLeftOver() {
  size_t count = 0;
  for (const CheckpointTensor &tensor : source.checkpoint->tensors()) {
    if (taken.count(tensor.name))
      continue;
    if (isIgnored(tensor.name)) {
      model.tensorLedger.ignored.push_back(tensor.name);
      continue;
    }
    if (++count <= listed)
      problem(Problem::Kind::Unknown,
              source.checkpoint->files()[tensor.file] + ": tensor '" + tensor.name + "' " +
                  (tensor.shapeKnown ? shapeText(tensor.shape) + " " : std::string()) +
                  "is read by no parameter of description '" + description.name + "' (" +
                  model.evaluator->keysText(*description.layerCount) + ")");
  }
  if (count > listed)
    problem(Problem::Kind::Unknown, source.path + ": " + std::to_string(count - listed) +
                                        " more tensors are read by no parameter");
}

void Resolver::readRopeDivisors() {
  if (!source.isGguf() || description.gguf->ropeDivisors.empty())
    return;
  const CheckpointTensor *tensor = source.checkpoint->find(description.gguf->ropeDivisors);
  if (!tensor)
    return;
  taken.insert(tensor->name);
  ++model.tensorLedger.used;
  if (!source.checkpoint->hasData())
    throw UnsupportedError(source.path + ": tensor '" + tensor->name +
                           "' decides the rotary embedding, but its data is absent");
  std::vector<float> values = source.checkpoint->values(*tensor);
  for (float value : values)
    if (!(value > 0) || !std::isfinite(value))
      throw InputError(source.path + ": tensor '" + tensor->name + "' holds " +
                       std::to_string(value) + ", divisors of frequencies must be positive");
  model.evaluator->ropeDivisors = std::move(values);
}

} // namespace llmc::frontend
