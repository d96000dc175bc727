//===- ThreadTeamTest.cpp - teams and barriers under stress ---------------===//

#include "llmc/Runtime/ThreadTeam.h"
#include "llmc/Runtime/Collectives.h"

#include <cfenv>
#include <gtest/gtest.h>
#include <numeric>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace llmc::rt {
namespace {

class Teams : public testing::TestWithParam<int> {};

TEST_P(Teams, EveryWorkerRunsOnce) {
  int threads = GetParam();
  ThreadTeam team({threads, false});
  EXPECT_EQ(team.threads(), threads);
  std::vector<int> runs(size_t(threads), 0);
  for (int i = 0; i < 200; ++i)
    team.run([&](int worker, SpinBudget &) { ++runs[size_t(worker)]; });
  for (int count : runs)
    EXPECT_EQ(count, 200);
}

TEST_P(Teams, BarriersOrderWritesAndReads) {
  int threads = GetParam();
  ThreadTeam team({threads, false});
  Barrier barrier{uint32_t(threads)};
  // Plain memory: a thread sanitizer sees every missing edge.
  std::vector<int> cells(size_t(threads), 0);
  std::atomic<int> wrong{0};
  team.run([&](int worker, SpinBudget &budget) {
    for (int round = 1; round <= 300; ++round) {
      cells[size_t(worker)] = round * (worker + 1);
      barrier.wait(budget);
      int sum = std::accumulate(cells.begin(), cells.end(), 0);
      if (sum != round * threads * (threads + 1) / 2)
        ++wrong;
      barrier.wait(budget);
    }
  });
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(ThreadTeam, Teams, testing::Values(1, 2, 3, 8, 17));

TEST(ThreadTeam, ManyShortTeams) {
  for (int i = 0; i < 50; ++i) {
    ThreadTeam team({1 + i % 5, i % 2 == 0});
    std::atomic<int> count{0};
    if (i % 3)
      team.run([&](int, SpinBudget &) { ++count; });
    EXPECT_EQ(count, i % 3 ? 1 + i % 5 : 0);
  }
}

#if defined(__x86_64__)
TEST(ThreadTeam, OneControlWordForAll) {
  ThreadTeam team({3, false});
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040); // flush to zero
  std::vector<unsigned> seen(3);
  team.run([&](int worker, SpinBudget &) { seen[size_t(worker)] = _mm_getcsr() & 0xffc0; });
  EXPECT_EQ(_mm_getcsr(), before | 0x8040);
  _mm_setcsr(before);
  EXPECT_EQ(seen, std::vector<unsigned>(3, 0x1f80));
}
#endif

TEST(Collectives, SumsInRankOrder) {
  constexpr int ranks = 3;
  auto members = makeInProcessGroup(ranks);
  ThreadTeam team({ranks, false});
  for (int64_t count : {1, 2, 7, 1000}) {
    std::vector<std::vector<float>> data(ranks);
    for (int r = 0; r < ranks; ++r)
      for (int64_t i = 0; i < count; ++i)
        data[size_t(r)].push_back(r == 0 ? 1e8f : r == 1 ? -1e8f : float(i) * 0.1f);
    team.run([&](int rank, SpinBudget &) {
      members[size_t(rank)]->allReduce(data[size_t(rank)].data(), count);
    });
    for (int r = 0; r < ranks; ++r)
      for (int64_t i = 0; i < count; ++i)
        EXPECT_EQ(data[size_t(r)][size_t(i)], (1e8f + -1e8f) + float(i) * 0.1f);
  }
}

} // namespace
} // namespace llmc::rt
