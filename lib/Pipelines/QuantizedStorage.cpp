//===- QuantizedStorage.cpp - bytes of weights that a config quantises ----===//
#include "llmc/Pipelines/QuantizedStorage.h"

#include "llmc/Dialect/Plan/IR/PlanSize.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace llmc {

using frontend::Json;
using plan::saturatingAdd;
using plan::saturatingMul;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

int64_t QuantizedFormat::bytes(int64_t matrices, int64_t rows, int64_t columns) const {
  int64_t scales = saturatingMul(blockRows ? divideCeil(rows, blockRows) : 1,
                                 blockColumns ? divideCeil(columns, blockColumns) : 1);
  int64_t one = divideCeil(saturatingMul(saturatingMul(rows, columns), bits), 8);
  one = saturatingAdd(one, saturatingMul(scales, scaleBytes));
  one = saturatingAdd(one, divideCeil(saturatingMul(scales, zeroBits), 8));
  one = saturatingAdd(one, saturatingAdd(matrixBytes, saturatingMul(columns, columnBytes)));
  return saturatingMul(matrices, one);
}

std::string QuantizedFormat::text() const {
  auto extent = [](int64_t size, const char *all) {
    return size ? std::to_string(size) : std::string(all);
  };
  std::string values = blockRows || blockColumns
                           ? "for " + extent(blockRows, "all rows") + " x " +
                                 extent(blockColumns, "all columns") + " values"
                           : std::string("for the matrix");
  std::string text = formatv("{0} with a scale of {1} bytes {2}", name, scaleBytes, values);
  if (zeroBits)
    text += formatv(", zero points of {0} bits", zeroBits);
  if (matrixBytes)
    text += formatv(", {0} bytes for the matrix", matrixBytes);
  if (columnBytes)
    text += formatv(", {0} bytes for each column", columnBytes);
  return text;
}

static QuantizedFormat scaled(const char *name, int64_t rows, int64_t columns,
                              int64_t scaleBytes = 4) {
  QuantizedFormat format;
  format.name = name;
  format.blockRows = rows;
  format.blockColumns = columns;
  format.scaleBytes = scaleBytes;
  return format;
}
/// e2m1 with e4m3 scales and one of f32 for the matrix.
static QuantizedFormat nvfp4() {
  QuantizedFormat format = scaled("nvfp4", 1, 16, 1);
  format.bits = 4;
  format.matrixBytes = 4;
  return format;
}
/// OCP MX: a power of two for 32 values.
static QuantizedFormat mxfp4() {
  QuantizedFormat format = scaled("mxfp4", 1, 32, 1);
  format.bits = 4;
  return format;
}

//===----------------------------------------------------------------------===//
// What a config says
//===----------------------------------------------------------------------===//

static std::string textAt(const Json &object, const char *key) {
  const Json *value = object.find(key);
  return value && value->isString() ? value->text : std::string();
}
/// Null for anything but a positive number of a size that sizes have.
static int64_t sizeAt(const Json &object, const char *key) {
  const Json *value = object.find(key);
  return value && value->isInt() && value->integer > 0 && value->integer <= (int64_t(1) << 30)
             ? value->integer
             : 0;
}
static bool isTrue(const Json &object, const char *key) {
  const Json *value = object.find(key);
  return value && value->kind == Json::Kind::Bool && value->boolean;
}
static void addTexts(const Json &object, const char *key, std::vector<std::string> &texts) {
  if (const Json *list = object.find(key); list && list->isArray())
    for (const Json &item : list->items)
      if (item.isString())
        texts.push_back(item.text);
}
static void readBlock(const Json &object, const char *key, QuantizedFormat &format) {
  const Json *block = object.find(key);
  if (!block || !block->isArray() || block->items.size() != 2 || !block->items[0].isInt() ||
      !block->items[1].isInt())
    return;
  format.blockRows = std::max<int64_t>(0, block->items[0].integer);
  format.blockColumns = std::max<int64_t>(0, block->items[1].integer);
}

