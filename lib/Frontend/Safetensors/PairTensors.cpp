//===- PairTensors.cpp - which stored tensors are one weight --------------===//
#include "llmc/Frontend/PairedTensors.h"

#include "llmc/Support/Error.h"

#include <algorithm>
#include <unordered_set>

namespace llmc::frontend {

namespace {

using Shape = std::vector<int64_t>;

int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

class Pairing {
public:
  Pairing(const Checkpoint &stored, const QuantScheme &scheme)
      : stored(stored), scheme(scheme), result(std::make_shared<Checkpoint>()) {
    result->addFilesOf(stored);
  }

  std::shared_ptr<Checkpoint> run() {
    for (const CheckpointTensor &tensor : stored.tensors())
      pair(tensor);
    for (const CheckpointTensor &tensor : stored.tensors()) {
      auto made = weights.find(&tensor);
      if (made != weights.end())
        result->addTensor(std::move(made->second));
      else if (!used.count(&tensor))
        leave(tensor);
    }
    return result;
  }

private:
  static bool ends(const std::string &name, std::string_view suffix) {
    return name.size() > suffix.size() && name.ends_with(suffix);
  }
  static std::string without(const std::string &name, std::string_view suffix) {
    return name.substr(0, name.size() - suffix.size());
  }
  static bool is(const CheckpointTensor &tensor, std::initializer_list<const char *> formats) {
    return tensor.format && std::any_of(formats.begin(), formats.end(), [&](const char *name) {
             return tensor.format->name == name;
           });
  }
  const CheckpointTensor *find(const std::string &name) const { return stored.find(name); }

  void fault(const CheckpointTensor &tensor, const std::string &message) {
    result->addDeferredFault(stored.files()[tensor.file] + ": tensor '" + tensor.name + "' " +
                             message);
  }
  /// A companion of the shape that it must have.
  bool fits(const CheckpointTensor &tensor, const CheckpointTensor &companion,
            const std::vector<Shape> &shapes) {
    if (!tensor.shapeKnown || !companion.shapeKnown)
      return true;
    if (std::find(shapes.begin(), shapes.end(), companion.shape) != shapes.end())
      return true;
    std::string wanted;
    for (const Shape &shape : shapes)
      wanted += (wanted.empty() ? "" : " or ") + shapeText(shape);
    fault(tensor, "has shape " + shapeText(tensor.shape) + " and '" + companion.name + "' " +
                      shapeText(companion.shape) + ", which must be " + wanted +
                      "; get both files again");
    return false;
  }
  /// Unpacked sizes are computed of stored ones, up to 32 times as large, and scales of each size.
  bool sized(const CheckpointTensor &tensor) {
    constexpr uint64_t most = uint64_t(1) << 53;
    uint64_t count = tensor.shapeKnown ? *elementCount(tensor.shape) : 1;
    if (count != 0 && count <= most)
      return true;
    fault(tensor, "has shape " + shapeText(tensor.shape) + ", which no quantised weight (" +
                      scheme.method + ") has; get the file again");
    return false;
  }
  bool typed(const CheckpointTensor &tensor, std::initializer_list<const char *> formats) {
    if (!tensor.format || is(tensor, formats))
      return true;
    std::string wanted;
    for (const char *name : formats)
      wanted += (wanted.empty() ? "" : " or ") + std::string(name);
    fault(tensor, "is stored as " + std::string(tensor.format->name) + ", expected " + wanted +
                      " for " + scheme.method);
    return false;
  }
  const CheckpointTensor *need(const CheckpointTensor &tensor, const std::string &name) {
    const CheckpointTensor *companion = find(name);
    if (!companion)
      fault(tensor, "is quantised (" + scheme.method + ") and its tensor '" + name +
                        "' is missing; get the whole checkpoint");
    return companion;
  }

  /// The weight that takes the place of its quants.
  void make(const CheckpointTensor &quants, std::string name, Shape shape, PairedTensors pair) {
    CheckpointTensor weight = quants;
    weight.name = std::move(name);
    weight.shape = std::move(shape);
    weight.format = quants.format ? findStorageFormat("f32") : nullptr;
    pair.quants = quants;
    for (const CheckpointTensor *part : {&pair.scales, &pair.global, &pair.zeros, &pair.groups})
      if (!part->name.empty()) {
        used.insert(find(part->name));
        weight.shapeKnown &= part->shapeKnown;
      }
    weight.paired = std::make_shared<const PairedTensors>(std::move(pair));
    weights.emplace(&quants, std::move(weight));
  }

