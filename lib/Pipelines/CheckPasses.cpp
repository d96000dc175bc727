//===- CheckPasses.cpp - does every pass keep the numbers -----------------===//
#include "CheckPasses.h"

#include "llmc/Dialect/LLM/Analysis/OperatorWork.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "llmc/Pipelines/ModelContext.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace llmc::reference;

namespace llmc {

namespace {

class CheckInstrumentation final : public PassInstrumentation {
public:
  explicit CheckInstrumentation(PassChecker &checker) : checker(checker) {}
  void runBeforePass(Pass *, Operation *op) override { checker.beforePass(op); }
  void runAfterPass(Pass *pass, Operation *op) override { checker.afterPass(pass, op); }

private:
  PassChecker &checker;
};

} // namespace

static ModuleOp wholeModule(Operation *op) {
  while (Operation *parent = op->getParentOp())
    op = parent;
  return dyn_cast<ModuleOp>(op);
}

/// Of the text, which is what the next phase could be started from.
static uint64_t hashOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, OpPrintingFlags().useLocalScope());
  return llvm::xxh3_64bits(text);
}

static StringRef nameOf(Pass *pass) {
  return pass->getArgument().empty() ? pass->getName() : pass->getArgument();
}

/// The first operation that a plug-in brought and no pass has removed yet.
static std::string foreignOperation(ModuleOp module) {
  std::string found;
  module.walk([&](Operation *op) {
    if (!llm::isOperator(op) || isa_and_nonnull<llm::LLMDialect>(op->getDialect()))
      return WalkResult::advance();
    found = op->getName().getStringRef().str();
    return WalkResult::interrupt();
  });
  return found;
}

/// What verifiers and llm-verify-model say against a program.
static std::string problemOf(ModuleOp module) {
  ErrorCollector messages(*module.getContext(), /*printsRemarks=*/false);
  if (mlir::failed(mlir::verify(module)))
    return "the IR is invalid: " + messages.text();
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.addPass(llm::createVerifyModelPass());
  return mlir::failed(pm.run(module)) ? "llm-verify-model: " + messages.text() : "";
}

PassChecker::PassChecker(std::shared_ptr<WeightSource> weights, PassCheckOptions options)
    : weights(std::move(weights)), options(std::move(options)) {}

PassChecker::~PassChecker() = default;

std::unique_ptr<PassInstrumentation> PassChecker::makeInstrumentation() {
  return std::make_unique<CheckInstrumentation>(*this);
}

void PassChecker::report(StringRef pass, const Twine &text) {
  if (options.report)
    options.report(pass, text.str());
}

void PassChecker::leaveUnchecked(const Around &around, const Twine &why, bool said) {
  std::string reason = why.str();
  if (!said)
    emitWarning(around.after.module->getLoc())
        << "--check-passes: pass '" << around.name << "' is not checked: " << reason;
  report(around.name, "not checked: " + reason);
  unchecked.push_back(around.name.str());
}

std::string PassChecker::summary() const {
  return std::to_string(checked) + (checked == 1 ? " pass" : " passes") + " checked, " +
         std::to_string(unchecked.size()) + " not checked" +
         (unchecked.empty() ? "" : " (" + llvm::join(unchecked, ", ") + ")");
}

std::unique_ptr<PassChecker::Snapshot> PassChecker::take(ModuleOp module, uint64_t hash) {
  auto snapshot = std::make_unique<Snapshot>();
  snapshot->module = module.clone();
  snapshot->hash = hash;
  snapshot->isPlan = isPlan(module);
  if (snapshot->isPlan) {
    if (!options.plans)
      return snapshot;
    snapshot->plan = completePlan(module);
    snapshot->problem = snapshot->plan->problem;
    if (snapshot->problem.empty())
      snapshot->planHash = hashOf(*snapshot->plan->module);
    return snapshot;
  }
  snapshot->problem = problemOf(*snapshot->module);
  snapshot->foreign = foreignOperation(module);
  snapshot->repeats = describeRepeats(module);
  snapshot->cut = weightElements(module) > options.wholeProgram;
  if (steps.empty()) {
    StepSize size = snapshot->cut                                    ? StepSize::Few
                    : weightElements(module) <= options.smallProgram ? StepSize::Many
                                                                     : StepSize::Usual;
    steps = seededSteps(module, size, options.limits);
  }
  if (snapshot->cut)
    runLayersOnce(*snapshot->module);
  return snapshot;
}

