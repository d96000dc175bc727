//===- LLMRoutingOps.td - routers and experts -*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMROUTINGOPS
#define LLMC_DIALECT_LLM_IR_LLMROUTINGOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_RouteOp : LLM_Op<"route", [Pure, AttrSizedOperandSegments]> {
  let summary = "Which experts a token goes to, and with what weights";
  let description = [{
    For the logits l of one token over E experts, in f32:

    1. scores s: softmax over all experts (`exp(l - max) / sum`, ascending), sigmoid
       `1 / (1 + exp(-l))`, sqrt_softplus `sqrt(log1p(exp(l)))`, or identity `l`.
    2. selection values c: `s + bias` where there is a bias, else s.
    3. with `groups n keep m`, the experts are n runs of E / n. A group's value is the
       maximum of its c, or by `top2` the sum of its two largest. Only the m groups of
       the largest values stay in the choice.
    4. the choice: the `top` experts of the largest c in descending order. With a table
       it is `table[token]` instead, in the table's order.
    5. weights `w_j = s[choice_j]`, without the bias. `normalise sum` divides by
       `(w_0 + w_1 + …) + 1e-20`, `normalise softmax` takes the softmax over the chosen.
       `normalise margin within m` makes of each the softmax over the experts e that were
       not chosen before it and are near, `(w_j - s_e) / max(|s_e|, w_j) <= m`. Then they are
       multiplied by `scale`, and last by `expert_scale[choice_j]`.

    Where values are equal, the lower number goes first. Published forms: softmax top-k
    (Fedus, 2021; Jiang, 2024), sigmoid with a bias for selection and groups (DeepSeek-AI,
    2024), a table by token (Roller, 2021), a margin (SparseMixer-v2; Liu et al., 2024).

    Constraints: `route_c1` the logits are [tokens, experts], both results
    [tokens, top]; `route_c2` top is from 1 to the experts; `route_c3` the bias has one
    value an expert; `route_c4` groups, keep and the group's score are given together,
    groups divide the experts, keep is from 1 to the groups, the kept hold at least top
    experts, and `top2` needs two experts a group; `route_c5` the scale is finite;
    `route_c6` the expert scale has one value an expert; `route_c7` a table is
    [vocabulary, top], comes with the tokens, and without bias and groups; `route_c8` a margin
    is given with `normalise margin` and only there, is finite and positive, and comes without
    bias, groups and table.

    ```mlir
    %c, %w = llm.route sigmoid %l bias %b groups 8 keep 4 by top2 top 8 normalise sum scale 2.5
        : (tensor<?x256xf32>, !llm.weight<[256], #llm.dense<f32>>)
        -> (tensor<?x8xi32>, tensor<?x8xf32>)
    ```
  }];
  let arguments = (ins LLM_RouteScoreAttr:$score, LLM_Rows:$logits, Optional<LLM_WeightType>:$bias,
      Optional<LLM_WeightType>:$table, Optional<LLM_Tokens>:$tokens,
      Optional<LLM_WeightType>:$expert_scale, OptionalAttr<I64Attr>:$groups,
      OptionalAttr<I64Attr>:$keep, OptionalAttr<LLM_GroupScoreAttr>:$group_score, I64Attr:$top,
      DefaultValuedAttr<LLM_RouteNormaliseAttr, "RouteNormalise::None">:$normalise,
      OptionalAttr<F64Attr>:$margin, DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs LLM_Choice:$choice, LLM_Rows:$weights);
  let assemblyFormat = [{
    $score $logits (`bias` $bias^)? (`table` $table^ `of` $tokens)?
    (`groups` $groups^ `keep` $keep `by` $group_score)? `top` $top
    (`normalise` $normalise^)? (`within` custom<Real>($margin)^)?
    (`scale` custom<Real>($scale)^)? (`times` $expert_scale^)? attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "RouteScore":$score, "::mlir::Value":$logits, "int64_t":$top)>];
  let hasVerifier = 1;
}

def LLM_ExpertLinearOp : LLM_Op<"expert_linear", [Pure]> {
  let summary = "Product with the weights of the chosen experts, and bias";
  let description = [{
    `y[t, j, n] = (sum_d x[t, d] * w[choice[t, j], n, d]) + b[choice[t, j], n]`, with
    `x[t, j, d]` where the input has a row for each chosen expert; one FMA chain from zero
    in ascending d on the weight's exact f32 value, then the bias; f32. The choice names
    experts of the weight: that of an `llm.route` over as many experts.

    Constraints: `expert_linear_c1` the choice is [tokens, chosen] and the input
    [tokens, columns] or [tokens, chosen, columns]; `expert_linear_c2` the weight is
    [experts, rows, columns] with the input's columns; `expert_linear_c3` the result is
    [tokens, chosen, rows]; `expert_linear_c4` the bias is [experts, rows].

    ```mlir
    %y = llm.expert_linear %x, %c, %w
        : (tensor<?x2048xf32>, tensor<?x8xi32>, !llm.weight<[128, 768, 2048], #llm.dense<bf16>>)
        -> tensor<?x8x768xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_Choice:$choice, LLM_WeightType:$weight,
      Optional<LLM_WeightType>:$bias);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input `,` $choice `,` $weight (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$choice,
      "::mlir::Value":$weight, CArg<"::mlir::Value", "{}">:$bias)>];
  let hasVerifier = 1;
}

def LLM_ExpertSumOp : LLM_Op<"expert_sum", [Pure]> {
  let summary = "Sum over the chosen experts, weighted where there are weights";
  let description = [{
    `y[t, d] = sum_j weights[t, j] * x[t, j, d]`: one FMA chain from zero in ascending j.
    Without weights `y[t, d] = sum_j x[t, j, d]`, additions from zero in ascending j; f32.

    Constraints: `expert_sum_c1` the input is [tokens, chosen, width] and the result
    [tokens, width]; `expert_sum_c2` the weights are [tokens, chosen].

    ```mlir
    %y = llm.expert_sum %x by %w : (tensor<?x8x2048xf32>, tensor<?x8xf32>) -> tensor<?x2048xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, Optional<LLM_Rows>:$weights);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input (`by` $weights^)? attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
      CArg<"::mlir::Value", "{}">:$weights)>];
  let hasVerifier = 1;
}

def LLM_ExpertSpreadOp : LLM_Op<"expert_spread", [Pure]> {
  let summary = "A row for each chosen expert: the input times the expert's weight";
  let description = [{
    `y[t, j, d] = weights[t, j] * x[t, d]`, f32: routers that weigh what goes into an
    expert.

    Constraints: `expert_spread_c1` the input is [tokens, width] and the weights are
    [tokens, chosen]; `expert_spread_c2` the result is [tokens, chosen, width].

    ```mlir
    %y = llm.expert_spread %x by %w : (tensor<?x5120xf32>, tensor<?x1xf32>) -> tensor<?x1x5120xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_Rows:$weights);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$input `by` $weights attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weights)>];
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMROUTINGOPS
