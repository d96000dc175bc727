//===- Program.cpp - mistakes of passes on the llm dialect ----------------===//
#include "Miscompile.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmc::llm;

namespace llmc::test {

/// The first op of that kind for which `change` returns true.
template <typename Op> static bool changeFirst(ModuleOp module, function_ref<bool(Op)> change) {
  return module
      .walk([&](Op op) { return change(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

/// The same, in fusions of that pattern.
template <typename Op>
static bool changeFused(ModuleOp module, StringRef pattern, function_ref<bool(Op)> change) {
  return changeFirst<Op>(module, [&](Op op) {
    auto fusion = op->template getParentOfType<FusionOp>();
    return fusion && fusion.getPattern() == pattern && change(op);
  });
}

static FloatAttr real(Operation *op, double value) {
  return Builder(op->getContext()).getF64FloatAttr(value);
}

/// The op goes, its value is another one.
static bool bypass(Operation *op, Value by) {
  op->getResult(0).replaceAllUsesWith(by);
  op->erase();
  return true;
}

static bool dropNormScale(ModuleOp module) {
  return changeFirst<RMSNormOp>(module, [](RMSNormOp norm) {
    if (!norm.getScale())
      return false;
    norm.getScaleMutable().clear();
    return true;
  });
}

static bool doubleEpsilon(ModuleOp module) {
  return changeFirst<RMSNormOp>(module, [](RMSNormOp norm) {
    norm.setEpsilonAttr(real(norm, 2 * norm.getEpsilon().convertToDouble()));
    return true;
  });
}

static bool dropNormOffset(ModuleOp module) {
  return changeFirst<RMSNormOp>(module, [](RMSNormOp norm) {
    if (norm.getOffset().isZero())
      return false;
    norm.setOffsetAttr(real(norm, 0));
    return true;
  });
}

static bool dropScale(ModuleOp module) {
  return changeFirst<ScaleOp>(module, [](ScaleOp scale) { return bypass(scale, scale.getInput()); });
}

static bool dropSoftcap(ModuleOp module) {
  return changeFirst<PagedAttentionOp>(module, [](PagedAttentionOp attention) {
    if (!attention.getSoftcap())
      return false;
    attention.removeSoftcapAttr();
    return true;
  });
}

static bool widenWindow(ModuleOp module) {
  return changeFirst<PagedAttentionOp>(module, [](PagedAttentionOp attention) {
    if (!attention.getWindow())
      return false;
    attention.setWindow(*attention.getWindow() + 1);
    return true;
  });
}

static bool dropAttentionScale(ModuleOp module) {
  return changeFirst<PagedAttentionOp>(module, [](PagedAttentionOp attention) {
    attention.setScaleAttr(real(attention, 1));
    return true;
  });
}

static bool dropSinks(ModuleOp module) {
  return changeFirst<PagedAttentionOp>(module, [](PagedAttentionOp attention) {
    if (!attention.getSinks())
      return false;
    attention.getSinksMutable().clear();
    return true;
  });
}

/// Two families of one type are read from each other's tensors.
static bool exchangeTensors(ModuleOp module) {
  auto families = llvm::to_vector(module.getOps<WeightFamilyOp>());
  for (WeightFamilyOp a : families)
    for (WeightFamilyOp b : families)
      if (a != b && a.getType() == b.getType() && a.getLayersAttr() &&
          a.getLayersAttr() == b.getLayersAttr() && a.getSource() != b.getSource()) {
        StringAttr source = a.getSourceAttr(), checkpoint = a.getCheckpointAttr();
        a.setSourceAttr(b.getSourceAttr());
        b.setSourceAttr(source);
        if (checkpoint || b.getCheckpointAttr()) {
          a.setCheckpointAttr(b.getCheckpointAttr());
          b.setCheckpointAttr(checkpoint);
        }
        return true;
      }
  return false;
}

/// A family reads the rows of its neighbour in the same tensor.
static bool shiftRows(ModuleOp module) {
  return changeFirst<WeightFamilyOp>(module, [](WeightFamilyOp family) {
    auto first = family.getFirstRow();
    if (!first || *first == 0)
      return false;
    family.setFirstRow(*first - 1);
    return true;
  });
}

static bool transposeWeight(ModuleOp module) {
  return changeFirst<WeightFamilyOp>(module, [](WeightFamilyOp family) {
    ArrayRef<int64_t> shape = family.getType().getShape();
    if (shape.size() != 2 || shape[0] != shape[1] || family.getStoredRows() || family.getView())
      return false;
    family.setTransposed(!family.getTransposed());
    return true;
  });
}

/// The state holds less than was asked for: what is appended is rounded.
static bool narrowState(ModuleOp module) {
  bool any = false;
  auto narrow = [&](Type type) -> Type {
    auto cache = dyn_cast<CacheType>(type);
    if (!cache || !cache.getElementType().isF32())
      return type;
    any = true;
    return CacheType::get(type.getContext(), cache.getKind(), cache.getShape(),
                          BFloat16Type::get(type.getContext()));
  };
  module.walk([&](Operation *op) {
    if (auto family = dyn_cast<StateFamilyOp>(op))
      family.setTypeAttr(TypeAttr::get(narrow(family.getType())));
    for (Value result : op->getResults())
      result.setType(narrow(result.getType()));
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setType(narrow(argument.getType()));
  });
  return any;
}

static bool dropRouteNormalise(ModuleOp module) {
  return changeFirst<RouteOp>(module, [](RouteOp route) {
    if (route.getNormalise() != RouteNormalise::Sum)
      return false;
    route.setNormalise(RouteNormalise::None);
    return true;
  });
}

static bool dropRouteBias(ModuleOp module) {
  return changeFirst<RouteOp>(module, [](RouteOp route) {
    if (!route.getBias())
      return false;
    route.getBiasMutable().clear();
    return true;
  });
}

static bool keepOtherGroups(ModuleOp module) {
  return changeFirst<RouteOp>(module, [](RouteOp route) {
    auto keep = route.getKeep(), groups = route.getGroups();
    if (!keep || !groups)
      return false;
    route.setKeep(*keep < *groups ? *keep + 1 : *keep - 1);
    return true;
  });
}

/// The head reads rows of tokens where it should read those of outputs.
static bool skipSelection(ModuleOp module) {
  return changeFirst<SelectRowsOp>(
      module, [](SelectRowsOp select) { return bypass(select, select.getInput()); });
}

/// The layers of a repeat of several kinds run in another order.
static bool exchangeLayers(ModuleOp module) {
  return changeFirst<RepeatOp>(module, [](RepeatOp repeat) {
    SmallVector<Attribute> callees(repeat.getCallees().getValue());
    if (callees.size() < 2 || callees.front() == callees.back())
      return false;
    std::swap(callees.front(), callees.back());
    repeat.setCalleesAttr(ArrayAttr::get(repeat.getContext(), callees));
    return true;
  });
}

static bool exchangeGate(ModuleOp module) {
  return changeFused<GateOp>(module, "gated-linear", [](GateOp gate) {
    Value first = gate.getGate();
    gate.getGateMutable().assign(gate.getUp());
    gate.getUpMutable().assign(first);
    return true;
  });
}

static bool otherActivation(ModuleOp module) {
  return changeFused<GateOp>(module, "gated-linear", [](GateOp gate) {
    gate.setFunction(gate.getFunction() == Activation::Silu ? Activation::GeluTanh
                                                            : Activation::GeluErf);
    return true;
  });
}

static bool dropResidual(ModuleOp module) {
  return changeFused<ResidualAddOp>(module, "linear-residual", [](ResidualAddOp add) {
    return bypass(add, add.getDelta());
  });
}

/// The norm reads the stream as it was before the sum.
static bool staleNorm(ModuleOp module) {
  return changeFused<RMSNormOp>(module, "residual-norm", [](RMSNormOp norm) {
    auto add = norm.getInput().getDefiningOp<ResidualAddOp>();
    if (!add)
      return false;
    norm.getInputMutable().assign(add.getStream());
    return true;
  });
}

static bool exchangeProducts(ModuleOp module) {
  return changeFused<YieldOp>(module, "qkv-linear", [](YieldOp yield) {
    unsigned last = yield->getNumOperands() - 1;
    Value a = yield->getOperand(last - 1), b = yield->getOperand(last);
    if (a.getType() != b.getType())
      return false;
    yield->setOperand(last - 1, b);
    yield->setOperand(last, a);
    return true;
  });
}

static bool dropBias(ModuleOp module) {
  return changeFused<LinearOp>(module, "qkv-linear", [](LinearOp linear) {
    if (!linear.getBias())
      return false;
    linear.getBiasMutable().clear();
    return true;
  });
}

static bool otherPairs(ModuleOp module) {
  return changeFused<RotaryOp>(module, "attention-prologue", [](RotaryOp rotary) {
    RopeAttr rope = rotary.getRope();
    auto other = rope.getPairing() == RopePairing::Halves ? RopePairing::Interleaved
                                                          : RopePairing::Halves;
    rotary.setRopeAttr(RopeAttr::get(rope.getContext(), rope.getType(), rope.getBase(),
                                     rope.getWidth(), other, rope.getMagnitude(),
                                     rope.getFrequencies(), rope.getLongFrequencies(),
                                     rope.getBeyond()));
    return true;
  });
}

/// Other channels of a head turn than those that should.
static bool otherChannels(ModuleOp module) {
  return changeFirst<RotaryOp>(module, [](RotaryOp rotary) {
    auto width = cast<RankedTensorType>(rotary.getInput().getType()).getShape().back();
    int64_t first = rotary.getFirst();
    if (first >= 2)
      rotary.setFirst(first - 2);
    else if (first + 2 + rotary.getRope().getWidth() <= width)
      rotary.setFirst(first + 2);
    else
      return false;
    return true;
  });
}

static bool dropKeyRotary(ModuleOp module) {
  return changeFused<KVAppendOp>(module, "attention-prologue", [](KVAppendOp append) {
    auto rotary = append.getKey().getDefiningOp<RotaryOp>();
    return rotary && bypass(rotary, rotary.getInput());
  });
}

/// Attention reads the state before this step's keys are in it.
static bool skipAppend(ModuleOp module) {
  return changeFirst<PagedAttentionOp>(module, [](PagedAttentionOp attention) {
    auto fusion = attention.getCache().getDefiningOp<FusionOp>();
    if (!fusion)
      return false;
    for (Value input : fusion.getInputs())
      if (input.getType() == attention.getCache().getType()) {
        attention.getCacheMutable().assign(input);
        return true;
      }
    return false;
  });
}

ArrayRef<Miscompilation> programMiscompilations() {
  static constexpr llvm::StringLiteral normalize("llm-simplify");
  static const Miscompilation table[] = {
      {"norm-scale-dropped", normalize, "a norm forgets its scale", "qwen3", dropNormScale},
      {"norm-epsilon", normalize, "a norm's epsilon doubles", "qwen3", doubleEpsilon},
      {"norm-offset-dropped", normalize, "the 1 of a norm's 1 + scale is lost", "gemma3", dropNormOffset},
      {"scale-dropped", normalize, "a constant factor is lost", "gemma3", dropScale},
      {"softcap-dropped", normalize, "scores of attention are not capped", "gemma2", dropSoftcap},
      {"window-off-by-one", normalize, "a window sees one token more", "gemma3", widenWindow},
      {"attention-scale-dropped", normalize, "scores of attention are not scaled", "qwen3", dropAttentionScale},
      {"sinks-dropped", normalize, "attention forgets its sinks", "gpt_oss", dropSinks},
      {"tensors-exchanged", normalize, "two weights are read from each other's tensors", "qwen3", exchangeTensors},
      {"rows-shifted", normalize, "a weight takes rows of its neighbour in a fused tensor", "phi3", shiftRows},
      {"weight-transposed", normalize, "a square weight is read transposed", "phi3", transposeWeight},
      {"state-narrowed", normalize, "keys and values are kept in bf16", "qwen3", narrowState},
      {"route-normalise-dropped", normalize, "weights of experts do not sum to 1", "mixtral", dropRouteNormalise},
      {"route-bias-dropped", normalize, "the choice of experts forgets its bias", "glm4_moe", dropRouteBias},
      {"route-groups", normalize, "experts are taken from one group more", "deepseek_v2-group", keepOtherGroups},
      {"rows-of-tokens", normalize, "logits of all tokens where those of outputs are wanted", "qwen3", skipSelection},
      {"layers-exchanged", normalize, "layers of two kinds change places", "gemma2", exchangeLayers},
      {"rotary-channels", normalize, "other channels of a head turn", "glm4_moe", otherChannels},
      {"gate-exchanged", "llm-fuse-gated-linear", "gate and values change places", "qwen3", exchangeGate},
      {"gate-activation", "llm-fuse-gated-linear", "the gate has another activation", "qwen3", otherActivation},
      {"products-exchanged", "llm-fuse-qkv-linear", "keys and values change places", "qwen3", exchangeProducts},
      {"bias-dropped", "llm-fuse-qkv-linear", "a product forgets its bias", "qwen2", dropBias},
      {"residual-dropped", "llm-fuse-linear-residual", "the sum with the stream is lost", "qwen3", dropResidual},
      {"norm-stale", "llm-fuse-residual-norm", "a norm reads the stream before the sum", "gemma3", staleNorm},
      {"rotary-pairs", "llm-fuse-attention-prologue", "other channels turn together", "qwen3", otherPairs},
      {"rotary-dropped", "llm-fuse-attention-prologue", "keys do not turn", "qwen3", dropKeyRotary},
      {"append-skipped", "llm-fuse-attention-prologue", "attention reads the state of the step before", "qwen3", skipAppend},
  };
  return table;
}

} // namespace llmc::test
