//===- CheckPassesTest.cpp - mistakes of passes are found and named -------===//
#include "../Reference/TinyModel.h"
#include "CheckPasses.h"
#include "SeededWeights.h"
#include "TestPasses.h"

#include "llmc/Dialect/LLM/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gmock/gmock.h>

using namespace llmc;
using namespace llmc::reference;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

class CheckPassesTest : public testing::Test {
protected:
  CheckPassesTest() {
    model.context.disableMultithreading();
    model.context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      for (mlir::Diagnostic &note : diagnostic.getNotes())
        notes += note.str() + "\n";
      return mlir::success();
    });
    options.report = [this](llvm::StringRef pass, llvm::StringRef text) {
      reports += (pass + ": " + text + "\n").str();
    };
  }

  /// Runs a pass between two that are right; true where the check is content.
  bool check(std::unique_ptr<mlir::Pass> pass) {
    PassChecker checker(std::make_shared<SeededWeights>(), options);
    mlir::PassManager pm(&model.context, mlir::ModuleOp::getOperationName());
    pm.addInstrumentation(checker.makeInstrumentation());
    pm.addPass(mlir::createCanonicalizerPass());
    pm.addPass(std::move(pass));
    llm::addFusionPasses(pm);
    EXPECT_TRUE(mlir::succeeded(pm.run(model.module())));
    checked = checker.getChecked();
    return !checker.hasFailed();
  }
  bool checkMistake(llvm::StringRef mistake) {
    return check(test::createTestBreakModelPass(mistake));
  }

  TinyModel model;
  PassCheckOptions options;
  std::string messages, notes, reports;
  unsigned checked = 0;
};

TEST_F(CheckPassesTest, CorrectPassesPass) {
  EXPECT_TRUE(check(mlir::createCSEPass()));
  EXPECT_THAT(messages, IsEmpty());
  // Of the fusions of the tiny model at least qkv-linear and linear-residual are made.
  EXPECT_GE(checked, 2u);
  EXPECT_THAT(reports, HasSubstr("llm-fuse-qkv-linear: same numbers in 14 tensors: worst row "
                                 "off by 0 in f64, 0 in f32"));
  EXPECT_THAT(reports, HasSubstr("llm-fuse-gated-linear: changed nothing"));
}

TEST_F(CheckPassesTest, ChangedEpsilonIsNamed) {
  EXPECT_FALSE(checkMistake("epsilon"));
  EXPECT_THAT(messages, HasSubstr("pass 'test-break-model' changes what the program computes: "
                                  "'final_norm' of the prefill step is "));
  EXPECT_THAT(messages, HasSubstr("in f64"));
  EXPECT_THAT(notes, HasSubstr("the first result that parts is that of llm.rms_norm at "));
  // What comes later is not blamed, nor looked at.
  EXPECT_THAT(messages, testing::Not(HasSubstr("llm-fuse")));
  EXPECT_THAT(reports, testing::Not(HasSubstr("llm-fuse")));
}

TEST_F(CheckPassesTest, ChangedResidualIsNamed) {
  EXPECT_FALSE(checkMistake("residual"));
  EXPECT_THAT(messages, HasSubstr("'hidden.1' of the prefill step is "));
  EXPECT_THAT(notes, HasSubstr("llm.residual_add at "));
}

TEST_F(CheckPassesTest, ChangedOrderOfLayersIsNamed) {
  EXPECT_FALSE(checkMistake("repeat"));
  EXPECT_THAT(messages, HasSubstr("pass 'test-break-model' changes"));
}

TEST_F(CheckPassesTest, LostObservationIsNamed) {
  EXPECT_FALSE(checkMistake("observe"));
  EXPECT_THAT(messages, HasSubstr("is not observed any more"));
}

TEST_F(CheckPassesTest, OtherTextWithTheSameNumbersPasses) {
  EXPECT_TRUE(checkMistake("label"));
  EXPECT_THAT(reports, HasSubstr("test-break-model: same numbers in 14 tensors"));
}

TEST_F(CheckPassesTest, LargeProgramsRunEachLayerOnce) {
  options.wholeProgram = 0;
  EXPECT_FALSE(checkMistake("epsilon"));
  EXPECT_THAT(messages, HasSubstr("'final_norm'"));
}

