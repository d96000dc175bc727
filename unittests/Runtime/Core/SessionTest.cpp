//===- SessionTest.cpp - steps of the tiny artifact -----------------------===//

#include "TinyArtifact.h"
#include "TinySteps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using nlohmann::json;

namespace llmc::rt::test {
namespace {

struct Deployment {
  int ranks, threads;
};

class Sessions : public testing::TestWithParam<Deployment> {
protected:
  SessionOptions options() const {
    SessionOptions options;
    options.threads = GetParam().threads;
    options.poison = options.permuteBlocks = true;
    return options;
  }
  TemporaryFolder folder;
};

TEST_P(Sessions, WholePromptEqualsReference) {
  Session session(openTiny(folder, GetParam().ranks), options());
  EXPECT_EQ(session.threads(), GetParam().threads);
  EXPECT_EQ(session.variant(), "plain");
  std::vector<int32_t> tokens = tinyTokens(13);
  auto want = tinyReference(tokens, GetParam().ranks);
  StepInput input{session.addSequence(), tokens, Logits::All};
  StepOutput output = session.step({&input, 1});
  ASSERT_EQ(output.rows, 13);
  for (int64_t row = 0; row < 13; ++row)
    EXPECT_EQ(rowOf(output, row), want[size_t(row)]) << row;
}

TEST_P(Sessions, WeightsThatComeAndGoGiveTheSameBits) {
  std::vector<int32_t> tokens = tinyTokens(13);
  auto want = tinyReference(tokens, GetParam().ranks).back();
  auto artifact = openTiny(folder, GetParam().ranks);
  for (WeightsMode mode : {WeightsMode::Resident, WeightsMode::Streamed}) {
    SessionOptions chosen = options();
    chosen.weights = mode;
    Session session(artifact, chosen);
    StepInput input{session.addSequence(), tokens, Logits::Last};
    for (int i = 0; i < 12; ++i) {
      session.profile(i % 4 == 3);
      session.observe(i % 4 == 2 ? Observer([](const Observation &) {}) : Observer());
      EXPECT_EQ(rowOf(session.step({&input, 1}), 0), want) << "step " << i;
      session.truncate(input.sequence, 0);
    }
  }
}

TEST_P(Sessions, ChunksCompanyAndDecodeGiveTheSameBits) {
  Session session(openTiny(folder, GetParam().ranks), options());
  std::vector<int32_t> a = tinyTokens(30, 1), b = tinyTokens(25, 2);
  auto wantA = tinyReference(a, GetParam().ranks), wantB = tinyReference(b, GetParam().ranks);
  int32_t first = session.addSequence(), second = session.addSequence();
  Fed all{first, a, wantA}, last{second, b, wantB};
  size_t sizes[] = {1, 5, 3, 1, 7};
  for (size_t turn = 0; all.left() || last.left(); ++turn)
    stepTogether(session, last, std::min(sizes[(turn + 2) % 5], last.left()), all,
                 std::min(sizes[turn % 5], all.left()));
}

/// A program whose state depends on whether more than 10 tokens of a sequence are known.
class Recomputing : public Sessions {
protected:
  std::shared_ptr<const Artifact> open() {
    writeTiny(folder.path(), GetParam().ranks, [](json &m) {
      m["recompute_beyond"] = {10};
      m["kernels"][0]["symbol"] = "tiny_embed_by_extent";
    });
    return Artifact::open(folder.path());
  }
  /// Of the last of these tokens where `known` are known.
  std::vector<float> want(std::span<const int32_t> tokens, size_t known) const {
    std::vector<int32_t> read(tokens.begin(), tokens.end());
    for (int32_t &token : read)
      token = known > 10 ? int32_t(vocab) - 1 - token : token;
    return tinyReference(read, GetParam().ranks).back();
  }
};

TEST_P(Recomputing, AStateThatGrowsPastALengthIsThatOfAFreshRun) {
  Session session(open(), options());
  std::vector<int32_t> a = tinyTokens(40, 1), b = tinyTokens(20, 2);
  int32_t first = session.addSequence(), second = session.addSequence();
  size_t done = 0, rows = 0;
  session.observe([&](const Observation &seen) {
    if (seen.layer < 0)
      rows += size_t(seen.rows);
  });
  for (size_t take : {4, 3, 1, 1, 1, 1, 1, 5, 15, 1, 7}) {
    // The other sequence is not the longer for it.
    size_t other = done % 2;
    std::vector<StepInput> inputs;
    if (other && session.length(second) < 10)
      inputs.push_back({second, std::span(b).subspan(size_t(session.length(second)), 1)});
    inputs.push_back({first, std::span(a).subspan(done, take)});
    done += take;
    StepOutput output = session.step(inputs);
    if (inputs.size() > 1) {
      auto known = std::span(b).first(size_t(session.length(second)));
      EXPECT_EQ(rowOf(output, 0), want(known, known.size()));
    }
    EXPECT_EQ(rowOf(output, output.rows - 1), want(std::span(a).first(done), done)) << done;
  }
  // What is computed anew is not observed.
  EXPECT_EQ(rows, done + size_t(session.length(second)));
}

TEST_P(Recomputing, APromptInPiecesIsKnownFromTheStart) {
  Session session(open(), options());
  std::vector<int32_t> tokens = tinyTokens(13);
  int32_t sequence = session.addSequence();
  for (size_t done = 0; done < tokens.size(); ++done) {
    StepInput input{sequence, std::span(tokens).subspan(done, 1), Logits::Last, 13};
    EXPECT_EQ(rowOf(session.step({&input, 1}), 0), want(std::span(tokens).first(done + 1), 13));
  }
}

TEST_P(Recomputing, AStateThatIsCutBackIsComputedForItsNewLength) {
  Session session(open(), options());
  std::vector<int32_t> tokens = tinyTokens(13);
  int32_t sequence = session.addSequence();
  StepInput input{sequence, tokens};
  session.step({&input, 1});
  session.truncate(sequence, 5);
  input.tokens = std::span(tokens).subspan(5, 2);
  EXPECT_EQ(rowOf(session.step({&input, 1}), 0), want(std::span(tokens).first(7), 7));
}

TEST_P(Recomputing, ACancelledStepChangesNothing) {
  Session session(open(), options());
  std::vector<int32_t> tokens = tinyTokens(20);
  int32_t sequence = session.addSequence();
  StepInput input{sequence, std::span(tokens).first(10)};
  session.step({&input, 1});
  input.tokens = std::span(tokens).subspan(10, 1);
  session.cancel();
  EXPECT_THROW(session.step({&input, 1}), CancelledError);
  EXPECT_EQ(session.length(sequence), 10);
  // Below the threshold once more, then beyond it.
  session.truncate(sequence, 8);
  input.tokens = std::span(tokens).subspan(8, 1);
  EXPECT_EQ(rowOf(session.step({&input, 1}), 0), want(std::span(tokens).first(9), 9));
  input.tokens = std::span(tokens).subspan(9, 4);
  EXPECT_EQ(rowOf(session.step({&input, 1}), 0), want(std::span(tokens).first(13), 13));
}

TEST_P(Sessions, ObservationsShowEveryLayerAndChangeNothing) {
  Session session(openTiny(folder, GetParam().ranks), options());
  std::vector<int32_t> tokens = tinyTokens(6);
  std::vector<std::string> names;
  session.observe([&](const Observation &seen) {
    names.push_back(seen.name);
    EXPECT_EQ(seen.rows, 6);
    EXPECT_EQ(seen.width, hidden);
    EXPECT_EQ(seen.layer, int64_t(names.size()) - 2);
    EXPECT_EQ(seen.batch.tokens, 6);
    EXPECT_FALSE(std::isnan(seen.data[6 * hidden - 1]));
  });
  StepInput input{session.addSequence(), tokens, Logits::Last};
  StepOutput output = session.step({&input, 1});
  EXPECT_EQ(rowOf(output, 0), tinyReference(tokens, GetParam().ranks).back());
  EXPECT_THAT(names, testing::ElementsAre("hidden.0", "hidden.1", "hidden.2", "hidden.3"));
}

TEST_P(Sessions, ManySteps) {
  Session session(openTiny(folder, GetParam().ranks), options());
  std::vector<int32_t> tokens = tinyTokens(16);
  auto want = tinyReference(tokens, GetParam().ranks);
  for (int round = 0; round < 30; ++round) {
    int32_t sequence = session.addSequence();
    for (size_t i = 0; i < tokens.size(); ++i) {
      StepInput input{sequence, std::span(tokens).subspan(i, 1), Logits::Last};
      StepOutput output = session.step({&input, 1});
      ASSERT_EQ(rowOf(output, 0), want[i]);
    }
    session.removeSequence(sequence);
  }
  EXPECT_EQ(session.freeBlocks(), session.blocks());
}

/// A program with a state of sequences, which cannot go back by a token.
class Recurrent : public Sessions {
protected:
  std::shared_ptr<const Artifact> open() {
    writeTiny(folder.path(), GetParam().ranks, makeRecurrent);
    return Artifact::open(folder.path());
  }
  std::vector<std::vector<float>> want(const std::vector<int32_t> &tokens) const {
    return tinyReference(tokens, GetParam().ranks, /*recurrent=*/true);
  }
};

TEST_P(Recurrent, ChunksCompanyAndDecodeGiveTheSameBits) {
  Session session(open(), options());
  std::vector<int32_t> a = tinyTokens(30, 1), b = tinyTokens(25, 2);
  auto wantA = want(a), wantB = want(b);
  int32_t first = session.addSequence(), second = session.addSequence();
  size_t doneA = 0, doneB = 0, sizes[] = {1, 5, 3, 1, 7};
  for (size_t turn = 0; doneA < a.size() || doneB < b.size(); ++turn) {
    size_t takeA = std::min(sizes[turn % 5], a.size() - doneA);
    size_t takeB = turn % 3 ? std::min(sizes[(turn + 2) % 5], b.size() - doneB) : 0;
    std::vector<StepInput> inputs;
    if (takeB)
      inputs.push_back({second, std::span(b).subspan(doneB, takeB)});
    if (takeA)
      inputs.push_back({first, std::span(a).subspan(doneA, takeA)});
    doneA += takeA;
    doneB += takeB;
    if (inputs.empty())
      continue;
    StepOutput output = session.step(inputs);
    if (takeB) {
      EXPECT_EQ(rowOf(output, 0), wantB[doneB - 1]);
    }
    if (takeA) {
      EXPECT_EQ(rowOf(output, output.rows - 1), wantA[doneA - 1]);
    }
  }
}

TEST_P(Recurrent, ASequenceThatIsCutBackIsComputedAnew) {
  Session session(open(), options());
  std::vector<int32_t> tokens = tinyTokens(40);
  auto logits = want(tokens);
  int32_t sequence = session.addSequence();
  size_t shown = 0;
  session.observe([&](const Observation &seen) {
    if (seen.layer < 0)
      shown += size_t(seen.rows);
  });
  auto feed = [&](size_t from, size_t count) {
    StepInput input{sequence, std::span(tokens).subspan(from, count)};
    EXPECT_EQ(rowOf(session.step({&input, 1}), 0), logits[from + count - 1]) << from;
  };
  // More than a step takes, so that it is computed anew in several.
  feed(0, 16);
  feed(16, 14);
  session.truncate(sequence, 21);
  feed(21, 2);
  feed(23, 1);
  session.truncate(sequence, 0);
  feed(0, 7);
  EXPECT_EQ(shown, 16u + 14 + 2 + 1 + 7);
}

TEST_P(Recurrent, ASlotThatOthersUsedBeginsAtZero) {
  Session session(open(), options());
  std::vector<int32_t> tokens = tinyTokens(9);
  auto logits = want(tokens);
  for (int round = 0; round < 6; ++round) {
    StepInput input{session.addSequence(), tokens};
    EXPECT_EQ(rowOf(session.step({&input, 1}), 0), logits.back());
    if (round % 2)
      session.removeSequence(input.sequence);
  }
}

TEST_P(Recurrent, AStepThatWasEndedLeavesTheSequence) {
  Session session(open(), options());
  std::vector<int32_t> tokens = tinyTokens(40);
  auto logits = want(tokens);
  int32_t sequence = session.addSequence();
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      session.cancel();
      std::this_thread::yield();
    }
  });
  size_t fed = 0;
  for (int i = 0; i < 200 && fed < tokens.size(); ++i) {
    size_t take = std::min<size_t>(1 + size_t(i) % 3, tokens.size() - fed);
    StepInput input{sequence, std::span(tokens).subspan(fed, take)};
    try {
      StepOutput output = session.step({&input, 1});
      fed += take;
      EXPECT_EQ(rowOf(output, 0), logits[fed - 1]);
    } catch (const CancelledError &) {
      EXPECT_EQ(session.length(sequence), int64_t(fed));
    }
  }
  done = true;
  other.join();
  session.clearCancel();
  for (; fed < tokens.size(); ++fed) {
    StepInput input{sequence, std::span(tokens).subspan(fed, 1)};
    EXPECT_EQ(rowOf(session.step({&input, 1}), 0), logits[fed]);
  }
}

