//===- ToyLowering.cpp - programs for the matrix unit of a toy chip -------===//
//
// Runs behind phase plan. A product of f32 without an end of its own becomes a device
// kernel: its program, a line of text, stands in `plan.code`, and the package phase
// writes it to the file that the kernel names. All else stays code for the cores.
//
//===----------------------------------------------------------------------===//
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace llmc;

namespace {
/// The parameters of a product (docs/Kernels.md: `plan.config`) that the unit can compute.
struct Product {
  int64_t rows = 0, cols = 0, tile = 2, width = 0;
};

/// Nothing where the unit does not have what the product asks for.
std::optional<Product> readProduct(DictionaryAttr config) {
  Product product;
  StringRef storage = "f32";
  for (NamedAttribute field : config) {
    StringRef name = field.getName();
    auto number = dyn_cast<IntegerAttr>(field.getValue());
    if (name == "storage" && isa<StringAttr>(field.getValue()))
      storage = cast<StringAttr>(field.getValue()).getValue();
    else if (name == "rows" && number)
      product.rows = number.getInt();
    else if (name == "cols" && number)
      product.cols = number.getInt();
    else if (name == "tile" && number)
      product.tile = number.getInt();
    else if (name == "output_width" && number)
      product.width = number.getInt();
    else
      return std::nullopt; // an activation, a residual, other strides
  }
  if (storage != "f32" || product.rows < 1 || product.cols < 1)
    return std::nullopt;
  if (!product.width)
    product.width = product.rows;
  return product;
}

struct ToyLowerPass : PassWrapper<ToyLowerPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToyLowerPass)

  StringRef getArgument() const final { return "toy-lower"; }
  StringRef getDescription() const final { return "Give products of f32 to the matrix unit"; }

  void runOnOperation() override {
    getOperation().walk([](plan::KernelOp kernel) {
      auto config = kernel->getAttrOfType<DictionaryAttr>("plan.config");
      if (kernel.getDevice() || kernel.getGenerator() != "linear" || !config)
        return;
      std::optional<Product> product = readProduct(config);
      if (!product) {
        remark::missed(kernel.getLoc(), remark::RemarkOpts::name("toy").category("vendor"))
            << remark::reason("{0}", "the matrix unit has no such end, stride or storage");
        return;
      }
      lower(kernel, *product);
      remark::passed(kernel.getLoc(), remark::RemarkOpts::name("toy").category("vendor"))
          << remark::metric("rows", product->rows) << remark::metric("cols", product->cols);
    });
  }

  static void lower(plan::KernelOp kernel, const Product &product) {
    MLIRContext *context = kernel.getContext();
    std::string code = "toy 1\nmatmul rows " + std::to_string(product.rows) + " cols " +
                       std::to_string(product.cols) + " tile " + std::to_string(product.tile) +
                       " width " + std::to_string(product.width) + "\n";
    auto one = plan::ItemsAttr::get(context, 1, plan::Extent::One, 1, 0);
    kernel.setGenerator("toy-matrix");
    kernel.setScratch(0);
    kernel.setDeviceAttr(plan::DeviceAttr::get(
        context, ("toy/" + kernel.getSymbol() + ".txt").str(), {one}, {1}, 0));
    kernel->setAttr("plan.code", StringAttr::get(context, code));
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "ToyLowering", LLVM_VERSION_STRING,
          [] { PassRegistration<ToyLowerPass>(); }};
}
