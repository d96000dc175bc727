//===- MoveUnits.cpp - parts of rows in other places ----------------------===//
//
// What can be seen where it lies is not moved. All else is copied by row programs
// whose operands say from where to where.
//
//===----------------------------------------------------------------------===//
#include "Converter.h"

using namespace mlir;

namespace llmc {

using namespace llm;
using kernels::RowOperand;
using kernels::RowProgram;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

LogicalResult Converter::copyRows(const RowBuffer &from, const RowBuffer &to, Location loc,
                                  StringRef why) {
  RowProgram program(from.width);
  program.output(program.input(RowOperand{0, from.stride, from.offset}),
                 RowOperand{1, to.stride, to.offset});
  launch(loc, kernels::describeKernel(module.getContext(), program),
         {use(from, plan::Access::Read), use(to, plan::Access::Write)}, items(1, from.rows),
         ("copy: " + why).str());
  return success();
}

/// The number is one of the heads in every layer that the function runs for, or in the one that
/// it is counted from.
template <typename Op>
static LogicalResult checkNumbers(Op op, std::optional<int64_t> fixed, LayersAttr layers) {
  if (!op.getLayer())
    return success();
  int64_t heads = shapeOf(op.getInput())[1];
  ArrayRef<int64_t> bounds = layers ? layers.getBounds() : ArrayRef<int64_t>();
  if (!fixed && bounds.empty())
    return op.emitOpError("counts from a layer outside of layers");
  int64_t number = int64_t(op.getNumber());
  for (int64_t layer : {fixed ? *fixed : bounds.front(), fixed ? *fixed : bounds.back() - 1})
    if (int64_t at; llvm::AddOverflow(layer, number, at) || at < 0 || at >= heads)
      return op.emitOpError("asks in layer ")
             << layer << " for number " << number << " from there, of " << heads;
  return success();
}

LogicalResult Converter::lowerSlice(SliceOp slice) {
  if (shapeOf(slice.getInput()).size() != 2 || weightBehind(slice.getInput()))
    return lowerRows(makeUnit(slice));
  auto buffer = bufferOf(slice.getInput(), slice);
  if (failed(buffer))
    return failure();
  RowBuffer part = *buffer;
  part.offset += int64_t(slice.getFrom());
  part.width = int64_t(slice.getSize());
  bind(slice.getResult(), part);
  return success();
}

LogicalResult Converter::lowerTake(TakeOp take) {
  auto fixed = layerNumber(take, take.getLayer());
  if (failed(fixed) || failed(checkNumbers(take, *fixed, functionLayers)))
    return failure();
  auto buffer = bufferOf(take.getInput(), take);
  if (failed(buffer))
    return failure();
  int64_t width = shapeOf(take.getInput())[2];
  RowBuffer part = *buffer;
  part.offset += (int64_t(take.getNumber()) + fixed->value_or(0)) * width;
  part.width = width;
  if (!take.getLayer() || *fixed) {
    bind(take.getResult(), part);
    return success();
  }
  RowBuffer out = newBuffer("take", width, buffer->rows);
  RowOperand from{0, part.stride, part.offset};
  from.chooser = 2;
  from.chooserStep = width;
  RowProgram program(width);
  program.output(program.input(from), RowOperand{1, out.stride, out.offset});
  launch(take.getLoc(), kernels::describeKernel(module.getContext(), program),
         {use(*buffer, plan::Access::Read), use(out, plan::Access::Write),
          use(packLayerNumbers())},
         items(1, out.rows), take->getName().getStringRef());
  bind(take.getResult(), out);
  return success();
}

LogicalResult Converter::lowerPut(PutOp put) {
  auto fixed = layerNumber(put, put.getLayer());
  if (failed(fixed) || failed(checkNumbers(put, *fixed, functionLayers)))
    return failure();
  auto buffer = bufferOf(put.getInput(), put), row = bufferOf(put.getRow(), put);
  if (failed(buffer) || failed(row))
    return failure();
  // In place where nobody needs the value as it was.
  if (!diesAt(*buffer, put) || buffer->overlaps(*row)) {
    RowBuffer own = newBuffer("put", buffer->width, buffer->rows);
    if (failed(copyRows(*buffer, own, put.getLoc(), "the rows without the new one are still needed")))
      return failure();
    *buffer = own;
  }
  int64_t width = shapeOf(put.getInput())[2];
  RowOperand to{1, buffer->stride,
                buffer->offset + (int64_t(put.getNumber()) + fixed->value_or(0)) * width};
  // The other rows of heads are not touched.
  SmallVector<plan::UseAttr> uses{use(*row, plan::Access::Read),
                                  use(buffer->slice, plan::Access::ReadWrite)};
  RowBuffer written = *buffer;
  written.width = width;
  touch(written, plan::Access::Write);
  if (put.getLayer() && !*fixed) {
    to.chooser = 2;
    to.chooserStep = width;
    uses.push_back(use(packLayerNumbers()));
  }
  RowProgram program(width);
  program.output(program.input(RowOperand{0, row->stride, row->offset}), to);
  launch(put.getLoc(), kernels::describeKernel(module.getContext(), program), uses,
         items(1, buffer->rows), put->getName().getStringRef());
  bind(put.getResult(), *buffer);
  return success();
}

LogicalResult Converter::lowerConcat(ConcatOp concat) {
  ArrayRef<int64_t> shape = shapeOf(concat.getResult());
  int64_t heads = shape.size() == 3 ? shape[1] : 1, total = shape.back();
  std::optional<RowBuffer> out;
  int64_t at = 0;
  for (Value input : concat.getInputs()) {
    auto buffer = bufferOf(input, concat);
    if (failed(buffer))
      return failure();
    if (!out)
      out = newBuffer("concat", heads * total, buffer->rows);
    int64_t width = shapeOf(input).back();
    RowProgram program(width, heads);
    program.output(
        program.input(RowOperand{0, buffer->stride, buffer->offset, heads == 1 ? 0 : width}),
        RowOperand{1, out->stride, out->offset + at, heads == 1 ? 0 : total});
    RowBuffer written = *out;
    written.width = heads * width;
    launch(concat.getLoc(), kernels::describeKernel(module.getContext(), program),
           {use(*buffer, plan::Access::Read), use(written, plan::Access::Write)},
           items(heads, out->rows), concat->getName().getStringRef());
    at += width;
  }
  bind(concat.getResult(), *out);
  return success();
}

LogicalResult Converter::lowerTranspose(TransposeOp transpose) {
  auto buffer = bufferOf(transpose.getInput(), transpose);
  if (failed(buffer))
    return failure();
  int64_t heads = shapeOf(transpose.getInput())[1], width = shapeOf(transpose.getInput())[2];
  RowBuffer out = newBuffer("transpose", heads * width, buffer->rows);
  // One launch moves a line of single elements; the shorter side counts them.
  constexpr int64_t mostLines = 64;
  int64_t lines = std::min(heads, width), length = std::max(heads, width);
  if (lines > mostLines)
    return transpose.emitOpError("has no CPU kernel for ")
           << heads << " heads of " << width << ": one of the two may be at most " << mostLines;
  for (int64_t line = 0; line < lines; ++line) {
    bool byHead = heads <= width;
    RowOperand from{0, buffer->stride, buffer->offset + line * (byHead ? width : 1),
                    byHead ? 1 : width};
    RowOperand to{1, out.stride, out.offset + line * (byHead ? 1 : heads), byHead ? heads : 1};
    RowProgram program(1, length);
    program.output(program.input(from), to);
    RowBuffer read = *buffer, written = out;
    read.width = written.width = length;
    launch(transpose.getLoc(), kernels::describeKernel(module.getContext(), program),
           {use(read, plan::Access::Read), use(written, plan::Access::Write)},
           items(length, out.rows), transpose->getName().getStringRef());
  }
  bind(transpose.getResult(), out);
  return success();
}

} // namespace llmc
