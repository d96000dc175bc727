//===- TinyModel.h - a small llama-like model on disk -----------*- C++ -*-===//
#ifndef LLMC_UNITTESTS_FRONTEND_TINYMODEL_H
#define LLMC_UNITTESTS_FRONTEND_TINYMODEL_H

#include "TestFiles.h"
#include "llmc/Frontend/Inspect.h"

namespace llmc::test {

/// Config and tensors as the tests want them; `open` writes and resolves.
struct TinyModel {
  frontend::Json config;
  std::vector<ZeroTensor> tensors;
  TempFolder folder;

  explicit TinyModel(const std::string &modelType = "llama", int64_t layers = 2) {
    config = frontend::parseJson(
        R"({"hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
            "intermediate_size": 6, "vocab_size": 10, "rms_norm_eps": 1e-5,
            "max_position_embeddings": 64, "rope_theta": 10000.0, "torch_dtype": "float32"})",
        "fixture");
    config.set("model_type", frontend::Json::makeString(modelType));
    config.set("num_hidden_layers", frontend::Json::makeInt(layers));
    tensors = {{"model.embed_tokens.weight", {10, 8}},
               {"lm_head.weight", {10, 8}},
               {"model.norm.weight", {8}}};
    for (int64_t i = 0; i < layers; ++i) {
      std::string layer = "model.layers." + std::to_string(i) + ".";
      for (const ZeroTensor &tensor : std::vector<ZeroTensor>{{"input_layernorm", {8}},
                                                              {"post_attention_layernorm", {8}},
                                                              {"self_attn.q_proj", {8, 8}},
                                                              {"self_attn.k_proj", {4, 8}},
                                                              {"self_attn.v_proj", {4, 8}},
                                                              {"self_attn.o_proj", {8, 8}},
                                                              {"mlp.gate_proj", {6, 8}},
                                                              {"mlp.up_proj", {6, 8}},
                                                              {"mlp.down_proj", {8, 6}}})
        tensors.push_back({layer + tensor.name + ".weight", tensor.shape});
    }
  }

  void set(const std::string &key, const std::string &json) {
    config.set(key, frontend::parseJson(json, "fixture"));
  }
  void drop(const std::string &name) {
    std::erase_if(tensors, [&](const ZeroTensor &tensor) { return tensor.name == name; });
  }
  ZeroTensor &tensor(const std::string &name) {
    for (ZeroTensor &candidate : tensors)
      if (candidate.name == name)
        return candidate;
    throw std::runtime_error(name);
  }

  std::string write() {
    folder.write("config.json", config.dump());
    folder.write("model.safetensors", zeroSafetensors(tensors));
    return folder.path();
  }
  static frontend::DescriptionSet descriptions() {
    frontend::DescriptionSet set;
    set.addDirectory(sourceFolder() + "/models");
    return set;
  }
  std::shared_ptr<frontend::ResolvedModel> load(const frontend::ResolveOptions &options = {}) {
    auto set = descriptions();
    return frontend::loadModel(write(), set, options);
  }
  frontend::InspectReport inspect() {
    auto set = descriptions();
    auto source = std::make_shared<frontend::ModelSource>(frontend::ModelSource::open(write()));
    return frontend::inspectModel(source, set);
  }
};

} // namespace llmc::test

#endif // LLMC_UNITTESTS_FRONTEND_TINYMODEL_H
