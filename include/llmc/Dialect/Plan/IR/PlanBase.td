//===- PlanBase.td - what all plan ops share ---------------*- tablegen -*-===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANBASE
#define LLMC_DIALECT_PLAN_IR_PLANBASE

include "llmc/Dialect/Plan/IR/PlanAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

/// A named part of a program. Names are unique over all kinds of parts.
class Plan_SymbolOp<string mnemonic, list<Trait> traits = []>
    : Plan_Op<mnemonic, [HasParent<"ProgramOp">, Symbol] # traits>;

/// A step of an entry, numbered by its place in the flattened entry.
class Plan_StepOp<string mnemonic, list<Trait> traits = []>
    : Plan_Op<mnemonic, [ParentOneOf<["EntryOp", "RepeatOp"]>,
                         DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                         DeclareOpInterfaceMethods<Plan_StepOpInterface>] # traits>;

/// A size in bytes or elements: an affine map over
/// `()[tokens, outputs, sequences, blocks, threads]`, linear, no term negative.
def Plan_SizeAttr : Attr<And<[
    CPred<"::llvm::isa<::mlir::AffineMapAttr>($_self)">,
    CPred<"::llmc::plan::isSizeMap(::llvm::cast<::mlir::AffineMapAttr>($_self).getValue())">]>,
    "linear size with no negative term over ()[tokens, outputs, sequences, blocks, threads]"> {
  let storageType = "::mlir::AffineMapAttr";
  let returnType = "::mlir::AffineMap";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::mlir::AffineMapAttr::get($0)";
}

/// A 64-bit number whose accessor is signed.
class Plan_I64<string pred, string what> : ConfinedAttr<I64Attr, [
    AttrConstraint<CPred<"::llvm::cast<::mlir::IntegerAttr>($_self).getInt() " # pred>, what>]> {
  let returnType = "int64_t";
  let convertFromStorage = "$_self.getInt()";
}
def Plan_Positive : Plan_I64<"> 0", "whose value is positive">;
def Plan_NonNegative : Plan_I64<">= 0", "whose value is non-negative">;
def Plan_Offset : Plan_I64<"% 64 == 0 && "
                           "::llvm::cast<::mlir::IntegerAttr>($_self).getInt() >= 0",
                           "whose value is a non-negative multiple of 64">;

/// Elements of slices and states.
def Plan_ElementAttr : ConfinedAttr<TypeAttr, [
    AttrConstraint<
        CPred<"::llmc::plan::isElementType(::llvm::cast<::mlir::TypeAttr>($_self).getValue())">,
        "which is f32, f16, bf16 or i32">]>;

#endif // LLMC_DIALECT_PLAN_IR_PLANBASE