LogicalResult PassChecker::evaluate(Snapshot &snapshot, bool in32) {
  if (!snapshot.run64) {
    auto run = runProgram<double>(*snapshot.module, *weights, steps, options.threads);
    if (!run)
      return emitAsDiagnostic(run.takeError(), *snapshot.module);
    snapshot.run64 = std::move(*run);
  }
  if (in32 && !snapshot.run32) {
    auto run = runProgram<float>(*snapshot.module, *weights, steps, options.threads);
    if (!run)
      return emitAsDiagnostic(run.takeError(), *snapshot.module);
    snapshot.run32 = std::move(*run);
  }
  return success();
}

void PassChecker::beforePass(Operation *op) {
  ModuleOp module = wholeModule(op);
  if (failed || !module)
    return;
  uint64_t hash = hashOf(module);
  if (!last || last->hash != hash)
    last = take(module, hash);
}

void PassChecker::afterPass(Pass *pass, Operation *op) {
  ModuleOp module = wholeModule(op);
  if (failed || !module || !last)
    return;
  StringRef name = nameOf(pass);
  uint64_t hash = hashOf(module);
  if (hash == last->hash) {
    // An adaptor without a name only runs other passes, which spoke for themselves.
    if (!pass->getArgument().empty())
      report(name, "changed nothing");
    return;
  }
  std::unique_ptr<Snapshot> before = std::move(last);
  last = take(module, hash);
  check({pass, name, *before, *last});
}

void PassChecker::check(const Around &around) {
  Snapshot &before = around.before, &after = around.after;
  if (!before.isPlan && after.isPlan && onDifference)
    converted = before.module->clone();
  // What was refused before is not this pass's doing.
  if (!after.problem.empty() && before.problem.empty())
    return fail(around, {around.name.str(), "made a program that is refused: " + after.problem, {}, {}, {}});
  if (std::string foreign = after.foreign.empty() ? before.foreign : after.foreign;
      !foreign.empty()) {
    return leaveUnchecked(
        around, "the evaluator has no rule for " + foreign +
                    (after.foreign.empty() ? ", which it removed; what follows is checked" : ""));
  }
  if (!after.isPlan)
    return checkProgram(around);
  if (!canExecute(around))
    return;
  return before.isPlan ? checkPlan(around) : checkConversion(around);
}

//===----------------------------------------------------------------------===//
// Programs of the llm dialect
//===----------------------------------------------------------------------===//

