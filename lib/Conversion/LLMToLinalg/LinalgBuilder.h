//===- LinalgBuilder.h - linalg over rows, computed in f32 ------*- C++ -*-===//
#ifndef LLMC_LIB_CONVERSION_LLMTOLINALG_LINALGBUILDER_H
#define LLMC_LIB_CONVERSION_LLMTOLINALG_LINALGBUILDER_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir {
class RewritePatternSet;
class TypeConverter;
} // namespace mlir

namespace llmc {

/// Scalars of one body, f32 where they are floats.
class ScalarBuilder {
public:
  using Value = mlir::Value;
  ScalarBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  Value constant(double value);
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  Value neg(Value x);
  Value sqrt(Value x);
  /// x * y + z with one rounding.
  Value fma(Value x, Value y, Value z);
  Value activation(llm::Activation function, Value x);

  Value widen(Value x);
  Value narrow(Value x, mlir::Type type);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// Tensors that share the leading dimensions of rows. Bodies see every float as f32;
/// what they return is rounded to the result's element type.
class LinalgBuilder {
public:
  using Value = mlir::Value;
  using Body = llvm::function_ref<Value(ScalarBuilder &, mlir::ValueRange)>;
  struct Operand {
    Value value;
    mlir::AffineMap map;
  };

  LinalgBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  /// Every loop of `rank`; all but the last; the last alone.
  mlir::AffineMap all(unsigned rank) const;
  mlir::AffineMap leading(unsigned rank) const;
  mlir::AffineMap last(unsigned rank) const;

  /// A tensor without values; dynamic sizes are those of `like`.
  Value empty(Value like, mlir::RankedTensorType type);
  /// One element of the result from one of each operand.
  Value map(Value like, mlir::RankedTensorType type, llvm::ArrayRef<Operand> operands, Body body);
  /// Sums over the last `loops - rank(type)` loops, from zero and in ascending order. The
  /// body's last value is the sum so far.
  Value sum(Value like, mlir::RankedTensorType type, unsigned loops,
            llvm::ArrayRef<Operand> operands, Body body);

private:
  Value generic(Value init, unsigned loops, llvm::ArrayRef<Operand> operands, bool readsInit,
                Body body);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

void populateRowPatterns(const mlir::TypeConverter &types, mlir::RewritePatternSet &patterns);
void populateHeadPatterns(const mlir::TypeConverter &types, mlir::RewritePatternSet &patterns);

} // namespace llmc

#endif // LLMC_LIB_CONVERSION_LLMTOLINALG_LINALGBUILDER_H
