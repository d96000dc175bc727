//===- EvaluatorTest.cpp - steps, state and errors of the evaluator -------===//
#include "TinyModel.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace llmc::reference;
using testing::HasSubstr;

namespace {

const std::vector<int32_t> prompt{3, 1, 4, 1, 5, 9, 2, 6};
const std::vector<int32_t> second{10, 0, 7};

template <typename T>
std::vector<T> rowsOf(const HostTensor<T> &tensor, int64_t begin, int64_t count) {
  return {tensor.row(begin), tensor.row(begin + count)};
}

class EvaluatorTest : public testing::Test {
protected:
  template <typename T = double> Evaluator<T> evaluator(unsigned threads = 1) {
    EvaluatorOptions options;
    options.threads = threads;
    return Evaluator<T>(model.module(), model.weights, options);
  }
  /// The prompt in one step, every row.
  HostTensor<double> whole() {
    Evaluator<double> fresh = evaluator();
    return run(fresh, stepOf(0, 0, prompt));
  }
  TinyModel model;
};

TEST_F(EvaluatorTest, GivesLogitsOfTheWantedRows) {
  HostTensor<double> all = whole();
  ASSERT_EQ(all.shape, Shape({8, TinyModel::vocabulary}));
  Evaluator<double> fresh = evaluator();
  Step step = stepOf(0, 0, prompt);
  step.batch.outputRows = {7, 2};
  HostTensor<double> some = run(fresh, step);
  ASSERT_EQ(some.shape, Shape({2, TinyModel::vocabulary}));
  EXPECT_EQ(rowsOf(some, 0, 1), rowsOf(all, 7, 1));
  EXPECT_EQ(rowsOf(some, 1, 1), rowsOf(all, 2, 1));
}

TEST_F(EvaluatorTest, ChunksGiveTheBitsOfTheWholePrompt) {
  HostTensor<double> all = whole();
  for (int64_t chunk : {1, 3, 5}) {
    Evaluator<double> fresh = evaluator();
    for (int64_t start = 0; start < 8; start += chunk) {
      int64_t count = std::min<int64_t>(chunk, 8 - start);
      HostTensor<double> part =
          run(fresh, stepOf(0, start, llvm::ArrayRef(prompt).slice(start, count)));
      EXPECT_EQ(part.data, rowsOf(all, start, count)) << "chunk " << chunk << " at " << start;
    }
  }
}

TEST_F(EvaluatorTest, SequencesOfABatchAreIndependent) {
  HostTensor<double> all = whole();
  Evaluator<double> alone = evaluator();
  HostTensor<double> other = run(alone, stepOf(0, 0, second));

  // A decode row of one sequence amid a chunk of the other.
  Evaluator<double> mixed = evaluator();
  run(mixed, stepOf(40, 0, llvm::ArrayRef(second).take_front(2)));
  Step step;
  step.add(40, 2, llvm::ArrayRef(second).drop_front(2));
  step.add(2, 0, llvm::ArrayRef(prompt).take_front(5));
  step.batch.outputRows = {0, 1, 5};
  HostTensor<double> first = run(mixed, step);
  EXPECT_EQ(rowsOf(first, 0, 1), rowsOf(other, 2, 1));
  EXPECT_EQ(rowsOf(first, 1, 1), rowsOf(all, 0, 1));
  EXPECT_EQ(rowsOf(first, 2, 1), rowsOf(all, 4, 1));
  HostTensor<double> rest = run(mixed, stepOf(2, 5, llvm::ArrayRef(prompt).drop_front(5)));
  EXPECT_EQ(rest.data, rowsOf(all, 5, 3));
}

TEST_F(EvaluatorTest, AnEarlierStartReplacesWhatFollowed) {
  HostTensor<double> all = whole();
  Evaluator<double> fresh = evaluator();
  run(fresh, stepOf(0, 0, {3, 1, 4, 8, 8, 8, 8, 8, 8}));
  HostTensor<double> rest = run(fresh, stepOf(0, 3, llvm::ArrayRef(prompt).drop_front(3)));
  EXPECT_EQ(rest.data, rowsOf(all, 3, 5));
}

TEST_F(EvaluatorTest, AReleasedSequenceStartsAnew) {
  Evaluator<double> fresh = evaluator();
  run(fresh, stepOf(0, 0, second));
  fresh.release(0);
  EXPECT_THAT(messageOf(fresh.evaluateStep(stepOf(0, 3, second))),
              HasSubstr("whose state holds 0 positions, in @local of layer 0"));
}

TEST_F(EvaluatorTest, ThreadsDoNotChangeBits) {
  // Enough rows that large ops are worth a thread.
  std::vector<int32_t> tokens(1500);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = int32_t(i * i % TinyModel::vocabulary);
  Evaluator<float> one = evaluator<float>(1), three = evaluator<float>(3);
  EXPECT_EQ(run(one, stepOf(0, 0, tokens)).data, run(three, stepOf(0, 0, tokens)).data);
}

TEST_F(EvaluatorTest, SinglePrecisionIsCloseToDouble) {
  HostTensor<double> exact = whole();
  Evaluator<float> single = evaluator<float>();
  HostTensor<float> rounded = run(single, stepOf(0, 0, prompt));
  ASSERT_EQ(rounded.shape, exact.shape);
  for (size_t i = 0; i < exact.data.size(); ++i)
    EXPECT_NEAR(rounded.data[i], exact.data[i], 2e-5);
}

TEST_F(EvaluatorTest, ObservesEveryLayerByName) {
  Evaluator<double> fresh = evaluator();
  std::vector<std::string> names;
  fresh.setObserver([&](llvm::StringRef name, const HostTensor<double> &value) {
    names.push_back(name.str());
    bool isLogits = name == "logits";
    EXPECT_EQ(value.shape, Shape({3, isLogits ? TinyModel::vocabulary : TinyModel::width}));
  });
  run(fresh, stepOf(0, 0, second));
  EXPECT_EQ(names, (std::vector<std::string>{"hidden.0", "hidden.1", "hidden.2", "hidden.3",
                                             "final_norm", "logits"}));
}

TEST_F(EvaluatorTest, AnEmptyStepGivesNoRows) {
  Evaluator<double> fresh = evaluator();
  EXPECT_EQ(run(fresh, Step()).shape, Shape({0, TinyModel::vocabulary}));
}

TEST_F(EvaluatorTest, RefusesStepsThatCannotBe) {
  Evaluator<double> fresh = evaluator();
  EXPECT_THAT(messageOf(fresh.evaluateStep(stepOf(0, 0, {11}))),
              HasSubstr("token 11 is outside of the table's 11 rows"));
  EXPECT_THAT(messageOf(fresh.evaluateStep(stepOf(0, 0, {-1}))),
              HasSubstr("token -1 is outside"));
  Step negative = stepOf(0, -2, {1});
  EXPECT_THAT(messageOf(fresh.evaluateStep(negative)), HasSubstr("starts at -2"));
  Step extra = stepOf(0, 0, {1, 2});
  extra.tokens.push_back(3);
  EXPECT_THAT(messageOf(fresh.evaluateStep(extra)),
              HasSubstr("gets 3 tokens for a batch of 2"));
  Step row = stepOf(0, 0, {1, 2});
  row.batch.outputRows = {2};
  EXPECT_THAT(messageOf(fresh.evaluateStep(row)),
              HasSubstr("output row 2 is outside of the 2 tokens"));
}

TEST_F(EvaluatorTest, NamesAMissingWeightAndItsLayer) {
  InMemoryWeights none;
  Evaluator<double> fresh(model.module(), none);
  EXPECT_THAT(messageOf(fresh.evaluateStep(stepOf(0, 0, {1}))),
              HasSubstr("'llm.param' there is no tensor 'embed.weight'"));
}

TEST_F(EvaluatorTest, RefusesWrongFunctionsAndInputs) {
  Evaluator<double> fresh = evaluator();
  EXPECT_THAT(messageOf(fresh.evaluateFunction("absent", {})),
              HasSubstr("has no function @absent"));
  EXPECT_THAT(messageOf(fresh.evaluateFunction("local", {})),
              HasSubstr("gets 0 inputs, it takes 3"));
  HostValue<double> nothing;
  EXPECT_THAT(messageOf(fresh.evaluateFunction("local", {nothing, nothing, nothing})),
              HasSubstr("argument 0: an index is needed"));
}

TEST(Evaluator, NeedsOneEntry) {
  mlir::MLIRContext context;
  InMemoryWeights none;
  auto empty = parseModule(context, "func.func @f() { return }");
  EXPECT_THAT(messageOf(Evaluator<double>(*empty, none).evaluateStep(Step())),
              HasSubstr("has no entry"));
  auto two = parseModule(context, R"(
    func.func @f() attributes {llm.entry} { return }
    func.func @g() attributes {llm.entry} { return })");
  EXPECT_THAT(messageOf(Evaluator<double>(*two, none).evaluateStep(Step())),
              HasSubstr("is a second entry beside @f"));
  auto bare = parseModule(context, "func.func @f() attributes {llm.entry} { return }");
  EXPECT_THAT(messageOf(Evaluator<double>(*bare, none).evaluateStep(Step())),
              HasSubstr("returns no tensor"));
}

constexpr llvm::StringLiteral foreign = R"(
  func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
    %y = "test.halve"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    return %y : tensor<?xf32>
  })";