/// Of modelopt; false for one whose sizes are not known.
static bool formatOfAlgorithm(const std::string &algorithm, QuantizedFormat &format) {
  if (algorithm == "NVFP4" || algorithm == "W4A16_NVFP4")
    format = nvfp4();
  else if (algorithm == "FP8")
    format = scaled("fp8", 0, 0);
  else if (algorithm == "FP8_PB_WO")
    format = scaled("fp8", 128, 128);
  else if (algorithm == "FP8_PER_CHANNEL_PER_TOKEN")
    format = scaled("fp8", 1, 0);
  else if (algorithm == "MXFP8")
    format = scaled("mxfp8", 1, 32, 1);
  else
    return false;
  return true;
}

/// Of the `weights` of a group of compressed-tensors or modelopt.
static bool formatOfGroup(const Json &group, const std::string &fileFormat,
                          QuantizedFormat &format) {
  const Json *weights = group.find("weights");
  if (!weights || !weights->isObject())
    return false;
  int64_t bits = sizeAt(*weights, "num_bits"), size = sizeAt(*weights, "group_size");
  std::string type = textAt(*weights, "type"), strategy = textAt(*weights, "strategy");
  std::string stored = textAt(group, "format").empty() ? fileFormat : textAt(group, "format");
  if (type == "float" && bits == 4) {
    format = StringRef(stored).contains("mxfp4") || size == 32 ? mxfp4() : nvfp4();
    return size == 0 || size == 16 || size == 32;
  }
  if ((bits != 4 && bits != 8) || (type != "float" && type != "int"))
    return false;
  bool byRow = strategy == "channel" || size > 0;
  // Scales of compressed-tensors have the type of the model.
  format = scaled(type == "float" ? "fp8" : bits == 4 ? "int4" : "int8", byRow, size,
                  stored.empty() ? 4 : 2);
  format.bits = bits;
  readBlock(*weights, "block_structure", format);
  const Json *symmetric = weights->find("symmetric");
  if (type == "int" && symmetric && symmetric->kind == Json::Kind::Bool && !symmetric->boolean)
    format.zeroBits = bits;
  return true;
}

void QuantizationRules::readGroups(const Json &config) {
  if (const Json *layers = config.find("quantized_layers"); layers && layers->isObject())
    for (const auto &[module, layer] : layers->members) {
      Group group;
      group.targets = ModuleNames({module});
      group.isKnown = formatOfAlgorithm(textAt(layer, "quant_algo"), group.format);
      groups.push_back(std::move(group));
    }
  if (const Json *list = config.find("config_groups"); list && list->isObject() && groups.empty())
    for (const auto &member : list->members) {
      Group group;
      group.name = member.first;
      std::vector<std::string> targets;
      addTexts(member.second, "targets", targets);
      if (!targets.empty())
        group.targets = ModuleNames(targets);
      group.isKnown = formatOfGroup(member.second, textAt(config, "format"), group.format);
      groups.push_back(std::move(group));
    }
}

void QuantizationRules::readMethod(const Json &config) {
  Group all;
  int64_t size = sizeAt(config, "group_size"), bits = sizeAt(config, "bits");
  if (methodName == "fp8" || methodName == "fbgemm_fp8" || methodName == "mxfp8") {
    readGroups(config);
    all.format = methodName == "mxfp8"        ? scaled("mxfp8", 1, 32, 1)
                 : methodName == "fbgemm_fp8" ? scaled("fp8", 1, 0)
                                              : scaled("fp8", 0, 0);
    readBlock(config, "weight_block_size", all.format);
    // Where other weights have a format of their own, these are what the list leaves out.
    if (!groups.empty())
      ignored = ModuleNames();
  } else if (methodName == "gptq" || methodName == "awq") {
    bits = bits ? bits : 4;
    all.format = scaled(bits == 4 ? "int4" : bits == 8 ? "int8" : "int", 1, size, 2);
    all.format.bits = bits;
    all.format.zeroBits = bits;
    all.format.columnBytes = methodName == "gptq" ? 4 : 0;
    withHead = isTrue(config, "lm_head");
  } else if (methodName == "mxfp4") {
    onlyExperts = true;
    all.format = mxfp4();
  } else {
    withHead = true;
    readGroups(config);
    if (!groups.empty())
      return;
    all.isKnown = methodName != "compressed-tensors" &&
                  formatOfAlgorithm(textAt(config, "quant_algo"), all.format);
  }
  groups.push_back(std::move(all));
}

