//===- PairedTensorsTest.cpp - weights whose scales are other tensors -----===//
#include "TestFiles.h"
#include "llmc/Frontend/PairedTensors.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

static QuantScheme schemeOf(const std::string &json) {
  return readQuantScheme(parseJson(json, "fixture"), "config.json");
}

namespace {
struct Case {
  const char *file, *scheme, *weight;
  std::vector<int64_t> shape;
};
} // namespace

static const Case cases[] = {
    {"fp8_block", R"({"quant_method": "fp8", "weight_block_size": [2, 4]})", "a.weight", {3, 10}},
    {"fp8_tensor", R"({"quant_algo": "FP8"})", "a.weight", {3, 4}},
    {"int8_channel", R"({"quant_method": "compressed-tensors"})", "a.weight", {3, 4}},
    {"nvfp4_modelopt", R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})", "a.weight", {2, 32}},
    {"nvfp4_packed", R"({"quant_method": "compressed-tensors"})", "a.weight", {2, 32}},
    {"fp8_four_bits", R"({"quant_method": "fp8", "weight_block_size": [128, 128]})", "a.weight",
     {2, 64}},
    {"mxfp4_packed", R"({"quant_method": "compressed-tensors"})", "a.weight", {2, 64}},
    {"mxfp4_experts", R"({"quant_method": "mxfp4"})", "x.gate_up_proj", {2, 64, 3}},
    {"int4_packed", R"({"quant_method": "compressed-tensors", "config_groups":
        {"g": {"weights": {"num_bits": 4, "type": "int"}}}})", "a.weight", {8, 16}},
    {"awq", R"({"quant_method": "awq", "bits": 4})", "a.weight", {16, 8}},
    {"gptq", R"({"quant_method": "gptq", "bits": 4})", "a.weight", {8, 16}},
    {"mxfp8", R"({"quant_method": "modelopt", "quant_algo": "MXFP8"})", "a.weight", {2, 3, 64}},
    {"mxfp8", R"({"quant_method": "compressed-tensors"})", "a.weight", {2, 3, 64}},
    {"mxfp8_e8m0", R"({"quant_method": "mxfp8", "weight_block_size": [1, 32]})", "a.weight", {2, 3, 64}}};

TEST(PairedTensors, ValuesOfThePublishedFormulas) {
  for (const Case &c : cases) {
    SCOPED_TRACE(c.file);
    auto paired = pairTensors(openSafetensors(sourceFolder() + "/unittests/Frontend/Inputs/paired/" +
                                              c.file + ".safetensors"),
                              schemeOf(c.scheme));
    EXPECT_THAT(paired->deferredFaults(), IsEmpty());
    EXPECT_EQ(paired->tensors().size(), 2u);
    const CheckpointTensor *weight = paired->find(c.weight);
    ASSERT_TRUE(weight);
    EXPECT_EQ(weight->shape, c.shape);
    EXPECT_EQ(paired->values(*weight), paired->values(*paired->find("expected")));
  }
}

