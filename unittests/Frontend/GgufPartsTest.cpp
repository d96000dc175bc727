//===- GgufPartsTest.cpp - models in several GGUF files --------------------===//
#include "GgufBuilder.h"
#include "llmc/Frontend/Gguf.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::HasSubstr;

namespace {

/// Three parts as gguf-split writes them: metadata in the first, tensors in the others.
class GgufParts : public testing::Test {
protected:
  GgufParts() {
    parts.resize(3);
    for (uint16_t i = 0; i < 3; ++i) {
      if (i)
        parts[i].pairs.clear();
      parts[i].add("split.no", 2, bytesOf(i));
      parts[i].add("split.count", 2, bytesOf<uint16_t>(3));
      parts[i].add("split.tensors.count", 5, bytesOf<int32_t>(2));
    }
    parts[0].add("x", 4, bytesOf<uint32_t>(7));
    for (int i = 1; i < 3; ++i) {
      parts[i].addTensor(i == 1 ? "a" : "b", {2}, 0, 0);
      parts[i].data = bytesOf(float(i)) + bytesOf(float(10 * i));
    }
  }
  static std::string name(int i) { return "m-0000" + std::to_string(i + 1) + "-of-00003.gguf"; }
  GgufFile open(int which = 0) {
    for (int i = 0; i < 3; ++i)
      if (i != absent)
        folder.write(name(i), parts[i].bytes());
    return openGguf(folder.path(name(which)));
  }
  /// Writes `value` over a pair of a part.
  void put(int part, const std::string &key, uint32_t type, const std::string &value) {
    std::erase_if(parts[part].pairs,
                  [&](const std::string &pair) { return pair.starts_with(text(key)); });
    parts[part].add(key, type, value);
  }

  std::vector<GgufBuilder> parts;
  int absent = -1;
  TempFolder folder;
};

} // namespace

TEST_F(GgufParts, AnyOfThemOpensAll) {
  for (int which : {0, 1, 2}) {
    GgufFile file = open(which);
    EXPECT_EQ(file.architecture, "llama");
    EXPECT_EQ(file.checkpoint->files().size(), 3u);
    EXPECT_EQ(file.checkpoint->values(*file.checkpoint->find("a")), (std::vector<float>{1, 10}));
    EXPECT_EQ(file.checkpoint->values(*file.checkpoint->find("b")), (std::vector<float>{2, 20}));
    EXPECT_EQ(file.metadata.find("x")->integer, 7);
    EXPECT_EQ(file.metadata.find("split.no"), nullptr);
  }
}

TEST_F(GgufParts, MissingOnesAreNamed) {
  absent = 1;
  EXPECT_INPUT_ERROR(open(2), HasSubstr(name(1)), HasSubstr("missing"), HasSubstr("3 parts"));
}

TEST_F(GgufParts, NamesMustSayTheSame) {
  open();
  EXPECT_INPUT_ERROR(openGguf(folder.write("model.gguf", parts[1].bytes())),
                     HasSubstr("part 2 of 3"),
                     HasSubstr("-00002-of-00003.gguf"), HasSubstr("concatenation"));
  put(1, "split.no", 2, bytesOf<uint16_t>(2));
  EXPECT_INPUT_ERROR(open(), HasSubstr(name(1)), HasSubstr("part 2, from 0"), HasSubstr("part 1"));
  put(1, "split.no", 2, bytesOf<uint16_t>(1));
  put(1, "split.count", 2, bytesOf<uint16_t>(4));
  EXPECT_INPUT_ERROR(open(), HasSubstr(name(1)), HasSubstr("of 4"), HasSubstr("of 3"));
  put(0, "split.no", 2, bytesOf<uint16_t>(3));
  EXPECT_INPUT_ERROR(open(), HasSubstr(name(0)), HasSubstr("part 3, from 0, of 3"));
  put(0, "split.count", 5, bytesOf<int32_t>(-3));
  EXPECT_INPUT_ERROR(open(), HasSubstr("negative"), HasSubstr("-3"));
}

TEST_F(GgufParts, CountsMustAgree) {
  for (int i = 0; i < 3; ++i)
    put(i, "split.tensors.count", 5, bytesOf<int32_t>(5));
  EXPECT_INPUT_ERROR(open(), HasSubstr("2 tensors"), HasSubstr("5"));
  put(2, "split.tensors.count", 5, bytesOf<int32_t>(2));
  EXPECT_INPUT_ERROR(open(), HasSubstr(name(2)), HasSubstr("is 2"), HasSubstr("5 in"));
}

TEST_F(GgufParts, PartsOfOneModel) {
  put(2, "general.architecture", 8, text("qwen2"));
  EXPECT_INPUT_ERROR(open(), HasSubstr(name(2)), HasSubstr("qwen2"), HasSubstr("llama"),
                     HasSubstr("different models"));
  put(2, "general.architecture", 8, text("llama"));
  EXPECT_NO_THROW(open());
  parts[2].infos.clear();
  parts[2].addTensor("a", {2}, 0, 0);
  EXPECT_INPUT_ERROR(open(), HasSubstr("'a'"), HasSubstr(name(1)), HasSubstr(name(2)));
}

TEST_F(GgufParts, TokenizersOfOneModel) {
  auto tokens = [](const std::string &one) {
    return bytesOf<uint32_t>(8) + bytesOf<uint64_t>(1) + text(one);
  };
  parts[0].add("tokenizer.ggml.tokens", 9, tokens("a"));
  parts[1].add("tokenizer.ggml.tokens", 9, tokens("b"));
  EXPECT_INPUT_ERROR(open(), HasSubstr(name(1)), HasSubstr("tokenizer"));
}

TEST_F(GgufParts, TheFirstHasTheArchitecture) {
  parts[0].pairs.erase(parts[0].pairs.begin());
  EXPECT_INPUT_ERROR(open(), HasSubstr(name(0)), HasSubstr("general.architecture"));
}

TEST_F(GgufParts, CutPartsAreHeadersOnly) {
  parts[1].data.clear();
  EXPECT_FALSE(open().checkpoint->hasData());
  parts[1].data = "abc";
  EXPECT_INPUT_ERROR(open(), HasSubstr(name(1)), HasSubstr("'a'"), HasSubstr("cut"));
}
