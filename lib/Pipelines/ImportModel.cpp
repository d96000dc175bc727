//===- ImportModel.cpp - finding descriptions, importing models -----------===//
#include "llmc/Frontend/Catalogue.h"
#include "llmc/Frontend/Description.h"
#include "llmc/Frontend/Importer.h"
#include "llmc/Frontend/Inspect.h"
#include "llmc/Frontend/OpLibrary.h"
#include "llmc/Frontend/WeightFormats.h"
#include "llmc/Pipelines/Compiler.h"
#include "llmc/Pipelines/GapReport.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Target.h"

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
  if (!options.opLibraries.empty()) {
    std::unique_ptr<MLIRContext> context = makeModelContext();
    set.setOperations(frontend::OpLibrary::read(options.opLibraries, *context)->sharedSignatures());
  }
}

std::shared_ptr<const frontend::ModelSource> openModel(const std::string &path) {
  return frontend::Catalogue(sharedFiles() + "/models/catalogue").open(path);
}

FusionFigures fusionFiguresOf(const TargetInfo &target) {
  std::string folder = sharedFiles() + "/targets", name(target.name);
  if (!llvm::is_contained(frontend::TargetFile::names(folder), name))
    return target.fusion;
  return frontend::TargetFile::read(name, folder).fusionFigures(target.fusion);
}

std::string chooseTarget(const std::string &nameOrFile, PhaseOptions &phase) {
  phase.target = nameOrFile;
  std::string folder = sharedFiles() + "/targets";
  if (const TargetInfo *target = findTarget(nameOrFile)) {
    phase.figures = fusionFiguresOf(*target);
    return "";
  }
  bool isKnown = llvm::is_contained(frontend::TargetFile::names(folder), nameOrFile);
  if (!isKnown && !llvm::sys::fs::exists(nameOrFile))
    return "--target=" + nameOrFile + " is no target; known: " + targetNames() +
           ", and files that describe a chip (targets/README.md)";
  frontend::TargetFile chip = readTarget(nameOrFile, folder, *makeModelContext());
  if (chip.compilesAs.empty())
    throw InputError(chip.file + ": llmc makes no code for '" + chip.name +
                     "': 'compiles_as' names none of " + targetNames());
  phase.target = chip.compilesAs;
  phase.device = chip.device;
  phase.figures = chip.fusionFigures(findTarget(chip.compilesAs)->fusion);
  return "";
}

/// A library that no statement calls was meant for something.
static void warnOfUnused(const frontend::OpLibrary &library, ArrayRef<std::string> paths,
                         ModuleOp module) {
  auto facts = module->getAttrOfType<DictionaryAttr>("llm.model");
  auto used = facts ? facts.getAs<ArrayAttr>("op_libraries") : ArrayAttr();
  for (auto [path, file] : llvm::zip(paths, library.allFiles())) {
    Attribute one = Builder(module.getContext()).getStrArrayAttr({file.name, file.sha256});
    if (!used || !llvm::is_contained(used, one))
      emitWarning(UnknownLoc::get(module.getContext()))
          << "--op-library=" << path << ": the description of this model calls none of its "
          << "operations: not used";
  }
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
    if (std::string problem = frontend::whyNotParsed(path); !problem.empty()) {
      emitError(UnknownLoc::get(&context)) << path << ": " << problem;
      return result;
    }
    result.module = parseSourceFile<ModuleOp>(path, &context);
    return result;
  }
  std::shared_ptr<const frontend::OpLibrary> library;
  try {
    frontend::DescriptionSet set;
    addDescriptions(set, options);
    if (!options.opLibraries.empty())
      library = frontend::OpLibrary::read(options.opLibraries, context);
    frontend::ResolveOptions resolve;
    resolve.acceptKeys = options.acceptKeys;
    result.resolved = frontend::loadModel(openModel(path), set, resolve);
    for (const std::string &file : result.resolved->unused)
      emitWarning(UnknownLoc::get(&context)) << "--description=" << file;
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
  result.module = frontend::importModel(*result.resolved, context, library.get());
  if (result.module && library)
    warnOfUnused(*library, options.opLibraries, *result.module);
  return result;
}

} // namespace llmc
