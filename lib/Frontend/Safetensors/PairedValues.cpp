//===- PairedValues.cpp - values of weights with scales apart -------------===//
#include "llmc/Frontend/PairedTensors.h"

#include "BlockValues.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace llmc::frontend {

namespace {

/// The values of e2m1, by their four bits.
constexpr float e2m1[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                            -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

std::vector<float> floats(const Checkpoint &checkpoint, const CheckpointTensor &tensor) {
  if (tensor.format->name != "i8" && tensor.format->name != "u8")
    return checkpoint.values(tensor);
  std::span<const std::byte> bytes = checkpoint.data(tensor);
  bool isSigned = tensor.format->name == "i8";
  std::vector<float> out(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i)
    out[i] = isSigned ? float(int8_t(bytes[i])) : float(uint8_t(bytes[i]));
  return out;
}

/// Scales that are powers of two, stored as e8m0 under that name or as bytes.
std::vector<float> powers(const Checkpoint &checkpoint, const CheckpointTensor &tensor) {
  std::vector<float> s = floats(checkpoint, tensor);
  if (tensor.format->name == "u8")
    for (float &value : s)
      value = value == 255 ? std::numeric_limits<float>::quiet_NaN()
                           : std::ldexp(1.0f, int(value) - 127);
  return s;
}

int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// The matrix of all leading dimensions together.
struct Matrix {
  int64_t count = 1, rows = 1, columns = 1;
  explicit Matrix(const std::vector<int64_t> &shape) {
    columns = shape.back();
    rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
    for (size_t i = 0; i + 2 < shape.size(); ++i)
      count *= shape[i];
  }
};

void scaled(const Checkpoint &checkpoint, const PairedTensors &pair, const Matrix &m,
            std::vector<float> &out) {
  bool isMx = pair.kind == PairingKind::Mxfp8;
  std::vector<float> q = floats(checkpoint, pair.quants);
  std::vector<float> s = isMx ? powers(checkpoint, pair.scales) : floats(checkpoint, pair.scales);
  int64_t down = ceilDiv(m.rows, pair.blockRows), across = ceilDiv(m.columns, pair.blockColumns);
  bool one = s.size() == 1;
  for (int64_t e = 0; e < m.count; ++e)
    for (int64_t n = 0; n < m.rows; ++n)
      for (int64_t k = 0; k < m.columns; ++k) {
        size_t at = size_t((e * m.rows + n) * m.columns + k);
        size_t scale = size_t((e * down + n / pair.blockRows) * across + k / pair.blockColumns);
        out[at] = q[at] * s[one ? 0 : scale];
      }
}

void fourBitFloats(const Checkpoint &checkpoint, const PairedTensors &pair, const Matrix &m,
                   std::vector<float> &out) {
  std::span<const std::byte> q = checkpoint.data(pair.quants);
  bool isMx = pair.kind == PairingKind::Mxfp4;
  int64_t block = isMx ? 32 : 16;
  std::vector<float> s = isMx ? powers(checkpoint, pair.scales) : floats(checkpoint, pair.scales);
  if (!isMx) {
    std::vector<float> global = floats(checkpoint, pair.global);
    size_t each = s.size() / global.size();
    for (size_t i = 0; i < s.size(); ++i) {
      float g = global[i / each];
      s[i] = pair.divideGlobal ? s[i] / g : s[i] * g;
    }
  }
  // As stored: rows and columns change places where the tensor is published transposed.
  int64_t rows = pair.transposed ? m.columns : m.rows;
  int64_t columns = pair.transposed ? m.rows : m.columns;
  for (int64_t e = 0; e < m.count; ++e)
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t k = 0; k < columns; ++k) {
        size_t at = size_t((e * rows + n) * columns + k);
        unsigned pairOf = std::to_integer<unsigned>(q[at / 2]);
        float value = e2m1[at % 2 ? pairOf >> 4 : pairOf & 15] * s[at / size_t(block)];
        size_t to = pair.transposed ? size_t((e * columns + k) * rows + n) : at;
        out[to] = value;
      }
}

uint32_t wordAt(std::span<const std::byte> bytes, size_t index) {
  return loadAs<uint32_t>(bytes.data() + index * 4);
}

/// compressed-tensors: words along the columns; zeros along the rows.
void packed(const Checkpoint &checkpoint, const PairedTensors &pair, const Matrix &m,
            std::vector<float> &out) {
  std::span<const std::byte> q = checkpoint.data(pair.quants), z;
  if (!pair.zeros.name.empty())
    z = checkpoint.data(pair.zeros);
  std::vector<float> s = floats(checkpoint, pair.scales);
  unsigned perWord = 32 / pair.bits, mask = (1u << pair.bits) - 1;
  int64_t words = ceilDiv(m.columns, perWord), groups = ceilDiv(m.columns, pair.blockColumns);
  int half = 1 << (pair.bits - 1);
  for (int64_t n = 0; n < m.rows; ++n)
    for (int64_t k = 0; k < m.columns; ++k) {
      int64_t group = k / pair.blockColumns;
      unsigned value =
          wordAt(q, size_t(n * words + k / perWord)) >> (pair.bits * (k % perWord)) & mask;
      int zero = half;
      if (!z.empty())
        zero = int(wordAt(z, size_t(n / perWord * groups + group)) >>
                       (pair.bits * (n % perWord)) & mask);
      out[size_t(n * m.columns + k)] = float(int(value) - zero) * s[size_t(n * groups + group)];
    }
}

/// Stored as [columns, rows] of the weight; awq packs rows, gptq columns.
void transposedInts(const Checkpoint &checkpoint, const PairedTensors &pair, const Matrix &m,
                    std::vector<float> &out) {
  bool awq = pair.kind == PairingKind::Awq;
  static constexpr unsigned places[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  std::span<const std::byte> q = checkpoint.data(pair.quants), z = checkpoint.data(pair.zeros), g;
  if (!pair.groups.name.empty())
    g = checkpoint.data(pair.groups);
  std::vector<float> s = floats(checkpoint, pair.scales);
  unsigned perWord = 32 / pair.bits, mask = (1u << pair.bits) - 1;
  int64_t groups = int64_t(s.size()) / m.rows, rowWords = m.rows / perWord;
  auto shift = [&](int64_t index) {
    unsigned place = unsigned(index % perWord);
    return pair.bits * (awq ? places[place] : place);
  };
  for (int64_t k = 0; k < m.columns; ++k) {
    int64_t group = k / pair.blockColumns;
    if (!g.empty()) {
      group = int64_t(int32_t(wordAt(g, size_t(k))));
      if (group < 0 || group >= groups)
        throw InputError("tensor '" + pair.groups.name + "' puts column " + std::to_string(k) +
                         " into group " + std::to_string(group) + ", there are " +
                         std::to_string(groups));
    }
    for (int64_t n = 0; n < m.rows; ++n) {
      unsigned value = awq ? wordAt(q, size_t(k * rowWords + n / perWord)) >> shift(n)
                           : wordAt(q, size_t(k / perWord * m.rows + n)) >> shift(k);
      int zero = int(wordAt(z, size_t(group * rowWords + n / perWord)) >> shift(n) & mask);
      if (!awq && !pair.plainZeros)
        zero = int(unsigned(zero + 1) & mask);
      out[size_t(n * m.columns + k)] =
          float(int(value & mask) - zero) * s[size_t(group * m.rows + n)];
    }
  }
}

/// Rows of length one (torch's `normalize`). What is stored may be computed itself.
void unitRows(const Checkpoint &checkpoint, const PairedTensors &pair, const Matrix &m,
              std::vector<float> &out) {
  out = pair.quants.paired ? pairedValues(checkpoint, pair.quants) : checkpoint.values(pair.quants);
  for (size_t row = 0; row < size_t(m.count * m.rows); ++row) {
    std::span<float> values(out.data() + row * size_t(m.columns), size_t(m.columns));
    double sum = 0;
    for (float value : values)
      sum += double(value) * value;
    double length = std::max(std::sqrt(sum), 1e-12);
    for (float &value : values)
      value = float(value / length);
  }
}

constexpr std::string_view unitRowsBegin = "unit_rows(";

} // namespace

std::string unitRowsName(const std::string &tensor) {
  return std::string(unitRowsBegin) + tensor + ")";
}

std::string_view tensorOfUnitRows(std::string_view name) {
  if (!name.starts_with(unitRowsBegin) || !name.ends_with(")"))
    return {};
  return name.substr(unitRowsBegin.size(), name.size() - unitRowsBegin.size() - 1);
}

std::vector<float> pairedValues(const Checkpoint &checkpoint, const CheckpointTensor &tensor) {
  const PairedTensors &pair = *tensor.paired;
  // Memory for the values only where the file holds what they are made of.
  if (!pair.quants.paired)
    (void)checkpoint.data(pair.quants);
  Matrix m(tensor.shape);
  std::vector<float> out(size_t(m.count * m.rows * m.columns));
  switch (pair.kind) {
  case PairingKind::Scaled:
  case PairingKind::Mxfp8:
    scaled(checkpoint, pair, m, out);
    break;
  case PairingKind::Nvfp4:
  case PairingKind::Mxfp4:
    fourBitFloats(checkpoint, pair, m, out);
    break;
  case PairingKind::Packed:
    packed(checkpoint, pair, m, out);
    break;
  case PairingKind::Awq:
  case PairingKind::Gptq:
    transposedInts(checkpoint, pair, m, out);
    break;
  case PairingKind::UnitRows:
    unitRows(checkpoint, pair, m, out);
    break;
  }
  return out;
}

} // namespace llmc::frontend
