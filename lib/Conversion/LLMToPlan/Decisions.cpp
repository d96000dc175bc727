//===- Decisions.cpp - what the conversion says of itself -----------------===//
//
// Every decision is a remark of category `plan`, of the function that is being
// converted. What reports on a plan need and steps do not say stands on the launch.
//
//===----------------------------------------------------------------------===//
#include "Converter.h"

#include "llmc/Conversion/LaunchFacts.h"
#include "llmc/Conversion/WeightSplit.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace llmc {

static remark::RemarkOpts named(StringRef name, StringRef function) {
  return remark::RemarkOpts::name(name).category("plan").function(function);
}

/// A function with several places is converted for each: how many layers a decision is for.
static void addRuns(remark::detail::InFlightRemark &remark, int64_t runs) {
  if (runs)
    remark << remark::metric("runs", runs);
}

void Converter::took(Location loc, StringRef name, const Twine &what) {
  auto remark = remark::passed(loc, named(name, functionName));
  remark << remark::add("{0}", what.str());
  addRuns(remark, runsOfPlace);
}

void Converter::refused(Location loc, StringRef name, const Twine &reason) {
  auto remark = remark::missed(loc, named(name, functionName));
  remark << remark::reason("{0}", reason.str());
  addRuns(remark, runsOfPlace);
}

void Converter::touch(const RowBuffer &buffer, plan::Access access) {
  Touched &part = touched[buffer.slice];
  part.stride = buffer.stride;
  std::pair<int64_t, int64_t> columns(buffer.offset, buffer.offset + buffer.width);
  if (access != plan::Access::Write)
    part.read.push_back(columns);
  if (access != plan::Access::Read)
    part.written.push_back(columns);
}

/// Columns of a slice that some ranges cover; they may overlap.
static int64_t covered(SmallVector<std::pair<int64_t, int64_t>> ranges) {
  llvm::sort(ranges);
  int64_t columns = 0, end = 0;
  for (auto [from, to] : ranges) {
    columns += std::max<int64_t>(0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return columns;
}

void Converter::describeLaunch(plan::LaunchOp launch, const kernels::KernelChoice &kernel,
                               StringRef what) {
  const kernels::KernelGenerator *generator = kernels::findGenerator(kernel.generator);
  StringRef kind = generator ? StringRef(generator->kind) : StringRef("tuned");
  {
    auto remark = remark::passed(launch.getLoc(), named("launch", functionName));
    remark << remark::add("{0}: {1}", kernel.generator, what)
           << remark::detail::Remark::Arg("kind", kind)
           << remark::detail::Remark::Arg("kernel", StringRef(kernel.symbol));
    addRuns(remark, runsOfPlace);
  }
  SmallVector<int64_t> columns;
  bool anyPart = false, inPlace = false;
  for (auto use : launch.getUsesAttr().getAsRange<plan::UseAttr>()) {
    auto found = touched.find(use.getSymbol().getValue());
    if (found == touched.end()) {
      columns.append({-1, -1});
      continue;
    }
    const Touched &part = found->second;
    columns.append({covered(part.read), covered(part.written)});
    anyPart |= (use.reads() && columns.end()[-2] != part.stride) ||
               (use.writes() && columns.back() != part.stride);
    inPlace |= use.getAccess() == plan::Access::ReadWrite;
  }
  for (auto use : launch.getUsesAttr().getAsRange<plan::UseAttr>())
    touched.erase(use.getSymbol().getValue());
  if (inPlace)
    took(launch.getLoc(), "in-place",
         "the result lies where an operand was that nobody reads again");
  if (anyPart)
    launch->setAttr(touchedColumnsAttrName, step.getDenseI64ArrayAttr(columns));
  if (!layer)
    return;
  launch->setAttr(layerKindAttrName, step.getStringAttr(functionName));
  if (*layer > 0)
    launch->setAttr(placeAttrName, step.getI64IntegerAttr(*layer));
}

void Converter::describeWeights(plan::WeightsOp weights) {
  std::string layout;
  if (auto panels = dyn_cast<plan::PanelsAttr>(weights.getLayout()))
    layout = ("panels of " + Twine(plan::PanelsAttr::kPanelRows) + " rows, " +
              Twine(panels.getTile()) + " an item")
                 .str();
  else
    layout = isa<plan::RowsAttr>(weights.getLayout()) ? "rows of f32" : "a layout of its own";
  if (weights.getInterleave())
    layout += ", sources alternate";
  std::string what =
      (stringifyStorage(weights.getStorage()) + " as " + layout + ": " +
       (weights.getMatrices() > 1 ? std::to_string(weights.getMatrices()) + " x " : "") +
       std::to_string(weights.getRows()) + " x " + std::to_string(weights.getCols()) + ", " +
       std::to_string(weights.getBytes()) + " bytes" +
       (weights->hasAttr(splitAttrName) ? ", a part of each rank" : ""))
          .str();
  // Once for all layers.
  remark::passed(weights.getLoc(), named("weight-layout", functionName))
      << remark::add("{0}", what);
}

} // namespace llmc
