//===- Dumps.cpp - one readable file a phase ------------------------------===//
#include "Dumps.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace llmc {

LogicalResult dumpPhase(StringRef folder, Phase phase, ModuleOp module) {
  if (folder.empty())
    return success();
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return emitError(UnknownLoc::get(module.getContext()))
           << folder << ": cannot be created: " << error.message();
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, "0" + std::to_string(unsigned(phase) + 1) + "-" +
                                    phaseName(phase).str() + ".mlir");
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (error)
    return emitError(UnknownLoc::get(module.getContext()))
           << path << ": cannot be written: " << error.message();
  out << "// After phase " << phaseName(phase) << ": " << phases()[unsigned(phase)].contract
      << "\n";
  module->print(out, OpPrintingFlags().elideLargeElementsAttrs(64));
  out << "\n";
  return success();
}

} // namespace llmc
