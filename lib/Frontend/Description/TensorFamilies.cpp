//===- TensorFamilies.cpp - weights, and how they are stored --------------===//
#include "Resolver.h"
#include "llmc/Frontend/PairedTensors.h"

#include <algorithm>
#include <cmath>

namespace llmc::frontend {

using Locals = std::map<std::string, Value>;

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

StoredView StoredView::whole(std::vector<int64_t> shape) {
  StoredView view;
  view.strides.assign(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    view.strides[i - 1] = view.strides[i] * shape[i];
  view.stored = std::move(shape);
  return view;
}

int64_t PublishedTensor::elements() const { return int64_t(*elementCount(shape)) * count; }

bool flagOf(ParamEvaluator &params, const ExprPtr &expr, const Locals &locals, bool otherwise) {
  if (!expr)
    return otherwise;
  Value value = params.evaluateWith(*expr, locals);
  const bool *flag = value.get<bool>();
  if (!flag)
    expressionError(*expr, "this condition must be true or false, it is " + value.toText());
  return *flag;
}

namespace {

/// The numbers that the attributes of a tensor come to, and what follows of them.
class Layout {
public:
  Layout(ParamEvaluator &params, const ConfigView &view, const TensorDef &def, const Locals &locals)
      : params(params), view(view), def(def), locals(locals) {
    shape = shapeOf(*def.shape);
    if (def.transposed && shape.size() != 2)
      expressionError(*def.shape, "tensor '" + def.nameTemplate + "' is transposed, so its shape "
                                  "must be [rows, columns]; it is " + shapeText(shape));
    if (def.experts)
      experts = count(*def.experts, "experts", int64_t(1) << 20);
    if (def.groups) {
      groups = count(*def.groups, "groups", shape.front());
      if (shape.front() % groups)
        throw InputError(view.fileName() + ": the " + std::to_string(shape.front()) +
                         " rows of tensor '" + def.nameTemplate + "' are no " +
                         std::to_string(groups) + " groups of one size (" +
                         params.keysText(*def.groups) + ", " + def.location.position() + ")");
    }
    if (def.stored)
      readStored();
    readParts();
  }

  /// Of one expert, as published: what its tensor, or each of them, looks like.
  std::vector<int64_t> published(bool bias) const {
    std::vector<int64_t> out = bias ? std::vector<int64_t>{shape.front()} : storedShape(true);
    if (experts && !perExpertName())
      out.insert(out.begin(), experts);
    bound(out);
    return out;
  }
  int64_t publishedCount() const { return perExpertName() ? experts : 1; }

  /// Constants of the description, of one layer; there are `layers` of them.
  WeightFamily constants(int64_t layers) const {
    WeightFamily family;
    family.shape = shape;
    family.view = StoredView::whole(shape);
    int64_t elements = int64_t(*elementCount(shape));
    constexpr int64_t most = int64_t(1) << 20;
    if (elements > most / std::max<int64_t>(layers, 1))
      throw InputError(view.fileName() + ": the constants '" + def.nameTemplate + "' would be " +
                       shapeText(shape) + " by " + params.keysText(*def.shape) +
                       " in each of " + std::to_string(layers) + " layers; there may be " +
                       std::to_string(most) + " of them in all");
    Locals at = locals;
    for (int64_t n = 0; n < elements; ++n) {
      at["n"] = n;
      Value value = params.evaluateWith(*def.values, at);
      if (!value.isNumber() || !std::isfinite(float(value.asDouble())))
        expressionError(*def.values, "constants must be numbers that are finite in f32, element " +
                                         std::to_string(n) + " is " + value.toText());
      family.constants.push_back(float(value.asDouble()));
    }
    return family;
  }

  /// The whole tensor (`part` below 0) or a part of it, as a weight of this checkpoint.
  WeightFamily family(int part, bool bias, bool isGguf, bool perExpert) const {
    WeightFamily family;
    family.isBias = bias;
    family.integer = def.integer;
    family.perExpert = experts && perExpert;
    // GGUF files hold every matrix row by row.
    bool turned = def.transposed && !bias && !isGguf;
    std::vector<int64_t> cell = bias ? std::vector<int64_t>{shape.front()} : storedShape(!isGguf);
    int64_t columns = bias || shape.size() < 2 ? 1 : StoredView::whole(shape).strides[0];
    int64_t rows = shape.front(), rowStride = turned ? 1 : columns;
    int64_t inGroup = rows / std::max<int64_t>(groups, 1);
    family.transposed = turned;
    std::vector<int64_t> dims, strides;
    if (experts)
      dims.push_back(experts);
    if (experts && !perExpert) {
      strides.push_back(rows * columns);
      cell.insert(cell.begin(), experts);
    }
    if (part >= 0 && groups) {
      dims.push_back(groups);
      strides.push_back(inGroup * rowStride);
    }
    int64_t first = part < 0 ? 0 : firstRows[size_t(part)];
    dims.push_back(part < 0 ? rows : partRows[size_t(part)]);
    strides.push_back(rowStride * (part >= 0 && def.interleave ? int64_t(partRows.size()) : 1));
    if (!bias && shape.size() > 1) {
      dims.insert(dims.end(), shape.begin() + 1, shape.end());
      std::vector<int64_t> inner = StoredView::whole(shape).strides;
      if (turned)
        inner = {1, rows};
      strides.insert(strides.end(), inner.begin() + 1, inner.end());
    }
    if (part >= 0 && !bias && def.parts[size_t(part)].transposed) {
      std::swap(dims.end()[-1], dims.end()[-2]);
      std::swap(strides.end()[-1], strides.end()[-2]);
    }
    family.shape = std::move(dims);
    bound(family.shape);
    family.view = {std::move(cell), first * rowStride, std::move(strides)};
    family.laterPart = part > 0;
    family.needsView = family.view != StoredView::whole(family.perExpert
                                          ? std::vector<int64_t>(family.shape.begin() + 1,
                                                                 family.shape.end())
                                          : family.shape);
    // Rows and transposition say it more plainly.
    if (family.needsView && !experts && !groups && !def.interleave && !def.stored &&
        shape.size() <= 2) {
      family.needsView = false;
      if (part >= 0) {
        family.firstRow = first;
        family.storedRows = rows;
      }
    }
    return family;
  }

  int64_t experts = 0, groups = 0;

private:
  bool perExpertName() const { return def.nameTemplate.find("{e}") != std::string::npos; }

  std::vector<int64_t> storedShape(bool published) const {
    if (published && !stored.empty())
      return stored;
    std::vector<int64_t> out = shape;
    if (published && def.transposed)
      std::swap(out[0], out[1]);
    return out;
  }

  int64_t count(const Expr &expr, const char *what, int64_t most) const {
    Value value = params.evaluateWith(expr, locals);
    const int64_t *number = value.get<int64_t>();
    if (!number || *number < 1 || *number > most)
      throw InputError(view.fileName() + ": tensor '" + def.nameTemplate + "' gets " +
                       value.toText() + " " + what + " from " + params.keysText(expr) +
                       "; that must be an integer from 1 to " + std::to_string(most) + " (" +
                       def.location.position() + ")");
    return *number;
  }

  /// A bound that leaves room for every later product and sum.
  void bound(const std::vector<int64_t> &dims) const {
    auto elements = elementCount(dims);
    if (!elements || *elements > (uint64_t(1) << 40))
      throw InputError(view.fileName() + ": tensor '" + def.nameTemplate + "' would be " +
                       shapeText(dims) + " by " + params.keysText(*def.shape) +
                       "; that is larger than any machine holds");
  }

  /// The dimensions of a shape expression; they are positive and their product fits.
  std::vector<int64_t> shapeOf(const Expr &expr) const {
    Value value = params.evaluateWith(expr, locals);
    const ValueList *list = value.get<ValueList>();
    if (!list || list->empty())
      expressionError(expr, "a shape must be a list of integers");
    std::vector<int64_t> dims;
    for (const Value &dim : *list) {
      const int64_t *size = dim.get<int64_t>();
      if (!size || *size < 1)
        throw InputError(view.fileName() + ": tensor '" + def.nameTemplate + "' gets the size " +
                         dim.toText() + " from " + params.keysText(expr) +
                         "; sizes must be positive integers (" + def.location.position() + ")");
      dims.push_back(*size);
    }
    bound(dims);
    return dims;
  }

  /// Without dimensions of one it is the weight, or has more rows.
  void readStored() {
    stored = shapeOf(*def.stored);
    auto plain = [](std::vector<int64_t> dims) {
      std::erase(dims, 1);
      if (dims.empty())
        dims.push_back(1);
      return dims;
    };
    std::vector<int64_t> a = plain(stored), b = plain(shape);
    if (a.empty())
      a.push_back(1);
    // A single row of several.
    if (b.size() < a.size())
      b.insert(b.begin(), 1);
    if (a.size() != b.size() || a.front() < b.front() || !std::equal(a.begin() + 1, a.end(), b.begin() + 1, b.end()))
      throw InputError(view.fileName() + ": tensor '" + def.nameTemplate + "' is stored as " +
                       shapeText(stored) + " (" + params.keysText(*def.stored) +
                       "), of which a weight of " + shapeText(shape) + " (" +
                       params.keysText(*def.shape) + ") is no leading part (" +
                       def.location.position() + ")");
  }

  /// The rows of each part; together they must be all of the tensor's, or of one group's.
  void readParts() {
    if (def.parts.empty())
      return;
    int64_t all = shape.front() / std::max<int64_t>(groups, 1), left = all;
    for (const TensorPart &part : def.parts) {
      Value value = params.evaluateWith(*part.rows, locals);
      const int64_t *rows = value.get<int64_t>();
      if (!rows || *rows < 1 || *rows > left)
        throw InputError(view.fileName() + ": part '" + part.role + "' of tensor '" +
                         def.nameTemplate + "' gets " + value.toText() + " rows from " +
                         params.keysText(*part.rows) + "; there are " + std::to_string(left) +
                         " left of " + std::to_string(all) + (groups ? " of each group" : "") +
                         " (" + def.location.position() + ")");
      firstRows.push_back(def.interleave ? int64_t(partRows.size()) : all - left);
      partRows.push_back(*rows);
      left -= *rows;
    }
    if (left)
      throw InputError(view.fileName() + ": the parts of tensor '" + def.nameTemplate +
                       "' have " + std::to_string(all - left) + " rows, the tensor has " +
                       std::to_string(all) + " by " + params.keysText(*def.shape) + " (" +
                       def.location.position() + ")");
    if (def.interleave &&
        std::count(partRows.begin(), partRows.end(), partRows[0]) != int64_t(partRows.size()))
      throw InputError(view.fileName() + ": the rows of tensor '" + def.nameTemplate +
                       "' alternate between its parts, which must have equally many then (" +
                       def.location.position() + ")");
    if (shape.size() < 2)
      for (const TensorPart &part : def.parts)
        if (part.transposed)
          expressionError(*def.shape, "part '" + part.role + "' is transposed, so the tensor must "
                                      "be a matrix; it is " + shapeText(shape));
  }

  ParamEvaluator &params;
  const ConfigView &view;
  const TensorDef &def;
  const Locals &locals;
  std::vector<int64_t> shape, stored, partRows, firstRows;
};

} // namespace

/// A name without numbers that belong to a member: the first layer, expert 0.
static std::string sampleName(const std::string &name, int64_t layer) {
  return expandExpertName(expandLayerName(name, layer), 0);
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

bool Resolver::holdsAny(const std::vector<TensorDef> &tensors,
                        const std::vector<std::string> &roles) const {
  for (const TensorDef &def : tensors) {
    if (!def.whole.empty() || std::find(roles.begin(), roles.end(), def.role) == roles.end())
      continue;
    for (int64_t i = 0; i < (def.perLayer ? layers : 1); ++i) {
      Locals locals;
      if (def.perLayer)
        locals["i"] = i;
      if (!flagOf(*model.evaluator, def.when, locals, true))
        continue;
      if (source.checkpoint->find(sampleName(stored.apply(def.nameTemplate), i)))
        return true;
      break;
    }
  }
  return false;
}

/// As with prefixes: the first form that is possible is how the model was published, and the
/// checkpoint's own is the one whose names it holds.
void Resolver::chooseForms() {
  publishedForm = storedForm = &description.tensors;
  // GGUF has names of its own, those that the section gives to the roles.
  if (source.isGguf() || description.forms.empty())
    return;
  for (const FormDef &form : description.forms)
    if (form.when && flagOf(*model.evaluator, form.when, {}, false)) {
      publishedForm = storedForm = &form.tensors;
      break;
    }
  if (!source.checkpoint)
    return;
  std::vector<std::string> replaced;
  for (const FormDef &form : description.forms) {
    if (holdsAny(form.tensors, form.own))
      return void(storedForm = &form.tensors);
    for (const TensorDef &def : description.tensors) {
      auto same = std::find_if(form.tensors.begin(), form.tensors.end(),
                               [&](const TensorDef &other) { return other.role == def.role; });
      if (same == form.tensors.end() || same->nameTemplate != def.nameTemplate ||
          same->whole != def.whole)
        replaced.push_back(def.role);
    }
  }
  if (holdsAny(description.tensors, replaced))
    storedForm = &description.tensors;
}

std::string Resolver::storedName(const TensorDef &def) const {
  if (!source.isGguf())
    return stored.apply(def.nameTemplate);
  const auto &names = description.gguf->tensors;
  auto it = names.find(def.role);
  bool inParts = !def.parts.empty() &&
                 std::all_of(def.parts.begin(), def.parts.end(),
                             [&](const auto &part) { return names.count(part.role) != 0; });
  if (it == names.end() && inParts)
    return {};
  if (it == names.end())
    throw InputError(def.location.position() + ": role '" + def.role +
                     "' has no name in the 'gguf' section of description '" + description.name +
                     "'");
  return it->second;
}

void Resolver::addFamily(const TensorDef &def, WeightFamily family, std::optional<int64_t> layer) {
  // Layers of one role share a family as long as they are stored alike.
  for (WeightFamily &known : model.families)
    if (layer && known.role == family.role && known.shape == family.shape &&
        known.view == family.view) {
      known.constants.insert(known.constants.end(), family.constants.begin(),
                             family.constants.end());
      known.layers.push_back(*layer);
      known.tensors.push_back(nullptr);
      return;
    }
  family.perLayer = layer.has_value();
  if (layer)
    family.layers.push_back(*layer);
  family.tensors.push_back(nullptr);
  model.families.push_back(std::move(family));
  shapeExprs.push_back(def.shape.get());
  familyDefs.push_back(&def);
}

void Resolver::addTensor(const TensorDef &def, std::optional<int64_t> layer) {
  ParamEvaluator &params = *model.evaluator;
  Locals locals;
  if (layer)
    locals["i"] = *layer;
  if (!def.whole.empty() || !flagOf(params, def.when, locals, true))
    return;
  if (def.values) {
    WeightFamily family = Layout(params, *view, def, locals).constants(layer ? layers : 1);
    family.role = def.role;
    family.publishedName = family.checkpointName = def.nameTemplate;
    return addFamily(def, std::move(family), layer);
  }
  std::string name = storedName(def);
  if (def.optional &&
      !(source.checkpoint && source.checkpoint->find(sampleName(name, layer.value_or(0)))))
    return;
  Layout layout(params, *view, def, locals);
  bool isGguf = source.isGguf();
  auto add = [&](int part, bool bias) {
    auto partName = [&](const std::string &whole) {
      return part < 0 || !whole.empty() ? whole
                                        : description.gguf->tensors.at(def.parts[size_t(part)].role);
    };
    std::string weightName = partName(name);
    auto nameOf = [&](const std::string &weight, bool published) {
      if (!bias)
        return weight;
      return published || !isGguf ? (published ? this->published : stored).apply(def.biasTemplate)
                                  : biasName(weight);
    };
    std::string stem = part < 0 ? def.role : def.parts[size_t(part)].role;
    WeightFamily family = layout.family(part, bias, isGguf,
                                        weightName.find("{e}") != std::string::npos);
    family.role = bias ? biasRole(stem) : stem;
    family.publishedName = nameOf(this->published.apply(def.nameTemplate), true);
    family.checkpointName = nameOf(weightName, false);
    if (!bias && flagOf(params, def.unitRows, locals, false))
      family.checkpointName = unitRowsName(family.checkpointName);
    if (part >= 0 && name.empty()) {
      // A tensor of its own, which is the part and nothing else.
      std::vector<int64_t> own = family.shape;
      if (family.perExpert)
        own.erase(own.begin());
      family.view = StoredView::whole(std::move(own));
      family.storedByItself = true;
      family.laterPart = family.needsView = family.transposed = false;
      family.firstRow = family.storedRows = 0;
    }
    addFamily(def, std::move(family), layer);
  };
  bool hasBias = flagOf(params, def.bias, locals, false);
  for (bool bias : {false, true}) {
    if (bias && !hasBias)
      continue;
    if (def.parts.empty())
      add(-1, bias);
    for (size_t part = 0; part < def.parts.size(); ++part)
      add(int(part), bias);
  }
}

/// A bound for what is counted over layers and experts: sums of counts stay numbers of 64 bits.
static constexpr int64_t mostElementsOfModel = int64_t(1) << 60;

void Resolver::publish(const TensorDef &def, std::optional<int64_t> evaluatedAt,
                       const PrefixDef &renamed, const PrefixDef &prefix,
                       std::vector<PublishedTensor> &list) {
  ParamEvaluator &params = *model.evaluator;
  Locals locals;
  if (evaluatedAt)
    locals["i"] = *evaluatedAt;
  if (!def.whole.empty() || def.values || !flagOf(params, def.when, locals, true))
    return;
  if (def.optional &&
      !(source.checkpoint && source.checkpoint->find(
                                 sampleName(storedName(def), evaluatedAt.value_or(0)))))
    return;
  Layout layout(params, *view, def, locals);
  auto add = [&](const std::string &name, bool bias) {
    PublishedTensor tensor;
    tensor.name = prefix.apply(renamed.apply(name));
    tensor.shape = layout.published(bias);
    tensor.count = layout.publishedCount();
    tensor.integer = def.integer;
    tensor.tied = !bias && def.tied && !params.evaluateWith(*def.tied, {}).isNull();
    for (PublishedTensor &known : list)
      if (known.name == tensor.name && known.shape == tensor.shape) {
        known.count += tensor.count;
        return;
      }
    list.push_back(std::move(tensor));
  };
  add(def.nameTemplate, false);
  if (flagOf(params, def.bias, locals, false))
    add(def.biasTemplate, true);
}

void Resolver::buildFamilies() {
  for (const TensorDef &def : *storedForm) {
    if (!def.perLayer) {
      addTensor(def, std::nullopt);
      continue;
    }
    for (int64_t i = 0; i < layers; ++i)
      addTensor(def, i);
  }
  for (const TensorDef &def : *publishedForm) {
    if (!def.perLayer) {
      publish(def, std::nullopt, {}, published, model.published);
      continue;
    }
    for (int64_t i = 0; i < layers; ++i)
      publish(def, i, {}, published, model.published);
  }
  buildMtp();
  for (const auto *list : {&model.published, &model.mtp}) {
    int64_t sum = 0;
    for (const PublishedTensor &tensor : *list) {
      int64_t each = int64_t(*elementCount(tensor.shape));
      if (tensor.count > (mostElementsOfModel - sum) / each)
        throw InputError(view->fileName() + ": the model would have more than " +
                         std::to_string(mostElementsOfModel) + " parameters (tensor '" +
                         tensor.name + "', " + std::to_string(tensor.count) + " times)");
      sum += each * tensor.count;
    }
  }
}

int64_t Resolver::mtpNumber(const ExprPtr &expr, const char *what, int64_t most,
                            int64_t otherwise) {
  if (!expr)
    return otherwise;
  Value value = model.evaluator->evaluateWith(*expr, {});
  const int64_t *number = value.get<int64_t>();
  if (!number || *number < 0 || *number > most)
    throw InputError(view->fileName() + ": " + model.evaluator->keysText(*expr) + " gives " +
                     value.toText() + " for '" + what +
                     "' of the layers for multi-token prediction, it must be an integer from 0 to " +
                     std::to_string(most));
  return *number;
}

void Resolver::buildMtp() {
  if (!description.mtp)
    return;
  const MtpDef &def = *description.mtp;
  constexpr int64_t most = 1000;
  model.mtpLayers = mtpNumber(def.count, "count", most, 0);
  mtpFrom = mtpNumber(def.from, "from", 1 << 20, 0);
  if (!model.mtpLayers)
    return;
  int64_t like = mtpNumber(def.like, "like", layers - 1, -1);
  auto list = [&](const PrefixDef &prefix, std::vector<PublishedTensor> &tensors) {
    for (int64_t layer = 0; layer < model.mtpLayers; ++layer) {
      for (const TensorDef &tensor : description.tensors)
        if (like >= 0 && tensor.perLayer &&
            std::find(def.without.begin(), def.without.end(), tensor.role) == def.without.end())
          publish(tensor, like, def.renamed, prefix, tensors);
      for (const TensorDef &tensor : def.tensors)
        if (tensor.perLayer)
          publish(tensor, like >= 0 ? like : layer, {}, prefix, tensors);
    }
    for (const TensorDef &tensor : def.tensors)
      if (!tensor.perLayer)
        publish(tensor, std::nullopt, {}, prefix, tensors);
  };
  list(published, model.mtp);
  list(stored, mtpStored);
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

} // namespace llmc::frontend
