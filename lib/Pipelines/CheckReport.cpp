//===- CheckReport.cpp - where the program parted, and why ----------------===//
#include "CheckPasses.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace llmc::reference;

namespace llmc {

void PassChecker::fail(const Around &around, PassDifference difference,
                       ArrayRef<std::string> notes) {
  failed = true;
  found = std::move(difference);
  {
    InFlightDiagnostic error = emitError(around.after.module->getLoc());
    error << "--check-passes: pass '" << found->pass << "' " << found->text;
    for (const std::string &note : notes)
      error.attachNote() << note;
  }
  ModuleOp program = around.before.isPlan ? *converted : *around.before.module;
  if (onDifference && program && !around.before.cut)
    onDifference(*found, program, around.pass);
}

static std::string shortNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", value);
  return text;
}

std::string PassChecker::describe(const Difference &difference) {
  const SeenTensor &tensor = *difference.tensor;
  std::string text = "'" + tensor.name + "' of the " + tensor.step.str() + " step ";
  if (difference.lacking)
    return text + "is not observed any more";
  if (difference.otherShape)
    return text + "has shape " + shapeText(tensor.shape) + ", before it " +
           shapeText(*difference.otherShape);
  const WorstRow &worst = difference.worst;
  return text + "is " + numberText(worst.after) + " at " +
         indexText(tensor.shape, worst.element) + ", before it " + numberText(worst.before) +
         " (row " + std::to_string(worst.row) + ", the worst, is off by " +
         shortNumber(worst.error) + " of its size where " + shortNumber(difference.bound) +
         " is allowed, as are " + std::to_string(worst.differing) + " of " +
         std::to_string(tensor.rows()) + " rows";
}

/// One result more closely, for a note.
static std::string firstResult(const Difference &first, StringRef what) {
  const SeenTensor &tensor = *first.tensor;
  std::string text = "the first result that parts is that of " + what.str() + " in the " +
                     tensor.step.str() + " step";
  if (tensor.occurrence)
    text += ", run " + std::to_string(tensor.occurrence + 1);
  if (first.otherShape)
    return text + ": it has shape " + shapeText(tensor.shape) + ", before it " +
           shapeText(*first.otherShape);
  return text + ": " + numberText(first.worst.after) + " at " +
         indexText(tensor.shape, first.worst.element) + ", before it " +
         numberText(first.worst.before) + " (row " + std::to_string(first.worst.row) +
         " off by " + shortNumber(first.worst.error) + ")";
}

namespace {
/// What an op was given, for a note: operands whose values are those of before the pass, and
/// operands that were not there.
class Operands {
public:
  Operands(const ObservedOps &observed, const ProgramRun &before)
      : observed(observed), before(before) {}

  std::string describe(Operation *op) {
    for (Value operand : op->getOperands())
      add(operand);
    std::string text;
    if (!same.empty())
      text = "it was given the same as before the pass: " + llvm::join(same, ", ");
    if (!fresh.empty())
      text += (text.empty() ? "" : "; ") + ("new since the pass: " + llvm::join(fresh, ", "));
    return text;
  }

private:
  void add(Value value) {
    // Inside a fusion the operand is one of the fusion.
    while (auto argument = dyn_cast<BlockArgument>(value)) {
      auto fusion = dyn_cast<llm::FusionOp>(argument.getOwner()->getParentOp());
      if (!fusion)
        break;
      value = fusion->getOperand(argument.getArgNumber());
    }
    if (auto param = value.getDefiningOp<llm::ParamOp>()) {
      same.push_back("weight @" + param.getFamily().str());
      return;
    }
    auto name = observed.names.find(value);
    if (name != observed.names.end()) {
      bool known = llvm::any_of(before.tensors, [&](const SeenTensor &tensor) {
        return tensor.name == name->second;
      });
      (known ? same : fresh).push_back(name->second);
      return;
    }
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (isa<RankedTensorType>(value.getType()))
        same.push_back("argument " + std::to_string(argument.getArgNumber()) + " of the layer");
  }

  const ObservedOps &observed;
  const ProgramRun &before;
  SmallVector<std::string> same, fresh;
};
} // namespace

