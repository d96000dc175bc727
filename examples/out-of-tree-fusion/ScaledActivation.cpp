//===- ScaledActivation.cpp - a fusion pattern of one's own ---------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace llmc::llm;

namespace {
struct ScaledActivationPass : PassWrapper<ScaledActivationPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScaledActivationPass)

  explicit ScaledActivationPass(const FusionSettings &settings = {}) : settings(settings) {}
  StringRef getArgument() const final { return "llm-fuse-scaled-activation"; }

  void runOnOperation() override {
    Fuser fuser("scaled-activation", settings);
    for (ActivationOp activation : collectUnfused<ActivationOp>(getOperation())) {
      Value input = activation.getInput();
      auto scale = input.getDefiningOp<ScaleOp>();
      if (!scale)
        fuser.missed(activation, predicate::producer, "the input comes from " + describeSource(input));
      else if (!scale->hasOneUse())
        fuser.missed(activation, predicate::singleUse, "the scaled value has another use");
      else
        fuser.fuse({scale, activation});
    }
  }

  FusionSettings settings;
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "ScaledActivation", LLVM_VERSION_STRING, [] {
            registerFusionPattern({"scaled-activation", FusionFamily::Row,
                                   "A constant factor and the activation behind it",
                                   [](const FusionSettings &settings) -> std::unique_ptr<Pass> {
                                     return std::make_unique<ScaledActivationPass>(settings);
                                   }});
            PassRegistration<ScaledActivationPass>();
          }};
}
