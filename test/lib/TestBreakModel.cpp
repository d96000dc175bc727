//===- TestBreakModel.cpp - passes with a known mistake -------------------===//
//
// --test-break-model makes one of the mistakes that passes make, so that tests
// can see that --check-passes finds it.
//
//===----------------------------------------------------------------------===//
#include "TestPasses.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace llmc;

namespace {

struct TestBreakModelPass
    : mlir::PassWrapper<TestBreakModelPass, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestBreakModelPass)

  TestBreakModelPass() = default;
  TestBreakModelPass(const TestBreakModelPass &other) : PassWrapper(other) {}
  explicit TestBreakModelPass(llvm::StringRef mistake) { what = mistake.str(); }

  llvm::StringRef getArgument() const final { return "test-break-model"; }
  llvm::StringRef getDescription() const final { return "Makes a mistake that changes a model"; }

  void runOnOperation() override {
    if (what == "epsilon")
      return breakEpsilon();
    if (what == "residual")
      return breakResidual();
    if (what == "observe")
      return breakObserve();
    if (what == "repeat")
      return breakRepeat();
    if (what == "twice")
      return breakEntry();
    if (what == "label")
      return breakNothing();
    getOperation().emitError("test-break-model knows no mistake '") << what << "'";
    signalPassFailure();
  }

  /// The epsilon of the last norm doubles: a relative change of about its half.
  void breakEpsilon() {
    llm::RMSNormOp last;
    getOperation().walk([&](llm::RMSNormOp norm) { last = norm; });
    if (last)
      last.setEpsilonAttr(mlir::Builder(&getContext())
                              .getF64FloatAttr(2 * last.getEpsilon().convertToDouble()));
  }
  /// A residual add adds the stream twice.
  void breakResidual() {
    llm::ResidualAddOp first;
    getOperation().walk([&](llm::ResidualAddOp add) { first = first ? first : add; });
    if (first)
      first.getDeltaMutable().assign(first.getStream());
  }
  void breakObserve() {
    llm::ObserveOp first;
    getOperation().walk([&](llm::ObserveOp observe) { first = first ? first : observe; });
    if (first)
      first.erase();
  }
  /// The layers run in the wrong order.
  void breakRepeat() {
    getOperation().walk([&](llm::RepeatOp repeat) {
      llvm::SmallVector<mlir::Attribute> callees(llvm::reverse(repeat.getCallees()));
      repeat.setCalleesAttr(mlir::ArrayAttr::get(&getContext(), callees));
    });
  }
  /// Every function is an entry.
  void breakEntry() {
    for (auto function : getOperation().getOps<mlir::func::FuncOp>())
      function->setAttr("llm.entry", mlir::UnitAttr::get(&getContext()));
  }
  /// Changes the text and no number.
  void breakNothing() {
    getOperation()->setAttr("test.changed", mlir::UnitAttr::get(&getContext()));
  }

  Option<std::string> what{*this, "mistake", llvm::cl::init("epsilon"),
                           llvm::cl::desc("epsilon, residual, observe, repeat, twice, or label: none")};
};

} // namespace

std::unique_ptr<mlir::Pass> llmc::test::createTestBreakModelPass(llvm::StringRef mistake) {
  return std::make_unique<TestBreakModelPass>(mistake);
}

void llmc::test::registerTestBreakModelPass() { mlir::PassRegistration<TestBreakModelPass>(); }
