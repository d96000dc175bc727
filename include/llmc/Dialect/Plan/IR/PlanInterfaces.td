//===- PlanInterfaces.td - interfaces of the plan dialect --*- tablegen -*-===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANINTERFACES
#define LLMC_DIALECT_PLAN_IR_PLANINTERFACES

include "mlir/IR/OpBase.td"

def Plan_WeightLayoutAttrInterface : AttrInterface<"WeightLayoutAttrInterface"> {
  let description = [{
    How the rows and columns of a published weight become bytes. A layout of a
    new kernel family is an attribute with this interface; ops, passes and the
    verifier then know nothing else of it.
  }];
  let cppNamespace = "::llmc::plan";
  let methods = [
    InterfaceMethod<[{
      Bytes of one member, without padding at its end; failure, with the reason
      reported, where the layout cannot hold such a weight.
    }],
    "::llvm::FailureOr<int64_t>", "getPackedBytes",
    (ins "::llmc::plan::Storage":$storage, "int64_t":$rows, "int64_t":$cols,
         "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>
  ];
}

def Plan_StepOpInterface : OpInterface<"StepOpInterface"> {
  let description = [{
    A step of an entry that touches memory. Liveness, packing and verification
    see steps only through this interface. Steps are numbered from 0
    through the entries in order, the body of a repeat once.
  }];
  let cppNamespace = "::llmc::plan";
  let methods = [
    InterfaceMethod<"Appends what the step reads and writes, in operand order.",
    "void", "getUses", (ins "::llvm::SmallVectorImpl<::llmc::plan::UseAttr> &":$uses)>
  ];
}

#endif // LLMC_DIALECT_PLAN_IR_PLANINTERFACES