/// A checkpoint gives the rows of any of its tensors divided by their lengths, paired ones too.
TEST(PairedTensors, RowsOfLengthOne) {
  std::string folder = sourceFolder() + "/unittests/Frontend/Inputs/paired/";
  auto plain = openSafetensors(folder + "unit_rows.safetensors");
  const CheckpointTensor *rows = plain->find(unitRowsName("a.weight"));
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows, plain->find(unitRowsName("a.weight")));
  EXPECT_EQ(rows->shape, (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(plain->values(*rows), plain->values(*plain->find("expected")));
  EXPECT_FALSE(plain->find(unitRowsName("b.weight")));
  EXPECT_EQ(plain->tensors().size(), 2u);

  auto paired = pairTensors(openSafetensors(folder + "fp8_tensor.safetensors"),
                            schemeOf(R"({"quant_algo": "FP8"})"));
  std::vector<float> values = paired->values(*paired->find(unitRowsName("a.weight")));
  ASSERT_EQ(values.size(), 12u);
  for (size_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (size_t k = 0; k < 4; ++k)
      sum += double(values[row * 4 + k]) * values[row * 4 + k];
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST(PairedTensors, ScalesOfActivationsAreNamedAndLeftOut) {
  auto paired = pairTensors(
      openSafetensors(sourceFolder() + "/unittests/Frontend/Inputs/paired/fp8_tensor.safetensors"),
      schemeOf(R"({"quant_algo": "FP8"})"));
  EXPECT_THAT(paired->companions(), ElementsAre("a.input_scale"));
}

TEST(PairedTensors, WhatDoesNotFitTogetherIsNamed) {
  struct Wrong {
    const char *scheme, *header, *message;
  };
  const char *fp8 = R"({"quant_method": "fp8", "weight_block_size": [2, 2]})";
  for (const Wrong &w : std::vector<Wrong>{
           {fp8, R"({"a.weight":{"dtype":"F8_E4M3","shape":[4,4],"data_offsets":[0,16]}})",
            "its tensor 'a.weight_scale_inv' or 'a.weight_scale' is missing"},
           {fp8, R"({"a.weight":{"dtype":"F8_E4M3","shape":[4,4],"data_offsets":[0,16]},
                     "a.weight_scale_inv":{"dtype":"F32","shape":[3,2],"data_offsets":[16,40]}})",
            "'a.weight_scale_inv' [3, 2], which must be [2, 2]"},
           {fp8, R"({"a.weight":{"dtype":"F8_E4M3","shape":[4,4],"data_offsets":[0,16]},
                     "a.weight_scale_inv":{"dtype":"I32","shape":[2,2],"data_offsets":[16,32]}})",
            "is stored as i32, expected f32 or bf16"},
           {R"({"quant_algo": "NVFP4"})",
            R"({"a.weight":{"dtype":"U8","shape":[2,8],"data_offsets":[0,16]},
                "a.weight_scale":{"dtype":"F8_E4M3","shape":[2,1],"data_offsets":[16,18]}})",
            "its tensor 'a.weight_scale_2' is missing"},
           {R"({"quant_algo": "MXFP8"})",
            R"({"a.weight":{"dtype":"F8_E4M3","shape":[2,64],"data_offsets":[0,128]},
                "a.weight_scale":{"dtype":"U8","shape":[2,4],"data_offsets":[128,136]}})",
            "'a.weight_scale' [2, 4], which must be [2, 2]"},
           {R"({"quant_algo": "MXFP8"})",
            R"({"a.weight":{"dtype":"F8_E4M3","shape":[2,48],"data_offsets":[0,96]},
                "a.weight_scale":{"dtype":"U8","shape":[2,2],"data_offsets":[96,100]}})",
            "has shape [2, 48], which is no matrix in whole blocks of 32"},
           {R"({"quant_algo": "MXFP8"})",
            R"({"a.weight":{"dtype":"F8_E4M3","shape":[2,64],"data_offsets":[0,128]},
                "a.weight_scale":{"dtype":"F32","shape":[2,2],"data_offsets":[128,144]}})",
            "is stored as f32, expected u8 or f8e8m0"},
           {R"({"quant_method": "awq"})",
            R"({"a.qweight":{"dtype":"I32","shape":[8,2],"data_offsets":[0,64]},
                "a.scales":{"dtype":"F16","shape":[2,16],"data_offsets":[64,128]}})",
            "its tensor 'a.qzeros' is missing"},
           {R"({"quant_method": "mxfp4"})",
            R"({"x_blocks":{"dtype":"U8","shape":[1,2,1,16],"data_offsets":[0,32]},
                "x_scales":{"dtype":"U8","shape":[1,2,2],"data_offsets":[32,36]}})",
            "'x_scales' [1, 2, 2], which must be [1, 2, 1]"}}) {
    SCOPED_TRACE(w.message);
    TempFolder folder;
    std::string header = w.header;
    size_t at = header.rfind("[", header.rfind("]")), comma = header.find(",", at);
    size_t bytes = std::stoul(header.substr(comma + 1));
    folder.write("m.safetensors", safetensors(header, std::string(bytes, '\0')));
    auto paired = pairTensors(openSafetensors(folder.path() + "/m.safetensors"), schemeOf(w.scheme));
    ASSERT_FALSE(paired->deferredFaults().empty());
    EXPECT_THAT(paired->deferredFaults().front(), HasSubstr(w.message));
  }
}

static std::shared_ptr<Checkpoint> pairedHeader(const TempFolder &folder, const std::string &header,
                                                const std::string &scheme,
                                                const std::string &data = {}) {
  folder.write("m.safetensors", safetensors(header, data));
  return pairTensors(openSafetensors(folder.path() + "/m.safetensors"), schemeOf(scheme));
}

