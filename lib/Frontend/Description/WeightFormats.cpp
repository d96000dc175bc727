//===- WeightFormats.cpp - which weights are quantised, and how -----------===//
#include "llmc/Frontend/WeightFormats.h"

#include "ShapeHooks.h"
#include "llmc/Frontend/ConfigView.h"
#include "llmc/Frontend/Quantize.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <map>
#include <set>

namespace llmc::frontend {

namespace {

/// Which operations take each family as a weight, and which families score experts.
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
    std::vector<Value> results = ShapeHooks::op(call);
    if (call.name == "linear") {
      for (size_t i = 0; i < results.size(); ++i)
        productsOf[results[i].get<Handle>()->id] = {call.args[i + 1].get<WeightRef>()->family};
      return results;
    }
    if (call.name == "route")
      for (uint32_t family : productsIn(call.args[0]))
        routers.insert(family);
    // Scores may be capped, scaled or moved on their way to the router.
    for (const Value &result : results)
      if (const Handle *handle = result.get<Handle>())
        for (const Value &argument : call.args)
          if (argument.get<Handle>() && shapeOf(argument) == shapeOf(result)) {
            std::set<uint32_t> from = productsIn(argument);
            productsOf[handle->id].insert(from.begin(), from.end());
          }
    return results;
  }

  std::vector<std::set<std::string>> byFamily;
  std::set<uint32_t> routers;

private:
  std::set<uint32_t> productsIn(const Value &value) const {
    const Handle *handle = value.get<Handle>();
    auto found = handle ? productsOf.find(handle->id) : productsOf.end();
    return found == productsOf.end() ? std::set<uint32_t>() : found->second;
  }

  const ResolvedModel &model;
  /// The weights of the products that a value is made of, by operations that keep its shape.
  std::map<uint64_t, std::set<uint32_t>> productsOf;
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

const StorageFormat &quantizableFormat(const std::string &name) {
  std::string lower = name;
  for (char &c : lower)
    if (c >= 'A' && c <= 'Z')
      c = char(c - 'A' + 'a');
  const StorageFormat *found = findStorageFormat(lower);
  if (found && canQuantize(*found))
    return *found;
  std::vector<std::string> names, near;
  for (const StorageFormat &format : storageFormats())
    if (canQuantize(format)) {
      names.emplace_back(format.name);
      // A mixture of formats has the name of the one that most of it is, and a suffix.
      if (lower.starts_with(names.back() + "_"))
        near = {names.back()};
    }
  if (near.empty())
    near = nearNames(lower, names, 1);
  throw UsageError(name + " is no format that llmc can make; " +
                   (near.empty() ? "" : "the nearest is " + near.front() + "; ") + "known: " +
                   quantizableNames());
}

WeightFormatChoice chooseWeightFormats(ResolvedModel &model, const std::string &format) {
  const StorageFormat *target = nullptr;
  try {
    target = &quantizableFormat(format);
  } catch (const UsageError &error) {
    throw UsageError(std::string("--quantize: ") + error.what());
  }
  Uses uses(model);
  model.emitModel(uses, Handle{0});
  WeightFormatChoice choice;
  for (size_t i = 0; i < model.families.size(); ++i) {
    WeightFamily &family = model.families[i];
    const std::set<std::string> &ops = uses.byFamily[i];
    bool table = ops.count("embedding") || ops.count("output_head");
    bool product = ops.count("linear") || ops.count("expert_linear") || ops.count("head_linear");
    std::set<std::string> others = ops;
    for (const char *known : {"embedding", "output_head", "linear", "expert_linear"})
      others.erase(known);
    if (family.tiedTo >= 0 || family.isBias || family.shape.size() < 2 || !(table || product))
      continue;
    // Parts of one stored tensor are families of their own with one name and one reason.
    auto tell = [&](const std::string &what) {
      std::string line = "'" + family.publishedName + "' " + what;
      if (std::find(choice.remarks.begin(), choice.remarks.end(), line) == choice.remarks.end())
        choice.remarks.push_back(std::move(line));
    };
    int64_t count = family.isLaterPart() ? 0 : family.count() * family.tensorCount();
    choice.tensors += count;
    if (uses.routers.count(uint32_t(i))) {
      tell("stays as it is: it scores the experts");
      continue;
    }
    if (others.count("head_linear")) {
      tell("stays as it is: its matrices are those of single heads");
      continue;
    }
    if (!others.empty()) {
      tell("stays as it is: " + *others.begin() + " reads it too");
      continue;
    }
    if (const StorageFormat *stored = alreadyQuantized(family)) {
      tell("stays " + std::string(stored->name) + ": it is quantised already");
      continue;
    }
    const StorageFormat *chosen = table ? findStorageFormat("q8_0") : target;
    int64_t depth = family.shape.back();
    std::string why;
    if (table && chosen != target)
      why = "table of the tokens";
    if (depth % chosen->blockSize) {
      const StorageFormat *small = smallBlocksFor(*chosen);
      why = "rows of " + std::to_string(depth) + " are not whole blocks of " +
            std::to_string(chosen->blockSize);
      bool fits = small && depth % small->blockSize == 0;
      if (small && !fits)
        why += " (" + std::string(chosen->name) + ") nor of " + std::to_string(small->blockSize) +
               " (" + std::string(small->name) + ")";
      chosen = fits ? small : nullptr;
    }
    if (!chosen)
      tell("stays as it is: " + why);
    else if (chosen != target)
      tell("becomes " + std::string(chosen->name) + ": " + why);
    family.quantizedTo = chosen;
    choice.quantized += chosen ? count : 0;
  }
  return choice;
}

} // namespace llmc::frontend
