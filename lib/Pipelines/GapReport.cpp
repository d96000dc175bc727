//===- GapReport.cpp - what a target lacks for a model --------------------===//
#include "llmc/Pipelines/GapReport.h"

#include "LocationText.h"
#include "OperatorProgram.h"
#include "OperatorStorage.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/Transforms/Decompose.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Frontend/KernelLibrary.h"
#include "llmc/Kernels/Passes.h"
#include "llmc/Kernels/UserKernelClaims.h"
#include "llmc/Pipelines/Plugins.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/MapVector.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace mlir;

namespace llmc {

using namespace llm;
using Grade = GapReport::Grade;
using Row = GapReport::Row;

namespace {

/// How often a step calls every function.
llvm::MapVector<func::FuncOp, int64_t> callsOf(ModuleOp module) {
  llvm::MapVector<func::FuncOp, int64_t> calls;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("llm.entry"))
      calls[function] = 1;
  // Layers call no layers, so one round finds all.
  module.walk([&](RepeatOp repeat) {
    for (Attribute callee : repeat.getCallees())
      if (auto function = module.lookupSymbol<func::FuncOp>(cast<FlatSymbolRefAttr>(callee)))
        calls[function] += repeat.getCount();
  });
  return calls;
}

std::string printed(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

/// Decides about one operator on one target.
class Judge {
public:
  Judge(const frontend::TargetFile &target, const GapOptions &options)
      : target(target), options(options) {}

  void grade(Operation *op, const StoredFormats &stored, Row &row) {
    formats = stored;
    OwningOpRef<ModuleOp> program = programOf(op);
    addExtension(op, row);
    if (!isClaimed(op, *program, row))
      row.reason = whyNot(op, *program, row.by);
    if (row.reason.empty()) {
      row.grade = Grade::Covered;
      return;
    }
    if (row.by.empty() && composes(op, row))
      row.grade = Grade::Composable;
    else
      row.program = printed(*program);
  }

private:
  static bool isForeign(Operation *op) { return !isa_and_nonnull<LLMDialect>(op->getDialect()); }

  static void add(std::string &extensions, const std::string &one) {
    if (!StringRef(extensions).contains(one))
      extensions += (extensions.empty() ? "" : "; ") + one;
  }

  /// Who brought the operation itself.
  static void addExtension(Operation *op, Row &row) {
    if (auto composite = dyn_cast<CompositeOp>(op)) {
      auto function = SymbolTable::lookupNearestSymbolFrom(op, composite.getDecompositionAttr());
      auto place = function->getLoc()->findInstanceOf<FileLineColRange>();
      add(row.extension, "op library" + (place ? " " + place.getFilename().str() + ":" +
                                                     std::to_string(place.getStartLine())
                                               : std::string()));
    }
    if (isForeign(op))
      add(row.extension, "plug-in " + pluginOfDialect(op->getName().getDialectNamespace()));
  }

  /// Whether a kernel of the user's own takes the operation of `program`, whatever llmc has for
  /// it. Then `row` says who, and why it cannot where it cannot.
  bool isClaimed(Operation *op, ModuleOp program, Row &row) {
    if (options.phase.kernelLibraries.empty() || target.compilesAs.empty())
      return false;
    OwningOpRef<ModuleOp> claimed = program.clone();
    PassManager pm(program.getContext(), ModuleOp::getOperationName());
    kernels::ClaimKernelsPassOptions claim;
    llvm::append_range(claim.libraries, options.phase.kernelLibraries);
    claim.compositesOnly = isa<CompositeOp>(op);
    claim.onlyKnown = false;
    pm.addPass(kernels::createClaimKernelsPass(claim));
    FusionOp kernel;
    if (failed(pm.run(*claimed)))
      return false;
    claimed->walk([&](FusionOp fusion) {
      if (fusion.getPattern() == kernels::userKernelPattern)
        kernel = fusion;
    });
    if (!kernel)
      return false;
    auto facts = kernel->getAttrOfType<DictionaryAttr>(kernels::userKernelAttr);
    std::string generators;
    row.reason = planned(*claimed, generators);
    row.by = "user kernel " + facts.getAs<StringAttr>("name").str();
    add(row.extension, "kernel library " + facts.getAs<StringAttr>("position").str());
    return true;
  }

  /// Runs the user's passes on the program of operations that llmc does not know; a message
  /// where some are left.
  std::string lowerForeign(ModuleOp program) {
    PassManager pm(program.getContext(), ModuleOp::getOperationName());
    bool any = false;
    for (const PhasePass &pass : options.phase.passes)
      if (pass.phase <= Phase::Optimize)
        any |= succeeded(parsePassPipeline(pass.pipeline, pm));
    std::string problem;
    ScopedDiagnosticHandler handler(program.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && problem.empty())
        problem = diagnostic.str();
      return success();
    });
    if (any && failed(pm.run(program)))
      return problem.empty() ? "a pass of --phase-pass failed" : problem;
    for (Operation *inner : operatorsOf(program))
      if (isForeign(inner))
        return inner->getName().getStringRef().str() + " is no operation of llmc, and " +
               (any ? "no pass of --phase-pass lowers it" : "--phase-pass names none that lowers it");
    return "";
  }

