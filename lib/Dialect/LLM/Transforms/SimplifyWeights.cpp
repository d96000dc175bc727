//===- SimplifyWeights.cpp - parts of weights, families that are left -----===//
#include "Simplifier.h"

#include "llmc/Dialect/LLM/Analysis/StateWindows.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmc::llm;

namespace {

/// A weight's vector is read as a value and cut: what is read is the part of the stored tensor.
struct CutWeightRows : OpRewritePattern<SliceOp> {
  CutWeightRows(MLIRContext *context, Simplifier &simplifier)
      : OpRewritePattern(context), simplifier(simplifier) {}

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    constexpr StringRef name = "weight-slice";
    auto rows = op.getInput().getDefiningOp<WeightRowsOp>();
    auto param = rows ? rows.getWeight().getDefiningOp<ParamOp>() : ParamOp();
    if (!param || !simplifier.permits(name, op))
      return failure();
    auto family = SymbolTable::lookupNearestSymbolFrom<WeightFamilyOp>(param, param.getFamilyAttr());
    auto type = cast<WeightType>(param.getType());
    if (!family)
      return failure();
    if (type.getShape().size() != 1)
      return simplifier.missed(name, op, "vector", "the weight is a matrix");
    if (!isa<DenseAttr>(type.getStorage()))
      return simplifier.missed(name, op, "dense", "the weight is stored as blocks");
    if (family.getValues())
      return simplifier.missed(name, op, "stored", "the weight is a constant of the program");

    int64_t from = int64_t(op.getFrom()), size = int64_t(op.getSize());
    simplifier.passed(name, op, "the part is a weight of its own", {{"from", from}, {"size", size}});
    WeightFamilyOp part = partOf(family, from, size, rewriter);
    Value weight = ParamOp::create(rewriter, param.getLoc(), part.getType(), part.getSymName(),
                                   param.getLayer());
    rewriter.replaceOpWithNewOp<WeightRowsOp>(op, weight, rows.getBatch());
    return success();
  }

  /// The family of the elements from `from` on, made once.
  static WeightFamilyOp partOf(WeightFamilyOp family, int64_t from, int64_t size,
                               PatternRewriter &rewriter) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfter(family);
    auto part = cast<WeightFamilyOp>(family->clone());
    WeightType type = family.getType();
    part.setType(WeightType::get(type.getContext(), {size}, type.getStorage()));
    if (std::optional<ViewAttr> view = family.getView()) {
      part.setViewAttr(ViewAttr::get(type.getContext(), view->getStored(),
                                     view->getFirst() + from * view->getStrides()[0],
                                     view->getStrides()));
    } else {
      part.setFirstRow(int64_t(family.getFirstRow().value_or(0)) + from);
      part.setStoredRows(int64_t(family.getStoredRows().value_or(type.getShape()[0])));
    }
    auto module = family->getParentOfType<ModuleOp>();
    std::string base = llvm::formatv("{0}_{1}_{2}", family.getSymName(), from, size);
    for (unsigned i = 0;; ++i) {
      std::string name = i ? base + "_" + std::to_string(i) : base;
      Operation *taken = SymbolTable::lookupSymbolIn(module, name);
      part.setSymName(name);
      if (taken && taken->getName() == part->getName() &&
          taken->getAttrDictionary() == part->getAttrDictionary()) {
        part->destroy();
        return cast<WeightFamilyOp>(taken);
      }
      if (!taken)
        break;
    }
    rewriter.insert(part);
    return part;
  }

  Simplifier &simplifier;
};

} // namespace

void llmc::llm::addWeightSimplifications(RewritePatternSet &patterns, Simplifier &simplifier) {
  patterns.add<CutWeightRows>(patterns.getContext(), simplifier);
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

llvm::DenseMap<Attribute, WeightReaders> llmc::llm::findWeightReaders(ModuleOp module) {
  auto layersOf = layersOfFunctions(module);
  llvm::DenseMap<Attribute, WeightReaders> readers;
  module.walk([&](ParamOp param) {
    WeightReaders &those = readers[param.getFamilyAttr().getAttr()];
    auto function = param->getParentOfType<func::FuncOp>();
    auto index = dyn_cast_or_null<BlockArgument>(param.getLayer());
    if (IntegerAttr number; param.getLayer() && matchPattern(param.getLayer(), m_Constant(&number)))
      those.layers.insert(number.getInt());
    else if (!function || !index || index.getOwner() != &function.front() || index.getArgNumber() != 0)
      those.unknown = true;
    else
      those.layers.insert_range(layersOf.lookup(function));
  });
  return readers;
}

/// A family that nobody read before is somebody's mistake and stays, for llm-verify-model.
void llmc::llm::narrowWeightFamilies(Simplifier &simplifier,
                                     const llvm::DenseMap<Attribute, WeightReaders> &before) {
  ModuleOp module = simplifier.module;
  const llvm::DenseMap<Attribute, WeightReaders> after = findWeightReaders(module);
  for (auto family : llvm::make_early_inc_range(module.getOps<WeightFamilyOp>())) {
    auto was = before.find(family.getSymNameAttr()), is = after.find(family.getSymNameAttr());
    if (is == after.end() && was == before.end())
      continue;
    if (is == after.end()) {
      simplifier.passed("unused", family, "nothing reads " + family.getSource() + " any more");
      family.erase();
      continue;
    }
    std::optional<LayersAttr> layers = family.getLayers();
    // Values are those of all members.
    if (!layers || is->second.unknown || family.getValues())
      continue;
    SmallVector<int64_t> left;
    for (int64_t layer : layers->expand())
      if (is->second.layers.contains(layer) ||
          (was != before.end() && !was->second.layers.contains(layer)))
        left.push_back(layer);
    if (left.size() != layers->expand().size())
      family.setLayersAttr(LayersAttr::fromList(module.getContext(), left));
  }
}
