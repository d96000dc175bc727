//===- RefusalsTest.cpp - one input for each message of the readers -------===//
//
// Messages that no other test provokes, by reader.
//
//===----------------------------------------------------------------------===//
#include "GgufBuilder.h"
#include "TinyModel.h"
#include "llmc/Frontend/Gguf.h"
#include "llmc/Frontend/PairedTensors.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::HasSubstr;

namespace {

/// A complete model in one file, whose parts are replaced.
const std::string complete = R"json({
  "match": { "model_type": ["tiny"] },
  "params": { "D": "width", "L": "depth", "V": "10", "double(n)": "2 * n" },
  "tensors": { "embed": ["embed.weight", "[V, D]"],
               "layer": { "w": ["layers.{i}.w.weight", "[D, D]"] } },
  "layers": { "count": "L", "block": "'block'" },
  "blocks": { "block": ["z = linear(x, w)", "z + once(x)"], "once(y)": ["y * 2"] },
  "model": ["x = layers(embedding(tokens, embed))", "output_head(x, embed)"],
  "facts": { "vocab_size": "double(5)" },
  "ledger": { "irrelevant": ["names"] },
  "config": { "width": 4, "depth": 3, "names": { "a": 1 } } })json";

struct Row {
  const char *from, *to, *message;
};

} // namespace

TEST(Refusals, SectionsOfADescription) {
  TempFolder folder;
  for (const Row &row : std::vector<Row>{
           {"\"ledger\"", "\"checks\": [5], \"ledger\"", "a check is a list of a condition"},
           {"\"ledger\"", "\"checks\": [[\"true\", 5]], \"ledger\"", "expected text"},
           {"[\"names\"]", "\"names\"", "'irrelevant' must be a list"},
           {"\"ledger\"", "\"synonyms\": {\"a\": \"b\", \"b\": \"a\"}, \"ledger\"",
            "'a' stands for 'b', which stands for another key itself"},
           {"\"ledger\"", "\"rope_pairing\": \"thirds\", \"ledger\"", "must be 'halves' or"},
           {"\"10\"", "{}", "expected an expression"},
           {"\"10\"", "[\"10\", \"int\", 5]", "or a list of an expression and a type"},
           {"\"10\"", "[\"10\", \"number\"]", "a type is int, float, bool, text or list"},
           {"double(n)\"", "double(n\"", "must end with ')'"},
           {"double(n)\"", "double(2n!)\"", "has an argument that is no name"},
           {"\"V\"", "\"V V\"", "'V V' is no name"},
           {"\"V\"", "\"max\"", "'max' is a function of the language"},
           {"[\"embed.weight\", \"[V, D]\"]", "\"embed.weight\"", "a tensor is a list of name"},
           {"\"[V, D]\"]", "\"[V, D]\", 5]", "the attributes of a tensor are an object"},
           {"\"[V, D]\"]", "\"[V, D]\", {\"tied\": \"'w'\", \"experts\": \"2\"}]",
            "a tied tensor has neither parts nor experts"},
           {"{ \"w\": [\"layers.{i}.w.weight\", \"[D, D]\"] }", "5",
            "'layer' must be an object of tensors"},
           {"\"w\": [", "\"embed\": [\"layers.{i}.e\", \"[D]\"], \"w\": [",
            "the role 'embed' stands twice"},
           {"\"ledger\"", "\"forms\": [5], \"ledger\"", "an alternative of 'forms' is an object"},
           {"\"ledger\"", "\"mtp\": 5, \"ledger\"", "'mtp' must be an object"},
           {"\"ledger\"", "\"prefixes\": [5], \"ledger\"", "an alternative of 'prefixes' is an"},
           {"[\"y * 2\"]", "\"y * 2\"", "a block is a list of statements"},
           {"\"ledger\"", "\"gguf\": 5, \"ledger\"", "'gguf' must be an object"},
           {"\"ledger\"", "\"gguf\": {\"arch\": \"t\", \"rope_factors\": [\"a\"]}, \"ledger\"",
            "'rope_factors' is a list of two tensors"}}) {
    std::string text = complete;
    size_t at = text.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.from;
    text.replace(at, std::string(row.from).size(), row.to);
    DescriptionSet set;
    EXPECT_INPUT_ERROR(loadModel(folder.write("tiny.jsonc", text), set), HasSubstr("tiny.jsonc:"),
                       HasSubstr(row.message));
  }
  DescriptionSet set;
  EXPECT_INPUT_ERROR(set.load(set.addFile(folder.write("list.jsonc", "[]"))),
                     HasSubstr("list.jsonc"), HasSubstr("must be an object"));
  EXPECT_INPUT_ERROR(set.addFile(folder.path("nowhere.jsonc")), HasSubstr("nowhere.jsonc"),
                     HasSubstr("no such description file"));
}

