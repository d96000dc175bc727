//===- InferProgram.h - what a model computes, as text ----------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_INFERPROGRAM_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_INFERPROGRAM_H

#include "llmc/Frontend/ResolvedModel.h"

#include <optional>
#include <string>

namespace llmc::frontend {

/// Everything that is computed, with what decides its meaning: two models with one text compute the
/// same. Nothing where an operation is at fault.
std::optional<std::string> programOf(const ResolvedModel &model);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_INFERPROGRAM_H
