//===- PlanMemoryOps.td - arenas and what lies in them -----*- tablegen -*-===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANMEMORYOPS
#define LLMC_DIALECT_PLAN_IR_PLANMEMORYOPS

include "llmc/Dialect/Plan/IR/PlanBase.td"

def Plan_ArenaOp : Plan_SymbolOp<"arena"> {
  let summary = "A piece of memory that the runtime allocates or maps";
  let description = [{
    A `weights` arena is a mapped file (with several ranks, one of
    `rank_files`); `state` is a pool of blocks; `activations` and
    `communication` hold slices; `workspace` is cut into one equal part a
    thread. `plan-pack-arenas` sets the size.

    Example: `plan.arena @act kind activations size(196608)`
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    Plan_ArenaKindAttr:$kind,
    OptionalAttr<Plan_SizeAttr>:$size,             /* arena_c1: in Plan_SizeAttr */
    OptionalAttr<StrAttr>:$file,                   /* arena_c2: in verifier */
    OptionalAttr<StrArrayAttr>:$rank_files,        /* arena_c3: in verifier */
    OptionalAttr<Plan_PackingAttr>:$packing);
  let assemblyFormat = [{
    $sym_name `kind` `` $kind (`size` `(` custom<Size>($size)^ `)`)? (`file` $file^)?
    (`rank_files` $rank_files^)? (`packing` $packing^)? attr-dict
  }];
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "ArenaKind":$kind,
                   CArg<"::mlir::AffineMap", "{}">:$size, CArg<"::llvm::StringRef", "{}">:$file)>
  ];
  let hasVerifier = 1;
}

def Plan_SliceOp : Plan_SymbolOp<"slice", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Bytes of an arena that steps read and write";
  let description = [{
    The size is that of the step at hand; the offset is fixed. Without `live`
    and `offset` it waits for `plan-assign-liveness` and `plan-pack-arenas`.
    Steps that share a slice share its memory: computing in place is two names
    having become one before this point.

    Example: `plan.slice @x in @act size(tokens * 2304) offset 128 live <0, 3>`
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    FlatSymbolRefAttr:$arena,                      /* slice_c1: in verifySymbolUses */
    Plan_SizeAttr:$size,                           /* slice_c2: in verifier */
    OptionalAttr<Plan_Offset>:$offset,             /* slice_c3: in Plan_Offset */
    OptionalAttr<Plan_LiveAttr>:$live);
  let assemblyFormat = [{
    $sym_name `in` $arena `size` `(` custom<Size>($size) `)` (`offset` $offset^)?
    (`live` $live^)? attr-dict
  }];
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$arena,
                   "::mlir::AffineMap":$size)>
  ];
  let hasVerifier = 1;
}

