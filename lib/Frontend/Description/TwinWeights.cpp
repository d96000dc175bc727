//===- TwinWeights.cpp - values for the weights of a twin -----------------===//
#include "ShapeHooks.h"
#include "llmc/Frontend/RouteSettings.h"
#include "llmc/Frontend/Twin.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fs = std::filesystem;

namespace llmc::frontend {

namespace {

/// How a weight is used decides what values are plausible.
struct WeightUse {
  enum class What : uint8_t {
    Other, Matrix, Router, Table, Norm, Addend, Decay, Rate, Choice, Experts
  };
  What what = What::Other;
  /// Of a matrix: how many products a sum has.
  int64_t terms = 1;
  /// Of a norm: what its values are around.
  double middle = 1;
  /// Of whole numbers: values are below.
  int64_t bound = 1;
};

/// Follows what reaches the decay of a recurrence and the logits of a router.
class UseHooks : public ShapeHooks {
public:
  explicit UseHooks(const ResolvedModel &model) : ShapeHooks(model), model(model) {
    uses.resize(model.families.size());
  }

  std::vector<WeightUse> uses;

  std::vector<Value> op(const OpCall &call) override {
    std::vector<Value> results = ShapeHooks::op(call);
    const std::string &name = call.name;
    if (name == "layers")
      return results;
    note(call);
    std::set<uint32_t> reached;
    bool keeps = isElementwise(name) || addsBiases(name);
    noteFactors(call, results);
    for (const Value &value : call.args) {
      if (const auto *weight = value.get<WeightRef>(); weight && isElementwise(name))
        reached.insert(weight->family);
      if (const auto *weight = value.get<WeightRef>(); weight && addsBiases(name) &&
                                                      weight->biasFamily >= 0)
        reached.insert(uint32_t(weight->biasFamily));
      const auto *handle = value.get<Handle>();
      auto it = handle ? from.find(handle->id) : from.end();
      if (it != from.end() && keeps && isElementwise(name))
        reached.insert(it->second.begin(), it->second.end());
    }
    for (const Value &value : results)
      if (const auto *handle = value.get<Handle>(); handle && !reached.empty())
        from[handle->id] = reached;
    // The product that a router's logits are.
    if (name == "linear" || name == "output_head")
      for (size_t i = 0; i < results.size(); ++i)
        products[results[i].get<Handle>()->id] = weightArg(call, i + 1).family;
    return results;
  }

private:
  using What = WeightUse::What;

  static bool isElementwise(const std::string &name) {
    static const std::set<std::string> names = {
        "residual_add", "add",    "sub",    "mul",         "div",         "min",       "max",
        "scale",        "offset", "clamp",  "weight_rows", "activation",  "gate",      "slice",
        "split_heads",  "take",   "concat", "merge_heads", "transpose",   "softcap"};
    return names.count(name) != 0;
  }

  void set(const Value *value, WeightUse use) {
    if (const auto *weight = value ? value->get<WeightRef>() : nullptr)
      uses[weight->family] = use;
  }

  void note(const OpCall &call) {
    const std::string &name = call.name;
    const Value *offset = call.findNamed("offset");
    if (name == "rms_norm" || name == "layer_norm") {
      set(&call.args[1], {What::Norm, 1, 1 - (offset && offset->isNumber() ? offset->asDouble() : 0)});
      if (name == "layer_norm")
        set(&call.args[2], {What::Addend});
    } else if (name == "embedding" || name == "position_embedding") {
      for (const Value &value : call.args)
        set(&value, {What::Table});
    } else if (name == "add" || name == "sub") {
      for (const Value &value : call.args)
        set(&value, {What::Addend});
    } else if (name == "route") {
      RouteSettings settings = routeSettings(call, shapeOf(call.args[0])[0]);
      auto it = products.find(handleArg(call, 0).id);
      if (it != products.end())
        uses[it->second].what = What::Router;
      set(call.findNamed("bias"), {What::Experts});
      if (settings.table)
        uses[settings.table->family] = {What::Choice, 1, 1, shapeOf(call.args[0])[0]};
    } else if (name == "linear_attention") {
      if (auto it = from.find(handleArg(call, 3).id); it != from.end())
        for (uint32_t family : it->second)
          uses[family] = {factors.count(family) ? What::Rate : What::Decay};
    } else if (name == "sum") {
      // What it multiplies makes a product of vectors.
      if (auto it = from.find(handleArg(call, 0).id); it != from.end())
        for (uint32_t family : it->second)
          if (uses[family].what == What::Other)
            uses[family] = {What::Matrix, shapeOf(call.args[0]).back()};
    } else {
      for (const Value &value : call.args)
        if (const auto *weight = value.get<WeightRef>();
            weight && (addsBiases(name) || name == "output_head" || name == "head_linear") &&
            uses[weight->family].what != What::Table)
          uses[weight->family] = {What::Matrix, model.families[weight->family].shape.back()};
    }
    for (const Value &value : call.args)
      if (const auto *weight = value.get<WeightRef>(); weight && weight->biasFamily >= 0 &&
                                                      uses[size_t(weight->biasFamily)].what ==
                                                          What::Other)
        uses[size_t(weight->biasFamily)] = {What::Addend};
  }

