//===- Pipelines.cpp - the fusion passes in order -------------------------===//
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace llmc;
using namespace llmc::llm;

namespace llmc::llm {
#define GEN_PASS_REGISTRATION
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

ArrayRef<StringRef> llm::fusionPatterns() {
  static constexpr StringRef patterns[] = {"gated-linear",    "linear-activation", "qkv-linear",
                                           "linear-residual", "residual-norm",
                                           "attention-prologue"};
  return patterns;
}

void llm::addFusionPasses(OpPassManager &pm, ArrayRef<std::string> disabled,
                          ResidualPreference preference) {
  auto isEnabled = [&](StringRef pattern) { return !llvm::is_contained(disabled, pattern); };
  FuseGatedLinearPassOptions gated;
  gated.enabled = isEnabled("gated-linear");
  pm.addPass(createFuseGatedLinearPass(gated));
  FuseLinearActivationPassOptions activated;
  activated.enabled = isEnabled("linear-activation");
  pm.addPass(createFuseLinearActivationPass(activated));
  FuseQKVLinearPassOptions qkv;
  qkv.enabled = isEnabled("qkv-linear");
  pm.addPass(createFuseQKVLinearPass(qkv));

  FuseLinearResidualPassOptions linear;
  linear.enabled = isEnabled("linear-residual");
  FuseResidualNormPassOptions norm;
  norm.enabled = isEnabled("residual-norm");
  if (preference == ResidualPreference::Norm)
    pm.addPass(createFuseResidualNormPass(norm));
  pm.addPass(createFuseLinearResidualPass(linear));
  if (preference == ResidualPreference::Linear)
    pm.addPass(createFuseResidualNormPass(norm));

  FuseAttentionProloguePassOptions prologue;
  prologue.enabled = isEnabled("attention-prologue");
  pm.addPass(createFuseAttentionProloguePass(prologue));
}

namespace {
struct FuseOptions : PassPipelineOptions<FuseOptions> {
  ListOption<std::string> disable{*this, "disable",
                                  llvm::cl::desc("Names of fusions that are not made.")};
  Option<bool> normFirst{*this, "residual-norm-first",
                         llvm::cl::desc("A residual add goes to the norm before the product."),
                         llvm::cl::init(false)};
};
} // namespace

void llm::registerLLMPasses() {
  registerLLMCLLMPasses();
  PassPipelineRegistration<FuseOptions>(
      "llm-fuse", "Every fusion of the llm dialect.",
      [](OpPassManager &pm, const FuseOptions &options) {
        addFusionPasses(pm,
                        SmallVector<std::string>(options.disable.begin(), options.disable.end()),
                        options.normFirst ? ResidualPreference::Norm : ResidualPreference::Linear);
      });
}
