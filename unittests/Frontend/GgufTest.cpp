//===- GgufTest.cpp - good and hostile GGUF files -------------------------===//
#include "GgufBuilder.h"
#include "llmc/Frontend/Gguf.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::HasSubstr;

using Builder = GgufBuilder;

namespace {

class Gguf : public testing::Test {
protected:
  GgufFile open(const Builder &builder) { return openBytes(builder.bytes()); }
  GgufFile openBytes(const std::string &bytes) { return openGguf(folder.write("m.gguf", bytes)); }
  TempFolder folder;
};

} // namespace

TEST_F(Gguf, ReadsEveryValueType) {
  Builder builder;
  builder.add("u8", 0, bytesOf<uint8_t>(200));
  builder.add("i8", 1, bytesOf<int8_t>(-3));
  builder.add("u16", 2, bytesOf<uint16_t>(60000));
  builder.add("i16", 3, bytesOf<int16_t>(-300));
  builder.add("u32", 4, bytesOf<uint32_t>(4000000000u));
  builder.add("i32", 5, bytesOf<int32_t>(-5));
  builder.add("f32", 6, bytesOf(1e-5f));
  builder.add("bool", 7, bytesOf<uint8_t>(1));
  builder.add("list", 9,
              bytesOf<uint32_t>(5) + bytesOf<uint64_t>(2) + bytesOf<int32_t>(7) +
                  bytesOf<int32_t>(-8));
  builder.add("nested", 9,
              bytesOf<uint32_t>(9) + bytesOf<uint64_t>(1) + bytesOf<uint32_t>(8) +
                  bytesOf<uint64_t>(1) + text("x"));
  builder.add("u64", 10, bytesOf<uint64_t>(1ull << 40));
  builder.add("i64", 11, bytesOf<int64_t>(-(1ll << 40)));
  builder.add("f64", 12, bytesOf(0.25));
  GgufFile file = open(builder);
  EXPECT_EQ(file.architecture, "llama");
  const Json &data = file.metadata;
  EXPECT_EQ(data.find("u8")->integer, 200);
  EXPECT_EQ(data.find("i8")->integer, -3);
  EXPECT_EQ(data.find("u16")->integer, 60000);
  EXPECT_EQ(data.find("i16")->integer, -300);
  EXPECT_EQ(data.find("u32")->integer, 4000000000);
  EXPECT_EQ(data.find("i32")->integer, -5);
  // The decimal that was meant, not the nearest f32.
  EXPECT_EQ(data.find("f32")->number, 1e-5);
  EXPECT_TRUE(data.find("bool")->boolean);
  EXPECT_EQ(data.find("list")->dump(), "[7, -8]");
  EXPECT_EQ(data.find("nested")->dump(), "[[\"x\"]]");
  EXPECT_EQ(data.find("u64")->integer, 1ll << 40);
  EXPECT_EQ(data.find("i64")->integer, -(1ll << 40));
  EXPECT_EQ(data.find("f64")->number, 0.25);
}

