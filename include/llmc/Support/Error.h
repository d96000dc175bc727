//===- Error.h - exceptions of the MLIR-free libraries ----------*- C++ -*-===//
//
// The kind of an error decides the exit code of a tool (see docs/Overview.md):
// InputError 1, UsageError 2, everything else 3. Messages are complete
// sentences for a user: file, key, tensor or op, both values, and a remedy.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_SUPPORT_ERROR_H
#define LLMC_SUPPORT_ERROR_H

#include <stdexcept>
#include <string>

namespace llmc {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The model, artifact or other input is at fault.
struct InputError : Error {
  using Error::Error;
};

/// The command line or the call is at fault.
struct UsageError : Error {
  using Error::Error;
};

/// llmc itself is at fault.
struct InternalError : Error {
  using Error::Error;
};

} // namespace llmc

#endif // LLMC_SUPPORT_ERROR_H
