//===- Collectives.h - how ranks talk ---------------------------*- C++ -*-===//

#ifndef LLMC_RUNTIME_COLLECTIVES_H
#define LLMC_RUNTIME_COLLECTIVES_H

#include <cstdint>
#include <memory>
#include <vector>

namespace llmc::rt {

/// A group of ranks as one of its members sees it. Every member makes the same
/// calls in the same order, each from one thread.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void barrier() = 0;
  /// Every member's data becomes the sum over all members. The sum starts with
  /// rank 0 and goes up: its bits depend on nothing else.
  virtual void allReduce(float *data, int64_t count) = 0;
};

/// Members that are threads of this process; element i is the communicator of
/// the i-th member.
std::vector<std::unique_ptr<Communicator>> makeInProcessGroup(int size);

} // namespace llmc::rt

#endif // LLMC_RUNTIME_COLLECTIVES_H
