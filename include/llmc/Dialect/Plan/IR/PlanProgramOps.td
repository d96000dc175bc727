//===- PlanProgramOps.td - the program and what it declares -*- tablegen -*-===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANPROGRAMOPS
#define LLMC_DIALECT_PLAN_IR_PLANPROGRAMOPS

include "llmc/Dialect/Plan/IR/PlanBase.td"

def Plan_ProgramOp : Plan_Op<"program", [
    IsolatedFromAbove, SymbolTable, SingleBlock, NoTerminator, NoRegionArguments,
    DeclareOpInterfaceMethods<RegionKindInterface>]> {
  let summary = "One artifact: everything that manifest.json holds";
  let description = [{
    Files, arenas, slices, weights, states, variants, kernels, rank groups and
    entries, in any order; the manifest keeps the order within each kind.

    Example:
    ```mlir
    plan.program producer(<name = "llmc", version = "0.1.0", toolchain = "LLVM 22.1.8">)
        model(<name = "m", architecture = "llama", description = "llama", vocab_size = 256,
               hidden_size = 64, layers = 2, context_length = 512, parameters = 100000>)
        target(<device = "cpu", triple = "x86_64-unknown-linux-gnu">)
        limits(<max_tokens = 64, max_sequences = 4, max_context = 512, block_tokens = 16,
                blocks = 128>) {
      ...
    }
    ```
  }];
  let arguments = (ins
    Plan_ProducerAttr:$producer,
    Plan_ModelAttr:$model,
    Plan_TargetAttr:$target,
    Plan_LimitsAttr:$limits,
    DefaultValuedAttr<Plan_Positive, "1">:$ranks,
    /// Lengths: a sequence that grows past one is computed anew from its first token.
    OptionalAttr<DenseI64ArrayAttr>:$recompute_beyond, /* program_c6: in verifier */
    OptionalAttr<StrAttr>:$tokenizer,              /* program_c3: in verifier */
    DefaultValuedAttr<TypedArrayAttrBase<Plan_AcceptedAttr, "exceptions">, "{}">:$accepted);
  let regions = (region SizedRegion<1>:$body);     /* program_c1, program_c2, program_c4,
                                                      program_c5: in verifier */
  let assemblyFormat = [{
    `producer` `(` $producer `)` `model` `(` $model `)` `target` `(` $target `)`
    `limits` `(` $limits `)` (`ranks` `(` $ranks^ `)`)?
    (`recompute_beyond` $recompute_beyond^)? (`tokenizer` `(` $tokenizer^ `)`)?
    (`accepted` $accepted^)? attr-dict-with-keyword $body
  }];
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "ProducerAttr":$producer, "ModelAttr":$model, "TargetAttr":$target,
                   "LimitsAttr":$limits, CArg<"int64_t", "1">:$ranks)>
  ];
  let hasRegionVerifier = 1;
}

def Plan_FileOp : Plan_Op<"file", [HasParent<"ProgramOp">]> {
  let summary = "A file of the artifact";
  let description = [{
    Example: `plan.file "weights.bin" bytes 4096 sha256 "9f86d0..."`
  }];
  let arguments = (ins
    StrAttr:$path,                                 /* file_c1: in verifier */
    Plan_NonNegative:$bytes,
    StrAttr:$sha256);                              /* file_c2: in verifier */
  let assemblyFormat = "$path `bytes` $bytes `sha256` $sha256 attr-dict";
  let hasVerifier = 1;
}

def Plan_VariantOp : Plan_SymbolOp<"variant"> {
  let summary = "A set of CPU features that kernels were compiled for";
  let description = [{
    In order of preference. A kernel's symbol in this variant is its symbol with
    the suffix added.

    Example: `plan.variant @avx2 suffix "_avx2" requires ["avx2", "fma"]`
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    StrAttr:$suffix,                               /* program_c4: in ProgramOp's verifier */
    StrArrayAttr:$features);
  let assemblyFormat = "$sym_name `suffix` $suffix `requires` $features attr-dict";
}

def Plan_KernelOp : Plan_SymbolOp<"kernel"> {
  let summary = "A kernel";
  let description = [{
    `scratch` is bytes a thread. A GPU kernel has a `device` part instead. The
    token ids and positions of a step stay below `tokens_below` and
    `positions_below` where the kernel uses them as rows of a table. `contracts`
    are the launches that it may have (`plan-derive-contracts`); with them the
    reader of an artifact proves that no launch goes past its memory.

    Example:
    ```mlir
    plan.kernel @norm symbol "llmc_norm" generator "cpu.row" scratch 256
        contracts [#plan.contract<<1, tokens>, <slice, readwrite, tokens * 256>>]
    plan.kernel @add symbol "llmc_add" generator "nvptx.row" scratch 0
        device <"ptx/add.ptx", grid = [<1, tokens>], block = [128], shared_bytes = 0>
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    StrAttr:$symbol,                               /* kernel_c2: in verifier */
    StrAttr:$generator,
    Plan_NonNegative:$scratch,                     /* kernel_c1: in verifier */
    OptionalAttr<Plan_DeviceAttr>:$device,
    OptionalAttr<Plan_Positive>:$tokens_below,
    OptionalAttr<Plan_Positive>:$positions_below,
    OptionalAttr<TypedArrayAttrBase<Plan_ContractAttr, "contracts of launches">>:$contracts);
                                                   /* kernel_c3: in verifier */
  let assemblyFormat = [{
    $sym_name `symbol` $symbol `generator` $generator `scratch` $scratch
    (`device` $device^)? (`tokens_below` $tokens_below^)? (`positions_below` $positions_below^)?
    (`contracts` $contracts^)? attr-dict
  }];
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$symbol,
                   "::llvm::StringRef":$generator, "int64_t":$scratch)>
  ];
  let hasVerifier = 1;
}

def Plan_GroupOp : Plan_SymbolOp<"group"> {
  let summary = "Ranks that take part in a collective";
  let description = [{
    Example: `plan.group @tp ranks [0, 1]`
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    DenseI64ArrayAttr:$ranks);                     /* group_c1: in verifier */
  let assemblyFormat = "$sym_name `ranks` $ranks attr-dict";
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_PLAN_IR_PLANPROGRAMOPS