TEST_F(Gguf, ReadsTensorsAndTokenizer) {
  Builder builder;
  builder.version = 2;
  builder.add("tokenizer.ggml.model", 8, text("gpt2"));
  builder.add("tokenizer.ggml.tokens", 9,
              bytesOf<uint32_t>(8) + bytesOf<uint64_t>(2) + text("a") + text("b"));
  builder.add("tokenizer.ggml.token_type", 9,
              bytesOf<uint32_t>(5) + bytesOf<uint64_t>(2) + bytesOf<int32_t>(1) +
                  bytesOf<int32_t>(3));
  builder.add("tokenizer.ggml.eos_token_id", 4, bytesOf<uint32_t>(1));
  builder.addTensor("w", {32, 2}, 8, 0); // q8_0, 68 bytes
  builder.addTensor("n", {3}, 0, 96);    // f32
  builder.data = std::string(96, '\0') + bytesOf(1.f) + bytesOf(2.f) + bytesOf(3.f);
  GgufFile file = open(builder);
  EXPECT_EQ(file.tokenizer.tokens, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(file.tokenizer.tokenTypes, (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(file.tokenizer.eosId, 1);
  EXPECT_EQ(file.metadata.find("tokenizer.ggml.tokens")->integer, 2);
  const CheckpointTensor *w = file.checkpoint->find("w");
  EXPECT_EQ(w->shape, (std::vector<int64_t>{2, 32}));
  EXPECT_EQ(w->format->name, "q8_0");
  EXPECT_EQ(w->byteSize, 68u);
  EXPECT_EQ(file.checkpoint->values(*file.checkpoint->find("n")), (std::vector<float>{1, 2, 3}));
  EXPECT_NO_THROW(file.checkpoint->throwDeferredFaults());
}

TEST_F(Gguf, LongListsAreNotKept) {
  // A value takes a hundred bytes: one megabyte of them is the bound for all lists together.
  auto list = [](uint64_t count) {
    return bytesOf<uint32_t>(0) + bytesOf(count) + std::string(count, '\1');
  };
  Builder builder;
  builder.add("a", 9, list(1 << 20));
  builder.add("b", 9, list(1));
  builder.add("c", 9, bytesOf<uint32_t>(8) + bytesOf<uint64_t>(2) + text("x") + text("yz"));
  builder.add("d", 9, list(0));
  builder.add("e", 4, bytesOf<uint32_t>(5));
  GgufFile file = open(builder);
  EXPECT_EQ(file.metadata.find("a")->items.size(), 1u << 20);
  EXPECT_EQ(file.metadata.find("b")->text, "<list of 1 values>");
  EXPECT_EQ(file.metadata.find("c")->text, "<list of 2 values>");
  EXPECT_EQ(file.metadata.find("d")->items.size(), 0u);
  EXPECT_EQ(file.metadata.find("e")->integer, 5);
  builder.add("n", 9, bytesOf<uint32_t>(9) + bytesOf<uint64_t>(1) + list(0));
  EXPECT_INPUT_ERROR(open(builder), HasSubstr("'n'"), HasSubstr("1048576"));
}

TEST_F(Gguf, ManyKeysTakeLinearTime) {
  Builder builder;
  for (int i = 0; i < 60000; ++i)
    builder.add("key" + std::to_string(i), 0, bytesOf<uint8_t>(1));
  EXPECT_EQ(open(builder).metadata.members.size(), 60001u);
}

TEST_F(Gguf, ListsFormatsItCannotRead) {
  Builder builder;
  builder.addTensor("w", {256}, 17, 0);
  builder.data = std::string(74, '\0');
  GgufFile file = open(builder);
  EXPECT_EQ(file.checkpoint->find("w")->format->name, "iq2_xs");
  EXPECT_INPUT_ERROR(file.checkpoint->values(*file.checkpoint->find("w")), HasSubstr("iq2_xs"),
                     HasSubstr("'w'"));
}

TEST_F(Gguf, RefusesPreambles) {
  EXPECT_INPUT_ERROR(openBytes("GGML"), HasSubstr("m.gguf"), HasSubstr("GGUF"));
  EXPECT_INPUT_ERROR(openBytes(""), HasSubstr("GGUF"));
  Builder builder;
  builder.version = 1;
  EXPECT_INPUT_ERROR(open(builder), HasSubstr("version 1"));
  builder.version = 0x03000000;
  EXPECT_INPUT_ERROR(open(builder), HasSubstr("big-endian"));
  builder.version = 3;
  builder.tensorCount = 1ull << 60;
  EXPECT_INPUT_ERROR(open(builder), HasSubstr("tensors"));
  builder.tensorCount.reset();
  builder.pairCount = 1ull << 60;
  EXPECT_INPUT_ERROR(open(builder), HasSubstr("metadata"));
}

TEST_F(Gguf, RefusesMetadata) {
  auto with = [&](const std::string &key, uint32_t type, const std::string &value) {
    Builder builder;
    builder.add(key, type, value);
    return builder;
  };
  EXPECT_INPUT_ERROR(open(with("k", 13, "")), HasSubstr("'k'"), HasSubstr("13"));
  EXPECT_INPUT_ERROR(open(with("k", 7, "\x02")), HasSubstr("'k'"), HasSubstr("2"));
  EXPECT_INPUT_ERROR(open(with("k", 8, bytesOf<uint64_t>(1ull << 62))), HasSubstr("'k'"));
  EXPECT_INPUT_ERROR(open(with("k", 9, bytesOf<uint32_t>(4) + bytesOf<uint64_t>(1ull << 61))),
                     HasSubstr("'k'"));
  EXPECT_INPUT_ERROR(open(with("general.architecture", 8, text("x"))), HasSubstr("twice"));
  EXPECT_INPUT_ERROR(open(with("general.alignment", 4, bytesOf<uint32_t>(12))),
                     HasSubstr("alignment"));
  EXPECT_INPUT_ERROR(open(with("a\nb", 4, bytesOf<uint32_t>(1))),
                     HasSubstr("control character 10"));
  EXPECT_INPUT_ERROR(open(with("tokenizer.ggml.tokens", 9,
                               bytesOf<uint32_t>(4) + bytesOf<uint64_t>(1) + bytesOf<uint32_t>(1))),
                     HasSubstr("tokens"));
  Builder none;
  none.pairs.clear();
  EXPECT_INPUT_ERROR(open(none), HasSubstr("general.architecture"));
}

TEST_F(Gguf, RefusesTensors) {
  auto with = [&](std::vector<uint64_t> dims, uint32_t type, uint64_t offset, size_t data) {
    Builder builder;
    builder.addTensor("w", std::move(dims), type, offset);
    builder.data = std::string(data, '\0');
    return builder;
  };
  EXPECT_INPUT_ERROR(open(with({4}, 99, 0, 16)), HasSubstr("'w'"), HasSubstr("99"));
  EXPECT_INPUT_ERROR(open(with({4}, 0, 4, 64)), HasSubstr("'w'"), HasSubstr("offset 4"));
  EXPECT_INPUT_ERROR(open(with({33, 32}, 3, 0, 4096)), HasSubstr("'w'"), HasSubstr("33"));
  EXPECT_INPUT_ERROR(open(with({1ull << 40, 1ull << 40}, 0, 0, 16)), HasSubstr("too large"));
  EXPECT_INPUT_ERROR(open(with({1, 1, 1, 1, 1}, 0, 0, 16)), HasSubstr("5 dimensions"));
  EXPECT_INPUT_ERROR(open(with({4}, 0, 0, 15)), HasSubstr("'w'"), HasSubstr("15"),
                     HasSubstr("cut"));
  EXPECT_INPUT_ERROR(open(with({4}, 0, ~0ull - 31, 16)), HasSubstr("'w'"));
  Builder unnamed;
  unnamed.addTensor("", {4}, 0, 0);
  unnamed.data = std::string(16, '\0');
  EXPECT_INPUT_ERROR(open(unnamed), HasSubstr("0 bytes"));
  Builder overlap = with({16}, 0, 0, 128);
  overlap.addTensor("v", {16}, 0, 32);
  EXPECT_INPUT_ERROR(open(overlap), HasSubstr("'v'"), HasSubstr("'w'"));
  Builder twice = with({8}, 0, 0, 64);
  twice.addTensor("w", {8}, 0, 32);
  EXPECT_INPUT_ERROR(open(twice), HasSubstr("'w'"));
}

TEST_F(Gguf, EveryPrefixIsRefusedOrHeaderOnly) {
  Builder builder;
  builder.add("k", 8, text("value"));
  builder.addTensor("w", {4}, 0, 0);
  builder.data = std::string(16, '\1');
  std::string bytes = builder.bytes();
  size_t header = bytes.size() - 16;
  for (size_t size = 0; size < bytes.size(); ++size) {
    try {
      GgufFile file = openBytes(bytes.substr(0, size));
      EXPECT_FALSE(file.checkpoint->hasData()) << size;
      EXPECT_LE(size, header);
    } catch (const InputError &error) {
      EXPECT_THAT(error.what(), HasSubstr("m.gguf"));
    }
  }
}

TEST_F(Gguf, SpoiledBytesNeverCrash) {
  Builder builder;
  builder.add("tokenizer.ggml.tokens", 9,
              bytesOf<uint32_t>(8) + bytesOf<uint64_t>(2) + text("a") + text("b"));
  builder.add("list", 9, bytesOf<uint32_t>(5) + bytesOf<uint64_t>(1) + bytesOf<int32_t>(7));
  builder.addTensor("w", {32, 2}, 2, 0);
  builder.addTensor("v", {4}, 0, 64);
  builder.data = std::string(96, '\0');
  std::string good = builder.bytes();
  uint64_t random = 0x9E3779B97F4A7C15;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = good;
    for (int change = 0; change < 3; ++change) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      bytes[(random >> 33) % bytes.size()] = char(random >> 24);
    }
    try {
      GgufFile file = openBytes(bytes);
      for (const CheckpointTensor &tensor : file.checkpoint->tensors())
        if (file.checkpoint->hasData() && tensor.format->readable) {
          EXPECT_EQ(file.checkpoint->values(tensor).size(), *elementCount(tensor.shape));
        }
    } catch (const InputError &error) {
      EXPECT_THAT(error.what(), HasSubstr("m.gguf"));
    }
  }
}
