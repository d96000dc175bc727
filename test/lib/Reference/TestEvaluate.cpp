//===- TestEvaluate.cpp - prints what functions compute -------------------===//
//
// --test-evaluate-function runs every function that has `test.steps` (see
// TestInputs.h) in the reference evaluator and prints observed values and
// results, computed in f64. It fails where f32 gives anything else than that up
// to rounding.
//
//===----------------------------------------------------------------------===//
#include "TestInputs.h"
#include "TestPasses.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace llmc;
using namespace llmc::reference;
using namespace llmc::test;

namespace {

/// A tensor under the name it is printed with.
struct Printed {
  std::string name;
  Shape shape;
  std::vector<double> values;
};

using Run = std::vector<Printed>;

/// Whole numbers; of rank 2 in rows of the type's width.
Printed toPrinted(std::string name, const std::vector<int32_t> &numbers,
                  mlir::RankedTensorType type) {
  int64_t count = int64_t(numbers.size());
  Shape shape{count};
  if (type.getRank() == 2)
    shape = {count / type.getDimSize(1), type.getDimSize(1)};
  return {std::move(name), shape, {numbers.begin(), numbers.end()}};
}

template <typename T> Printed toPrinted(std::string name, const HostTensor<T> &tensor) {
  return {std::move(name), tensor.shape, {tensor.data.begin(), tensor.data.end()}};
}

template <typename T> llvm::Expected<Run> runFunction(mlir::func::FuncOp function) {
  auto module = function->getParentOfType<mlir::ModuleOp>();
  InMemoryWeights weights;
  if (llvm::Error error = readWeights(module, weights))
    return std::move(error);
  Run run;
  std::string prefix;
  Evaluator<T> evaluator(module, weights);
  evaluator.setObserver([&](llvm::StringRef name, const HostTensor<T> &value) {
    run.push_back(toPrinted(prefix + " observed " + name.str(), value));
  });
  ArgumentStates<T> states;
  for (auto [number, step] : llvm::enumerate(stepsOf(function))) {
    prefix = (function.getSymName() + " step " + llvm::Twine(number)).str();
    auto arguments = readArguments<T>(function, step, states);
    if (!arguments)
      return arguments.takeError();
    auto results = evaluator.evaluateFunction(function.getSymName(), *arguments);
    if (!results)
      return results.takeError();
    for (auto [i, result] : llvm::enumerate(*results))
      if (auto *tensor = std::get_if<std::shared_ptr<const HostTensor<T>>>(&result))
        run.push_back(toPrinted(prefix + " result " + std::to_string(i), **tensor));
      else if (auto *numbers = std::get_if<std::shared_ptr<const std::vector<int32_t>>>(&result))
        run.push_back(toPrinted(prefix + " result " + std::to_string(i), **numbers,
                                mlir::cast<mlir::RankedTensorType>(function.getResultTypes()[i])));
  }
  return run;
}

/// f32 may differ from f64 by a few roundings of the largest element.
mlir::LogicalResult compare(mlir::func::FuncOp function, const Run &expected, const Run &actual,
                            double tolerance) {
  if (expected.size() != actual.size())
    return function.emitError("f32 gives another number of values than f64");
  for (auto [a, b] : llvm::zip(expected, actual)) {
    if (a.name != b.name || a.shape != b.shape)
      return function.emitError("f32 gives ") << b.name << " where f64 gives " << a.name;
    double largest = 0;
    for (double value : a.values)
      largest = std::max(largest, std::fabs(value));
    for (auto [x, y] : llvm::zip(a.values, b.values))
      if (!(std::fabs(x - y) <= tolerance * largest) && x != y)
        return function.emitError() << a.name << " is " << y << " in f32, " << x << " in f64";
  }
  return mlir::success();
}

void print(const Run &run) {
  for (const Printed &printed : run) {
    llvm::outs() << printed.name << ": " << shapeText(printed.shape);
    // One line for each vector of the last dimension; zero has no sign.
    size_t width = printed.shape.empty() ? 1 : size_t(printed.shape.back());
    for (auto [i, value] : llvm::enumerate(printed.values))
      llvm::outs() << (i % width == 0 ? "\n  [" : " ")
                   << llvm::format("%.10f", std::fabs(value) < 5e-11 ? 0.0 : value)
                   << (i % width == width - 1 ? "]" : "");
    llvm::outs() << '\n';
  }
  llvm::outs().flush();
}

struct TestEvaluatePass
    : mlir::PassWrapper<TestEvaluatePass, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestEvaluatePass)

  TestEvaluatePass() = default;
  TestEvaluatePass(const TestEvaluatePass &other) : PassWrapper(other) {}

  llvm::StringRef getArgument() const final { return "test-evaluate-function"; }
  llvm::StringRef getDescription() const final {
    return "Prints what functions with test.steps compute in the reference evaluator";
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      if (stepsOf(function).empty())
        continue;
      auto reference = runFunction<double>(function);
      if (!reference)
        return fail(reference.takeError());
      print(*reference);
      auto single = runFunction<float>(function);
      if (!single)
        return fail(single.takeError());
      if (failed(compare(function, *reference, *single, tolerance)))
        return signalPassFailure();
    }
  }

  void fail(llvm::Error error) {
    (void)emitAsDiagnostic(std::move(error), getOperation());
    signalPassFailure();
  }

  Option<double> tolerance{*this, "f32-tolerance", llvm::cl::init(1e-6),
                           llvm::cl::desc("Largest difference of f32, relative to the largest "
                                          "element")};
};

} // namespace

void llmc::test::registerTestEvaluatePass() { mlir::PassRegistration<TestEvaluatePass>(); }
