//===- Importer.h - a program from manifest.json ----------------*- C++ -*-===//
#ifndef LLMC_LIB_TARGET_MANIFEST_IMPORTER_H
#define LLMC_LIB_TARGET_MANIFEST_IMPORTER_H

#include "JsonReader.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace llmc::plan {

/// Builds a program while it reads. Every op has the path of its object as
/// location, so what the verifiers say later has one too.
class Importer {
public:
  explicit Importer(mlir::MLIRContext *context) : reader(context), builder(context) {}

  mlir::OwningOpRef<mlir::ModuleOp> import(llvm::StringRef json);

private:
  // Whole kinds of fields, in the order of the schema.
  ProgramOp readHead(JsonObject &top);
  void readMemory(JsonObject &top);
  void readWeights(JsonObject &object);
  void readState(JsonObject &object);
  void readKernels(JsonObject &top);
  mlir::ArrayAttr readContracts(JsonObject &kernel);
  void readEntries(JsonObject &top);
  void readSteps(JsonObject &object, bool inRepeat);
  void readStep(JsonObject &step, bool inRepeat);
  void readLaunch(JsonObject launch);
  void readRepeat(JsonObject repeat);
  void readObserve(JsonObject observe);
  void readCollective(JsonObject collective);
  void readRest(JsonObject &top, ProgramOp program);

  // Values.
  void checkVersion(JsonObject &top);
  mlir::AffineMapAttr readSize(JsonObject object);
  ItemsAttr readItems(JsonObject object);
  LayersAttr readLayers(JsonObject &object);
  UseAttr readUse(JsonObject &object);
  SourceAttr readSource(JsonObject &object);
  WeightLayoutAttrInterface readLayout(JsonObject object);
  mlir::TypeAttr readElement(JsonObject &object);
  /// A name that no other part of the program has.
  mlir::StringAttr readName(JsonObject &object);
  mlir::FlatSymbolRefAttr readRef(JsonObject &object, llvm::StringRef key);
  mlir::IntegerAttr readInteger(JsonObject &object, llvm::StringRef key, int64_t least = 0);
  mlir::IntegerAttr readOptionalInteger(JsonObject &object, llvm::StringRef key,
                                        int64_t least = 0);

  /// An attribute that its own verifier accepts, null with the problem reported
  /// at the path otherwise.
  template <typename AttrT, typename... Args>
  AttrT getChecked(llvm::StringRef path, Args &&...args) {
    return AttrT::getChecked([&] { return reader.emit(path); }, builder.getContext(),
                             std::forward<Args>(args)...);
  }
  mlir::Location getLoc(const JsonObject &object) const {
    return reader.getLoc(object.getPath());
  }

  JsonReader reader;
  mlir::OpBuilder builder;
  llvm::StringMap<std::string> names;
};

} // namespace llmc::plan

#endif // LLMC_LIB_TARGET_MANIFEST_IMPORTER_H
