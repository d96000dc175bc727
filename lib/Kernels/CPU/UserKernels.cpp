//===- UserKernels.cpp - kernels that others compiled ---------------------===//
#include "llmc/Kernels/CPU/UserKernels.h"

#include "llmc/Kernels/CPU/KernelBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

/// On the declaration of a user's function: the object and its hash.
constexpr llvm::StringLiteral objectAttr = "llmc.object", hashAttr = "llmc.sha256";
/// Larger objects are no kernels.
constexpr uint64_t mostBytes = uint64_t(256) << 20;

/// What is wrong with the symbols of an object; empty where nothing is.
std::string problemOfSymbols(const llvm::object::ELFObjectFileBase &elf, StringRef symbol) {
  bool isDefined = false;
  std::vector<std::string> needed;
  for (const llvm::object::SymbolRef &one : elf.symbols()) {
    auto flags = one.getFlags();
    auto name = one.getName();
    if (!flags || !name) {
      consumeError(flags.takeError());
      consumeError(name.takeError());
      return "has a damaged table of symbols";
    }
    bool isUndefined = *flags & llvm::object::SymbolRef::SF_Undefined;
    if (isUndefined && !name->empty() && *name != "_GLOBAL_OFFSET_TABLE_")
      needed.push_back(name->str());
    auto type = one.getType();
    if (!type)
      consumeError(type.takeError());
    else if (*name == symbol && !isUndefined && *type == llvm::object::SymbolRef::ST_Function &&
             (*flags & llvm::object::SymbolRef::SF_Global))
      isDefined = true;
  }
  if (!isDefined)
    return "does not define a global function '" + symbol.str() + "' (extern \"C\" in C++)";
  if (!needed.empty())
    return "needs '" + llvm::join(needed, "', '") + "', which it does not define: kernels call no "
           "library. Write it there, join objects with ld -r, and keep a compiler from calling "
           "memset by itself with -fno-builtin";
  return "";
}

} // namespace

std::string readUserObject(StringRef path, StringRef symbol, ObjectCode &object,
                           std::string &sha256) {
  std::string where = path.str() + ": ";
  uint64_t bytes = 0;
  if (std::error_code error = llvm::sys::fs::file_size(path, bytes))
    return where + "cannot be read: " + error.message();
  if (bytes > mostBytes)
    return where + "has " + std::to_string(bytes) + " bytes, more than a kernel may have (" +
           std::to_string(mostBytes) + ")";
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return where + "cannot be read: " + buffer.getError().message();
  StringRef content = (*buffer)->getBuffer();
  auto file = llvm::object::ObjectFile::createELFObjectFile((*buffer)->getMemBufferRef());
  if (!file) {
    consumeError(file.takeError());
    return where + "is no ELF object; make one with clang -c -fPIC";
  }
  auto *elf = dyn_cast<llvm::object::ELFObjectFileBase>(file->get());
  if (!elf || !elf->isRelocatableObject() || elf->getArch() != llvm::Triple::x86_64)
    return where + "is no relocatable object for x86-64, which clang -c -fPIC makes; shared "
                   "objects and archives are none";
  if (std::string problem = problemOfSymbols(*elf, symbol); !problem.empty())
    return where + problem;
  auto digest = llvm::SHA256::hash(ArrayRef<uint8_t>(
      reinterpret_cast<const uint8_t *>(content.data()), content.size()));
  sha256 = llvm::toHex(digest, /*LowerCase=*/true);
  object.assign(content.begin(), content.end());
  return "";
}

std::string userKernelName(const UserKernelSpec &spec) {
  std::string text = spec.symbol + spec.sha256 + std::to_string(spec.scratch);
  for (double fact : spec.facts)
    text += "," + llvm::utohexstr(llvm::bit_cast<uint64_t>(fact));
  return "user_" + spec.name + "_" +
         llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true);
}

std::string buildUserKernel(ModuleOp module, const UserKernelSpec &spec,
                            const CPUVariant &variant) {
  Operation *known = SymbolTable::lookupSymbolIn(module, spec.symbol);
  if (known && (!isUserFunction(known) ||
                known->getAttrOfType<StringAttr>(objectAttr) != StringRef(spec.object)))
    return "'" + spec.symbol + "' of " + spec.object + " is the name of " +
           (isUserFunction(known)
                ? "a function of " + known->getAttrOfType<StringAttr>(objectAttr).str() + " too"
                : "a kernel of llmc") +
           "; rename it";
  KernelBuilder k(module, userKernelName(spec), variant);
  OpBuilder &b = k.builder();
  Location loc = k.loc();
  Type ptr = k.ptr(), i64 = b.getI64Type(), f64 = b.getF64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                          {ptr, i64, i64, ptr, ptr});
  if (!known) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto declaration = LLVM::LLVMFuncOp::create(b, loc, spec.symbol, type);
    declaration->setAttr(objectAttr, b.getStringAttr(spec.object));
    declaration->setAttr(hashAttr, b.getStringAttr(spec.sha256));
  }
  // The facts lie on the stack: a few stores a launch.
  Value count = LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(
                                                          std::max<int64_t>(spec.facts.size(), 1)));
  Value facts = LLVM::AllocaOp::create(b, loc, ptr, f64, count, /*alignment=*/8);
  for (auto [i, fact] : llvm::enumerate(spec.facts)) {
    Value value = LLVM::ConstantOp::create(b, loc, f64, b.getF64FloatAttr(fact));
    LLVM::StoreOp::create(b, loc, value, k.at(facts, 8 * int64_t(i)));
  }
  Block *entry = b.getInsertionBlock();
  SmallVector<Value> arguments(entry->getArguments().begin(), entry->getArguments().end());
  arguments.push_back(facts);
  LLVM::CallOp::create(b, loc, TypeRange(), spec.symbol, arguments);
  k.finish();
  return "";
}

bool isUserFunction(Operation *function) { return function && function->hasAttr(objectAttr); }

std::string readUserObjects(ModuleOp module, std::vector<ObjectCode> &objects) {
  llvm::StringMap<bool> done;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!isUserFunction(function))
      continue;
    auto path = function->getAttrOfType<StringAttr>(objectAttr);
    auto hash = function->getAttrOfType<StringAttr>(hashAttr);
    ObjectCode object;
    std::string sha256, problem = readUserObject(path, function.getSymName(), object, sha256);
    if (!problem.empty())
      return problem;
    if (!hash || hash != StringRef(sha256))
      return path.str() + ": has changed since its kernels were chosen; compile again";
    if (done.try_emplace(path.getValue(), true).second)
      objects.push_back(std::move(object));
  }
  return "";
}

} // namespace llmc::kernels
