//===- TargetFile.h - a chip as data ----------------------------*- C++ -*-===//
//
// targets/README.md describes the files. They answer questions about chips that
// llmc may make no code for; llmc/Support/Target.h holds those that it compiles for.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_TARGETFILE_H
#define LLMC_FRONTEND_TARGETFILE_H

#include "llmc/Frontend/Json.h"
#include "llmc/Support/Target.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace llmc::frontend {

/// A number and where it is from.
struct SourcedNumber {
  double value = 0;
  std::string source;
};

/// The values of one fact of an operator that are covered.
struct CoveredValues {
  /// Texts as `llmc gaps --json` prints facts; null: the fact is absent.
  std::vector<std::optional<std::string>> values;
  std::optional<double> min, max, multipleOf;

  bool covers(const std::optional<std::string> &fact) const;
  std::string toText() const;
};

struct CoveredOperator {
  /// FILE:LINE:COLUMN, for messages.
  std::string position;
  std::string by;
  std::map<std::string, CoveredValues> only;
};

/// Name and value of what tells uses of an operator apart.
using OperatorFacts = std::vector<std::pair<std::string, std::string>>;
/// Bounds of facts, by their names: the member `only` of targets and kernel libraries.
using CoveredFacts = std::map<std::string, CoveredValues>;

/// Reads such a member of a file. Throws InputError.
CoveredFacts readCoveredFacts(const std::string &file, const Json &only);
/// The value of a fact, if it is there.
std::optional<std::string> findFact(const OperatorFacts &facts, const std::string &name);
/// Empty where the facts are covered by `by`; else the first that is not, with both values.
std::string whyNotCovered(const CoveredFacts &only, const OperatorFacts &facts,
                          const std::string &by);

class TargetFile {
public:
  /// `nameOrFile`: a file, or the name of one in `folder`. Throws InputError that names file,
  /// member and both values. Which operators and facts there are is known to the dialect alone:
  /// readTarget (llmc/Pipelines/GapReport.h) asks it.
  static TargetFile read(const std::string &nameOrFile, const std::string &folder);
  /// Names of the files in `folder`, in order.
  static std::vector<std::string> names(const std::string &folder);
  /// "; near is A, B", or nothing: those of `known` that hold `name` or are spelled like it.
  static std::string nearTo(const std::string &name, const std::vector<std::string> &known);

  std::string file, name, about;
  /// Empty where llmc makes no code for it.
  std::string compilesAs;
  /// What runs the code in place of `compilesAs`: a device plugin has this name. Else empty.
  std::string device;
  /// Absent where the file says "not stated"; so is `compute`.
  std::optional<SourcedNumber> memoryBytes, memoryBytesPerSecond, linkBytesPerSecond;
  /// Operations a second by element type.
  std::map<std::string, SourcedNumber> compute;
  std::map<std::string, CoveredOperator> operators;
  /// What the file states of FusionFigures, by the members' names in JSON.
  std::map<std::string, SourcedNumber> fusion;

  /// What fusions are judged by: what the file states, else `defaults`.
  FusionFigures fusionFigures(FusionFigures defaults) const;

  /// Empty when the operator with these facts is covered, and `by` is who; else why it is not.
  std::string whyNotCovered(const std::string &op, const OperatorFacts &facts,
                            std::string &by) const;
};

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_TARGETFILE_H
