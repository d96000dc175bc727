// What is read from an arena of communication before it is written was put there by others: it
// lives from the entry's first step.

// RUN: llmc-opt %s --pass-pipeline='builtin.module(plan.program(plan-assign-liveness,plan-pack-arenas,plan-derive-contracts,plan-verify))' | FileCheck %s

// CHECK: plan.slice @early in @link size(tokens * 64) offset {{[0-9]+}} live <0, 0>
// CHECK: plan.slice @late in @link size(tokens * 64) offset {{[0-9]+}} live <0, 1>
// CHECK: plan.slice @own in @link size(tokens * 64) offset {{[0-9]+}} live <1, 1>
plan.program producer(<name = "t", version = "0", toolchain = "t">)
    model(<name = "m", architecture = "m", description = "m", vocab_size = 16, hidden_size = 16, layers = 1, context_length = 64, parameters = 1>)
    target(<device = "cpu", triple = "x86_64-unknown-linux-gnu">)
    limits(<max_tokens = 4, max_sequences = 1, max_context = 64, block_tokens = 16, blocks = 4>) {
  plan.arena @link kind communication
  plan.slice @early in @link size(tokens * 64)
  plan.slice @late in @link size(tokens * 64)
  plan.slice @own in @link size(tokens * 64)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @main {
    plan.launch @k [#plan.use<@early, readwrite>] items <1, tokens>
    plan.launch @k [#plan.use<@late, read>, #plan.use<@own, write>] items <1, tokens>
    plan.output "y" slice @own rows tokens width 16 element f32
  }
}
