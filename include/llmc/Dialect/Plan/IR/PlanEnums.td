//===- PlanEnums.td - closed sets of the plan dialect ------*- tablegen -*-===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANENUMS
#define LLMC_DIALECT_PLAN_IR_PLANENUMS

include "llmc/Dialect/Plan/IR/PlanDialect.td"
include "mlir/IR/EnumAttr.td"

class Plan_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::llmc::plan";
  let genSpecializedAttr = 0;
}

class Plan_EnumAttr<Plan_Enum enum, string mnemonic> : EnumAttr<Plan_Dialect, enum, mnemonic>;

def Plan_ArenaKind : Plan_Enum<"ArenaKind", "what an arena holds, and for how long", [
    I32EnumAttrCase<"Weights", 0, "weights">,
    I32EnumAttrCase<"State", 1, "state">,
    I32EnumAttrCase<"Activations", 2, "activations">,
    I32EnumAttrCase<"Workspace", 3, "workspace">,
    I32EnumAttrCase<"Communication", 4, "communication">]>;
def Plan_ArenaKindAttr : Plan_EnumAttr<Plan_ArenaKind, "arena_kind">;

def Plan_Access : Plan_Enum<"Access", "what a step does with an operand", [
    I32EnumAttrCase<"Read", 0, "read">,
    I32EnumAttrCase<"Write", 1, "write">,
    I32EnumAttrCase<"ReadWrite", 2, "readwrite">]>;

def Plan_MemoryKind : Plan_Enum<"MemoryKind", "what kind of memory an operand is", [
    I32EnumAttrCase<"Slice", 0, "slice">,
    I32EnumAttrCase<"Weights", 1, "weights">,
    I32EnumAttrCase<"State", 2, "state">]>;

def Plan_Extent : Plan_Enum<"Extent", "a count that the step decides", [
    I32EnumAttrCase<"One", 0, "one">,
    I32EnumAttrCase<"Tokens", 1, "tokens">,
    I32EnumAttrCase<"Outputs", 2, "outputs">,
    I32EnumAttrCase<"Sequences", 3, "sequences">]>;
def Plan_ExtentAttr : Plan_EnumAttr<Plan_Extent, "extent">;

def Plan_StateKind : Plan_Enum<"StateKind", "how a state is laid out", [
    I32EnumAttrCase<"Paged", 0, "paged">,
    I32EnumAttrCase<"Recurrent", 1, "recurrent">,
    I32EnumAttrCase<"Conv", 2, "conv">]>;
def Plan_StateKindAttr : Plan_EnumAttr<Plan_StateKind, "state_kind">;

def Plan_Storage : Plan_Enum<"Storage", "format of a weight's source elements", [
    I32EnumAttrCase<"F32", 0, "f32">,
    I32EnumAttrCase<"F16", 1, "f16">,
    I32EnumAttrCase<"BF16", 2, "bf16">,
    I32EnumAttrCase<"Q8_0", 3, "q8_0">,
    I32EnumAttrCase<"Q4_0", 4, "q4_0">,
    I32EnumAttrCase<"Q4_1", 5, "q4_1">,
    I32EnumAttrCase<"Q5_0", 6, "q5_0">,
    I32EnumAttrCase<"Q5_1", 7, "q5_1">,
    I32EnumAttrCase<"Q8_1", 8, "q8_1">,
    I32EnumAttrCase<"Q2_K", 9, "q2_k">,
    I32EnumAttrCase<"Q3_K", 10, "q3_k">,
    I32EnumAttrCase<"Q4_K", 11, "q4_k">,
    I32EnumAttrCase<"Q5_K", 12, "q5_k">,
    I32EnumAttrCase<"Q6_K", 13, "q6_k">,
    I32EnumAttrCase<"Q8_K", 14, "q8_k">,
    I32EnumAttrCase<"IQ4_NL", 15, "iq4_nl">,
    I32EnumAttrCase<"IQ4_XS", 16, "iq4_xs">,
    I32EnumAttrCase<"MXFP4", 17, "mxfp4">]>;
def Plan_StorageAttr : Plan_EnumAttr<Plan_Storage, "storage">;

def Plan_CollectiveKind : Plan_Enum<"CollectiveKind", "what a collective computes", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">]>;
def Plan_CollectiveKindAttr : Plan_EnumAttr<Plan_CollectiveKind, "collective_kind">;

#endif // LLMC_DIALECT_PLAN_IR_PLANENUMS
