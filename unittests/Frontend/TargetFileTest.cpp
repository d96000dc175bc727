//===- TargetFileTest.cpp - chips as data ----------------------------------===//
#include "llmc/Frontend/TargetFile.h"

#include "TinyModel.h"
#include "llmc/Support/Error.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace llmc;
using namespace llmc::frontend;

namespace {

class TargetFiles : public testing::Test {
protected:
  TargetFile read(const std::string &text) {
    return TargetFile::read(folder.write("chip.jsonc", text), folder.path());
  }
  std::string failure(const std::string &text) {
    try {
      read(text);
    } catch (const InputError &error) {
      return error.what();
    }
    return "";
  }
  void fails(const std::string &text, const std::string &part) {
    std::string message = failure(text);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("chip.jsonc"), std::string::npos) << message;
  }
  test::TempFolder folder;
};

TEST_F(TargetFiles, NumbersKeepTheirSource) {
  TargetFile chip = read(R"({
    "name": "chip", "about": "a chip", "compiles_as": "cpu",
    "memory": { "bytes": [80e9, "datasheet"], "bytes_per_second": [2.039e12, "measured"] },
    "compute": { "bf16": [312e12, "datasheet"] },
    "links": { "bytes_per_second": [600e9, "datasheet"] } })");
  EXPECT_EQ(chip.memoryBytes->value, 80e9);
  EXPECT_EQ(chip.memoryBytesPerSecond->source, "measured");
  EXPECT_EQ(chip.compute.at("bf16").value, 312e12);
  EXPECT_EQ(chip.linkBytesPerSecond->value, 600e9);
  EXPECT_EQ(chip.compilesAs, "cpu");
}

TEST_F(TargetFiles, CoveredByFacts) {
  TargetFile chip = read(R"({ "name": "chip", "about": "a chip", "memory": "not stated",
    "compute": "not stated", "operators": {
    "llm.scale": { "by": "lib" },
    "llm.paged_attention": { "by": "lib", "only": {
      "key_width": [64, 128], "window": [null], "heads": { "max": 64, "multiple_of": 8 } } } } })");
  std::string by;
  EXPECT_EQ(chip.whyNotCovered("llm.scale", {{"width", "7"}}, by), "");
  EXPECT_EQ(by, "lib");
  EXPECT_EQ(chip.whyNotCovered("llm.gate", {}, by), "chip has no llm.gate");
  OperatorFacts good = {{"heads", "32"}, {"key_width", "128"}};
  EXPECT_EQ(chip.whyNotCovered("llm.paged_attention", good, by), "");
  EXPECT_EQ(chip.whyNotCovered("llm.paged_attention", {{"heads", "32"}, {"key_width", "96"}}, by),
            "key_width is 96, covered by 'lib' is 64, 128");
  EXPECT_EQ(chip.whyNotCovered("llm.paged_attention", {{"heads", "12"}, {"key_width", "64"}}, by),
            "heads is 12, covered by 'lib' is at most 64, a multiple of 8");
  EXPECT_EQ(chip.whyNotCovered("llm.paged_attention", {{"heads", "128"}, {"key_width", "64"}}, by),
            "heads is 128, covered by 'lib' is at most 64, a multiple of 8");
  good.emplace_back("window", "4096");
  EXPECT_EQ(chip.whyNotCovered("llm.paged_attention", good, by),
            "window is 4096, covered by 'lib' is none");
  // A bound is no statement on a fact that is absent.
  EXPECT_EQ(chip.whyNotCovered("llm.paged_attention", {{"key_width", "64"}}, by),
            "heads is none, covered by 'lib' is at most 64, a multiple of 8");
}

TEST_F(TargetFiles, ExtendsFillsWhatIsNotThere) {
  folder.write("base.jsonc", R"({ "name": "base", "about": "the base", "compiles_as": "cpu",
    "memory": { "bytes": [1, "a"], "bytes_per_second": [4, "d"] }, "compute": { "f32": [2, "b"] } })");
  TargetFile chip = read(R"({ "name": "chip", "about": "a chip", "extends": "base",
    "memory": { "bytes": [3, "c"], "bytes_per_second": [5, "e"] } })");
  EXPECT_EQ(chip.name, "chip");
  EXPECT_EQ(chip.compilesAs, "cpu");
  EXPECT_EQ(chip.memoryBytes->value, 3);
  EXPECT_EQ(chip.compute.at("f32").value, 2);
}

