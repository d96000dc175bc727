//===- GenericKernel.cpp - the kernel around a row function ---------------===//
#include "RowFunction.h"
#include "llmc/Kernels/CPU/GenericKernels.h"
#include "llmc/Kernels/CPU/Polynomials.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace llmc::kernels {

//===----------------------------------------------------------------------===//
// What a spec says
//===----------------------------------------------------------------------===//

static void append(std::string &text, const RowOperand &operand) {
  for (int64_t field : {int64_t(operand.operand), operand.stride, operand.offset, operand.inner,
                        int64_t(operand.element), int64_t(operand.index)})
    text += std::to_string(field) + ",";
  text += ";";
}

std::string genericKernelName(const GenericSpec &spec) {
  std::string text = spec.function;
  for (const RowOperand &operand : spec.inputs)
    append(text, operand);
  text += "->";
  for (const RowOperand &operand : spec.outputs)
    append(text, operand);
  std::string name = "generic_";
  for (char c : spec.name)
    name += llvm::isAlnum(c) ? c : '_';
  return name + "_" + llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

/// Parses the function and compares it with the operands.
static std::string readFunction(MLIRContext *context, const GenericSpec &spec, RowFunction &row) {
  if (std::string problem = makeRowFunction(context, spec.function, row); !problem.empty())
    return problem;
  size_t arguments = row.arguments - (row.batch >= 0);
  if (spec.inputs.size() != arguments || spec.outputs.size() != row.results)
    return "the function has " + std::to_string(arguments) + " arguments and " +
           std::to_string(row.results) + " results, the operands are " +
           std::to_string(spec.inputs.size()) + " and " + std::to_string(spec.outputs.size());
  bool chosen = false;
  for (const RowOperand &input : spec.inputs) {
    if (input.element != RowElement::F32 || input.inner != 0)
      return "operands are f32 rows without inner rows";
    chosen |= input.index == RowIndex::OutputRow;
  }
  for (const RowOperand &output : spec.outputs)
    if (output.index != RowIndex::Item || output.element != RowElement::F32 || output.inner != 0)
      return "results are f32 rows of the items";
  if (chosen && row.batch >= 0)
    return "positions of chosen rows are not supported";
  return "";
}

std::string planGeneric(MLIRContext *context, GenericSpec &spec) {
  RowFunction row;
  std::string problem = readFunction(context, spec, row);
  spec.scratch = row.scratch;
  return problem;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Functions that have polynomials of ours, scalar by scalar.
static void replaceFunctions(KernelBuilder &kb, func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<math::ExpOp, math::TanhOp, math::ErfOp, math::SinOp, math::CosOp, math::LogOp,
            math::Log1pOp>(op) &&
        op->getResult(0).getType().isF32())
      ops.push_back(op);
  });
  OpBuilder::InsertionGuard guard(kb.builder());
  for (Operation *op : ops) {
    kb.builder().setInsertionPoint(op);
    Value x = op->getOperand(0);
    Value y = TypeSwitch<Operation *, Value>(op)
                  .Case([&](math::ExpOp) { return polyExp(kb, x); })
                  .Case([&](math::TanhOp) { return polyTanh(kb, x); })
                  .Case([&](math::ErfOp) { return polyErf(kb, x); })
                  .Case([&](math::LogOp) { return polyLog(kb, x); })
                  .Case([&](math::Log1pOp) { return polyLog1p(kb, x); })
                  .Case([&](math::SinOp) { return polySinCos(kb, x).first; })
                  .Case([&](math::CosOp) { return polySinCos(kb, x).second; });
    op->getResult(0).replaceAllUsesWith(y);
    op->erase();
  }
}

