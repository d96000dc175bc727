// RUN: llmc-opt %s --llmc-verify-kernels --split-input-file --verify-diagnostics

module {
  module @kernels {
    llvm.func @rows_avx2(%args: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr) {
      // expected-error @below {{'builtin.unrealized_conversion_cast' op is left in kernel @rows_avx2: it is not of the llvm dialect}}
      %row = builtin.unrealized_conversion_cast %scratch : !llvm.ptr to memref<16xf32>
      %zero = llvm.mlir.constant(0.0 : f32) : f32
      // expected-error @below {{'linalg.fill' op is left in kernel @rows_avx2: it is not of the llvm dialect}}
      linalg.fill ins(%zero : f32) outs(%row : memref<16xf32>)
      // One report for each kind of operation and kernel.
      linalg.fill ins(%zero : f32) outs(%row : memref<16xf32>)
      llvm.return
    }
    llvm.func @sound_avx2(%args: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr) {
      llvm.return
    }
  }
}

// -----

module {
  module @kernels {
    llvm.func @missing(i64)
    llvm.func @calls(%args: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr) {
      // expected-error @below {{'llvm.call' op is left in kernel @calls: it calls a function without a body}}
      llvm.call @missing(%begin) : (i64) -> ()
      %x = llvm.load %scratch : !llvm.ptr -> f32
      // expected-error @below {{'llvm.intr.exp' op is left in kernel @calls: it would become a library call, which a kernel must not make}}
      %y = llvm.intr.exp(%x) : (f32) -> f32
      llvm.store %y, %scratch : f32, !llvm.ptr
      llvm.return
    }
  }
}
