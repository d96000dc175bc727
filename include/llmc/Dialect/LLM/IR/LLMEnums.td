//===- LLMEnums.td - closed choices of the llm dialect ----*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMENUMS
#define LLMC_DIALECT_LLM_IR_LLMENUMS

include "llmc/Dialect/LLM/IR/LLMBase.td"

class LLM_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::llmc::llm";
}

def LLM_Activation : LLM_Enum<"Activation", "activation function", [
    I32EnumCase<"Silu", 0, "silu">, I32EnumCase<"GeluErf", 1, "gelu">,
    I32EnumCase<"GeluTanh", 2, "gelu_tanh">, I32EnumCase<"Relu", 3, "relu">,
    I32EnumCase<"Sigmoid", 4, "sigmoid">, I32EnumCase<"Tanh", 5, "tanh">]>;
def LLM_ActivationAttr : EnumAttr<LLM_Dialect, LLM_Activation, "activation">;

def LLM_RopePairing : LLM_Enum<"RopePairing", "which channels rotate together", [
    I32EnumCase<"Halves", 0, "halves">, I32EnumCase<"Interleaved", 1, "interleaved">]>;
def LLM_RopePairingAttr : EnumAttr<LLM_Dialect, LLM_RopePairing, "pairing">;

def LLM_CacheKind : LLM_Enum<"CacheKind", "what a state holds", [
    I32EnumCase<"Paged", 0, "paged">, I32EnumCase<"Window", 1, "window">,
    I32EnumCase<"Latent", 2, "latent">, I32EnumCase<"Recurrent", 3, "recurrent">,
    I32EnumCase<"Conv", 4, "conv">]>;

def LLM_BlockOrder : LLM_Enum<"BlockOrder", "order of the elements of a quantised block", [
    I32EnumCase<"Linear", 0, "linear">, I32EnumCase<"Halves", 1, "halves">,
    I32EnumCase<"Planes", 2, "planes">]>;

#endif // LLMC_DIALECT_LLM_IR_LLMENUMS
