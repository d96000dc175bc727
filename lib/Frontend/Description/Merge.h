//===- Merge.h - one part of a description over another ---------*- C++ -*-===//
#ifndef LLMC_LIB_FRONTEND_DESCRIPTION_MERGE_H
#define LLMC_LIB_FRONTEND_DESCRIPTION_MERGE_H

#include "llmc/Frontend/Json.h"

#include <string>

namespace llmc::frontend {

/// Objects merge member by member, null removes, anything else replaces. `path` is where both
/// stand in the description: a few lists are added to.
void mergeJson(Json &base, const Json &over, const std::string &path);

/// Gives the tensors that a description inherits, `base`, the names that its section `renamed`
/// says: beginnings of names -> what stands in their place. `path` is the file of `own`. Throws
/// InputError for a beginning that no inherited name has.
void renameTensors(Json &base, const Json &own, const std::string &path);

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_DESCRIPTION_MERGE_H
