//===- Description.cpp - a description, resolved against a config ---------===//
//
// Two files with a NUL between them: the description, and config.json. The
// description may extend those that ship.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "llmc/Frontend/Inspect.h"

using namespace llmc;
using namespace llmc::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const frontend::DescriptionSet shipped = [] {
    // Some of each kind, for what a description may extend.
    frontend::DescriptionSet set;
    for (const char *name : {"llama", "gemma", "gemma2", "gemma3", "gemma3n", "per_layer_inputs",
                             "phi3", "gpt2", "layer_norm", "moe", "mla", "qwen3_moe",
                             "deepseek_v3", "mamba2"})
      set.addFile(std::string(LLMC_FUZZ_MODELS "/") + name + ".jsonc");
    return set;
  }();
  static Folder folder;
  std::vector<std::string> texts = parts(textOf(data, size), 2);
  folder.write("fuzzed.jsonc", texts[0]);
  frontend::DescriptionSet set = shipped;
  auto source = std::make_shared<frontend::ModelSource>();
  std::shared_ptr<const frontend::Description> description;
  bool ready = reads([&] {
    source->kind = frontend::ModelSource::Kind::ConfigFile;
    source->path = source->configFile = "config.json";
    source->config = frontend::parseJson(texts[1], "config.json");
    description = set.load(set.addFile(folder.path("fuzzed.jsonc")));
  });
  if (!ready)
    return 0;
  reads([&] { frontend::ResolvedModel::resolve(source, description); });
  // A config that nothing matches is the business of the target `inference`.
  reads([&] {
    if (set.match(*source))
      (void)frontend::inspectModel(source, set).toText();
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return mutatePair(data, size, maxSize, seed, seed % 3 == 0, seed % 5 == 0);
}
