// RUN: llmc-opt %s -split-input-file -plan-assign-liveness | FileCheck %s
// RUN: llmc-opt %s -split-input-file -plan-assign-liveness \
// RUN:   --remarks-filter-passed=plan-assign-liveness --remark-format=emitRemark -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// A chain: every slice lives from its write to its last read; the output to the end.
// CHECK-LABEL: plan.program
// CHECK: plan.slice @x {{.*}} live <0, 1>
// CHECK: plan.slice @y {{.*}} live <1, 3>
// CHECK: plan.slice @z {{.*}} live <2, 3>
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.slice @x in @a size(64)
  plan.slice @y in @a size(64)
  plan.slice @z in @a size(64)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.launch @k [#plan.use<@z, write>] items <1, one>
    plan.launch @k [#plan.use<@z, read>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// Inside the repeat (steps 1 to 3): x is read before it is written, so it carries a value
// from one iteration to the next; t is written first and starts afresh each time; c is only
// read and has to outlast every iteration.
// CHECK-LABEL: plan.program
// CHECK: plan.slice @x {{.*}} live <0, 4>
// CHECK: plan.slice @t {{.*}} live <2, 3>
// CHECK: plan.slice @c {{.*}} live <0, 3>
// CHECK: plan.slice @y {{.*}} live <4, 4>
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.slice @x in @a size(64)
  plan.slice @t in @a size(64)
  plan.slice @c in @a size(64)
  plan.slice @y in @a size(64)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>, #plan.use<@c, write>] items <1, one>
    plan.repeat from 0 count 2 period 1 {
      plan.launch @k [#plan.use<@c, read>] items <1, one>
      plan.launch @k [#plan.use<@x, read>, #plan.use<@t, write>] items <1, one>
      plan.launch @k [#plan.use<@t, read>, #plan.use<@x, write>] items <1, one>
    }
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// x is not touched in the repeat (steps 1 and 2) and lives across it. r is written in the
// repeat and read after it: the value of the last iteration.
// CHECK-LABEL: plan.program
// CHECK: plan.slice @x {{.*}} live <0, 3>
// CHECK: plan.slice @t {{.*}} live <1, 2>
// CHECK: plan.slice @r {{.*}} live <2, 3>
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.slice @x in @a size(64)
  plan.slice @t in @a size(64)
  plan.slice @r in @a size(64)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.repeat from 0 count 2 period 1 {
      plan.launch @k [#plan.use<@t, write>] items <1, one>
      plan.launch @k [#plan.use<@t, read>, #plan.use<@r, write>] items <1, one>
    }
    plan.launch @k [#plan.use<@x, readwrite>, #plan.use<@r, read>] items <1, one>
    plan.output "y" slice @x rows one width 1 element f32
  }
}

// -----

// Computed in place (steps 0 to 2 of the repeat): a readwrite is a read first.
// CHECK-LABEL: plan.program
// CHECK: plan.slice @x {{.*}} live <0, 3>
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.slice @x in @a size(64)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.repeat from 0 count 2 period 1 {
      plan.observe "before" slice @x rows one width 1
      plan.launch @k [#plan.use<@x, readwrite>] items <1, one>
      plan.observe "after" slice @x rows one width 1
    }
    plan.output "y" slice @x rows one width 1 element f32
  }
}

// -----

// Steps are numbered through the entries: what only one of them uses may share memory with
// what only the other uses.
// CHECK-LABEL: plan.program
// CHECK: plan.slice @x {{.*}} live <0, 0>
// CHECK: plan.slice @y {{.*}} live <1, 1>
// CHECK: plan.slice @z {{.*}} live <0, 1>
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.slice @x in @a size(64)
  plan.slice @y in @a size(64)
  plan.slice @z in @a size(64)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>, #plan.use<@z, write>] items <1, one>
    plan.output "y" slice @z rows one width 1 element f32
  }
  plan.entry @f {
    plan.launch @k [#plan.use<@y, write>, #plan.use<@z, write>] items <1, one>
    plan.output "y" slice @z rows one width 1 element f32
  }
}

// -----

// Nobody uses x.
// CHECK-LABEL: plan.program
// CHECK-NOT: plan.slice @x
// REMARK: remark: [Passed] unused-slice | Category:plan-assign-liveness | Remark="slice x is erased, no step uses it"
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.slice @x in @a size(64)
  plan.slice @y in @a size(64)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}