template <typename T>
void PassChecker::reportProgram(const Around &around, const Difference &difference) {
  PassDifference told{around.name.str(),
                      "changes what the program computes: " + describe(difference), {}, {}, {}};
  if (!difference.lacking && !difference.otherShape)
    told.text += std::string(", in ") + (sizeof(T) == 8 ? "f64" : "f32") + ")";
  told.tensor = difference.tensor->name;
  told.step = difference.tensor->step.str();
  SmallVector<std::string> notes;
  // Look closer: the same two programs with every value observed.
  OwningOpRef<ModuleOp> closeBefore = around.before.module->clone();
  OwningOpRef<ModuleOp> closeAfter = around.after.module->clone();
  observeEverything(*closeBefore);
  ObservedOps observed = observeEverything(*closeAfter);
  auto runBefore = runProgram<T>(*closeBefore, *weights, steps, options.threads);
  auto runAfter = runProgram<T>(*closeAfter, *weights, steps, options.threads);
  if (!runBefore || !runAfter) {
    llvm::consumeError(runBefore.takeError());
    llvm::consumeError(runAfter.takeError());
    return fail(around, std::move(told));
  }
  double largest = 0;
  auto first = compareRuns(*runBefore, *runAfter, {difference.bound}, largest);
  if (first && !first->lacking) {
    told.op = first->tensor->name;
    notes.push_back(firstResult(*first, told.op));
    auto value = observed.values.find(told.op);
    if (value != observed.values.end())
      if (Operation *op = value->second.getDefiningOp())
        if (std::string given = Operands(observed, *runBefore).describe(op); !given.empty())
          notes.push_back(given);
  }
  fail(around, std::move(told), notes);
}

template void PassChecker::reportProgram<double>(const Around &, const Difference &);
template void PassChecker::reportProgram<float>(const Around &, const Difference &);

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

llvm::Expected<ProgramRun> PassChecker::runObserved(ModuleOp module,
                                                    llvm::StringMap<std::string> &kernels) {
  PlanCopy plan = completePlan(module);
  if (!plan.problem.empty())
    return llvm::createStringError(plan.problem);
  kernels = observeLaunches(plan.program());
  return options.plans->run(plan, steps);
}

/// "linear at model.norm" -> "model.norm", without the number of a repetition.
static StringRef pathOf(StringRef name) {
  StringRef path = name.split(" at ").second;
  size_t number = path.rfind(" (");
  return number == StringRef::npos ? path : path.take_front(number);
}

/// The first launch whose result is that of no op of its place in the model. Values have no
/// names in a plan, so all values of that place and size are tried; a place that has none, as
/// that of several products in one, says nothing.
static std::optional<Difference> firstStrangeLaunch(const ProgramRun &program,
                                                    const ProgramRun &plan, double bound) {
  llvm::StringMap<SmallVector<const SeenTensor *>> byPath;
  for (const SeenTensor &tensor : program.tensors)
    if (StringRef path = pathOf(tensor.name); !path.empty() && path != "-")
      byPath[path].push_back(&tensor);
  for (const SeenTensor &tensor : plan.tensors) {
    std::optional<Difference> nearest;
    for (const SeenTensor *candidate : byPath.lookup(pathOf(tensor.name))) {
      if (candidate->rows() != tensor.rows() || candidate->step != tensor.step ||
          candidate->values.size() != tensor.values.size())
        continue;
      WorstRow worst = worstRow(*candidate, tensor, bound);
      if (!nearest || worst.error < nearest->worst.error)
        nearest = Difference{&tensor, false, std::nullopt, worst, bound};
    }
    if (nearest && nearest->worst.differing)
      return nearest;
  }
  return std::nullopt;
}

void PassChecker::reportConversion(const Around &around, const Difference &difference) {
  PassDifference told{around.name.str(),
                      "changes what the program computes: " + describe(difference), {}, {}, {}};
  if (!difference.lacking && !difference.otherShape)
    told.text += ", executed against the evaluator)";
  told.tensor = difference.tensor->name;
  told.step = difference.tensor->step.str();
  SmallVector<std::string> notes;
  OwningOpRef<ModuleOp> close = around.before.module->clone();
  observeEverything(*close);
  llvm::StringMap<std::string> kernels;
  auto program = runProgram<double>(*close, *weights, steps, options.threads);
  auto plan = runObserved(*around.after.module, kernels);
  if (program && plan) {
    if (auto first = firstStrangeLaunch(*program, *plan, difference.bound)) {
      told.op = first->tensor->name;
      notes.push_back(firstResult(*first, told.op + ", kernel @" + kernels.lookup(told.op)));
    }
  }
  llvm::consumeError(program.takeError());
  llvm::consumeError(plan.takeError());
  fail(around, std::move(told), notes);
}

void PassChecker::reportPlan(const Around &around, const Difference &difference) {
  PassDifference told{around.name.str(),
                      "changes what the plan computes: " + describe(difference), {}, {}, {}};
  if (!difference.lacking && !difference.otherShape)
    told.text += ")";
  told.tensor = difference.tensor->name;
  told.step = difference.tensor->step.str();
  SmallVector<std::string> notes;
  llvm::StringMap<std::string> kernels;
  auto before = runObserved(*around.before.module, kernels);
  auto after = runObserved(*around.after.module, kernels);
  double largest = 0;
  if (before && after) {
    if (auto first = compareRuns(*before, *after, {}, largest); first && !first->lacking) {
      told.op = first->tensor->name;
      notes.push_back(firstResult(*first, told.op + ", kernel @" + kernels.lookup(told.op)));
    }
  }
  llvm::consumeError(before.takeError());
  llvm::consumeError(after.takeError());
  fail(around, std::move(told), notes);
}

} // namespace llmc
