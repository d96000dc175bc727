//===- MemoryShares.cpp - what devices hold that divide a model -----------===//
//
// Arithmetic and nothing else: llmc has no whole models of several devices yet. Products are
// divided by rows or by columns, tables by rows of the vocabulary, experts one by one, keys and
// values by heads; norms, routers, convolutions and latent state are on every device.
//
//===----------------------------------------------------------------------===//
#include "MemoryShares.h"

#include "llmc/Dialect/Plan/IR/PlanSize.h"
#include "llmc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;

namespace llmc {

using namespace llm;
using llvm::divideCeil;
using llvm::formatv;
using plan::saturatingAdd;
using plan::saturatingMul;
using Split = WeightPart::Split;

std::vector<const QuantizedFormat *> quantizedMembers(const WeightPart &part,
                                                      const QuantizationRules &rules) {
  using Kind = QuantizationRules::Weight;
  WeightFamilyOp family = part.family;
  bool isHead = part.split == Split::Vocabulary && part.behind && !part.before;
  Kind kind = part.split == Split::Experts   ? Kind::Experts
              : part.split == Split::Product ? Kind::Product
              : isHead                       ? Kind::Head
                                             : Kind::Other;
  SmallVector<int64_t> layers = part.layers();
  if (!family.getLayersAttr())
    layers = {0};
  std::vector<const QuantizedFormat *> members;
  for (int64_t layer : layers) {
    std::string name = family.getSource().str();
    for (auto [mark, number] : {std::pair<StringRef, int64_t>{"{i}", layer}, {"{e}", 0}})
      if (size_t at = name.find(mark.str()); at != std::string::npos)
        name.replace(at, mark.size(), std::to_string(number));
    members.push_back(rules.formatOf(name, kind));
  }
  return members;
}

static int64_t quantizedBytes(const WeightPart &part, const QuantizedFormat &format) {
  WeightFamilyOp family = part.family;
  auto type = cast<WeightType>(family.getType());
  int64_t columns = type.getShape().back();
  int64_t matrices = part.split == Split::Experts ? type.getShape().front() : 1;
  return format.bytes(matrices, type.getNumElements() / (matrices * columns), columns);
}

std::string
quantizationNotCounted(const QuantizationRules &rules,
                       const std::vector<std::vector<const QuantizedFormat *>> &used) {
  std::string group = rules.groupWithout(used);
  return group.empty() ? rules.notCounted() : group + " (its targets are no names of weights)";
}

ModelParts partsOf(ModuleOp module, const MemoryRequest &request) {
  ModelParts parts;
  parts.states = statePartsOf(module);
  parts.weights = weightPartsOf(module);
  if (const QuantizationRules *rules = request.quantization.get()) {
    for (const WeightPart &part : parts.weights)
      parts.quantized.push_back(quantizedMembers(part, *rules));
    parts.notCounted = quantizationNotCounted(*rules, parts.quantized);
  }
  if (auto facts = module->getAttrOfType<DictionaryAttr>("llm.model")) {
    if (auto hidden = facts.getAs<IntegerAttr>("hidden_size"))
      parts.hidden = hidden.getInt();
    if (auto layers = facts.getAs<IntegerAttr>("layers"))
      parts.layers = layers.getInt();
  }
  auto seeAttention = [&](Value result) {
    auto shape = cast<RankedTensorType>(result.getType()).getShape();
    if (shape[1] * shape[2] <= parts.attentionWidth)
      return;
    parts.attentionHeads = shape[1];
    parts.attentionWidth = shape[1] * shape[2];
  };
  module.walk([&](Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case<PagedAttentionOp, JointAttentionOp>([&](auto op) { seeAttention(op.getResult()); })
        .Case([&](ExpertLinearOp op) {
          auto choice = cast<RankedTensorType>(op.getChoice().getType());
          if (choice.getRank() == 2 && !choice.isDynamicDim(1))
            parts.chosenExperts = std::max(parts.chosenExperts, choice.getDimSize(1));
        });
  });
  return parts;
}

//===----------------------------------------------------------------------===//
// Which divisions there are
//===----------------------------------------------------------------------===//

/// Elements that quantisation takes together.
static int64_t blockOf(WeightType type) {
  auto blocks = dyn_cast<BlocksAttr>(type.getStorage());
  return blocks ? int64_t(blocks.getSize()) : 1;
}

/// Why so many devices cannot divide the products and heads; empty where they can.
static std::string tensorProblem(const ModelParts &parts, int64_t degree) {
  for (const StatePart &part : parts.states) {
    int64_t heads = part.type.getShape()[0];
    if (part.queryHeads % degree && part.name() != "index keys" && part.name() != "index entries")
      return formatv("{0} query heads are not a multiple of it", part.queryHeads);
    if (part.type.getKind() == CacheKind::Recurrent && heads % degree)
      return formatv("{0} heads of the recurrence are not a multiple of it", heads);
    if (part.type.getKind() == CacheKind::Paged && heads % degree && degree % heads)
      return formatv("{0} kv heads are neither a multiple of it nor can be on the same number of "
                     "devices each", heads);
  }
  for (const WeightPart &part : parts.weights) {
    if (part.split != Split::Product && part.split != Split::Experts)
      continue;
    WeightFamilyOp family = part.family;
    auto type = cast<WeightType>(family.getType());
    ArrayRef<int64_t> shape = type.getShape();
    bool byHeads = part.split == Split::Product && shape.size() == 3;
    int64_t rows = byHeads ? shape[0] : shape[shape.size() - 2], columns = shape.back();
    int64_t block = blockOf(type);
    if (rows % degree && columns % (degree * block))
      return formatv("neither the {0} rows nor the {1} columns{2} of @{3} are a multiple of it",
                     rows, columns,
                     block > 1 ? formatv(" (groups of {0})", block).str() : std::string(),
                     family.getSymName());
  }
  return "";
}

static std::string expertProblem(const ModelParts &parts, int64_t degree) {
  for (const WeightPart &part : parts.weights) {
    if (part.split != Split::Experts)
      continue;
    WeightFamilyOp family = part.family;
    if (int64_t experts = cast<WeightType>(family.getType()).getShape()[0]; experts % degree)
      return formatv("{0} experts are not a multiple of it", experts);
  }
  return "";
}

/// Small degrees without a problem, for messages.
static std::string legalDegrees(llvm::function_ref<std::string(int64_t)> problem) {
  constexpr int64_t kMostNamed = 128;
  std::string text;
  for (int64_t degree = 1; degree <= kMostNamed; ++degree)
    if (problem(degree).empty())
      text += (text.empty() ? "" : ", ") + std::to_string(degree);
  return text;
}

void checkDivision(const ModelParts &parts, const MemoryRequest &request) {
  auto refuse = [](const char *flag, int64_t degree, const std::string &why,
                   const std::string &legal) {
    throw InputError(formatv("--{0}={1}: {2}; possible are {3}", flag, degree, why, legal).str());
  };
  auto tensor = [&](int64_t degree) { return tensorProblem(parts, degree); };
  auto expert = [&](int64_t degree) { return expertProblem(parts, degree); };
  if (std::string why = tensor(request.tensor); !why.empty())
    refuse("tp", request.tensor, why, legalDegrees(tensor));
  bool hasExperts = llvm::any_of(
      parts.weights, [](const WeightPart &part) { return part.split == Split::Experts; });
  if (request.expert > 1 && !hasExperts)
    refuse("ep", request.expert, "the model has no experts", "1");
  if (std::string why = expert(request.expert); !why.empty())
    refuse("ep", request.expert, why, legalDegrees(expert));
  if (request.pipeline > parts.layers)
    refuse("pp", request.pipeline, formatv("there are {0} layers", parts.layers),
           formatv("1 to {0}", parts.layers));
}

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

std::pair<int64_t, int64_t> layersOfStage(const ModelParts &parts, const MemoryRequest &request,
                                          int64_t stage) {
  return {parts.layers * stage / request.pipeline, parts.layers * (stage + 1) / request.pipeline};
}

static int64_t countIn(ArrayRef<int64_t> layers, std::pair<int64_t, int64_t> range) {
  return llvm::count_if(
      layers, [&](int64_t layer) { return range.first <= layer && layer < range.second; });
}

/// Members of a family that a stage has, by how they are stored.
static std::map<const QuantizedFormat *, int64_t>
membersIn(const ModelParts &parts, size_t index, const MemoryRequest &request, int64_t stage) {
  const WeightPart &part = parts.weights[index];
  WeightFamilyOp family = part.family;
  std::pair<int64_t, int64_t> range = layersOfStage(parts, request, stage);
  bool isHere = part.inside || (part.before && stage == 0) ||
                (part.behind && stage == request.pipeline - 1);
  std::map<const QuantizedFormat *, int64_t> members;
  auto add = [&](size_t member) {
    ++members[parts.quantized.empty() ? nullptr : parts.quantized[index][member]];
  };
  if (!family.getLayersAttr() && isHere)
    add(0);
  for (auto [member, layer] : llvm::enumerate(part.layers()))
    if (range.first <= layer && layer < range.second)
      add(member);
  return members;
}

/// What one device has of a weight.
static int64_t shareOf(const WeightPart &part, int64_t bytes, const MemoryRequest &request) {
  WeightFamilyOp family = part.family;
  switch (part.split) {
  case Split::None:
    return bytes;
  case Split::Product:
    return divideCeil(bytes, request.tensor);
  case Split::Vocabulary: {
    int64_t rows = cast<WeightType>(family.getType()).getShape()[0];
    return rows % request.tensor == 0
               ? divideCeil(bytes, request.tensor)
               : divideCeil(bytes, rows) * divideCeil(rows, request.tensor);
  }
  case Split::Experts:
    return divideCeil(bytes / request.expert, request.tensor);
  }
  llvm_unreachable("closed enum");
}

std::vector<MemoryItem> weightShares(const ModelParts &parts, const MemoryRequest &request,
                                     int64_t stage) {
  struct Sum {
    int64_t whole = 0, share = 0;
    std::string origin = "as stored";
  };
  static constexpr const char *names[] = {"on every device", "products", "vocabulary", "experts"};
  std::map<std::pair<std::string, Split>, Sum> sums;
  for (auto [index, part] : llvm::enumerate(parts.weights)) {
    WeightFamilyOp family = part.family;
    auto type = cast<WeightType>(family.getType());
    for (auto [format, members] : membersIn(parts, index, request, stage)) {
      int64_t bytes = format ? quantizedBytes(part, *format) : type.getStorageBytes();
      Sum &sum = sums[{format ? format->name : type.getStorageName(), part.split}];
      if (format)
        sum.origin = "by formula from quantization_config: " + format->text();
      else if (bool isProduct = part.split == Split::Product || part.split == Split::Experts;
               isProduct && !parts.notCounted.empty())
        sum.origin = "not counted: " + parts.notCounted + "; counted as " + type.getStorageName();
      sum.whole = saturatingAdd(sum.whole, saturatingMul(members, bytes));
      sum.share = saturatingAdd(sum.share, saturatingMul(members, shareOf(part, bytes, request)));
    }
  }
  std::vector<MemoryItem> items;
  for (auto &[key, sum] : sums) {
    Split split = key.second;
    std::string formula = formatv("{0} bytes {1}", sum.whole, sum.origin);
    if (split == Split::Experts && request.expert > 1)
      formula += formatv(" / {0} (ep)", request.expert);
    if (split != Split::None && request.tensor > 1)
      formula += formatv(" / {0} (tp)", request.tensor);
    items.push_back({"weights", formatv("{0} {1}", key.first, names[size_t(split)]), sum.share,
                     MemoryBasis::Formula, formula});
  }
  return items;
}

int64_t elementBytesOf(StringRef type) {
  return type.empty() || type == "f32" ? 4 : type == "f16" || type == "bf16" ? 2 : 1;
}

std::vector<MemoryItem> stateShares(const ModelParts &parts, const MemoryRequest &request,
                                    int64_t stage, int64_t context, int64_t batch) {
  std::vector<MemoryItem> items;
  std::pair<int64_t, int64_t> range = layersOfStage(parts, request, stage);
  for (const StatePart &part : parts.states) {
    StateExtent extent;
    extent.layers = countIn(part.layers, range);
    if (extent.layers == 0)
      continue;
    extent.tokens = divideCeil(context, request.context);
    extent.sequences = divideCeil(batch, request.expert);
    extent.elementBytes = elementBytesOf(request.kvType);
    int64_t heads = part.type.getShape()[0];
    bool divides = part.type.getKind() == CacheKind::Paged ||
                   part.type.getKind() == CacheKind::Recurrent;
    if (divides && request.tensor > 1)
      extent.heads = std::max<int64_t>(1, heads / request.tensor);
    items.push_back({"state", part.name().str(), stateBytes(part, extent), MemoryBasis::Formula,
                     stateFormula(part, extent)});
  }
  return items;
}

std::vector<MemoryItem> communicationShares(const ModelParts &parts, const MemoryRequest &request,
                                            int64_t stage) {
  std::vector<MemoryItem> items;
  int64_t tokens = request.phase.deployment.maxTokens;
  auto add = [&](const char *name, int64_t copies, int64_t width, std::string what) {
    items.push_back({"communication", name, saturatingMul(copies * tokens, saturatingMul(width, 4)),
                     MemoryBasis::Formula,
                     formatv("{0}{1} tokens x {2} x 4 bytes",
                             copies > 1 ? formatv("{0} x ", copies).str() : std::string(), tokens,
                             what)});
  };
  if (request.tensor > 1)
    add("sums of products", 1, parts.hidden, std::to_string(parts.hidden));
  if (request.pipeline > 1) {
    bool isBetween = stage > 0 && stage < request.pipeline - 1;
    add("stream between stages", isBetween ? 2 : 1, parts.hidden, std::to_string(parts.hidden));
  }
  if (request.expert > 1) {
    int64_t chosen = std::max<int64_t>(1, parts.chosenExperts);
    add("rows to experts and back", 2, saturatingMul(chosen, parts.hidden),
        formatv("{0} experts x {1}", chosen, parts.hidden));
  }
  if (request.context > 1 && parts.attentionWidth)
    // Each device attends to its positions: a result, a maximum and a sum for each head.
    add("partial attention", 2, parts.attentionWidth + 2 * parts.attentionHeads,
        formatv("({0} + 2 x {1} heads)", parts.attentionWidth, parts.attentionHeads));
  return items;
}

} // namespace llmc
