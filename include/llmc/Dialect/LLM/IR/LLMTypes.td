//===- LLMTypes.td - types of the llm dialect -------------*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMTYPES
#define LLMC_DIALECT_LLM_IR_LLMTYPES

include "llmc/Dialect/LLM/IR/LLMAttrs.td"

def LLM_BatchType : LLM_Type<"Batch", "batch"> {
  let summary = "How the tokens of a step belong to sequences";
  let description = [{
    Query starts, context lengths, positions, block tables and wanted output rows of
    one step. Kernels see it as `llmc_batch` (include/llmc/Runtime/KernelABI.h).
  }];
  let builderCall = "$_builder.getType<::llmc::llm::BatchType>()";
}

def LLM_WeightType : LLM_Type<"Weight", "weight"> {
  let summary = "A weight: logical shape and storage";
  let description = [{
    `!llm.weight<[576, 1536], #llm.dense<bf16>>`: 576 output features, 1536 input
    features, one row after another. The storage names element type, or block size,
    scale kind and element order; it never changes the logical shape.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Attribute":$storage);
  let assemblyFormat = "`<` `[` $shape `]` `,` $storage `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getNumElements() const;
    /// Bytes of the weight as stored in a checkpoint.
    int64_t getStorageBytes() const;
    /// The field's name of the storage: f32, bf16, q4_1 …
    ::std::string getStorageName() const;
  }];
}

def LLM_CacheType : LLM_Type<"Cache", "cache"> {
  let summary = "State that a layer keeps between steps";
  let description = [{
    `!llm.cache<paged, [3, 64, 64], f32>`: for paged and window state the shape is
    [kv heads, key width, value width] of one token. A window state only ever needs
    the last `window` positions; a paged state with a window keeps all and masks. A latent
    state has the same shape and keeps keys alone: values are the first value width channels
    of the keys, and none are read where that is 0 (`!llm.cache<latent, [1, 576, 512], f32>`).
    A recurrent state is f32 [heads, key width, value width] and a conv state f32
    [channels, taps - 1], once a sequence, whatever its length. Entries are [tokens an entry, key
    width, value width], one head: one key for each full group of so many tokens, whose first
    channels are its value, as in a latent state.
  }];
  let parameters = (ins EnumParameter<LLM_CacheKind>:$kind, ArrayRefParameter<"int64_t">:$shape,
      "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $kind `,` `[` $shape `]` `,` $elementType `>`";
  let genVerifyDecl = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMTYPES
