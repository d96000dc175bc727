//===- CompareRuns.cpp - where two runs of a program part -----------------===//
#include "CompareRuns.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llmc::reference;

namespace llmc {

static constexpr double infinite = std::numeric_limits<double>::infinity();

const SeenTensor *ProgramRun::find(const SeenTensor &namesake) const {
  for (const SeenTensor &tensor : tensors)
    if (tensor.occurrence == namesake.occurrence && tensor.name == namesake.name)
      return &tensor;
  return nullptr;
}

static bool isSame(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

/// Largest finite magnitude.
static double magnitudeOf(llvm::ArrayRef<double> values) {
  double most = 0;
  for (double value : values)
    most = std::isfinite(value) ? std::max(most, std::fabs(value)) : most;
  return most;
}

/// Relative to the row; to the largest number of the tensor where the row is zero.
static double rowError(llvm::ArrayRef<double> x, llvm::ArrayRef<double> y, double tensorScale) {
  double scale = magnitudeOf(x);
  if (scale == 0)
    scale = tensorScale;
  double difference = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!isSame(x[i], y[i])) {
      if (!std::isfinite(x[i]) || !std::isfinite(y[i]) || scale == 0)
        return infinite;
      double part = (x[i] - y[i]) / scale;
      difference += part * part;
    }
    if (std::isfinite(x[i]))
      size += (x[i] / scale) * (x[i] / scale);
  }
  if (difference == 0)
    return 0;
  return std::sqrt(difference / (size > 0 ? size : double(x.size())));
}

WorstRow worstRow(const SeenTensor &before, const SeenTensor &after, double bound) {
  WorstRow worst;
  size_t rows = size_t(std::max<int64_t>(before.rows(), 1)), width = before.values.size() / rows;
  double tensorScale = magnitudeOf(before.values);
  for (size_t row = 0; row < rows && width; ++row) {
    llvm::ArrayRef<double> x(before.values.data() + row * width, width);
    llvm::ArrayRef<double> y(after.values.data() + row * width, width);
    double error = rowError(x, y, tensorScale);
    worst.differing += !(error <= bound);
    if (error <= worst.error)
      continue;
    worst.error = error;
    worst.row = int64_t(row);
    double most = -1;
    for (size_t i = 0; i < width; ++i) {
      double off = isSame(x[i], y[i]) ? 0 : std::fabs(x[i] - y[i]);
      if (std::isnan(off))
        off = infinite;
      if (off <= most)
        continue;
      most = off;
      worst.element = row * width + i;
      worst.before = x[i];
      worst.after = y[i];
    }
  }
  return worst;
}

std::optional<Difference> compareRuns(const ProgramRun &before, const ProgramRun &after,
                                      const RunBound &bound, double &largest) {
  llvm::StringMap<const SeenTensor *> byName;
  for (const SeenTensor &tensor : before.tensors)
    byName[tensor.key()] = &tensor;
  for (const SeenTensor &tensor : after.tensors) {
    auto found = byName.find(tensor.key());
    // A pass may observe more than there was.
    if (found == byName.end())
      continue;
    const SeenTensor &namesake = *found->second;
    byName.erase(found);
    Difference difference;
    difference.tensor = &tensor;
    if (namesake.shape != tensor.shape) {
      difference.otherShape = namesake.shape;
      return difference;
    }
    difference.bound = bound.least;
    if (const SeenTensor *noisy = bound.noisy ? bound.noisy->find(namesake) : nullptr)
      if (double noise = worstRow(namesake, *noisy, 0).error; std::isfinite(noise))
        difference.bound = std::max(bound.least, bound.times * noise);
    difference.worst = worstRow(namesake, tensor, difference.bound);
    largest = std::max(largest, difference.worst.error);
    if (difference.worst.differing)
      return difference;
  }
  for (const SeenTensor &tensor : before.tensors)
    if (byName.contains(tensor.key())) {
      Difference difference;
      difference.tensor = &tensor;
      difference.lacking = true;
      return difference;
    }
  return std::nullopt;
}

std::string indexText(const Shape &shape, size_t element) {
  Shape index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = int64_t(element % size_t(shape[i]));
    element /= size_t(shape[i]);
  }
  return shapeText(index);
}

std::string numberText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.17g", value);
  return text;
}

} // namespace llmc