  /// Empty where the target covers the operation of `program`, made of `op`.
  std::string whyNot(Operation *op, ModuleOp program, std::string &by) {
    // What the file says goes first: a library may have what llmc has no kernel for.
    std::string reason =
        target.whyNotCovered(op->getName().getStringRef().str(), storedFacts(op, formats), by);
    if (reason.empty() || target.compilesAs.empty())
      return reason;
    if (auto composite = dyn_cast<CompositeOp>(op))
      return "no kernel computes '" + composite.getName().str() + "' as a whole";
    if (isForeign(op))
      return "no kernel computes " + op->getName().getStringRef().str();
    return planned(program, by);
  }

  /// Empty where llmc has kernels for the program; `by` are their generators.
  std::string planned(ModuleOp program, std::string &by) {
    OwningOpRef<ModuleOp> copy = program.clone();
    std::string reason;
    ScopedDiagnosticHandler handler(program.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && reason.empty())
        reason = diagnostic.str();
      return success();
    });
    PassManager pm(program.getContext(), ModuleOp::getOperationName());
    PhaseOptions phase;
    phase.target = target.compilesAs;
    buildPhasePipeline(pm, Phase::Plan, phase);
    if (failed(pm.run(*copy)))
      return reason.empty() ? "planning failed" : reason;
    std::vector<std::string> generators;
    Location placeholder = placeholderLocation(program.getContext());
    copy->walk([&](plan::LaunchOp launch) {
      // Neither what the program only has because it is one, nor copies to its results.
      if (launch.getLoc() == placeholder || launch.getRemark().value_or("").starts_with("copy"))
        return;
      auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(launch,
                                                                         launch.getKernelAttr());
      std::string generator = kernel.getGenerator().str();
      if (!llvm::is_contained(generators, generator))
        generators.push_back(generator);
    });
    by = llvm::join(generators, ", ");
    return "";
  }

  /// Rewrites what is not covered as long as there is a way.
  bool composes(Operation *op, Row &row) {
    OwningOpRef<ModuleOp> program = programOf(op);
    IRRewriter rewriter(program->getContext());
    constexpr unsigned mostRounds = 8;
    for (unsigned round = 0; round < mostRounds; ++round) {
      SmallVector<Operation *> parts = operatorsOf(*program), uncovered;
      std::vector<std::string> makers;
      for (Operation *inner : parts) {
        std::string by;
        // The first program has the operation that is known to be uncovered.
        bool isKnown = round == 0 && parts.size() == 1;
        if (isKnown || !whyNot(inner, *programOf(inner), by).empty())
          uncovered.push_back(inner);
        else
          addMakers(makers, by);
      }
      auto isOfPlugin = [](Operation *inner) { return isForeign(inner); };
      if (llvm::any_of(uncovered, isOfPlugin)) {
        for (Operation *inner : uncovered)
          addExtension(inner, row);
        row.reason = lowerForeign(*program);
        if (!row.reason.empty())
          return false;
        continue;
      }
      if (uncovered.empty()) {
        row.by = llvm::join(makers, ", ");
        describe(parts, row);
        return true;
      }
      for (Operation *inner : uncovered) {
        rewriter.setInsertionPoint(inner);
        if (failed(decompose(inner, rewriter)))
          return false;
      }
    }
    return false;
  }

  /// Those of a program of one operation, without what makes it a program.
  static SmallVector<Operation *> operatorsOf(ModuleOp program) {
    SmallVector<Operation *> found;
    Location placeholder = placeholderLocation(program.getContext());
    program.walk([&](Operation *inner) {
      auto function = inner->getParentOfType<func::FuncOp>();
      bool isDefinition = function && function->hasAttr("llm.implements");
      if (isOperator(inner) && inner->getLoc() != placeholder && !isDefinition)
        found.push_back(inner);
    });
    return found;
  }

  /// `by` as `whyNot` gives it, each once.
  static void addMakers(std::vector<std::string> &makers, StringRef by) {
    for (StringRef maker : llvm::split(by, ", "))
      if (!llvm::is_contained(makers, maker))
        makers.push_back(maker.str());
  }

  void describe(ArrayRef<Operation *> parts, Row &row) {
    llvm::MapVector<StringRef, int64_t> counts;
    for (Operation *inner : parts) {
      ++counts[inner->getName().getStringRef()];
      row.composedPrefill += storedWork(inner, prefillStep(options), formats) * double(row.calls);
      row.composedDecode += storedWork(inner, decodeStep(options), formats) * double(row.calls);
    }
    for (auto [name, count] : counts)
      row.composedOf.push_back(count == 1 ? name.str() : std::to_string(count) + " " + name.str());
  }