TEST_F(TargetFiles, FiguresOfFusionsAreEachByThemselves) {
  const std::string rest =
      R"("about": "a", "compiles_as": "cpu", "memory": "not stated", "compute": "not stated")";
  folder.write("base.jsonc", R"({ "name": "base", )" + rest + R"(, "fusion": {
    "launch_seconds": [5e-6, "a"], "vector_registers": [64, "b"] } })");
  TargetFile chip = read(R"({ "name": "c", "extends": "base", )" + rest + R"(, "fusion": {
    "launch_seconds": [7e-6, "c"], "thread_bytes": [4096, "d"] } })");
  FusionFigures figures = chip.fusionFigures({1, 2e9, 3e9, 4, 5});
  EXPECT_EQ(figures.launchSeconds, 7e-6);
  EXPECT_EQ(figures.bytesPerSecond, 2e9);
  EXPECT_EQ(figures.operationsPerSecond, 3e9);
  EXPECT_EQ(figures.vectorRegisters, 64);
  EXPECT_EQ(figures.threadBytes, 4096);
  auto with = [&](const std::string &fusion) {
    return R"({ "name": "c", )" + rest + R"(, "fusion": )" + fusion + " }";
  };
  EXPECT_TRUE(read(with(R"("not stated")")).fusion.empty());
  fails(with("3"), "'fusion' must be an object, or \"not stated\"");
  fails(with(R"({ "launch_second": [1e-6, "x"] })"),
        "'fusion' has no member 'launch_second'; near is launch_seconds; its members are "
        "launch_seconds, bytes_per_second");
  fails(with(R"({ "launch_seconds": 1e-6 })"), "'fusion.launch_seconds' must be [number, source]");
  fails(with(R"({ "launch_seconds": [2, "x"] })"),
        "'fusion.launch_seconds' is 2; it must be seconds from 1e-12 to 1");
  fails(with(R"({ "launch_seconds": [0, "x"] })"), "'fusion.launch_seconds' must be positive");
  fails(with(R"({ "bytes_per_second": [1, "x"] })"), "it must be bytes a second from 1e+06 to 1e+18");
  fails(with(R"({ "operations_per_second": [1e300, "x"] })"), "operations a second from 1e+06 to");
  fails(with(R"({ "vector_registers": [31.5, "x"] })"),
        "is 31.5; it must be a whole number of vectors from 1 to 65536");
  fails(with(R"({ "thread_bytes": [1e15, "x"] })"), "a whole number of bytes from 1 to 1e+12");
  fails(R"({ "name": "c", "about": "a", "memory": "not stated", "compute": "not stated",
        "operators": {}, "fusion": { "launch_seconds": [1e-6, "x"] } })",
        "'fusion' judges fusions of code that llmc makes, and 'compiles_as'");
}

// A pass without a target judges as --target=cpu does.
TEST(ShippedTargets, TheCpuStatesWhatIsAssumed) {
  auto folder = std::filesystem::path(__FILE__).parent_path() / "../../targets";
  TargetFile cpu = TargetFile::read("cpu", folder.string());
  EXPECT_EQ(cpu.fusion.size(), 5u);
  FusionFigures stated = cpu.fusionFigures({1, 2, 3, 4, 5}), assumed;
  EXPECT_EQ(stated.launchSeconds, assumed.launchSeconds);
  EXPECT_EQ(stated.bytesPerSecond, assumed.bytesPerSecond);
  EXPECT_EQ(stated.operationsPerSecond, assumed.operationsPerSecond);
  EXPECT_EQ(stated.vectorRegisters, assumed.vectorRegisters);
  EXPECT_EQ(stated.threadBytes, assumed.threadBytes);
}

TEST_F(TargetFiles, RefusesWhatItCannotMean) {
  fails(R"({ "about": "a chip", "compiles_as": "cpu" })", "'name' is missing");
  fails(R"({ "name": 3, "about": "a chip", "compiles_as": "cpu" })", "'name' must be a text");
  fails(R"({ "name": "", "about": "a chip", "compiles_as": "cpu" })", "'name' must not be empty");
  fails(R"({ "name": "a\nchip", "about": "a", "compiles_as": "cpu" })",
        R"('name' must be one line of text, it is 'a\x0achip')");
  fails(R"({ "name": "a\u001b[2Jchip", "about": "a", "compiles_as": "cpu" })",
        R"(it is 'a\x1b[2Jchip')");
  fails(R"({ "name": "c", "about": "a chip", "memory": "not stated", "compute": "not stated" })",
        "neither 'operators'");
  fails(R"({ "name": "c", "about": "a", "operator": {} })", "has no member 'operator'");
  fails(R"({ "name": "c", "about": "a", "memory": { "bytes": 80e9 }, "operators": {} })",
        "'memory.bytes' must be [number, source]");
  fails(R"({ "name": "c", "about": "a", "memory": { "bytes": [80e9, ""] }, "operators": {} })",
        "'memory.bytes' must be [number, source]");
  fails(R"({ "name": "c", "about": "a", "memory": { "bytes": [-1, "x"] }, "operators": {} })",
        "must be positive");
  fails(R"({ "name": "c", "about": "a", "operators": { "llm.gate": {} } })", "'by' is missing");
  fails(R"({ "name": "c", "about": "a", "operators": { "llm.gate": { "by": "x", "only": {
        "heads": [] } } } })", "covers no value");
  fails(R"({ "name": "c", "about": "a", "operators": { "llm.gate": { "by": "x", "only": {
        "heads": { "most": 3 } } } } })", "has no member 'most'");
  fails(R"({ "name": "c", "about": "a", "operators": { "llm.gate": { "by": "x", "only": {
        "heads": { "multiple_of": 0 } } } } })", "must be positive");
  fails(R"({ "name": "c", "about": "a", "extends": "nothing" })", "'nothing'");
  fails(R"({ "name": "c", "about": "a", "extends": "../chip" })", "'../chip'");
  fails(R"({ "name": "c", "about": "a", "extends": "chip" })", "circle");
  // A name that no file can have is no error of the file system.
  fails(R"({ "name": "c", "about": "a", "extends": ")" + std::string(5000, 'x') + R"(" })",
        "is no file in");
  fails(R"([])", "must be an object");
}

