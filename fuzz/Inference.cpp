//===- Inference.cpp - a model that nothing describes ---------------------===//
//
// config.json, a NUL, and the header of a safetensors file. The descriptions
// beside it are a few of those that ship, each of another kind: a search tries
// them many times over, so this target is slow.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "llmc/Frontend/Infer.h"
#include "llmc/Frontend/Inspect.h"

using namespace llmc;
using namespace llmc::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const frontend::DescriptionSet shipped = [] {
    frontend::DescriptionSet set;
    for (const char *name : {"llama", "gemma", "gemma2", "layer_norm", "gpt2", "moe", "qwen3_moe"})
      set.addFile(std::string(LLMC_FUZZ_MODELS "/") + name + ".jsonc");
    return set;
  }();
  static Folder folder;
  std::vector<std::string> texts = parts(textOf(data, size), 2);
  folder.write("config.json", texts[0]);
  if (texts[1].empty()) {
    folder.remove("model.safetensors");
  } else {
    uint64_t length = texts[1].size();
    std::string file(reinterpret_cast<const char *>(&length), 8);
    folder.write("model.safetensors", file + texts[1]);
  }
  reads([&] {
    auto source =
        std::make_shared<const frontend::ModelSource>(frontend::ModelSource::open(folder.path()));
    frontend::DescriptionSet set = shipped;
    if (set.match(*source))
      return;
    frontend::InspectReport report = frontend::inspectModel(source, set);
    // What nobody described is never presented as known, nor silently as unknown.
    if (report.ok() || report.reasons.empty())
      __builtin_trap();
    if (report.verdict != frontend::InspectReport::Verdict::Inferred)
      return;
    // What was inferred is a description like any other.
    frontend::Inference inference = frontend::inferDescription(source, set);
    folder.write("inferred.jsonc", inference.text.dump());
    std::string name = set.addFile(folder.path("inferred.jsonc"));
    frontend::ResolveOptions collect;
    collect.collect = true;
    auto model = frontend::ResolvedModel::resolve(source, set.load(name), collect);
    if (!model->problems.empty())
      __builtin_trap();
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 5 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::vector<std::string> texts = parts(textOf(data, size), 2);
  std::string &one = texts[seed % 2];
  one = mutateJson(one, seed);
  return giveBack(texts[0] + '\0' + texts[1], data, maxSize);
}
