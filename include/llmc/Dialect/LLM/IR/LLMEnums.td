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
    I32EnumCase<"Sigmoid", 4, "sigmoid">, I32EnumCase<"Tanh", 5, "tanh">,
    I32EnumCase<"GeluQuick", 6, "gelu_quick">, I32EnumCase<"ReluSquared", 7, "relu2">,
    I32EnumCase<"Softplus", 8, "softplus">, I32EnumCase<"Exp", 9, "exp">,
    I32EnumCase<"Log", 10, "log">, I32EnumCase<"Sqrt", 11, "sqrt">,
    I32EnumCase<"Reciprocal", 12, "reciprocal">]>;
def LLM_ActivationAttr : EnumAttr<LLM_Dialect, LLM_Activation, "activation">;

def LLM_BinaryFunction : LLM_Enum<"BinaryFunction", "arithmetic of two values", [
    I32EnumCase<"Add", 0, "add">, I32EnumCase<"Sub", 1, "sub">, I32EnumCase<"Mul", 2, "mul">,
    I32EnumCase<"Div", 3, "div">, I32EnumCase<"Min", 4, "min">, I32EnumCase<"Max", 5, "max">]>;
def LLM_BinaryFunctionAttr : EnumAttr<LLM_Dialect, LLM_BinaryFunction, "function">;

def LLM_RowStatistic : LLM_Enum<"RowStatistic", "one number of a row", [
    I32EnumCase<"Mean", 0, "mean">, I32EnumCase<"Deviation", 1, "deviation">,
    I32EnumCase<"Sum", 2, "sum">, I32EnumCase<"Max", 3, "max">]>;
def LLM_RowStatisticAttr : EnumAttr<LLM_Dialect, LLM_RowStatistic, "statistic">;

def LLM_RopePairing : LLM_Enum<"RopePairing", "which channels rotate together", [
    I32EnumCase<"Halves", 0, "halves">, I32EnumCase<"Interleaved", 1, "interleaved">]>;
def LLM_RopePairingAttr : EnumAttr<LLM_Dialect, LLM_RopePairing, "pairing">;

def LLM_CacheKind : LLM_Enum<"CacheKind", "what a state holds", [
    I32EnumCase<"Paged", 0, "paged">, I32EnumCase<"Window", 1, "window">,
    I32EnumCase<"Latent", 2, "latent">, I32EnumCase<"Recurrent", 3, "recurrent">,
    I32EnumCase<"Conv", 4, "conv">, I32EnumCase<"Entries", 5, "entries">]>;

def LLM_BlockOrder : LLM_Enum<"BlockOrder", "order of the elements of a quantised block", [
    I32EnumCase<"Linear", 0, "linear">, I32EnumCase<"Halves", 1, "halves">,
    I32EnumCase<"Planes", 2, "planes">]>;

def LLM_RouteScore : LLM_Enum<"RouteScore", "what a router makes of its logits", [
    I32EnumCase<"Softmax", 0, "softmax">, I32EnumCase<"Sigmoid", 1, "sigmoid">,
    I32EnumCase<"SqrtSoftplus", 2, "sqrt_softplus">, I32EnumCase<"Identity", 3, "identity">]>;
def LLM_RouteScoreAttr : EnumAttr<LLM_Dialect, LLM_RouteScore, "route_score">;

def LLM_GroupScore : LLM_Enum<"GroupScore", "what a group of experts is chosen by", [
    I32EnumCase<"Max", 0, "max">, I32EnumCase<"Top2", 1, "top2">]>;
def LLM_GroupScoreAttr : EnumAttr<LLM_Dialect, LLM_GroupScore, "group_score">;

def LLM_RouteNormalise : LLM_Enum<"RouteNormalise", "how the chosen scores become weights", [
    I32EnumCase<"None", 0, "none">, I32EnumCase<"Sum", 1, "sum">,
    I32EnumCase<"Softmax", 2, "softmax">, I32EnumCase<"Margin", 3, "margin">]>;
def LLM_RouteNormaliseAttr : EnumAttr<LLM_Dialect, LLM_RouteNormalise, "route_normalise">;

#endif // LLMC_DIALECT_LLM_IR_LLMENUMS
