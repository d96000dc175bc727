//===- PlanProgramOps.cpp - the program and what it declares --------------===//

#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace llmc::plan;

bool llmc::plan::isInsidePath(StringRef path) {
  if (path.contains('\\') || path.contains('\0'))
    return false;
  SmallVector<StringRef> parts;
  path.split(parts, '/');
  return llvm::none_of(
      parts, [](StringRef part) { return part.empty() || part == "." || part == ".."; });
}

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

RegionKind ProgramOp::getRegionKind(unsigned) { return RegionKind::Graph; }

LogicalResult ProgramOp::verifyRegions() {
  if (getTokenizer() && !isInsidePath(*getTokenizer())) // program_c3
    return emitOpError("tokenizer '") << *getTokenizer() << "' is no path inside the artifact";
  if (std::optional<ArrayRef<int64_t>> lengths = getRecomputeBeyond()) {
    int64_t before = 0;
    for (int64_t length : *lengths) {
      if (length <= before) // program_c6
        return emitOpError("recompute_beyond has ")
               << length << " behind " << before << "; lengths are positive and ascend";
      before = length;
    }
  }
  llvm::StringSet<> paths, suffixes;
  bool workspace = false;
  for (Operation &op : getBody().front()) {
    if (!isa_and_nonnull<PlanDialect>(op.getDialect())) // program_c1
      return op.emitOpError("is no part of a plan.program");
    if (auto file = dyn_cast<FileOp>(op); file && !paths.insert(file.getPath()).second)
      return file.emitOpError("'") << file.getPath() << "' is listed twice"; // program_c2
    if (auto arena = dyn_cast<ArenaOp>(op);
        arena && arena.getKind() == ArenaKind::Workspace && std::exchange(workspace, true))
      return arena.emitOpError("is a second workspace, threads share one"); // program_c5
    if (auto variant = dyn_cast<VariantOp>(op);
        variant && !suffixes.insert(variant.getSuffix()).second)
      return variant.emitOpError("has the suffix '") // program_c4
             << variant.getSuffix() << "' of another variant";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

LogicalResult FileOp::verify() {
  if (!isInsidePath(getPath())) // file_c1
    return emitOpError("'") << getPath() << "' is no path inside the artifact";
  StringRef digest = getSha256();
  if (digest.size() != 64 || !llvm::all_of(digest, [](char c) { // file_c2
        return llvm::isDigit(c) || (c >= 'a' && c <= 'f');
      }))
    return emitOpError("sha256 is 64 lower-case hexadecimal digits, got '") << digest << "'";
  return success();
}

LogicalResult KernelOp::verify() {
  if (getDevice() && getScratch() != 0) // kernel_c1
    return emitOpError("runs on a device and has ")
           << getScratch() << " bytes of scratch, which only CPU kernels have";
  StringRef symbol = getSymbol();
  bool valid = !symbol.empty() && !llvm::isDigit(symbol.front()) &&
               llvm::all_of(symbol, [](char c) {
                 return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
               });
  if (!valid) // kernel_c2
    return emitOpError("symbol '") << symbol << "' is no symbol of an object file";
  if (getContracts() && getContracts()->empty()) // kernel_c3
    return emitOpError("has an empty list of contracts; without contracts it has no list");
  return success();
}

LogicalResult GroupOp::verify() {
  int64_t count = (*this)->getParentOfType<ProgramOp>().getRanks();
  ArrayRef<int64_t> ranks = getRanks();
  // group_c1: some ranks, ascending, all of the program.
  if (ranks.empty())
    return emitOpError("has no rank");
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= count)
      return emitOpError("has rank ") << ranks[i] << " of a program of " << count << " ranks";
    if (i && ranks[i] <= ranks[i - 1])
      return emitOpError("ranks ascend, ") << ranks[i] << " follows " << ranks[i - 1];
  }
  return success();
}
