//===- OperatorStorage.cpp - operators over weights as published ----------===//
#include "OperatorStorage.h"

#include "MemoryShares.h"
#include "ModelMemory.h"
#include "llmc/Dialect/LLM/Analysis/StateWindows.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace llmc {

using namespace llm;

OperatorStorage::OperatorStorage(ModuleOp module, const QuantizationRules *rules) {
  if (!rules)
    return;
  std::vector<std::vector<const QuantizedFormat *>> used;
  for (const WeightPart &part : weightPartsOf(module)) {
    used.push_back(quantizedMembers(part, *rules));
    families[WeightFamilyOp(part.family).getSymName()] = {part.layers(), used.back()};
  }
  unknown = quantizationNotCounted(*rules, used);
  layers = layersOfFunctions(module);
}

static ParamOp paramOf(Value operand) {
  return isa<WeightType>(operand.getType()) ? operand.getDefiningOp<ParamOp>() : ParamOp();
}

std::vector<std::pair<StoredFormats, int64_t>>
OperatorStorage::of(Operation *op, func::FuncOp function, int64_t calls) const {
  auto formatsIn = [&](int64_t layer) {
    StoredFormats formats;
    for (Value operand : op->getOperands()) {
      ParamOp param = paramOf(operand);
      auto family = param ? families.find(param.getFamily()) : families.end();
      if (family == families.end())
        continue;
      size_t member = 0;
      if (Value number = param.getLayer()) {
        APInt fixed;
        int64_t own = matchPattern(number, m_ConstantInt(&fixed)) ? fixed.getSExtValue() : layer;
        member = size_t(llvm::find(family->second.layers, own) - family->second.layers.begin());
      }
      const auto &members = family->second.members;
      if (member < members.size() && members[member])
        formats[param.getFamily().str()] = members[member];
    }
    return formats;
  };
  auto own = layers.find(function);
  if (families.empty() || own == layers.end())
    return {{formatsIn(0), calls}};
  std::vector<std::pair<StoredFormats, int64_t>> groups;
  for (int64_t layer : own->second) {
    StoredFormats formats = formatsIn(layer);
    auto same = llvm::find_if(groups, [&](const auto &group) { return group.first == formats; });
    if (same == groups.end())
      groups.push_back({std::move(formats), 1});
    else
      ++same->second;
  }
  return groups;
}

static const QuantizedFormat *formatOf(Value operand, const StoredFormats &formats) {
  ParamOp param = paramOf(operand);
  auto found = param ? formats.find(param.getFamily().str()) : formats.end();
  return found == formats.end() ? nullptr : found->second;
}

std::vector<std::pair<std::string, std::string>> storedFacts(Operation *op,
                                                             const StoredFormats &formats) {
  auto facts = operatorFacts(op);
  auto weight = llvm::find_if(op->getOperands(), [](Value operand) {
    return isa<WeightType>(operand.getType());
  });
  if (weight == op->operand_end())
    return facts;
  if (const QuantizedFormat *format = formatOf(*weight, formats))
    for (auto &[name, value] : facts)
      if (name == "storage")
        value = format->name;
  return facts;
}

OperatorWork storedWork(Operation *op, const StepShape &step, const StoredFormats &formats) {
  OperatorWork work = workOf(op, step);
  // A step reads the same share of every weight of the operation.
  double typed = 0, stored = 0;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<WeightType>(operand.getType());
    if (!type)
      continue;
    double bytes = double(type.getStorageBytes());
    typed += bytes;
    if (const QuantizedFormat *format = formatOf(operand, formats)) {
      int64_t columns = type.getShape().back();
      int64_t matrices = isa<ExpertLinearOp>(op) ? type.getShape().front() : 1;
      bytes = double(
          format->bytes(matrices, type.getNumElements() / (matrices * columns), columns));
    }
    stored += bytes;
  }
  if (typed > 0)
    work.weightBytes *= stored / typed;
  return work;
}

} // namespace llmc
