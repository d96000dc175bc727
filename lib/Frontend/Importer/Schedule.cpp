//===- Schedule.cpp - layer schedules as repeats --------------------------===//
#include "Schedule.h"

#include <algorithm>
#include <cstddef>

namespace llmc::frontend {

std::vector<ScheduleRun> compressSchedule(const std::vector<uint32_t> &schedule) {
  constexpr size_t longestPattern = 32;
  std::vector<ScheduleRun> runs;
  size_t at = 0;
  while (at < schedule.size()) {
    size_t bestPeriod = 1, bestCount = 1;
    for (size_t period = 1; period <= std::min(longestPattern, schedule.size() - at); ++period) {
      size_t count = 1;
      while (at + (count + 1) * period <= schedule.size() &&
             std::equal(schedule.begin() + at, schedule.begin() + at + period,
                        schedule.begin() + at + count * period))
        ++count;
      // A pattern that does not recur is no pattern, only the layer by itself.
      if ((count > 1 || period == 1) && count * period > bestCount * bestPeriod) {
        bestPeriod = period;
        bestCount = count;
      }
    }
    runs.push_back({int64_t(at), int64_t(bestCount),
                    {schedule.begin() + at, schedule.begin() + at + bestPeriod}});
    at += bestPeriod * bestCount;
  }
  return runs;
}

} // namespace llmc::frontend
