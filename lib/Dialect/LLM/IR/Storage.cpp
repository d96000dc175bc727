//===- Storage.cpp - storages of weights by their usual names -------------===//
#include "llmc/Dialect/LLM/IR/Storage.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmc;
using namespace llmc::llm;

static constexpr StringRef names[] = {"f32", "f16", "bf16", "q4_0", "q4_1", "q8_0"};

ArrayRef<StringRef> llm::storageNames() { return names; }

Attribute llm::storageByName(MLIRContext *context, StringRef name) {
  Builder builder(context);
  Type f16 = builder.getF16Type();
  if (name == "f32")
    return DenseAttr::get(context, builder.getF32Type());
  if (name == "f16")
    return DenseAttr::get(context, f16);
  if (name == "bf16")
    return DenseAttr::get(context, builder.getBF16Type());
  if (name == "q4_0")
    return BlocksAttr::get(context, name, /*bits=*/4, /*size=*/32, /*scale=*/f16, /*min=*/Type(),
                           /*zero=*/8, BlockOrder::Halves);
  if (name == "q4_1")
    return BlocksAttr::get(context, name, /*bits=*/4, /*size=*/32, /*scale=*/f16, /*min=*/f16,
                           /*zero=*/0, BlockOrder::Halves);
  if (name == "q8_0")
    return BlocksAttr::get(context, name, /*bits=*/8, /*size=*/32, /*scale=*/f16, /*min=*/Type(),
                           /*zero=*/0, BlockOrder::Linear);
  return {};
}
