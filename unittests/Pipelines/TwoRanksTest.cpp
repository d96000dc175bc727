//===- TwoRanksTest.cpp - a program divided over ranks --------------------===//
//
// A feed-forward network whose first product is divided by its rows and whose
// second by its columns, with a sum over the ranks behind: compiled for one rank
// and for several, executed in this process and compared.
//
//===----------------------------------------------------------------------===//

#include "llmc/Pipelines/Compiler.h"

#include "Rank.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <unistd.h>

using namespace llmc;
namespace fs = std::filesystem;

namespace {

constexpr int64_t vocab = 40, hidden = 48, inner = 96, layers = 2;
/// Rows of larger tensors that hold `inner` rows from `skipped` on.
constexpr int64_t skipped = 20, fused = 130;

class TwoRanks : public testing::Test {
protected:
  TwoRanks() {
    std::string name = (fs::temp_directory_path() / "llmc-ranks-XXXXXX").string();
    folder = mkdtemp(name.data());
    writeWeights();
  }
  ~TwoRanks() override { fs::remove_all(folder); }

  void writeWeights() const;
  static std::string program(int64_t ranks, int64_t features = inner);
  using Changes = std::vector<std::pair<std::string, std::string>>;
  /// `changes`: text of the program and what stands in its place.
  std::shared_ptr<const rt::Artifact> compile(int64_t ranks, const Changes &changes = {}) const;
  static std::vector<float> logits(std::shared_ptr<const rt::Artifact> artifact);

  fs::path folder;
};

/// What all ranks run: the tokens of one sequence, logits for each.
const std::vector<int32_t> tokens = {3, 17, 0, 39, 8, 21, 5};

void TwoRanks::writeWeights() const {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-0.5f, 0.5f);
  std::string header, data;
  auto add = [&](const std::string &name, std::vector<int64_t> shape,
                 const std::function<float(int64_t row, int64_t col)> &value) {
    int64_t count = 1;
    std::string dims;
    for (int64_t dim : shape) {
      count *= dim;
      dims += (dims.empty() ? "" : ",") + std::to_string(dim);
    }
    size_t begin = data.size();
    for (int64_t i = 0; i < count; ++i) {
      float number = value(i / shape.back(), i % shape.back());
      data.append(reinterpret_cast<const char *>(&number), sizeof number);
    }
    header += (header.empty() ? "{\"" : ",\"") + name + "\":{\"dtype\":\"F32\",\"shape\":[" + dims +
              "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) +
              "]}";
  };
  auto draw = [&](int64_t, int64_t) { return values(random); };
  add("embed", {vocab, hidden}, draw);
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::string i = std::to_string(layer);
    std::vector<float> up(inner * hidden), down(hidden * inner), bias(inner);
    for (std::vector<float> *weight : {&up, &down, &bias})
      std::generate(weight->begin(), weight->end(), [&] { return values(random); });
    auto upAt = [&](int64_t row, int64_t col) { return up[size_t(row * hidden + col)]; };
    auto downAt = [&](int64_t row, int64_t col) { return down[size_t(row * inner + col)]; };
    add("up." + i, {inner, hidden}, upAt);
    add("up_bias." + i, {inner}, [&](int64_t, int64_t col) { return bias[size_t(col)]; });
    add("down." + i, {hidden, inner}, downAt);
    // The same as rows `skipped` on of larger tensors, and turned.
    auto inside = [&](int64_t row) { return row >= skipped && row < skipped + inner; };
    add("fused." + i, {fused, hidden}, [&](int64_t row, int64_t col) {
      return inside(row) ? upAt(row - skipped, col) : 9.0f;
    });
    add("fused_bias." + i, {fused}, [&](int64_t, int64_t col) {
      return inside(col) ? bias[size_t(col - skipped)] : 9.0f;
    });
    add("fused_turned." + i, {hidden, fused}, [&](int64_t row, int64_t col) {
      return inside(col) ? upAt(col - skipped, row) : 9.0f;
    });
    add("down_turned." + i, {inner, hidden},
        [&](int64_t row, int64_t col) { return downAt(col, row); });
  }
  header += "}";
  uint64_t size = header.size();
  std::ofstream out(folder / "model.safetensors", std::ios::binary);
  out.write(reinterpret_cast<const char *>(&size), sizeof size);
  out << header << data;
}

/// The program of each of so many ranks.
std::string TwoRanks::program(int64_t ranks, int64_t features) {
  std::string text = R"(
!rows = tensor<?x48xf32>
!part = tensor<?xPARTxf32>
!embed = !llm.weight<[40, 48], #llm.dense<f32>>
!up = !llm.weight<[PART, 48], #llm.dense<f32>>
!bias = !llm.weight<[PART], #llm.dense<f32>>
!down = !llm.weight<[48, PART], #llm.dense<f32>>
module attributes {llm.model = {architecture = "ranks", context_length = 64 : i64,
    hidden_size = 48 : i64, layers = 2 : i64, vocab_size = 40 : i64, parameters = 20544 : i64}} {
  GRID
  llm.weight_family @embed "embed" : !embed
  llm.weight_family @up "up.{i}" layers [0, 2] ROWS : !up
  llm.weight_family @up_bias "up_bias.{i}" layers [0, 2] ELEMENTS : !bias
  llm.weight_family @down "down.{i}" layers [0, 2] COLUMNS : !down
  func.func @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %up = llm.param @up[%i] : !up
    %bias = llm.param @up_bias[%i] : !bias
    %down = llm.param @down[%i] : !down
    %h = llm.linear %x, %up bias %bias : !rows, !up, !bias -> !part
    %a = llm.activation silu %h : !part
    %p = llm.linear %a, %down : !part, !down -> !rows
    REDUCE
    %y = llm.residual_add %x, %s : !rows
    return %y : !rows
  }
  func.func @main(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x40xf32>
      attributes {llm.entry} {
    %table = llm.param @embed : !embed
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !embed -> !rows
    %y = llm.repeat [@layer] from 0 count 2 (%x) with (%batch) : (!rows) with (!llm.batch)
    %o = llm.select_rows %y, %batch : !rows
    %l = llm.output_head %o, %table : !rows, !embed -> tensor<?x40xf32>
    return %l : tensor<?x40xf32>
  }
}
)";
  auto replace = [&](const std::string &mark, const std::string &by) {
    for (size_t at; (at = text.find(mark)) != std::string::npos;)
      text.replace(at, mark.size(), by);
  };
  auto split = [&](const std::string &axes) {
    return "{shard.grid = @tp, shard.split_axes = #shard<axisarray[" + axes + "]>}";
  };
  bool many = ranks > 1;
  replace("PART", std::to_string(features / ranks));
  replace("GRID", many ? "shard.grid @tp(shape = " + std::to_string(ranks) + ")" : "");
  replace("ROWS", many ? split("[0], []") : "");
  replace("ELEMENTS", many ? split("[0]") : "");
  replace("COLUMNS", many ? split("[], [0]") : "");
  replace("REDUCE", many ? "%s = shard.all_reduce %p on @tp grid_axes = [0] : !rows -> !rows" : "");
  if (!many)
    replace("%x, %s", "%x, %p");
  return text;
}

std::shared_ptr<const rt::Artifact> TwoRanks::compile(int64_t ranks,
                                                      const Changes &changes) const {
  std::string name = "ranks" + std::to_string(ranks);
  std::string text = program(ranks);
  for (const auto &[from, to] : changes) {
    name += "-changed";
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  fs::remove_all(folder / name);
  std::ofstream(folder / (name + ".mlir")) << text;
  CompileOptions options;
  options.model = (folder / (name + ".mlir")).string();
  options.checkpoint = (folder / "model.safetensors").string();
  options.output = (folder / name).string();
  options.phase.deployment.maxTokens = 16;
  options.phase.deployment.maxOutputs = 16;
  options.threads = 1;
  EXPECT_EQ(compileModel(options, llvm::nulls()), 0);
  return rt::Artifact::open(folder / name);
}

std::vector<float> TwoRanks::logits(std::shared_ptr<const rt::Artifact> artifact) {
  rt::SessionOptions options;
  options.threads = 1;
  options.poison = true;
  rt::Session session(artifact, options);
  rt::StepInput input{session.addSequence(), tokens, rt::Logits::All};
  rt::StepOutput output = session.step({&input, 1});
  std::vector<float> values;
  for (int64_t row = 0; row < output.rows; ++row)
    values.insert(values.end(), output.row(row).begin(), output.row(row).end());
  return values;
}

/// A sum of `inner` products is one chain on one rank, and one chain a rank whose results
/// are added on several: both are off by at most about inner * 2^-24 of the sum of their
/// terms' sizes, which is below 1e-5 of the largest logit here.
TEST_F(TwoRanks, GiveTheNumbersOfOne) {
  std::vector<float> one = logits(compile(1));
  ASSERT_EQ(one.size(), tokens.size() * size_t(vocab));
  float largest = 0;
  for (float value : one)
    largest = std::max(largest, std::abs(value));
  ASSERT_GT(largest, 0.1f);
  for (int64_t ranks : {2, 3}) {
    auto artifact = compile(ranks);
    EXPECT_EQ(artifact->manifest().ranks.count, ranks);
    std::vector<float> many = logits(artifact);
    ASSERT_EQ(many.size(), one.size());
    bool same = true;
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_NEAR(many[i], one[i], 1e-5f * largest) << "logit " << i << " of " << ranks;
      same &= many[i] == one[i];
    }
    // Another order of a sum that gave the same bits everywhere would mean that nothing
    // was divided.
    EXPECT_FALSE(same);
  }
}

