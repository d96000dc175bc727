//===- Compile.h - the compiler's command line ------------------*- C++ -*-===//
#ifndef LLMC_TOOLS_LLMC_OPT_COMPILE_H
#define LLMC_TOOLS_LLMC_OPT_COMPILE_H

namespace llmc {

/// Parses the command line and compiles; returns the exit code.
int compileMain(int argc, char **argv);

} // namespace llmc

#endif // LLMC_TOOLS_LLMC_OPT_COMPILE_H
