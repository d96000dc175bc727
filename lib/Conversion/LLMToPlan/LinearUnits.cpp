//===- LinearUnits.cpp - products, the embedding ---------------------------===//
#include "LinearParts.h"

using namespace mlir;

namespace llmc {

using namespace llm;

std::optional<Refusal> whyNotLinear(const Unit &unit) {
  LinearParts parts;
  if (std::optional<Refusal> refusal = splitLinear(unit, parts))
    return refusal;
  for (Operation *op : parts.products)
    if (isa<ExpertLinearOp>(op))
      return Refusal{op, "stands in one launch with a product that all tokens have"};
  return std::nullopt;
}

static Value weightOf(Operation *product) { return product->getOperand(1); }
static Value biasOf(Operation *product) {
  auto linear = dyn_cast<LinearOp>(product);
  return linear ? linear.getBias() : Value();
}
static int64_t widthOf(Operation *product) {
  return cast<RankedTensorType>(product->getResult(0).getType()).getShape().back();
}

LogicalResult Converter::lowerLinear(const Unit &unit) {
  LinearParts parts;
  splitLinear(unit, parts);
  SmallVector<Operation *> &products = parts.products;
  auto source = parts.before.empty() ? parts.input() : parts.before.front()->getOperand(0);
  auto x = bufferOf(unit.resolve(source), unit.op);
  if (failed(x))
    return failure();
  bool gated = parts.isPaired();
  // The kernel's panels alternate gate first.
  if (auto gate = unit.first<GateOp>(); gate && gated && products[1]->getResult(0) == gate.getGate())
    std::swap(products[0], products[1]);

  kernels::LinearSpec spec;
  auto type = cast<WeightType>(weightOf(products.front()).getType());
  auto storage = kernels::findStorage(type.getStorageName());
  if (!storage)
    return unit.op->emitError("no CPU kernel reads weights stored as ") << type.getStorageName();
  spec.storage = *storage;
  spec.cols = type.getShape()[1];
  if (parts.before.empty() && !x->isWholeSlice()) {
    // The kernel reads rows from their first column.
    RowBuffer own = newBuffer("input", x->width, x->rows);
    if (failed(copyRows(*x, own, unit.op->getLoc(), "the kernel reads whole rows, these are columns")))
      return failure();
    x = own;
  }
  SmallVector<Value> weights, biases;
  SmallVector<int64_t> widths;
  int64_t total = 0;
  for (Operation *product : products) {
    Value bias = biasOf(product);
    weights.push_back(unit.resolve(weightOf(product)));
    biases.push_back(bias ? unit.resolve(bias) : Value());
    widths.push_back(widthOf(product));
    spec.bias |= bool(bias);
    total += gated ? (widths.back() + 15) / 16 * 16 : widths.back();
  }
  spec.rows = total;
  spec.gated = gated;
  spec.outputWidth = gated ? widths.front() : total;
  bool chosen = !unit.all<SelectRowsOp>().empty() || x->rows == plan::Extent::Outputs;
  spec.count = chosen ? kernels::RowCount::Outputs : kernels::RowCount::Tokens;
  spec.tile = kernels::linearTile(spec.rows, gated);
  auto weight = packPanels(unit.op->getLoc(), weights, spec.tile, gated);
  if (failed(weight))
    return failure();

  SmallVector<plan::UseAttr> uses{use(*x, plan::Access::Read), use(*weight)};
  if (spec.bias) {
    auto bias = packVectors(unit.op->getLoc(), biases, widths, gated);
    if (failed(bias))
      return failure();
    uses.push_back(use(*bias));
  }
  if (!parts.before.empty() && failed(addPrologue(unit, parts, *x, spec, uses)))
    return failure();
  if (failed(addEpilogue(unit, parts, spec, uses)) ||
      failed(bindLinear(unit, parts, *x, spec, uses)))
    return failure();
  if (std::string problem = kernels::checkLinear(spec); !problem.empty())
    return unit.op->emitError("no linear kernel: ") << problem;
  std::string what = isa<FusionOp>(unit.op) ? cast<FusionOp>(unit.op).getPattern().str()
                                            : unit.op->getName().getStringRef().str();
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(kernels::linearKernelFactor(spec), chosen ? plan::Extent::Outputs : x->rows,
               kernels::linearTokenBlock),
         what);
  return success();
}

/// Where the results lie: over the residual if it dies here, or in rows of their own.
LogicalResult Converter::bindLinear(const Unit &unit, const LinearParts &parts, const RowBuffer &x,
                                    kernels::LinearSpec &spec,
                                    SmallVectorImpl<plan::UseAttr> &uses) {
  plan::Extent rows =
      spec.count == kernels::RowCount::Outputs ? plan::Extent::Outputs : plan::Extent::Tokens;
  if (ResidualAddOp residual = parts.residual) {
    spec.residual = true;
    Value stream = residual.getDelta() == parts.value() ? residual.getStream() : residual.getDelta();
    auto buffer = bufferOf(unit.resolve(stream), unit.op);
    if (failed(buffer))
      return failure();
    RowBuffer out = *buffer;
    // Nor while another operand of the launch is in the same memory.
    bool read = buffer->overlaps(x) || llvm::any_of(ArrayRef(uses).drop_front(), [&](plan::UseAttr other) {
                  return other.getSymbol().getValue() == buffer->slice;
                });
    if (buffer->isWholeSlice() && diesAt(*buffer, unit.op) && !read) {
      spec.inPlace = true;
      uses.push_back(use(*buffer, plan::Access::ReadWrite));
    } else {
      if (!buffer->isWholeSlice()) {
        RowBuffer own = newBuffer("residual", buffer->width, buffer->rows);
        if (failed(copyRows(*buffer, own, unit.op->getLoc(), "the kernel adds whole rows, these are columns")))
          return failure();
        buffer = own;
      }
      out = newBuffer("sum", spec.outputWidth, rows);
      uses.push_back(use(*buffer, plan::Access::Read));
      uses.push_back(use(out, plan::Access::Write));
    }
    bind(unit.resolve(residual.getResult()), out);
    return success();
  }
  StringRef name = spec.gated                                   ? "gated"
                   : isa<OutputHeadOp>(parts.products.front()) ? "logits"
                                                                : "product";
  RowBuffer out = newBuffer(name, spec.outputWidth, rows);
  uses.push_back(use(out, plan::Access::Write));
  if (!parts.behind.empty()) {
    bind(unit.resolve(parts.value()), out);
    return success();
  }
  int64_t column = 0;
  for (Operation *product : parts.products) {
    RowBuffer part = out;
    part.offset = column;
    part.width = widthOf(product);
    column += part.width;
    bind(unit.resolve(product->getResult(0)), part);
  }
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
