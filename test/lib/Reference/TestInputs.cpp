//===- TestInputs.cpp - inputs of an evaluation as attributes -------------===//
#include "TestInputs.h"

using namespace llmc;
using namespace llmc::reference;
using namespace llmc::test;

/// The elements of a dense float constant.
template <typename T> static std::vector<T> floats(mlir::DenseElementsAttr dense) {
  std::vector<T> values;
  for (llvm::APFloat value : dense.getValues<llvm::APFloat>())
    values.push_back(T(value.convertToDouble()));
  return values;
}

static bool isFloat(mlir::DenseElementsAttr dense) {
  return dense && mlir::isa<mlir::FloatType>(dense.getElementType());
}

llvm::Error llmc::test::readWeights(mlir::ModuleOp module, InMemoryWeights &weights) {
  auto table = module->getAttrOfType<mlir::DictionaryAttr>("test.weights");
  if (!table)
    return llvm::Error::success();
  for (mlir::NamedAttribute entry : table) {
    auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(entry.getValue());
    if (!isFloat(dense))
      return errorAt(module, "test.weights: '" + entry.getName().strref() +
                                 "' must be a dense float constant");
    weights.set(entry.getName(), dense.getType().getShape(), floats<float>(dense));
  }
  return llvm::Error::success();
}

llvm::ArrayRef<mlir::Attribute> llmc::test::stepsOf(mlir::func::FuncOp function) {
  auto steps = function->getAttrOfType<mlir::ArrayAttr>("test.steps");
  return steps ? steps.getValue() : llvm::ArrayRef<mlir::Attribute>();
}

static llvm::Expected<Batch> readBatch(mlir::func::FuncOp function, mlir::DictionaryAttr step) {
  Batch batch;
  if (auto sequences = step.getAs<mlir::ArrayAttr>("batch")) {
    for (mlir::Attribute entry : sequences) {
      auto numbers = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(entry);
      if (!numbers || numbers.size() < 3 || numbers.size() > 4)
        return errorAt(function, "test.steps: a sequence is array<i64: id, start, count> with the "
                                 "number of known tokens behind it where it is more");
      batch.sequences.push_back(
          {numbers[0], numbers[1], numbers[2], numbers.size() > 3 ? numbers[3] : 0});
    }
  }
  if (auto rows = step.getAs<mlir::DenseI64ArrayAttr>("outputs"))
    batch.outputRows.assign(rows.asArrayRef().begin(), rows.asArrayRef().end());
  return batch;
}

template <typename T>
static HostValue<T> readDense(mlir::DenseElementsAttr dense, mlir::Type type) {
  llvm::ArrayRef<int64_t> shape = dense.getType().getShape();
  if (isFloat(dense)) {
    if (mlir::isa<llm::WeightType>(type))
      return makeWeight<T>("argument", shape, floats<float>(dense));
    return makeTensor(HostTensor<T>(shape, floats<T>(dense)));
  }
  std::vector<int32_t> tokens;
  for (llvm::APInt value : dense.getValues<llvm::APInt>())
    tokens.push_back(int32_t(value.getSExtValue()));
  return makeTokens<T>(std::move(tokens));
}

template <typename T>
llvm::Expected<llvm::SmallVector<HostValue<T>>>
llmc::test::readArguments(mlir::func::FuncOp function, mlir::Attribute attribute,
                          ArgumentStates<T> &states) {
  auto step = mlir::dyn_cast<mlir::DictionaryAttr>(attribute);
  auto list = step ? step.getAs<mlir::ArrayAttr>("args") : nullptr;
  if (!list || list.size() != function.getNumArguments())
    return errorAt(function, "test.steps: a step needs 'args', one for each argument");
  llvm::Expected<Batch> batch = readBatch(function, step);
  if (!batch)
    return batch.takeError();
  llvm::SmallVector<HostValue<T>> arguments;
  for (auto [i, value, type] : llvm::enumerate(list, function.getArgumentTypes())) {
    auto text = mlir::dyn_cast<mlir::StringAttr>(value);
    if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(value)) {
      arguments.push_back(readDense<T>(dense, type));
    } else if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(value)) {
      arguments.push_back(number.getInt());
    } else if (text && text.getValue() == "batch") {
      arguments.push_back(makeBatch<T>(*batch));
    } else if (auto cache = mlir::dyn_cast<llm::CacheType>(type); cache && text) {
      auto [it, isNew] = states.try_emplace(unsigned(i));
      if (isNew)
        it->second = makeCache<T>("argument " + std::to_string(i), cache.getShape());
      // The state as earlier steps left it.
      auto &handle = std::get<CacheHandle<T>>(it->second);
      handle.version = handle.state->version;
      arguments.push_back(handle);
    } else {
      return errorAt(function, "test.steps: cannot read argument " + llvm::Twine(i));
    }
  }
  return arguments;
}

template llvm::Expected<llvm::SmallVector<HostValue<float>>>
llmc::test::readArguments(mlir::func::FuncOp, mlir::Attribute, ArgumentStates<float> &);
template llvm::Expected<llvm::SmallVector<HostValue<double>>>
llmc::test::readArguments(mlir::func::FuncOp, mlir::Attribute, ArgumentStates<double> &);
