//===- WholeNumbers.h - tables of integers as floats ------------*- C++ -*-===//
#ifndef LLMC_FRONTEND_WHOLENUMBERS_H
#define LLMC_FRONTEND_WHOLENUMBERS_H

#include "llmc/Frontend/StorageFormat.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace llmc::frontend {

/// Whether a tensor of this format can be a table: i32 or i64.
bool isWholeNumbers(const StorageFormat &format);

/// The numbers of a table in f32, which holds them exactly up to 2^24: an InputError names the
/// tensor and the element where one is beyond.
std::vector<float> wholeNumbers(const StorageFormat &format, std::span<const std::byte> bytes,
                                const std::string &tensor);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_WHOLENUMBERS_H
