//===- PlanDialect.td - the plan dialect -------------------*- tablegen -*-===//
//
// The artifact as IR, one to one with manifest.json (docs/Manifest.md). The
// meaning of every op and its labelled constraints: docs/Dialects/Plan.md.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANDIALECT
#define LLMC_DIALECT_PLAN_IR_PLANDIALECT

include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::llmc::plan";
  let summary = "The artifact of a compiled model: memory, kernels and steps in order";
  let description = [{
    A `plan.program` says what a runtime does, completely: arenas and the slices
    cut from them, packed weights, paged state, kernels, and per entry point the
    launches in order. There are no SSA values: a step names the memory it reads
    and writes, and that memory is final here. `plan-to-manifest` writes the
    program as `manifest.json`, `manifest-to-plan` reads it back.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

#endif // LLMC_DIALECT_PLAN_IR_PLANDIALECT