std::shared_ptr<const QuantizationRules>
QuantizationRules::read(const frontend::ModelSource &source) {
  if (!source.quantization)
    return nullptr;
  auto rules = std::make_shared<QuantizationRules>();
  rules->methodName = source.quantization->method;
  std::string file;
  const Json *config = frontend::quantizationOf(source, file);
  if (config && source.quantization->readable) {
    std::vector<std::string> left;
    for (const char *key : {"modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules"})
      addTexts(*config, key, left);
    rules->ignored = ModuleNames(left);
    rules->readMethod(*config);
    // Of checkpoints in fp8 whose experts are smaller, with the scales of OCP MX.
    if (rules->methodName == "fp8" && rules->groups.size() == 1 &&
        textAt(source.config, "expert_dtype") == "fp4")
      rules->expertFormat = mxfp4();
  }
  if (!config || !source.quantization->readable ||
      any_of(rules->groups, [](const Group &group) { return !group.isKnown; })) {
    const std::string &reason = source.quantization->reason;
    rules->unknown =
        "quantization_config.quant_method=" + (reason.empty() ? rules->methodName : reason);
    rules->groups.clear();
  }
  return rules;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

ModuleNames::ModuleNames(const std::vector<std::string> &texts) {
  for (const std::string &entry : texts) {
    StringRef text(entry);
    if (text.consume_front("re:")) {
      expressions.push_back(std::make_shared<Regex>(("^(" + text + ")").str()));
    } else if (text.contains('*')) {
      for (const char *inside : {"", ".*"}) {
        auto pattern = std::make_shared<std::string>(entry + inside);
        Expected<GlobPattern> glob = GlobPattern::create(*pattern);
        if (glob)
          globs.push_back({pattern, std::move(*glob)});
        else
          consumeError(glob.takeError());
      }
    } else {
      all |= text == "Linear";
      exact.insert(text);
    }
  }
}

bool ModuleNames::contain(StringRef module) const {
  if (all)
    return true;
  // The module itself, one that it is inside of, and the end of its name.
  for (size_t end = module.size(); end != StringRef::npos; end = module.rfind('.', end))
    if (exact.contains(module.take_front(end)))
      return true;
  for (size_t dot = module.find('.'); dot != StringRef::npos; dot = module.find('.', dot + 1))
    if (exact.contains(module.drop_front(dot + 1)))
      return true;
  return any_of(globs, [&](const auto &glob) { return glob.second.match(module); }) ||
         any_of(expressions, [&](const auto &expression) { return expression->match(module); });
}

std::string QuantizationRules::groupWithout(
    const std::vector<std::vector<const QuantizedFormat *>> &used) const {
  for (const Group &group : groups)
    if (!group.name.empty() &&
        none_of(used, [&](const auto &members) { return is_contained(members, &group.format); }))
      return "quantization_config.config_groups." + group.name;
  return "";
}

const QuantizedFormat *QuantizationRules::formatOf(const std::string &name, Weight kind) const {
  StringRef module(name);
  bool isModule = module.consume_back(".weight");
  if (kind == Weight::Other || (!isModule && kind != Weight::Experts) ||
      (onlyExperts && kind != Weight::Experts) || (kind == Weight::Head && !withHead))
    return nullptr;
  if (ignored.contain(module))
    return nullptr;
  if (expertFormat && kind == Weight::Experts)
    return &*expertFormat;
  for (const Group &group : groups)
    if (!group.targets || group.targets->contain(module))
      return &group.format;
  return nullptr;
}

} // namespace llmc
