//===- LLMStructureOps.td - layers, fusion, observation ---*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMSTRUCTUREOPS
#define LLMC_DIALECT_LLM_IR_LLMSTRUCTUREOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_RepeatOp : LLM_Op<"repeat", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs layer functions one after another";
  let description = [{
    With callees f_0 … f_(p-1): for r in 0 .. count-1 and j in 0 .. p-1, the carried
    values become `f_j(from + r * p + j, carried…, invariants…)`. The results are the
    carried values after the last layer.

    Constraints: `repeat_c1` every callee is a function that takes an index, the carried
    and the invariant types and returns the carried types; `repeat_c2` there is a callee,
    count is positive and from is not negative.

    ```mlir
    %y = llm.repeat [@decoder] from 0 count 30 (%x) with (%batch)
        : (tensor<?x576xf32>) with (!llm.batch)
    ```
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$callees, I64Attr:$from, I64Attr:$count,
      Variadic<AnyType>:$carried, Variadic<AnyType>:$invariants);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callees `from` $from `count` $count ` ` `(` $carried `)` (`with` ` ` `(` $invariants^ `)`)?
    attr-dict `:` `(` type($carried) `)` (`with` ` ` `(` type($invariants)^ `)`)? ``
    custom<SameTypes>(ref(type($carried)), type($results))
  }];
  let hasVerifier = 1;
}

def LLM_FusionOp : LLM_Op<"fusion", [IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "A region that is one kernel; holds the unfused body";
  let description = [{
    `pattern` names the fusion (its flag, remark and row in the report). The body is
    what it means: it can always be run unfused and compared.

    Constraints: `fusion_c1` block arguments have the inputs' types; `fusion_c2` the
    body yields the results' types.

    ```mlir
    %s, %y = llm.fusion "residual-norm" (%x, %d, %w) : (tensor<?x576xf32>, tensor<?x576xf32>,
        !llm.weight<[576], #llm.dense<f32>>) -> (tensor<?x576xf32>, tensor<?x576xf32>) {
    ^bb0(%a: tensor<?x576xf32>, %b: tensor<?x576xf32>, %c: !llm.weight<[576], #llm.dense<f32>>):
      %0 = llm.residual_add %a, %b : tensor<?x576xf32>
      %1 = llm.rms_norm %0, %c eps 1.0e-5 : tensor<?x576xf32>, !llm.weight<[576], #llm.dense<f32>>
      llm.yield %0, %1 : tensor<?x576xf32>, tensor<?x576xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$pattern, Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $pattern ` ` `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body
  }];
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def LLM_YieldOp : LLM_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["FusionOp"]>]> {
  let summary = "Ends the body of a fusion";
  let description = [{ `llm.yield %0, %1 : tensor<?x576xf32>, tensor<?x576xf32>` }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def LLM_CompositeOp : LLM_Op<"composite", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "An operation that a library defines by a function";
  let description = [{
    The results of `decomposition`, a function marked `llm.implements`, of the inputs. `name`
    is what descriptions call it, `settings` the numbers that the call gave. `normalize`
    puts the function in its place, unless a kernel computes the operation itself
    (docs/Extending.md).

    Constraints: `composite_c1` the decomposition is a function marked `llm.implements` with
    this name; `composite_c2` it takes the inputs' types and returns the results';
    `composite_c3` it does not lead to itself.

    ```mlir
    %y = llm.composite "mish" @mish(%x) : (tensor<?x576xf32>) -> tensor<?x576xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, FlatSymbolRefAttr:$decomposition,
      Variadic<AnyType>:$inputs, DefaultValuedAttr<DictionaryAttr, "{}">:$settings);
  let results = (outs Variadic<LLM_Rows>:$results);
  let assemblyFormat = [{
    $name $decomposition `` `(` $inputs `)` ($settings^)? attr-dict `:`
    functional-type($inputs, $results)
  }];
}

def LLM_ObserveOp : LLM_Op<"observe", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "An instrumentation point";
  let description = [{
    The value can be read here under `name` (`{i}` and `{i+1}` stand for the layer).
    It keeps the value, never changes it, and costs nothing when nobody looks.

    Constraints: `observe_c1` a layer is given exactly where the name has `{i`.

    ```mlir
    llm.observe %x "hidden.{i+1}"[%i] : tensor<?x576xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$value, StrAttr:$name, Optional<Index>:$layer);
  let assemblyFormat = "$value $name (`[` $layer^ `]`)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMSTRUCTUREOPS
