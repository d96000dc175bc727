//===- TraceTest.cpp - traces of a tiny model -----------------------------===//
#include "TinyModel.h"

#include "llmc/Reference/Trace.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

using namespace llmc::reference;
using testing::HasSubstr;

namespace {

const std::vector<int64_t> prompt{3, 1, 4, 1, 5, 9, 2, 6};

class TraceTest : public testing::Test {
protected:
  std::vector<TraceTensor> trace(const TraceOptions &options) {
    auto tensors = traceModel(model.module(), model.weights, prompt, options);
    if (tensors)
      return std::move(*tensors);
    ADD_FAILURE() << messageOf(tensors.takeError());
    return {};
  }
  TinyModel model;
};

std::vector<std::string> namesOf(const std::vector<TraceTensor> &tensors) {
  std::vector<std::string> names;
  for (const TraceTensor &tensor : tensors)
    names.push_back(tensor.name);
  return names;
}

const TraceTensor &get(const std::vector<TraceTensor> &tensors, llvm::StringRef name) {
  static const TraceTensor none;
  for (const TraceTensor &tensor : tensors)
    if (tensor.name == name)
      return tensor;
  ADD_FAILURE() << "no tensor " << name.str();
  return none;
}

void expectEqual(const std::vector<TraceTensor> &a, const std::vector<TraceTensor> &b) {
  ASSERT_EQ(namesOf(a), namesOf(b));
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].shape, b[i].shape) << a[i].name;
    EXPECT_EQ(a[i].data, b[i].data) << a[i].name;
  }
}

TEST_F(TraceTest, HoldsWhatIsObservedThenLogits) {
  std::vector<TraceTensor> tensors = trace({});
  EXPECT_EQ(namesOf(tensors),
            (std::vector<std::string>{"hidden.0", "hidden.1", "hidden.2", "hidden.3",
                                      "final_norm", "logits"}));
  EXPECT_EQ(get(tensors, "hidden.3").shape, (std::vector<int64_t>{8, TinyModel::width}));
  EXPECT_EQ(get(tensors, "final_norm").shape, (std::vector<int64_t>{8, TinyModel::width}));
  EXPECT_EQ(get(tensors, "logits").shape, (std::vector<int64_t>{8, TinyModel::vocabulary}));
}

TEST_F(TraceTest, OnlyLogits) {
  TraceOptions options;
  options.onlyLogits = true;
  options.greedy = 2;
  EXPECT_EQ(namesOf(trace(options)),
            (std::vector<std::string>{"logits", "greedy", "greedy_logits"}));
}

TEST_F(TraceTest, ChunksAndOtherRequestsChangeNothing) {
  TraceOptions options;
  options.greedy = 6;
  std::vector<TraceTensor> alone = trace(options);
  for (int64_t chunk : {1, 3, 8, 100}) {
    options.chunk = chunk;
    options.otherPrompt.clear();
    expectEqual(alone, trace(options));
    // Shorter and longer than the prompt: one decodes while the other is in its prompt.
    options.otherPrompt = {7, 7};
    expectEqual(alone, trace(options));
    options.otherPrompt = {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0};
    expectEqual(alone, trace(options));
  }
}

TEST_F(TraceTest, GreedyTokensFollowTheirLogits) {
  TraceOptions options;
  options.greedy = 5;
  std::vector<TraceTensor> tensors = trace(options);
  const auto &tokens = std::get<std::vector<int64_t>>(get(tensors, "greedy").data);
  const TraceTensor &chosen = get(tensors, "greedy_logits");
  ASSERT_EQ(tokens.size(), 5u);
  ASSERT_EQ(chosen.shape, (std::vector<int64_t>{5, TinyModel::vocabulary}));
  const auto &logits = std::get<std::vector<float>>(chosen.data);
  for (size_t i = 0; i < 5; ++i) {
    auto row = logits.begin() + i * TinyModel::vocabulary;
    EXPECT_EQ(std::max_element(row, row + TinyModel::vocabulary) - row, tokens[i]);
  }
  // The same continuation as a prompt gives the same logits.
  std::vector<int64_t> longer = prompt;
  longer.insert(longer.end(), tokens.begin(), tokens.end() - 1);
  auto whole = traceModel(model.module(), model.weights, longer);
  ASSERT_TRUE(bool(whole));
  const auto &all = std::get<std::vector<float>>(get(*whole, "logits").data);
  EXPECT_EQ(std::vector<float>(all.end() - int64_t(logits.size()), all.end()), logits);
}

TEST_F(TraceTest, SinglePrecisionIsClose) {
  TraceOptions options;
  std::vector<TraceTensor> exact = trace(options);
  options.doublePrecision = false;
  std::vector<TraceTensor> single = trace(options);
  const auto &a = std::get<std::vector<float>>(get(exact, "logits").data);
  const auto &b = std::get<std::vector<float>>(get(single, "logits").data);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 2e-5);
}

TEST_F(TraceTest, RefusesPromptsThatAreNone) {
  auto message = [&](std::vector<int64_t> tokens) {
    return messageOf(traceModel(model.module(), model.weights, tokens));
  };
  EXPECT_THAT(message({}), HasSubstr("the prompt has no tokens"));
  EXPECT_THAT(message({1, -1}), HasSubstr("the prompt holds -1"));
  EXPECT_THAT(message({int64_t(1) << 31}), HasSubstr("the prompt holds 2147483648"));
  EXPECT_THAT(message({11}), HasSubstr("token 11 is outside"));
}

} // namespace
