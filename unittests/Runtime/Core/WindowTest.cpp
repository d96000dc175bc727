//===- WindowTest.cpp - state whose blocks are used again -----------------===//

#include "TinyArtifact.h"
#include "TinySteps.h"
#include "llmc/Support/StateRing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using nlohmann::json;

namespace llmc::rt::test {
namespace {

std::vector<std::vector<float>> want(const std::vector<int32_t> &tokens) {
  return tinyReference(tokens, 1, /*recurrent=*/false, /*windowed=*/true);
}

class Windows : public testing::Test {
protected:
  std::shared_ptr<const Artifact> open(const std::function<void(json &)> &change = {}) {
    writeTiny(folder.path(), 1, [&](json &manifest) {
      makeWindowed(manifest);
      if (change)
        change(manifest);
    });
    return Artifact::open(folder.path());
  }
  static SessionOptions options(int64_t blocks = 0, int64_t sequences = 0) {
    SessionOptions options;
    options.threads = 2;
    options.poison = options.permuteBlocks = true;
    options.blocks = blocks;
    options.maxSequences = sequences;
    return options;
  }
  /// The message of what a changed manifest is refused with.
  std::string refusal(const std::function<void(json &)> &change) {
    try {
      open(change);
    } catch (const InputError &error) {
      return error.what();
    }
    return "(nothing thrown)";
  }
  TemporaryFolder folder;
};

/// A run of so many positions lies in at most so many blocks, wherever it begins; and in a ring
/// of so many no two of these have one place.
TEST(StateRing, HoldsWhatAStepUses) {
  for (int64_t block : {1, 2, 4, 7, 32})
    for (int64_t window : {1, 2, 5, 31, 32, 33, 100})
      for (int64_t tokens : {1, 2, 16, 33}) {
        int64_t most = 0;
        for (int64_t length = 0; length < window + 2 * block; ++length) {
          int64_t first = std::max<int64_t>(length - window + 1, 0), last = length + tokens - 1;
          most = std::max(most, last / block - first / block + 1);
        }
        EXPECT_EQ(leastRingBlocks(window, tokens, block), most) << window << " " << tokens;
      }
  EXPECT_EQ(leastRingBlocks(INT64_MAX, INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(windowBlocks(INT64_MAX, 3, 10), 10);
  EXPECT_EQ(windowBlocks(4, 2, 10), 8);
}

TEST_F(Windows, ChunksCompanyAndDecodeGiveTheSameBits) {
  auto artifact = open();
  // Rings, and so few blocks that rings would not be smaller.
  for (bool rings : {true, false}) {
    int64_t blocks = rings ? 32 : 16;
    Session session(artifact, options(blocks, rings ? 3 : 4));
    EXPECT_EQ(session.memory()[1].planned, 128 * blocks + 256 * (rings ? 12 : 16));
    std::vector<int32_t> a = tinyTokens(rings ? 46 : 30, 1), b = tinyTokens(rings ? 39 : 25, 2);
    auto wantA = want(a), wantB = want(b);
    int32_t unused = session.addSequence(), first = session.addSequence();
    session.removeSequence(unused);
    int32_t second = session.addSequence();
    Fed all{first, a, wantA}, last{second, b, wantB};
    size_t sizes[] = {1, 4, 3, 5, 2};
    for (size_t turn = 0; all.left() || last.left(); ++turn) {
      size_t takeAll = std::min(sizes[turn % 5], all.left());
      stepTogether(session, last, std::min(5 - takeAll, last.left()), all, takeAll);
    }
  }
}

TEST_F(Windows, ASequenceThatIsCutBackGoesOnOrIsComputedAnew) {
  Session session(open(), options(32, 2));
  std::vector<int32_t> tokens = tinyTokens(48);
  auto logits = want(tokens);
  int32_t sequence = session.addSequence();
  size_t shown = 0;
  session.observe([&](const Observation &seen) {
    if (seen.layer < 0)
      shown += size_t(seen.rows);
  });
  auto feed = [&](size_t from, size_t to) {
    for (size_t done = from; done < to; done += 5) {
      size_t end = std::min(done + 5, to);
      StepInput input{sequence, std::span(tokens).subspan(done, end - done)};
      EXPECT_EQ(rowOf(session.step({&input, 1}), 0), logits[end - 1]) << end;
    }
  };
  feed(0, 30);
  // Block 7 lies where block 3 lay: positions from 16 on are there, and 21 needs those from 16 on.
  EXPECT_TRUE(session.canReturnTo(sequence, 21));
  EXPECT_FALSE(session.canReturnTo(sequence, 20));
  EXPECT_TRUE(session.canReturnTo(sequence, 0));
  session.truncate(sequence, 21);
  feed(21, 33);
  session.truncate(sequence, 9);
  EXPECT_FALSE(session.canReturnTo(sequence, 9));
  feed(9, 12);
  EXPECT_TRUE(session.canReturnTo(sequence, 11));
  // What was cut and written again is what counts, not how far the sequence once went.
  feed(12, 48);
  session.truncate(sequence, 0);
  feed(0, 14);
  session.truncate(sequence, 5);
  EXPECT_TRUE(session.canReturnTo(sequence, 5));
  feed(5, 20);
  EXPECT_EQ(shown, 30u + 12 + 3 + 36 + 14 + 15);
}

TEST_F(Windows, AStepThatWasEndedLeavesTheSequence) {
  Session session(open(), options(32, 2));
  std::vector<int32_t> tokens = tinyTokens(48);
  auto logits = want(tokens);
  int32_t sequence = session.addSequence();
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      session.cancel();
      std::this_thread::yield();
    }
  });
  for (int turn = 0; turn < 200; ++turn) {
    size_t length = size_t(session.length(sequence));
    if (length + 5 > tokens.size()) {
      session.truncate(sequence, int64_t(turn * 7 % 40));
      continue;
    }
    StepInput input{sequence, std::span(tokens).subspan(length, size_t(turn % 5) + 1)};
    try {
      StepOutput output = session.step({&input, 1});
      ASSERT_EQ(rowOf(output, 0), logits[length + input.tokens.size() - 1]) << turn;
    } catch (const CancelledError &) {
      EXPECT_EQ(session.length(sequence), int64_t(length));
    }
  }
  done = true;
  other.join();
  // However few steps got through, the next one shows that nothing of an ended one is left.
  session.clearCancel();
  session.truncate(sequence, std::min<int64_t>(session.length(sequence), 40));
  size_t length = size_t(session.length(sequence));
  StepInput input{sequence, std::span(tokens).subspan(length, 5)};
  EXPECT_EQ(rowOf(session.step({&input, 1}), 0), logits[length + 4]);
}

TEST_F(Windows, ManifestsThatDoNotHoldTogetherAreRefused) {
  using testing::HasSubstr;
  EXPECT_EQ(refusal([](json &) {}), "(nothing thrown)");
  EXPECT_THAT(refusal([](json &m) { m["limits"].erase("ring_blocks"); }),
              HasSubstr("states[1].window: is 6, which with steps of 5 tokens takes rings of 4 "
                        "blocks; limits.ring_blocks is 0"));
  EXPECT_THAT(refusal([](json &m) { m["limits"]["ring_blocks"] = 3; }),
              HasSubstr("limits.ring_blocks is 3"));
  EXPECT_THAT(refusal([](json &m) { m["limits"]["ring_blocks"] = int64_t(1) << 40; }),
              HasSubstr("limits.ring_blocks: is 1099511627776, kernels count in 32 bits"));
  EXPECT_THAT(refusal([](json &m) { m["limits"]["ring_blocks"] = -1; }),
              HasSubstr("limits.ring_blocks"));
  // Larger than a sequence can be: no block is used again.
  EXPECT_THAT(refusal([](json &m) { m["states"][1]["window"] = (int64_t(1) << 53) - 1; }),
              HasSubstr("takes rings of 12 blocks"));
  EXPECT_THAT(refusal([](json &m) { m["states"][1]["window"] = 0; }), HasSubstr("window"));
  EXPECT_THAT(refusal([](json &m) { m["arenas"][1]["size"] = {{"blocks", 128}, {"window_blocks", 255}}; }),
              HasSubstr("states[1]: does not fit"));
  EXPECT_THAT(refusal([](json &m) { m["arenas"][1]["size"]["window_blocks"] = int64_t(1) << 52; }),
              HasSubstr("2^53"));
  EXPECT_THAT(refusal([](json &m) {
                m["kernels"][5]["contracts"][0]["operands"][1]["bytes"] = {{"blocks", 128}};
              }),
              HasSubstr("has window blocks of 128 bytes, the kernel's has blocks of 128 bytes"));
  EXPECT_THAT(refusal([](json &m) {
                json &steps = m["entries"][0]["steps"][2]["repeat"]["steps"];
                json other = steps[0]["launch"]["operands"][1];
                other["state"] = "keys";
                other["layer"] = 1;
                steps[0]["launch"]["operands"].push_back(other);
              }),
              HasSubstr("are the states 'near' and 'keys', of which one has a window"));
  EXPECT_THAT(refusal([](json &m) {
                m["states"][1].erase("bytes_per_block");
                m["states"][1]["bytes_per_sequence"] = 64;
                m["states"][1]["kind"] = "recurrent";
                m["states"][1]["value_width"] = 1;
              }),
              HasSubstr("only a paged state has a window"));
}

} // namespace
} // namespace llmc::rt::test