  void pair(const CheckpointTensor &tensor) {
    if (ends(tensor.name, ".weight_packed"))
      return pairPacked(tensor, without(tensor.name, "_packed"));
    if (ends(tensor.name, ".qweight"))
      return pairInts(tensor, without(tensor.name, "qweight"));
    if (ends(tensor.name, "_blocks") && scheme.method == "mxfp4")
      return pairBlocks(tensor, without(tensor.name, "_blocks"));
    // Where only an index is known, the names decide.
    bool eight = is(tensor, {"f8e4m3", "i8"}) || !tensor.format;
    if (ends(tensor.name, ".weight") && is(tensor, {"u8"}))
      return pairModelopt(tensor);
    bool isScale = false;
    for (const char *suffix : {"_scale", "_scale_inv", ".scale", "_scale_2", "_bias"})
      isScale |= ends(tensor.name, suffix);
    if (eight && !isScale)
      pairScaled(tensor);
  }

  void pairScaled(const CheckpointTensor &tensor) {
    const CheckpointTensor *scales = nullptr;
    std::string stem = ends(tensor.name, ".weight") ? without(tensor.name, ".weight") : tensor.name;
    for (const std::string &name : {tensor.name + "_scale_inv", tensor.name + "_scale",
                                    stem + ".scale", stem + ".SCB"})
      if (!scales)
        scales = find(name);
    if (!scales && tensor.format && tensor.shape.size() >= 2)
      scales = need(tensor, tensor.name + "_scale_inv' or '" + tensor.name + "_scale");
    if (!scales)
      return;
    if (ends(scales->name, ".SCB"))
      return fault(tensor, "is stored as bitsandbytes does, with '" + scales->name +
                               "', which llmc cannot read yet");
    if (!sized(tensor))
      return;
    PairedTensors pair;
    pair.scales = *scales;
    if (scheme.powers || (is(tensor, {"f8e4m3"}) && is(*scales, {"u8"})))
      return pairPowers(tensor, *scales, std::move(pair));
    if (!typed(*scales, {"f32", "bf16", "f16", "f8e8m0"}))
      return;
    pair.blockRows = pair.blockColumns = 1;
    if (!tensor.shapeKnown || !scales->shapeKnown)
      return make(tensor, tensor.name, tensor.shape, std::move(pair));
    const Shape &shape = tensor.shape;
    if (shape.size() < 2)
      return fault(tensor, "is a vector with scales of its own, which no method has");
    int64_t rows = shape.end()[-2], columns = shape.back();
    // Experts of DeepSeek-V4: two values a byte, scales of 32 of them.
    Shape perBlock = shape;
    perBlock.back() /= 16;
    if (scheme.method == "fp8" && is(tensor, {"i8"}) && is(*scales, {"f8e8m0"}) &&
        columns % 16 == 0 && scales->shape == perBlock) {
      pair.kind = PairingKind::Mxfp4;
      Shape whole = shape;
      whole.back() *= 2;
      return finishFourBits(tensor, tensor.name, std::move(whole), std::move(pair));
    }
    Shape lead(shape.begin(), shape.end() - 2);
    auto grid = [&](int64_t down, int64_t across) {
      Shape out = lead;
      out.insert(out.end(), {down, across});
      return out;
    };
    int64_t count = int64_t(*elementCount(scales->shape));
    Shape perRow = lead;
    perRow.push_back(rows);
    if (count == 1) {
      pair.blockRows = rows;
      pair.blockColumns = columns;
    } else if (scales->shape == grid(rows, 1) || scales->shape == perRow) {
      pair.blockColumns = columns;
    } else if (scheme.blockRows) {
      pair.blockRows = scheme.blockRows;
      pair.blockColumns = scheme.blockColumns;
      if (!fits(tensor, *scales,
                {grid(ceilDiv(rows, pair.blockRows), ceilDiv(columns, pair.blockColumns))}))
        return;
    } else if (!fits(tensor, *scales, {Shape{}, Shape{1}, grid(rows, 1)})) {
      return;
    }
    make(tensor, tensor.name, shape, std::move(pair));
  }

  /// mxfp8: a power of two for each 32 values of a row.
  void pairPowers(const CheckpointTensor &tensor, const CheckpointTensor &scales,
                  PairedTensors pair) {
    constexpr int64_t block = 32;
    pair.kind = PairingKind::Mxfp8;
    pair.blockRows = 1;
    pair.blockColumns = block;
    if (!typed(tensor, {"f8e4m3"}) || !typed(scales, {"u8", "f8e8m0"}))
      return;
    if (tensor.shapeKnown && (tensor.shape.size() < 2 || tensor.shape.back() % block))
      return fault(tensor, "has shape " + shapeText(tensor.shape) +
                               ", which is no matrix in whole blocks of " + std::to_string(block));
    Shape grid = tensor.shape;
    if (tensor.shapeKnown)
      grid.back() /= block;
    if (fits(tensor, scales, {grid}))
      make(tensor, tensor.name, tensor.shape, std::move(pair));
  }

