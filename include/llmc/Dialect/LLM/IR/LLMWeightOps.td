//===- LLMWeightOps.td - symbols: weights and state -------*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMWEIGHTOPS
#define LLMC_DIALECT_LLM_IR_LLMWEIGHTOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_WeightFamilyOp : LLM_Op<"weight_family", [Symbol]> {
  let summary = "One weight, or one for each layer of a set";
  let description = [{
    `source` is the published name with `{i}` for the layer, `checkpoint` the name in
    the file where it differs (GGUF). Without `layers` the family has one member.

    Constraints: `weight_family_c1` the source is not empty and holds `{i}` exactly where
    there are layers; `weight_family_c2` so does a checkpoint name.

    ```mlir
    llm.weight_family @q_proj "model.layers.{i}.self_attn.q_proj.weight"
        layers [0, 30] : !llm.weight<[576, 576], #llm.dense<f32>>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$source, OptionalAttr<StrAttr>:$checkpoint,
      OptionalAttr<LLM_LayersAttr>:$layers, TypeAttrOf<LLM_WeightType>:$type);
  let assemblyFormat = [{
    $sym_name $source (`from` $checkpoint^)? (`layers` custom<LayerRanges>($layers)^)? attr-dict
    `:` $type
  }];
  let hasVerifier = 1;
}

def LLM_StateFamilyOp : LLM_Op<"state_family", [Symbol]> {
  let summary = "State of the same kind for each layer of a set";
  let description = [{
    ```mlir
    llm.state_family @kv layers [0, 30] : !llm.cache<paged, [3, 64, 64], f32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, LLM_LayersAttr:$layers,
      TypeAttrOf<LLM_CacheType>:$type);
  let assemblyFormat = "$sym_name `layers` custom<LayerRanges>($layers) attr-dict `:` $type";
}

class LLM_FamilyMemberOp<string mnemonic, Type type, list<Trait> traits>
    : LLM_Op<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<SymbolUserOpInterface>])> {
  let arguments = (ins FlatSymbolRefAttr:$family, Optional<Index>:$layer);
  let results = (outs type:$result);
  let assemblyFormat = "$family (`[` $layer^ `]`)? attr-dict `:` qualified(type($result))";
}

def LLM_ParamOp : LLM_FamilyMemberOp<"param", LLM_WeightType, [Pure]> {
  let summary = "A member of a weight family";
  let description = [{
    Constraints: the family exists and has the result's type (`param_c1`); a layer is
    given exactly where the family has layers (`param_c2`).

    ```mlir
    %w = llm.param @q_proj[%i] : !llm.weight<[576, 576], #llm.dense<f32>>
    ```
  }];
}

def LLM_StateOp : LLM_FamilyMemberOp<"state", LLM_CacheType, [Pure]> {
  let summary = "The state of a layer, as it stands before the step";
  let description = [{
    Constraints: the family exists and has the result's type (`state_c1`); a layer is
    given (`state_c2`).

    ```mlir
    %c = llm.state @kv[%i] : !llm.cache<paged, [3, 64, 64], f32>
    ```
  }];
}

#endif // LLMC_DIALECT_LLM_IR_LLMWEIGHTOPS
