//===- OpLibrary.h - operations defined by functions ------------*- C++ -*-===//
//
// An op library is an .mlir file whose functions marked `llm.implements` define
// operations that llmc lacks (docs/Extending.md). A function is written for example
// sizes and settings; each call of a description makes one for its own.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_OPLIBRARY_H
#define LLMC_FRONTEND_OPLIBRARY_H

#include "llmc/Frontend/OpSignatures.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace llmc::frontend {

/// Why a file cannot be given to MLIR's parser, which recurses over nested regions and brackets:
/// one that is nested more deeply than any program is refused before it can exhaust the stack.
/// Empty where it can.
std::string whyNotParsed(const std::string &path);

/// A file of an op library, as artifacts record it.
struct OpLibraryFile {
  /// Without its folder.
  std::string name;
  /// Of the text that was read, 64 lower-case hexadecimal digits.
  std::string sha256;
};

class OpLibrary {
public:
  /// Reads and checks files. Throws InputError with file, line and function.
  static std::shared_ptr<const OpLibrary> read(const std::vector<std::string> &files,
                                               mlir::MLIRContext &context);

  const OpSignatures &signatures() const { return *ops; }
  std::shared_ptr<const OpSignatures> sharedSignatures() const { return ops; }
  /// The definition of an operation, null for one that no library has.
  mlir::func::FuncOp find(llvm::StringRef op) const { return functions.lookup(op); }
  /// In the order in which they were given.
  const std::vector<OpLibraryFile> &allFiles() const { return files; }
  /// The file that defines an operation which `find` knows.
  const OpLibraryFile &fileOf(llvm::StringRef op) const { return files[fileNumbers.at(op)]; }

private:
  void addFile(const std::string &file, mlir::MLIRContext &context);

  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  llvm::StringMap<mlir::func::FuncOp> functions;
  std::vector<OpLibraryFile> files;
  llvm::StringMap<size_t> fileNumbers;
  std::shared_ptr<OpSignatures> ops = std::make_shared<OpSignatures>();
};

/// A copy of `definition`, for arguments of `types` and these settings, at the end of `module`
/// under the name `symbol`. Throws InputError with what does not fit, and where in the library.
mlir::func::FuncOp instantiate(mlir::func::FuncOp definition, llvm::ArrayRef<mlir::Type> types,
                               mlir::DictionaryAttr settings, llvm::StringRef symbol,
                               mlir::ModuleOp module);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_OPLIBRARY_H
