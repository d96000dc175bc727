//===- Simplify.cpp - the table of simplifications and their pass ---------===//
#include "Simplifier.h"

#include "llmc/Dialect/LLM/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace llmc::llm {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc;
using namespace llmc::llm;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

StringRef llm::simplificationExactnessName(SimplificationExactness exactness) {
  switch (exactness) {
  case SimplificationExactness::Always: return "always";
  case SimplificationExactness::WithinContext: return "within-context";
  case SimplificationExactness::WhenAsked: return "when-asked";
  }
  llvm_unreachable("closed enum");
}

ArrayRef<Simplification> llm::simplifications() {
  using enum SimplificationExactness;
  static constexpr Simplification table[] = {
      {"unused", Always, "An operation that nobody reads goes"},
      {"common-subexpression", Always, "Equal operations are one"},
      {"unreached-window", WithinContext, "A window as long as any sequence goes"},
      {"unreached-chunk", WithinContext, "Chunks as long as any sequence go"},
      {"unreached-frequencies", WithinContext,
       "Rotary frequencies for sequences longer than any go"},
      {"unreached-position-scale", WithinContext,
       "A factor that is 1 at every position of any sequence goes"},
      {"unreached-selection", WithinContext,
       "A choice of as many positions as any sequence has goes"},
      {"unread-state", Always, "A state that nothing reads goes, with what is computed for it"},
      {"identity", Always,
       "Scale by 1, offset by -0, whole slice, concat of one, and views or transposes that undo "
       "each other go"},
      {"nested-clamp", Always, "A clamp of a clamp is one clamp"},
      {"flat-transpose", Always, "The transpose of a single line is a view"},
      {"slice-of-concat", Always, "A part of one input of a concat is taken from that input"},
      {"slice-through-elements", Always,
       "Parts of element-wise arithmetic on a concat are computed from its inputs"},
      {"weight-slice", Always, "A part of a weight's row is a weight of its own"},
      {"folded-scale", WhenAsked,
       "A constant factor becomes part of the scale that an attention has, or goes where only "
       "the order of scores counts"},
      {"early-selection", Always,
       "Only rows whose logits are wanted go through what stands behind the last attention"},
  };
  return table;
}

const Simplification *llm::findSimplification(StringRef name) {
  for (const Simplification &simplification : simplifications())
    if (simplification.name == name)
      return &simplification;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Simplifier
//===----------------------------------------------------------------------===//

static remark::RemarkOpts optionsOf(StringRef name, Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    function = op->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name(name).category("simplify").function(
      function ? function.getName() : StringRef());
}

bool Simplifier::permits(StringRef name, Operation *op) {
  if (!llvm::is_contained(disabled, name))
    return true;
  (void)missed(name, op, "enabled", "the simplification is disabled");
  return false;
}

void Simplifier::passed(StringRef name, Operation *op, const Twine &what,
                        ArrayRef<SimplifyNumber> numbers) {
  if (auto found = refusals.find(op); found != refusals.end())
    found->second.erase(name);
  auto remark = remark::passed(op->getLoc(), optionsOf(name, op));
  remark << remark::reason("{0}", what.str());
  for (const SimplifyNumber &number : numbers)
    remark << remark::metric(number.first, number.second);
}

LogicalResult Simplifier::missed(StringRef name, Operation *op, StringRef predicate,
                                 const Twine &reason, ArrayRef<SimplifyNumber> numbers) {
  Refusal refusal{predicate.str(), reason.str(), {}};
  for (const SimplifyNumber &number : numbers)
    refusal.numbers.push_back({number.first.str(), number.second});
  refusals[op][name] = std::move(refusal);
  return failure();
}

void Simplifier::notifyOperationErased(Operation *op) { refusals.erase(op); }

void Simplifier::reportMissed() {
  for (auto &[op, byName] : refusals)
    for (auto &[name, refusal] : byName) {
      auto remark = remark::missed(op->getLoc(), optionsOf(name, op));
      remark << remark::reason("{0}", refusal.reason);
      remark << remark::metric("predicate", StringRef(refusal.predicate));
      for (const auto &[key, number] : refusal.numbers)
        remark << remark::metric(key, number);
    }
  refusals.clear();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SimplifyPass : llmc::llm::impl::SimplifyPassBase<SimplifyPass> {
  using SimplifyPassBase::SimplifyPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    for (const std::string &name : disabled)
      if (!findSimplification(name))
        return emitError(UnknownLoc::get(context))
               << "llm-simplify: disable=" << name << " is no simplification";
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto facts = module->getAttrOfType<DictionaryAttr>("llm.model");
    auto length = facts ? facts.getAs<IntegerAttr>("context_length") : IntegerAttr();
    int64_t context = maxContext > 0 ? int64_t(maxContext) : length ? length.getInt() : 0;
    SmallVector<std::string> names(disabled.begin(), disabled.end());
    Simplifier simplifier(module, names, foldScales, context);

    llvm::DenseMap<Attribute, WeightReaders> readers = findWeightReaders(module);
    eraseUnused(simplifier, /*report=*/true);
    mergeCommonSubexpressions(simplifier);
    // The model's own length binds any plan of it anyway.
    bool isBounded = context > 0 && dropUnreachedBounds(simplifier) &&
                     !(length && length.getInt() <= context);
    dropUnreadStates(simplifier);
    if (failed(applyPatterns(simplifier)))
      return signalPassFailure();
    mergeCommonSubexpressions(simplifier);
    selectRowsEarly(simplifier);
    eraseUnused(simplifier, /*report=*/false);
    narrowWeightFamilies(simplifier, readers);
    if (facts)
      module->setAttr("llm.model",
                      withTraces(facts, isBounded ? context : 0, simplifier.foldedScales));
    simplifier.reportMissed();
  }

  LogicalResult applyPatterns(Simplifier &simplifier);
  DictionaryAttr withTraces(DictionaryAttr facts, int64_t context, int64_t folded);
};
} // namespace

LogicalResult SimplifyPass::applyPatterns(Simplifier &simplifier) {
  RewritePatternSet patterns(&getContext());
  addElementSimplifications(patterns, simplifier);
  addWeightSimplifications(patterns, simplifier);
  addScaleSimplifications(patterns, simplifier);
  // Folds happen by name or not at all.
  GreedyRewriteConfig config;
  config.enableFolding(false)
      .enableConstantCSE(false)
      .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
      .setListener(&simplifier);
  return applyPatternsGreedily(getOperation(), std::move(patterns), config);
}

/// What a plan has to know of what was done: the longest sequence that the program is right for,
/// where it is not 0, and how many factors were folded.
DictionaryAttr SimplifyPass::withTraces(DictionaryAttr facts, int64_t context, int64_t folded) {
  NamedAttrList list(facts);
  auto number = [&](StringRef key) {
    auto known = facts.getAs<IntegerAttr>(key);
    return known ? known.getInt() : 0;
  };
  auto set = [&](StringRef key, int64_t value) {
    list.set(key, IntegerAttr::get(IntegerType::get(&getContext(), 64), value));
  };
  int64_t bound = number("bounded_context");
  if (context > 0)
    set("bounded_context", bound > 0 ? std::min(bound, context) : context);
  if (folded > 0)
    set("folded_scales", number("folded_scales") + folded);
  return list.getDictionary(&getContext());
}
