//===- llmc-translate.cpp - translations between IR and other forms -------===//

#include "llmc/Pipelines/Interrupt.h"
#include "llmc/Target/Manifest/Manifest.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  llmc::endAtFailedOutput("llmc-translate");
  llmc::plan::registerManifestTranslations();
  return failed(mlir::mlirTranslateMain(argc, argv, "llmc translation driver"));
}
