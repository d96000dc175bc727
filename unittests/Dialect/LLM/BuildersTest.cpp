//===- BuildersTest.cpp - builders that need no result type ---------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/IR/Storage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmc::llm;

namespace {

class LLMBuilders : public testing::Test {
protected:
  LLMBuilders() : builder(&context) {
    context.loadDialect<LLMDialect, func::FuncDialect>();
    module = ModuleOp::create(loc());
    builder.setInsertionPointToEnd(module->getBody());
  }

  Location loc() { return UnknownLoc::get(&context); }

  Type rows(ArrayRef<int64_t> dims) {
    SmallVector<int64_t> shape{ShapedType::kDynamic};
    llvm::append_range(shape, dims);
    return RankedTensorType::get(shape, builder.getF32Type());
  }

  Type weight(ArrayRef<int64_t> shape) {
    return WeightType::get(&context, shape, storageByName(&context, "q8_0"));
  }

  /// Arguments of a new function into whose body the builder then writes.
  SmallVector<Value> argumentsOf(TypeRange types) {
    auto function = func::FuncOp::create(builder, loc(), "f", builder.getFunctionType(types, {}));
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    return SmallVector<Value>(body->getArguments());
  }

  void finish() {
    func::ReturnOp::create(builder, loc());
    EXPECT_TRUE(succeeded(verify(*module)));
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
};

TEST_F(LLMBuilders, ProductsAndNorms) {
  auto args = argumentsOf({rows({64}), weight({96, 64}), weight({96}), weight({96})});
  Value y = LinearOp::create(builder, loc(), args[0], args[1]);
  EXPECT_EQ(y.getType(), rows({96}));
  y = LinearOp::create(builder, loc(), args[0], args[1], args[2]);
  Value n = RMSNormOp::create(builder, loc(), y, args[3], 1e-6);
  EXPECT_EQ(n.getType(), rows({96}));
  n = LayerNormOp::create(builder, loc(), n, args[3], Value(), 1e-5);
  Value s = ScaleOp::create(builder, loc(), n, 2.0);
  EXPECT_EQ(s.getType(), rows({96}));
  Value l = OutputHeadOp::create(builder, loc(), args[0], args[1]);
  EXPECT_EQ(l.getType(), rows({96}));
  finish();
}

TEST_F(LLMBuilders, Attention) {
  auto cache = CacheType::get(&context, CacheKind::Paged, {2, 16, 32}, builder.getF32Type());
  auto args = argumentsOf({rows({64}), rows({32}), rows({64}), cache, BatchType::get(&context)});
  Value q = SplitHeadsOp::create(builder, loc(), args[0], 4);
  EXPECT_EQ(q.getType(), rows({4, 16}));
  Value k = SplitHeadsOp::create(builder, loc(), args[1], 2);
  Value v = SplitHeadsOp::create(builder, loc(), args[2], 2);
  auto rope = RopeAttr::get(&context, "default", 1e4, 2, RopePairing::Halves, 1.0,
                            builder.getDenseF32ArrayAttr({1.0f}));
  q = RotaryOp::create(builder, loc(), q, args[4], rope);
  Value c = KVAppendOp::create(builder, loc(), k, v, args[3], args[4]);
  EXPECT_EQ(c.getType(), cache);
  auto a = PagedAttentionOp::create(builder, loc(), q, c, args[4], 0.25, 128);
  EXPECT_EQ(a.getType(), rows({4, 32}));
  EXPECT_EQ(a.getWindow(), 128u);
  Value m = MergeHeadsOp::create(builder, loc(), a);
  EXPECT_EQ(m.getType(), rows({128}));
  finish();
}

} // namespace
