//===- LinearUnits.cpp - products, the embedding ---------------------------===//
#include "Converter.h"

using namespace mlir;

namespace llmc {

using namespace llm;

namespace {
/// One product of a unit.
struct Product {
  Operation *op;
  Value input, weight, bias, result;
  int64_t width;
};

SmallVector<Product> productsOf(const Unit &unit) {
  SmallVector<Product> products;
  for (Operation *op : unit.ops) {
    if (auto linear = dyn_cast<LinearOp>(op))
      products.push_back({op, linear.getInput(), linear.getWeight(), linear.getBias(),
                          linear.getResult(), 0});
    else if (auto head = dyn_cast<OutputHeadOp>(op))
      products.push_back({op, head.getInput(), head.getWeight(), Value(), head.getResult(), 0});
  }
  for (Product &product : products)
    product.width = cast<RankedTensorType>(product.result.getType()).getShape().back();
  return products;
}
} // namespace

LogicalResult Converter::lowerLinear(const Unit &unit) {
  SmallVector<Product> products = productsOf(unit);
  auto gate = unit.first<GateOp>();
  auto residual = unit.first<ResidualAddOp>();
  auto activation = unit.first<ActivationOp>();
  auto x = bufferOf(unit.resolve(products.front().input), unit.op);
  if (failed(x))
    return failure();
  bool gated = bool(gate);
  if (gated) {
    // The kernel's panels alternate gate first.
    if (products.front().result != gate.getGate())
      std::swap(products[0], products[1]);
  }

  kernels::LinearSpec spec;
  auto type = cast<WeightType>(products.front().weight.getType());
  auto storage = kernels::findStorage(type.getStorageName());
  if (!storage)
    return unit.op->emitError("no CPU kernel reads weights stored as ") << type.getStorageName();
  spec.storage = *storage;
  spec.cols = type.getShape()[1];
  if (!x->isWholeSlice()) {
    // The kernel reads rows from their first column.
    RowBuffer own = newBuffer("input", x->width, x->rows);
    if (failed(copyRows(*x, own, unit.op->getLoc())))
      return failure();
    x = own;
  }
  SmallVector<Value> weights, biases;
  SmallVector<int64_t> widths;
  int64_t total = 0;
  bool anyBias = false;
  for (Product &product : products) {
    weights.push_back(unit.resolve(product.weight));
    biases.push_back(product.bias ? unit.resolve(product.bias) : Value());
    widths.push_back(product.width);
    anyBias |= bool(product.bias);
    total += gated ? (product.width + 15) / 16 * 16 : product.width;
  }
  spec.rows = total;
  spec.gated = gated;
  if (gated)
    spec.activation = kernelActivation(gate.getFunction());
  if (activation)
    spec.activation = kernelActivation(activation.getFunction());
  spec.outputWidth = gated ? products.front().width : total;
  spec.bias = anyBias;
  spec.residual = bool(residual);
  spec.count = x->rows == plan::Extent::Outputs ? kernels::RowCount::Outputs
                                                : kernels::RowCount::Tokens;
  spec.tile = kernels::linearTile(spec.rows, gated);
  auto weight = packPanels(unit.op->getLoc(), weights, spec.tile, gated);
  if (failed(weight))
    return failure();

  SmallVector<plan::UseAttr> uses{use(*x, plan::Access::Read), use(*weight)};
  if (anyBias) {
    auto bias = packVectors(unit.op->getLoc(), biases, widths, gated);
    if (failed(bias))
      return failure();
    uses.push_back(use(*bias));
  }

  std::string what = isa<FusionOp>(unit.op) ? cast<FusionOp>(unit.op).getPattern().str()
                                            : unit.op->getName().getStringRef().str();
  if (residual) {
    Value product = gated        ? gate.getResult()
                    : activation ? activation.getResult()
                                 : products.front().result;
    Value stream = residual.getDelta() == product ? residual.getStream() : residual.getDelta();
    auto buffer = bufferOf(unit.resolve(stream), unit.op);
    if (failed(buffer))
      return failure();
    RowBuffer out = *buffer;
    if (buffer->isWholeSlice() && diesAt(*buffer, unit.op) && !buffer->overlaps(*x)) {
      spec.inPlace = true;
      uses.push_back(use(*buffer, plan::Access::ReadWrite));
    } else {
      if (!buffer->isWholeSlice()) {
        RowBuffer own = newBuffer("residual", buffer->width, buffer->rows);
        if (failed(copyRows(*buffer, own, unit.op->getLoc())))
          return failure();
        buffer = own;
      }
      out = newBuffer("sum", spec.outputWidth, x->rows);
      uses.push_back(use(*buffer, plan::Access::Read));
      uses.push_back(use(out, plan::Access::Write));
    }
    bind(unit.resolve(residual.getResult()), out);
  } else {
    StringRef name = gated ? "gated" : isa<OutputHeadOp>(products.front().op) ? "logits" : "product";
    RowBuffer out = newBuffer(name, spec.outputWidth, x->rows);
    uses.push_back(use(out, plan::Access::Write));
    if (gated) {
      bind(unit.resolve(gate.getResult()), out);
    } else if (activation) {
      bind(unit.resolve(activation.getResult()), out);
    } else {
      int64_t column = 0;
      for (Product &product : products) {
        RowBuffer part = out;
        part.offset = column;
        part.width = product.width;
        column += product.width;
        bind(unit.resolve(product.result), part);
      }
    }
  }
  if (std::string problem = kernels::checkLinear(spec); !problem.empty())
    return unit.op->emitError("no linear kernel: ") << problem;
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(kernels::linearKernelFactor(spec), x->rows, kernels::linearTokenBlock), what);
  return success();
}