/// Sizes are multiplied and divided by: of nothing, and of more than there can be.
TEST(PairedTensors, SizesThatNoWeightHas) {
  struct Wrong {
    const char *scheme, *header;
  };
  for (const Wrong &w : std::vector<Wrong>{
           {R"({"quant_method": "fp8"})",
            R"({"a.weight":{"dtype":"F8_E4M3","shape":[0,4],"data_offsets":[0,0]},
                "a.weight_scale":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"},
           {R"({"quant_method": "awq"})",
            R"({"a.qweight":{"dtype":"I32","shape":[8,0],"data_offsets":[0,0]},
                "a.qzeros":{"dtype":"I32","shape":[1,0],"data_offsets":[0,0]},
                "a.scales":{"dtype":"F16","shape":[1,0],"data_offsets":[0,0]}})"},
           {R"({"quant_algo": "NVFP4"})",
            R"({"a.weight":{"dtype":"U8","shape":[0,8,8],"data_offsets":[0,0]},
                "a.weight_scale":{"dtype":"F8_E4M3","shape":[0,8,1],"data_offsets":[0,0]},
                "a.weight_scale_2":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"},
           {R"({"quant_method": "mxfp4"})",
            R"({"x_blocks":{"dtype":"U8","shape":[0,2,1,16],"data_offsets":[0,0]},
                "x_scales":{"dtype":"U8","shape":[0,2,1],"data_offsets":[0,0]}})"},
           {R"({"quant_method": "compressed-tensors"})",
            R"({"a.weight_packed":{"dtype":"I32","shape":[1,1152921504606846976],
                                   "data_offsets":[0,4611686018427387904]},
                "a.weight_scale":{"dtype":"F32","shape":[1,1],
                                  "data_offsets":[4611686018427387904,4611686018427387908]}})"}}) {
    SCOPED_TRACE(w.header);
    TempFolder folder;
    size_t bytes = std::string(w.header).find("[0,4]}}") != std::string::npos ? 4 : 0;
    auto paired = pairedHeader(folder, w.header, w.scheme, std::string(bytes, '\0'));
    ASSERT_EQ(paired->deferredFaults().size(), 1u);
    EXPECT_THAT(paired->deferredFaults().front(), HasSubstr("which no quantised weight"));
  }
}

/// No memory for values that a header alone promises.
TEST(PairedTensors, ValuesOfAHeaderAlone) {
  TempFolder folder;
  auto paired = pairedHeader(
      folder,
      R"({"a.weight":{"dtype":"F8_E4M3","shape":[1048576,1073741824],
                      "data_offsets":[0,1125899906842624]},
          "a.weight_scale":{"dtype":"F32","shape":[1],
                            "data_offsets":[1125899906842624,1125899906842628]}})",
      R"({"quant_method": "fp8"})");
  EXPECT_THAT(paired->deferredFaults(), IsEmpty());
  EXPECT_INPUT_ERROR(paired->values(*paired->find("a.weight")), HasSubstr("holds no data"),
                     HasSubstr("a.weight"));
}

TEST(PairedTensors, SchemesOfConfigs) {
  EXPECT_EQ(schemeOf(R"({"quant_method": "fp8", "weight_block_size": [128, 64]})").blockColumns, 64);
  EXPECT_THAT(schemeOf(R"({"quant_method": "fp8", "curious": 1})").unknownKeys,
              ElementsAre(Pair("quantization_config.curious", "1")));
  EXPECT_FALSE(schemeOf(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})").readable);
  EXPECT_THAT(schemeOf(R"({"quant_method": "quip"})").reason, HasSubstr("does not know"));
  EXPECT_THAT(schemeOf(R"({"quant_method": "gptq", "bits": 3})").reason, HasSubstr("3 bits"));
  EXPECT_INPUT_ERROR(schemeOf(R"({"quant_method": "fp8", "fmt": "e5m2"})"),
                     HasSubstr("quantization_config.fmt"), HasSubstr("e4m3"));
  EXPECT_INPUT_ERROR(schemeOf(R"({"quant_method": "fp8", "weight_block_size": [0, 2]})"),
                     HasSubstr("weight_block_size"));
  EXPECT_INPUT_ERROR(schemeOf(R"({"quant_method": "gptq", "bits": 5})"), HasSubstr("bits"),
                     HasSubstr("one of 2, 3, 4, 8"));
  EXPECT_INPUT_ERROR(schemeOf(R"({"bits": 4})"), HasSubstr("no 'quant_method'"));
}
