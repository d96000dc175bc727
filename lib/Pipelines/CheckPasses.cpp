//===- CheckPasses.cpp - does every pass keep the numbers -----------------===//
#include "CheckPasses.h"

#include "mlir/Pass/Pass.h"
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

std::unique_ptr<PassChecker::Snapshot> PassChecker::take(ModuleOp module, uint64_t hash) {
  auto snapshot = std::make_unique<Snapshot>();
  snapshot->module = module.clone();
  snapshot->hash = hash;
  snapshot->repeats = describeRepeats(module);
  snapshot->cut = weightElements(module) > options.wholeProgram;
  if (snapshot->cut)
    runLayersOnce(*snapshot->module);
  return snapshot;
}

LogicalResult PassChecker::evaluate(Snapshot &snapshot, bool in32) {
  if (!snapshot.run64) {
    auto run = runProgram<double>(*snapshot.module, *weights, options.threads, snapshot.cut);
    if (!run)
      return emitAsDiagnostic(run.takeError(), *snapshot.module);
    snapshot.run64 = std::move(*run);
  }
  if (in32 && !snapshot.run32) {
    auto run = runProgram<float>(*snapshot.module, *weights, options.threads, snapshot.cut);
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
  if (weightElements(module) > options.anyProgram) {
    emitWarning(module.getLoc()) << "--check-passes: pass '" << name
                                 << "' is not checked: the weights have more than "
                                 << options.anyProgram << " elements";
    return;
  }
  if ((before->cut || last->cut) && before->repeats != last->repeats) {
    emitWarning(module.getLoc()) << "--check-passes: pass '" << name
                                 << "' is not checked: it changed llm.repeat, and the program is "
                                    "too large to run all layers";
    return;
  }
  // One that rounds and one that does not agree in f64.
  bool in32 = !before->cut || !last->cut || hasNarrowActivations(*before->module) ||
              hasNarrowActivations(*last->module);
  if (mlir::failed(evaluate(*before, in32))) {
    failed = true;
    emitError(module.getLoc()) << "--check-passes: the program cannot be run before pass '" << name
                               << "'";
    return;
  }
  if (mlir::failed(evaluate(*last, in32))) {
    failed = true;
    emitError(module.getLoc()) << "--check-passes: pass '" << name
                               << "' made a program that cannot be run";
    return;
  }
  double largest64 = 0, largest32 = 0;
  if (auto difference =
          compareRuns(*before->run64, *last->run64, options.bound64, largest64))
    return reportDifference<double>(name, *before->module, *last, *difference, options.bound64);
  if (in32)
    if (auto difference =
            compareRuns(*before->run32, *last->run32, options.bound32, largest32))
      return reportDifference<float>(name, *before->module, *last, *difference, options.bound32);
  ++checked;
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "same numbers in " << last->run64->tensors.size() << " tensors"
      << (last->cut ? ", each layer run once" : "")
      << llvm::format(": largest relative difference %.3g in f64", largest64);
  if (in32)
    out << llvm::format(", %.3g in f32", largest32);
  report(name, text);
}

/// "[2, 17]", the place of an element.
static std::string indexText(const Shape &shape, size_t element) {
  Shape index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = int64_t(element % size_t(shape[i]));
    element /= size_t(shape[i]);
  }
  return shapeText(index);
}

template <typename T>
void PassChecker::reportDifference(StringRef pass, ModuleOp before, Snapshot &after,
                                   const Difference &difference, double bound) {
  failed = true;
  auto number = [](double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.17g", value);
    return text;
  };
  const SeenTensor &tensor = *difference.tensor;
  {
    InFlightDiagnostic error = emitError(after.module->getLoc());
    error << "--check-passes: pass '" << pass << "' changes what the program computes: '"
          << tensor.name << "' of the " << tensor.step << " step ";
    if (difference.lacking) {
      error << "is not observed any more";
      return;
    }
    if (difference.otherShape) {
      error << "has shape " << shapeText(tensor.shape) << ", before it "
            << shapeText(*difference.otherShape);
      return;
    }
    error << "is " << number(difference.after) << " at "
          << indexText(tensor.shape, difference.element) << ", before it "
          << number(difference.before) << " (" << difference.differing << " of "
          << tensor.values.size() << " elements differ by more than " << number(bound)
          << " of the largest, in " << (sizeof(T) == 8 ? "f64" : "f32") << ")";

    // Look closer: the same two programs with every value observed.
    OwningOpRef<ModuleOp> closeBefore = before.clone(), closeAfter = after.module->clone();
    observeEverything(*closeBefore);
    observeEverything(*closeAfter);
    auto runBefore = runProgram<T>(*closeBefore, *weights, options.threads, after.cut);
    auto runAfter = runProgram<T>(*closeAfter, *weights, options.threads, after.cut);
    if (!runBefore || !runAfter) {
      llvm::consumeError(runBefore.takeError());
      llvm::consumeError(runAfter.takeError());
      return;
    }
    double largest = 0;
    auto first = compareRuns(*runBefore, *runAfter, bound, largest);
    if (first && !first->lacking)
      error.attachNote() << "the first result that parts is that of " << first->tensor->name
                         << " in the " << first->tensor->step << " step"
                         << (first->tensor->occurrence
                                 ? ", run " + std::to_string(first->tensor->occurrence + 1)
                                 : "")
                         << ": " << number(first->after) << ", before it "
                         << number(first->before);
  }
}

} // namespace llmc