public:
  static StepShape prefillStep(const GapOptions &options) {
    return {.tokens = options.promptTokens, .past = 0, .outputs = 1};
  }
  static StepShape decodeStep(const GapOptions &options) {
    return {.tokens = 1, .past = options.context, .outputs = 1};
  }

private:
  const frontend::TargetFile &target;
  const GapOptions &options;
  /// Of the weights of the operation at hand.
  StoredFormats formats;
};

} // namespace

frontend::TargetFile readTarget(const std::string &nameOrFile, const std::string &folder,
                                MLIRContext &context) {
  using frontend::TargetFile;
  TargetFile target = TargetFile::read(nameOrFile, folder);
  if (!target.compilesAs.empty() && !findTarget(target.compilesAs))
    throw InputError(target.file + ": 'compiles_as' is '" + target.compilesAs +
                     "', which llmc-opt does not know; known: " + targetNames());
  std::vector<std::string> known = operatorNames(context);
  for (const auto &[op, covered] : target.operators) {
    if (!llvm::is_contained(known, op))
      throw InputError(covered.position + ": '" + op + "' is no operator" +
                       TargetFile::nearTo(op, known) +
                       "; docs/Reference/LLM.md lists them, and llmc gaps those of a model");
    std::vector<std::string> facts = factNames(op, context);
    for (const auto &[fact, values] : covered.only)
      if (!llvm::is_contained(facts, fact))
        throw InputError(covered.position + ": '" + fact + "' is no fact of " + op +
                         TargetFile::nearTo(fact, facts) + "; its facts are " +
                         llvm::join(facts, ", "));
  }
  return target;
}

