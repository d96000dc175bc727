// A residual and its norm are one row fusion, and one block a row on a GPU.

// RUN: rm -rf %t && mkdir %t
// RUN: llmc-opt %s --target=nvidia-sm80 --weights=none -o %t/sm80
// RUN: cat %t/sm80/ptx/*.ptx | FileCheck %s --check-prefix=PTX
// RUN: FileCheck %s --check-prefix=MANIFEST < %t/sm80/manifest.json
// RUN: llmc-opt %s --target=nvidia-sm80 --emit=plan | FileCheck %s --check-prefix=PLAN
// RUN: llmc-opt %s --target=nvidia-sm80 --emit=plan | llmc-opt --pass-pipeline='builtin.module(llmc-generate-device-kernels)' | FileCheck %s --check-prefix=GPU
// RUN: llmc-opt %s --target=nvidia-sm80 --emit=llvm | FileCheck %s --check-prefix=NVVM

// PLAN: plan.arena @communication kind communication
// PLAN: plan.slice @[[SUM:.*]] in @communication
// PLAN: plan.slice @[[NORM:.*]] in @communication
// PLAN: plan.kernel @[[NAME:rows_add_rmsnorm_576_[0-9a-f]+]] symbol "[[NAME]]" generator "nvptx.rows" scratch 0
// PLAN-SAME: device <"ptx/[[NAME]].ptx", grid = [<1, tokens>], block = [256], shared_bytes = 32>
// PLAN: plan.launch @[[NAME]]
// PLAN-SAME: [#plan.use<@[[SUM]], readwrite>, #plan.use<@[[NORM]], readwrite>, #plan.use<@scale, read>] items <1, tokens> remark "residual-norm"

// GPU: gpu.module @[[NAME:rows_add_rmsnorm_576_[0-9a-f]+]] [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx70">]
// GPU: gpu.func @[[NAME]](%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[TOKENS:.*]]: i32) kernel
// GPU-SAME: known_block_size = array<i32: 256, 1, 1>
// GPU: arith.cmpi slt, %{{.*}}, %[[TOKENS]]
// GPU: scf.for {{.*}} iter_args
// GPU-COUNT-5: gpu.shuffle xor
// GPU: gpu.barrier
// GPU: scf.for

// NVVM: llvm.mlir.global external @__dynamic_shmem__0() {addr_space = 3 : i32
// NVVM: llvm.func @rows_add_rmsnorm_576_{{.*}}nvvm.kernel
// NVVM-NOT: {{(arith|gpu|memref|scf)\.}}

// Arithmetic is rounded where the row program rounds: nothing is contracted, approximated or
// called.
// PTX: .target sm_80
// PTX-NOT: .extern .func
// PTX: .extern .shared {{.*}}[];
// PTX: .visible .entry [[NAME:rows_add_rmsnorm_576_[0-9a-f]+]](
// PTX-NEXT: .param .u64 {{.*}}_param_0,
// PTX-NEXT: .param .u64 {{.*}}_param_1,
// PTX-NEXT: .param .u64 {{.*}}_param_2,
// PTX-NEXT: .param .u32 {{.*}}_param_3
// PTX: 256, 1, 1
// PTX-NOT: approx
// PTX: ld.global
// PTX: add.rn.f32 [[SUM:%.*]], %{{.*}}, %{{.*}};
// PTX-NEXT: fma.rn.f32 [[ACC:%.*]], [[SUM]], [[SUM]], [[ACC]];
// PTX-NEXT: st.global.b32 {{.*}}, [[SUM]];
// PTX: shfl.sync.bfly.b32 {{.*}}, 16, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// PTX: st.shared
// PTX: bar.sync
// PTX: div.rn.f32
// PTX: sqrt.rn.f32
// PTX: rcp.rn.f32
// PTX: mul.rn.f32
// PTX: mul.rn.f32
// PTX: st.global
// PTX-NOT: call
// PTX-NOT: approx

// MANIFEST: "device": "nvidia-sm80"
// MANIFEST: "triple": "nvptx64-nvidia-cuda"
// MANIFEST: {"path":"ptx/[[NAME:rows_add_rmsnorm_576_[0-9a-f]+]].ptx","bytes":
// MANIFEST: "symbol":"[[NAME]]","generator":"nvptx.rows","scratch":0,"contracts":[{{.*}}],"device":{"file":"ptx/[[NAME]].ptx","grid":[{"factor":1,"of":"tokens"}],"block":[256],"shared_bytes":32}
// MANIFEST: "launch"
// MANIFEST-NEXT: "kernel": "[[NAME]]"

!scale = !llm.weight<[576], #llm.dense<bf16>>
!rows = tensor<?x576xf32>
module attributes {llm.model = {architecture = "stage", context_length = 128 : i64, hidden_size = 576 : i64, vocab_size = 576 : i64, parameters = 576 : i64}} {
  llm.weight_family @scale "norm.weight" : !scale
  func.func @stage(%x: !rows, %d: !rows) -> (!rows, !rows) attributes {llm.entry} {
    %w = llm.param @scale : !scale
    %sum = llm.residual_add %x, %d : !rows
    %y = llm.rms_norm %sum, %w eps 1.0e-5 : !rows, !scale
    return %sum, %y : !rows, !rows
  }
}
