//===- OpLibrary.cpp - operations defined by functions --------------------===//
//
// One .mlir file. Each operation that it defines is then instantiated, for the sizes of
// its example and for others.
//
//===----------------------------------------------------------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Frontend/OpLibrary.h"

#include "Support.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace llmc;
using namespace llmc::fuzz;

/// A context keeps every type and text that it saw, so it lives for some inputs only.
static MLIRContext &freshContext() {
  constexpr unsigned inputs = 200;
  static std::unique_ptr<MLIRContext> context;
  static unsigned left = 0;
  if (left-- == 0) {
    DialectRegistry registry;
    registry.insert<llm::LLMDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect,
                    tensor::TensorDialect>();
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->printOpOnDiagnostic(false);
    context->getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
    left = inputs - 1;
  }
  return *context;
}

/// The type with sizes of `factor` times the example's.
static Type scaled(Type type, int64_t factor) {
  auto resized = [&](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> sizes;
    for (int64_t size : shape)
      sizes.push_back(ShapedType::isDynamic(size) ? size : size * factor);
    return sizes;
  };
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(resized(tensor.getShape()));
  if (auto weight = dyn_cast<llm::WeightType>(type))
    return llm::WeightType::get(type.getContext(), resized(weight.getShape()), weight.getStorage());
  return type;
}

/// Sizes that stay small enough to multiply: the importer's come from a checked description.
static bool canScale(ArrayRef<Type> types) {
  constexpr int64_t most = int64_t(1) << 20;
  return llvm::all_of(types, [](Type type) {
    ArrayRef<int64_t> shape;
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      shape = tensor.getShape();
    else if (auto weight = dyn_cast<llm::WeightType>(type))
      shape = weight.getShape();
    return llvm::all_of(shape, [](int64_t size) { return size <= most; });
  });
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  folder.write("library.mlir", textOf(data, size));
  MLIRContext &context = freshContext();
  reads([&] {
    auto library = frontend::OpLibrary::read({folder.path("library.mlir")}, context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    for (const std::string &name : library->signatures().names()) {
      func::FuncOp definition = library->find(name);
      auto settings = definition->getAttrOfType<DictionaryAttr>("llm.settings");
      if (!settings)
        settings = DictionaryAttr::get(&context);
      for (int64_t factor : {1, 3}) {
        if (factor != 1 && !canScale(definition.getArgumentTypes()))
          continue;
        SmallVector<Type> types;
        for (Type type : definition.getArgumentTypes())
          types.push_back(scaled(type, factor));
        reads([&] {
          frontend::instantiate(definition, types, settings, "instance" + std::to_string(factor),
                                *module);
        });
      }
    }
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return mutateTokens(data, size, maxSize, seed);
}
