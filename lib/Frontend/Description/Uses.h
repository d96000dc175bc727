//===- Uses.h - what of a description is read at all ------------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_USES_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_USES_H

#include "llmc/Frontend/Description.h"

#include <set>

namespace llmc::frontend {

/// The parameters that something reads: checks, shapes and attributes of tensors, prefixes, facts,
/// `layers`, the model's statements, and the blocks and parameters that these reach, whichever
/// branch is taken. A layer's block is any that `layers.block` names as a literal, and those in
/// `layerBlocks`: what layers really are, where that is known.
std::set<std::string> parametersRead(const Description &description,
                                     const std::vector<std::string> &layerBlocks);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_USES_H
