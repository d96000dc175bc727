//===- ImporterRules.h - what the importer knows while it builds -*- C++ -*-===//
//
// The rules of one family of operations are in the file of that family; Importer.cpp has the
// basic ones, and how functions, weights and states are made.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_FRONTEND_IMPORTER_IMPORTERRULES_H
#define LLMC_LIB_FRONTEND_IMPORTER_IMPORTERRULES_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Frontend/OpLibrary.h"
#include "llmc/Frontend/ResolvedModel.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <set>

namespace llmc::frontend {

struct EntrySettings;

using namespace mlir;
using namespace llmc::llm;

class Importer final : public OpHooks {
public:
  Importer(const ResolvedModel &model, MLIRContext &context, const OpLibrary *library)
      : model(model), context(context), library(library), b(&context) {}

  OwningOpRef<ModuleOp> run();
  std::vector<llmc::frontend::Value> op(const OpCall &call) override;

private:
  using Results = std::vector<llmc::frontend::Value>;
  using Rule = Results (Importer::*)(const OpCall &);

  Results embedding(const OpCall &call);
  Results positionEmbedding(const OpCall &call);
  Results linear(const OpCall &call);
  Results rmsNorm(const OpCall &call);
  Results layerNorm(const OpCall &call);
  Results splitHeads(const OpCall &call);
  Results mergeHeads(const OpCall &call);
  Results rotary(const OpCall &call);
  Results attend(const OpCall &call);
  Results selectPositions(const OpCall &call);
  Results noPositions(const OpCall &call);
  Results headLinear(const OpCall &call);
  Results poolTokens(const OpCall &call);
  Results selectEntries(const OpCall &call);
  Results jointAttend(const OpCall &call);
  Results sinkhorn(const OpCall &call);
  Results gate(const OpCall &call);
  Results activation(const OpCall &call);
  Results arithmetic(const OpCall &call);
  Results weightRows(const OpCall &call);
  Results offset(const OpCall &call);
  Results clamp(const OpCall &call);
  Results softmax(const OpCall &call);
  Results rowStatistic(const OpCall &call);
  Results slice(const OpCall &call);
  Results concat(const OpCall &call);
  Results transpose(const OpCall &call);
  Results take(const OpCall &call);
  Results put(const OpCall &call);
  Results mix(const OpCall &call);
  Results positionScale(const OpCall &call);
  Results scale(const OpCall &call);
  Results softcap(const OpCall &call);
  Results selectRows(const OpCall &call);
  Results outputHead(const OpCall &call);
  Results observe(const OpCall &call);
  Results route(const OpCall &call);
  Results expertLinear(const OpCall &call);
  Results expertSum(const OpCall &call);
  Results expertSpread(const OpCall &call);
  Results causalConv(const OpCall &call);
  Results tokenShift(const OpCall &call);
  Results linearAttention(const OpCall &call);
  Results layers(const OpCall &call);
  /// What a function of an op library defines.
  Results composite(const OpCall &call, func::FuncOp definition);

  mlir::Value tensor(const OpCall &call, size_t index);
  /// An operand of arithmetic: a tensor, or a weight as rows.
  mlir::Value operandRows(const OpCall &call, size_t index);
  Results handle(mlir::Value value);
  RankedTensorType rows(ArrayRef<int64_t> widths) {
    SmallVector<int64_t> shape{ShapedType::kDynamic};
    shape.append(widths.begin(), widths.end());
    return RankedTensorType::get(shape, b.getF32Type());
  }
  int64_t lastDim(mlir::Value value) {
    return cast<RankedTensorType>(value.getType()).getShape().back();
  }
  Location at(const OpCall &call, const WeightRef *weight = nullptr);
  FloatAttr softcapOf(const OpCall &call, const llmc::frontend::Value &value);

  Attribute storageOf(const WeightFamily &family, int64_t layer);
  /// The symbol of a family's members with the storage that the current layers have.
  mlir::Value param(const OpCall &call, uint32_t family);
  mlir::Value paramOf(const OpCall &call, const WeightRef &weight) {
    return param(call, weight.family);
  }
  StringRef weightSymbol(uint32_t family, int64_t layer, WeightType &type);
  StringRef stateSymbol(CacheType type);
  struct State;
  const State &sharedState(const OpCall &call, int64_t layer, CacheKind kind, int64_t keyWidth);
  /// Turns back where it is the inverse.
  RopeAttr ropeAttr(const OpCall &call, RopeRef rope, bool inverse = false);
  /// A state of entries with those of the call's third argument.
  mlir::Value appendEntries(const OpCall &call, const EntrySettings &settings,
                            int64_t valueWidth);
  /// The state of the layer being built as it stands before the step.
  mlir::Value stateBefore(const OpCall &call, CacheType type);

  void emitKind(uint32_t kind);
  void emitEntry();
  void emitFamilies();
  /// The op libraries that composites come from, with the hashes of their files.
  void recordLibraries();
  DenseF32ArrayAttr constantsOf(const WeightFamily &family, const std::set<int64_t> &layers);

  const ResolvedModel &model;
  MLIRContext &context;
  /// Null where there is none.
  const OpLibrary *library;
  OpBuilder b;
  OwningOpRef<ModuleOp> module;
  std::vector<mlir::Value> values;
  /// Of the values that layers hand on, and of those that every layer is given.
  SmallVector<Type> carriedTypes, stepTypes;
  /// The operation that runs the layers, for messages.
  OpCall layersCall;
  /// Of the function being built.
  mlir::Value batch, layerIndex;
  /// Any layer of the kind being built, -1 at the top.
  int64_t sampleLayer = -1;
  uint32_t currentKind = 0;
  /// How many states of a type the kind being built has so far.
  DenseMap<CacheType, unsigned> statesInLayer;

  struct Weight {
    std::string symbol;
    uint32_t family;
    WeightType type;
    std::set<int64_t> layers;
  };
  std::vector<Weight> weights;
  /// (type, how-manieth in its layer) -> symbol and layers.
  struct State {
    std::string symbol;
    CacheType type;
    unsigned ordinal;
    std::set<int64_t> layers;
  };
  std::vector<State> states;
  /// Definitions for the arguments and settings of a call, made once.
  struct Composite {
    func::FuncOp definition;
    SmallVector<Type> types;
    DictionaryAttr settings;
    func::FuncOp made;
  };
  std::vector<Composite> composites;
  llvm::StringMap<unsigned> symbolUses;
};

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_IMPORTER_IMPORTERRULES_H
