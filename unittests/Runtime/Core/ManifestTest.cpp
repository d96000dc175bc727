//===- ManifestTest.cpp - what the manifest reader takes and refuses ------===//

#include "TinyArtifact.h"

#include "llmc/Support/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using nlohmann::json;
namespace fs = std::filesystem;

namespace llmc::rt::test {
namespace {

/// A manifest that needs no files.
json standalone() {
  json manifest = tinyManifest();
  std::string hash(64, 'a');
  manifest["files"] = {{{"path", "kernels.so"}, {"bytes", 1}, {"sha256", hash}},
                       {{"path", "weights.bin"}, {"bytes", 704}, {"sha256", hash}}};
  manifest["arenas"][0]["file"] = "weights.bin";
  return manifest;
}

std::string refusal(const std::string &text) {
  try {
    parseManifest(text);
  } catch (const InputError &error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(Manifest, ReadsEveryField) {
  Manifest m = parseManifest(standalone().dump());
  EXPECT_EQ(m.model.vocabSize, 16);
  EXPECT_EQ(m.limits.maxOutputs, 16);
  EXPECT_EQ(m.arenas[1].size.blocks, 384);
  EXPECT_EQ(m.slices[1].liveFirst, 3);
  EXPECT_EQ(m.weights[1].layers.count(), 3);
  EXPECT_EQ(m.states[0].bytesPerBlock, 128);
  EXPECT_EQ(m.variants[0].requires_[0], "no-such-feature");
  const Entry &entry = m.entries.front();
  ASSERT_EQ(entry.steps.size(), 4u);
  EXPECT_EQ(entry.steps[2].kind, StepKind::Repeat);
  EXPECT_EQ(entry.steps[2].steps[1].operands[0].index, 1);
  EXPECT_EQ(entry.steps[3].items.factor, 4);
  EXPECT_TRUE(m.hasWeights());
}

TEST(Manifest, ReadsStatesOfSequences) {
  json manifest = standalone();
  EXPECT_FALSE(parseManifest(manifest.dump()).hasSequenceState());
  makeRecurrent(manifest);
  manifest["states"][1]["kind"] = "conv";
  Manifest m = parseManifest(manifest.dump());
  EXPECT_TRUE(m.hasSequenceState());
  EXPECT_EQ(m.states[1].kind, "conv");
  EXPECT_EQ(m.states[1].memberSize(), Size{.sequences = 64});
  EXPECT_EQ(m.states[0].memberSize(), Size{.blocks = 128});
}

TEST(Manifest, TakesConstantsAndZerosAsSources) {
  json manifest = standalone();
  manifest["weights"][0]["sources"] = {{{"zeros", true}, {"name", "pad"}, {"rows", 14}},
                                       {{"values", {0.5, -3}}, {"rows", 2}}};
  Manifest m = parseManifest(manifest.dump());
  EXPECT_TRUE(m.weights[0].sources[0].zeros);
  EXPECT_EQ(m.weights[0].sources[1].values, (std::vector<float>{0.5f, -3.0f}));
}

TEST(Manifest, KnowsWhatWasAccepted) {
  json manifest = standalone();
  std::string digest = "sha256 " + std::string(64, 'b');
  manifest["accepted"] = {{{"key", "op-library dyt.mlir"}, {"value", digest}},
                          {{"key", "user-kernel fast"}, {"value", "fast 2.o " + digest}},
                          {{"key", "rope.scaling"}, {"value", ""}}};
  Manifest m = parseManifest(manifest.dump());
  ASSERT_EQ(m.accepted.size(), 3u);
  EXPECT_EQ(m.accepted[0].value, digest);
}

TEST(Manifest, SizesAndItems) {
  Size size{1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(size.evaluate({10, 20, 30, 40, 50, 60}), 1 + 20 + 60 + 120 + 200 + 300 + 420);
  size.blocks = int64_t(1) << 52;
  EXPECT_FALSE(size.evaluate({1, 1, 1, int64_t(1) << 30, 1}));
  Items items{3, Axis::Tokens, 8, 1};
  EXPECT_EQ(items.evaluate({17, 0, 0, 0, 0}), 10);
  EXPECT_EQ(items.evaluate({0, 0, 0, 0, 0}), 1);
  LayerSet set{{{0, 2}, {5, 7}}};
  EXPECT_EQ(set.count(), 4);
  EXPECT_EQ(set.member(6), 3);
  EXPECT_FALSE(set.member(3));
}

struct Mutation {
  const char *label;
  std::function<void(json &)> change;
  const char *message;
};

json &step(json &m, int index) { return m["entries"][0]["steps"][size_t(index)]; }
json &body(json &m, int index) { return step(m, 2)["repeat"]["steps"][size_t(index)]; }

const std::string digest = "sha256 " + std::string(64, 'b');
void accept(json &m, const std::string &key, const std::string &value) {
  m["accepted"] = {{{"key", key}, {"value", value}}};
}

const Mutation mutations[] = {
    {"format", [](json &m) { m["format"] = "other"; }, "format: is 'other'"},
    {"major",
     [](json &m) {
       m["version"] = {5, 0};
     },
     "version: is 5.0, this llmc reads 4.0"},
    {"minor",
     [](json &m) {
       m["version"] = {2, 7};
     },
     "version: is 2.7"},
    {"versionPair", [](json &m) { m["version"] = 1; }, "version: is a number instead of a list"},
    {"unknownTop", [](json &m) { m["extra"] = 1; }, "extra: is not a field"},
    {"unknownDeep", [](json &m) { m["slices"][1]["colour"] = 1; }, "slices[1].colour: is not a"},
    {"unknownInStep", [](json &m) { body(m, 1)["launch"]["fast"] = true; },
     "entries[0].steps[2].repeat.steps[1].launch.fast"},
    {"missing", [](json &m) { m["model"].erase("vocab_size"); }, "model.vocab_size: is missing"},
    {"fraction", [](json &m) { m["limits"]["blocks"] = 1.5; }, "limits.blocks: is a number with"},
    {"negative", [](json &m) { m["slices"][0]["offset"] = -64; }, "slices[0].offset: is -64"},
    {"huge", [](json &m) { m["slices"][0]["offset"] = uint64_t(1) << 63; }, "more than 2^53"},
    {"text", [](json &m) { m["model"]["name"] = 3; }, "model.name: is a number instead"},
    {"vocab32", [](json &m) { m["model"]["vocab_size"] = int64_t(1) << 40; }, "32 bits"},
    {"outputs", [](json &m) { m["limits"]["max_outputs"] = 17; }, "limits.max_outputs: is more"},
    {"acceptedKey", [](json &m) { accept(m, "", "x"); }, "accepted[0].key: is empty"},
    {"acceptedNothing", [](json &m) { accept(m, "op-library ", digest); },
     "accepted[0].key: 'op-library ' names nothing"},
    {"libraryHash", [](json &m) { accept(m, "op-library a.mlir", "sha256 12"); },
     "accepted[0].value: 'sha256 12' of 'op-library a.mlir' is not"},
    {"libraryText", [](json &m) { accept(m, "op-library a.mlir", "b " + digest); },
     "accepted[0].value"},
    {"kernelObject", [](json &m) { accept(m, "user-kernel k", digest); },
     "is not 'OBJECT sha256 ' and 64 lower-case hexadecimal digits"},
    {"kernelHash", [](json &m) { accept(m, "user-kernel k", "k.o " + digest + "0"); },
     "accepted[0].value"},
    {"lengths", [](json &m) { m["recompute_beyond"] = {8, 8}; },
     "recompute_beyond: has 8 behind 8; lengths ascend"},
    {"noLength", [](json &m) { m["recompute_beyond"] = {0}; }, "recompute_beyond[0]: is 0"},
    {"absolute", [](json &m) { m["files"][0]["path"] = "/etc/passwd"; }, "not a relative path"},
    {"upwards", [](json &m) { m["files"][0]["path"] = "a/../../b"; }, "does not stay inside"},
    {"emptyPart", [](json &m) { m["files"][0]["path"] = "a//b"; }, "does not stay inside"},
    {"hash", [](json &m) { m["files"][0]["sha256"] = "AB"; }, "files[0].sha256"},
    {"fileTwice", [](json &m) { m["files"][1]["path"] = "kernels.so"; }, "stands twice"},
    {"noKernels", [](json &m) { m["files"][0]["path"] = "k.so"; }, "kernels: 'kernels.so' is not"},
    {"fileSize", [](json &m) { m["files"][1]["bytes"] = 705; }, "arenas[0].size: is 704 bytes"},
    {"fileUnlisted", [](json &m) { m["arenas"][0]["file"] = "w"; }, "'w' is not in the list"},
    {"stateFile", [](json &m) { m["arenas"][1]["file"] = "w"; }, "only an arena of kind weights"},
    {"arenaKind", [](json &m) { m["arenas"][1]["kind"] = "stack"; }, "arenas[1].kind: is 'stack'"},
    {"arenaTwice", [](json &m) { m["arenas"][1]["name"] = "weights"; }, "stands twice"},
    {"arenaHuge", [](json &m) { m["arenas"][1]["size"]["blocks"] = int64_t(1) << 53; },
     "arenas[1].size: is more than 2^53"},
    {"workspaceSmall", [](json &m) { m["kernels"][2]["scratch"] = 129; }, "needs 129"},
    {"noWorkspace", [](json &m) { m["arenas"].erase(3); }, "no arena is a workspace"},
    {"sliceArena", [](json &m) { m["slices"][0]["arena"] = "nowhere"; }, "no arena is called"},
    {"sliceInState", [](json &m) { m["slices"][0]["arena"] = "state"; }, "holds state"},
    {"sliceAlign", [](json &m) { m["slices"][1]["offset"] = 520; }, "not a multiple of 64"},
    {"sliceEnd", [](json &m) { m["slices"][2]["offset"] = 2048; }, "reaches to byte 3072"},
    {"overlap", [](json &m) { m["slices"][1]["offset"] = 448; }, "'y' overlaps 'x'"},
    {"livePair",
     [](json &m) {
       m["slices"][1]["live"] = {5, 3};
     },
     "slices[1].live"},
    {"liveEnd",
     [](json &m) {
       m["slices"][2]["live"] = {7, 9};
     },
     "goes to step 9, there are 8"},
    {"deadUse",
     [](json &m) {
       m["slices"][1]["live"] = {3, 4};
     },
     "uses the slice 'y'"},
    {"backEdge",
     [](json &m) {
       m["slices"][0]["live"] = {0, 5};
     },
     "slice 'x'"},
    {"readFirst", [](json &m) { body(m, 1)["launch"]["operands"][2]["access"] = "read"; },
     "before anything wrote it"},
    {"receivedLate",
     [](json &m) {
       m["arenas"][2]["kind"] = "communication";
       body(m, 1)["launch"]["operands"][2]["access"] = "read";
     },
     "before anything wrote it"},
    {"weightArena", [](json &m) { m["weights"][0]["arena"] = "state"; }, "weights[0].arena"},
    {"weightEnd", [](json &m) { m["weights"][1]["base"] = 576; }, "reach past the 704"},
    {"weightOverflow", [](json &m) { m["weights"][1]["stride"] = int64_t(1) << 52; }, "reach past"},
    {"weightStride", [](json &m) { m["weights"][1]["stride"] = 0; }, "weights[1].stride: is 0"},
    {"weightSmall", [](json &m) { m["weights"][0]["bytes"] = 448; }, "takes 512"},
    {"weightSource", [](json &m) { m["weights"][0]["sources"] = json::array(); },
     "weights[0].sources: is empty"},
    {"weightMatrices", [](json &m) { m["weights"][0]["matrices"] = 3; },
     "weights[0].matrices: is 3"},
    {"weightMatrixSmall", [](json &m) { m["weights"][0]["matrices"] = 2; }, "takes 512 a matrix"},
    {"weightView",
     [](json &m) {
       m["weights"][0]["sources"][0]["view"] = {
           {"stored", {4, 4}}, {"first", 0}, {"strides", {4, 1}}};
     },
     "lead beyond the end of the tensor"},
    {"weightViewStrides",
     [](json &m) {
       m["weights"][0]["sources"][0]["view"] = {
           {"stored", {4096}}, {"first", 0}, {"strides", {1}}};
     },
     "strides: are 1, the weight needs 3"},
    {"weightViewTransposed",
     [](json &m) {
       m["weights"][0]["sources"][0]["transposed"] = true;
       m["weights"][0]["sources"][0]["view"] = {
           {"stored", {4096}}, {"first", 0}, {"strides", {16, 1}}};
     },
     "stands beside a range of rows or transposed"},
    {"weightRows", [](json &m) { m["weights"][0]["sources"][0]["rows"] = 4; }, "give 4 rows"},
    {"weightValues",
     [](json &m) {
       m["weights"][1]["sources"] = {{{"values", {1.0, 2.0}}, {"rows", 1}}};
     },
     "sources[0].values: are 2 numbers"},
    {"weightZeros",
     [](json &m) {
       m["weights"][1]["sources"] = {{{"zeros", false}, {"rows", 1}}};
     },
     "sources[0].tensor: is missing"},
    {"weightLayers",
     [](json &m) {
       m["weights"][1]["layers"] = {{0, 4}};
     },
     "goes to layer 3"},
    {"layerOrder",
     [](json &m) {
       m["weights"][1]["layers"] = {{1, 3}, {0, 1}};
     },
     "weights[1].layers[1]"},
    {"stateArena", [](json &m) { m["states"][0]["arena"] = "workspace"; }, "holds workspace"},
    {"stateFit", [](json &m) { m["arenas"][1]["size"]["blocks"] = 383; },
     "states[0]: does not fit"},
    {"stateBlock", [](json &m) { m["states"][0]["heads"] = 2; }, "states[0].bytes_per_block"},
    {"stateKind", [](json &m) { m["states"][0]["kind"] = "ring"; }, "states[0].kind: is 'ring'"},
    {"noVariants", [](json &m) { m["variants"] = json::array(); }, "no kernel has a symbol"},
    {"noSymbol", [](json &m) { m["kernels"][0]["symbol"] = ""; }, "kernels[0].symbol"},
    {"othersSymbol", [](json &m) { m["kernels"][0]["symbol"] = m["kernels"][1]["name"]; },
     "kernels[0].symbol: is that of the kernel 'append'; this one is 'embed'"},
    {"kernelName", [](json &m) { step(m, 0)["launch"]["kernel"] = "nope"; }, "no kernel is called"},
    {"operandTwo", [](json &m) { step(m, 0)["launch"]["operands"][0]["slice"] = "x"; },
     "exactly one of"},
    {"weightWrite", [](json &m) { step(m, 0)["launch"]["operands"][0]["access"] = "readwrite"; },
     "weights are only read"},
    {"layerOutside", [](json &m) { step(m, 0)["launch"]["operands"][0]["layer"] = 0; },
     "only legal inside a repeat"},
    {"layerMissing", [](json &m) { body(m, 1)["launch"]["operands"][0].erase("layer"); },
     "is missing: 'scale' has layers"},
    {"layerPast", [](json &m) { body(m, 1)["launch"]["operands"][0]["layer"] = 1; },
     "iteration 2 uses 'scale' of layer 3"},
    {"repeatPast", [](json &m) { step(m, 2)["repeat"]["count"] = 4; }, "goes past the 3 layers"},
    {"repeatHuge", [](json &m) { step(m, 2)["repeat"]["count"] = int64_t(1) << 50; },
     "goes past the 3 layers"},
    {"repeatNested",
     [](json &m) {
       body(m, 0) = {{"repeat", {{"from", 0}, {"count", 1}, {"period", 1}}}};
     },
     "repeats do not nest"},
    {"stepKind", [](json &m) { step(m, 0) = json::object(); }, "a step is one of"},
    {"observeLayer", [](json &m) { step(m, 1)["observe"]["name"] = "h.{i}"; }, "speaks of a layer"},
    {"observeWide", [](json &m) { step(m, 1)["observe"]["width"] = 9; }, "do not fit in the 512"},
    {"observeHeads", [](json &m) { step(m, 1)["observe"]["heads"] = 3; },
     "3 heads do not divide the width of 8"},
    {"fixedBeside", [](json &m) { body(m, 1)["launch"]["operands"][0]["fixed"] = 1; },
     "names a layer beside 'layer'"},
    {"fixedPast",
     [](json &m) {
       body(m, 1)["launch"]["operands"][0].erase("layer");
       body(m, 1)["launch"]["operands"][0]["fixed"] = 3;
     },
     "'scale' has no layer 3"},
    {"fixedSlice", [](json &m) { step(m, 0)["launch"]["operands"][1]["fixed"] = 0; },
     "a slice has no layers"},
    {"group", [](json &m) { m["ranks"]["groups"][0]["name"] = "b"; }, "no group of ranks"},
    {"groupRank", [](json &m) { m["ranks"]["groups"][0]["ranks"] = {1}; }, "ranks.groups[0].ranks"},
    {"count", [](json &m) { body(m, 2)["collective"]["count"]["tokens"] = 9; },
     "is more than the slice 'y' holds"},
    {"element", [](json &m) { body(m, 2)["collective"]["element"] = "f16"; }, "f32 elements only"},
    {"rankFile", [](json &m) { m["ranks"]["count"] = 2; }, "rank_files"},
    {"output", [](json &m) { m["entries"][0]["outputs"][0]["width"] = 17; }, "do not fit"},
    {"outputDead", [](json &m) { m["entries"][0]["outputs"][0]["slice"] = "y"; }, "not live"},
    {"noEntry", [](json &m) { m["entries"] = json::array(); }, "entries: is empty"},
    {"tokenizer",
     [](json &m) {
       m["tokenizer"] = {{"file", "t.json"}};
     },
     "tokenizer.file"},
    {"items", [](json &m) { step(m, 0)["launch"]["items"]["factor"] = int64_t(1) << 52; },
     "items: is more than 2^53"},
    {"digest", [](json &m) { m["digest"] = "12"; }, "digest: is not a text of 64"},
    {"noDigest", [](json &m) { m.erase("digest"); }, "digest: is missing"},
    {"noContract", [](json &m) { m["kernels"][1]["contracts"] = json::array(); },
     "kernels[1].contracts: are 0"},
    {"otherItems", [](json &m) { step(m, 0)["launch"]["items"]["factor"] = 2; },
     "entries[0].steps[0].launch: is no launch that the kernel 'embed' was made for: items"},
    {"otherKernel", [](json &m) { step(m, 0)["launch"]["kernel"] = "head"; },
     "was made for: items are not those"},
    {"operandLess", [](json &m) { body(m, 1)["launch"]["operands"].erase(0); },
     "gives 2 operands, the kernel takes 3"},
    {"operandAccess",
     [](json &m) { body(m, 0)["launch"]["operands"][0]["access"] = "readwrite"; },
     "operand 0, 'x', is of another kind or access"},
    {"smallSlice", [](json &m) { m["slices"][1]["size"]["tokens"] = 31; },
     "operand 2, 'y', has 496 bytes, the kernel needs 512"},
    {"smallWeights",
     [](json &m) {
       m["kernels"][2]["contracts"][0]["operands"][0]["bytes"]["const"] = 65;
     },
     "operand 0, 'scale', has 64 bytes, the kernel needs 65"},
    {"otherBlock", [](json &m) { m["states"][0]["bytes_per_block"] = 192; },
     "states[0]: does not fit"},
    {"otherBlockThatFits",
     [](json &m) {
       m["states"][0]["bytes_per_block"] = 192;
       m["arenas"][1]["size"]["blocks"] = 576;
     },
     "operand 1, 'keys', has blocks of 192 bytes, the kernel's has blocks of 128 bytes"},
    {"slotFit",
     [](json &m) {
       makeRecurrent(m);
       m["arenas"][1]["size"]["sequences"] = 191;
     },
     "states[1]: does not fit in the 13052 bytes of the arena 'state' with 32 blocks and 4"},
    {"slotSmall",
     [](json &m) {
       makeRecurrent(m);
       m["states"][1]["key_width"] = 3;
     },
     "states[1].bytes_per_sequence: is 64, less than heads x key_width x value_width"},
    {"slotHuge",
     [](json &m) {
       makeRecurrent(m);
       m["states"][1]["key_width"] = m["states"][1]["heads"] = int64_t(1) << 40;
     },
     "states[1].bytes_per_sequence: is 64, less than"},
    {"slotUnaligned",
     [](json &m) {
       makeRecurrent(m);
       m["states"][1]["bytes_per_sequence"] = 80;
     },
     "states[1].bytes_per_sequence"},
    {"slotOfBlocks",
     [](json &m) {
       makeRecurrent(m);
       m["states"][1]["bytes_per_block"] = 64;
     },
     "states[1].bytes_per_block"},
    {"slotNoBytes",
     [](json &m) {
       makeRecurrent(m);
       m["states"][1].erase("bytes_per_sequence");
     },
     "states[1].bytes_per_sequence"},
    {"otherSlot",
     [](json &m) {
       makeRecurrent(m);
       m["kernels"][1]["contracts"][0]["operands"][2]["bytes"]["sequences"] = 128;
     },
     "operand 2, 'sum', has slots of 64 bytes, the kernel's has slots of 128 bytes"},
    {"slotForBlock",
     [](json &m) {
       makeRecurrent(m);
       body(m, 0)["launch"]["operands"][2]["state"] = "keys";
     },
     "operand 2, 'keys', has blocks of 128 bytes, the kernel's has slots of 64 bytes"},
    {"moreTokenIds", [](json &m) { m["model"]["vocab_size"] = 17; },
     "kernels[0].tokens_below: is 16, model.vocab_size is 17"},
    {"morePositions", [](json &m) { m["kernels"][0]["positions_below"] = 47; },
     "kernels[0].positions_below: is 47, limits.max_context is 48"},
    {"tile", [](json &m) { step(m, 0)["launch"]["items"]["tile"] = 0; }, "tile: is 0, less than 1"},
};

class Refused : public testing::TestWithParam<Mutation> {};

TEST_P(Refused, NamesTheField) {
  json manifest = standalone();
  GetParam().change(manifest);
  EXPECT_THAT(refusal(manifest.dump()), testing::HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Manifest, Refused, testing::ValuesIn(mutations),
                         [](const auto &info) { return std::string(info.param.label); });

TEST(Manifest, TakesRowsThatOthersSent) {
  json manifest = standalone();
  manifest["arenas"][2]["kind"] = "communication";
  body(manifest, 1)["launch"]["operands"][2]["access"] = "read";
  manifest["kernels"][2]["contracts"][0]["operands"][2]["access"] = "read";
  manifest["slices"][1]["live"] = {0, 7};
  EXPECT_NO_THROW(parseManifest(manifest.dump()));
}

TEST(Manifest, RefusesTextThatReadersMerge) {
  EXPECT_THAT(refusal(R"({"format": "a", "format": "b"})"), testing::HasSubstr("stands twice"));
  EXPECT_THAT(refusal("{"), testing::HasSubstr("no JSON"));
  EXPECT_THAT(refusal("{} {}"), testing::HasSubstr("no JSON"));
  EXPECT_THAT(refusal("[]"), testing::HasSubstr("instead of an object"));
  EXPECT_THAT(refusal(std::string(100000, '[')), testing::HasSubstr("nested deeper"));
}

TEST(Manifest, TruncationIsNeverAccepted) {
  std::string text = standalone().dump();
  for (size_t length = 0; length < text.size(); length += 13)
    EXPECT_NE(refusal(text.substr(0, length)), "(accepted)");
}

TEST(Manifest, SealCoversEveryByte) {
  std::string sealed = sealManifest(standalone().dump());
  EXPECT_NO_THROW(parseManifest(sealed, "m", Seal::Checked));
  EXPECT_EQ(sealManifest(sealed), sealed);
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string altered = sealed;
    altered[i] ^= 1;
    EXPECT_THROW(parseManifest(altered, "m", Seal::Checked), InputError) << "byte " << i;
  }
  // Space that means nothing is covered too.
  EXPECT_THROW(parseManifest(sealed + " ", "m", Seal::Checked), InputError);
}

std::string folderRefusal(const fs::path &folder, bool hashes = false) {
  try {
    readManifest(folder, {hashes});
  } catch (const InputError &error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(ArtifactFolder, ChecksFiles) {
  TemporaryFolder folder;
  const fs::path &dir = folder.path();
  EXPECT_THAT(folderRefusal(dir), testing::HasSubstr("manifest.json: is missing"));
  EXPECT_THAT(folderRefusal(dir / "none"), testing::HasSubstr("is not a folder"));
  writeTiny(dir);
  EXPECT_EQ(folderRefusal(dir, true), "(accepted)");

  fs::resize_file(dir / "weights.bin", 703);
  EXPECT_THAT(folderRefusal(dir), testing::HasSubstr("weights.bin: has 703 bytes"));
  writeFile(dir / "weights.bin", std::string(704, 'x'));
  EXPECT_EQ(folderRefusal(dir), "(accepted)");
  EXPECT_THAT(folderRefusal(dir, true), testing::HasSubstr("weights.bin: SHA-256 is"));

  fs::rename(dir / "weights.bin", dir / "elsewhere");
  EXPECT_THAT(folderRefusal(dir), testing::HasSubstr("weights.bin: is missing"));
  fs::create_symlink(dir / "elsewhere", dir / "weights.bin");
  EXPECT_THAT(folderRefusal(dir), testing::HasSubstr("is a symbolic link"));
  fs::remove(dir / "weights.bin");
  fs::create_directory(dir / "weights.bin");
  EXPECT_THAT(folderRefusal(dir), testing::HasSubstr("is not a plain file"));
}

TEST(ArtifactFolder, RefusesAFolderThatIsALink) {
  TemporaryFolder folder, other;
  writeTiny(folder.path(), 1, [](json &m) {
    m["files"].push_back({{"path", "sub/f"}, {"bytes", 1}, {"sha256", std::string(64, '0')}});
  });
  writeFile(other.path() / "f", "x");
  fs::create_directory_symlink(other.path(), folder.path() / "sub");
  EXPECT_THAT(folderRefusal(folder.path()), testing::HasSubstr("is a symbolic link"));
}

} // namespace
} // namespace llmc::rt::test
