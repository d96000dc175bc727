//===- ConvertedRows.cpp - weights packed in another format ---------------===//
#include "ConvertedRows.h"

#include "llmc/Frontend/Json.h"
#include "llmc/Frontend/WholeNumbers.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace llmc {

using frontend::StorageFormat;

void ConversionReport::add(const std::string &tensor, const std::string &from,
                           const std::string &to, const StoredPart &part,
                           const frontend::StorageError &error) {
  std::lock_guard lock(mutex);
  parts.try_emplace({tensor, to, part.first}, Entry{tensor, from, to, error});
}

std::vector<ConversionReport::Entry> ConversionReport::entries() const {
  std::lock_guard lock(mutex);
  std::vector<Entry> list;
  for (const auto &[key, part] : parts)
    if (!list.empty() && list.back().tensor == part.tensor && list.back().to == part.to)
      list.back().error.add(part.error);
    else
      list.push_back(part);
  return list;
}

bool StoredPart::isInside() const {
  int64_t down, across, last;
  return first >= 0 && rowStride >= 0 && columnStride >= 0 &&
         !__builtin_mul_overflow(rows - 1, rowStride, &down) &&
         !__builtin_mul_overflow(columns - 1, columnStride, &across) &&
         !__builtin_add_overflow(first, down, &last) &&
         !__builtin_add_overflow(last, across, &last) && last < stored;
}

namespace {

/// Values of rows [row, row + rows) of a part, counted from its first row.
void readRows(const StorageFormat &from, std::span<const std::byte> bytes, const StoredPart &part,
              int64_t row, int64_t rows, std::span<float> out) {
  int64_t element = from.blockBytes;
  auto read = [&](int64_t at, int64_t count, std::span<float> values) {
    frontend::dequantize(from, bytes.subspan(size_t(at * element), size_t(count * element)),
                         values);
  };
  if (part.columnStride == 1) {
    for (int64_t r = 0; r < rows; ++r)
      read(part.at(row + r, 0), part.columns,
           out.subspan(size_t(r * part.columns), size_t(part.columns)));
    return;
  }
  // Down the columns: whole runs of them where rows are stored side by side.
  bool sideBySide = part.rowStride == 1;
  std::vector<float> column(static_cast<size_t>(rows));
  for (int64_t c = 0; c < part.columns; ++c) {
    if (sideBySide)
      read(part.at(row, c), rows, column);
    for (int64_t r = 0; r < rows && !sideBySide; ++r)
      read(part.at(row + r, c), 1, std::span(column).subspan(size_t(r), 1));
    for (int64_t r = 0; r < rows; ++r)
      out[size_t(r * part.columns + c)] = column[size_t(r)];
  }
}

} // namespace

