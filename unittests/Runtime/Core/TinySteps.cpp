//===- TinySteps.cpp - steps of the tiny model beside its reference -------===//

#include "TinySteps.h"

#include <gtest/gtest.h>

namespace llmc::rt::test {

std::vector<float> rowOf(const StepOutput &output, int64_t row) {
  std::span<const float> values = output.row(row);
  return {values.begin(), values.end()};
}

void stepTogether(Session &session, Fed &last, size_t takeLast, Fed &all, size_t takeAll) {
  std::vector<StepInput> inputs;
  if (takeLast)
    inputs.push_back(
        {last.sequence, std::span(last.tokens).subspan(last.done, takeLast), Logits::Last});
  if (takeAll)
    inputs.push_back({all.sequence, std::span(all.tokens).subspan(all.done, takeAll), Logits::All});
  StepOutput output = session.step(inputs);
  int64_t row = 0;
  last.done += takeLast;
  if (takeLast) {
    EXPECT_EQ(rowOf(output, row++), last.want[last.done - 1]) << last.done - 1;
  }
  for (size_t i = 0; i < takeAll; ++i, ++all.done)
    EXPECT_EQ(rowOf(output, row++), all.want[all.done]) << all.done;
  EXPECT_EQ(output.rows, row);
}

} // namespace llmc::rt::test
