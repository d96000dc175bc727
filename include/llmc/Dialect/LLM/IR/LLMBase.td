//===- LLMBase.td - the llm dialect -----------------------*- tablegen -*-===//
//
// The dialect, the base class of its ops and the operand constraints that the
// families share.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_DIALECT_LLM_IR_LLMBASE
#define LLMC_DIALECT_LLM_IR_LLMBASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def LLM_Dialect : Dialect {
  let name = "llm";
  let cppNamespace = "::llmc::llm";
  let summary = "What a language model computes: value semantics, no buffers, no devices";
  let description = [{
    Activations are token-major and ragged: `tensor<?x4096xf32>` holds the tokens of
    all sequences of a step one after another and `!llm.batch` says which token
    belongs to which sequence at which position, so one program serves prefill,
    chunked prefill, decode and any mix of them.

    Each distinct layer is one `func.func` that takes the layer index; weights and
    state are symbol families indexed by it (`llm.param @q_proj[%i]`), so IR grows
    with the kinds of layers and not with layers.

    Discardable attributes: `llm.entry` (unit, on the function that a step calls),
    `llm.model` (dictionary of model facts, on the module), and on functions of libraries
    (docs/Extending.md) `llm.implements` (the operation's name) and `llm.settings` (numbers
    that a call may give), which `llm.bind` of an op ties to its attributes; others are refused.

    docs/Dialects/LLM.md is the rationale and holds the labelled constraints.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect", "::mlir::func::FuncDialect"];
}

class LLM_Op<string mnemonic, list<Trait> traits = []> : Op<LLM_Dialect, mnemonic, traits>;
class LLM_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<LLM_Dialect, name, traits> { let mnemonic = typeMnemonic; }
class LLM_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<LLM_Dialect, name, traits> { let mnemonic = attrMnemonic; }

// Activations: f32, or a 16-bit float that an op declares it computes on in f32.
def LLM_Float : AnyTypeOf<[F32, F16, BF16]>;
def LLM_Rows : RankedTensorOf<[F32, F16, BF16]>;
def LLM_Tokens : 1DTensorOf<[I32]>;
// Numbers of experts or positions, a row for each token.
def LLM_Choice : 2DTensorOf<[I32]>;

#endif // LLMC_DIALECT_LLM_IR_LLMBASE
