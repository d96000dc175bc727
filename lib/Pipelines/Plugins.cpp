//===- Plugins.cpp - dialects and passes of others ------------------------===//
#include "llmc/Pipelines/Plugins.h"

#include "llmc/Runtime/Manifest.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

#include <mutex>

using namespace mlir;

namespace llmc {

namespace {
struct Loaded {
  std::mutex mutex;
  std::vector<DialectPlugin> dialects;
  std::vector<std::string> passFiles;
  std::vector<LoadedPlugin> records;
};
} // namespace

static Loaded &loaded() {
  static Loaded instance;
  return instance;
}

/// The loader's words, with what they leave out.
static std::string problemOf(StringRef path, StringRef flag, llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  bool isFile = llvm::sys::fs::is_regular_file(path);
  return (flag + "=" + path + ": " + (isFile ? StringRef(text) : StringRef("no such file"))).str() +
         (isFile ? "; a plug-in is built against this llmc and its MLIR (docs/Extending.md)" : "");
}

/// The system searches for a name without a folder elsewhere, and finds a link by either name.
static std::string realPath(StringRef path) {
  llvm::SmallString<128> file;
  if (llvm::sys::fs::real_path(path, file)) {
    file = path;
    (void)llvm::sys::fs::make_absolute(file);
  }
  return file.str().str();
}

static void record(StringRef kind, StringRef path, StringRef file) {
  loaded().records.push_back({kind.str(), llvm::sys::path::filename(path).str(),
                              rt::sha256OfFile(file.str()), path.str()});
}

std::string loadDialectPlugin(const std::string &path) {
  std::string file = realPath(path);
  auto plugin = DialectPlugin::load(file);
  if (!plugin)
    return problemOf(path, "--load-dialect-plugin", plugin.takeError());
  std::lock_guard guard(loaded().mutex);
  bool isKnown = llvm::any_of(loaded().dialects, [&](const DialectPlugin &known) {
    return known.getFilename() == plugin->getFilename();
  });
  if (isKnown)
    return "";
  loaded().dialects.push_back(*plugin);
  record("dialect-plugin", path, file);
  return "";
}

std::string loadPassPlugin(const std::string &path) {
  std::string file = realPath(path);
  auto plugin = PassPlugin::load(file);
  if (!plugin)
    return problemOf(path, "--load-pass-plugin", plugin.takeError());
  std::lock_guard guard(loaded().mutex);
  if (llvm::is_contained(loaded().passFiles, file))
    return "";
  loaded().passFiles.push_back(file);
  record("pass-plugin", path, file);
  // MLIR's registry and llmc's table of fusions end the program where a name is taken.
  std::string flag = "--load-pass-plugin=" + path;
  llvm::ScopedFatalErrorHandler named(
      [](void *flag, const char *why, bool) {
        llvm::errs() << "error: " << *static_cast<std::string *>(flag) << ": " << why << "\n";
        std::exit(1);
      },
      &flag);
  plugin->registerPassRegistryCallbacks();
  return "";
}

std::vector<LoadedPlugin> loadedPlugins() {
  std::lock_guard guard(loaded().mutex);
  return loaded().records;
}

void registerPluginDialects(DialectRegistry &registry) {
  std::lock_guard guard(loaded().mutex);
  for (DialectPlugin &plugin : loaded().dialects)
    plugin.registerDialectRegistryCallbacks(registry);
}

std::string pluginOfDialect(StringRef dialect) {
  std::lock_guard guard(loaded().mutex);
  for (DialectPlugin &plugin : loaded().dialects) {
    DialectRegistry registry;
    plugin.registerDialectRegistryCallbacks(registry);
    if (llvm::is_contained(registry.getDialectNames(), dialect))
      return plugin.getFilename().str();
  }
  return "";
}

} // namespace llmc
