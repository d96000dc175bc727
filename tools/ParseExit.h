//===- ParseExit.h - how a command line that does not run ends --*- C++ -*-===//
#ifndef LLMC_TOOLS_PARSEEXIT_H
#define LLMC_TOOLS_PARSEEXIT_H

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

namespace llmc {

/// Prints the help that was asked for, or what is wrong with the command line. The exit code: 0,
/// or 2; 1 where the help could not be written.
inline int exitAfterParse(const CLI::App &app, const CLI::ParseError &error) {
  if (app.exit(error) != 0)
    return 2;
  std::cout.flush();
  if (std::cout)
    return 0;
  std::cerr << app.get_name() << ": standard output: writing failed\n";
  return 1;
}

} // namespace llmc

#endif // LLMC_TOOLS_PARSEEXIT_H
