//===- DeviceArtifactTest.cpp - artifacts for a GPU -----------------------===//

#include "llmc/Kernels/NVPTX/Backend.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Runtime/Manifest.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace llmc;
namespace fs = std::filesystem;

namespace {

constexpr const char *stage = R"(
!scale = !llm.weight<[64], #llm.dense<f32>>
!heads = tensor<?x3x64xf32>
module attributes {llm.model = {architecture = "stage", context_length = 64 : i64,
    hidden_size = 192 : i64, vocab_size = 192 : i64, parameters = 64 : i64}} {
  llm.weight_family @scale "norm.weight" : !scale
  func.func @stage(%x: !heads, %d: !heads) -> (!heads, !heads) attributes {llm.entry} {
    %w = llm.param @scale : !scale
    %sum = llm.residual_add %x, %d : !heads
    %y = llm.rms_norm %sum, %w eps 1.0e-5 : !heads, !scale
    return %sum, %y : !heads, !heads
  }
}
)";

/// The runtime's reader checks everything that it would before a launch.
TEST(DeviceArtifact, IsReadByTheRuntime) {
  std::string name = (fs::temp_directory_path() / "llmc-device-XXXXXX").string();
  fs::path folder = mkdtemp(name.data());
  std::ofstream(folder / "stage.mlir") << stage;
  CompileOptions options;
  options.model = (folder / "stage.mlir").string();
  options.output = (folder / "artifact").string();
  options.phase.target = "nvidia-sm80";
  options.weights = "none";
  options.threads = 1;
  ASSERT_EQ(compileModel(options, llvm::nulls()), 0);

  rt::Manifest manifest = rt::readManifest(folder / "artifact", {.verifyHashes = true});
  EXPECT_EQ(manifest.target.device, "nvidia-sm80");
  ASSERT_EQ(manifest.kernels.size(), 1u);
  ASSERT_TRUE(manifest.kernels[0].device);
  const rt::KernelDevice &device = *manifest.kernels[0].device;
  EXPECT_TRUE(fs::exists(folder / "artifact" / device.file));
  // One block a row, three rows a token; two warps exchange one float each.
  rt::Extent extent;
  extent.tokens = 5;
  ASSERT_EQ(device.grid.size(), 1u);
  EXPECT_EQ(device.grid[0].evaluate(extent), 15);
  EXPECT_EQ(device.block.front(), 64);
  EXPECT_EQ(device.sharedBytes, 8);
  EXPECT_FALSE(fs::exists(folder / "artifact" / "kernels.so"));
  fs::remove_all(folder);
}

TEST(DeviceArtifact, FindsWhatPtxLeavesOpen) {
  auto find = [](const char *text) { return kernels::nvptx::findExternalFunctions(text); };
  EXPECT_THAT(find(".extern .shared .align 16 .b8 __dynamic_shmem__0[];\n.visible .entry k()\n"),
              testing::IsEmpty());
  EXPECT_THAT(find(".extern .func  (.param .b32 func_retval0) __nv_expf\n(\n\t.param .b32 p\n)\n;\n"
                   ".extern .func vprintf(\n.extern .func (.param .b32 r)\nnext\n("),
              testing::ElementsAre("__nv_expf", "vprintf", "next"));
}

} // namespace
