//===- ScaledActivation.cpp - a fusion pattern of one's own ---------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace llmc::llm;

namespace {
struct ScaledActivationPass : FusionPatternPass<ScaledActivationPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScaledActivationPass)
  static constexpr llvm::StringLiteral name = "scaled-activation";
  static constexpr llvm::StringLiteral summary = "A constant factor and the activation behind it";

  using FusionPatternPass::FusionPatternPass;
  ScaledActivationPass(const ScaledActivationPass &other) : FusionPatternPass(other) {}

  Option<double> maxFactor{*this, "max-factor", llvm::cl::desc("Largest factor that is taken."),
                           llvm::cl::init(1e6)};

  void runOnOperation() override {
    Fuser fuser(name, settings());
    for (ActivationOp activation : collectUnfused<ActivationOp>(getOperation())) {
      Value input = activation.getInput();
      auto scale = input.getDefiningOp<ScaleOp>();
      if (!scale)
        fuser.missed(activation, predicate::producer, "the input comes from " + describeSource(input));
      else if (!scale->hasOneUse())
        fuser.missed(activation, predicate::singleUse, "the scaled value has another use");
      else if (double factor = scale.getFactor().convertToDouble(); factor > maxFactor)
        fuser.missed(activation, "factor", "the factor is larger than the limit",
                     {{"factor", factor}, {"limit", double(maxFactor)}});
      else
        fuser.fuse({scale, activation});
    }
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "ScaledActivation", LLVM_VERSION_STRING,
          [] { registerFusionPass<ScaledActivationPass>(FusionFamily::Row); }};
}
