//===- Compile.h - the compiler's command line ------------------*- C++ -*-===//
#ifndef LLMC_TOOLS_LLMC_OPT_COMPILE_H
#define LLMC_TOOLS_LLMC_OPT_COMPILE_H

#include <string>

namespace llmc {

/// Parses the command line and compiles; returns the exit code.
int compileMain(int argc, char **argv);

/// Whether a flag, without dashes, is one that the compiler has and the -opt tool has not.
bool isCompilerFlag(const std::string &name);

} // namespace llmc

#endif // LLMC_TOOLS_LLMC_OPT_COMPILE_H
