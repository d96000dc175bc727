//===- PlanCopy.cpp - a plan that can be run, at any point ----------------===//
#include "PlanCopy.h"

#include "LocationText.h"
#include "llmc/Dialect/Plan/Transforms/Passes.h"
#include "llmc/Kernels/Passes.h"
#include "llmc/Pipelines/ModelContext.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace llmc {

plan::ProgramOp PlanCopy::program() {
  auto programs = module ? llvm::to_vector(module->getOps<plan::ProgramOp>())
                         : SmallVector<plan::ProgramOp>();
  return programs.size() == 1 ? programs.front() : plan::ProgramOp();
}

bool isPlan(ModuleOp module) { return !module.getOps<plan::ProgramOp>().empty(); }

namespace {

/// Adds what is missing, one thing after another; false where a pass refuses.
class Completion {
public:
  Completion(ModuleOp module, plan::ProgramOp program) : module(module), program(program) {}

  bool run() {
    return assignLiveness() && pack() && deriveContracts() && verify() && generateKernels();
  }

private:
  template <typename OpT> auto getOps() { return program.getBody().front().getOps<OpT>(); }

  bool runPass(std::unique_ptr<Pass> pass) {
    PassManager pm(module.getContext(), ModuleOp::getOperationName());
    if (pass->getOpName() && *pass->getOpName() == plan::ProgramOp::getOperationName())
      pm.nest<plan::ProgramOp>().addPass(std::move(pass));
    else
      pm.addPass(std::move(pass));
    return succeeded(pm.run(module));
  }

  bool assignLiveness() {
    return llvm::all_of(getOps<plan::SliceOp>(),
                        [](plan::SliceOp slice) { return bool(slice.getLiveAttr()); }) ||
           runPass(plan::createAssignLivenessPass());
  }

  /// Slices that live all the time share nothing.
  bool pack() {
    bool isPacked = llvm::all_of(getOps<plan::ArenaOp>(), [](plan::ArenaOp arena) {
      return arena.getSize().has_value();
    });
    if (isPacked)
      return true;
    int64_t last = 0;
    llvm::DenseMap<Operation *, plan::LiveAttr> lives;
    for (auto slice : getOps<plan::SliceOp>()) {
      lives[slice] = slice.getLiveAttr();
      last = std::max(last, slice.getLiveAttr().getLast());
    }
    for (auto slice : getOps<plan::SliceOp>())
      slice.setLiveAttr(plan::LiveAttr::get(module.getContext(), 0, last));
    plan::PackArenasPassOptions options;
    options.searchNodes = 0;
    if (!runPass(plan::createPackArenasPass(options)))
      return false;
    for (auto slice : getOps<plan::SliceOp>())
      slice.setLiveAttr(lives[slice]);
    return true;
  }

  bool deriveContracts() {
    return llvm::all_of(getOps<plan::KernelOp>(),
                        [](plan::KernelOp kernel) { return kernel.getContracts().has_value(); }) ||
           runPass(plan::createDeriveContractsPass());
  }

  bool verify() { return succeeded(mlir::verify(module)) && runPass(plan::createVerifyPass()); }

  bool generateKernels() {
    ModuleOp kernels = kernels::findKernelsModule(module);
    if (kernels && !kernels.getBody()->empty())
      return true;
    return runPass(kernels::createGenerateKernelsPass());
  }

  ModuleOp module;
  plan::ProgramOp program;
};

} // namespace

PlanCopy completePlan(ModuleOp module) {
  PlanCopy copy;
  std::string text;
  {
    llvm::raw_string_ostream out(text);
    module->print(out, OpPrintingFlags().enableDebugInfo().useLocalScope());
  }
  copy.context = makeModelContext();
  ErrorCollector messages(*copy.context, /*printsRemarks=*/false);
  copy.module = parseSourceString<ModuleOp>(text, copy.context.get());
  if (!copy.module || failed(mlir::verify(*copy.module))) {
    copy.problem = "the IR is invalid: " + messages.text();
    return copy;
  }
  if (!copy.program())
    copy.problem = "the module does not hold one plan.program";
  else if (!Completion(*copy.module, copy.program()).run())
    copy.problem = messages.text();
  return copy;
}

static SmallVector<Operation *> stepsOf(plan::ProgramOp program) {
  SmallVector<Operation *> steps;
  program.walk<WalkOrder::PreOrder>([&](plan::StepOpInterface step) { steps.push_back(step); });
  return steps;
}

/// Lives count steps: after more were put behind `before`, a slice lives on through those behind
/// its last step.
static void renumberLives(plan::ProgramOp program, ArrayRef<Operation *> before) {
  SmallVector<Operation *> after = stepsOf(program);
  llvm::DenseMap<Operation *, int64_t> numbers;
  for (auto [number, step] : llvm::enumerate(after))
    numbers[step] = int64_t(number);
  auto firstOf = [&](int64_t step) { return numbers[before[size_t(step)]]; };
  for (auto slice : program.getBody().front().getOps<plan::SliceOp>()) {
    plan::LiveAttr live = slice.getLiveAttr();
    int64_t next = live.getLast() + 1;
    int64_t last = next < int64_t(before.size()) ? firstOf(next) - 1 : int64_t(after.size()) - 1;
    slice.setLiveAttr(plan::LiveAttr::get(slice.getContext(), firstOf(live.getFirst()), last));
  }
}

/// Rows of the slice and floats of a row, where it is rows of floats.
static std::optional<std::pair<plan::Extent, int64_t>> rowsOf(plan::SliceOp slice) {
  std::optional<plan::Size> size = plan::Size::fromMap(slice.getSize());
  for (auto [extent, symbol] : {std::pair(plan::Extent::Tokens, plan::SizeSymbol::Tokens),
                                std::pair(plan::Extent::Outputs, plan::SizeSymbol::Outputs),
                                std::pair(plan::Extent::Sequences, plan::SizeSymbol::Sequences)}) {
    int64_t bytes = size ? size->getTerm(symbol) : 0;
    if (bytes && bytes % 4 == 0 && plan::Size::of(symbol, bytes) == *size)
      return std::pair(extent, bytes / 4);
  }
  return std::nullopt;
}

llvm::StringMap<std::string> observeLaunches(plan::ProgramOp program) {
  SymbolTable symbols(program);
  llvm::StringMap<std::string> kernels;
  llvm::StringMap<unsigned> numbers;
  SmallVector<Operation *> steps = stepsOf(program);
  for (Operation *step : steps) {
    auto launch = dyn_cast<plan::LaunchOp>(step);
    if (!launch)
      continue;
    auto kernel = symbols.lookup<plan::KernelOp>(launch.getKernel());
    std::string place = (kernel.getGenerator() + " at " + locationText(launch.getLoc())).str();
    for (char &c : place)
      c = c == '{' ? '[' : c == '}' ? ']' : c;
    OpBuilder builder(launch->getContext());
    builder.setInsertionPointAfter(launch);
    for (auto use : launch.getUsesAttr().getAsRange<plan::UseAttr>()) {
      auto slice = symbols.lookup<plan::SliceOp>(use.getSymbol().getValue());
      auto rows = slice && use.writes() ? rowsOf(slice) : std::nullopt;
      if (!rows)
        continue;
      unsigned number = numbers[place]++;
      std::string name = place + (number ? " (" + std::to_string(number + 1) + ")" : "");
      kernels[name] = launch.getKernel().str();
      plan::ObserveOp::create(builder, launch.getLoc(), name, slice.getSymName(), rows->first,
                              rows->second);
    }
  }
  renumberLives(program, steps);
  return kernels;
}

} // namespace llmc