const auto deployments =
    testing::Values(Deployment{1, 1}, Deployment{1, 2}, Deployment{1, 3}, Deployment{1, 8},
                    Deployment{2, 1}, Deployment{2, 2});
std::string nameOf(const testing::TestParamInfo<Deployment> &info) {
  return "ranks" + std::to_string(info.param.ranks) + "threads" +
         std::to_string(info.param.threads);
}
INSTANTIATE_TEST_SUITE_P(Runtime, Sessions, deployments, nameOf);
INSTANTIATE_TEST_SUITE_P(Runtime, Recomputing, deployments, nameOf);
INSTANTIATE_TEST_SUITE_P(Runtime, Recurrent, deployments, nameOf);

// Without the collective the layers' single-item launch stands between two
// parallel ones, where whoever comes last runs it.
TEST(Session, SingleItemsBetweenParallelLaunches) {
  TemporaryFolder folder;
  writeTiny(folder.path(), 1, [](json &m) {
    m["entries"][0]["steps"][2]["repeat"]["steps"].erase(2);
    m["slices"][0]["live"] = {0, 6};
    m["slices"][1]["live"] = {3, 4};
    m["slices"][2]["live"] = {6, 6};
  });
  std::vector<int32_t> tokens = tinyTokens(11);
  auto want = tinyReference(tokens).back();
  for (int threads : {1, 2, 3, 8}) {
    Session session(Artifact::open(folder.path()), {.threads = threads, .poison = true});
    StepInput input{session.addSequence(), tokens, Logits::Last};
    for (int i = 0; i < 40; ++i) {
      session.profile(i % 8 == 7);
      ASSERT_EQ(rowOf(session.step({&input, 1}), 0), want) << threads << " threads, step " << i;
      session.truncate(input.sequence, 0);
    }
    session.profile(false);
    std::atomic<bool> done{false};
    std::thread other([&] {
      while (!done) {
        session.cancel();
        std::this_thread::yield();
      }
    });
    for (int i = 0; i < 100; ++i) {
      try {
        EXPECT_EQ(rowOf(session.step({&input, 1}), 0), want);
        session.truncate(input.sequence, 0);
      } catch (const CancelledError &) {
      }
    }
    done = true;
    other.join();
  }
}