TEST_F(TargetFiles, UnknownNamesListWhatThereIs) {
  EXPECT_THROW(TargetFile::read(std::string(5000, 'x'), folder.path()), InputError);
  folder.write("one.jsonc", "{}");
  folder.write("two.jsonc", "{}");
  try {
    TargetFile::read("three", folder.path());
    FAIL();
  } catch (const InputError &error) {
    EXPECT_NE(std::string(error.what()).find("one, two;"), std::string::npos) << error.what();
  }
  folder.write("maker-t100-sxm.jsonc", "{}");
  for (const char *name : {"t100", "maker-t10-sxm"}) {
    try {
      TargetFile::read(name, folder.path());
      FAIL();
    } catch (const InputError &error) {
      EXPECT_NE(std::string(error.what()).find("; near is maker-t100-sxm;"), std::string::npos)
          << error.what();
    }
  }
}

TEST_F(TargetFiles, FiguresAreStatedOrSaidNotToBe) {
  const std::string rest = R"("name": "c", "about": "a", "compiles_as": "cpu")";
  fails("{" + rest + R"(, "compute": "not stated" })",
        "'memory' is missing; state bytes and bytes_per_second with their sources, or write "
        "\"memory\": \"not stated\"");
  fails("{" + rest + R"(, "memory": "not stated" })", "'compute' is missing; state operations");
  fails("{" + rest + R"(, "memory": { "bytes": [1, "x"] }, "compute": "not stated" })",
        "'memory.bytes_per_second' is missing");
  fails("{" + rest + R"(, "memory": { "bytes_per_second": [1, "x"] }, "compute": "not stated" })",
        "'memory.bytes' is missing");
  fails("{" + rest + R"(, "memory": "unknown", "compute": "not stated" })",
        "'memory' must be an object, or \"not stated\"");
  fails("{" + rest + R"(, "memory": "not stated", "compute": {} })", "'compute' has no figure");
  fails("{" + rest + R"(, "memory": "not stated", "compute": "not stated", "links": {} })",
        "'links.bytes_per_second' is missing");
  TargetFile chip = read("{" + rest + R"(, "memory": "not stated", "compute": "not stated" })");
  EXPECT_FALSE(chip.memoryBytes || chip.memoryBytesPerSecond);
  EXPECT_TRUE(chip.compute.empty());
}

TEST_F(TargetFiles, TypesAndStorageExist) {
  auto with = [](const std::string &compute, const std::string &storage) {
    return R"({ "name": "c", "about": "a", "memory": "not stated", "compute": { ")" + compute +
           R"(": [1, "x"] }, "operators": { "llm.linear": { "by": "x", "only": { "storage": [)" +
           storage + "] } } } }";
  };
  fails(with("bf-16", "null"), "'compute' has no element type 'bf-16'; near is bf16, f16; there are f64");
  fails(with("bf16", "\"q4_9\""), "'q4_9' is no storage of weights; near is q4_");
  for (const char *type :
       {"f64", "f32", "tf32", "f16", "bf16", "f8", "f6", "f4", "int8", "int4"})
    EXPECT_EQ(failure(with(type, "null, \"bf16\", \"q4_k\"")), "") << type;
}

/// What a base states is said of the base, at its own place.
TEST_F(TargetFiles, AFaultOfWhatIsExtendedNamesThatFile) {
  folder.write("base.jsonc", "{ \"name\": \"b\",\n \"compute\": { \"x9\": [1, \"x\"] } }");
  std::string message = failure(R"({ "name": "c", "about": "a", "extends": "base" })");
  EXPECT_NE(message.find("base.jsonc:2:"), std::string::npos) << message;
}

/// Every file that ships is read, and says where its numbers are from.
TEST(ShippedTargets, AreWhole) {
  std::string shipped = test::sourceFolder() + "/targets";
  std::vector<std::string> names = TargetFile::names(shipped);
  EXPECT_GE(names.size(), 8u);
  for (const std::string &name : names) {
    TargetFile target = TargetFile::read(name, shipped);
    EXPECT_FALSE(target.about.empty()) << name;
    if (target.compilesAs != "cpu") {
      EXPECT_TRUE(target.memoryBytes && target.memoryBytesPerSecond) << name;
      EXPECT_FALSE(target.compute.empty()) << name;
    }
    // f16 is never slower than f32 on a chip for models.
    if (target.compute.count("f16") && target.compute.count("f32"))
      EXPECT_GE(target.compute.at("f16").value, target.compute.at("f32").value) << name;
  }
}

} // namespace