TEST(Evaluator, RunsOpsOfOtherDialectsByRegisteredRules) {
  mlir::MLIRContext context;
  context.allowUnregisteredDialects();
  auto module = parseModule(context, foreign);
  InMemoryWeights none;
  Evaluator<float> evaluator(*module, none);
  HostValue<float> input = makeTensor(HostTensor<float>({2}, {1.f, 3.f}));
  EXPECT_THAT(messageOf(evaluator.evaluateFunction("f", input)),
              HasSubstr("'test.halve' has no rule in the reference evaluator"));

  registerRule<float>("test.halve", [](mlir::Operation *op, OpContext<float> &rule) {
    HostTensor<float> y = rule.tensor(op->getOperand(0));
    for (float &value : y.data)
      value /= 2;
    rule.result(std::move(y));
    return llvm::Error::success();
  });
  auto results = evaluator.evaluateFunction("f", input);
  ASSERT_TRUE(bool(results)) << messageOf(results.takeError());
  auto tensor = std::get<std::shared_ptr<const HostTensor<float>>>(results->front());
  EXPECT_EQ(tensor->data, (std::vector<float>{.5f, 1.5f}));

  // What a rule gives is checked against the op's type.
  registerRule<float>("test.halve", [](mlir::Operation *, OpContext<float> &rule) {
    rule.result(HostTensor<float>({1, 1}));
    return llvm::Error::success();
  });
  EXPECT_THAT(messageOf(evaluator.evaluateFunction("f", input)),
              HasSubstr("result 0: the shape is [1, 1], the type tensor<?xf32>"));
  registerRule<float>("test.halve", [](mlir::Operation *, OpContext<float> &) {
    return llvm::Error::success();
  });
  EXPECT_THAT(messageOf(evaluator.evaluateFunction("f", input)),
              HasSubstr("gave 0 results, it has 1"));
}

TEST(Evaluator, RoundsToTheElementTypeInSinglePrecisionOnly) {
  mlir::MLIRContext context;
  auto module = parseModule(context, R"(
    func.func @f(%x: tensor<?xbf16>) -> tensor<?xbf16> {
      %y = llm.residual_add %x, %x : tensor<?xbf16>
      %z = llm.residual_add %y, %x : tensor<?xbf16>
      return %z : tensor<?xbf16>
    })");
  ASSERT_TRUE(module);
  InMemoryWeights none;
  // 3 * 1.0078125 needs one bit more than bf16 has: ties go to the even neighbour.
  auto result = [&]<typename T>(T x) {
    Evaluator<T> evaluator(*module, none);
    HostValue<T> input = makeTensor(HostTensor<T>({1}, {x}));
    auto results = evaluator.evaluateFunction("f", input);
    EXPECT_TRUE(bool(results));
    return std::get<std::shared_ptr<const HostTensor<T>>>(results->front())->data.front();
  };
  EXPECT_EQ(result(1.0078125), 3.0234375);
  EXPECT_EQ(result(1.0078125f), 3.03125f);
}

} // namespace
