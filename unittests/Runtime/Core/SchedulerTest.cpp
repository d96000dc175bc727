//===- SchedulerTest.cpp - requests that share steps ----------------------===//

#include "llmc/Runtime/Scheduler.h"
#include "TinyArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace llmc::rt::test {
namespace {

int32_t largest(std::span<const float> logits) {
  return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::vector<int32_t> greedyReference(std::vector<int32_t> tokens, int64_t count,
                                     bool recurrent = false) {
  std::vector<int32_t> chosen;
  for (int64_t i = 0; i < count; ++i) {
    chosen.push_back(largest(tinyReference(tokens, 1, recurrent).back()));
    tokens.push_back(chosen.back());
  }
  return chosen;
}

struct Shape {
  int64_t blocks, sequences, chunk, outputs;
  bool recurrent = false;
};

class Scheduled : public testing::TestWithParam<Shape> {};

TEST_P(Scheduled, ResultsDoNotDependOnCompany) {
  TemporaryFolder folder;
  writeTiny(folder.path(), 1, [](nlohmann::json &m) {
    m["limits"]["max_outputs"] = GetParam().outputs;
    if (GetParam().recurrent)
      makeRecurrent(m);
  });
  SessionOptions options;
  options.threads = 2;
  options.poison = options.permuteBlocks = true;
  options.blocks = GetParam().blocks;
  options.maxSequences = GetParam().sequences;
  Session session(Artifact::open(folder.path()), options);
  Scheduler scheduler(session, {GetParam().chunk});
  constexpr int requests = 9;
  std::vector<std::vector<int32_t>> got(requests);
  std::vector<int> ended(requests, 0);
  for (int i = 0; i < requests; ++i) {
    Request request;
    request.prompt = tinyTokens(1 + i * 3 % 20, uint32_t(i));
    request.maxTokens = i % 4 * 3;
    request.promptLogits = i % 2;
    auto want = std::make_shared<std::vector<std::vector<float>>>(
        tinyReference(request.prompt, 1, GetParam().recurrent));
    request.onLogits = [=, next = int64_t(0), all = request.promptLogits](
                           int64_t position, std::span<const float> logits) mutable {
      if (size_t(position) < want->size()) {
        if (all) {
          EXPECT_EQ(position, next++);
        }
        EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), (*want)[size_t(position)]);
      }
    };
    request.next = [&got, i](std::span<const float> logits) {
      got[size_t(i)].push_back(largest(logits));
      return std::optional(got[size_t(i)].back());
    };
    request.onEnd = [&ended, i] { ++ended[size_t(i)]; };
    scheduler.submit(std::move(request));
  }
  scheduler.run();
  EXPECT_EQ(session.freeBlocks(), session.blocks());
  for (int i = 0; i < requests; ++i) {
    EXPECT_EQ(ended[size_t(i)], 1);
    EXPECT_EQ(got[size_t(i)], greedyReference(tinyTokens(1 + i * 3 % 20, uint32_t(i)), i % 4 * 3,
                                              GetParam().recurrent));
  }
}

INSTANTIATE_TEST_SUITE_P(Scheduler, Scheduled,
                         testing::Values(Shape{32, 4, 0, 16}, Shape{8, 4, 3, 16},
                                         Shape{7, 1, 1, 16}, Shape{32, 4, 5, 1},
                                         Shape{32, 4, 0, 2}, Shape{32, 4, 0, 16, true},
                                         Shape{8, 3, 3, 16, true}, Shape{7, 1, 1, 16, true}));

TEST(Scheduler, StopsWhenAsked) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 1});
  Scheduler scheduler(session);
  int calls = 0;
  Request request;
  request.prompt = {1, 2, 3};
  request.maxTokens = 20;
  request.next = [&](std::span<const float>) {
    return ++calls < 4 ? std::optional<int32_t>(calls) : std::nullopt;
  };
  Scheduler::Id other = scheduler.submit(request);
  scheduler.run();
  EXPECT_EQ(calls, 4);
  other = scheduler.submit(request);
  calls = -100;
  scheduler.step();
  scheduler.cancel(other);
  EXPECT_FALSE(scheduler.step());
  EXPECT_EQ(calls, -99);
  EXPECT_EQ(session.freeBlocks(), session.blocks());
}

TEST(Scheduler, RefusesWhatNeverFits) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 1, .blocks = 5});
  Scheduler scheduler(session);
  Request request;
  EXPECT_THROW(scheduler.submit(request), InputError);
  request.prompt = tinyTokens(21);
  EXPECT_THROW(scheduler.submit(request), InputError);
  request.prompt.resize(18);
  request.next = [](std::span<const float>) { return std::optional<int32_t>(1); };
  request.maxTokens = 4;
  EXPECT_THROW(scheduler.submit(request), InputError);
  request.maxTokens = 3;
  scheduler.submit(request);
  scheduler.run();
}

TEST(Scheduler, CancelledStepCanBeRunAgain) {
  TemporaryFolder folder;
  Session session(openTiny(folder), {.threads = 2});
  Scheduler scheduler(session);
  std::vector<int32_t> got;
  Request request;
  request.prompt = tinyTokens(10);
  request.maxTokens = 5;
  request.next = [&](std::span<const float> logits) {
    got.push_back(largest(logits));
    return std::optional(got.back());
  };
  scheduler.submit(request);
  for (bool more = true; more;) {
    session.cancel();
    EXPECT_THROW(scheduler.step(), CancelledError);
    more = scheduler.step();
  }
  EXPECT_EQ(got, greedyReference(tinyTokens(10), 5));
}

} // namespace
} // namespace llmc::rt::test
