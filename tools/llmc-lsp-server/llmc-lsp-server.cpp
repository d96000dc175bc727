//===- llmc-lsp-server.cpp - editors on llmc's IR -------------------------===//
//
// The language server protocol over stdin and stdout: diagnostics, definitions
// and hover in .mlir files with every dialect of llmc-opt.
//
//===----------------------------------------------------------------------===//
#include "llmc/InitAllDialects.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  llmc::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
