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
  // Kept between executions with what it has read and parsed.
  static frontend::DescriptionSet set = [] {
    frontend::DescriptionSet shipped;
    for (const char *name : {"llama", "gemma", "gemma2", "layer_norm", "gpt2", "moe", "qwen3_moe"})
      shipped.addFile(std::string(LLMC_FUZZ_MODELS "/") + name + ".jsonc");
    return shipped;
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
    if (set.match(*source))
      return;
    // A search takes nearly all of the time; the input says which of its two users has it.
    if (size % 2) {
      frontend::InspectReport report = frontend::inspectModel(source, set);
      // What nobody described is never presented as known, nor silently as unknown.
      if (report.ok() || report.reasons.empty())
        __builtin_trap();
      return;
    }
    frontend::Inference inference = frontend::inferDescription(source, set);
    if (!inference.found())
      return;
    // What was inferred is a description like any other.
    folder.write("inferred.jsonc", inference.text.dump());
    frontend::DescriptionSet extended = set;
    std::string name = extended.addFile(folder.path("inferred.jsonc"));
    frontend::ResolveOptions collect;
    collect.collect = true;
    auto model = frontend::ResolvedModel::resolve(source, extended.load(name), collect);
    if (!model->problems.empty())
      __builtin_trap();
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return mutatePair(data, size, maxSize, seed, seed % 5 == 0, seed % 2);
}
