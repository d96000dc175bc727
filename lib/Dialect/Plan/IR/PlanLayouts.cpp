//===- PlanLayouts.cpp - how weights become bytes -------------------------===//
//
// Byte counts of the layouts that docs/Manifest.md specifies.
//
//===----------------------------------------------------------------------===//

#include "llmc/Dialect/Plan/IR/PlanAttrs.h"

using namespace mlir;
using namespace llmc::plan;

/// Bytes of a plain element, 0 for a block format.
static int64_t getElementBytes(Storage storage) {
  switch (storage) {
  case Storage::F32:
    return 4;
  case Storage::F16:
  case Storage::BF16:
    return 2;
  case Storage::Q8_0:
  case Storage::Q4_0:
  case Storage::Q4_1:
    return 0;
  }
  llvm_unreachable("every storage has a case");
}

FailureOr<int64_t> RowsAttr::getPackedBytes(Storage storage, int64_t rows, int64_t cols,
                                            function_ref<InFlightDiagnostic()> emitError) const {
  int64_t element = getElementBytes(storage);
  if (!element)
    return emitError() << "layout rows holds f32, f16 or bf16, storage is "
                       << stringifyStorage(storage);
  // Widened to f32 when packed.
  return saturatingMul(saturatingMul(rows, cols), 4);
}

/// One record of a panel: sixteen rows and `depth` columns.
struct PanelRecord {
  int64_t depth;
  int64_t bytes;
};

static PanelRecord getPanelRecord(Storage storage) {
  constexpr int64_t rows = PanelsAttr::kPanelRows;
  switch (storage) {
  case Storage::Q8_0: // f16 scales, then 32 bytes a row
    return {32, rows * 2 + rows * 32};
  case Storage::Q4_0: // f16 scales, then 32 nibbles a row
    return {32, rows * 2 + rows * 16};
  case Storage::Q4_1: // f16 scales, f16 minima, then 32 nibbles a row
    return {32, rows * 2 + rows * 2 + rows * 16};
  case Storage::F32:
  case Storage::F16:
  case Storage::BF16:
    return {1, rows * getElementBytes(storage)};
  }
  llvm_unreachable("every storage has a case");
}

FailureOr<int64_t> PanelsAttr::getPackedBytes(Storage storage, int64_t rows, int64_t cols,
                                              function_ref<InFlightDiagnostic()> emitError) const {
  PanelRecord record = getPanelRecord(storage);
  if (cols % record.depth != 0)
    return emitError() << cols << " columns are no whole number of " << stringifyStorage(storage)
                       << " groups of " << record.depth;
  // Items hold whole panels, the rows of the last one past the end are zero.
  int64_t panels = saturatingAlign(rows, kPanelRows * getTile()) / kPanelRows;
  return saturatingMul(panels, saturatingMul(cols / record.depth, record.bytes));
}

LogicalResult PanelsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t tile) {
  if (tile <= 0 || tile > 1024) // panels_c1
    return emitError() << "tile of " << tile << " panels is not in 1 to 1024";
  return success();
}
