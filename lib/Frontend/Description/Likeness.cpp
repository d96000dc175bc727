//===- Likeness.cpp - how much a model is like a description --------------===//
#include "Likeness.h"

#include <algorithm>
#include <cmath>

namespace llmc::frontend {

static void collectKeys(const Json &config, ModelFacts &facts) {
  for (const auto &[key, value] : config.members) {
    if (key == "text_config" && value.isObject()) {
      collectKeys(value, facts);
      continue;
    }
    bool isRope = key == "rope_parameters" || key == "rope_scaling";
    facts.saysRope |= key.starts_with("rope_") || key.starts_with("rotary_") ||
                      key == "partial_rotary_factor";
    if (!isRope && key != "dtype" && key != "architectures")
      facts.keys.insert(key);
    if (key == "model_type" && value.isString())
      facts.types.insert(value.text);
  }
}

ModelFacts factsOf(const ModelSource &source) {
  ModelFacts facts;
  collectKeys(source.config, facts);
  facts.keys.erase("model_type");
  if (source.checkpoint)
    for (const CheckpointTensor &tensor : source.checkpoint->tensors())
      facts.templates.insert(facts.templateOfTensor[tensor.name] = templateOf(tensor.name));
  for (const std::string &name : facts.templates)
    facts.tails.insert(tailOf(name));
  return facts;
}

Similarity::Similarity(const KnownDescriptions &known, const ModelFacts &facts)
    : known(known), facts(facts) {
  for (const KnownDescription &one : known.all) {
    for (const std::string &key : one.keys)
      ++keyCount[key];
    for (const std::string &tail : one.tensors)
      ++tailCount[tail];
  }
}

/// Families name their generations after one another.
static double likeness(const std::string &mine, const std::string &other) {
  constexpr std::string_view suffix = "_text";
  std::string a = mine.ends_with(suffix) ? mine.substr(0, mine.size() - suffix.size()) : mine;
  size_t same = 0;
  while (same < a.size() && same < other.size() && a[same] == other[same])
    ++same;
  return same < 3 ? 0
                  : 0.7 * double(same) / double(a.size()) +
                        0.3 * double(same) / double(other.size());
}

double Similarity::operator()(const KnownDescription &one) const {
  double keys = overlap(facts.keys, one.keys, one.keysRead, keyCount);
  double tensors =
      facts.tails.empty() ? 0 : overlap(facts.tails, one.tensors, one.tensors, tailCount);
  double name = 0;
  for (const std::string &type : facts.types)
    for (const std::string &other : one.modelTypes)
      name = std::max(name, likeness(type, other));
  return keys + 1.5 * tensors + 0.8 * name;
}

double Similarity::weight(const std::map<std::string, size_t> &counts,
                          const std::string &name) const {
  auto it = counts.find(name);
  double count = it == counts.end() ? 0 : double(it->second);
  return std::log(1 + double(known.all.size()) / (1 + count));
}

double Similarity::overlap(const std::set<std::string> &model, const std::set<std::string> &knows,
                           const std::set<std::string> &expects,
                           const std::map<std::string, size_t> &counts) const {
  double both = 0, all = 0;
  for (const std::string &name : model) {
    double w = weight(counts, name);
    all += w;
    if (knows.count(name))
      both += w;
  }
  // That something is absent says less than that it is there.
  for (const std::string &name : expects)
    if (!model.count(name))
      all += 0.25 * weight(counts, name);
  return all > 0 ? both / all : 0;
}

} // namespace llmc::frontend