TEST(Session, MemoryIsThePlan) {
  TemporaryFolder folder;
  SessionOptions options;
  options.threads = 2;
  options.blocks = 10;
  Session session(openTiny(folder), options);
  std::vector<ArenaMemory> memory = session.memory();
  ASSERT_EQ(memory.size(), 4u);
  EXPECT_EQ(memory[1].planned, 3840);
  EXPECT_EQ(memory[3].planned, 256);
  for (const ArenaMemory &arena : memory)
    EXPECT_EQ(arena.planned, arena.allocated);
  EXPECT_EQ(totalMemory(memory).allocated, 704 + 3840 + 256 + 16 * 64 + 16 * 64 + 256);
  EXPECT_EQ(session.maxContext(), 40);
}

TEST(Session, ASlotForEverySequenceOfTheSession) {
  TemporaryFolder folder;
  writeTiny(folder.path(), 1, makeRecurrent);
  auto artifact = Artifact::open(folder.path());
  EXPECT_EQ(Session(artifact, {.threads = 1, .blocks = 10}).memory()[1].planned, 3840 + 4 * 192);
  EXPECT_EQ(Session(artifact, {.threads = 1, .blocks = 10, .maxSequences = 1}).memory()[1].planned,
            3840 + 192);
}

template <typename Exception, typename Body>
std::string messageOf(Body body) {
  try {
    body();
  } catch (const Exception &error) {
    return error.what();
  }
  return "(nothing thrown)";
}

