//===- ProgramRun.cpp - a program's numbers on seeded inputs --------------===//
#include "ProgramRun.h"

#include "LocationText.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmc::reference;

namespace llmc {

/// What the runtime shows of the entry's rows, which are of outputs or of tokens: those whose
/// logits are wanted.
template <typename T>
static HostTensor<T> shownRows(const HostTensor<T> &logits, const Batch &batch) {
  if (logits.rank() == 0 || logits.rows() != batch.tokens() ||
      logits.rows() == int64_t(batch.outputRows.size()))
    return logits;
  auto shape = logits.shape;
  shape.front() = int64_t(batch.outputRows.size());
  HostTensor<T> shown(shape);
  for (auto [r, row] : llvm::enumerate(batch.outputRows))
    std::copy_n(logits.row(row), logits.rowSize(), shown.row(int64_t(r)));
  return shown;
}

template <typename T>
llvm::Expected<ProgramRun> runProgram(ModuleOp module, WeightSource &weights,
                                      ArrayRef<NamedStep> steps, unsigned threads) {
  EvaluatorOptions options;
  options.threads = threads;
  Evaluator<T> evaluator(module, weights, options);
  ProgramRun run;
  StringRef step;
  llvm::StringMap<unsigned> seen;
  auto see = [&](StringRef name, const HostTensor<T> &value) {
    run.tensors.push_back({name.str(), seen[name]++, step, value.shape,
                           std::vector<double>(value.data.begin(), value.data.end())});
  };
  evaluator.setObserver(see);
  for (const NamedStep &named : steps) {
    step = named.name;
    llvm::Expected<HostTensor<T>> logits = evaluator.evaluateStep(named.step);
    if (!logits)
      return logits.takeError();
    see("the entry's result", shownRows(*logits, named.step.batch));
  }
  return run;
}

template llvm::Expected<ProgramRun> runProgram<double>(ModuleOp, WeightSource &,
                                                       ArrayRef<NamedStep>, unsigned);
template llvm::Expected<ProgramRun> runProgram<float>(ModuleOp, WeightSource &,
                                                      ArrayRef<NamedStep>, unsigned);

//===----------------------------------------------------------------------===//
// Changes to a copy of the program
//===----------------------------------------------------------------------===//

static bool isActivation(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 0 && isa<FloatType>(type.getElementType());
}

static bool isObservable(Operation *op) {
  // What these give was computed inside of them.
  return !isa<llm::FusionOp, llm::RepeatOp, func::CallOp>(op) &&
         llvm::any_of(op->getResults(), isActivation);
}

std::string placeText(Operation *op) {
  std::string name = (op->getName().getStringRef() + " at " + locationText(op->getLoc())).str();
  // Braces stand for the layer in an observed name; the copy counts occurrences instead.
  for (char &c : name)
    c = c == '{' ? '[' : c == '}' ? ']' : c;
  return name;
}

ObservedOps observeEverything(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isObservable(op))
      ops.push_back(op);
  });
  ObservedOps observed;
  llvm::DenseMap<Operation *, llvm::StringMap<unsigned>> counts;
  for (Operation *op : ops) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      if (!isActivation(result))
        continue;
      std::string name = placeText(op);
      unsigned number = counts[op->getParentOfType<func::FuncOp>()][name]++;
      if (number)
        name += " (" + std::to_string(number + 1) + ")";
      llm::ObserveOp::create(builder, op->getLoc(), result, builder.getStringAttr(name), Value());
      observed.names[result] = name;
      observed.values.try_emplace(name, result);
    }
  }
  return observed;
}

uint64_t weightElements(ModuleOp module) {
  uint64_t total = 0;
  for (auto family : module.getOps<llm::WeightFamilyOp>()) {
    uint64_t elements = 1;
    for (int64_t dim : family.getType().getShape())
      elements = llvm::SaturatingMultiply(elements, uint64_t(dim));
    if (llm::LayersAttr layers = family.getLayersAttr())
      elements = llvm::SaturatingMultiply(elements, uint64_t(layers.size()));
    total = llvm::SaturatingAdd(total, elements);
  }
  return total;
}

bool hasNarrowActivations(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        for (Value result : op->getResults())
          if (isActivation(result) &&
              cast<RankedTensorType>(result.getType()).getElementTypeBitWidth() < 32)
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

void runLayersOnce(ModuleOp module) {
  module.walk([](llm::RepeatOp repeat) { repeat.setCount(1); });
}

std::string describeRepeats(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.walk([&](llm::RepeatOp repeat) {
    out << repeat.getCallees() << " " << repeat.getFrom() << " " << repeat.getCount() << "\n";
  });
  return text;
}

} // namespace llmc