TEST(Refusals, ExpressionsOfADescription) {
  TempFolder folder;
  auto load = [&](const std::string &from, const std::string &to) {
    std::string text = complete;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    DescriptionSet set;
    return loadModel(folder.write("tiny.jsonc", text.replace(at, from.size(), to)), set);
  };
  EXPECT_EQ(load("10", "10")->vocabSize, 10);
  // As the value of a parameter.
  for (const auto &[to, message] : std::vector<std::pair<const char *, const char *>>{
           {"1 / 0.0", "a division by 0"},
           {"'abc'[7]", "index 7 is outside of the text"},
           {"min([])", "min of no values"},
           {"last_index_of([1], 1, -1)", "last_index_of needs a position"},
           {"entry(names, 1.5)", "the key of an object is text or an integer, here it is 1.5"},
           {"int(1e30)", "does not fit into an integer"},
           {"log(0.0)", "which is not positive"},
           {"default(width)", "default takes 2 arguments"},
           {"len([1], a: 1)", "len takes no named arguments"},
           {"1e999", "'1e999' is no number"},
           {"(1 + width", "expected ',' instead of 'end of text'"},
           {"double", "'double' is a function and needs its arguments"},
           {"D(1)", "'D' is no function"},
           {"double(n: 1)", "double takes no named arguments"},
           {"double(1, 2)", "'double' takes 1 arguments, not 2"},
           {"fetch(1)\", \"fetch(n)\": \"absent_key", "the config has no key 'absent_key' and there is no default"},
           {"rope_record(5)", "rope_record takes only the named arguments"}})
    EXPECT_INPUT_ERROR(load("\"10\"", '"' + std::string(to) + '"'), HasSubstr("tiny.jsonc"),
                       HasSubstr(message));
  // As a statement of a block.
  for (const auto &[to, message] : std::vector<std::pair<const char *, const char *>>{
           {"y ** y", "tensors have no '**'"},
           {"y / 0", "a division by 0"},
           {"min(y)", "min of one tensor is no operation"},
           {"max(1, 2, y)", "put the tensor before the second number"},
           {"y * double", "'double' is a function and needs its arguments"},
           {"y * D(1)", "'D' is no function"},
           {"y * double(n: 1)", "double takes no named arguments"},
           {"y * len([1], a: 1)", "len takes no named arguments"}})
    EXPECT_INPUT_ERROR(load("y * 2", to), HasSubstr("tiny.jsonc:"), HasSubstr(message));
  for (const auto &[to, message] : std::vector<std::pair<const char *, const char *>>{
           {"once(x, x)", "block 'once' takes 1 arguments, not 2"},
           {"once(x, y: x)", "block 'once' has no free argument 'y'"},
           {"once()", "block 'once' needs the argument 'y'"}})
    EXPECT_INPUT_ERROR(load("once(x)", to), HasSubstr("tiny.jsonc:"), HasSubstr(message));
  EXPECT_INPUT_ERROR(load("\"z = linear(x, w)\", \"z +", "\"z, u = linear(x, w)\", \"z + u +"),
                     HasSubstr("there are 2 names for"));
  // Outside of layers, where whoever runs the statements finds it.
  auto reasons = [&](const std::string &to) {
    std::string text = complete, from = "output_head(x, embed)", all;
    text.replace(text.find(from), from.size(), to);
    DescriptionSet set;
    auto source = ModelSource::open(folder.write("tiny.jsonc", text));
    for (const std::string &reason :
         inspectModel(std::make_shared<ModelSource>(std::move(source)), set).reasons)
      all += reason + "\n";
    return all;
  };
  EXPECT_THAT(reasons("output_head(x, w)"),
              HasSubstr("'w' is a layer's tensor, used outside of layers"));
  EXPECT_THAT(reasons("output_head(x * i, embed)"),
              HasSubstr("'i' is neither a value of this block nor a parameter"));
  EXPECT_INPUT_ERROR(load("\"vocab_size\": \"", "\"vocab_size\": \"'x' ?? "),
                     HasSubstr("the fact 'vocab_size' must be an integer"));
  EXPECT_INPUT_ERROR(load("\"vocab_size\"", "\"size\""), HasSubstr("'size' is no fact"));
  EXPECT_INPUT_ERROR(load("\"ledger\"", "\"checks\": [[\"5\", \"five\"]], \"ledger\""),
                     HasSubstr("a check must be true or false"));
  EXPECT_INPUT_ERROR(load("\"depth\": 3", "\"depth\": 0"),
                     HasSubstr("depth = 0 gives 0 layers, it must be an integer from 1 to 10000"));
  EXPECT_INPUT_ERROR(load("\"model\": [\"x = layers(embedding(tokens, embed))\", "
                          "\"output_head(x, embed)\"],", ""),
                     HasSubstr("a description needs 'layers' with count and block, and 'model'"));
  // Of tensors.
  std::string w = "\"[D, D]\"]";
  EXPECT_INPUT_ERROR(load(w, "\"[D, D]\", {\"when\": \"5\"}]"),
                     HasSubstr("this condition must be true or false, it is 5"));
  EXPECT_INPUT_ERROR(load(w, "\"[D, 0]\"]"),
                     HasSubstr("tensor 'layers.{i}.w.weight' gets the size 0"));
  EXPECT_INPUT_ERROR(load(w, "\"D\"]"), HasSubstr("a shape must be a list of integers"));
  EXPECT_INPUT_ERROR(load(w, "\"[D, D]\", {\"tied\": \"'v'\"}]"),
                     HasSubstr("'w' is tied to 'v', which is no such tensor"));
  EXPECT_INPUT_ERROR(load("\"embed\": [", "\"head\": [\"h.weight\", \"[D, D]\", "
                                          "{\"tied\": \"'embed'\"}], \"embed\": ["),
                     HasSubstr("'head' of shape [4, 4] is tied to 'embed' of shape [10, 4]"));
}