std::vector<std::byte> convertedRows(const frontend::Checkpoint &checkpoint,
                                     const frontend::CheckpointTensor &tensor,
                                     const StoredPart &part, const StorageFormat &to,
                                     ConversionReport *report) {
  frontend::TensorBytes source = checkpoint.bytes(tensor);
  std::span<const std::byte> bytes = source.bytes;
  bool isTable = isWholeNumbers(*tensor.format) && !source.computed && to.name == "f32";
  std::vector<float> numbers;
  if (isTable) {
    numbers = wholeNumbers(*tensor.format, bytes, tensor.name);
    bytes = std::as_bytes(std::span(numbers));
  }
  const StorageFormat &from = isTable ? to : *tensor.format;
  std::string where = "tensor '" + tensor.name + "'";
  bool widens = isTable || &compiledFormat(from) == &to;
  if (!from.isPlain() || !from.readable || (!widens && !canQuantize(to)))
    throw InputError(where + " is stored as " + std::string(from.name) + ", the program wants " +
                     std::string(to.name) + " of it, which llmc does not make of that; compile "
                     "the model again with this checkpoint");
  auto whole = storageBytes(from, uint64_t(part.stored));
  if (!whole || *whole != bytes.size() || !part.isInside())
    throw InputError(where + " has " + std::to_string(bytes.size()) + " bytes of " +
                     std::string(from.name) + ", the program takes " + std::to_string(part.rows) +
                     " rows of " + std::to_string(part.columns) + " out of " +
                     std::to_string(part.stored) + " elements, which does not fit");
  if (part.columns % to.blockSize)
    throw InputError(where + ": rows of " + std::to_string(part.columns) +
                     " are not whole blocks of " + std::to_string(to.blockSize) + ", which " +
                     std::string(to.name) + " needs");
  std::vector<std::byte> out;
  out.reserve(size_t(part.rows) * size_t(part.columns / to.blockSize) * to.blockBytes);
  frontend::StorageError error;
  // Few rows at a time: a table has hundreds of megabytes.
  constexpr int64_t most = 64;
  std::vector<float> values, stored;
  for (int64_t row = 0; row < part.rows; row += most) {
    int64_t rows = std::min(most, part.rows - row);
    values.resize(size_t(rows * part.columns));
    stored.resize(values.size());
    readRows(from, bytes, part, row, rows, values);
    std::vector<std::byte> encoded = encodeValues(to, values, where);
    frontend::dequantize(to, encoded, stored);
    frontend::StorageError own;
    if (from.name == "f64") {
      // The values themselves are rounded already.
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < part.columns; ++c) {
          double exact;
          std::memcpy(&exact, bytes.data() + part.at(row + r, c) * 8, 8);
          own.add(exact, stored[size_t(r * part.columns + c)]);
        }
    } else {
      own.add(values, stored);
    }
    error.add(own);
    out.insert(out.end(), encoded.begin(), encoded.end());
  }
  if (report)
    report->add(tensor.name, std::string(tensor.format->name), std::string(to.name), part, error);
  return out;
}

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string conversionJson(const std::vector<ConversionReport::Entry> &entries) {
  std::string text = "{\"version\": 1, \"tensors\": [";
  for (const ConversionReport::Entry &entry : entries) {
    text += &entry == entries.data() ? "\n" : ",\n";
    text += "  {\"tensor\": " + frontend::quoteJson(entry.tensor) + ", \"from\": \"" + entry.from +
            "\", \"to\": \"" + entry.to + "\", \"elements\": " +
            std::to_string(entry.error.elements) + ", \"rms\": " + number(entry.error.rms()) +
            ", \"relative_rms\": " + number(entry.error.relativeRms()) + ", \"relative_max\": " +
            number(entry.error.relativeMax()) + "}";
  }
  return text + "\n]}\n";
}

std::vector<std::string> conversionSummary(const std::vector<ConversionReport::Entry> &entries) {
  struct Group {
    size_t tensors = 0;
    frontend::StorageError error;
    const ConversionReport::Entry *worst = nullptr;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const ConversionReport::Entry &entry : entries) {
    Group &group = groups[{entry.from, entry.to}];
    ++group.tensors;
    group.error.add(entry.error);
    if (!group.worst || entry.error.relativeRms() > group.worst->error.relativeRms())
      group.worst = &entry;
  }
  std::vector<std::string> lines;
  auto percent = [](double part) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g%%", 100 * part);
    return std::string(text);
  };
  for (const auto &[formats, group] : groups) {
    std::string line = std::to_string(group.tensors) +
                       (group.tensors == 1 ? " tensor" : " tensors") + " of " + formats.first +
                       " stored as " + formats.second;
    if (group.error.squaredErrors == 0)
      line += ", exactly";
    else
      line += ": RMS error " + percent(group.error.relativeRms()) + " of the values, worst " +
              group.worst->tensor + " with " + percent(group.worst->error.relativeRms()) +
              ", largest single error " + percent(group.worst->error.relativeMax()) +
              " of its largest value";
    lines.push_back(std::move(line));
  }
  return lines;
}

} // namespace llmc
