//===- SafetensorsTest.cpp - good and hostile safetensors files -----------===//
#include "TestFiles.h"
#include "llmc/Frontend/Checkpoint.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::HasSubstr;

static std::string entry(const std::string &dtype, const std::string &shape,
                         const std::string &offsets) {
  return "{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

class Safetensors : public testing::Test {
protected:
  std::shared_ptr<Checkpoint> open(const std::string &header, const std::string &data) {
    return openSafetensors(folder.write("model.safetensors", safetensors(header, data)));
  }
  TempFolder folder;
};

TEST_F(Safetensors, ReadsTensors) {
  auto checkpoint =
      open("{\"__metadata__\":{\"format\":\"pt\"},\"b\":" + entry("BF16", "[2]", "[8,12]") +
               ",\"a\":" + entry("F32", "[1,2]", "[0,8]") + "}",
           bytesOf(1.5f) + bytesOf(-2.f) + bytesOf<uint16_t>(0x3F80) + bytesOf<uint16_t>(0x4000));
  ASSERT_EQ(checkpoint->tensors().size(), 2u);
  EXPECT_TRUE(checkpoint->hasData());
  EXPECT_EQ(checkpoint->tensors()[0].name, "a");
  EXPECT_EQ(checkpoint->values(*checkpoint->find("a")), (std::vector<float>{1.5f, -2.f}));
  EXPECT_EQ(checkpoint->values(*checkpoint->find("b")), (std::vector<float>{1.f, 2.f}));
  EXPECT_EQ(checkpoint->find("c"), nullptr);
  EXPECT_NO_THROW(checkpoint->throwDeferredFaults());
}

TEST_F(Safetensors, HeaderAloneHasNoData) {
  auto checkpoint = open("{\"a\":" + entry("F32", "[2]", "[0,8]") + "}", "");
  EXPECT_FALSE(checkpoint->hasData());
  EXPECT_TRUE(checkpoint->hasShapes());
  EXPECT_INPUT_ERROR(checkpoint->data(checkpoint->tensors()[0]), HasSubstr("'a'"));
}

TEST_F(Safetensors, RefusesDamagedHeaders) {
  std::string good = "{\"a\":" + entry("F32", "[2]", "[0,8]") + "}";
  EXPECT_INPUT_ERROR(openSafetensors(folder.write("model.safetensors", "abc")),
                     HasSubstr("model.safetensors"), HasSubstr("3 bytes"));
  EXPECT_INPUT_ERROR(
      openSafetensors(folder.write("model.safetensors", bytesOf<uint64_t>(1ull << 60) + good)),
      HasSubstr("100000000"));
  EXPECT_INPUT_ERROR(
      openSafetensors(folder.write("model.safetensors", bytesOf<uint64_t>(500) + good)),
      HasSubstr("500"), HasSubstr("incomplete"));
  EXPECT_INPUT_ERROR(open("[1]", ""), HasSubstr("begin with"));
  EXPECT_INPUT_ERROR(open("{\"a\":", ""), HasSubstr("JSON"));
  EXPECT_INPUT_ERROR(open("{\"a\":{}}", ""), HasSubstr("'a'"));
  EXPECT_INPUT_ERROR(open("{\"a\":" + entry("F12", "[2]", "[0,8]") + "}", ""), HasSubstr("F12"));
  EXPECT_INPUT_ERROR(open("{\"a\":" + entry("F32", "[-2]", "[0,8]") + "}", ""), HasSubstr("shape"));
  EXPECT_INPUT_ERROR(open("{\"a\":" + entry("F32", "[2.5]", "[0,8]") + "}", ""),
                     HasSubstr("shape"));
  EXPECT_INPUT_ERROR(open("{\"a\":" + entry("F32", "[4294967296,4294967296,4]", "[0,8]") + "}", ""),
                     HasSubstr("too large"));
  EXPECT_INPUT_ERROR(open("{\"a\":" + entry("F32", "[2]", "[8,0]") + "}", ""),
                     HasSubstr("data_offsets"));
  EXPECT_INPUT_ERROR(open("{\"a\":" + entry("F32", "[2]", "[0,12]") + "}", std::string(12, 0)),
                     HasSubstr("'a'"), HasSubstr("12"), HasSubstr("8"));
}

TEST_F(Safetensors, ReadsEveryDtype) {
  // Spellings of the published format with the bytes of eight elements.
  const std::pair<const char *, int> dtypes[] = {
      {"F64", 64}, {"F32", 32}, {"F16", 16},         {"BF16", 16},       {"F8_E4M3", 8},
      {"I64", 64}, {"I32", 32}, {"F8_E5M2", 8},      {"F8_E8M0", 8},     {"F8_E4M3FNUZ", 8},
      {"I16", 16}, {"I8", 8},   {"F8_E5M2FNUZ", 8},  {"F6_E2M3", 6},     {"F6_E3M2", 6},
      {"U64", 64}, {"U32", 32}, {"U16", 16},         {"U8", 8},          {"BOOL", 8},
      {"F4", 4},   {"C64", 64}};
  for (auto [dtype, bytes] : dtypes) {
    std::string header =
        "{\"a\":" + entry(dtype, "[2,4]", "[0," + std::to_string(bytes) + "]") + "}";
    auto checkpoint = open(header, std::string(size_t(bytes), '\0'));
    const CheckpointTensor &a = *checkpoint->find("a");
    EXPECT_EQ(a.format->safetensorsName, dtype);
    if (a.format->readable)
      EXPECT_EQ(checkpoint->values(a).size(), 8u) << dtype;
    else
      EXPECT_INPUT_ERROR(checkpoint->values(a), HasSubstr("'a'"),
                         HasSubstr(std::string(a.format->name)));
  }
  EXPECT_INPUT_ERROR(open("{\"a\":" + entry("F4", "[3]", "[0,2]") + "}", std::string(2, 0)),
                     HasSubstr("'a'"), HasSubstr("3 elements of F4"));
}

TEST_F(Safetensors, Scalars) {
  auto checkpoint = open("{\"a\":" + entry("F64", "[]", "[0,8]") + "}", bytesOf(0.5));
  EXPECT_TRUE(checkpoint->find("a")->shape.empty());
  EXPECT_EQ(checkpoint->values(*checkpoint->find("a")), (std::vector<float>{0.5f}));
}

TEST_F(Safetensors, RefusesHostileHeaders) {
  std::string good = "\"a\":" + entry("F32", "[2]", "[0,8]"), data(8, '\0');
  EXPECT_INPUT_ERROR(open(" {" + good + "}", data), HasSubstr("begin with '{'"));
  EXPECT_NO_THROW(open("{" + good + "}   ", data));
  EXPECT_INPUT_ERROR(open("{" + good + ",\"\xC3(\":1}", data), HasSubstr("UTF-8"),
                     HasSubstr("byte " + std::to_string(8 + 1 + good.size() + 2)));
  for (const char *bad : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80"})
    EXPECT_INPUT_ERROR(open("{" + good + ",\"" + bad + "\":1}", data), HasSubstr("UTF-8"));
  EXPECT_NO_THROW(open("{" + good + ",\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\":" +
                           entry("F32", "[0]", "[8,8]") + "}",
                       data));
  EXPECT_INPUT_ERROR(open("{\"a\\n\":" + entry("F32", "[2]", "[0,8]") + "}", data),
                     HasSubstr("control character"));
  EXPECT_INPUT_ERROR(open("{" + good + ",\"__metadata__\":{\"k\":1}}", data),
                     HasSubstr("__metadata__"), HasSubstr("\"k\""));
  EXPECT_INPUT_ERROR(open("{" + good + ",\"__metadata__\":[]}", data), HasSubstr("__metadata__"));
  std::string deep(100000, '[');
  EXPECT_INPUT_ERROR(open("{" + good + ",\"b\":" + deep, data), HasSubstr("128"));
  // Memory is bounded although each value takes two bytes of text.
  std::string many(10'000'000, '0');
  for (size_t i = 1; i < many.size(); i += 2)
    many[i] = ',';
  EXPECT_INPUT_ERROR(open("{\"a\":[" + many, data), HasSubstr("4194304"));
  for (const char *offsets : {"[-8,0]", "[0,1e1]", "[0,18446744073709551616]", "[0]", "[0,8,8]",
                              "[9223372036854775800,9223372036854775807]"})
    EXPECT_INPUT_ERROR(open("{\"a\":" + entry("F32", "[2]", offsets) + "}", data),
                       HasSubstr("'a'"), HasSubstr("data_offsets"));
}

TEST_F(Safetensors, RefusesBadLayouts) {
  std::string two = "{\"a\":" + entry("F32", "[2]", "[0,8]") + ",\"b\":";
  EXPECT_INPUT_ERROR(open(two + entry("F32", "[2]", "[4,12]") + "}", std::string(12, 0)),
                     HasSubstr("'a'"), HasSubstr("'b'"), HasSubstr("offset"));
  EXPECT_INPUT_ERROR(open(two + entry("F32", "[2]", "[8,16]") + "}", std::string(15, 0)),
                     HasSubstr("model.safetensors"), HasSubstr("cut"));
  EXPECT_INPUT_ERROR(open(two + entry("F32", "[2]", "[8,16]") + ",\"a\":1}", std::string(16, 0)),
                     HasSubstr("twice"));
  // Unnamed bytes wait until the tensors have been compared with the model.
  auto gap = open(two + entry("F32", "[2]", "[12,20]") + "}", std::string(20, 0));
  EXPECT_INPUT_ERROR(gap->throwDeferredFaults(), HasSubstr("4 bytes"), HasSubstr("'b'"));
  auto behind = open(two + entry("F32", "[2]", "[8,16]") + "}", std::string(17, 0));
  EXPECT_INPUT_ERROR(behind->throwDeferredFaults(), HasSubstr("1 bytes"));
}

TEST_F(Safetensors, NoticesAFileThatChanged) {
  auto checkpoint = open("{\"a\":" + entry("F32", "[2]", "[0,8]") + "}", std::string(8, 0));
  folder.write("model.safetensors", "short");
  EXPECT_INPUT_ERROR(checkpoint->data(checkpoint->tensors()[0]), HasSubstr("changed"));
}

TEST_F(Safetensors, ReadsShardsThroughTheIndex) {
  folder.write("m-1.safetensors", zeroSafetensors({{"a", {2}}}));
  folder.write("m-2.safetensors", zeroSafetensors({{"b", {3}}, {"c", {1}}}));
  auto index = [&](const std::string &map) {
    folder.write("model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
    return openSafetensorsFolder(folder.path());
  };
  std::string good = "\"a\":\"m-1.safetensors\",\"b\":\"m-2.safetensors\"";
  auto checkpoint = index(good + ",\"c\":\"m-2.safetensors\"");
  EXPECT_EQ(checkpoint->tensors().size(), 3u);
  EXPECT_EQ(checkpoint->files().size(), 2u);
  EXPECT_INPUT_ERROR(index(good), HasSubstr("'c'"), HasSubstr("weight_map"));
  EXPECT_INPUT_ERROR(index(good + ",\"c\":\"m-1.safetensors\""), HasSubstr("'c'"));
  EXPECT_INPUT_ERROR(index(good + ",\"c\":\"m-2.safetensors\",\"d\":\"m-2.safetensors\""),
                     HasSubstr("'d'"));
  EXPECT_INPUT_ERROR(index(good + ",\"c\":\"m-3.safetensors\""), HasSubstr("m-3.safetensors"),
                     HasSubstr("missing"));
  EXPECT_INPUT_ERROR(index(good + ",\"c\":\"../m-2.safetensors\""), HasSubstr("no file name"));
  folder.write("m-2.safetensors", zeroSafetensors({{"b", {3}}, {"a", {2}}}));
  EXPECT_INPUT_ERROR(index(good), HasSubstr("'a'"), HasSubstr("m-1.safetensors"),
                     HasSubstr("m-2.safetensors"));
}

TEST_F(Safetensors, IndexAloneGivesNames) {
  folder.write("model.safetensors.index.json", "{\"weight_map\":{\"a\":\"m-1.safetensors\"}}");
  auto checkpoint = openSafetensorsFolder(folder.path());
  ASSERT_EQ(checkpoint->tensors().size(), 1u);
  EXPECT_FALSE(checkpoint->hasShapes());
  EXPECT_FALSE(checkpoint->tensors()[0].shapeKnown);
  EXPECT_INPUT_ERROR(checkpoint->values(checkpoint->tensors()[0]), HasSubstr("'a'"));
}

TEST_F(Safetensors, FolderWithoutWeights) {
  EXPECT_EQ(openSafetensorsFolder(folder.path()), nullptr);
}

TEST_F(Safetensors, EmptyTensorsTakeNoBytes) {
  auto checkpoint = open("{\"a\":" + entry("F32", "[0,4]", "[0,0]") + "}", "");
  EXPECT_TRUE(checkpoint->hasData());
  EXPECT_TRUE(checkpoint->values(*checkpoint->find("a")).empty());
}

// What the system cannot have as a name is no file, and no fault of llmc's.
TEST(SafetensorsIndex, NamesThatNoFileHas) {
  TempFolder folder;
  auto open = [&](const std::string &shard) {
    folder.write("model.safetensors.index.json", "{\"weight_map\": {\"a\": \"" + shard + "\"}}");
    return openSafetensorsFolder(folder.path());
  };
  EXPECT_FALSE(open(std::string(5000, 'x'))->hasData());
  EXPECT_FALSE(open("\\u00ff\\u0001.safetensors")->hasData());
  EXPECT_INPUT_ERROR(open("a\\u0000b"), HasSubstr("no file name"));
  EXPECT_INPUT_ERROR(open("../a"), HasSubstr("no file name"));
  EXPECT_INPUT_ERROR(openSafetensorsFolder(folder.path("missing")), HasSubstr("cannot be listed"));
  EXPECT_INPUT_ERROR(openSafetensorsFolder(folder.path() + std::string(5000, 'x')),
                     HasSubstr("cannot be listed"));
}

TEST_F(Safetensors, SpoiledBytesNeverCrash) {
  std::string good = zeroSafetensors({{"a", {2, 3}}, {"b", {4}}, {"c", {1}}});
  uint64_t random = 0x9E3779B97F4A7C15;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = good;
    for (int change = 0; change < 3; ++change) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      bytes[(random >> 33) % bytes.size()] = char(random >> 24);
    }
    try {
      auto checkpoint = openSafetensors(folder.write("model.safetensors", bytes));
      // What is accepted can be read to its last byte.
      for (const CheckpointTensor &tensor : checkpoint->tensors())
        if (checkpoint->hasData() && tensor.format->readable) {
          EXPECT_EQ(checkpoint->values(tensor).size(), *elementCount(tensor.shape));
        }
    } catch (const InputError &error) {
      EXPECT_THAT(error.what(), HasSubstr("model.safetensors"));
    }
  }
}