TEST(Session, LimitsAreNamedWithARemedy) {
  TemporaryFolder folder;
  auto artifact = openTiny(folder);
  SessionOptions options;
  options.threads = 1;
  options.maxContext = 49;
  EXPECT_THAT(messageOf<UsageError>([&] { Session(artifact, options); }),
              testing::HasSubstr("limits.max_context"));
  options.maxContext = 12;
  options.maxSequences = 2;
  options.blocks = 4;
  Session session(artifact, options);
  std::vector<int32_t> tokens = tinyTokens(12);
  int32_t a = session.addSequence(), b = session.addSequence();
  EXPECT_THAT(messageOf<UsageError>([&] { session.addSequence(); }),
              testing::HasSubstr("all 2 sequences"));
  StepInput input{a, tokens, Logits::None};
  EXPECT_EQ(session.step({&input, 1}).rows, 0);
  input.tokens = std::span(tokens).first(1);
  EXPECT_THAT(messageOf<InputError>([&] {
                session.step({&input, 1});
              }),
              testing::HasSubstr("--context"));
  // One block is left: the failed step takes nothing.
  StepInput both{b, std::span(tokens).first(5), Logits::Last};
  EXPECT_THAT(messageOf<InputError>([&] {
                session.step({&both, 1});
              }),
              testing::HasSubstr("2 more blocks"));
  EXPECT_EQ(session.freeBlocks(), 1);
  session.truncate(a, 7);
  EXPECT_EQ(session.freeBlocks(), 2);
  EXPECT_EQ(rowOf(session.step({&both, 1}), 0),
            tinyReference({tokens.begin(), tokens.begin() + 5}).back());
  std::vector<int32_t> bad = {3, 16};
  StepInput outside{a, bad, Logits::Last};
  EXPECT_THAT(messageOf<InputError>([&] {
                session.step({&outside, 1});
              }),
              testing::HasSubstr("token id 16"));
  std::vector<int32_t> many = tinyTokens(17);
  StepInput wide{a, many, Logits::Last};
  EXPECT_THAT(messageOf<UsageError>([&] {
                session.step({&wide, 1});
              }),
              testing::HasSubstr("the limit is 16"));
  EXPECT_THAT(messageOf<UsageError>([&] { session.length(7); }), testing::HasSubstr("sequence 7"));
}

