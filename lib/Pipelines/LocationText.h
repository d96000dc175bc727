//===- LocationText.h - a location as people read it ------------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_LOCATIONTEXT_H
#define LLMC_LIB_PIPELINES_LOCATIONTEXT_H

#include "mlir/IR/Location.h"

#include <string>

namespace llmc {

/// The model path of an operation, "model.layers.{i}.mlp"; "file:line:column" for what was
/// read from a file, "-" where nothing is known. Paths of a fusion share their beginning:
/// "model.layers.{i}.mlp.{gate_proj, up_proj}".
std::string locationText(mlir::Location location);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_LOCATIONTEXT_H
