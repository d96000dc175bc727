//===- LLMEmbeddingOps.cpp - from tokens and to logits --------------------===//
//
// select_rows_c1 is the op's AllTypesMatch trait.
//
//===----------------------------------------------------------------------===//
#include "VerifyUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmc::llm;

//===----------------------------------------------------------------------===//
// embedding
//===----------------------------------------------------------------------===//

void EmbeddingOp::build(OpBuilder &builder, OperationState &state, Value tokens, Value table) {
  int64_t rows = cast<RankedTensorType>(tokens.getType()).getDimSize(0);
  int64_t width = cast<WeightType>(table.getType()).getShape().back();
  build(builder, state, RankedTensorType::get({rows, width}, builder.getF32Type()), tokens, table,
        IntegerAttr());
}

LogicalResult EmbeddingOp::verify() {
  NamedShape tokens("tokens", getTokens()), table("table", getTable()),
      result("result", getResult());
  // embedding_c1
  if (failed(verifyRank(*this, table, 2)))
    return failure();
  // embedding_c2
  if (failed(verifyRank(*this, result, 2)) || failed(verifySameRows(*this, result, tokens)) ||
      failed(verifySameDim(*this, result, 1, table, 1)))
    return failure();
  // embedding_c3
  if (std::optional<int64_t> row = getOtherwise(); row && (*row < 0 || *row >= table.shape[0]))
    return emitOpError() << "row " << *row << " of other tokens is none of the table's, of which "
                         << "there are " << table.shape[0];
  return success();
}

//===----------------------------------------------------------------------===//
// position_embedding
//===----------------------------------------------------------------------===//

void PositionEmbeddingOp::build(OpBuilder &builder, OperationState &state, Value batch, Value table,
                                int64_t offset) {
  int64_t width = cast<WeightType>(table.getType()).getShape().back();
  auto type = RankedTensorType::get({ShapedType::kDynamic, width}, builder.getF32Type());
  build(builder, state, type, batch, table, builder.getI64IntegerAttr(offset));
}

LogicalResult PositionEmbeddingOp::verify() {
  NamedShape table("table", getTable()), result("result", getResult());
  // position_embedding_c1
  if (failed(verifyRank(*this, table, 2)))
    return failure();
  // position_embedding_c2
  if (failed(verifyRank(*this, result, 2)) || failed(verifySameDim(*this, result, 1, table, 1)))
    return failure();
  // position_embedding_c3
  if (int64_t offset = getOffset(); offset < 0 || offset >= table.shape[0])
    return emitOpError() << "offset (" << offset << ") must be a row of the table, of which there "
                         << "are " << table.shape[0];
  return success();
}

//===----------------------------------------------------------------------===//
// output_head
//===----------------------------------------------------------------------===//

void OutputHeadOp::build(OpBuilder &builder, OperationState &state, Value input, Value weight) {
  int64_t rows = cast<RankedTensorType>(input.getType()).getDimSize(0);
  int64_t vocabulary = cast<WeightType>(weight.getType()).getShape().front();
  build(builder, state, RankedTensorType::get({rows, vocabulary}, builder.getF32Type()), input,
        weight);
}

LogicalResult OutputHeadOp::verify() {
  NamedShape input("input", getInput()), weight("weight", getWeight()),
      result("result", getResult());
  // output_head_c1
  if (failed(verifyRank(*this, weight, 2)) || failed(verifyRank(*this, input, 2)) ||
      failed(verifySameDim(*this, weight, 1, input, 1)))
    return failure();
  // output_head_c2
  return success(succeeded(verifyRank(*this, result, 2)) &&
                 succeeded(verifySameRows(*this, result, input)) &&
                 succeeded(verifySameDim(*this, result, 1, weight, 0)));
}