TEST(Refusals, JsonTexts) {
  for (const auto &[text, message] : std::vector<std::pair<const char *, const char *>>{
           {R"("\uZZZZ")", "four hexadecimal digits"},
           {R"("\q")", "unknown escape"},
           {R"("\ud800x")", "a surrogate without its pair"},
           {R"("\ud800\u0041")", "a surrogate without its pair"},
           {R"("\udc00")", "a surrogate without its pair"},
           {"1.", "digits after its point"},
           {"1e", "digits in its exponent"},
           {"1e999", "is out of range"},
           {"{a: 1}", "expected a member name in quotes"}})
    EXPECT_INPUT_ERROR(parseJson(text, "c.json"), HasSubstr("c.json:1:"), HasSubstr(message));
  EXPECT_INPUT_ERROR(parseJson("1 /* open", "c.jsonc", true), HasSubstr("a comment is not closed"));
  TempFolder folder;
  EXPECT_INPUT_ERROR(readJsonFile(folder.path("none.json")), HasSubstr("none.json"),
                     HasSubstr("cannot be opened"));
  EXPECT_INPUT_ERROR(readJsonFile(folder.path()), HasSubstr(folder.path()));
}

TEST(Refusals, Models) {
  TempFolder folder;
  for (const char *name : {"config.json", "other.json"})
    folder.write(name, "[]");
  EXPECT_INPUT_ERROR(ModelSource::open(folder.path()), HasSubstr("a config must be an object"));
  EXPECT_INPUT_ERROR(ModelSource::open(folder.path("other.json")),
                     HasSubstr("other.json: a config must be an object, it is"));
  TempFolder artifact;
  artifact.write("manifest.json", "{}");
  EXPECT_INPUT_ERROR(ModelSource::open(artifact.path()), HasSubstr("is compiled already"));
  artifact.write("index.safetensors", safetensors("[]", ""));
  EXPECT_INPUT_ERROR(openSafetensors(artifact.path("index.safetensors")), HasSubstr("begin with '{'"));
  EXPECT_INPUT_ERROR(openSafetensors(artifact.path("none.safetensors")),
                     HasSubstr("cannot be opened"));
  artifact.write("m.safetensors",
                 safetensors(R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})",
                             "x"));
  EXPECT_INPUT_ERROR(openSafetensors(artifact.path("m.safetensors")),
                     HasSubstr("has 9 dimensions, at most 8"));
  artifact.write("model.safetensors.index.json", "{}");
  EXPECT_INPUT_ERROR(openSafetensorsFolder(artifact.path()), HasSubstr("'weight_map'"));
}