TEST(Session, CancelledStepLeavesTheSequence) {
  TemporaryFolder folder;
  for (int ranks : {1, 2}) {
    SessionOptions options;
    options.threads = 2;
    Session session(openTiny(folder, ranks), options);
    std::vector<int32_t> tokens = tinyTokens(9);
    StepInput input{session.addSequence(), tokens, Logits::Last};
    session.cancel();
    EXPECT_THROW(session.step({&input, 1}), CancelledError);
    EXPECT_EQ(session.length(input.sequence), 0);
    EXPECT_EQ(session.freeBlocks(), session.blocks());
    EXPECT_EQ(rowOf(session.step({&input, 1}), 0), tinyReference(tokens, ranks).back());
  }
}

TEST(Session, CancelInTheMiddleOfAStep) {
  TemporaryFolder folder;
  for (int threads : {1, 3}) {
    SessionOptions options;
    options.threads = threads;
    Session session(openTiny(folder), options);
    std::vector<int32_t> tokens = tinyTokens(9);
    StepInput input{session.addSequence(), tokens, Logits::Last};
    int seen = 0;
    session.observe([&](const Observation &) {
      if (++seen == 2)
        session.cancel();
    });
    EXPECT_THROW(session.step({&input, 1}), CancelledError);
    EXPECT_EQ(seen, 2);
    session.observe({});
    EXPECT_EQ(rowOf(session.step({&input, 1}), 0), tinyReference(tokens).back());
  }
}

