//===- Hints.cpp - what messages add for the reader -----------------------===//
#include "Hints.h"

#include <algorithm>

namespace llmc::frontend {

std::vector<std::string> nearWords(const std::string &name, std::vector<std::string> candidates,
                                   size_t most) {
  if (name.size() < 2)
    return {};
  std::erase_if(candidates, [](const std::string &candidate) { return candidate.size() < 2; });
  return nearNames(name, candidates, most);
}

namespace {
struct KeyFeature {
  /// `*` stands for any text.
  std::string_view pattern;
  const char *feature;
};
} // namespace

static constexpr const char experts[] = "mixture of experts";
static constexpr const char capping[] = "soft-capping of logits or attention";
static constexpr const char latent[] = "latent attention";
static constexpr const char otherInputs[] = "multi-modal inputs";
static constexpr const char recurrent[] = "recurrent layers";

/// Keys that change what is computed wherever they stand.
static constexpr KeyFeature keyFeatures[] = {
    {"num_local_experts", experts},   {"num_experts", experts},
    {"n_routed_experts", experts},    {"num_experts_per_tok", experts},
    {"*_softcapping", capping},       {"kv_lora_rank", latent},
    {"q_lora_rank", latent},          {"vision_config", otherInputs},
    {"audio_config", otherInputs},    {"ssm*", recurrent},
    {"mamba*", recurrent},            {"state_size", recurrent},
    {"conv_kernel", recurrent},       {"linear_*_head*", recurrent},
    {"index_topk", "sparse attention"},
};

static bool fits(std::string_view pattern, std::string_view text) {
  if (pattern.empty())
    return text.empty();
  if (pattern.front() != '*')
    return !text.empty() && text.front() == pattern.front() &&
           fits(pattern.substr(1), text.substr(1));
  return fits(pattern.substr(1), text) || (!text.empty() && fits(pattern, text.substr(1)));
}

const char *featureOfKey(const std::string &key) {
  // A key of the language model inside a wrapper counts by its last part.
  std::string_view last = std::string_view(key).substr(key.rfind('.') + 1);
  for (const KeyFeature &entry : keyFeatures)
    if (fits(entry.pattern, last))
      return entry.feature;
  return nullptr;
}

} // namespace llmc::frontend
