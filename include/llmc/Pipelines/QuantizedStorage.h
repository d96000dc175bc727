//===- QuantizedStorage.h - bytes of weights that a config quantises -*- C++ -*-===//
//
// What published files hold of a weight follows from `quantization_config` alone: quants, and the
// scales, zero points and indices of the method. For reports of memory where no headers are read.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_QUANTIZEDSTORAGE_H
#define LLMC_PIPELINES_QUANTIZEDSTORAGE_H

#include "llmc/Frontend/QuantizationConfig.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/Regex.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llmc {

/// Formats as PairedTensors.h has them.
struct QuantizedFormat {
  /// fp8, int4, nvfp4, mxfp4 …
  std::string name;
  int64_t bits = 8;
  /// Rows and columns that share a scale; 0: all of the matrix.
  int64_t blockRows = 0, blockColumns = 0;
  int64_t scaleBytes = 4;
  /// Of a scale's zero point; 0: there is none.
  int64_t zeroBits = 0;
  /// Of the matrix: a second scale; of each column: the group that it belongs to.
  int64_t matrixBytes = 0, columnBytes = 0;

  /// Of so many matrices; saturates.
  int64_t bytes(int64_t matrices, int64_t rows, int64_t columns) const;
  /// "fp8 with a scale of 4 bytes for 128 x 128 values".
  std::string text() const;
};

/// Modules of a list: their names or the ends of these, patterns with `*`, "re:" and a regular
/// expression for the beginning, or "Linear" for all. What is inside of a module belongs to it.
class ModuleNames {
public:
  ModuleNames() = default;
  explicit ModuleNames(const std::vector<std::string> &texts);
  bool contain(llvm::StringRef module) const;

private:
  bool all = false;
  llvm::StringSet<> exact;
  /// A pattern refers to its text.
  std::vector<std::pair<std::shared_ptr<std::string>, llvm::GlobPattern>> globs;
  std::vector<std::shared_ptr<llvm::Regex>> expressions;
};

/// Which weights are quantised.
class QuantizationRules {
public:
  enum class Weight { Product, Experts, Head, Other };

  /// Null where nothing is quantised.
  static std::shared_ptr<const QuantizationRules> read(const frontend::ModelSource &source);

  /// How the weight of this published name is stored; null: as it would be unquantised.
  const QuantizedFormat *formatOf(const std::string &name, Weight kind) const;
  /// "quantization_config.quant_method=X" where llmc does not know the sizes of what it makes.
  const std::string &notCounted() const { return unknown; }
  /// "quantization_config.config_groups.NAME" of the first group whose format is not among these.
  std::string groupWithout(const std::vector<std::vector<const QuantizedFormat *>> &used) const;
  const std::string &method() const { return methodName; }

private:
  struct Group {
    /// Of a config's group.
    std::string name;
    /// Nothing: all.
    std::optional<ModuleNames> targets;
    QuantizedFormat format;
    bool isKnown = true;
  };
  void readGroups(const frontend::Json &config);
  void readMethod(const frontend::Json &config);

  std::string methodName, unknown;
  ModuleNames ignored;
  /// The first that has a weight stands.
  std::vector<Group> groups;
  /// Of experts, before any group.
  std::optional<QuantizedFormat> expertFormat;
  /// Whether only experts, and whether the output head is quantised.
  bool onlyExperts = false, withHead = false;
};

} // namespace llmc

#endif // LLMC_PIPELINES_QUANTIZEDSTORAGE_H