TEST(Session, CancelFromAnotherThread) {
  TemporaryFolder folder;
  SessionOptions options;
  options.threads = 3;
  Session session(openTiny(folder), options);
  std::vector<int32_t> tokens = tinyTokens(9);
  auto want = tinyReference(tokens).back();
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      session.cancel();
      std::this_thread::yield();
    }
  });
  StepInput input{session.addSequence(), tokens, Logits::Last};
  for (int i = 0; i < 300; ++i) {
    try {
      StepOutput output = session.step({&input, 1});
      EXPECT_EQ(rowOf(output, 0), want);
      session.truncate(input.sequence, 0);
    } catch (const CancelledError &) {
    }
  }
  done = true;
  other.join();
}

TEST(Session, WhatAnObserverThrowsComesOut) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 2});
  std::vector<int32_t> tokens = tinyTokens(3);
  StepInput input{session.addSequence(), tokens, Logits::Last};
  session.observe([](const Observation &) { throw InputError("seen enough"); });
  EXPECT_EQ(messageOf<InputError>([&] { session.step({&input, 1}); }), "seen enough");
  EXPECT_EQ(session.length(input.sequence), 0);
}

TEST(Session, ProfileCountsEveryLaunch) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 2});
  std::vector<int32_t> tokens = tinyTokens(3);
  session.profile(true);
  for (int i = 0; i < 4; ++i) {
    StepInput input{session.addSequence(), tokens, Logits::Last};
    session.step({&input, 1});
    session.removeSequence(input.sequence);
  }
  int64_t total = 0;
  for (const LaunchTime &time : session.profiled()) {
    total += time.calls;
    EXPECT_GE(time.nanoseconds, 0);
  }
  EXPECT_EQ(total, 4 * (2 + 3 * 4));
}

TEST(Session, RefusesWhatCannotRun) {
  TemporaryFolder folder;
  writeTiny(folder.path(), 1, [](json &m) { m["variants"].erase(1); });
  EXPECT_THAT(messageOf<InputError>([&] { Session(Artifact::open(folder.path())); }),
              testing::HasSubstr("'dream' needs no-such-feature"));
  writeTiny(folder.path(), 1, [](json &m) { m["kernels"][0]["symbol"] = "tiny_missing"; });
  EXPECT_THAT(messageOf<InputError>([&] { Session(Artifact::open(folder.path())); }),
              testing::HasSubstr("tiny_missing (kernel 'embed')"));
  writeTiny(folder.path(), 1, [](json &m) { m["target"]["device"] = "abacus-9"; });
  EXPECT_THAT(messageOf<InputError>([&] { Session(Artifact::open(folder.path())); }),
              testing::HasSubstr("devices here: cpu"));
  writeTiny(folder.path(), 1, [](json &m) { m["arenas"][0].erase("file"); });
  EXPECT_THAT(messageOf<InputError>([&] { Session(Artifact::open(folder.path())); }),
              testing::HasSubstr("--weights=none"));
  writeTiny(folder.path(), 1, [](json &m) { m["entries"][0]["outputs"][0]["name"] = "x"; });
  EXPECT_THAT(messageOf<InputError>([&] { Session(Artifact::open(folder.path())); }),
              testing::HasSubstr("no output 'logits'"));
}

} // namespace
} // namespace llmc::rt::test
