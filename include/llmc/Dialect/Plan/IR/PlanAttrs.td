//===- PlanAttrs.td - attributes of the plan dialect -------*- tablegen -*-===//
//
// Every field of the manifest that is more than a number or a name is a typed
// attribute here; nothing means something through a dictionary's key.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANATTRS
#define LLMC_DIALECT_PLAN_IR_PLANATTRS

include "llmc/Dialect/Plan/IR/PlanEnums.td"
include "llmc/Dialect/Plan/IR/PlanInterfaces.td"
include "mlir/IR/AttrTypeBase.td"

class Plan_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Plan_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// The program as a whole
//===----------------------------------------------------------------------===//

def Plan_ProducerAttr : Plan_Attr<"Producer", "producer"> {
  let summary = "who wrote the artifact";
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$version,
                        StringRefParameter<>:$toolchain);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Plan_ModelAttr : Plan_Attr<"Model", "model"> {
  let summary = "which model the artifact runs";
  let description = "`description` is the name of the description it was compiled from.";
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$architecture,
                        StringRefParameter<>:$description, "int64_t":$vocab_size,
                        "int64_t":$hidden_size, "int64_t":$layers, "int64_t":$context_length,
                        "int64_t":$parameters);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;                           /* model_c1, model_c2: in verifier */
}

