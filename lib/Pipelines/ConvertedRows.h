//===- ConvertedRows.h - weights packed in another format -------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_CONVERTEDROWS_H
#define LLMC_LIB_PIPELINES_CONVERTEDROWS_H

#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/Quantize.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace llmc {

/// Which elements of a stored tensor are the rows of a weight: element c of row r is number
/// `first + r * rowStride + c * columnStride` of `stored`.
struct StoredPart {
  int64_t rows = 0, columns = 0;
  int64_t first = 0, rowStride = 0, columnStride = 1;
  int64_t stored = 0;

  int64_t at(int64_t row, int64_t column) const {
    return first + row * rowStride + column * columnStride;
  }
  /// Whether the last element lies inside the tensor. False where it is so large that it has no
  /// number.
  bool isInside() const;
};

/// What converting weights cost, by tensor. Packing runs on several threads; what it records
/// does not depend on them.
class ConversionReport {
public:
  struct Entry {
    std::string tensor, from, to;
    frontend::StorageError error;
  };

  /// The same part of a tensor may be packed twice, as table and as head: it counts once.
  void add(const std::string &tensor, const std::string &from, const std::string &to,
           const StoredPart &part, const frontend::StorageError &error);
  /// One entry a tensor and target format, in the order of names.
  std::vector<Entry> entries() const;

private:
  using Key = std::tuple<std::string, std::string, int64_t>;
  mutable std::mutex mutex;
  std::map<Key, Entry> parts;
};

/// The part in format `to`, row after row. Plain floats widen (f64 to f32 rounds, the 8-bit
/// floats to bf16 and the whole numbers of a table to f32 are exact) or become blocks; other conversions are an InputError that names
/// the tensor.
std::vector<std::byte> convertedRows(const frontend::Checkpoint &checkpoint,
                                     const frontend::CheckpointTensor &tensor,
                                     const StoredPart &part, const frontend::StorageFormat &to,
                                     ConversionReport *report);

/// The report as JSON: {"version": 1, "tensors": [{"tensor", "from", "to", "elements", "rms",
/// "relative_rms", "relative_max"}, ...]}, one tensor a line.
std::string conversionJson(const std::vector<ConversionReport::Entry> &entries);
/// One line a pair of formats with the worst tensor, for people; empty where nothing is lost.
std::vector<std::string> conversionSummary(const std::vector<ConversionReport::Entry> &entries);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_CONVERTEDROWS_H
