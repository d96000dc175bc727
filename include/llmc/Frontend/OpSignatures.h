//===- OpSignatures.h - operations that libraries add -----------*- C++ -*-===//
//
// What a description may call besides the operations of OpHooks.h: functions of the
// user's op libraries (docs/Extending.md), here without their bodies. Sizes in a
// signature are examples: equal numbers stand for equal sizes.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_OPSIGNATURES_H
#define LLMC_FRONTEND_OPSIGNATURES_H

#include "llmc/Frontend/OpHooks.h"

#include <map>
#include <string>
#include <vector>

namespace llmc::frontend {

struct OpSignature {
  struct Argument {
    bool isWeight = false;
    /// As in ShapeHooks: without the tokens.
    std::vector<int64_t> shape;
  };
  /// A number that a call may give by name.
  struct Setting {
    std::string name;
    double value = 0;
    bool isWhole = false;
  };

  std::string name;
  /// FILE:LINE.
  std::string position;
  std::vector<Argument> arguments;
  std::vector<int64_t> result;
  std::vector<Setting> settings;

  /// The sizes that a call with arguments of `shapes` has in place of the example's. Throws
  /// InputError (opError) where it does not fit, with both sides.
  std::map<int64_t, int64_t> sizesOf(const OpCall &call,
                                     const std::vector<std::vector<int64_t>> &shapes) const;
  /// The settings of a call, in the order of `settings`. Throws InputError.
  std::vector<double> settingsOf(const OpCall &call) const;
  /// "name(tensor [96], weight [96], eps: 1e-05) -> [96]".
  std::string text() const;
};

/// The size that stands for an example's; a size that is no argument's stays.
int64_t actualSize(const std::map<int64_t, int64_t> &sizes, int64_t example);

class OpSignatures {
public:
  /// Throws InputError for a name that is in use, or that no statement can call.
  void add(OpSignature signature);
  const OpSignature *find(const std::string &name) const;
  std::vector<std::string> names() const;

private:
  std::map<std::string, OpSignature> byName;
};

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_OPSIGNATURES_H
