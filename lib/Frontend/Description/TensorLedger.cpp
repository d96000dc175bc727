//===- TensorLedger.cpp - weight families against the checkpoint ----------===//
#include "Resolver.h"
#include "Hints.h"
#include "llmc/Frontend/PairedTensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace llmc::frontend {

/// Problems of one sort listed by name before only their number is given.
static constexpr size_t listed = 8;

/// Whether a name is that of the template: {i} and {e} stand for any number, which {i}'s is given
/// in `layer`, and * at the end for anything.
static bool fitsTemplate(std::string_view pattern, std::string_view name,
                         int64_t *layer = nullptr) {
  while (!pattern.empty()) {
    if (pattern == "*")
      return true;
    if (pattern.starts_with("{i}") || pattern.starts_with("{e}")) {
      size_t digits = 0;
      int64_t number = 0;
      while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9' && digits < 10)
        number = number * 10 + (name[digits++] - '0');
      if (!digits)
        return false;
      if (layer && pattern[1] == 'i')
        *layer = number;
      pattern.remove_prefix(3);
      name.remove_prefix(digits);
      continue;
    }
    if (name.empty() || pattern.front() != name.front())
      return false;
    pattern.remove_prefix(1);
    name.remove_prefix(1);
  }
  return name.empty();
}

bool Resolver::isIgnored(const std::string &name) {
  if (ignoredPatterns.empty())
    for (const std::string &written : source.isGguf() ? description.gguf->ignoredTensors
                                                      : description.ignoredTensors)
      ignoredPatterns.push_back(stored.apply(written));
  return std::any_of(ignoredPatterns.begin(), ignoredPatterns.end(),
                     [&](const std::string &pattern) { return fitsTemplate(pattern, name); });
}

/// Layers for multi-token prediction may be there or not; what is there must be what they are.
bool Resolver::isMtp(const CheckpointTensor &tensor) {
  for (const PublishedTensor &known : mtpStored) {
    int64_t layer = mtpFrom;
    if (!fitsTemplate(known.name, tensor.name, &layer) || layer < mtpFrom ||
        layer >= mtpFrom + model.mtpLayers)
      continue;
    if (tensor.shapeKnown && tensor.shape != known.shape)
      problem(Problem::Kind::Invalid,
              source.checkpoint->files()[tensor.file] + ": tensor '" + tensor.name +
                  "' of a layer for multi-token prediction has shape " + shapeText(tensor.shape) +
                  ", but the config gives " + shapeText(known.shape));
    return true;
  }
  return false;
}

void Resolver::takeTensor(WeightFamily &family, size_t index, int64_t layer,
                          std::vector<std::string> &missing) {
  const Checkpoint &checkpoint = *source.checkpoint;
  std::string layerName = expandLayerName(family.checkpointName, layer);
  const CheckpointTensor *first = nullptr;
  std::string computed(tensorOfUnitRows(layerName));
  for (int64_t expert = 0; expert < family.tensorCount(); ++expert) {
    std::string name = expandExpertName(computed.empty() ? layerName : computed, expert);
    const CheckpointTensor *tensor = checkpoint.find(name);
    // The first part of a tensor stands for all of it.
    if (family.isLaterPart()) {
      family.tensors[index] = tensor;
      return;
    }
    if (!tensor) {
      missing.push_back(std::move(name));
      continue;
    }
    if (!taken.insert(tensor).second)
      throw InputError(checkpoint.files()[tensor->file] + ": tensor '" + name +
                       "' would be read by two parameters; one of them is '" + family.role +
                       "' of description '" + description.name + "'");
    ++model.tensorLedger.used;
    if (!first) {
      first = tensor;
      family.tensors[index] = computed.empty() ? tensor : checkpoint.find(layerName);
    }
    checkTensor(family, *tensor, *first);
  }
}

void Resolver::checkTensor(const WeightFamily &family, const CheckpointTensor &tensor,
                           const CheckpointTensor &first) {
  if (!tensor.shapeKnown)
    return;
  const std::string &file = source.checkpoint->files()[tensor.file];
  size_t number = size_t(&family - model.families.data());
  if (tensor.shape != family.storedShape()) {
    model.tensorLedger.misshapen.push_back(tensor.name);
    problem(Problem::Kind::Invalid, file + ": tensor '" + tensor.name + "' has shape " +
                                        shapeText(tensor.shape) + ", but the config gives " +
                                        shapeText(family.storedShape()) + " (" +
                                        model.evaluator->keysText(*shapeExprs[number]) + ")");
    return;
  }
  auto unsupported = [&](const std::string &what) {
    problem(Problem::Kind::Unsupported, file + ": tensor '" + tensor.name + "' " + what, false);
  };
  bool turned = family.transposed || family.view.strides.back() != 1;
  bool isTable = family.integer && (tensor.format->name == "i64" || tensor.format->name == "i32");
  if (!tensor.format->readable && !isTable)
    unsupported("is stored as " + std::string(tensor.format->name) +
                ", which llmc cannot read yet; readable are " + readableNames());
  else if (turned && !tensor.format->isPlain())
    unsupported("is published transposed, [columns, rows], and stored as blocks of " +
                std::string(tensor.format->name) +
                "; only plain floats can be transposed, convert it to f32, f16 or bf16");
  else if (tensor.format != first.format)
    unsupported("is stored as " + std::string(tensor.format->name) + " and '" + first.name +
                "' as " + std::string(first.format->name) +
                "; the experts of one layer are of one format");
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
  taken.insert(copy);
  model.tensorLedger.tied.push_back(copy->name);
  if (!copy->shapeKnown)
    return;
  bool same = copy->shape == tensor->shape && copy->format == tensor->format;
  if (same && checkpoint.hasData()) {
    TensorBytes copied = checkpoint.bytes(*copy), original = checkpoint.bytes(*tensor);
    std::span<const std::byte> a = copied.bytes, b = original.bytes;
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
    if (family.tiedTo >= 0 || !family.constants.empty())
      continue;
    for (size_t index = 0; index < family.tensors.size(); ++index)
      takeTensor(family, index, family.perLayer ? family.layers[index] : 0, missing);
  }
  for (WeightFamily &family : model.families)
    if (family.tiedTo >= 0) {
      compareTied(family);
      family.tensors = model.families[size_t(family.tiedTo)].tensors;
    }
  model.tensorLedger.missing = missing;
  if (!missing.empty())
    reportMissing(missing);
  reportLeftOver();
  // Scales of activations and caches, which are not quantised here.
  const std::vector<std::string> &companions = source.checkpoint->companions();
  model.tensorLedger.ignored.insert(model.tensorLedger.ignored.end(), companions.begin(),
                                    companions.end());
  for (const std::string &fault : source.checkpoint->deferredFaults())
    problem(Problem::Kind::Invalid, fault);
}

void Resolver::reportMissing(const std::vector<std::string> &missing) {
  std::vector<std::string> names;
  if (options.nearNames)
    for (const CheckpointTensor &tensor : source.checkpoint->tensors())
      if (!taken.count(&tensor))
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
    if (taken.count(&tensor))
      continue;
    if (isMtp(tensor)) {
      model.tensorLedger.mtp.push_back(tensor.name);
      continue;
    }
    if (isIgnored(tensor.name)) {
      model.tensorLedger.ignored.push_back(tensor.name);
      checkLeftOut(tensor);
      continue;
    }
    model.tensorLedger.unread.push_back(tensor.name);
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
  taken.insert(tensor);
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
