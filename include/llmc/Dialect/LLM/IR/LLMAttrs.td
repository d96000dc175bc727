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
    and `bits` is 8. With a `codebook` the value is `d * codebook[q]`.

    With `group`, each so many elements have an integer sub-scale s of the type
    `subscale`, and with a minimum an integer t of the same type: d becomes `d * s`
    and m becomes `-(m * t)`, both exact in f32.

    Orders: `linear`, one element after another; `halves`, byte j holds element j in
    its low and element j + size/2 in its high bits; `planes`, the bits of q are cut,
    the lowest first, into planes [bits, run, bits, run, ...], and a run of `run`
    elements fills n = run * bits / 8 bytes, of which byte j holds elements j, j + n,
    j + 2 n, ... from its lowest bits up. `extra` bytes of a block are no part of its
    values.

    The GGUF types are values of this attribute (`storageByName`): q4_0 `bits 4, size
    32, scale f16, zero 8, halves`; q4_1 the same with `min f16` and zero 0; q8_0
    `bits 8, size 32, scale f16, zero 0, linear`; q4_k `bits 4, size 256, scale f16,
    min f16, group 32, subscale ui6, planes [4, 64]`. `name` is what the field calls it.
  }];
  let parameters = (ins StringRefParameter<>:$name, "unsigned":$bits, "unsigned":$size,
      "::mlir::Type":$scale, "int64_t":$zero, EnumParameter<LLM_BlockOrder>:$order,
      OptionalParameter<"::mlir::Type">:$min, DefaultValuedParameter<"unsigned", "0">:$group,
      OptionalParameter<"::mlir::Type">:$subscale,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$planes,
      OptionalParameter<"::mlir::DenseF32ArrayAttr">:$codebook,
      DefaultValuedParameter<"unsigned", "0">:$extra);
  let assemblyFormat = [{
    `<` $name `,` struct($bits, $size, $scale, $zero, $order, $min, $group, $subscale,
                         $planes, $codebook, $extra) `>`
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

    With `long [...] beyond n` the tokens of a sequence whose extent (the tokens known of
    it: the whole prompt and what was generated so far) is more than n turn by the long
    frequencies, at every position.
  }];
  let parameters = (ins StringRefParameter<>:$type, "double":$base, "int64_t":$width,
      EnumParameter<LLM_RopePairing>:$pairing, "double":$magnitude,
      "::mlir::DenseF32ArrayAttr":$frequencies, "::mlir::DenseF32ArrayAttr":$longFrequencies,
      "int64_t":$beyond);
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$type, "double":$base, "int64_t":$width,
                     "RopePairing":$pairing, "double":$magnitude,
                     "::mlir::DenseF32ArrayAttr":$frequencies), [{
      return $_get($_ctxt, type, base, width, pairing, magnitude, frequencies,
                   ::mlir::DenseF32ArrayAttr::get($_ctxt, {}), int64_t(0));
    }]>
  ];
  let assemblyFormat = [{
    `<` $type `,` `base` `=` custom<Double>($base) `,` `width` `=` $width `,` $pairing `,`
    `magnitude` `=` custom<Double>($magnitude) `,`
    custom<Frequencies>($frequencies) `` custom<LongFrequencies>($longFrequencies, $beyond) `>`
  }];
  let extraClassDeclaration = [{
    /// Whether the frequencies depend on a sequence's extent.
    bool hasLong() const { return !getLongFrequencies().empty(); }
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

def LLM_ViewAttr : LLM_Attr<"View", "view"> {
  let summary = "Where the elements of a weight lie in a stored tensor";
  let description = [{
    Element [a, b, ...] of the weight is element `first + a * strides[0] + b * strides[1] + ...`
    of a tensor of shape `stored`, counted row by row. `#llm.view<stored = [8, 48, 80],
    first = 1, strides = [3840, 2, 80]>` is the second of two matrices of 40 rows and 48 columns
    for each of 8 experts, whose rows alternate in the columns of what is stored.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$stored, "int64_t":$first,
      ArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = [{
    `<` `stored` `=` `[` $stored `]` `,` `first` `=` $first `,` `strides` `=` `[` $strides `]` `>`
  }];
  let genVerifyDecl = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMATTRS
