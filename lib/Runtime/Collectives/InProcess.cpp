//===- InProcess.cpp - ranks that are threads of one process --------------===//

#include "llmc/Runtime/Collectives.h"
#include "llmc/Runtime/ThreadTeam.h"

namespace llmc::rt {
namespace {

struct Group {
  explicit Group(int size) : barrier(uint32_t(size)), data(size_t(size)) {}

  Barrier barrier;
  std::vector<float *> data;
};

class InProcessMember final : public Communicator {
public:
  InProcessMember(std::shared_ptr<Group> group, int rank, bool maySpin)
      : group(std::move(group)), member(rank), budget(maySpin) {}

  int rank() const override { return member; }
  int size() const override { return int(group->data.size()); }
  void barrier() override { group->barrier.wait(budget); }

  void allReduce(float *data, int64_t count) override {
    group->data[size_t(member)] = data;
    barrier();
    // Each member adds up one part of the elements, and gives it to all.
    int64_t members = size();
    int64_t least = count / members, longer = count % members;
    int64_t begin = member * least + std::min<int64_t>(member, longer);
    int64_t end = begin + least + (member < longer ? 1 : 0);
    for (int64_t i = begin; i < end; ++i) {
      float sum = group->data[0][i];
      for (int64_t r = 1; r < members; ++r)
        sum += group->data[size_t(r)][i];
      for (float *target : group->data)
        target[i] = sum;
    }
    barrier();
  }

private:
  std::shared_ptr<Group> group;
  int member;
  SpinBudget budget;
};

} // namespace

std::vector<std::unique_ptr<Communicator>> makeInProcessGroup(int size) {
  auto group = std::make_shared<Group>(size);
  bool maySpin = size <= ThreadTeam::availableThreads();
  std::vector<std::unique_ptr<Communicator>> members;
  for (int rank = 0; rank < size; ++rank)
    members.push_back(std::make_unique<InProcessMember>(group, rank, maySpin));
  return members;
}

} // namespace llmc::rt
