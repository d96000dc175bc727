//===- ReduceTest.cpp - programs become small and stay interesting --------===//
#include "RandomProgram.h"
#include "Reduce.h"
#include "ReduceSteps.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "llmc/Pipelines/ModelContext.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace llmc;

namespace {

class ReduceTest : public testing::Test {
protected:
  mlir::OwningOpRef<mlir::ModuleOp> read(const std::string &text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  }

  bool isLegal(mlir::ModuleOp module) {
    ErrorCollector messages(*context, false);
    mlir::PassManager pm(context.get(), mlir::ModuleOp::getOperationName());
    pm.addPass(llm::createVerifyModelPass());
    return mlir::succeeded(pm.run(module));
  }

  template <typename Op> static int64_t count(mlir::ModuleOp module) {
    int64_t ops = 0;
    module.walk([&](Op) { ++ops; });
    return ops;
  }

  std::unique_ptr<mlir::MLIRContext> context = makeModelContext();
};

/// What is looked for stays, and hardly anything else; the rest is still a legal program.
TEST_F(ReduceTest, KeepsWhatIsLookedFor) {
  for (uint64_t seed : {1, 4, 6}) {
    auto module = read(test::randomProgram(seed));
    ASSERT_TRUE(module) << seed;
    ASSERT_GT(count<llm::ResidualAddOp>(*module), 0);
    ReduceResult reduced = reduceProgram(
        *module, {[&](mlir::ModuleOp candidate) {
                    return isLegal(candidate) && count<llm::ResidualAddOp>(candidate) > 0;
                  },
                  60});
    EXPECT_TRUE(isLegal(*reduced.module)) << seed;
    EXPECT_EQ(count<llm::ResidualAddOp>(*reduced.module), 1) << seed;
    EXPECT_EQ(count<llm::RepeatOp>(*reduced.module), 0) << seed;
    // Tokens, rows of an embedding, the sum.
    EXPECT_LE(reduced.opsAfter, 3) << seed;
    EXPECT_GT(reduced.opsBefore, reduced.opsAfter) << seed;
    for (auto family : reduced.module->getOps<llm::WeightFamilyOp>())
      for (int64_t dim : family.getType().getShape())
        EXPECT_LE(dim, 8) << seed;
  }
}

TEST_F(ReduceTest, KeepsTheProgramWhereAllIsLookedFor) {
  auto module = read(test::randomProgram(6));
  ASSERT_TRUE(module);
  int64_t ops = countOps(*module);
  ReduceResult reduced = reduceProgram(
      *module, {[&](mlir::ModuleOp candidate) { return countOps(candidate) == ops &&
                                                       isLegal(candidate); },
                60});
  EXPECT_EQ(reduced.opsAfter, ops);
  EXPECT_TRUE(isLegal(*reduced.module));
}

} // namespace