  /// Two values a byte with scales for each 16 or 32, or eight an i32.
  void pairPacked(const CheckpointTensor &tensor, const std::string &name) {
    const CheckpointTensor *scales = need(tensor, name + "_scale");
    if (!scales || !sized(tensor))
      return;
    PairedTensors pair;
    pair.scales = *scales;
    for (const char *companion : {"_shape", "_g_idx"})
      if (const CheckpointTensor *found = find(name + companion)) {
        used.insert(found);
        if (std::string_view(companion) == "_g_idx")
          return fault(tensor, "has columns in another order ('" + found->name +
                                   "'), which llmc cannot read yet");
      }
    if (!tensor.shapeKnown || !scales->shapeKnown || tensor.shape.size() != 2) {
      if (tensor.shapeKnown && tensor.shape.size() != 2)
        return fault(tensor, "has shape " + shapeText(tensor.shape) + ", expected a matrix");
      return make(tensor, name, tensor.shape, std::move(pair));
    }
    int64_t rows = tensor.shape[0];
    if (is(tensor, {"i32"})) {
      pair.kind = PairingKind::Packed;
      pair.bits = scheme.bits ? unsigned(scheme.bits) : 4;
      int64_t columns = tensor.shape[1] * (32 / pair.bits);
      if (!typed(*scales, {"f32", "bf16", "f16"}))
        return;
      int64_t groups = scales->shape.size() == 2 ? scales->shape[1] : 0;
      if (scales->shape.size() != 2 || scales->shape[0] != rows || groups < 1 || columns % groups)
        return void(fits(tensor, *scales, {{rows, columns / 32}, {rows, columns / 128}}));
      pair.blockColumns = columns / groups;
      if (const CheckpointTensor *zeros = find(name + "_zero_point")) {
        pair.zeros = *zeros;
        if (!typed(*zeros, {"i32"}) ||
            !fits(tensor, *zeros, {{ceilDiv(rows, 32 / pair.bits), groups}}))
          return;
      }
      return make(tensor, name, {rows, columns}, std::move(pair));
    }
    if (!typed(tensor, {"u8", "i32"}))
      return;
    int64_t columns = tensor.shape[1] * 2;
    const CheckpointTensor *global = find(name + "_global_scale");
    pair.kind = global ? PairingKind::Nvfp4 : PairingKind::Mxfp4;
    pair.divideGlobal = true;
    if (global)
      pair.global = *global;
    if (const CheckpointTensor *input = find(without(name, "weight") + "input_global_scale"))
      companion(*input);
    finishFourBits(tensor, name, {rows, columns}, std::move(pair));
  }

  void pairModelopt(const CheckpointTensor &tensor) {
    const CheckpointTensor *scales = find(tensor.name + "_scale");
    const CheckpointTensor *global = find(tensor.name + "_scale_2");
    if (!scales && !global && scheme.method != "modelopt")
      return;
    if (!(scales = need(tensor, tensor.name + "_scale")) ||
        !(global = need(tensor, tensor.name + "_scale_2")) || !sized(tensor))
      return;
    PairedTensors pair;
    pair.kind = PairingKind::Nvfp4;
    pair.scales = *scales;
    pair.global = *global;
    if (tensor.shape.size() < 2)
      return fault(tensor, "has shape " + shapeText(tensor.shape) + ", expected a matrix");
    Shape shape = tensor.shape;
    shape.back() *= 2;
    finishFourBits(tensor, tensor.name, std::move(shape), std::move(pair));
  }

  void finishFourBits(const CheckpointTensor &tensor, const std::string &name, Shape shape,
                      PairedTensors pair) {
    bool isMx = pair.kind == PairingKind::Mxfp4;
    int64_t block = isMx ? 32 : 16;
    const CheckpointTensor &scales = *find(pair.scales.name);
    bool good = isMx ? typed(scales, {"u8", "f8e8m0"}) : typed(scales, {"f8e4m3"});
    Shape grid = shape;
    grid.back() /= block;
    if (!good)
      return;
    if (shape.back() % block)
      return fault(tensor, "has rows of " + std::to_string(shape.back()) +
                               " values, which are not whole blocks of " + std::to_string(block));
    if (!fits(tensor, scales, {grid}))
      return;
    if (!isMx) {
      const CheckpointTensor &global = *find(pair.global.name);
      Shape lead(shape.begin(), shape.end() - 2);
      if (!typed(global, {"f32"}) || !fits(tensor, global, {Shape{}, Shape{1}, lead}))
        return;
    }
    make(tensor, name, std::move(shape), std::move(pair));
  }

