//===- CompareRuns.h - where two runs of a program part ---------*- C++ -*-===//
//
// What differs is judged row by row, the numbers of one token: the relative
// error of a row is the Euclidean norm of its difference over that of the row.
// The worst row decides, so that one bad token cannot hide among good ones.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_COMPARERUNS_H
#define LLMC_LIB_PIPELINES_COMPARERUNS_H

#include "llmc/Reference/HostValue.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace llmc {

/// A tensor that a run saw. `occurrence` counts values of the same name.
struct SeenTensor {
  std::string name;
  unsigned occurrence = 0;
  /// "prefill" or "decode".
  llvm::StringRef step;
  reference::Shape shape;
  std::vector<double> values;

  /// Rows are what the first of several dimensions counts.
  int64_t rows() const { return shape.size() > 1 ? shape[0] : 1; }
  std::string key() const { return name + "#" + std::to_string(occurrence); }
};

struct ProgramRun {
  /// In the order in which they were computed.
  std::vector<SeenTensor> tensors;

  /// The tensor of that name and occurrence, or null.
  const SeenTensor *find(const SeenTensor &namesake) const;
};

/// The worst row of a tensor, and its worst element.
struct WorstRow {
  /// Infinite where a number is none in one of the two.
  double error = 0;
  int64_t row = 0;
  size_t element = 0;
  double before = 0, after = 0;
  /// Rows beyond the bound.
  int64_t differing = 0;
};

/// Compares two tensors of as many rows and elements.
WorstRow worstRow(const SeenTensor &before, const SeenTensor &after, double bound);

/// Where two runs part.
struct Difference {
  /// The tensor of the second run; the first run lacks it where `lacking` is set, and the
  /// other way round.
  const SeenTensor *tensor = nullptr;
  bool lacking = false;
  /// Shape of the first run's tensor, where shapes differ.
  std::optional<reference::Shape> otherShape;
  WorstRow worst;
  /// What the tensor was held to.
  double bound = 0;
};

/// How far a row may be off: by `least`, or by `times` the worst row by which the tensor of
/// `noisy` is off, which is the first run in another precision.
struct RunBound {
  double least = 0, times = 0;
  const ProgramRun *noisy = nullptr;
};

/// The first tensor of `after`, in the order of computation, of which a row is off from that of
/// its namesake in `before` by more than the bound; or a tensor that is no longer there.
/// `largest` becomes the largest error of a row.
std::optional<Difference> compareRuns(const ProgramRun &before, const ProgramRun &after,
                                      const RunBound &bound, double &largest);

/// "[2, 17]", the place of an element.
std::string indexText(const reference::Shape &shape, size_t element);
/// A number with all its digits.
std::string numberText(double value);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_COMPARERUNS_H