LogicalResult Converter::lowerEmbedding(const Unit &unit) {
  Operation *embedding = unit.ops.front();
  if (unit.ops.size() != 1)
    return unit.op->emitError("the embedding kernel computes llm.embedding or "
                              "llm.position_embedding alone");
  auto ofPositions = dyn_cast<PositionEmbeddingOp>(embedding);
  Value source = ofPositions ? ofPositions.getTable() : cast<EmbeddingOp>(embedding).getTable();
  auto type = cast<WeightType>(source.getType());
  auto storage = kernels::findStorage(type.getStorageName());
  if (!storage)
    return embedding->emitError("no CPU kernel reads a table stored as ") << type.getStorageName();
  // A tied table is packed once, in the layout of the output head's product.
  kernels::EmbeddingSpec spec;
  spec.storage = *storage;
  spec.rows = type.getShape()[0];
  spec.cols = type.getShape()[1];
  spec.tile = kernels::linearTile(spec.rows, /*gated=*/false);
  if (!ofPositions)
    spec.otherwise = cast<EmbeddingOp>(embedding).getOtherwise();
  if (ofPositions) {
    spec.index = kernels::TableIndex::Position;
    spec.offset = ofPositions.getOffset();
    if (maxContext > spec.rows - spec.offset)
      return embedding->emitError("max-context is ")
             << maxContext << ", but the table has rows for " << spec.rows - spec.offset
             << " positions; compile for at most that many (--max-context)";
  }
  if (std::string problem = kernels::checkEmbedding(spec); !problem.empty())
    return embedding->emitError("no embedding kernel: ") << problem;
  auto table = packPanels(unit.op->getLoc(), {unit.resolve(source)}, spec.tile, false);
  if (failed(table))
    return failure();
  RowBuffer out = newBuffer(ofPositions ? "positions" : "stream", spec.cols, plan::Extent::Tokens);
  bind(unit.resolve(embedding->getResult(0)), out);
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec),
         {use(*table), use(out, plan::Access::Write)}, items(1, plan::Extent::Tokens),
         embedding->getName().stripDialect());
  return success();
}

} // namespace llmc