void PassChecker::checkProgram(const Around &around) {
  Snapshot &before = around.before, &after = around.after;
  if (weightElements(*after.module) > options.anyProgram)
    return leaveUnchecked(around, "the weights have more than " + Twine(options.anyProgram) +
                                      " elements");
  if ((before.cut || after.cut) && before.repeats != after.repeats)
    return leaveUnchecked(
        around, "it changed llm.repeat, and the program is too large to run all layers");
  // One that rounds and one that does not agree in f64.
  bool in32 = !before.cut || !after.cut || hasNarrowActivations(*before.module) ||
              hasNarrowActivations(*after.module);
  if (mlir::failed(evaluate(before, in32))) {
    failed = true;
    emitError(before.module->getLoc())
        << "--check-passes: the program cannot be run before pass '" << around.name << "'";
    return;
  }
  if (mlir::failed(evaluate(after, in32)))
    return fail(around, {around.name.str(), "made a program that cannot be run", {}, {}, {}});
  double largest64 = 0, largest32 = 0;
  if (auto difference = compareRuns(*before.run64, *after.run64, {options.bound64}, largest64))
    return reportProgram<double>(around, *difference);
  if (in32)
    if (auto difference = compareRuns(*before.run32, *after.run32, {options.bound32}, largest32))
      return reportProgram<float>(around, *difference);
  ++checked;
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "same numbers in " << after.run64->tensors.size() << " tensors"
      << (after.cut ? ", each layer run once" : "")
      << llvm::format(": worst row off by %.3g in f64", largest64);
  if (in32)
    out << llvm::format(", %.3g in f32", largest32);
  report(around.name, text);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

bool PassChecker::canExecute(const Around &around) {
  Snapshot &before = around.before, &after = around.after;
  auto skip = [&](const Twine &why, bool said = false) {
    leaveUnchecked(around, why, said);
    return false;
  };
  if (!options.plans)
    return skip("plans are not executed", /*said=*/true);
  if (before.isPlan && (!prepared || !after.plan || !after.problem.empty()))
    return skip("nor is the plan before it", /*said=*/true);
  if (!after.plan || !after.problem.empty())
    return skip("its plan is refused: " + after.problem);
  if (std::string why = PlanRunner::refusal(after.plan->program()); !why.empty()) {
    bool wasSaid = before.isPlan && before.problem.empty() &&
                   !PlanRunner::refusal(before.plan->program()).empty();
    return skip("the plan cannot be executed: " + why, wasSaid);
  }
  if (before.isPlan)
    return true;
  if (before.cut)
    return skip("the weights have more than " + Twine(options.wholeProgram) +
                " elements, and the plan is not executed; check a twin (llmc twin)");
  if (std::string missing = PlanRunner::missingFact(*before.module); !missing.empty()) {
    failed = true;
    emitError(before.module->getLoc())
        << "--check-passes: no plan of the program can be run: " << missing;
    return false;
  }
  if (llvm::Error error = options.plans->prepare(*before.module))
    return skip("the plan cannot be executed: " + llvm::toString(std::move(error)));
  prepared = true;
  return true;
}

LogicalResult PassChecker::execute(const Around &around, Snapshot &snapshot) {
  if (snapshot.run64)
    return success();
  auto run = options.plans->run(*snapshot.plan, steps);
  if (run) {
    snapshot.run64 = std::move(*run);
    return success();
  }
  fail(around, {around.name.str(), "made a plan that cannot be run: " + llvm::toString(run.takeError()), {}, {}, {}});
  return failure();
}

/// The runtime shows rows of heads flat where there is one; both hold the same rows.
static void takeShapes(const ProgramRun &from, ProgramRun &to) {
  for (SeenTensor &tensor : to.tensors)
    if (const SeenTensor *namesake = from.find(tensor))
      if (namesake->rows() == tensor.rows() && namesake->values.size() == tensor.values.size())
        tensor.shape = namesake->shape;
}

void PassChecker::checkConversion(const Around &around) {
  Snapshot &before = around.before, &after = around.after;
  // Anew: these weights are the ones that are packed.
  weights = options.plans->weights();
  before.run64.reset();
  before.run32.reset();
  if (mlir::failed(evaluate(before, /*in32=*/true))) {
    failed = true;
    emitError(before.module->getLoc())
        << "--check-passes: the program cannot be run before pass '" << around.name << "'";
    return;
  }
  if (mlir::failed(execute(around, after)))
    return;
  takeShapes(*before.run64, *after.run64);
  double largest = 0;
  RunBound bound{options.planBound, options.planNoise, &*before.run32};
  if (auto difference = compareRuns(*before.run64, *after.run64, bound, largest))
    return reportConversion(around, *difference);
  ++checked;
  std::string text;
  llvm::raw_string_ostream(text) << "executed, same numbers in " << after.run64->tensors.size()
                                 << " tensors"
                                 << llvm::format(": worst row off by %.3g", largest);
  report(around.name, text);
}

void PassChecker::checkPlan(const Around &around) {
  Snapshot &before = around.before, &after = around.after;
  if (before.planHash == after.planHash) {
    after.run64 = std::move(before.run64);
    ++checked;
    report(around.name, "what runs is the same");
    return;
  }
  if (mlir::failed(execute(around, before)) || mlir::failed(execute(around, after)))
    return;
  double largest = 0;
  if (auto difference = compareRuns(*before.run64, *after.run64, {}, largest))
    return reportPlan(around, *difference);
  ++checked;
  report(around.name, "executed, same bits in " + Twine(after.run64->tensors.size()) + " tensors");
}

} // namespace llmc
