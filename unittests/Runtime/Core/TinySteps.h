//===- TinySteps.h - steps of the tiny model beside its reference -*- C++ -*-===//

#ifndef LLMC_UNITTESTS_RUNTIME_TINYSTEPS_H
#define LLMC_UNITTESTS_RUNTIME_TINYSTEPS_H

#include "llmc/Runtime/Session.h"

namespace llmc::rt::test {

/// One row of logits.
std::vector<float> rowOf(const StepOutput &output, int64_t row);

/// A sequence on its way through its tokens.
struct Fed {
  int32_t sequence;
  const std::vector<int32_t> &tokens;
  const std::vector<std::vector<float>> &want; ///< logits of each token
  size_t done = 0;

  size_t left() const { return tokens.size() - done; }
};

/// Steps both at once, by so many tokens (0: without it): of `last` the last logits are compared,
/// of `all` every one.
void stepTogether(Session &session, Fed &last, size_t takeLast, Fed &all, size_t takeAll);

} // namespace llmc::rt::test

#endif // LLMC_UNITTESTS_RUNTIME_TINYSTEPS_H
