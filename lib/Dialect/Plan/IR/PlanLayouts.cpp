//===- PlanLayouts.cpp - how weights become bytes -------------------------===//
//
// Byte counts of the layouts that docs/Manifest.md specifies.
//
//===----------------------------------------------------------------------===//

#include "llmc/Dialect/Plan/IR/PlanAttrs.h"
#include "llmc/Kernels/CPU/Storage.h"

using namespace mlir;
using namespace llmc::plan;

static llmc::kernels::StorageInfo getInfo(Storage storage) {
  return llmc::kernels::storageInfo(*llmc::kernels::findStorage(stringifyStorage(storage)));
}

FailureOr<int64_t> RowsAttr::getPackedBytes(Storage storage, int64_t rows, int64_t cols,
                                            function_ref<InFlightDiagnostic()> emitError) const {
  if (!getInfo(storage).isFloat())
    return emitError() << "layout rows holds f32, f16 or bf16, storage is "
                       << stringifyStorage(storage);
  // Widened to f32 when packed.
  return saturatingMul(saturatingMul(rows, cols), 4);
}

FailureOr<int64_t> PanelsAttr::getPackedBytes(Storage storage, int64_t rows, int64_t cols,
                                              function_ref<InFlightDiagnostic()> emitError) const {
  llmc::kernels::StorageInfo info = getInfo(storage);
  if (cols % info.block != 0)
    return emitError() << cols << " columns are no whole number of " << stringifyStorage(storage)
                       << " blocks of " << info.block;
  // Items hold whole panels, the rows of the last one past the end are zero.
  int64_t panels = saturatingAlign(rows, kPanelRows * getTile()) / kPanelRows;
  return saturatingMul(panels, saturatingMul(cols / info.block, info.panelBytes()));
}

LogicalResult PanelsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t tile) {
  if (tile <= 0 || tile > 1024) // panels_c1
    return emitError() << "tile of " << tile << " panels is not in 1 to 1024";
  return success();
}