  /// Experts as gpt-oss stores them: [experts, rows, blocks, 16], published [experts, columns,
  /// rows].
  void pairBlocks(const CheckpointTensor &tensor, const std::string &name) {
    const CheckpointTensor *scales = need(tensor, name + "_scales");
    if (!scales || !sized(tensor))
      return;
    PairedTensors pair;
    pair.kind = PairingKind::Mxfp4;
    pair.scales = *scales;
    pair.transposed = true;
    if (!tensor.shapeKnown)
      return make(tensor, name, tensor.shape, std::move(pair));
    if (tensor.shape.size() != 4 || tensor.shape[3] != 16)
      return fault(tensor, "has shape " + shapeText(tensor.shape) +
                               ", expected [experts, rows, blocks, 16]");
    const Shape &s = tensor.shape;
    if (!typed(tensor, {"u8"}) || !typed(*scales, {"u8", "f8e8m0"}) ||
        !fits(tensor, *scales, {{s[0], s[1], s[2]}}))
      return;
    make(tensor, name, {s[0], s[2] * 32, s[1]}, std::move(pair));
  }

  void pairInts(const CheckpointTensor &tensor, const std::string &stem) {
    bool awq = scheme.method == "awq";
    const CheckpointTensor *scales = need(tensor, stem + "scales");
    const CheckpointTensor *zeros = need(tensor, stem + "qzeros");
    const CheckpointTensor *order = awq ? nullptr : find(stem + "g_idx");
    if (!scales || !zeros || !sized(tensor))
      return;
    PairedTensors pair;
    pair.kind = awq ? PairingKind::Awq : PairingKind::Gptq;
    pair.scales = *scales;
    pair.zeros = *zeros;
    if (order)
      pair.groups = *order;
    pair.bits = unsigned(scheme.bits ? scheme.bits : 4);
    pair.plainZeros = scheme.plainZeros;
    if (!tensor.shapeKnown)
      return make(tensor, stem + "weight", tensor.shape, std::move(pair));
    if (tensor.shape.size() != 2)
      return fault(tensor, "has shape " + shapeText(tensor.shape) + ", expected a matrix");
    int64_t perWord = 32 / pair.bits;
    int64_t columns = tensor.shape[0] * (awq ? 1 : perWord);
    int64_t rows = tensor.shape[1] * (awq ? perWord : 1);
    int64_t groups = scales->shape.size() == 2 ? scales->shape[0] : 0;
    if (!typed(tensor, {"i32"}) || !typed(*zeros, {"i32"}) ||
        !typed(*scales, {"f16", "bf16", "f32"}))
      return;
    if (groups < 1 || columns % groups || rows % perWord || scales->shape[1] != rows)
      return void(fits(tensor, *scales, {{std::max<int64_t>(1, columns / 128), rows}}));
    pair.blockColumns = columns / groups;
    if (!fits(tensor, *zeros, {{groups, rows / perWord}}))
      return;
    if (order && (!typed(*order, {"i32"}) || !fits(tensor, *order, {{columns}})))
      return;
    make(tensor, stem + "weight", {rows, columns}, std::move(pair));
  }

  void companion(const CheckpointTensor &tensor) {
    if (used.insert(&tensor).second)
      result->addCompanion(tensor.name);
  }

  /// Of activations and caches, which are not quantised here.
  void leave(const CheckpointTensor &tensor) {
    for (const char *suffix : {".input_scale", ".k_scale", ".v_scale", ".q_scale", ".output_scale",
                               ".activation_scale", ".input_global_scale", ".weight_shape"})
      if (ends(tensor.name, suffix))
        return result->addCompanion(tensor.name);
    result->addTensor(tensor);
  }

  const Checkpoint &stored;
  const QuantScheme &scheme;
  std::shared_ptr<Checkpoint> result;
  std::unordered_map<const CheckpointTensor *, CheckpointTensor> weights;
  std::unordered_set<const CheckpointTensor *> used;
};

} // namespace

std::shared_ptr<Checkpoint> pairTensors(std::shared_ptr<Checkpoint> stored,
                                        const QuantScheme &scheme) {
  return Pairing(*stored, scheme).run();
}

} // namespace llmc::frontend