def Plan_WeightsOp : Plan_SymbolOp<"weights", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A family of packed weights, one member a layer";
  let description = [{
    Member m lies at `base + m * stride` and is `bytes` long. Without layers
    there is one member, used without a layer. The rows of the sources follow
    one another (`interleave` 0), or alternate in runs of `interleave` rows, each
    source padded up to it. A member may be several `matrices` of `rows` x `cols`, those of
    experts or heads, one after another and each `bytes / matrices` long.

    Example:
    ```mlir
    plan.weights @up in @w layers <0 to 30> rows 3072 cols 576 storage q4_1
        layout #plan.panels<tile = 2> interleave 16 bytes 1105920 base 0 stride 1105920
        sources [#plan.source<"blk.{i}.gate.weight", rows = 1536, name = "gate">,
                 #plan.source<"blk.{i}.up.weight", rows = 1536, name = "up">]
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    FlatSymbolRefAttr:$arena,                      /* weights_c1: in verifySymbolUses */
    OptionalAttr<Plan_LayersAttr>:$layers,         /* weights_c6: in verifier */
    Plan_Positive:$rows,
    Plan_Positive:$cols,
    DefaultValuedAttr<Plan_Positive, "1">:$matrices, /* weights_c7: in verifier */
    Plan_StorageAttr:$storage,                     /* weights_c4: in verifier */
    Plan_WeightLayoutAttrInterface:$layout,        /* weights_c4: in verifier */
    DefaultValuedAttr<Plan_NonNegative, "0">:$interleave,
    Plan_Offset:$bytes,                            /* weights_c3: in verifier */
    OptionalAttr<Plan_Offset>:$base,
    OptionalAttr<Plan_Offset>:$stride,             /* weights_c2: in verifier */
    TypedArrayAttrBase<Plan_SourceAttr, "sources of a weight">:$sources);
                                                   /* weights_c5, weights_c8: in verifier */
  let assemblyFormat = [{
    $sym_name `in` $arena (`layers` $layers^)? `rows` $rows `cols` $cols
    (`matrices` $matrices^)? `storage` `` $storage `layout` $layout (`interleave` $interleave^)? `bytes` $bytes
    (`base` $base^)? (`stride` $stride^)? `sources` $sources attr-dict
  }];
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$arena, "LayersAttr":$layers,
                   "int64_t":$rows, "int64_t":$cols, "Storage":$storage,
                   "WeightLayoutAttrInterface":$layout, "int64_t":$interleave, "int64_t":$bytes,
                   "::llvm::ArrayRef<::mlir::Attribute>":$sources,
                   CArg<"int64_t", "1">:$matrices)>
  ];
  let extraClassDeclaration = [{
    /// Members of the family: layers, or one without layers.
    int64_t getNumMembers();
    /// First byte after the last member of a packed family.
    int64_t getEnd();
  }];
  let hasVerifier = 1;
}

def Plan_StateOp : Plan_SymbolOp<"state", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "State that sequences keep between steps, one member a layer";
  let description = [{
    A paged state holds keys and values of positions in blocks; a recurrent or conv state has
    one slot for each sequence, f32 [heads, key_width, value_width]. In a conv state, of one
    head, the rows are the last inputs of value_width channels, oldest first.
    Of a paged state with a `window` no token sees more positions than these, itself included: its
    members have `window_blocks` blocks, in which each sequence goes round (Plan_LimitsAttr).

    Example:
    ```mlir
    plan.state @kv in @pool layers <0 to 30> kind paged heads 3 key_width 64 value_width 64
        element f32 bytes_per_block 24576
    plan.state @delta in @pool layers <0 to 30> kind recurrent heads 4 key_width 16
        value_width 32 element f32 bytes_per_sequence 8192
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    FlatSymbolRefAttr:$arena,                      /* state_c1: in verifySymbolUses */
    Plan_LayersAttr:$layers,                       /* state_c3: in verifier */
    Plan_StateKindAttr:$kind,
    Plan_Positive:$heads,
    Plan_NonNegative:$key_width,
    Plan_NonNegative:$value_width,
    Plan_ElementAttr:$element,
    OptionalAttr<Plan_Offset>:$bytes_per_block,    /* state_c2, state_c4: in verifier */
    OptionalAttr<Plan_Offset>:$bytes_per_sequence, /* state_c4, state_c5: in verifier */
    OptionalAttr<Plan_Positive>:$window);          /* state_c6, state_c7: in verifier */
  let assemblyFormat = [{
    $sym_name `in` $arena `layers` $layers `kind` `` $kind `heads` $heads
    `key_width` $key_width `value_width` $value_width `element` $element
    (`bytes_per_block` $bytes_per_block^)? (`bytes_per_sequence` $bytes_per_sequence^)?
    (`window` $window^)? attr-dict
  }];
  let builders = [
    /// `bytes` of a block, or of a sequence, as the kind says.
    OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$arena, "LayersAttr":$layers,
                   "StateKind":$kind, "int64_t":$heads, "int64_t":$keyWidth,
                   "int64_t":$valueWidth, "::mlir::Type":$element, "int64_t":$bytes,
                   CArg<"std::optional<int64_t>", "std::nullopt">:$window)>
  ];
  let extraClassDeclaration = [{
    /// Whether each sequence has a slot; else positions lie in blocks.
    bool isPerSequence() { return getKind() != StateKind::Paged; }
    /// Bytes of one member: a number for each sequence, or for each block.
    Size getMemberSize();
  }];
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_PLAN_IR_PLANMEMORYOPS
