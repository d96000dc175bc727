//===- PlanOps.cpp - assembly and builders of plan ops --------------------===//

#include "llmc/Dialect/Plan/IR/PlanOps.h"

using namespace mlir;
using namespace llmc::plan;

//===----------------------------------------------------------------------===//
// Assembly of sizes: `tokens * 2304 + 64`
//===----------------------------------------------------------------------===//

static ParseResult parseSize(OpAsmParser &parser, AffineMapAttr &attr) {
  AffineMap map;
  if (failed(parseSizeText(parser, map)))
    return failure();
  attr = AffineMapAttr::get(map);
  return success();
}

static void printSize(OpAsmPrinter &printer, Operation *, AffineMapAttr attr) {
  printSizeText(printer, attr.getValue());
}

#define GET_OP_CLASSES
#include "llmc/Dialect/Plan/IR/PlanOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

static FlatSymbolRefAttr getRef(OpBuilder &builder, StringRef name) {
  return FlatSymbolRefAttr::get(builder.getContext(), name);
}

/// An integer attribute, or null where there is no value.
static IntegerAttr getOptional(OpBuilder &builder, std::optional<int64_t> value) {
  return value ? builder.getI64IntegerAttr(*value) : IntegerAttr();
}

void ProgramOp::build(OpBuilder &builder, OperationState &state, ProducerAttr producer,
                      ModelAttr model, TargetAttr target, LimitsAttr limits, int64_t ranks) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.producer = producer;
  properties.model = model;
  properties.target = target;
  properties.limits = limits;
  properties.ranks = builder.getI64IntegerAttr(ranks);
  properties.accepted = builder.getArrayAttr({});
  state.addRegion()->emplaceBlock();
}

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name, StringRef symbol,
                     StringRef generator, int64_t scratch) {
  build(builder, state, builder.getStringAttr(name), builder.getStringAttr(symbol),
        builder.getStringAttr(generator), builder.getI64IntegerAttr(scratch), DeviceAttr(),
        IntegerAttr(), IntegerAttr(), ArrayAttr());
}

void ArenaOp::build(OpBuilder &builder, OperationState &state, StringRef name, ArenaKind kind,
                    AffineMap size, StringRef file) {
  build(builder, state, builder.getStringAttr(name),
        ArenaKindAttr::get(builder.getContext(), kind),
        size ? AffineMapAttr::get(size) : AffineMapAttr(),
        file.empty() ? StringAttr() : builder.getStringAttr(file), ArrayAttr(), PackingAttr());
}

void SliceOp::build(OpBuilder &builder, OperationState &state, StringRef name, StringRef arena,
                    AffineMap size) {
  build(builder, state, builder.getStringAttr(name), getRef(builder, arena),
        AffineMapAttr::get(size), IntegerAttr(), LiveAttr());
}

void WeightsOp::build(OpBuilder &builder, OperationState &state, StringRef name, StringRef arena,
                      LayersAttr layers, int64_t rows, int64_t cols, Storage storage,
                      WeightLayoutAttrInterface layout, int64_t interleave, int64_t bytes,
                      ArrayRef<Attribute> sources, int64_t matrices) {
  build(builder, state, builder.getStringAttr(name), getRef(builder, arena), layers,
        builder.getI64IntegerAttr(rows), builder.getI64IntegerAttr(cols),
        builder.getI64IntegerAttr(matrices),
        StorageAttr::get(builder.getContext(), storage), layout,
        builder.getI64IntegerAttr(interleave), builder.getI64IntegerAttr(bytes), IntegerAttr(),
        IntegerAttr(), builder.getArrayAttr(sources));
}

void StateOp::build(OpBuilder &builder, OperationState &state, StringRef name, StringRef arena,
                    LayersAttr layers, StateKind kind, int64_t heads, int64_t keyWidth,
                    int64_t valueWidth, Type element, int64_t bytes,
                    std::optional<int64_t> window) {
  IntegerAttr size = builder.getI64IntegerAttr(bytes);
  bool paged = kind == StateKind::Paged;
  build(builder, state, builder.getStringAttr(name), getRef(builder, arena), layers,
        StateKindAttr::get(builder.getContext(), kind), builder.getI64IntegerAttr(heads),
        builder.getI64IntegerAttr(keyWidth), builder.getI64IntegerAttr(valueWidth),
        TypeAttr::get(element), paged ? size : IntegerAttr(), paged ? IntegerAttr() : size,
        getOptional(builder, window));
}

void EntryOp::build(OpBuilder &builder, OperationState &state, StringRef name) {
  state.getOrAddProperties<Properties>().sym_name = builder.getStringAttr(name);
  state.addRegion()->emplaceBlock();
}

void LaunchOp::build(OpBuilder &builder, OperationState &state, StringRef kernel,
                     ArrayRef<UseAttr> uses, ItemsAttr items, StringRef remark) {
  build(builder, state, getRef(builder, kernel),
        builder.getArrayAttr(SmallVector<Attribute>(uses.begin(), uses.end())), items,
        remark.empty() ? StringAttr() : builder.getStringAttr(remark));
}

void RepeatOp::build(OpBuilder &builder, OperationState &state, int64_t from, int64_t count,
                     int64_t period) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.from = builder.getI64IntegerAttr(from);
  properties.count = builder.getI64IntegerAttr(count);
  properties.period = builder.getI64IntegerAttr(period);
  state.addRegion()->emplaceBlock();
}

void ObserveOp::build(OpBuilder &builder, OperationState &state, StringRef name, StringRef slice,
                      Extent rows, int64_t width, std::optional<int64_t> layer,
                      std::optional<int64_t> heads) {
  build(builder, state, builder.getStringAttr(name), getRef(builder, slice),
        ExtentAttr::get(builder.getContext(), rows), builder.getI64IntegerAttr(width),
        getOptional(builder, layer), getOptional(builder, heads));
}