  /// Weights whose exponentials multiply something of the tokens.
  void noteFactors(const OpCall &call, const std::vector<Value> &results) {
    auto of = [&](const Value &value) {
      const auto *handle = value.get<Handle>();
      auto it = handle ? exponentials.find(handle->id) : exponentials.end();
      return it == exponentials.end() ? nullptr : &it->second;
    };
    const Value &first = call.args.empty() ? Value() : call.args[0];
    if (call.name == "weight_rows") {
      exponentials[results[0].get<Handle>()->id] = first.get<WeightRef>()->family;
    } else if (call.name == "activation" || call.name == "scale") {
      const auto *function = call.name == "scale" ? nullptr : call.args[1].get<std::string>();
      if (const uint32_t *family = of(first); family && (!function || *function == "exp"))
        exponentials[results[0].get<Handle>()->id] = *family;
    } else if (call.name == "mul") {
      const uint32_t *a = of(first), *b = of(call.args[1]);
      if ((a != nullptr) != (b != nullptr))
        factors.insert(a ? *a : *b);
    }
  }

  const ResolvedModel &model;
  /// Value -> weight that it is a function of.
  std::map<uint64_t, uint32_t> exponentials;
  std::set<uint32_t> factors;
  /// Value -> weights that it is made of, element by element.
  std::map<uint64_t, std::set<uint32_t>> from;
  std::map<uint64_t, uint32_t> products;
};

/// Numbers that depend on a name, a seed and how many were drawn before.
class Draw {
public:
  Draw(const std::string &name, uint64_t seed) : state(seed ^ 0x9e3779b97f4a7c15) {
    for (unsigned char c : name)
      state = (state ^ c) * 0x100000001b3;
  }
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  /// Of mean 0 and deviation 1, within 3.5; a sum, so that it is the same everywhere.
  double normal() {
    double sum = 0;
    for (int i = 0; i < 4; ++i)
      sum += uniform() - 0.5;
    return sum * 1.7320508075688772;
  }

private:
  uint64_t state;
};

double valueFor(const WeightUse &use, Draw &draw) {
  using What = WeightUse::What;
  switch (use.what) {
  case What::Matrix:
    return draw.normal() / std::sqrt(double(use.terms));
  case What::Router:
    return 2 * draw.normal() / std::sqrt(double(use.terms));
  case What::Table:
    return draw.normal();
  case What::Norm:
    return use.middle + 0.25 * draw.normal();
  case What::Addend:
    return 0.25 * draw.normal();
  case What::Decay:
    // exp, softplus and sigmoid of it are around an eighth: some tokens are remembered. Where only
    // one is, a state is one product, and the norm behind it makes rounding large.
    return -2 + 0.5 * draw.normal();
  case What::Rate:
    return 0.3 * draw.normal();
  case What::Choice:
    return double(draw.next() % uint64_t(use.bound));
  case What::Experts:
    return 0.1 * draw.normal();
  case What::Other:
    return 1 + 0.25 * draw.normal();
  }
  return 0;
}

/// Writes the elements of a weight to where they lie in its tensor.
void fill(TwinTensor &tensor, const WeightFamily &family, const WeightUse &use, Draw &draw) {
  std::vector<int64_t> dims = family.shape;
  if (family.perExpert)
    dims.erase(dims.begin());
  const StoredView &view = family.view;
  std::vector<int64_t> index(dims.size(), 0);
  for (uint64_t left = *elementCount(dims); left; --left) {
    int64_t at = view.first;
    for (size_t d = 0; d < dims.size(); ++d)
      at += index[d] * view.strides[d];
    tensor.values[size_t(at)] = float(valueFor(use, draw));
    for (size_t d = dims.size(); d-- && ++index[d] == dims[d];)
      index[d] = 0;
  }
}
} // namespace

std::map<std::string, TwinTensor> twinWeights(const ResolvedModel &model, uint64_t seed) {
  UseHooks hooks(model);
  model.emitModel(hooks, Handle{0});
  std::map<std::string, TwinTensor> tensors;
  for (uint32_t f = 0; f < model.families.size(); ++f) {
    const WeightFamily &family = model.families[f];
    // Constants of the description are no part of a checkpoint.
    if (family.tiedTo >= 0 || !family.constants.empty())
      continue;
    WeightUse use = hooks.uses[f];
    if (use.what == WeightUse::What::Router)
      use.terms = family.shape.back();
    for (int64_t layer : family.perLayer ? family.layers : std::vector<int64_t>{0})
      for (int64_t expert = 0; expert < family.tensorCount(); ++expert) {
        std::string name = family.perLayer ? expandLayerName(family.publishedName, layer)
                                           : family.publishedName;
        if (family.perExpert)
          name = expandExpertName(name, expert);
        auto [it, isNew] = tensors.try_emplace(name);
        TwinTensor &tensor = it->second;
        if (isNew) {
          tensor.shape = family.storedShape();
          tensor.integer = family.integer;
          tensor.values.resize(size_t(*elementCount(tensor.shape)));
          // What no weight reads has values as well.
          Draw draw(name, seed);
          for (float &value : tensor.values)
            value = family.integer ? 0 : float(draw.normal());
        }
        Draw draw(name + "/" + family.role, seed);
        fill(tensor, family, use, draw);
      }
  }
  return tensors;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

[[noreturn]] static void cannotWrite(const std::string &path) {
  std::string reason = errno ? std::strerror(errno) : "writing failed";
  throw InputError(path + ": cannot be written: " + reason +
                   "; make room on its disk, or name a folder elsewhere with -o");
}

static void writeSafetensors(const std::string &path,
                             const std::map<std::string, TwinTensor> &tensors) {
  std::string header = "{\"__metadata__\": {\"format\": \"pt\"}";
  uint64_t offset = 0;
  for (const auto &[name, tensor] : tensors) {
    uint64_t bytes = tensor.values.size() * (tensor.integer ? 8 : 4);
    header += ", " + quoteJson(name) + ": {\"dtype\": \"" + (tensor.integer ? "I64" : "F32") +
              "\", \"shape\": " + shapeText(tensor.shape) + ", \"data_offsets\": [" +
              std::to_string(offset) + ", " + std::to_string(offset + bytes) + "]}";
    offset += bytes;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::ofstream file(path, std::ios::binary);
  uint64_t size = header.size();
  file.write(reinterpret_cast<const char *>(&size), 8);
  file << header;
  for (const auto &[name, tensor] : tensors) {
    if (!tensor.integer) {
      file.write(reinterpret_cast<const char *>(tensor.values.data()),
                 std::streamsize(tensor.values.size() * 4));
      continue;
    }
    std::vector<int64_t> whole(tensor.values.begin(), tensor.values.end());
    file.write(reinterpret_cast<const char *>(whole.data()), std::streamsize(whole.size() * 8));
  }
  file.flush();
  if (!file)
    cannotWrite(path);
}

/// Objects one member a line, lists and what is inside them on one.
static std::string pretty(const Json &json, size_t depth = 0) {
  if (!json.isObject() || json.members.empty())
    return json.dump();
  std::string out = "{\n";
  for (size_t i = 0; i < json.members.size(); ++i)
    out += std::string(2 * depth + 2, ' ') + quoteJson(json.members[i].first) + ": " +
           pretty(json.members[i].second, depth + 1) +
           (i + 1 < json.members.size() ? ",\n" : "\n");
  return out + std::string(2 * depth, ' ') + "}";
}

static void checkFolder(const std::string &folder, bool force) {
  if (folder.empty())
    throw InputError("the name of the twin's folder is empty; name a new folder with -o");
  std::error_code error;
  if (!fs::exists(folder, error))
    return;
  if (!fs::is_directory(folder, error))
    throw InputError(folder + ": is a file; name a new folder for the twin");
  if (fs::is_empty(folder, error))
    return;
  if (!force)
    throw InputError(folder + ": holds files already; name a new folder, or pass --force to put a "
                              "twin in the place of an earlier one");
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
    if (std::string name = entry.path().filename().string();
        name != "config.json" && name != "model.safetensors")
      throw InputError(folder + ": holds " + name + ", which is no part of a twin; name a new "
                                                    "folder");
}

void writeTwin(const Twin &twin, const std::string &folder, bool force) {
  std::string target = folder;
  while (target.size() > 1 && target.back() == '/')
    target.pop_back();
  checkFolder(target, force);
  std::string temporary = target + ".unfinished-" + std::to_string(::getpid());
  std::error_code error;
  if (!fs::create_directories(temporary, error))
    throw InputError(temporary + ": cannot be made: " +
                     (error ? error.message() : std::string("it exists")) +
                     "; name a folder elsewhere with -o");
  try {
    writeSafetensors(temporary + "/model.safetensors", twinWeights(*twin.model, twin.seed));
    std::ofstream config(temporary + "/config.json", std::ios::binary);
    config << pretty(twin.config) << "\n";
    config.close();
    if (!config)
      cannotWrite(temporary + "/config.json");
    // What is there was found to be an earlier twin, or nothing.
    if (force)
      fs::remove_all(target, error);
    fs::rename(temporary, target, error);
    if (error)
      throw InputError(target + ": cannot be written: " + error.message() +
                       "; name a folder elsewhere with -o");
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
}

} // namespace llmc::frontend