TEST_F(CheckPassesTest, LargeProgramsWithOtherRepeatsAreLeftAlone) {
  options.wholeProgram = 0;
  EXPECT_TRUE(checkMistake("repeat"));
  EXPECT_THAT(messages, HasSubstr("pass 'test-break-model' is not checked: it changed llm.repeat"));
}

TEST_F(CheckPassesTest, HugeProgramsAreNotRun) {
  options.anyProgram = 1;
  EXPECT_TRUE(checkMistake("epsilon"));
  EXPECT_THAT(messages, HasSubstr("is not checked: the weights have more than 1 elements"));
}

TEST(SeededWeightsTest, DependOnTheNameAlone) {
  SeededWeights weights;
  auto a = weights.load("a", {4, 8}), again = weights.load("a", {4, 8});
  auto b = weights.load("b", {4, 8});
  ASSERT_TRUE(bool(a) && bool(again) && bool(b));
  EXPECT_EQ(*a, *again);
  EXPECT_NE(*a, *b);
  EXPECT_EQ(a->size(), 32u);
}

TEST_F(CheckPassesTest, ResultAndOperandsOfTheOpAreNamed) {
  EXPECT_FALSE(checkMistake("residual"));
  EXPECT_THAT(messages, HasSubstr(", the worst, is off by "));
  EXPECT_THAT(messages, HasSubstr("rows, in f64)"));
  EXPECT_THAT(notes, HasSubstr("it was given the same as before the pass: argument 1 of the layer"));
}

TEST_F(CheckPassesTest, AProgramThatNoVerifierTakesIsNamed) {
  EXPECT_FALSE(checkMistake("twice"));
  EXPECT_THAT(messages, HasSubstr("pass 'test-break-model' made a program that is refused: "
                                  "llm-verify-model: "));
}

ProgramRun runOf(Shape shape, std::vector<double> values) {
  ProgramRun run;
  run.tensors.push_back({"x", 0, "prefill", std::move(shape), std::move(values)});
  return run;
}

TEST(CompareRunsTest, NumbersThatAreNone) {
  double nan = std::numeric_limits<double>::quiet_NaN(), largest = 0;
  auto run = [](std::vector<double> values) { return runOf({int64_t(values.size())}, values); };
  EXPECT_FALSE(compareRuns(run({1, nan}), run({1, nan}), {1e-12}, largest));
  EXPECT_EQ(largest, 0);
  auto difference = compareRuns(run({1, 2}), run({1, nan}), {1e-12}, largest);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->worst.element, 1u);
  EXPECT_TRUE(compareRuns(run({0, 0}), run({0, 1e-300}), {1e-12}, largest));
  EXPECT_FALSE(compareRuns(run({1, 2}), run({1, 2 + 1e-13}), {1e-12}, largest));
}

/// A small row is not excused by a large one.
TEST(CompareRunsTest, TheWorstRowDecides) {
  double largest = 0;
  ProgramRun before = runOf({2, 2}, {1000, 1000, 3e-3, 4e-3});
  auto difference = compareRuns(before, runOf({2, 2}, {1000, 1000, 3e-3, 4.5e-3}), {1e-6}, largest);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->worst.row, 1);
  EXPECT_EQ(difference->worst.element, 3u);
  EXPECT_NEAR(difference->worst.error, 0.1, 1e-12);
  EXPECT_EQ(difference->worst.differing, 1);
  EXPECT_EQ(difference->worst.before, 4e-3);
  EXPECT_EQ(difference->worst.after, 4.5e-3);
  // A row of zeros is measured by the others.
  EXPECT_FALSE(compareRuns(runOf({2, 1}, {0, 1}), runOf({2, 1}, {1e-9, 1}), {1e-6}, largest));
}

TEST(CompareRunsTest, NoiseOfTheFirstRunIsAllowed) {
  double largest = 0;
  ProgramRun before = runOf({1, 1}, {1}), noisy = runOf({1, 1}, {1 + 1e-4});
  ProgramRun after = runOf({1, 1}, {1 + 1e-3});
  EXPECT_TRUE(compareRuns(before, after, {1e-5, 5, &noisy}, largest));
  EXPECT_FALSE(compareRuns(before, after, {1e-5, 20, &noisy}, largest));
}

} // namespace
