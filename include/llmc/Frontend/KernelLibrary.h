//===- KernelLibrary.h - kernels of the user's own --------------*- C++ -*-===//
//
// A kernel library is a JSON file that names compiled objects and the operations that
// they compute (docs/Extending.md). Reading it runs nothing of them.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_KERNELLIBRARY_H
#define LLMC_FRONTEND_KERNELLIBRARY_H

#include "llmc/Frontend/TargetFile.h"

#include <string>
#include <vector>

namespace llmc::frontend {

struct UserKernel {
  std::string name;
  /// FILE:LINE:COLUMN.
  std::string position;
  /// "llm.rms_norm", or the name of an operation of an op library.
  std::string op;
  CoveredFacts only;
  /// Absolute path of the relocatable object, and the function in it.
  std::string object, symbol;
  /// Facts of the operation, numbers, that the kernel is given, in order.
  std::vector<std::string> facts;
  /// Bytes of scratch a thread: a constant, and so many for each one of a fact.
  int64_t scratch = 0;
  std::vector<std::pair<std::string, int64_t>> scratchPer;

  /// Empty where the kernel computes the operation with these facts; else why not.
  std::string whyNot(const OperatorFacts &operatorFacts) const;
  /// Values of `facts`. The operation is one that the kernel computes.
  std::vector<double> factsOf(const OperatorFacts &operatorFacts) const;
  /// Bytes a thread for such an operation; -1 where they are more than 2^30.
  int64_t scratchOf(const OperatorFacts &operatorFacts) const;
};

/// Names of the facts that are numbers, separated by commas; "no numbers" where none is.
std::string numbersIn(const OperatorFacts &facts);

/// The kernels of several files; an earlier one goes first. Throws InputError with file, line
/// and member for a file that is none, a name twice, or an object that is no file; what is in
/// the object is checked where it is linked (llmc/Kernels/CPU/UserKernels.h).
std::vector<UserKernel> readKernelLibraries(const std::vector<std::string> &files);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_KERNELLIBRARY_H