TEST(Refusals, RotaryRecords) {
  auto ropeOf = [](const std::string &json, int64_t dim = 8) {
    ConfigView::RopeRequest request;
    request.dim = dim;
    request.user = "rope";
    return ConfigView(parseJson(json, "config.json"), "config.json", {}).rope(request);
  };
  struct Wrong {
    const char *json, *message;
    int64_t dim = 8;
  };
  for (const Wrong &w : std::vector<Wrong>{
           {R"({"rope_scaling": {"rope_type": 5}})", "must be text"},
           {R"({"rope_theta": 1})", "must be above 1"},
           {R"({"max_position_embeddings": "many"})", "'max_position_embeddings' = \"many\" must be"},
           {R"({"rope_scaling": {"type": "yarn", "factor": 2, "truncate": 1,
                "original_max_position_embeddings": 8}})", "true or false"},
           {R"({"rope_scaling": {"type": "yarn", "factor": 2,
                "original_max_position_embeddings": 8.5}})", "a whole number of positions"},
           {R"({"rope_scaling": {"type": "longrope", "short_factor": [], "long_factor": [],
                "original_max_position_embeddings": 8}})", "a list of positive numbers"},
           {R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1],
                "long_factor": [1, 1, 1, 1], "original_max_position_embeddings": 1}})",
            "at least 2"},
           {R"({"rope_scaling": {"type": "dynamic", "factor": 2}, "max_position_embeddings": 8})",
            "dynamic scaling needs four rotated dimensions", 2},
           {R"({"rope_scaling": {"type": "dynamic", "alpha": 2}, "max_position_embeddings": 8})",
            "it needs four rotated dimensions", 2},
           {"{}", "the number must be even and positive", 7},
           {"{}", "dimensions of a head is too large", int64_t(1) << 21}})
    EXPECT_INPUT_ERROR(ropeOf(w.json, w.dim), HasSubstr("config.json"), HasSubstr(w.message));
}

