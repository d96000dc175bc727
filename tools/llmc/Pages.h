//===- Pages.h - completions and manual pages of llmc -----------*- C++ -*-===//
#ifndef LLMC_TOOLS_LLMC_PAGES_H
#define LLMC_TOOLS_LLMC_PAGES_H

#include <CLI/CLI.hpp>

namespace llmc {

/// The completion script of bash, zsh or fish. Throws UsageError for another.
std::string completionScript(const CLI::App &app, const std::string &shell);

/// Writes llmc.1, llmc-COMMAND.1 and the three completions into a folder.
void writePages(const CLI::App &app, const std::string &folder);

} // namespace llmc

#endif // LLMC_TOOLS_LLMC_PAGES_H
