//===- PairedTensors.h - weights whose scales are other tensors -*- C++ -*-===//
//
// Published quantised checkpoints hold a weight as several tensors: its quants, their scales, and
// what else the method has. Here they become one tensor again, under the name and in the shape of
// the unquantised release, whose values are computed when they are asked for.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_PAIREDTENSORS_H
#define LLMC_FRONTEND_PAIREDTENSORS_H

#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/Json.h"

#include <map>
#include <string>
#include <vector>

namespace llmc::frontend {

/// What a config says of how weights are quantised.
struct QuantScheme {
  /// "fp8", "compressed-tensors", "awq" …; empty: nothing is quantised.
  std::string method;
  /// Rows and columns that share a scale; 0: as the scales' shape says.
  int64_t blockRows = 0, blockColumns = 0;
  /// Bits of a packed integer, 0 where the config does not say.
  int64_t bits = 0;
  /// Eight bits a value with powers of two as scales, one for each 32 values of a row (mxfp8).
  bool powers = false;
  /// GPTQ's zero points are stored as they are, not less one.
  bool plainZeros = false;
  /// Keys nobody knows, with dots, and their values.
  std::map<std::string, std::string> unknownKeys;
  /// llmc can compute the values; otherwise why not.
  bool readable = true;
  std::string reason;
};

/// Reads `quantization_config` (or the `quantization` object of hf_quant_config.json). Throws
/// InputError naming `file`, the key and both values for one that has no meaning.
QuantScheme readQuantScheme(const Json &config, const std::string &file);

/// How the values of a weight are computed. n, k: row and column of the unquantised matrix.
///   scaled     w[n, k] * s[n / rows, k / columns]          fp8 and int8; s may be one number
///   nvfp4      e2m1[n, k] * (e4m3 scale[n, k / 16] * g)    g a number, or divided by it
///   mxfp4      e2m1[n, k] * 2^(scale[n, k / 32] - 127)     scale 255 is no number (OCP MX 1.0)
///   mxfp8      e4m3[n, k] * 2^(scale[n, k / 32] - 127)     the same
///   packed     (q[n, k] - z) * s[n, k / group]             z: half of the range, or stored
///   awq        (q[k, n] - z[k / group, n]) * s[k / group, n]
///   gptq       (q[k, n] - (z[g[k], n] + 1)) * s[g[k], n]      z + 1 modulo the range
///   unit rows  w[n, k] / max(sqrt(sum over k of w[n, k]^2), 1e-12)     the sum in f64; no scales
/// Products in f32, each rounded once. Of two 4-bit values in a byte the first is in the low
/// bits; of eight in an i32 the first is in the lowest, for awq in the order 0 2 4 6 1 3 5 7.
enum class PairingKind : uint8_t { Scaled, Nvfp4, Mxfp4, Mxfp8, Packed, Awq, Gptq, UnitRows };

struct PairedTensors {
  PairingKind kind = PairingKind::Scaled;
  CheckpointTensor quants, scales;
  /// Names are empty where the method has none.
  CheckpointTensor global, zeros, groups;
  unsigned bits = 8;
  int64_t blockRows = 0, blockColumns = 0;
  bool divideGlobal = false, plainZeros = false;
  /// Stored as [rows, columns] of each matrix, published as [columns, rows].
  bool transposed = false;
};

/// The same checkpoint with paired tensors in place of those that belong together. What does not
/// fit together is a deferred fault that names the tensors, and stays as it is.
std::shared_ptr<Checkpoint> pairTensors(std::shared_ptr<Checkpoint> stored,
                                        const QuantScheme &scheme);

/// The name under which a checkpoint gives a tensor with its rows divided by their lengths (see
/// PairingKind), and the tensor's own of such a name; empty for another name.
std::string unitRowsName(const std::string &tensor);
std::string_view tensorOfUnitRows(std::string_view name);

/// All values of a paired tensor, row by row, in the shape `tensor` has.
std::vector<float> pairedValues(const Checkpoint &checkpoint, const CheckpointTensor &tensor);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_PAIREDTENSORS_H
