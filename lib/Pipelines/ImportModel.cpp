//===- ImportModel.cpp - finding descriptions, importing models -----------===//
#include "llmc/Frontend/Catalogue.h"
#include "llmc/Frontend/Description.h"
#include "llmc/Frontend/Importer.h"
#include "llmc/Frontend/Inspect.h"
#include "llmc/Frontend/WeightFormats.h"
#include "llmc/Pipelines/Compiler.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace llmc {

std::string sharedFiles() {
  static int anchor;
  std::string program = llvm::sys::fs::getMainExecutable("", &anchor);
  llvm::SmallString<256> folder(llvm::sys::path::parent_path(program));
  llvm::sys::path::append(folder, "..", "share", "llmc");
  return std::string(folder);
}

void addDescriptions(frontend::DescriptionSet &set, const DescriptionOptions &options) {
  set.addDirectory(sharedFiles() + "/models");
  for (const std::string &file : options.files)
    set.addFile(file);
  for (const std::string &name : options.excluded)
    set.exclude(name);
}

std::shared_ptr<const frontend::ModelSource> openModel(const std::string &path) {
  return frontend::Catalogue(sharedFiles() + "/models/catalogue").open(path);
}

/// MLIR's parser recurses over nested regions and brackets: a file that is nested more deeply
/// than any program is refused before it can exhaust the stack.
static std::string tooDeep(const std::string &path) {
  constexpr int64_t deepest = 512;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return "cannot be read: " + buffer.getError().message();
  int64_t depth = 0;
  for (char c : (*buffer)->getBuffer()) {
    depth += c == '{' || c == '[' || c == '(' || c == '<';
    depth -= (c == '}' || c == ']' || c == ')' || c == '>') && depth > 0;
    if (depth > deepest)
      return "is nested more than " + std::to_string(deepest) + " deep, which no program is";
  }
  return "";
}

ImportedModel importModelFrom(const std::string &path, const DescriptionOptions &options,
                              MLIRContext &context) {
  ImportedModel result;
  if (StringRef(path).ends_with(".mlir")) {
    if (!options.quantize.empty()) {
      emitError(UnknownLoc::get(&context))
          << path << ": --quantize=" << options.quantize << " chooses the formats of a model's "
          << "weights; the types of a .mlir say them already";
      return result;
    }
    if (!llvm::sys::fs::exists(path)) {
      emitError(UnknownLoc::get(&context)) << path << ": no such file";
      return result;
    }
    if (std::string problem = tooDeep(path); !problem.empty()) {
      emitError(UnknownLoc::get(&context)) << path << ": " << problem;
      return result;
    }
    result.module = parseSourceFile<ModuleOp>(path, &context);
    return result;
  }
  try {
    frontend::DescriptionSet set;
    addDescriptions(set, options);
    frontend::ResolveOptions resolve;
    resolve.acceptKeys = options.acceptKeys;
    result.resolved = frontend::loadModel(openModel(path), set, resolve);
    for (const std::string &note : result.resolved->notes)
      emitRemark(UnknownLoc::get(&context)) << note;
    if (!options.quantize.empty()) {
      std::string flag = "--quantize=" + options.quantize + ": ";
      auto choice = frontend::chooseWeightFormats(*result.resolved, options.quantize);
      for (const std::string &line : choice.remarks)
        emitRemark(UnknownLoc::get(&context)) << flag << line;
      if (choice.quantized == 0)
        emitWarning(UnknownLoc::get(&context))
            << flag << "0 of " << choice.tensors << " tensors quantised: "
            << (choice.remarks.empty() ? "the model has no matrices of products"
                                       : "each stays as it is stored, for the reasons above");
    }
  } catch (const std::exception &error) {
    emitError(UnknownLoc::get(&context)) << error.what();
    return result;
  }
  result.module = frontend::importModel(*result.resolved, context);
  return result;
}

} // namespace llmc