/// A kernel for an operation that nobody has heard of, or that names a fact which there is not, is a
/// mistake in its library; one that fits nothing is a warning.
static void requireServed(ArrayRef<Operation *> operators,
                          ArrayRef<frontend::UserKernel> kernels, GapReport &report) {
  for (const frontend::UserKernel &kernel : kernels) {
    std::vector<std::string> known;
    for (Operation *op : operators)
      known.push_back(kernels::userOperation(op));
    bool isOp = llvm::is_contained(known, kernel.op);
    if (!operators.empty() && !isOp)
      for (const std::string &name : operatorNames(*operators.front()->getContext())) {
        known.push_back(name);
        isOp |= name == kernel.op;
      }
    if (!isOp)
      throw InputError(kernel.position + ": kernel '" + kernel.name + "' computes '" + kernel.op +
                       "', which is neither an operation of llmc nor one that this model calls" +
                       frontend::TargetFile::nearTo(kernel.op, known));
    if (operators.empty())
      continue;
    MLIRContext &context = *operators.front()->getContext();
    if (std::string problem = kernels::unknownFact(kernel, operators, context); !problem.empty())
      throw InputError(problem);
    if (std::string reason = kernels::whyIdle(kernel, kernels, operators); !reason.empty())
      report.warnings.push_back("kernel '" + kernel.name + "' of " + kernel.position +
                                " computes nothing of this model: " + reason);
  }
}

PhaseOptions reportPhases() {
  PhaseOptions options;
  options.expandComposites = false;
  return options;
}

GapReport findGaps(ModuleOp module, const frontend::TargetFile &target,
                   const GapOptions &options) {
  GapReport report;
  report.target = target.name;
  report.targetFile = target.file;
  report.options = options;
  std::map<std::pair<std::string, frontend::OperatorFacts>, size_t> known;
  std::vector<Operation *> firsts;
  std::vector<StoredFormats> formatsOf;
  OperatorStorage storage(module, options.quantization.get());
  report.notCounted = storage.notCounted();
  auto add = [&](Operation *op, const StoredFormats &formats, int64_t calls) {
    Row added;
    added.op = op->getName().getStringRef().str();
    added.facts = storedFacts(op, formats);
    auto [entry, isNew] = known.insert({{added.op, added.facts}, report.rows.size()});
    if (isNew) {
      added.location = locationText(op->getLoc());
      for (const auto &[name, value] : kernelFacts(op))
        added.kernelFacts.push_back(name);
      firsts.push_back(op);
      formatsOf.push_back(formats);
      report.rows.push_back(std::move(added));
    }
    Row &row = report.rows[entry->second];
    row.calls += calls;
    row.prefill += storedWork(op, Judge::prefillStep(options), formats) * double(calls);
    row.decode += storedWork(op, Judge::decodeStep(options), formats) * double(calls);
  };
  for (auto [function, calls] : callsOf(module)) {
    func::FuncOp caller = function;
    int64_t all = calls;
    function.walk([&](Operation *op) {
      if (isOperator(op))
        for (const auto &[formats, some] : storage.of(op, caller, all))
          add(op, formats, some);
    });
  }
  if (!options.phase.kernelLibraries.empty())
    requireServed(firsts, frontend::readKernelLibraries(options.phase.kernelLibraries), report);
  Judge judge(target, options);
  for (auto [op, formats, row] : llvm::zip_equal(firsts, formatsOf, report.rows))
    judge.grade(op, formats, row);
  std::sort(report.rows.begin(), report.rows.end(), [](const Row &a, const Row &b) {
    return std::tuple(-a.decode.bytes(), a.op, a.facts) <
           std::tuple(-b.decode.bytes(), b.op, b.facts);
  });
  return report;
}

OperatorWork GapReport::prefillTotal() const {
  OperatorWork total;
  for (const Row &row : rows)
    total += row.prefill;
  return total;
}

OperatorWork GapReport::decodeTotal() const {
  OperatorWork total;
  for (const Row &row : rows)
    total += row.decode;
  return total;
}

bool GapReport::ok() const {
  return llvm::none_of(rows, [](const Row &row) { return row.grade == Grade::Missing; });
}

} // namespace llmc
