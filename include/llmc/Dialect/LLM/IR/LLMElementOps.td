//===- LLMElementOps.td - arithmetic of rows, heads and streams -*- tablegen -*-===//
//
// What models compute beside products, norms and attention: arithmetic between
// rows, heads and single values of a token, and moving parts of rows. Descriptions
// combine these; none of them belongs to one architecture.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_DIALECT_LLM_IR_LLMELEMENTOPS
#define LLMC_DIALECT_LLM_IR_LLMELEMENTOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_BinaryOp : LLM_Op<"binary", [Pure]> {
  let summary = "Arithmetic of two values, element by element";
  let description = [{
    `y = a f b` with f one of add, sub, mul, div, min and max (`b < a ? b : a`,
    `b > a ? b : a`); one rounding, f32. A dimension of size 1 is repeated to that of the
    other operand; a value of rank 2 beside one of rank 3 has one element a head,
    [tokens, heads] or [tokens, 1], never one a channel: make it [tokens, 1, width] with
    `llm.split_heads`. The sum of a stream and a block's output is `llm.residual_add`.

    Constraints: `binary_c1` operands have rank 2 or 3 and static dimensions beside the
    tokens; `binary_c2` they fit, dimension by dimension; `binary_c3` the result has their
    larger dimensions and their element type.

    ```mlir
    %y = llm.binary mul %x, %g : tensor<?x8x64xf32>, tensor<?x8xf32> -> tensor<?x8x64xf32>
    ```
  }];
  let arguments = (ins LLM_BinaryFunctionAttr:$function, LLM_Rows:$lhs, LLM_Rows:$rhs);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    custom<BinaryName>($function) $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->`
    type($result)
  }];
  let builders = [OpBuilder<(ins "::llmc::llm::BinaryFunction":$function, "::mlir::Value":$lhs,
      "::mlir::Value":$rhs)>];
  let extraClassDeclaration = [{
    /// Dimensions of the result; empty where the operands do not fit.
    static ::llvm::SmallVector<int64_t> broadcast(::llvm::ArrayRef<int64_t> lhs,
                                                  ::llvm::ArrayRef<int64_t> rhs);
  }];
  let hasVerifier = 1;
}

def LLM_WeightRowsOp : LLM_Op<"weight_rows", [Pure]> {
  let summary = "A weight as the row of every token";
  let description = [{
    `y[t, ...] = w[...]`: what arithmetic takes of a weight. Kernels read it where it lies;
    nothing is copied for each token.

    Constraints: `weight_rows_c1` the weight has rank 1 or 2; `weight_rows_c2` the result
    is [tokens, dimensions of the weight].

    ```mlir
    %y = llm.weight_rows %w, %batch : !llm.weight<[8], #llm.dense<f32>> -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins LLM_WeightType:$weight, LLM_BatchType:$batch);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $weight `,` $batch attr-dict `:` qualified(type($weight)) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$weight, "::mlir::Value":$batch)>];
  let hasVerifier = 1;
}

def LLM_OffsetOp : LLM_Op<"offset", [Pure, SameOperandsAndResultType]> {
  let summary = "Adds a constant";
  let description = [{
    `y = x + f32(term)`. A term of 0 folds away.

    Constraints: `offset_c1` input and result have the same type; `offset_c2` the term is
    finite.

    ```mlir
    %y = llm.offset %x by 1.0 : tensor<?x576xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, F64Attr:$term);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$input `by` custom<Real>($term) attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "double":$term)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def LLM_ClampOp : LLM_Op<"clamp", [Pure, SameOperandsAndResultType]> {
  let summary = "Bounds values by constants";
  let description = [{
    `y = min(max(x, f32(low)), f32(high))`; a bound that is not given does not bind.

    Constraints: `clamp_c1` input and result have the same type; `clamp_c2` there is a
    bound, bounds are finite, and low is at most high.

    ```mlir
    %y = llm.clamp %x min -7.0 max 7.0 : tensor<?x576xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, OptionalAttr<F64Attr>:$low, OptionalAttr<F64Attr>:$high);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input (`min` custom<Real>($low)^)? (`max` custom<Real>($high)^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def LLM_SoftmaxOp : LLM_Op<"softmax", [Pure, SameOperandsAndResultType]> {
  let summary = "Softmax over the last dimension";
  let description = [{
    `y = exp(x - max x) / sum exp(x - max x)`, f32.

    Constraints: `softmax_c1` input and result have the same type.

    ```mlir
    %y = llm.softmax %x : tensor<?x4x4xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def LLM_RowStatOp : LLM_Op<"row_stat", [Pure]> {
  let summary = "One number of the last dimension";
  let description = [{
    mean `sum x / n`, deviation `sqrt(sum (x - mean)^2 / n)` (that of a population), sum or
    max of the last dimension, which becomes 1; f32.

    Constraints: `row_stat_c1` the result is the input with a last dimension of 1.

    ```mlir
    %y = llm.row_stat mean %x : tensor<?x576xf32> -> tensor<?x1xf32>
    ```
  }];
  let arguments = (ins LLM_RowStatisticAttr:$statistic, LLM_Rows:$input);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    custom<StatisticName>($statistic) $input attr-dict `:` type($input) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::llmc::llm::RowStatistic":$statistic, "::mlir::Value":$input)>];
  let hasVerifier = 1;
}

def LLM_SliceOp : LLM_Op<"slice", [Pure]> {
  let summary = "A range of the last dimension";
  let description = [{
    `y[..., d] = x[..., from + d]`.

    Constraints: `slice_c1` the result is the input with another last dimension, the size;
    `slice_c2` the range lies in the input's last dimension. All of it folds away.

    ```mlir
    %y = llm.slice %x from 64 size 32 : tensor<?x8x96xf32> -> tensor<?x8x32xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, I64Attr:$from, I64Attr:$size);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input `from` $from `size` $size attr-dict `:` type($input) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$from, "int64_t":$size)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def LLM_ConcatOp : LLM_Op<"concat", [Pure]> {
  let summary = "Values one after another along the last dimension";
  let description = [{
    `y[..., :] = x_0[..., :], x_1[..., :], ...`.

    Constraints: `concat_c1` there is an input, and inputs and result agree in all but the
    last dimension; `concat_c2` the result's last dimension is the sum of theirs. One input
    folds away.

    ```mlir
    %y = llm.concat %a, %b : tensor<?x8x64xf32>, tensor<?x8x32xf32> -> tensor<?x8x96xf32>
    ```
  }];
  let arguments = (ins Variadic<LLM_Rows>:$inputs);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def LLM_TransposeOp : LLM_Op<"transpose", [Pure]> {
  let summary = "Exchanges heads and width";
  let description = [{
    `y[t, d, h] = x[t, h, d]`.

    Constraints: `transpose_c1` the input has rank 3; `transpose_c2` the result is [tokens,
    width, heads]. Twice folds away.

    ```mlir
    %y = llm.transpose %x : tensor<?x4x8xf32> -> tensor<?x8x4xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def LLM_TakeOp : LLM_Op<"take", [Pure]> {
  let summary = "One head, stream or layer's share of a value";
  let description = [{
    `y[t, d] = x[t, n, d]` with a constant n, or n the layer index plus a constant.

    Constraints: `take_c1` the input has rank 3; `take_c2` the result is [tokens, width];
    `take_c3` a constant number is one of the input's.

    ```mlir
    %y = llm.take %x[1] : tensor<?x4x576xf32> -> tensor<?x576xf32>
    %z = llm.take %p[%i + 0] : tensor<?x30x256xf32> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, Optional<Index>:$layer, I64Attr:$number);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input `[` custom<HeadNumber>($layer, $number) `]` attr-dict `:` type($input) `->`
    type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$layer,
      "int64_t":$number)>];
  let hasVerifier = 1;
}

def LLM_PutOp : LLM_Op<"put", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "A value with one head or stream replaced";
  let description = [{
    `y[t, n, d] = row[t, d]`, all else as in the input; n as in `llm.take`.

    Constraints: `put_c1` input and result have the same type, of rank 3; `put_c2` the row
    is [tokens, width]; `put_c3` a constant number is one of the input's.

    ```mlir
    %y = llm.put %x[1], %r : tensor<?x4x576xf32>, tensor<?x576xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_Rows:$row, Optional<Index>:$layer, I64Attr:$number);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input `[` custom<HeadNumber>($layer, $number) `]` `,` $row attr-dict `:` type($input) `,`
    type($row)
  }];
  let hasVerifier = 1;
}

def LLM_MixOp : LLM_Op<"mix", [Pure]> {
  let summary = "Heads or streams mixed by coefficients of each token";
  let description = [{
    `y[t, i, d] = sum_j c[t, i, j] * x[t, j, d]`: one FMA chain from zero in ascending j,
    f32.

    Constraints: `mix_c1` operands have rank 3 and the coefficients as many columns as the
    input has heads; `mix_c2` the result is [tokens, rows of the coefficients, width].

    ```mlir
    %y = llm.mix %c, %x : tensor<?x4x4xf32>, tensor<?x4x576xf32> -> tensor<?x4x576xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$coefficients, LLM_Rows:$input);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $coefficients `,` $input attr-dict `:` type($coefficients) `,` type($input) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$coefficients, "::mlir::Value":$input)>];
  let hasVerifier = 1;
}

def LLM_PositionScaleOp : LLM_Op<"position_scale", [Pure]> {
  let summary = "A factor that grows with the position";
  let description = [{
    `y[t, 0] = 1 + f32(scale) * log(1 + floor((position(t) + shift) / period))`: the
    temperature of queries in models trained for long contexts.

    Constraints: `position_scale_c1` the result is [tokens, 1]; `position_scale_c2` the
    scale is finite, the period positive and the shift not negative.

    ```mlir
    %y = llm.position_scale %batch scale 0.1 period 8192 shift 1 : tensor<?x1xf32>
    ```
  }];
  let arguments = (ins LLM_BatchType:$batch, F64Attr:$scale, I64Attr:$period,
      DefaultValuedAttr<I64Attr, "0">:$shift);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $batch `scale` custom<Real>($scale) `period` $period (`shift` $shift^)? attr-dict `:`
    type($result)
  }];
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMELEMENTOPS
