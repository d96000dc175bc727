// RUN: llmc-opt %s --llmc-lower-kernels --verify-diagnostics

// What the lowering does not know stays, and is found behind it.
module {
  module @kernels {
    llvm.func @rows(%args: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr) {
      // expected-error @below {{'builtin.unrealized_conversion_cast' op is left in kernel @rows}}
      %row = builtin.unrealized_conversion_cast %scratch : !llvm.ptr to memref<16xf32>
      %zero = arith.constant 0.0 : f32
      // expected-error @below {{'linalg.fill' op is left in kernel @rows: it is not of the llvm dialect}}
      linalg.fill ins(%zero : f32) outs(%row : memref<16xf32>)
      llvm.return
    }
  }
}