def Plan_TargetAttr : Plan_Attr<"Target", "target"> {
  let summary = "what the artifact runs on";
  let parameters = (ins StringRefParameter<>:$device, StringRefParameter<>:$triple);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Plan_LimitsAttr : Plan_Attr<"Limits", "limits"> {
  let summary = "the largest step, sequence and pool that memory was planned for";
  let description = [{
    Without `max_outputs` every row of the largest step may want logits. `ring_blocks` are the
    blocks that a sequence goes round in where a state has a window; then `window_blocks` of a size
    are `ring_blocks` for each sequence, and never more than `blocks`.
  }];
  let parameters = (ins "int64_t":$max_tokens, "int64_t":$max_sequences, "int64_t":$max_context,
                        "int64_t":$block_tokens, "int64_t":$blocks,
                        OptionalParameter<"std::optional<int64_t>">:$max_outputs,
                        OptionalParameter<"std::optional<int64_t>">:$ring_blocks);
  let builders = [
    AttrBuilder<(ins "int64_t":$max_tokens, "int64_t":$max_sequences, "int64_t":$max_context,
                     "int64_t":$block_tokens, "int64_t":$blocks), [{
      return $_get($_ctxt, max_tokens, max_sequences, max_context, block_tokens, blocks,
                   std::nullopt, std::nullopt);
    }]>
  ];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;                           /* limits_c1, limits_c2: in verifier */
  let extraClassDeclaration = [{
    /// Bytes of a size at the largest step: tokens, outputs and sequences at
    /// their limits, blocks as given here
    /// and `threads` worker threads.
    int64_t getLargest(::mlir::AffineMap size, int64_t threads = 1) const;
    /// The largest value of an extent.
    int64_t getLargest(Extent extent) const;
    /// Blocks of a state with a window, for so many sequences that share so many blocks.
    int64_t getWindowBlocks(int64_t sequences, int64_t blocks) const;
    /// Whether a state of which no token sees more than `window` positions is smaller as a ring.
    bool wantsRing(int64_t window) const;
  }];
}

def Plan_AcceptedAttr : Plan_Attr<"Accepted", "accepted"> {
  let summary = "an exception that a user took";
  let parameters = (ins StringRefParameter<>:$key, StringRefParameter<>:$value);
  let assemblyFormat = "`<` $key `,` $value `>`";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Plan_LayersAttr : Plan_Attr<"Layers", "layers"> {
  let summary = "a set of layers";
  let description = [{
    Half-open ranges, ascending and apart, printed like `#plan.layers<0 to 30, 31 to 32>`.
    The member of a layer is its position in the set.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t", "begin, end, begin, end, ...">:$bounds);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;                           /* layers_c1: in verifier */
  let builders = [
    AttrBuilder<(ins "int64_t":$begin, "int64_t":$end), [{
      return $_get($_ctxt, ::llvm::ArrayRef<int64_t>{begin, end});
    }]>
  ];
  let extraClassDeclaration = [{
    /// No model has more layers; keeps work on hostile input small.
    static constexpr int64_t kMaxLayers = 65536;
    /// The set of these layers, which ascend strictly.
    static LayersAttr fromLayers(::mlir::MLIRContext *context, ::llvm::ArrayRef<int64_t> layers);
    size_t getNumRanges() const { return getBounds().size() / 2; }
    std::pair<int64_t, int64_t> getRange(size_t i) const {
      return {getBounds()[2 * i], getBounds()[2 * i + 1]};
    }
    /// Number of layers, which is the number of members.
    int64_t getNumLayers() const;
    /// Position of a layer in the set, nothing when it is not in it.
    std::optional<int64_t> getMember(int64_t layer) const;
  }];
}

def Plan_LiveAttr : Plan_Attr<"Live", "live"> {
  let summary = "steps from the first to the last that touch a slice, both included";
  let parameters = (ins "int64_t":$first, "int64_t":$last);
  let assemblyFormat = "`<` $first `,` $last `>`";
  let genVerifyDecl = 1;                           /* live_c1: in verifier */
  let extraClassDeclaration = [{
    bool overlaps(LiveAttr other) const {
      return getFirst() <= other.getLast() && other.getFirst() <= getLast();
    }
  }];
}

def Plan_PackingAttr : Plan_Attr<"Packing", "packing"> {
  let summary = "what packing an arena reached";
  let description = [{
    `bytes` taken, against `lower_bound`, the largest sum of aligned sizes that
    are live at one step. `optimal` says that fewer bytes are impossible: the
    bound was reached, or a search through every order found nothing better.
    A report for people and tests: the manifest does not hold it.
  }];
  let parameters = (ins "int64_t":$bytes, "int64_t":$lower_bound, "bool":$optimal);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Plan_ViewAttr : Plan_Attr<"View", "view"> {
  let summary = "where the elements of a weight lie in a stored tensor";
  let description = [{
    `#plan.view<stored = [8, 48, 80], first = 1, strides = [3840, 2, 80]>`: element c of row r
    of matrix m is element `first + m * 3840 + r * 2 + c * 80` of a tensor of shape [8, 48, 80],
    counted row by row. Where a matrix has a tensor of its own, the strides are those of
    rows and columns.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$stored, "int64_t":$first,
                        ArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = [{
    `<` `stored` `=` `[` $stored `]` `,` `first` `=` $first `,` `strides` `=` `[` $strides `]` `>`
  }];
  let genVerifyDecl = 1;                           /* view_c1: in verifier */
  let extraClassDeclaration = [{
    /// Elements of the stored tensor.
    int64_t getNumElements() const;
    /// Whether the last element of a weight of this shape, of as many dimensions as there are
    /// strides, lies inside the tensor.
    bool contains(::llvm::ArrayRef<int64_t> shape) const;
  }];
}

def Plan_SourceAttr : Plan_Attr<"Source", "source"> {
  let summary = "where rows of a weight come from";
  let description = [{
    `#plan.source<"model.layers.{i}.mlp.up_proj.weight", rows = 1536, name = "up">` takes
    the rows of a checkpoint tensor (`{i}` is the layer); without a tensor,
    `#plan.source<zeros, rows = 12>`, the rows are zero, or they are constants of the
    program: `#plan.source<values [1.0, 0.5], rows = 2>`, one f32 a row.
    `<"h.{i}.attn.c_attn.weight", rows = 768, first = 768, of = 2304, transposed>` are rows 768
    to 1535 of a weight of 2304 rows that the file holds transposed, as [columns, 2304].
    Any other part of a tensor is a `view`.

    Of weights of several matrices a tensor with `{e}` in its name holds one matrix, `{e}` its
    number; any other tensor holds all of them, one after another where no view says otherwise.
  }];
  let parameters = (ins StringRefParameter<"checkpoint tensor, may be empty">:$tensor,
                        "int64_t":$rows, OptionalParameter<"::mlir::StringAttr">:$name,
                        OptionalParameter<"::mlir::DenseF32ArrayAttr", "rows given right here">
                            :$values,
                        DefaultValuedParameter<"int64_t", "0", "first row of the tensor">:$first,
                        DefaultValuedParameter<"int64_t", "0",
                            "rows of the tensor, 0 where all are taken">:$of,
                        DefaultValuedParameter<"bool", "false">:$transposed,
                        OptionalParameter<"::llmc::plan::ViewAttr">:$view);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;                           /* source_c1, source_c2, source_c3,
                                                      source_c4, source_c5: in verifier */
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$tensor, "int64_t":$rows, "::mlir::StringAttr":$name), [{
      return $_get($_ctxt, tensor, rows, name, ::mlir::DenseF32ArrayAttr(), 0, 0, false, nullptr);
    }]>,
    AttrBuilder<(ins "int64_t":$rows, "::mlir::DenseF32ArrayAttr":$values), [{
      return $_get($_ctxt, ::llvm::StringRef(), rows, ::mlir::StringAttr(), values, 0, 0, false,
                   nullptr);
    }]>
  ];
  let extraClassDeclaration = [{
    bool isZeros() const { return getTensor().empty() && !getValues(); }
    /// Whether each matrix of a weight has a tensor of its own.
    bool isByMatrix() const { return getTensor().contains("{e}"); }
  }];
}

def Plan_RowsAttr : Plan_Attr<"Rows", "rows",
    [DeclareAttrInterfaceMethods<Plan_WeightLayoutAttrInterface>]> {
  let summary = "f32 elements, row-major, widened from the checkpoint's";
}

def Plan_PanelsAttr : Plan_Attr<"Panels", "panels",
    [DeclareAttrInterfaceMethods<Plan_WeightLayoutAttrInterface>]> {
  let summary = "sixteen rows a panel, `tile` panels an item, one stream over k an item";
  let parameters = (ins "int64_t":$tile);
  let assemblyFormat = "`<` `tile` `=` $tile `>`";
  let genVerifyDecl = 1;                           /* panels_c1: in verifier */
  let extraClassDeclaration = [{
    /// Rows of the published weight in one panel.
    static constexpr int64_t kPanelRows = 16;
  }];
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

def Plan_UseAttr : Plan_Attr<"Use", "use"> {
  let summary = "one operand of a step: memory, access, and the layer within the period";
  let description = [{
    `#plan.use<@x, write>`, `#plan.use<@w, read, layer = 0>`: inside a repeat, layer j is
    `from + iteration * period + j`. `#plan.use<@kv, read fixed = 3>` is layer 3 itself,
    wherever the step stands: what another layer keeps.
  }];
  let parameters = (ins AttrParameter<"::mlir::FlatSymbolRefAttr", "a slice, weights or state">
                            :$symbol,
                        EnumParameter<Plan_Access>:$access,
                        OptionalParameter<"std::optional<int64_t>">:$layer,
                        OptionalParameter<"std::optional<int64_t>">:$fixed);
  let assemblyFormat = [{
    `<` $symbol `,` $access (`,` `layer` `=` $layer^)? (`fixed` `=` $fixed^)? `>`
  }];
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$symbol, "::llmc::plan::Access":$access,
                     CArg<"std::optional<int64_t>", "std::nullopt">:$layer,
                     CArg<"std::optional<int64_t>", "std::nullopt">:$fixed), [{
      return $_get($_ctxt, ::mlir::FlatSymbolRefAttr::get($_ctxt, symbol), access, layer, fixed);
    }]>
  ];
  let extraClassDeclaration = [{
    bool reads() const { return getAccess() != Access::Write; }
    bool writes() const { return getAccess() != Access::Read; }
  }];
}
def Plan_UsesAttr : TypedArrayAttrBase<Plan_UseAttr, "operands of a step">;

def Plan_ItemsAttr : Plan_Attr<"Items", "items"> {
  let summary = "work items: `factor * ceil(of / tile) + plus`";
  let description = "`#plan.items<18, tokens tile 96>`, `#plan.items<1, one>`.";
  let parameters = (ins "int64_t":$factor, EnumParameter<Plan_Extent>:$of,
                        DefaultValuedParameter<"int64_t", "1">:$tile,
                        DefaultValuedParameter<"int64_t", "0">:$plus);
  let assemblyFormat = "`<` $factor `,` $of (`tile` $tile^)? (`plus` $plus^)? `>`";
  let builders = [
    AttrBuilder<(ins "int64_t":$factor, "::llmc::plan::Extent":$of), [{
      return $_get($_ctxt, factor, of, 1, 0);
    }]>
  ];
  let genVerifyDecl = 1;                           /* items_c1: in verifier */
}

def Plan_DeviceAttr : Plan_Attr<"Device", "device"> {
  let summary = "how a GPU kernel is started";
  let description = [{
    `file` holds the device code; `grid` counts blocks and `block` threads per
    dimension, x first, one to three of each.
  }];
  let parameters = (ins StringRefParameter<>:$file,
                        ArrayRefParameter<"::llmc::plan::ItemsAttr">:$grid,
                        ArrayRefParameter<"int64_t">:$block, "int64_t":$shared_bytes);
  let assemblyFormat = [{
    `<` $file `,` `grid` `=` `[` $grid `]` `,` `block` `=` `[` $block `]` `,`
    `shared_bytes` `=` $shared_bytes `>`
  }];
  let genVerifyDecl = 1;                           /* device_c1: in verifier */
}

def Plan_OperandAttr : Plan_Attr<"Operand", "operand"> {
  let summary = "what a kernel needs of one operand";
  let description = [{
    `#plan.operand<slice, read, tokens * 2304>`: the kind of memory, what is done with it,
    and the least bytes behind its address. Weights: bytes of a member. State: bytes of a
    block, `blocks * n`, or of a sequence's slot, `sequences * n`, exactly.
  }];
  let parameters = (ins EnumParameter<Plan_MemoryKind>:$kind, EnumParameter<Plan_Access>:$access,
                        "::mlir::AffineMap":$bytes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;                           /* operand_c1: in verifier */
}

def Plan_ContractAttr : Plan_Attr<"Contract", "contract"> {
  let summary = "one way in which a kernel may be launched";
  let description = [{
    `#plan.contract<<18, tokens tile 96>, <slice, read, tokens * 2304>, <weights, read, 4096>>`:
    the work items, which bound what is touched of every operand, and the operands in order.
  }];
  let parameters = (ins "::llmc::plan::ItemsAttr":$items,
                        OptionalArrayRefParameter<"::llmc::plan::OperandAttr">:$operands);
  let assemblyFormat = "`<` $items (`,` $operands^)? `>`";
}

#endif // LLMC_DIALECT_PLAN_IR_PLANATTRS
