//===- StructureRules.cpp - families, layers, fusion, observation ---------===//
#include "RuleSets.h"

#include "llmc/Reference/Evaluator.h"
#include "llmc/Support/LayerName.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace llmc::reference;
namespace llm = llmc::llm;

template <typename T> static int64_t layerOf(mlir::Value layer, const OpContext<T> &context) {
  return layer ? context.index(layer) : -1;
}

template <typename T> static llvm::Error param(llm::ParamOp op, OpContext<T> &context) {
  llvm::Expected<Weight> weight =
      context.evaluator.parameter(op, op.getFamily(), layerOf(op.getLayer(), context));
  if (!weight)
    return weight.takeError();
  context.result(HostValue<T>(std::move(*weight)));
  return llvm::Error::success();
}

template <typename T> static llvm::Error state(llm::StateOp op, OpContext<T> &context) {
  // A number in place of the layer's own index names an earlier layer, which has appended.
  bool ofThisLayer = mlir::isa_and_nonnull<mlir::BlockArgument>(op.getLayer());
  llvm::Expected<CacheHandle<T>> cache = context.evaluator.state(
      op, op.getFamily(), layerOf(op.getLayer(), context), !ofThisLayer);
  if (!cache)
    return cache.takeError();
  context.result(HostValue<T>(std::move(*cache)));
  return llvm::Error::success();
}

template <typename T> static llvm::Error repeat(llm::RepeatOp op, OpContext<T> &context) {
  llvm::SmallVector<HostValue<T>> carried = context.values(op.getCarried());
  llvm::SmallVector<HostValue<T>> invariants = context.values(op.getInvariants());
  llvm::ArrayRef<mlir::Attribute> callees = op.getCallees().getValue();
  int64_t layer = int64_t(op.getFrom());
  for (int64_t r = 0; r < int64_t(op.getCount()); ++r) {
    for (mlir::Attribute callee : callees) {
      llvm::StringRef name = mlir::cast<mlir::FlatSymbolRefAttr>(callee).getValue();
      mlir::func::FuncOp function = context.evaluator.lookupFunction(name);
      if (!function)
        return context.error("calls @" + name + ", which is not a function");
      llvm::SmallVector<HostValue<T>> inputs{HostValue<T>(layer)};
      llvm::append_range(inputs, carried);
      llvm::append_range(inputs, invariants);
      llvm::Expected<llvm::SmallVector<HostValue<T>>> results =
          context.evaluator.call(function, inputs);
      if (!results)
        return addContext(results.takeError(), op,
                          "in @" + name + " of layer " + llvm::Twine(layer));
      if (results->size() != carried.size())
        return context.error("calls @" + name + ", which returns " +
                             llvm::Twine(results->size()) + " values for " +
                             llvm::Twine(carried.size()) + " carried ones");
      carried = std::move(*results);
      ++layer;
    }
  }
  for (HostValue<T> &value : carried)
    context.result(std::move(value));
  return llvm::Error::success();
}

template <typename T> static llvm::Error fusion(llm::FusionOp op, OpContext<T> &context) {
  if (!op.getBody().hasOneBlock())
    return context.error("needs a body of one block");
  llvm::Expected<llvm::SmallVector<HostValue<T>>> results =
      context.evaluator.runBlock(op.getBody().front(), context.values(op.getInputs()));
  if (!results)
    return addContext(results.takeError(), op, "in fusion '" + op.getPattern() + "'");
  for (HostValue<T> &value : *results)
    context.result(std::move(value));
  return llvm::Error::success();
}

template <typename T> static llvm::Error composite(llm::CompositeOp op, OpContext<T> &context) {
  mlir::func::FuncOp function = context.evaluator.lookupFunction(op.getDecomposition());
  if (!function)
    return context.error("is defined by @" + op.getDecomposition() + ", which is not a function");
  llvm::Expected<llvm::SmallVector<HostValue<T>>> results =
      context.evaluator.call(function, context.values(op.getInputs()));
  if (!results)
    return addContext(results.takeError(), op, "in '" + op.getName() + "'");
  for (HostValue<T> &value : *results)
    context.result(std::move(value));
  return llvm::Error::success();
}

template <typename T> static llvm::Error observe(llm::ObserveOp op, OpContext<T> &context) {
  context.evaluator.observe(llmc::resolveLayer(op.getName(), layerOf(op.getLayer(), context)),
                            context.tensor(op.getValue()));
  return llvm::Error::success();
}

template <typename T> static llvm::Error call(mlir::func::CallOp op, OpContext<T> &context) {
  mlir::func::FuncOp function = context.evaluator.lookupFunction(op.getCallee());
  if (!function)
    return context.error("calls @" + op.getCallee() + ", which is not a function");
  llvm::Expected<llvm::SmallVector<HostValue<T>>> results =
      context.evaluator.call(function, context.values(op.getOperands()));
  if (!results)
    return addContext(results.takeError(), op, "in @" + op.getCallee());
  for (HostValue<T> &value : *results)
    context.result(std::move(value));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error constant(mlir::arith::ConstantOp op, OpContext<T> &context) {
  auto index = mlir::dyn_cast<mlir::IntegerAttr>(op.getValue());
  if (!index || !index.getType().isIndex())
    return context.error("must be an index");
  context.result(HostValue<T>(index.getInt()));
  return llvm::Error::success();
}

template <typename T> void llmc::reference::addStructureRules(RuleTable<T> &table) {
  table.template add<llm::ParamOp>(param<T>);
  table.template add<llm::StateOp>(state<T>);
  table.template add<llm::RepeatOp>(repeat<T>);
  table.template add<llm::FusionOp>(fusion<T>);
  table.template add<llm::CompositeOp>(composite<T>);
  table.template add<llm::ObserveOp>(observe<T>);
  table.template add<mlir::func::CallOp>(call<T>);
  table.template add<mlir::arith::ConstantOp>(constant<T>);
}

template void llmc::reference::addStructureRules(RuleTable<float> &);
template void llmc::reference::addStructureRules(RuleTable<double> &);
