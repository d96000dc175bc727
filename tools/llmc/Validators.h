//===- Validators.h - what numbers of the command line may be ---*- C++ -*-===//
#ifndef LLMC_TOOLS_LLMC_VALIDATORS_H
#define LLMC_TOOLS_LLMC_VALIDATORS_H

#include <CLI/CLI.hpp>

namespace llmc {

/// Refuses what is no whole number of a range; CLI11 clamps instead.
CLI::Validator wholeNumber(int64_t least, uint64_t most);
/// Refuses what is no finite number from \p least to \p most.
CLI::Validator number(double least, double most);

} // namespace llmc

#endif // LLMC_TOOLS_LLMC_VALIDATORS_H
