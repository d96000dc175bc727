//===- PlanStepOps.td - entries and their steps ------------*- tablegen -*-===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANSTEPOPS
#define LLMC_DIALECT_PLAN_IR_PLANSTEPOPS

include "llmc/Dialect/Plan/IR/PlanBase.td"

def Plan_EntryOp : Plan_SymbolOp<"entry", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "An entry point: steps in order, then outputs";
  let description = [{
    Example:
    ```mlir
    plan.entry @forward {
      plan.launch @embed [#plan.use<@x, write>, #plan.use<@table, read>] items <1, tokens>
      plan.output "logits" slice @l rows outputs width 256 element f32
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);     /* entry_c1, entry_c2: in verifier */
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name)>];
  let hasRegionVerifier = 1;
}

def Plan_LaunchOp : Plan_StepOp<"launch"> {
  let summary = "Runs a kernel over work items";
  let description = [{
    The uses become `args[1...]` of the kernel, in order. Memory that a kernel
    computes in place is one `readwrite` use.

    Example:
    ```mlir
    plan.launch @norm [#plan.use<@x, read>, #plan.use<@y, write>, #plan.use<@g, read, layer = 0>]
        items <18, tokens tile 96> remark "residual and norm in one pass"
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$kernel,                     /* launch_c1: in verifySymbolUses */
    Plan_UsesAttr:$uses,                           /* launch_c2, launch_c3, launch_c4, launch_c5,
                                                      launch_c6, launch_c7: in verifySymbolUses */
    Plan_ItemsAttr:$items,
    OptionalAttr<StrAttr>:$remark);
  let assemblyFormat = [{
    $kernel $uses `items` $items (`remark` $remark^)? attr-dict
  }];
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$kernel, "::llvm::ArrayRef<UseAttr>":$uses,
                   "ItemsAttr":$items, CArg<"::llvm::StringRef", "{}">:$remark)>
  ];
}

def Plan_RepeatOp : Plan_Op<"repeat", [
    HasParent<"EntryOp">                           /* repeat_c1 */,
    SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "Runs its steps once a period of layers";
  let description = [{
    In iteration i, layer j of a use is `from + i * period + j`. Repeats do not
    nest.

    Example: `plan.repeat from 0 count 30 period 1 { ... }`
  }];
  let arguments = (ins
    Plan_NonNegative:$from,
    Plan_Positive:$count,
    Plan_Positive:$period);
  let regions = (region SizedRegion<1>:$body);     /* repeat_c2, repeat_c3: in verifier */
  let assemblyFormat = [{
    `from` $from `count` $count `period` $period attr-dict-with-keyword $body
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "int64_t":$from, "int64_t":$count, "int64_t":$period)>];
  let hasRegionVerifier = 1;
}

def Plan_ObserveOp : Plan_StepOp<"observe"> {
  let summary = "A point where a slice may be looked at";
  let description = [{
    The slice holds `rows` x `width` f32 elements that are valid right here.
    `{i}` and `{i+1}` in the name are the layer. A row may be that many `heads`, or streams,
    one after another.

    Example: `plan.observe "layers.{i}.attention" slice @x rows tokens width 576 layer 0`
  }];
  let arguments = (ins
    StrAttr:$name,
    FlatSymbolRefAttr:$slice,                      /* observe_c1: in verifySymbolUses */
    Plan_ExtentAttr:$rows,                         /* observe_c3: in verifySymbolUses */
    Plan_Positive:$width,                          /* observe_c3: in verifySymbolUses */
    OptionalAttr<Plan_NonNegative>:$layer,         /* observe_c2: in verifySymbolUses */
    OptionalAttr<Plan_Positive>:$heads);           /* observe_c4: in verifySymbolUses */
  let assemblyFormat = [{
    $name `slice` $slice `rows` `` $rows `width` $width (`heads` $heads^)? (`layer` $layer^)?
    attr-dict
  }];
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$slice, "Extent":$rows,
                   "int64_t":$width, CArg<"std::optional<int64_t>", "std::nullopt">:$layer,
                   CArg<"std::optional<int64_t>", "std::nullopt">:$heads)>
  ];
}

def Plan_CollectiveOp : Plan_StepOp<"collective"> {
  let summary = "Combines a slice over the ranks of a group, in place";
  let description = [{
    Example: `plan.collective all_reduce @x group @tp element f32 count(tokens * 576)`
  }];
  let arguments = (ins
    Plan_CollectiveKindAttr:$kind,
    FlatSymbolRefAttr:$slice,                      /* collective_c1: in verifySymbolUses */
    FlatSymbolRefAttr:$group,                      /* collective_c2: in verifySymbolUses */
    Plan_ElementAttr:$element,                     /* collective_c5: in verifySymbolUses */
    Plan_SizeAttr:$count);                         /* collective_c3, collective_c4: in
                                                      verifySymbolUses */
  let assemblyFormat = [{
    `` $kind $slice `group` $group `element` $element `count` `(` custom<Size>($count) `)` attr-dict
  }];
}

def Plan_OutputOp : Plan_Op<"output", [
    HasParent<"EntryOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "What an entry returns";
  let description = [{
    The slice holds the output when the last step is done.

    Example: `plan.output "logits" slice @l rows outputs width 49152 element f32`
  }];
  let arguments = (ins
    StrAttr:$name,
    FlatSymbolRefAttr:$slice,                      /* output_c1: in verifySymbolUses */
    Plan_ExtentAttr:$rows,                         /* output_c2: in verifySymbolUses */
    Plan_Positive:$width,
    Plan_ElementAttr:$element);
  let assemblyFormat = [{
    $name `slice` $slice `rows` `` $rows `width` $width `element` $element attr-dict
  }];
}

#endif // LLMC_DIALECT_PLAN_IR_PLANSTEPOPS
