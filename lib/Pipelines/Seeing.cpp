//===- Seeing.cpp - what a compilation shows of itself --------------------===//
#include "Seeing.h"

#include "Picture.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace llmc {

Seeing::Seeing(const CompileOptions &options, MLIRContext &context)
    : options(options), context(context) {
  if (gathers())
    explanation.attachTo(context);
}

bool Seeing::gathers() const {
  return options.explain || !options.explainFile.empty() || wantsReport();
}

LogicalResult Seeing::before(Phase phase, ModuleOp module) {
  explanation.learn(module);
  if (phase != Phase::Optimize || !gathers())
    return success();
  // Plans of other programs decide nothing of this one.
  explanation.pause(true);
  if (wantsReport()) {
    auto made = makeFusionReport(module, options.phase, options.reportContext);
    if (failed(made))
      return failure();
    report = std::move(*made);
    explanation.setUnfusedLaunches(report->launchesUnfused);
  } else if (emittedPhase(options) >= Phase::Plan) {
    explanation.setUnfusedLaunches(launchesWithoutFusions(module, options.phase));
  }
  explanation.pause(false);
  return success();
}

/// The phase has no pass that decides: the program says how many ranks it is for.
static std::string ranksOf(ModuleOp module) {
  for (auto grid : module.getOps<shard::GridOp>())
    return "the program is that of each rank of @" + grid.getSymName().str();
  return "one rank runs the whole program";
}

void Seeing::after(Phase phase, ModuleOp module) {
  if (!gathers())
    return;
  if (phase == Phase::Partition)
    explanation.add("info", "ranks", "-", ranksOf(module));
  size_t first = explanation.endPhase(phase);
  if (options.explain)
    explanation.printPhase(first, llvm::errs());
  if (phase == Phase::Optimize && report)
    addDecisions(*report, explanation);
}

FailureOr<bool> Seeing::emit(Phase phase, ModuleOp module, llvm::raw_ostream &out) {
  if (options.emit == "fusion-report" && phase == Phase::Optimize) {
    if (options.json)
      out << llvm::formatv("{0:2}", report->toJson()) << "\n";
    else
      out << report->toText();
    return true;
  }
  bool isDot = options.emit == "dot" && phase == emittedPhase(options);
  bool isHtml = options.emit == "html" && (phase == Phase::Optimize || phase == Phase::Plan);
  if (!isDot && !isHtml)
    return false;
  FailureOr<ProgramView> view = viewOf(module);
  if (failed(view))
    return failure();
  if (isDot) {
    printDot(*view, out);
    return true;
  }
  if (phase == Phase::Optimize) {
    fused = std::move(*view);
    return false;
  }
  printHtml(*fused, *view, *report, explanation, out);
  return true;
}

LogicalResult Seeing::writeDecisions() const {
  auto failed = [&](StringRef reason) {
    return emitError(UnknownLoc::get(&context))
           << options.explainFile << ": cannot be written: " << reason;
  };
  std::error_code error;
  llvm::raw_fd_ostream file(options.explainFile, error);
  if (error)
    return failed(error.message());
  file << llvm::formatv("{0:2}", explanation.toJson()) << "\n";
  file.close();
  if (!file.has_error())
    return success();
  std::string reason = file.error().message();
  file.clear_error();
  return failed(reason);
}

LogicalResult Seeing::finish(bool succeeded) {
  if (options.explain)
    explanation.printTotals(llvm::errs());
  return succeeded && !options.explainFile.empty() ? writeDecisions() : success();
}

} // namespace llmc
