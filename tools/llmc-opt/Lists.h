//===- Lists.h - what this llmc-opt knows, as text or JSON ------*- C++ -*-===//
#ifndef LLMC_TOOLS_LLMC_OPT_LISTS_H
#define LLMC_TOOLS_LLMC_OPT_LISTS_H

#include <optional>

namespace llmc {

/// Answers --list-generators, --list-fusions, --list-predicates, --list-simplifications and
/// --list-phases, with --json as JSON; docs are made from it. The exit code, or nothing where no
/// list is asked for.
std::optional<int> listMain(int argc, char **argv);

} // namespace llmc

#endif // LLMC_TOOLS_LLMC_OPT_LISTS_H
