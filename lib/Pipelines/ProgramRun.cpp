//===- ProgramRun.cpp - a program's numbers on seeded inputs --------------===//
#include "ProgramRun.h"

#include "LocationText.h"
#include "SeededWeights.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace llmc::reference;

namespace llmc {

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Tokens that every embedding of the program has a row for.
static int64_t vocabularyOf(ModuleOp module) {
  int64_t rows = INT32_MAX;
  module.walk([&](llm::EmbeddingOp embedding) {
    rows = std::min(rows, cast<llm::WeightType>(embedding.getTable().getType()).getShape()[0]);
  });
  return rows;
}

static std::vector<int32_t> seededTokens(uint64_t seed, int64_t count, int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back(int32_t(mixBits(seed * 1000 + uint64_t(i)) % uint64_t(vocabulary)));
  return tokens;
}

namespace {
struct NamedStep {
  StringRef name;
  Step step;
};
} // namespace

/// Prompts of unequal length, so that rows, positions and sequences all differ; then a token
/// of each, which reads what the prompts left in the state.
static SmallVector<NamedStep> seededSteps(ModuleOp module, bool few) {
  int64_t vocabulary = vocabularyOf(module);
  NamedStep prefill{"prefill", {}}, decode{"decode", {}};
  int64_t first = few ? 2 : 5, second = few ? 1 : 3;
  prefill.step.add(0, 0, seededTokens(1, first, vocabulary));
  prefill.step.add(1, 0, seededTokens(2, second, vocabulary));
  prefill.step.batch.outputRows = {first - 1, first + second - 1};
  decode.step.add(0, first, seededTokens(3, 1, vocabulary));
  decode.step.add(1, second, seededTokens(4, 1, vocabulary));
  decode.step.batch.outputRows = {0, 1};
  return {prefill, decode};
}

template <typename T>
llvm::Expected<ProgramRun> runProgram(ModuleOp module, WeightSource &weights, unsigned threads,
                                      bool few) {
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
  for (const NamedStep &named : seededSteps(module, few)) {
    step = named.name;
    llvm::Expected<HostTensor<T>> logits = evaluator.evaluateStep(named.step);
    if (!logits)
      return logits.takeError();
    see("the entry's result", *logits);
  }
  return run;
}

template llvm::Expected<ProgramRun> runProgram<double>(ModuleOp, WeightSource &, unsigned, bool);
template llvm::Expected<ProgramRun> runProgram<float>(ModuleOp, WeightSource &, unsigned, bool);

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// The two tensors have the same shape.
static Difference compareValues(const SeenTensor &before, const SeenTensor &after, double bound,
                                double &largest) {
  Difference difference;
  double scale = 0, worst = 0;
  for (double value : before.values)
    scale = std::isfinite(value) ? std::max(scale, std::fabs(value)) : scale;
  for (auto [i, x, y] : llvm::enumerate(before.values, after.values)) {
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    // Infinite where one is no number or where zeros became something else.
    double relative = std::fabs(x - y) / scale;
    if (!(relative <= std::numeric_limits<double>::max()))
      relative = std::numeric_limits<double>::infinity();
    largest = std::max(largest, relative);
    difference.differing += relative > bound;
    if (relative <= bound || relative <= worst)
      continue;
    worst = relative;
    difference.element = i;
    difference.before = x;
    difference.after = y;
  }
  return difference;
}

std::optional<Difference> compareRuns(const ProgramRun &before, const ProgramRun &after,
                                      double bound, double &largest) {
  auto keyOf = [](const SeenTensor &tensor) {
    return tensor.name + "#" + std::to_string(tensor.occurrence);
  };
  llvm::StringMap<const SeenTensor *> byName;
  for (const SeenTensor &tensor : before.tensors)
    byName[keyOf(tensor)] = &tensor;
  for (const SeenTensor &tensor : after.tensors) {
    auto found = byName.find(keyOf(tensor));
    // A pass may observe more than there was.
    if (found == byName.end())
      continue;
    const SeenTensor &namesake = *found->second;
    byName.erase(found);
    if (namesake.shape != tensor.shape) {
      Difference difference;
      difference.tensor = &tensor;
      difference.otherShape = namesake.shape;
      return difference;
    }
    Difference difference = compareValues(namesake, tensor, bound, largest);
    difference.tensor = &tensor;
    if (difference.differing)
      return difference;
  }
  for (const SeenTensor &tensor : before.tensors)
    if (byName.contains(keyOf(tensor))) {
      Difference difference;
      difference.tensor = &tensor;
      difference.lacking = true;
      return difference;
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Changes to a copy of the program
//===----------------------------------------------------------------------===//

static bool isActivation(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 0 && isa<FloatType>(type.getElementType());
}

void observeEverything(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    // What these give was computed inside of them.
    if (!isa<llm::FusionOp, llm::RepeatOp, func::CallOp>(op))
      ops.push_back(op);
  });
  llvm::DenseMap<Operation *, llvm::StringMap<unsigned>> counts;
  for (Operation *op : ops) {
    for (Value result : op->getResults()) {
      if (!isActivation(result))
        continue;
      std::string name = (op->getName().getStringRef() + " at " + locationText(op->getLoc())).str();
      // Braces stand for the layer in an observed name; the copy counts occurrences instead.
      for (char &c : name)
        c = c == '{' ? '[' : c == '}' ? ']' : c;
      unsigned number = counts[op->getParentOfType<func::FuncOp>()][name]++;
      if (number)
        name += " (" + std::to_string(number + 1) + ")";
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      llm::ObserveOp::create(builder, op->getLoc(), result, builder.getStringAttr(name), Value());
    }
  }
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
