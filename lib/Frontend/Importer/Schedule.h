//===- Schedule.h - layer schedules as repeats ------------------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_IMPORTER_SCHEDULE_H
#define LLMC_LIB_FRONTEND_IMPORTER_SCHEDULE_H

#include <cstdint>
#include <vector>

namespace llmc::frontend {

/// `count` times the kinds `pattern`, for the layers from `from` on.
struct ScheduleRun {
  int64_t from = 0, count = 0;
  std::vector<uint32_t> pattern;
};

/// Covers a schedule by few runs: at each place the pattern of at most 32 kinds that covers
/// most layers, the shortest of those. A published schedule (one kind, windows then full,
/// five local to one global) becomes one or two runs whatever its length.
std::vector<ScheduleRun> compressSchedule(const std::vector<uint32_t> &schedule);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_IMPORTER_SCHEDULE_H
