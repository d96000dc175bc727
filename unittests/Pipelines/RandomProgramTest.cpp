//===- RandomProgramTest.cpp - drawn programs through every phase ---------===//
//
// A drawn program is legal, keeps its numbers through every pass (--check-passes),
// executes to what the evaluator says, and to the same bits whatever fusions
// are made. LLMC_TEST_SEEDS=first:count tries others than the few of every day
// (utils/check_random_programs.py).
//
//===----------------------------------------------------------------------===//
#include "RandomProgram.h"

#include "CheckPasses.h"
#include "SeededWeights.h"
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Pipelines/Phases.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>
#include <gmock/gmock.h>

using namespace llmc;

namespace {

struct Outcome {
  std::optional<ProgramRun> run;
  std::string problem;
};

/// Compiles with every pass checked where `check` is set, and executes the plan.
Outcome compileAndRun(const std::string &text, const PhaseOptions &options, bool check) {
  auto context = makeModelContext();
  ErrorCollector messages(*context, /*printsRemarks=*/false);
  auto failed = [&](const std::string &what) { return Outcome{{}, what + ": " + messages.text()}; };
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (!module)
    return failed("it cannot be read");
  auto steps = seededSteps(*module, StepSize::Many);
  auto runner = std::make_shared<PlanRunner>(nullptr, 1);
  if (llvm::Error error = runner->prepare(*module))
    return failed(llvm::toString(std::move(error)));
  PassCheckOptions checks;
  checks.plans = runner;
  checks.threads = 1;
  PassChecker checker(std::make_shared<SeededWeights>(), checks);
  for (const PhaseInfo &info : phases()) {
    if (info.phase == Phase::Package)
      continue;
    mlir::PassManager pm(context.get(), mlir::ModuleOp::getOperationName());
    buildPhasePipeline(pm, info.phase, options);
    if (check)
      pm.addInstrumentation(checker.makeInstrumentation());
    if (mlir::failed(pm.run(*module)) || checker.hasFailed())
      return failed("phase " + info.name.str());
  }
  PlanCopy plan = completePlan(*module);
  if (!plan.problem.empty())
    return failed("the plan is refused: " + plan.problem);
  auto run = runner->run(plan, steps);
  if (!run)
    return failed("it does not run: " + llvm::toString(run.takeError()));
  return {std::move(*run), ""};
}

/// Some patterns off on odd seeds, all on even ones.
PhaseOptions otherFusions(uint64_t seed) {
  PhaseOptions options;
  options.fusion = seed % 2;
  for (const llm::FusionPattern &pattern : llm::fusionPatterns())
    if (mixBits(seed + llvm::xxh3_64bits(pattern.name)) % 2)
      options.disabledFusions.push_back(pattern.name.str());
  return options;
}

std::pair<uint64_t, uint64_t> seeds() {
  const char *given = std::getenv("LLMC_TEST_SEEDS");
  auto [first, count] = llvm::StringRef(given ? given : "6:2").split(':');
  uint64_t from = 0, number = 0;
  EXPECT_FALSE(first.getAsInteger(10, from) || count.getAsInteger(10, number))
      << "LLMC_TEST_SEEDS=" << given << " is not first:count";
  return {from, number};
}

TEST(RandomPrograms, KeepTheirNumbers) {
  auto [first, count] = seeds();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::string text = test::randomProgram(seed);
    Outcome fused = compileAndRun(text, {}, /*check=*/true);
    ASSERT_TRUE(fused.run) << "seed " << seed << ": " << fused.problem << "\n" << text;
    Outcome other = compileAndRun(text, otherFusions(seed), /*check=*/false);
    ASSERT_TRUE(other.run) << "seed " << seed << ", other fusions: " << other.problem << "\n" << text;
    double largest = 0;
    auto difference = compareRuns(*other.run, *fused.run, {}, largest);
    EXPECT_FALSE(difference) << "seed " << seed << ": other fusions give other bits in "
                             << difference->tensor->name << ", row off by "
                             << difference->worst.error << "\n" << text;
  }
}

/// A program is the same wherever it is drawn; what it says is in a report of a failure.
TEST(RandomPrograms, DependOnTheSeedAlone) {
  EXPECT_EQ(test::randomProgram(11), test::randomProgram(11));
  EXPECT_NE(test::randomProgram(11), test::randomProgram(12));
}

/// All kinds of operations are drawn within a few seeds.
TEST(RandomPrograms, HaveEverything) {
  std::string all;
  for (uint64_t seed = 1; seed <= 60; ++seed)
    all += test::randomProgram(seed);
  for (const char *what :
       {"llm.rms_norm", "llm.layer_norm", "bias", "llm.gate", "llm.rotary", "interleaved", "window",
        "softcap", "llm.route softmax", "llm.expert_sum", "llm.causal_conv", "llm.linear_attention",
        "llm.binary mul", "llm.weight_rows", "llm.concat", "llm.clamp", "layers [0, 1, 2, 3]"})
    EXPECT_THAT(all, testing::HasSubstr(what));
}

} // namespace