/// Parts of larger tensors and turned ones are the same weights, whole and divided.
TEST_F(TwoRanks, PackPartsAndTurnedTensors) {
  const Changes parts = {{"\"up.{i}\"", "\"fused.{i}\" rows 20 of 130"},
                         {"\"up_bias.{i}\"", "\"fused_bias.{i}\" rows 20 of 130"}};
  const Changes turned = {{"\"up.{i}\"", "\"fused_turned.{i}\" rows 20 of 130 transposed"},
                          {"\"down.{i}\"", "\"down_turned.{i}\" transposed"}};
  for (int64_t ranks : {1, 2, 3}) {
    std::vector<float> plain = logits(compile(ranks));
    EXPECT_EQ(logits(compile(ranks, parts)), plain) << ranks;
    EXPECT_EQ(logits(compile(ranks, turned)), plain) << ranks;
  }
}

TEST_F(TwoRanks, AgreeBitForBit) {
  auto artifact = compile(2);
  rt::SessionOptions options;
  options.poison = true;
  std::vector<int32_t> positions, sequence(tokens.size(), 0), rows;
  for (size_t t = 0; t < tokens.size(); ++t) {
    positions.push_back(int32_t(t));
    rows.push_back(int32_t(t));
  }
  int32_t starts[] = {0, int32_t(tokens.size())}, length = int32_t(tokens.size()), table[4] = {};
  llmc_batch batch{int64_t(tokens.size()), 1, int64_t(tokens.size()), 4, 4, tokens.data(),
                   positions.data(), sequence.data(), starts, &length, table, rows.data(),
                   &length, nullptr};
  rt::Extent extent{batch.tokens, batch.outputs, 1, 4, 1};

  auto members = rt::makeInProcessGroup(2);
  std::vector<std::unique_ptr<rt::Rank>> ranks;
  for (int r = 0; r < 2; ++r) {
    ranks.push_back(std::make_unique<rt::Rank>(*artifact, rt::Rank::Setup{r, 1, &options}));
    ranks.back()->allocate({.sequences = 1, .blocks = 4, .blockTokens = 16, .maxContext = 64,
                            .compiledContext = 64, .modelContext = 64, .permuted = false,
                            .recomputeBeyond = {}, .slots = false, .ringBlocks = 0, .window = 0},
                           {&batch, &batch});
    std::vector<std::unique_ptr<rt::Communicator>> groups;
    groups.push_back(std::move(members[size_t(r)]));
    ranks.back()->setCommunicators(std::move(groups));
  }
  std::thread other([&] { ranks[1]->run(extent, &batch, nullptr, nullptr); });
  ranks[0]->run(extent, &batch, nullptr, nullptr);
  other.join();
  for (auto &rank : ranks)
    ASSERT_NO_THROW(rank->takeError());

  const rt::Output &output = artifact->manifest().entries.front().outputs.front();
  const char *first = ranks[0]->sliceAddress(output.sliceIndex);
  const char *second = ranks[1]->sliceAddress(output.sliceIndex);
  ASSERT_NE(first, second);
  EXPECT_EQ(std::string(first, tokens.size() * vocab * 4),
            std::string(second, tokens.size() * vocab * 4));
}

TEST_F(TwoRanks, NeedWholeTensors) {
  // The checkpoint has 96 features.
  std::ofstream(folder / "wrong.mlir") << program(3, 120);
  CompileOptions options;
  options.model = (folder / "wrong.mlir").string();
  options.checkpoint = (folder / "model.safetensors").string();
  options.output = (folder / "wrong").string();
  options.threads = 1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(compileModel(options, llvm::nulls()), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("for 3 ranks"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "wrong"));
}

} // namespace