/// Moves the lowered function and its constants behind the kernel, under names of the
/// kernel's own.
static LLVM::LLVMFuncOp adopt(ModuleOp module, LLVM::LLVMFuncOp kernel, RowFunction &row) {
  SymbolTable symbols(*row.module);
  LLVM::LLVMFuncOp body;
  unsigned constants = 0;
  for (Operation &op : llvm::make_early_inc_range(*row.module->getBody())) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    if (!symbol)
      continue;
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    std::string name =
        kernel.getName().str() + (function ? "_row" : "_constant" + std::to_string(constants++));
    if (failed(symbols.rename(&op, name)))
      return nullptr;
    if (function)
      body = function;
  }
  for (Operation &op : llvm::make_early_inc_range(*row.module->getBody())) {
    op.remove();
    module.push_back(&op);
  }
  if (!body)
    return nullptr;
  body.setLinkage(LLVM::Linkage::Internal);
  body.setTargetCpuAttr(kernel.getTargetCpuAttr());
  body.setTuneCpuAttr(kernel.getTuneCpuAttr());
  body.setTargetFeaturesAttr(kernel.getTargetFeaturesAttr());
  body.setNoUnwind(true);
  body.setPassthroughAttr(Builder(module.getContext()).getStrArrayAttr({vectorizeAttrName}));
  // Results overlap nothing, and arguments that overlap are only read.
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), UnitAttr::get(module.getContext()));
  return body;
}

std::string buildGenericKernel(ModuleOp module, const GenericSpec &spec,
                               const CPUVariant &variant) {
  RowFunction row;
  MLIRContext *context = module.getContext();
  if (std::string problem = readFunction(context, spec, row); !problem.empty())
    return problem;
  if (row.scratch != spec.scratch)
    return "the function needs " + std::to_string(row.scratch) + " bytes of scratch, not " +
           std::to_string(spec.scratch);

  KernelBuilder kb(module, genericKernelName(spec), variant);
  replaceFunctions(kb, row.function);
  if (failed(lowerRowMemory(row)))
    return "the function cannot be taken to the llvm dialect";

  auto rowIndex = [&](const RowOperand &operand, Value item) -> Value {
    if (operand.index == RowIndex::Item)
      return item;
    BatchField field =
        operand.index == RowIndex::OutputRow ? BatchField::OutputRows : BatchField::TokenIds;
    return kb.toI64(kb.load(kb.i32(), kb.at(kb.batch(field), kb.mul(item, 4)), 4));
  };
  SmallVector<RowOperand> operands(spec.inputs.begin(), spec.inputs.end());
  operands.append(spec.outputs.begin(), spec.outputs.end());
  SmallVector<Value> bases;
  for (const RowOperand &operand : operands)
    bases.push_back(kb.at(kb.operand(operand.operand), operand.offset * 4));
  Value positions, sequences, extents;
  if (row.batch >= 0) {
    positions = kb.batch(BatchField::Positions);
    sequences = kb.batch(BatchField::TokenSeq);
    extents = kb.batch(BatchField::Extents);
  }
  auto entryOf = [&](Value array, Value index) {
    return kb.load(kb.i32(), kb.at(array, kb.mul(index, 4)), 4);
  };

  SmallVector<LLVM::CallOp> calls;
  kb.loop(kb.begin(), kb.end(), 1, [&](Value item) {
    SmallVector<Value> arguments;
    for (auto [base, operand] : llvm::zip(bases, operands))
      arguments.push_back(
          operand.stride ? kb.at(base, kb.mul(rowIndex(operand, item), operand.stride * 4)) : base);
    if (positions) {
      // The token's entry lies at the end of the scratch.
      Value entry = kb.at(kb.scratch(), row.entry);
      kb.store(entryOf(positions, item), entry, 4);
      kb.store(entryOf(extents, kb.toI64(entryOf(sequences, item))), entry, 4, 4);
      arguments.insert(arguments.begin() + row.batch, entry);
    }
    arguments.push_back(kb.scratch());
    // The callee has its final name once it is in the module.
    calls.push_back(LLVM::CallOp::create(kb.builder(), kb.loc(), TypeRange(), "", arguments));
  });
  LLVM::LLVMFuncOp kernel = kb.finish();
  LLVM::LLVMFuncOp body = adopt(module, kernel, row);
  if (!body)
    return "the function was lost on its way to the llvm dialect";
  for (LLVM::CallOp call : calls)
    call.setCallee(body.getName());
  return "";
}

} // namespace llmc::kernels
