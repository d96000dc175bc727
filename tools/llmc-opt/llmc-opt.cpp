//===- llmc-opt.cpp - the compiler, and an -opt tool on its IR ------------===//
//
// With a model as first argument or a flag of the compiler: from a model to an artifact. With --list-…: what there
// is. Else: MlirOptMain on a .mlir file, with every pass, pipeline and plugin flag
// of MLIR.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"
#include "Lists.h"

#include "llmc/InitAllDialects.h"
#include "llmc/InitAllPasses.h"
#include "llmc/Pipelines/Interrupt.h"
#include "llmc/Pipelines/Plugins.h"
#include "llmc/Support/Printable.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

#ifdef LLMC_INCLUDE_TESTS
namespace llmc::test {
void registerTestPasses();
}
#endif

/// A model rather than IR: only the compiler can read it.
static bool isModel(llvm::StringRef arg) {
  return !arg.starts_with("-") &&
         (arg.ends_with(".gguf") || arg.ends_with(".jsonc") || arg.ends_with("config.json") ||
          llvm::sys::fs::is_directory(arg));
}

static bool wantsCompiler(int argc, char **argv) {
  if (argc == 1)
    return true;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg(argv[i]);
    // The first argument, so that a folder given to another flag is none.
    if (i == 1 && isModel(arg))
      return true;
    bool isFlag = arg.consume_front("-");
    arg.consume_front("-");
    auto [name, value] = arg.split('=');
    if (isFlag && llmc::isCompilerFlag(name.str()))
      return true;
  }
  return false;
}

/// Loads the plug-ins of the command line and takes their flags from it: before the lists, which
/// have what they bring, and with errors that MLIR's own loader only mentions.
static bool loadPlugins(int &argc, char **argv) {
  const std::pair<llvm::StringRef, std::string (*)(const std::string &)> flags[] = {
      {"load-dialect-plugin", llmc::loadDialectPlugin}, {"load-pass-plugin", llmc::loadPassPlugin}};
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg(argv[i]);
    bool isFlag = arg.consume_front("-");
    arg.consume_front("-");
    auto [name, file] = arg.split('=');
    auto flag = llvm::find_if(flags, [&, name = name](auto &known) {
      return isFlag && known.first == name;
    });
    bool isNext = arg == name;
    if (flag == std::end(flags) || (isNext && i + 1 == argc)) {
      argv[kept++] = argv[i];
      continue;
    }
    if (std::string problem = flag->second(isNext ? argv[++i] : file.str()); !problem.empty()) {
      llvm::errs() << "llmc-opt: error: " << llmc::printable(problem) << "\n";
      return false;
    }
  }
  argv[argc = kept] = nullptr;
  return true;
}

int main(int argc, char **argv) {
  if (wantsCompiler(argc, argv))
    return llmc::compileMain(argc, argv);
  llmc::registerAllPasses();
  if (!loadPlugins(argc, argv))
    return 1;
  // Behind the plug-ins, whose loader has a handler of its own for a while.
  llmc::endAtFailedOutput("llmc-opt");
  if (std::optional<int> listed = llmc::listMain(argc, argv))
    return *listed;
  mlir::DialectRegistry registry;
  llmc::registerAllDialects(registry);
  llmc::registerPluginDialects(registry);
#ifdef LLMC_INCLUDE_TESTS
  llmc::test::registerTestPasses();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv,
      "llmc optimizer driver, whose flags are MLIR's and follow; a compiler, whose flags are those "
      "of `llmc compile --help`, where the first argument is a model "
      "(folder, .gguf, .jsonc, config.json; target cpu), or with one of its flags; "
      "--list-generators, --list-fusions, --list-predicates, --list-simplifications, --list-phases and --json print what there is\n",
      registry));
}