TEST(Refusals, QuantisedTensors) {
  struct Wrong {
    const char *scheme, *header;
    size_t bytes;
    const char *message;
  };
  for (const Wrong &w : std::vector<Wrong>{
           {R"({"quant_method": "fp8"})",
            R"({"a.weight":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]},
                "a.SCB":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12,
            "is stored as bitsandbytes does, with 'a.SCB'"},
           {R"({"quant_method": "fp8"})",
            R"({"a.weight":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]},
                "a.weight_scale":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8,
            "is a vector with scales of its own"},
           {R"({"quant_method": "compressed-tensors"})",
            R"({"a.weight_packed":{"dtype":"I32","shape":[2,1],"data_offsets":[0,8]},
                "a.weight_scale":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},
                "a.weight_g_idx":{"dtype":"I32","shape":[8],"data_offsets":[16,48]}})", 48,
            "has columns in another order ('a.weight_g_idx')"},
           {R"({"quant_method": "compressed-tensors"})",
            R"({"a.weight_packed":{"dtype":"I32","shape":[2],"data_offsets":[0,8]},
                "a.weight_scale":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", 16,
            "has shape [2], expected a matrix"},
           {R"({"quant_algo": "NVFP4"})",
            R"({"a.weight":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},
                "a.weight_scale":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[8,9]},
                "a.weight_scale_2":{"dtype":"F32","shape":[],"data_offsets":[9,13]}})", 13,
            "has shape [8], expected a matrix"},
           {R"({"quant_algo": "NVFP4"})",
            R"({"a.weight":{"dtype":"U8","shape":[1,4],"data_offsets":[0,4]},
                "a.weight_scale":{"dtype":"F8_E4M3","shape":[1,1],"data_offsets":[4,5]},
                "a.weight_scale_2":{"dtype":"F32","shape":[],"data_offsets":[5,9]}})", 9,
            "has rows of 8 values, which are not whole blocks of 16"},
           {R"({"quant_method": "mxfp4"})",
            R"({"x_blocks":{"dtype":"U8","shape":[1,16],"data_offsets":[0,16]},
                "x_scales":{"dtype":"U8","shape":[1],"data_offsets":[16,17]}})", 17,
            "has shape [1, 16], expected [experts, rows, blocks, 16]"},
           {R"({"quant_method": "awq"})",
            R"({"a.qweight":{"dtype":"I32","shape":[2],"data_offsets":[0,8]},
                "a.qzeros":{"dtype":"I32","shape":[1],"data_offsets":[8,12]},
                "a.scales":{"dtype":"F16","shape":[1],"data_offsets":[12,14]}})", 14,
            "has shape [2], expected a matrix"}}) {
    TempFolder folder;
    folder.write("m.safetensors", safetensors(w.header, std::string(w.bytes, '\0')));
    auto paired = pairTensors(openSafetensors(folder.path("m.safetensors")),
                              readQuantScheme(parseJson(w.scheme, "f"), "config.json"));
    ASSERT_EQ(paired->deferredFaults().size(), 1u) << w.message;
    EXPECT_THAT(paired->deferredFaults().front(),
                AllOf(HasSubstr("m.safetensors: tensor '"), HasSubstr(w.message)));
  }
  // A group that is none is found with the values.
  TempFolder folder;
  std::string data(32 + 16 + 4 + 32, '\0');
  data[data.size() - 32 + 4] = 7;
  folder.write("m.safetensors",
               safetensors(R"({"a.qweight":{"dtype":"I32","shape":[1,8],"data_offsets":[0,32]},
                 "a.scales":{"dtype":"F16","shape":[1,8],"data_offsets":[32,48]},
                 "a.qzeros":{"dtype":"I32","shape":[1,1],"data_offsets":[48,52]},
                 "a.g_idx":{"dtype":"I32","shape":[8],"data_offsets":[52,84]}})", data));
  auto paired = pairTensors(openSafetensors(folder.path("m.safetensors")),
                            readQuantScheme(parseJson(R"({"quant_method": "gptq"})", "f"), "c"));
  EXPECT_INPUT_ERROR(paired->values(*paired->find("a.weight")),
                     HasSubstr("'a.g_idx' puts column 1 into group 7, there are 1"));
}

TEST(Refusals, QuantisationConfigs) {
  auto schemeOf = [](const std::string &json) {
    return readQuantScheme(parseJson(json, "fixture"), "config.json");
  };
  EXPECT_INPUT_ERROR(schemeOf("[]"), HasSubstr("'quantization_config' = [] must be an object"));
  EXPECT_INPUT_ERROR(schemeOf(R"({"quant_method": 5})"),
                     HasSubstr("'quantization_config.quant_method' = 5 must be text"));
  for (const auto &[json, reason] : std::vector<std::pair<const char *, const char *>>{
           {R"({"quant_method": "compressed-tensors", "sparsity_config": {"format": "24"}})",
            "weights are stored sparse"},
           {R"({"quant_method": "compressed-tensors", "transform_config": {"a": 1}})",
            "weights are rotated"},
           {R"({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"})", "quant_algo W4A8_AWQ"},
           {R"({"quant_method": "awq", "version": "gemv"})", "the layout 'gemv'"},
           {R"({"quant_method": "gptq", "dynamic": {"a": 1}})", "bits that differ"}}) {
    EXPECT_FALSE(schemeOf(json).readable) << json;
    EXPECT_THAT(schemeOf(json).reason, HasSubstr(reason));
  }
}

