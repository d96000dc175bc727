//===- Emit.cpp - object code of lowered kernels --------------------------===//
//
// The functions are split into chunks of bounded size, each with an LLVM
// context of its own, and compiled side by side. The split depends on the
// module alone, so the objects do too.
//
//===----------------------------------------------------------------------===//
#include "llmc/Kernels/CPU/Backend.h"
#include "llmc/Kernels/CPU/UserKernels.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"
#include <mutex>

using namespace mlir;

namespace llmc::kernels {
namespace {

constexpr const char *triple = "x86_64-unknown-linux-gnu";
/// Operations after which a chunk is full: some 0.1 s of work.
constexpr int64_t chunkOperations = 8000;

std::unique_ptr<llvm::TargetMachine> createTargetMachine(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple target(triple);
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(target, error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  // Every fused operation is written as one; nothing else may be fused.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(target, "x86-64", "", options, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// Adds the functions and globals that `op` names; what they name is not followed.
void collectUses(Operation *op, const SymbolTable &symbols,
                 llvm::SetVector<Operation *> &found) {
  if (auto uses = SymbolTable::getSymbolUses(op))
    for (SymbolTable::SymbolUse use : *uses)
      if (Operation *target = symbols.lookup(use.getSymbolRef().getRootReference()))
        found.insert(target);
}

bool isShared(Operation *op) {
  if (auto func = dyn_cast<LLVM::LLVMFuncOp>(op))
    return func.getLinkage() == LLVM::Linkage::Internal ||
           func.getLinkage() == LLVM::Linkage::Private;
  return true;
}

/// Modules that together define what `module` does; internal functions and
/// constants are copied into each one that uses them.
SmallVector<OwningOpRef<ModuleOp>> splitModule(ModuleOp module) {
  SymbolTable symbols(module);
  SmallVector<OwningOpRef<ModuleOp>> chunks;
  llvm::SetVector<Operation *> members;
  int64_t operations = 0;
  auto flush = [&] {
    if (members.empty())
      return;
    for (unsigned i = 0; i < members.size(); ++i)
      collectUses(members[i], symbols, members);
    ModuleOp chunk = ModuleOp::create(module.getLoc());
    for (Operation &op : *module.getBody())
      if (members.contains(&op))
        chunk.push_back(op.clone());
    chunks.push_back(chunk);
    members.clear();
    operations = 0;
  };
  for (Operation &op : *module.getBody()) {
    if (isShared(&op))
      continue;
    members.insert(&op);
    op.walk([&](Operation *) { ++operations; });
    if (operations >= chunkOperations)
      flush();
  }
  flush();
  return chunks;
}

std::unique_ptr<llvm::Module> translate(ModuleOp module, llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> result = translateModuleToLLVMIR(module, context, "llmc");
  if (!result)
    return nullptr;
  result->setSourceFileName("llmc");
  result->setTargetTriple(llvm::Triple(triple));
  result->setDataLayout(machine.createDataLayout());
  return result;
}

/// A short pipeline: generators give loops their final form, so that -O2 takes
/// three times as long, changes no speed, and may undo the form.
void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  // No library exists, so that no loop may become a memset.
  llvm::TargetLibraryInfoImpl library{llvm::Triple(triple)};
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);

  llvm::FunctionPassManager each;
  each.addPass(llvm::EarlyCSEPass());
  each.addPass(llvm::InstCombinePass());
  each.addPass(llvm::SimplifyCFGPass());
  each.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                     /*UseMemorySSA=*/true));
  each.addPass(llvm::EarlyCSEPass());
  each.addPass(llvm::InstCombinePass());
  // Turns chains of comparisons into jump tables.
  each.addPass(llvm::SimplifyCFGPass(
      llvm::SimplifyCFGOptions().convertSwitchToLookupTable(true).sinkCommonInsts(true)));
  llvm::ModulePassManager all;
  all.addPass(llvm::AlwaysInlinerPass());
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(each)));
  all.addPass(llvm::GlobalDCEPass());
  all.run(module, modules);

  // Plain loops over elements take several lanes at a time. Sums are left alone: without
  // fast-math none may be reordered.
  llvm::FunctionPassManager plain;
  plain.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass()));
  plain.addPass(llvm::LoopVectorizePass());
  plain.addPass(llvm::InstCombinePass());
  plain.addPass(llvm::EarlyCSEPass());
  plain.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && function.hasFnAttribute(vectorizeAttrName))
      plain.run(function, functions);
}

LogicalResult generate(llvm::Module &module, llvm::TargetMachine &machine,
                       llvm::CodeGenFileType kind, ObjectCode &output) {
  llvm::raw_svector_ostream stream(output);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library{llvm::Triple(triple)};
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind))
    return failure();
  passes.run(module);
  return success();
}

/// One module from the LLVM dialect to `output`; `kind` nothing: IR text.
LogicalResult compileModule(ModuleOp module, std::optional<llvm::CodeGenFileType> kind,
                            ObjectCode &output) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(error);
  if (!machine)
    return module.emitError("cannot generate code for ") << triple << ": " << error;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = translate(module, context, *machine);
  if (!ir)
    return module.emitError("cannot be translated to LLVM IR");
  optimize(*ir, *machine);
  if (!kind) {
    llvm::raw_svector_ostream stream(output);
    ir->print(stream, nullptr);
    return success();
  }
  if (failed(generate(*ir, *machine, *kind, output)))
    return module.emitError("code generation is not available for ") << triple;
  return success();
}

FailureOr<std::string> emitText(ModuleOp module, std::optional<llvm::CodeGenFileType> kind) {
  ObjectCode text;
  if (failed(compileModule(module, kind, text)))
    return failure();
  return std::string(text.begin(), text.end());
}

} // namespace

LogicalResult emitObjects(ModuleOp module, std::vector<ObjectCode> &objects) {
  SmallVector<OwningOpRef<ModuleOp>> chunks = splitModule(module);
  objects.assign(chunks.size(), {});
  return failableParallelForEachN(module.getContext(), 0, chunks.size(), [&](size_t i) {
    return compileModule(*chunks[i], llvm::CodeGenFileType::ObjectFile, objects[i]);
  });
}

FailureOr<std::string> emitLLVMText(ModuleOp module) { return emitText(module, std::nullopt); }

FailureOr<std::string> emitAssembly(ModuleOp module) {
  return emitText(module, llvm::CodeGenFileType::AssemblyFile);
}

LogicalResult compileKernels(ModuleOp module, StringRef path) {
  std::vector<ObjectCode> objects;
  std::string message;
  if (failed(lowerKernels(module)) || failed(emitObjects(module, objects)))
    return failure();
  if (message = readUserObjects(module, objects); !message.empty())
    return module.emitError() << message;
  if (failed(linkSharedObject(objects, path, message)))
    return module.emitError("kernels cannot be linked: ") << message;
  return success();
}

} // namespace llmc::kernels
