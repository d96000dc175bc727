//===- LLMAttrs.td - attributes of the llm dialect --------*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMATTRS
#define LLMC_DIALECT_LLM_IR_LLMATTRS

include "llmc/Dialect/LLM/IR/LLMEnums.td"

def LLM_DenseAttr : LLM_Attr<"Dense", "dense"> {
  let summary = "Storage of a weight as plain elements";
  let description = [{ Row-major elements of one float type: `#llm.dense<bf16>`. }];
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
  let genVerifyDecl = 1;
}

def LLM_BlocksAttr : LLM_Attr<"Blocks", "blocks"> {
  let summary = "Storage of a weight as blocks of quantised elements along the last dimension";
  let description = [{
    A block holds `size` consecutive elements of a row: a scale d, a minimum m where
    `min` is given, and `size` integers q of `bits` bits. The value is
    `d * (q - zero)`, or `fma(q, d, m)` with a minimum; q is signed where `zero` is 0
    and `bits` is 8. With `order = halves` byte j holds element j in its low and
    element j + size/2 in its high bits.

    The GGUF types are values of this attribute: q4_0 `bits 4, size 32, scale f16,
    zero 8, halves`; q4_1 the same with `min f16` and zero 0; q8_0 `bits 8, size 32,
    scale f16, zero 0, linear`. `name` is what the field calls it.
  }];
  let parameters = (ins StringRefParameter<>:$name, "unsigned":$bits, "unsigned":$size,
      "::mlir::Type":$scale, OptionalParameter<"::mlir::Type">:$min, "int64_t":$zero,
      EnumParameter<LLM_BlockOrder>:$order);
  let assemblyFormat = [{
    `<` $name `,` `bits` `=` $bits `,` `size` `=` $size `,` `scale` `=` $scale
    `,` `zero` `=` $zero `,` `order` `=` $order (`,` `min` `=` $min^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of one block.
    unsigned getBlockBytes() const;
  }];
}

def LLM_RopeAttr : LLM_Attr<"Rope", "rope"> {
  let summary = "One canonical rotary record";
  let description = [{
    Channels 0 .. width-1 of a head rotate, the rest pass through. Pair j turns by
    `position * frequencies[j]` (f32), cos and sin are multiplied by `magnitude`.
    Halves pairs channel j with j + width/2, interleaved 2j with 2j + 1. `type` and
    `base` say where the frequencies come from (for readers; the frequencies rule).
  }];
  let parameters = (ins StringRefParameter<>:$type, "double":$base, "int64_t":$width,
      EnumParameter<LLM_RopePairing>:$pairing, "double":$magnitude,
      "::mlir::DenseF32ArrayAttr":$frequencies);
  let assemblyFormat = [{
    `<` $type `,` `base` `=` custom<Double>($base) `,` `width` `=` $width `,` $pairing `,`
    `magnitude` `=` custom<Double>($magnitude) `,`
    custom<Frequencies>($frequencies) `>`
  }];
  // Written by hand: TableGen's storage cannot hash a double.
  let genStorageClass = 0;
  let genVerifyDecl = 1;
}

def LLM_LayersAttr : LLM_Attr<"Layers", "layers"> {
  let summary = "A set of layer indices as ascending half-open ranges";
  let description = [{ `#llm.layers<[0, 10, 12, 30]>` is layers 0 to 9 and 12 to 29. }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$bounds);
  let assemblyFormat = "`<` `[` $bounds `]` `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t size() const;
    bool contains(int64_t layer) const;
    /// Position of the layer in the set, or -1.
    int64_t memberOf(int64_t layer) const;
    /// The layers, in ascending order.
    ::llvm::SmallVector<int64_t> expand() const;
    static LayersAttr fromList(::mlir::MLIRContext *context, ::llvm::ArrayRef<int64_t> layers);
  }];
}

#endif // LLMC_DIALECT_LLM_IR_LLMATTRS