TEST(Refusals, GgufMetadata) {
  TempFolder folder;
  auto list = [](uint32_t element, uint64_t count, const std::string &items) {
    return bytesOf(element) + bytesOf(count) + items;
  };
  std::string deep = list(0, 0, "");
  for (int i = 0; i < 5; ++i)
    deep = list(9, 1, deep);
  struct Wrong {
    const char *key;
    uint32_t type;
    std::string value;
    const char *message;
  };
  for (const Wrong &w : std::vector<Wrong>{
           {"k", 9, deep, "'k' is nested more than 4 deep"},
           {"", 4, bytesOf<uint32_t>(1), "has a name of 0 bytes, allowed are 1 to 65535"},
           {"tokenizer.ggml.model", 4, bytesOf<uint32_t>(1), "'tokenizer.ggml.model' must be text"},
           {"tokenizer.ggml.bos_token_id", 8, text("x"), "must be an integer, it is"},
           {"tokenizer.ggml.add_bos_token", 4, bytesOf<uint32_t>(1), "must be a boolean, it is"}}) {
    GgufBuilder builder;
    builder.add(w.key, w.type, w.value);
    EXPECT_INPUT_ERROR(openGguf(folder.write("m.gguf", builder.bytes())), HasSubstr("m.gguf"),
                       HasSubstr(w.message));
  }
  auto tokens = [&](const char *key, uint32_t element, const std::string &items) {
    GgufBuilder builder;
    builder.add("tokenizer.ggml.tokens", 9, list(8, 2, text("a") + text("b")));
    builder.add(key, 9, list(element, 1, items));
    return openGguf(folder.write("m.gguf", builder.bytes()));
  };
  EXPECT_INPUT_ERROR(tokens("tokenizer.ggml.scores", 6, bytesOf(1.0f)),
                     HasSubstr("has 2 tokens but 1 scores"));
  EXPECT_INPUT_ERROR(tokens("tokenizer.ggml.token_type", 5, bytesOf<int32_t>(1)),
                     HasSubstr("has 2 tokens but 1 token types"));
}

/// Of the checkpoint that goes with `complete`.
TEST(Refusals, TensorsOfAModel) {
  TempFolder folder;
  auto reasons = [&](const std::string &from, const std::string &to, const std::string &model) {
    std::string text = complete, all;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    DescriptionSet set;
    set.addFile(folder.write("tiny.jsonc", text.replace(at, from.size(), to)));
    for (const std::string &reason :
         inspectModel(std::make_shared<ModelSource>(ModelSource::open(model)), set).reasons)
      all += reason + "\n";
    return all;
  };
  folder.write("config.json", R"({"model_type": "tiny", "width": 4, "depth": 1})");
  std::string header = R"({"embed.weight":{"dtype":"F32","shape":[10,4],"data_offsets":[0,160]},)"
                       R"("layers.0.w0.weight":{"dtype":"F32","shape":[4,4],"data_offsets":[160,224]},)"
                       R"("layers.0.w1.weight":{"dtype":"F16","shape":[4,4],"data_offsets":[224,256]}})";
  folder.write("model.safetensors", safetensors(header, std::string(256, '\0')));
  std::string w = "[\"layers.{i}.w.weight\", \"[D, D]\"]";
  EXPECT_THAT(reasons(w, "[\"layers.{i}.w{e}.weight\", \"[D, D]\", {\"experts\": \"2\"}]",
                      folder.path()),
              HasSubstr("'layers.0.w1.weight' is stored as f16 and 'layers.0.w0.weight' as f32; the "
                        "experts of one layer are of one format"));
  EXPECT_THAT(reasons(w, "[\"layers.{i}.w0.weight\", \"[D, D]\"], "
                         "\"v\": [\"layers.{i}.w0.weight\", \"[D, D]\"]", folder.path()),
              HasSubstr("'layers.0.w0.weight' would be read by two parameters"));
}

TEST(Refusals, ModelsOfGgufFiles) {
  TempFolder folder;
  std::string section = R"("gguf": { "arch": "tiny", "keys": { "tiny.width": "width",
    "tiny.depth": "depth", "tiny.more": "depth" }, "tensors": { "embed": "e", "w": "w.{i}" },
    "rope_divisors": "freqs", "rope_factors": ["short", "long"], "irrelevant": ["general.*"],
    "config": { "x": "1" } }, "ledger": { "irrelevant": ["x", )";
  auto open = [&](const GgufBuilder &builder, const std::string &from, const std::string &to,
                  DescriptionSet &set) {
    std::string text = complete;
    text.replace(text.find("\"ledger\": { \"irrelevant\": ["), 27, section);
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    set.addFile(folder.write("tiny.jsonc", text.replace(at, from.size(), to)));
    return folder.write("m.gguf", builder.bytes());
  };
  auto load = [&](const GgufBuilder &builder, const std::string &from, const std::string &to) {
    DescriptionSet set;
    std::string file = open(builder, from, to, set);
    loadModel(file, set)->requireWeights();
  };
  auto reasons = [&](const GgufBuilder &builder, const std::string &from, const std::string &to) {
    DescriptionSet set;
    std::string file = open(builder, from, to, set), all;
    for (const std::string &reason :
         inspectModel(std::make_shared<ModelSource>(ModelSource::open(file)), set).reasons)
      all += reason + "\n";
    return all;
  };
  auto builder = [](uint32_t type, size_t rowBytes, uint64_t width = 256) {
    GgufBuilder b;
    b.pairs.clear();
    b.add("general.architecture", 8, text("tiny"));
    b.add("tiny.width", 4, bytesOf<uint32_t>(uint32_t(width)));
    b.add("tiny.depth", 4, bytesOf<uint32_t>(1));
    b.addTensor("e", {width, 10}, 0, 0);
    b.addTensor("w.0", {width, width}, type, width * 40);
    b.data = std::string(width * 40 + rowBytes * width, '\0');
    return b;
  };
  EXPECT_NO_THROW(load(builder(0, 1024), "1", "1"));
  // iq1_s: 256 values in 50 bytes; q8_0: 32 values in 34.
  EXPECT_INPUT_ERROR(load(builder(19, 50), "1", "1"), HasSubstr("'w.0' is stored as iq1_s, which "));
  EXPECT_THAT(reasons(builder(8, 272), "\"[D, D]\"]",
                      "\"[D, D]\", { \"groups\": \"2\", \"parts\": { \"u\": "
                      "{ \"rows\": \"D // 2\", \"transposed\": true } } }]"),
              HasSubstr("'w.0' is published transposed, [columns, rows], and stored as blocks of "
                        "q8_0; only plain floats can be transposed"));
  auto with = [&](const char *name, float value) {
    GgufBuilder b = builder(0, 1024);
    b.addTensor(name, {1}, 0, b.data.size());
    b.data += bytesOf(value) + std::string(28, '\0');
    return b;
  };
  EXPECT_INPUT_ERROR(load(with("freqs", 0), "1", "1"),
                     HasSubstr("'freqs' holds 0.000000, divisors of frequencies must be positive"));
  EXPECT_INPUT_ERROR(load(with("short", 1), "1", "1"),
                     HasSubstr("holds only one of the tensors 'short' and 'long'"));
  GgufBuilder cut = with("freqs", 1);
  cut.data.clear();
  EXPECT_INPUT_ERROR(load(cut, "1", "1"), HasSubstr("its data is absent"));
  GgufBuilder twice = builder(0, 1024);
  twice.add("tiny.more", 4, bytesOf<uint32_t>(2));
  EXPECT_INPUT_ERROR(load(twice, "1", "1"),
                     HasSubstr("'tiny.more' = 2 contradicts the 1 that another value gives for depth"));
  GgufBuilder split = builder(0, 1024);
  split.add("split.tensors.count", 5, bytesOf<int32_t>(9));
  EXPECT_INPUT_ERROR(load(split, "1", "1"),
                     HasSubstr("holds 2 tensors, its split.tensors.count is 9"));
  EXPECT_INPUT_ERROR(load(builder(0, 1024), ", \"w\": \"w.{i}\"", ""),
                     HasSubstr("role 'w' has no name in the 'gguf' section"));
  EXPECT_INPUT_ERROR(load(builder(0, 1024), "\"x\": \"1\"", "\"x\": \"has_tensor(1)\""),
                     HasSubstr("the only function here is has_tensor('name')"));
  EXPECT_INPUT_ERROR(load(builder(0, 1024), "\"x\": \"1\"", "\"x\": \"[1]\""),
                     HasSubstr("a config value cannot be"));
}

TEST(Refusals, WeightsThatAreNotThere) {
  TinyModel tiny;
  std::string folder = tiny.write(), file = folder + "model.safetensors";
  uint64_t header = 0;
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char *>(&header), 8);
  std::filesystem::resize_file(file, 8 + header);
  auto set = TinyModel::descriptions();
  EXPECT_INPUT_ERROR(loadModel(folder, set)->requireWeights(),
                     HasSubstr("the checkpoint is only described here, its data is absent"),
                     HasSubstr("--weights=none"));
  std::filesystem::remove(file);
  EXPECT_INPUT_ERROR(loadModel(folder, set)->requireWeights(), HasSubstr("there are no weights here"),
                     HasSubstr("--weights=none"));
  TinyModel quantised;
  quantised.set("quantization_config", R"({"bits": 4})");
  EXPECT_INPUT_ERROR(quantised.load(), HasSubstr("quantization_config has no 'quant_method'"));
}
