//===- llmc-translate.cpp - translations between IR and other forms -------===//

#include "llmc/Target/Manifest/Manifest.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  llmc::plan::registerManifestTranslations();
  return failed(mlir::mlirTranslateMain(argc, argv, "llmc translation driver"));
}
