//===- TensorLedger.cpp - weight families against the checkpoint ----------===//
#include "Resolver.h"
#include "Hints.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace llmc::frontend {

/// Problems of one sort listed by name before only their number is given.
static constexpr size_t listed = 8;

static bool flagOf(ParamEvaluator &params, const ExprPtr &expr,
                   const std::map<std::string, Value> &locals, bool otherwise);

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

std::vector<int64_t> WeightFamily::wholeShape(bool reversed) const {
  std::vector<int64_t> whole = shape;
  if (storedRows)
    whole[0] = storedRows;
  if (reversed)
    std::swap(whole[0], whole[1]);
  return whole;
}

void Resolver::choosePrefixes() {
  std::vector<const PrefixDef *> possible;
  for (const PrefixDef &def : description.prefixes)
    if (flagOf(*model.evaluator, def.when, {}, true))
      possible.push_back(&def);
  if (possible.empty())
    return;
  published = stored = *possible.front();
  if (source.isGguf())
    return void(stored = {});
  if (!source.checkpoint)
    return;
  // The checkpoint's own is the first under which it holds the first tensor of every model.
  for (const TensorDef &def : description.tensors) {
    if (def.perLayer || def.when || def.optional || def.tied || !def.whole.empty())
      continue;
    for (const PrefixDef *alternative : possible)
      if (source.checkpoint->find(alternative->apply(def.nameTemplate)))
        return void(stored = *alternative);
  }
}

