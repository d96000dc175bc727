//===- LLMWeightOps.td - symbols: weights and state -------*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMWEIGHTOPS
#define LLMC_DIALECT_LLM_IR_LLMWEIGHTOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_WeightFamilyOp : LLM_Op<"weight_family", [Symbol]> {
  let summary = "One weight, or one for each layer of a set";
  let description = [{
    `source` is the published name with `{i}` for the layer, `checkpoint` the name in
    the file where it differs (GGUF). Without `layers` the family has one member.

    A member may be a part of what is stored: `rows 576 of 960` are the rows from 576 on, as
    many as the type has, of a tensor of 960 (a fused projection or its bias). `transposed`
    says that the file holds the matrix as [columns, rows]; rows are those of the weight then,
    the columns of what is stored. Everything else that a file does is a `view`: stacked and
    fused experts, rows that alternate, matrices for each head. Where the name of what is read
    holds `{e}`, the first dimension of the weight counts tensors, one an expert, and the view
    (or, without one, the rest of the shape) is that of one of them.

    With `values` nothing is read: the weights are constants of the program, the elements of
    one member after those of another, and the source is but their name.

    Constraints: `weight_family_c1` the source is not empty and holds `{i}` exactly where
    there are layers; `weight_family_c2` so does a checkpoint name; `weight_family_c3` a range
    of rows lies inside the stored tensor; `weight_family_c4` a transposed weight is a matrix;
    `weight_family_c5` a weight of one tensor an expert has a dimension more than its tensors and
    is not cut by `rows` or `transposed`; `weight_family_c6` a view stands without `rows` and
    `transposed`, has a stride for each dimension within a tensor and stays inside the tensor;
    `weight_family_c7` of blocks, it takes whole ones; `weight_family_c8` values are those of
    all members, finite, of a type of f32, and stand alone.

    ```mlir
    llm.weight_family @q_proj "model.layers.{i}.self_attn.q_proj.weight"
        layers [0, 30] : !llm.weight<[576, 576], #llm.dense<f32>>
    llm.weight_family @k "h.{i}.attn.c_attn.weight" rows 768 of 2304 transposed layers [0, 12]
        : !llm.weight<[768, 768], #llm.dense<f32>>
    llm.weight_family @up "layers.{i}.experts.{e}.up.weight" layers [0, 12]
        : !llm.weight<[8, 96, 768], #llm.dense<f32>>
    llm.weight_family @gate "layers.{i}.experts.gate_up"
        view <stored = [8, 48, 80], first = 0, strides = [3840, 2, 80]> layers [0, 12]
        : !llm.weight<[8, 40, 48], #llm.dense<f32>>
    llm.weight_family @slopes "slopes.{i}" values [-0.5, -0.25, -0.4, -0.2]
        layers [0, 2] : !llm.weight<[2], #llm.dense<f32>>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$source, OptionalAttr<StrAttr>:$checkpoint,
      OptionalAttr<LLM_LayersAttr>:$layers, TypeAttrOf<LLM_WeightType>:$type,
      OptionalAttr<I64Attr>:$first_row, OptionalAttr<I64Attr>:$stored_rows, UnitAttr:$transposed,
      OptionalAttr<LLM_ViewAttr>:$view, OptionalAttr<DenseF32ArrayAttr>:$values);
  let assemblyFormat = [{
    $sym_name $source (`from` $checkpoint^)? (`rows` $first_row^ `of` $stored_rows)?
    (`transposed` $transposed^)? (`view` $view^)? (`values` $values^)?
    (`layers` custom<LayerRanges>($layers)^)? attr-dict `:` $type
  }];
  let extraClassDeclaration = [{
    /// Shape of the tensor in the file that a member is, or is a part of; of one expert's tensor
    /// where it has one an expert.
    ::llvm::SmallVector<int64_t> getStoredShape();
    /// The name of what is read holds `{e}`: one tensor for each index of the first dimension.
    bool hasTensorPerExpert();
    /// First element and strides of the weight in its tensor, whichever way it is written; those
    /// of one expert where it has a tensor an expert (the strides are those of the dimensions
    /// after the first then).
    ::llmc::llm::ViewAttr getEffectiveView();
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
