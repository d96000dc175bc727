//===- Plugins.h - dialects and passes of others ----------------*- C++ -*-===//
//
// MLIR's own plug-ins (mlir/Tools/Plugins), for the compiler and every tool that reads a
// model. A plug-in is code that runs with the rights of the program: only what the user
// names by its path is loaded.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_PLUGINS_H
#define LLMC_PIPELINES_PLUGINS_H

#include "mlir/IR/DialectRegistry.h"

#include <string>
#include <vector>

namespace llmc {

/// Loads a shared object with the entry point of a dialect plug-in; contexts that are made
/// afterwards know its dialects. `path` is a path, also without a folder: nothing is searched.
/// A message where it is none, or was built against another MLIR.
std::string loadDialectPlugin(const std::string &path);
/// The same for passes, which --phase-pass can name then. A file that is loaded already is left
/// alone; a pass or fusion whose name is taken ends the program with exit code 1 and the file's name.
std::string loadPassPlugin(const std::string &path);

/// A plug-in that is loaded, as artifacts record it.
struct LoadedPlugin {
  /// dialect-plugin or pass-plugin.
  std::string kind;
  /// Its file without the folder.
  std::string name;
  /// Of the file, 64 lower-case hexadecimal digits.
  std::string sha256;
  /// As it was named.
  std::string path;
};
/// In the order in which they were loaded, each once a kind.
std::vector<LoadedPlugin> loadedPlugins();

/// Adds the dialects of all plug-ins that are loaded.
void registerPluginDialects(mlir::DialectRegistry &registry);

/// The plug-in file whose dialect has this name; empty for a dialect of nobody's.
std::string pluginOfDialect(llvm::StringRef dialect);

} // namespace llmc

#endif // LLMC_PIPELINES_PLUGINS_H
