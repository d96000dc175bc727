//===- WeightFormats.cpp - which weights are quantised, and how -----------===//
#include "llmc/Frontend/WeightFormats.h"

#include "ShapeHooks.h"
#include "llmc/Frontend/Quantize.h"
#include "llmc/Support/Error.h"

#include <set>

namespace llmc::frontend {

namespace {

/// Which operations take each family as a weight.
class Uses final : public ShapeHooks {
public:
  explicit Uses(const ResolvedModel &model) : ShapeHooks(model), model(model) {
    byFamily.resize(model.families.size());
  }

  std::vector<Value> op(const OpCall &call) override {
    for (const Value &argument : call.args)
      if (const WeightRef *weight = argument.get<WeightRef>()) {
        int32_t tied = model.families[weight->family].tiedTo;
        byFamily[tied >= 0 ? uint32_t(tied) : weight->family].insert(call.name);
      }
    return ShapeHooks::op(call);
  }

  std::vector<std::set<std::string>> byFamily;

private:
  const ResolvedModel &model;
};

/// The format of blocks of 32 that stands in for one of 256.
const StorageFormat *smallBlocksFor(const StorageFormat &format) {
  static const std::pair<const char *, const char *> table[] = {
      {"q2_k", "q4_0"}, {"q3_k", "q4_0"}, {"q4_k", "q4_1"}, {"q5_k", "q5_1"}, {"q6_k", "q8_0"}};
  for (auto [from, to] : table)
    if (format.name == from)
      return findStorageFormat(to);
  return nullptr;
}

/// The first layer's format that keeps the family from being quantised, or null.
const StorageFormat *alreadyQuantized(const WeightFamily &family) {
  for (const CheckpointTensor *tensor : family.tensors)
    if (tensor && tensor->format && tensor->format->element == ElementKind::Quant)
      return tensor->format;
  return nullptr;
}

} // namespace

std::vector<std::string> chooseWeightFormats(ResolvedModel &model, const std::string &format) {
  const StorageFormat *target = findStorageFormat(format);
  if (!target || !canQuantize(*target))
    throw UsageError("--quantize=" + format + " is no format that llmc can make; known: " +
                     quantizableNames());
  Uses uses(model);
  model.emitModel(uses, Handle{0});
  std::vector<std::string> told;
  for (size_t i = 0; i < model.families.size(); ++i) {
    WeightFamily &family = model.families[i];
    const std::set<std::string> &ops = uses.byFamily[i];
    bool table = ops.count("embedding") || ops.count("output_head");
    bool product = ops.count("linear");
    std::set<std::string> others = ops;
    for (const char *known : {"embedding", "output_head", "linear"})
      others.erase(known);
    if (family.tiedTo >= 0 || family.isBias || family.shape.size() != 2 || !(table || product))
      continue;
    auto tell = [&](const std::string &what) {
      told.push_back("'" + family.publishedName + "' " + what);
    };
    if (!others.empty()) {
      tell("stays as it is: " + *others.begin() + " reads it too");
      continue;
    }
    if (const StorageFormat *stored = alreadyQuantized(family)) {
      tell("stays " + std::string(stored->name) + ": it is quantised already");
      continue;
    }
    if (family.transposed) {
      tell("stays as it is: it is stored transposed");
      continue;
    }
    const StorageFormat *chosen = table ? findStorageFormat("q8_0") : target;
    int64_t depth = family.shape[1];
    std::string why;
    if (table && chosen != target)
      why = "table of the tokens";
    if (depth % chosen->blockSize) {
      const StorageFormat *small = smallBlocksFor(*chosen);
      why = "rows of " + std::to_string(depth) + " are not whole blocks of " +
            std::to_string(chosen->blockSize);
      chosen = small && depth % small->blockSize == 0 ? small : nullptr;
    }
    if (!chosen)
      tell("stays as it is: " + why);
    else if (chosen != target)
      tell("becomes " + std::string(chosen->name) + ": " + why);
    family.quantizedTo = chosen;
  }
  return told;
}

} // namespace llmc::frontend