std::string Resolver::storedName(const TensorDef &def) const {
  if (!source.isGguf())
    return stored.apply(def.nameTemplate);
  const auto &names = description.gguf->tensors;
  auto it = names.find(def.role);
  bool inParts = !def.parts.empty() &&
                 std::all_of(def.parts.begin(), def.parts.end(),
                             [&](const auto &part) { return names.count(part.first) != 0; });
  if (it == names.end() && inParts)
    return {};
  if (it == names.end())
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

void Resolver::addFamily(const TensorDef &def, WeightFamily family, const Expr &shapeExpr,
                         std::optional<int64_t> layer) {
  // Layers of one role share a family as long as their shapes agree.
  for (WeightFamily &known : model.families)
    if (layer && known.role == family.role && known.shape == family.shape &&
        known.firstRow == family.firstRow && known.storedRows == family.storedRows) {
      known.layers.push_back(*layer);
      known.tensors.push_back(nullptr);
      return;
    }
  family.perLayer = layer.has_value();
  if (layer)
    family.layers.push_back(*layer);
  family.tensors.push_back(nullptr);
  model.families.push_back(std::move(family));
  shapeExprs.push_back(&shapeExpr);
  familyDefs.push_back(&def);
}

/// The rows of each part; together they must be all of the tensor's.
static std::vector<int64_t> partRows(ParamEvaluator &params, const ConfigView &view,
                                     const TensorDef &def, int64_t rows,
                                     const std::map<std::string, Value> &locals) {
  std::vector<int64_t> list;
  int64_t left = rows;
  for (const auto &[role, expr] : def.parts) {
    Value value = params.evaluateWith(*expr, locals);
    const int64_t *count = value.get<int64_t>();
    if (!count || *count < 1 || *count > left)
      throw InputError(view.fileName() + ": part '" + role + "' of tensor '" + def.nameTemplate +
                       "' gets " + value.toText() + " rows from " + params.keysText(*expr) +
                       "; there are " + std::to_string(left) + " left of " +
                       std::to_string(rows) + " (" + def.location.position() + ")");
    list.push_back(*count);
    left -= *count;
  }
  if (left && !def.parts.empty())
    throw InputError(view.fileName() + ": the parts of tensor '" + def.nameTemplate + "' have " +
                     std::to_string(rows - left) + " rows, the tensor has " +
                     std::to_string(rows) + " by " + params.keysText(*def.shape) + " (" +
                     def.location.position() + ")");
  return list;
}

void Resolver::addTensor(const TensorDef &def, std::optional<int64_t> layer) {
  ParamEvaluator &params = *model.evaluator;
  std::map<std::string, Value> locals;
  if (layer)
    locals["i"] = *layer;
  if (!def.whole.empty() || !flagOf(params, def.when, locals, true))
    return;
  std::string name = storedName(def);
  if (def.optional && !(source.checkpoint && source.checkpoint->find(
                                                 expandLayerName(name, layer.value_or(0)))))
    return;
  WeightFamily weight;
  weight.role = def.role;
  weight.publishedName = published.apply(def.nameTemplate);
  weight.checkpointName = name;
  weight.shape = shapeOf(params, *view, def, locals);
  if (def.transposed && weight.shape.size() != 2)
    expressionError(*def.shape, "tensor '" + def.nameTemplate + "' is transposed, so its shape "
                                "must be [rows, columns]; it is " + shapeText(weight.shape));
  weight.publishedTransposed = def.transposed;
  // GGUF files hold every matrix row by row.
  weight.transposed = def.transposed && !source.isGguf();
  WeightFamily bias = weight;
  bias.role = biasRole(def.role);
  bias.publishedName = biasName(weight.publishedName);
  bias.checkpointName = name.empty() ? name : biasName(name);
  bias.shape.resize(std::min<size_t>(1, bias.shape.size()));
  bias.isBias = true;
  bias.transposed = bias.publishedTransposed = false;
  std::vector<WeightFamily> both = {std::move(weight)};
  if (flagOf(params, def.bias, locals, false))
    both.push_back(std::move(bias));
  for (WeightFamily &family : both) {
    if (def.parts.empty()) {
      addFamily(def, std::move(family), *def.shape, layer);
      continue;
    }
    int64_t rows = family.shape.empty() ? 0 : family.shape[0], first = 0;
    std::vector<int64_t> counts = partRows(params, *view, def, rows, locals);
    for (size_t i = 0; i < counts.size(); ++i) {
      WeightFamily part = family;
      part.role = family.isBias ? biasRole(def.parts[i].first) : def.parts[i].first;
      part.shape[0] = counts[i];
      part.firstRow = first;
      part.storedRows = rows;
      if (name.empty()) {
        part.checkpointName = description.gguf->tensors.at(def.parts[i].first);
        if (family.isBias)
          part.checkpointName = biasName(part.checkpointName);
        part.storedByItself = true;
      }
      first += counts[i];
      addFamily(def, std::move(part), *def.shape, layer);
    }
  }
}

void Resolver::buildFamilies() {
  for (const TensorDef &def : description.tensors) {
    if (!def.perLayer) {
      addTensor(def, std::nullopt);
      continue;
    }
    for (int64_t i = 0; i < layers; ++i)
      addTensor(def, i);
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
  // {i} stands for any number, here and in tensor names, and * at the end for anything.
  auto fits = [&](const std::string &written) {
    std::string pattern = stored.apply(written);
    if (pattern.ends_with('*'))
      return name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
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
  // The first part of a tensor stands for all of it.
  bool again = family.isLaterPart();
  if (!tensor) {
    if (!again)
      missing.push_back(name);
    return;
  }
  if (again)
    return void(family.tensors[index] = tensor);
  if (!taken.insert(name).second)
    throw InputError(checkpoint.files()[tensor->file] + ": tensor '" + name +
                     "' would be read by two parameters; one of them is '" + family.role +
                     "' of description '" + description.name + "'");
  family.tensors[index] = tensor;
  ++model.tensorLedger.used;
  if (!tensor->shapeKnown)
    return;
  const std::string &file = checkpoint.files()[tensor->file];
  if (std::vector<int64_t> shape = family.storedShape(); tensor->shape != shape) {
    problem(Problem::Kind::Invalid, file + ": tensor '" + name + "' has shape " +
                                        shapeText(tensor->shape) + ", but the config gives " +
                                        shapeText(shape) + " (" +
                                        model.evaluator->keysText(*shapeExprs[number]) + ")");
  } else if (!tensor->format->readable) {
    problem(Problem::Kind::Unsupported,
            file + ": tensor '" + name + "' is stored as " + std::string(tensor->format->name) +
                ", which llmc cannot read yet; readable are " + readableNames(),
            false);
  } else if (family.transposed && !tensor->format->isPlain()) {
    problem(Problem::Kind::Unsupported,
            file + ": tensor '" + name + "' is published transposed, [columns, rows], and stored "
                   "as blocks of " + std::string(tensor->format->name) +
                "; only plain floats can be transposed, convert it to f32, f16 or bf16",
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

/// What nothing reads has no shape to agree with but that of its own bias: one for each row, or for
/// each column of a transposed matrix.
void Resolver::checkLeftOut(const CheckpointTensor &tensor) {
  if (!tensor.name.ends_with(".weight") || !tensor.shapeKnown || tensor.shape.empty())
    return;
  const CheckpointTensor *bias = source.checkpoint->find(biasName(tensor.name));
  if (!bias || !bias->shapeKnown || bias->shape.size() != 1 ||
      bias->shape[0] == tensor.shape.front() || bias->shape[0] == tensor.shape.back())
    return;
  problem(Problem::Kind::Invalid,
          source.checkpoint->files()[tensor.file] + ": tensor '" + tensor.name + "' has shape " +
              shapeText(tensor.shape) + ", its bias '" + bias->name + "' has " +
              shapeText(bias->shape) + "; nothing here reads them, but one of them is not what was "
                                       "published: get the file again");
}

void Resolver::reportLeftOver() {
  size_t count = 0;
  for (const CheckpointTensor &tensor : source.checkpoint->tensors()) {
    if (taken.count(tensor.name))
      continue;
    if (isIgnored(tensor.name)) {
      model.tensorLedger.ignored.push_back(tensor.name);
      checkLeftOut(tensor);
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

std::vector<float> Resolver::ropeTensor(const std::string &name) {
  const CheckpointTensor *tensor = name.empty() ? nullptr : source.checkpoint->find(name);
  if (!tensor)
    return {};
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
  return values;
}

void Resolver::readRopeTensors() {
  if (!source.isGguf())
    return;
  ParamEvaluator &params = *model.evaluator;
  const GgufDef &gguf = *description.gguf;
  params.ropeDivisors = ropeTensor(gguf.ropeDivisors);
  params.ropeShortFactors = ropeTensor(gguf.ropeShortFactors);
  params.ropeLongFactors = ropeTensor(gguf.ropeLongFactors);
  if (params.ropeShortFactors.empty() != params.ropeLongFactors.empty())
    throw InputError(source.path + ": the file holds only one of the tensors '" +
                     gguf.ropeShortFactors + "' and '" + gguf.ropeLongFactors + "'");
}

} // namespace llmc::frontend
