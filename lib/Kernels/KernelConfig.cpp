//===- KernelConfig.cpp - kernels as attributes, and their registry -------===//
//
// The fields of every kernel's parameters and the table of generators, which name
// each other: one list, long because there are many kernels.
//
//===----------------------------------------------------------------------===//
#include "llmc/Kernels/KernelConfig.h"

#include "SpecArchive.h"

using namespace mlir;

namespace llmc::kernels {

template <typename A>
void describe(A &a, UserKernelSpec &s) {
  a("name", s.name);
  a("object", s.object);
  a("sha256", s.sha256);
  a("symbol", s.symbol);
  a("facts", s.facts);
  a("scratch", s.scratch);
}

template <typename A>
void describe(A &a, PagedState &s) {
  a("heads", s.heads);
  a("key_width", s.keyWidth);
  a("value_width", s.valueWidth);
  a("block_tokens", s.blockTokens, int64_t(32));
}

template <typename A>
void describe(A &a, HeadRows &s) {
  a("operand", s.operand);
  a("stride", s.stride);
  a("offset", s.offset);
  a("inner", s.inner);
}

template <typename A>
void describe(A &a, HeadNorm &s) {
  a("scale", s.scale);
  a("element", s.element);
  a("eps", s.eps);
  a("offset", s.offset);
  a("layer", s.layer);
  a("bias", s.bias);
}

template <typename A>
void describe(A &a, Rotary &s) {
  a("inv_freq", s.invFreq);
  a("width", s.width);
  a("first", s.first);
  a("pairs", s.pairs);
  a("magnitude", s.magnitude, 1.0f);
  a("beyond", s.beyond);
}

template <typename A>
void describe(A &a, PrologueSpec &s) {
  a("heads", s.heads);
  a("state", s.state);
  a("q", s.q);
  a("k", s.k);
  a("v", s.v);
  a("q_out", s.qOut);
  a("k_out", s.kOut);
  a("rest", s.rest);
  a("q_rest", s.qRest);
  a("k_rest", s.kRest);
  a("q_norm", s.qNorm);
  a("k_norm", s.kNorm);
  a("v_norm", s.vNorm);
  a("rotary", s.rotary);
  a("q_turns", s.qTurns, true);
  a("k_turns", s.kTurns, true);
  a("norm_after_rotary", s.normAfterRotary);
  a("append", s.append);
  a("group", s.group);
}

template <typename A>
void describe(A &a, StepRows &s) {
  a("operand", s.operand);
  a("stride", s.stride);
  a("offset", s.offset);
}

template <typename A>
void describe(A &a, ConvSpec &s) {
  a("channels", s.channels);
  a("taps", s.taps);
  a("x", s.x);
  a("out", s.out);
  a("weight", s.weight);
  a("bias", s.bias);
  a("state", s.state);
  a("activation", s.activation);
  a("shift", s.shift);
  a("slot_bytes", s.slotBytes);
}

template <typename A>
void describe(A &a, PoolSpec &s) {
  a("group", s.group);
  a("width", s.width);
  a("overlap", s.overlap);
  a("values", s.values);
  a("gates", s.gates);
  a("out", s.out);
  a("bias", s.bias);
  a("state", s.state);
  a("slot_bytes", s.slotBytes);
}

template <typename A>
void describe(A &a, SinkhornSpec &s) {
  a("n", s.n);
  a("steps", s.steps);
  a("epsilon", s.epsilon);
  a("x", s.x);
  a("out", s.out);
}

template <typename A>
void describe(A &a, LinearAttentionSpec &s) {
  a("heads", s.heads);
  a("key_heads", s.keyHeads);
  a("key_width", s.keyWidth);
  a("value_width", s.valueWidth);
  a("q", s.q);
  a("k", s.k);
  a("v", s.v);
  a("decay", s.decay);
  a("beta", s.beta);
  a("rank_one_a", s.rankOneA);
  a("rank_one_b", s.rankOneB);
  a("out", s.out);
  a("state", s.state);
  a("channel_decay", s.channelDecay);
  a("delta", s.delta);
  a("before", s.before);
  a("scale", s.scale, 1.0f);
  a("slot_bytes", s.slotBytes);
}

template <typename A>
void describe(A &a, HeadLinearSpec &s) {
  a("heads", s.heads);
  a("product", s.product);
  a("input_offset", s.inputOffset);
}

template <typename A>
void describe(A &a, SelectSpec &s) {
  a("heads", s.heads);
  a("state", s.state);
  a("group", s.group);
  a("top", s.top);
  a("context", s.context);
  a("q_stride", s.qStride);
  a("q_offset", s.qOffset);
  a("weight_stride", s.weightStride);
  a("weight_offset", s.weightOffset);
}

template <typename A>
void describe(A &a, RouteSpec &s) {
  a("experts", s.experts);
  a("chosen", s.chosen);
  a("score", s.score);
  a("normalise", s.normalise);
  a("scale", s.scale, 1.0f);
  a("bias", s.bias);
  a("expert_scale", s.expertScale);
  a("margin", s.margin, 0.0f);
  a("groups", s.groups);
  a("keep", s.keep);
  a("group_score", s.groupScore);
  a("table", s.table);
}

template <typename A>
void describe(A &a, ExpertLinearSpec &s) {
  a("product", s.product);
  a("experts", s.experts);
  a("chosen", s.chosen);
  a("rows_of_choices", s.rowsOfChoices);
}

template <typename A>
void describe(A &a, ExpertCombineSpec &s) {
  a("chosen", s.chosen);
  a("width", s.width);
  a("spread", s.spread);
  a("weights", s.weights, true);
  a("residual", s.residual);
  a("in_place", s.inPlace);
}

template <typename A>
void describe(A &a, EmbeddingSpec &s) {
  a("storage", s.storage);
  a("rows", s.rows);
  a("cols", s.cols);
  a("tile", s.tile);
  a("scale", s.scale, 1.0f);
  a("index", s.index);
  a("offset", s.offset);
  a("otherwise", s.otherwise);
}

template <typename A>
void describe(A &a, RowOperand &s) {
  a("operand", s.operand);
  a("stride", s.stride);
  a("offset", s.offset);
  a("inner", s.inner);
  a("element", s.element);
  a("index", s.index);
  a("scalar", s.scalar);
  a("chooser", s.chooser, -1);
  a("chooser_step", s.chooserStep);
}

template <typename A>
void describe(A &a, GenericSpec &s) {
  a("name", s.name);
  a("function", s.function);
  a("inputs", s.inputs);
  a("outputs", s.outputs);
  a("scratch", s.scratch);
}

/// The parts of a RowProgram, which is otherwise only built by its methods.
struct RowNode {
  std::string op;
  std::string activation;
  std::vector<int64_t> inputs;
  float param0 = 0, param1 = 0;
  int64_t period = 1, shift = 0;
  std::optional<RowOperand> operand;
};
struct RowResult {
  int64_t node = 0;
  RowOperand operand;
};
struct RowSpec {
  int64_t width = 0, rowsPerToken = 1;
  std::vector<RowNode> nodes;
  std::vector<RowResult> outputs;
};

template <typename A>
void describe(A &a, RowNode &s) {
  a("op", s.op);
  a("activation", s.activation);
  a("inputs", s.inputs);
  a("param0", s.param0);
  a("param1", s.param1);
  a("period", s.period, int64_t(1));
  a("shift", s.shift, int64_t(0));
  a("operand", s.operand);
}

template <typename A>
void describe(A &a, RowResult &s) {
  a("node", s.node);
  a("operand", s.operand);
}

template <typename A>
void describe(A &a, RowSpec &s) {
  a("width", s.width);
  a("rows_per_token", s.rowsPerToken, int64_t(1));
  a("nodes", s.nodes);
  a("outputs", s.outputs);
}

static constexpr struct {
  RowOpKind kind;
  llvm::StringLiteral name;
} rowOpNames[] = {{RowOpKind::Input, "input"},
                  {RowOpKind::Add, "add"},
                  {RowOpKind::Sub, "sub"},
                  {RowOpKind::Mul, "mul"},
                  {RowOpKind::Div, "div"},
                  {RowOpKind::Fma, "fma"},
                  {RowOpKind::Min, "min"},
                  {RowOpKind::Max, "max"},
                  {RowOpKind::Scale, "scale"},
                  {RowOpKind::AddConstant, "add_constant"},
                  {RowOpKind::Clamp, "clamp"},
                  {RowOpKind::Softcap, "softcap"},
                  {RowOpKind::Activate, "activate"},
                  {RowOpKind::RmsNorm, "rms_norm"},
                  {RowOpKind::L2Norm, "l2_norm"},
                  {RowOpKind::LayerNorm, "layer_norm"},
                  {RowOpKind::Softmax, "softmax"},
                  {RowOpKind::PositionScale, "position_scale"},
                  {RowOpKind::Mean, "mean"},
                  {RowOpKind::Deviation, "deviation"},
                  {RowOpKind::Sum, "sum"},
                  {RowOpKind::RowMax, "row_max"}};

static RowSpec toSpec(const RowProgram &program) {
  RowSpec spec;
  spec.width = program.width();
  spec.rowsPerToken = program.rowsPerToken();
  for (const RowOp &op : program.ops()) {
    RowNode node;
    for (const auto &row : rowOpNames)
      if (row.kind == op.kind)
        node.op = row.name.str();
    if (op.kind == RowOpKind::Activate)
      node.activation = activationName(op.activation).str();
    if (op.kind == RowOpKind::Input)
      node.operand = op.operand;
    for (int input : op.inputs)
      node.inputs.push_back(input);
    node.param0 = op.params[0];
    node.param1 = op.params[1];
    node.period = op.period;
    node.shift = op.shift;
    spec.nodes.push_back(std::move(node));
  }
  for (const RowProgram::Output &out : program.outputs())
    spec.outputs.push_back({out.node, out.operand});
  return spec;
}

/// Rebuilds a program; a message where the parts are none.
static std::string fromSpec(const RowSpec &spec, std::optional<RowProgram> &program) {
  if (spec.width < 1 || spec.rowsPerToken < 1)
    return "width and rows_per_token must be positive";
  program.emplace(spec.width, spec.rowsPerToken);
  for (size_t i = 0; i < spec.nodes.size(); ++i) {
    const RowNode &node = spec.nodes[i];
    if (node.inputs.size() != 3)
      return "node " + std::to_string(i) + " must have 3 inputs, absent ones -1";
    int in[3];
    for (int k = 0; k < 3; ++k) {
      in[k] = int(node.inputs[k]);
      if (in[k] < -1 || in[k] >= int(i))
        return "node " + std::to_string(i) + " reads node " + std::to_string(in[k]) +
               ", which does not come before it";
    }
    const RowOpKind *kind = nullptr;
    for (const auto &row : rowOpNames)
      if (row.name == node.op)
        kind = &row.kind;
    if (!kind)
      return "node " + std::to_string(i) + " has unknown op '" + node.op + "'";
    RowProgram &p = *program;
    switch (*kind) {
    case RowOpKind::Input:
      if (!node.operand)
        return "input node " + std::to_string(i) + " has no operand";
      p.input(*node.operand);
      break;
    case RowOpKind::Add: p.add(in[0], in[1]); break;
    case RowOpKind::Sub: p.sub(in[0], in[1]); break;
    case RowOpKind::Mul: p.mul(in[0], in[1]); break;
    case RowOpKind::Div: p.div(in[0], in[1]); break;
    case RowOpKind::Fma: p.fma(in[0], in[1], in[2]); break;
    case RowOpKind::Min: p.min(in[0], in[1]); break;
    case RowOpKind::Max: p.max(in[0], in[1]); break;
    case RowOpKind::Scale: p.scale(in[0], node.param0); break;
    case RowOpKind::AddConstant: p.addConstant(in[0], node.param0); break;
    case RowOpKind::Clamp: p.clamp(in[0], node.param0, node.param1); break;
    case RowOpKind::Softcap: p.softcap(in[0], node.param0); break;
    case RowOpKind::Activate: {
      bool found = false;
      for (unsigned a = 0; a <= unsigned(lastActivation) && !found; ++a)
        if ((found = activationName(Activation(a)) == node.activation))
          p.activate(Activation(a), in[0]);
      if (!found)
        return "node " + std::to_string(i) + " has unknown activation '" + node.activation + "'";
      break;
    }
    case RowOpKind::RmsNorm: p.rmsNorm(in[0], in[1], node.param0, node.param1); break;
    case RowOpKind::L2Norm: p.l2Norm(in[0], node.param0); break;
    case RowOpKind::LayerNorm: p.layerNorm(in[0], in[1], in[2], node.param0); break;
    case RowOpKind::Softmax: p.softmax(in[0]); break;
    case RowOpKind::PositionScale:
      p.positionScale(node.param0, node.period, node.shift);
      break;
    case RowOpKind::Mean: p.mean(in[0]); break;
    case RowOpKind::Deviation: p.deviation(in[0]); break;
    case RowOpKind::Sum: p.sum(in[0]); break;
    case RowOpKind::RowMax: p.rowMax(in[0]); break;
    }
  }
  for (const RowResult &out : spec.outputs) {
    if (out.node < 0 || out.node >= int64_t(spec.nodes.size()))
      return "an output names node " + std::to_string(out.node) + ", which does not exist";
    program->output(int(out.node), out.operand);
  }
  return "";
}

/// A program that is part of another kernel.
template <typename A>
void describeProgram(A &a, StringRef name, std::optional<RowProgram> &program) {
  std::optional<RowSpec> spec;
  if (program)
    spec = toSpec(*program);
  a(name, spec);
  if constexpr (std::is_same_v<A, SpecReader>)
    if (spec)
      if (std::string problem = fromSpec(*spec, program); !problem.empty())
        a.refuse(name, problem);
}

template <typename A>
void describe(A &a, RouterSpec &s) {
  a("product", s.product);
  describeProgram(a, "between", s.between);
  a("route", s.route);
}

template <typename A>
void describe(A &a, LinearSpec &s) {
  a("storage", s.storage);
  a("rows", s.rows);
  a("cols", s.cols);
  a("tile", s.tile, int64_t(2));
  a("bias", s.bias);
  a("residual", s.residual);
  a("in_place", s.inPlace);
  a("gated", s.gated);
  a("activation", s.activation);
  a("output_width", s.outputWidth);
  a("input_stride", s.inputStride);
  a("output_stride", s.outputStride);
  a("count", s.count);
  describeProgram(a, "prologue", s.prologue);
  describeProgram(a, "epilogue", s.epilogue);
}

template <typename A>
void describe(A &a, AttentionSpec &s) {
  a("heads", s.heads);
  a("state", s.state);
  a("scale", s.scale, 1.0f);
  a("window", s.window);
  a("chunk", s.chunk);
  a("softcap", s.softcap);
  a("sinks", s.sinks);
  a("slopes", s.slopes);
  a("selected", s.selected);
  a("latent_values", s.latentValues);
  a("group", s.group);
  a("item_heads", s.itemHeads, int64_t(1));
  a("q_stride", s.qStride);
  a("q_offset", s.qOffset);
  a("out_stride", s.outStride);
  a("out_offset", s.outOffset);
  describeProgram(a, "tail", s.tail);
}

namespace {
template <typename Spec>
DictionaryAttr toDictionary(MLIRContext *context, const Spec &spec) {
  SpecWriter writer(context);
  describe(writer, const_cast<Spec &>(spec));
  return writer.take();
}

/// Reads a spec and passes it on; the reader's message where it cannot.
template <typename Spec, typename Build>
auto reads(Build build) {
  return [build](ModuleOp module, DictionaryAttr config, const CPUVariant &variant) -> std::string {
    Spec spec;
    SpecReader reader(config);
    describe(reader, spec);
    if (std::string problem = reader.problem(); !problem.empty())
      return problem;
    return build(module, spec, variant);
  };
}
} // namespace

std::string readRowProgram(DictionaryAttr config, std::optional<RowProgram> &program) {
  RowSpec spec;
  SpecReader reader(config);
  describe(reader, spec);
  if (std::string problem = reader.problem(); !problem.empty())
    return problem;
  return fromSpec(spec, program);
}

KernelChoice describeKernel(MLIRContext *context, const RowProgram &program) {
  return {rowKernelName(program), "rows", toDictionary(context, toSpec(program)),
          rowKernelScratch(program)};
}

KernelChoice describeKernel(MLIRContext *context, const PrologueSpec &spec) {
  return {prologueKernelName(spec), "attention-prologue", toDictionary(context, spec),
          prologueKernelScratch(spec)};
}

KernelChoice describeKernel(MLIRContext *context, const AttentionSpec &spec) {
  return {attentionKernelName(spec), "paged-attention", toDictionary(context, spec),
          attentionKernelScratch(spec)};
}

KernelChoice describeKernel(MLIRContext *context, const ConvSpec &spec) {
  return {convKernelName(spec), "causal-conv", toDictionary(context, spec),
          convKernelScratch(spec)};
}

KernelChoice describeKernel(MLIRContext *context, const PoolSpec &spec) {
  return {poolKernelName(spec), "pool-tokens", toDictionary(context, spec)};
}

KernelChoice describeKernel(MLIRContext *context, const SinkhornSpec &spec) {
  return {sinkhornKernelName(spec), "sinkhorn", toDictionary(context, spec)};
}

KernelChoice describeKernel(MLIRContext *context, const LinearAttentionSpec &spec) {
  return {linearAttentionKernelName(spec), "linear-attention", toDictionary(context, spec),
          linearAttentionKernelScratch(spec)};
}

KernelChoice describeKernel(MLIRContext *context, const SelectSpec &spec) {
  return {selectKernelName(spec), "select-positions", toDictionary(context, spec),
          selectKernelScratch(spec)};
}

KernelChoice describeKernel(MLIRContext *context, const HeadLinearSpec &spec) {
  return {headLinearKernelName(spec), "head-linear", toDictionary(context, spec),
          headLinearKernelScratch(spec)};
}

KernelChoice describeKernel(MLIRContext *context, const LinearSpec &spec) {
  return {linearKernelName(spec), "linear", toDictionary(context, spec), linearKernelScratch(spec)};
}

KernelChoice describeKernel(MLIRContext *context, const RouterSpec &spec) {
  return {routerKernelName(spec), "router", toDictionary(context, spec), routerKernelScratch(spec)};
}

KernelChoice describeKernel(MLIRContext *context, const RouteSpec &spec) {
  return {routeKernelName(spec), "route", toDictionary(context, spec), routeKernelScratch(spec),
          spec.table};
}

KernelChoice describeKernel(MLIRContext *context, const ExpertLinearSpec &spec) {
  return {expertLinearKernelName(spec), "expert-linear", toDictionary(context, spec),
          expertLinearKernelScratch(spec)};
}

KernelChoice describeKernel(MLIRContext *context, const ExpertCombineSpec &spec) {
  return {expertCombineKernelName(spec), "expert-combine", toDictionary(context, spec)};
}

KernelChoice describeKernel(MLIRContext *context, const EmbeddingSpec &spec) {
  int64_t rows = spec.rows - spec.offset;
  bool byToken = spec.index == TableIndex::TokenId;
  if (spec.otherwise)
    rows = 0;
  return {embeddingKernelName(spec), "embedding", toDictionary(context, spec), 0,
          byToken ? rows : 0, byToken ? 0 : rows};
}

KernelChoice describeKernel(MLIRContext *context, const GenericSpec &spec) {
  return {genericKernelName(spec), "generic", toDictionary(context, spec), spec.scratch};
}

KernelChoice describeKernel(MLIRContext *context, const UserKernelSpec &spec) {
  return {userKernelName(spec), "user", toDictionary(context, spec), spec.scratch};
}

llvm::ArrayRef<KernelGenerator> cpuGenerators() {
  static const std::vector<KernelGenerator> table = {
      {"linear", "tuned",
       "llm.linear and llm.output_head over every weight storage, with bias, residual, gate, any "
       "element-wise operations behind them and row operations before them",
       reads<LinearSpec>([](ModuleOp module, const LinearSpec &spec, const CPUVariant &variant) {
         std::string problem = checkLinear(spec);
         if (problem.empty())
           buildLinearKernel(module, spec, variant);
         return problem;
       })},
      {"router", "tuned", "llm.linear, operations on its rows and llm.route, a run of tokens at a time",
       reads<RouterSpec>([](ModuleOp module, const RouterSpec &spec, const CPUVariant &variant) {
         if (std::string problem = checkRouter(spec); !problem.empty())
           return problem;
         buildRouterKernel(module, spec, variant);
         return std::string();
       })},
      {"route", "tuned", "llm.route, by scores or by a table of tokens",
       reads<RouteSpec>([](ModuleOp module, const RouteSpec &spec, const CPUVariant &variant) {
         std::string problem = checkRoute(spec);
         if (problem.empty())
           buildRouteKernel(module, spec, variant);
         return problem;
       })},
      {"expert-linear", "tuned",
       "llm.expert_linear over every weight storage, with bias, activation, gate and any "
       "element-wise operations behind them",
       reads<ExpertLinearSpec>(
           [](ModuleOp module, const ExpertLinearSpec &spec, const CPUVariant &variant) {
             std::string problem = checkExpertLinear(spec);
             if (problem.empty())
               buildExpertLinearKernel(module, spec, variant);
             return problem;
           })},
      {"expert-combine", "tuned", "llm.expert_sum, with a residual, and llm.expert_spread",
       reads<ExpertCombineSpec>(
           [](ModuleOp module, const ExpertCombineSpec &spec, const CPUVariant &variant) {
             std::string problem = checkExpertCombine(spec);
             if (problem.empty())
               buildExpertCombineKernel(module, spec, variant);
             return problem;
           })},
      {"embedding", "tuned", "llm.embedding and llm.position_embedding over every weight storage",
       reads<EmbeddingSpec>(
           [](ModuleOp module, const EmbeddingSpec &spec, const CPUVariant &variant) {
             std::string problem = checkEmbedding(spec);
             if (problem.empty())
               buildEmbeddingKernel(module, spec, variant);
             return problem;
           })},
      {"rows", "tuned",
       "any DAG of llm.rms_norm, llm.layer_norm, llm.residual_add, llm.scale, llm.softcap, "
       "llm.activation, llm.gate and llm.select_rows along rows; llm.binary, llm.offset, llm.clamp, "
       "llm.softmax, llm.row_stat, llm.mix and llm.position_scale each; what llm.slice, llm.concat, "
       "llm.transpose, llm.take, llm.put and llm.weight_rows move",
       reads<RowSpec>([](ModuleOp module, const RowSpec &spec, const CPUVariant &variant) {
         std::optional<RowProgram> program;
         std::string problem = fromSpec(spec, program);
         if (problem.empty())
           buildRowKernel(module, *program, variant);
         return problem;
       })},
      {"attention-prologue", "tuned",
       "llm.rms_norm per head, llm.rotary and llm.kv_append, any of them; llm.entry_append",
       reads<PrologueSpec>([](ModuleOp module, const PrologueSpec &spec,
                              const CPUVariant &variant) {
         std::string problem = checkPrologue(spec);
         if (problem.empty())
           buildPrologueKernel(module, spec, variant);
         return problem;
       })},
      {"paged-attention", "tuned",
       "llm.paged_attention over paged and latent f32 state, causal, windowed or in chunks, with "
       "softcap, sinks and slopes, or over selected positions; llm.joint_attention",
       reads<AttentionSpec>([](ModuleOp module, const AttentionSpec &spec,
                               const CPUVariant &variant) {
         std::string problem = checkAttention(spec);
         if (problem.empty())
           buildAttentionKernel(module, spec, variant);
         return problem;
       })},
      {"select-positions", "tuned", "llm.select_positions over latent f32 state; llm.select_entries",
       reads<SelectSpec>([](ModuleOp module, const SelectSpec &spec, const CPUVariant &variant) {
         std::string problem = checkSelect(spec);
         if (problem.empty())
           buildSelectKernel(module, spec, variant);
         return problem;
       })},
      {"head-linear", "tuned", "llm.head_linear over every weight storage",
       reads<HeadLinearSpec>([](ModuleOp module, const HeadLinearSpec &spec,
                                const CPUVariant &variant) {
         std::string problem = checkHeadLinear(spec);
         if (problem.empty())
           buildHeadLinearKernel(module, spec, variant);
         return problem;
       })},
      {"sinkhorn", "tuned", "llm.sinkhorn of up to 64 rows",
       reads<SinkhornSpec>([](ModuleOp module, const SinkhornSpec &spec,
                              const CPUVariant &variant) {
         std::string problem = checkSinkhorn(spec);
         if (problem.empty())
           buildSinkhornKernel(module, spec, variant);
         return problem;
       })},
      {"pool-tokens", "tuned", "llm.pool_tokens over f32, f16 and bf16 biases",
       reads<PoolSpec>([](ModuleOp module, const PoolSpec &spec, const CPUVariant &variant) {
         std::string problem = checkPool(spec);
         if (problem.empty())
           buildPoolKernel(module, spec, variant);
         return problem;
       })},
      {"causal-conv", "tuned",
       "llm.causal_conv over f32, f16 and bf16 weights of 2 to 16 taps, with an activation; "
       "llm.token_shift",
       reads<ConvSpec>([](ModuleOp module, const ConvSpec &spec, const CPUVariant &variant) {
         std::string problem = checkConv(spec);
         if (problem.empty())
           buildConvKernel(module, spec, variant);
         return problem;
       })},
      {"linear-attention", "tuned",
       "llm.linear_attention, with and without delta, beta and a rank one part, read before or "
       "after, decay by head or by key channel",
       reads<LinearAttentionSpec>([](ModuleOp module, const LinearAttentionSpec &spec,
                                     const CPUVariant &variant) {
         std::string problem = checkLinearAttention(spec);
         if (problem.empty())
           buildLinearAttentionKernel(module, spec, variant);
         return problem;
       })},
      {"generic", "generic",
       "any function on one row of llm operations that convert-llm-to-linalg takes: norms, "
       "stream arithmetic, gates, views of heads, rotary, and products over f32, f16 and bf16 "
       "weights",
       reads<GenericSpec>(buildGenericKernel)},
      {"user", "user",
       "what a kernel library (--kernel-library) has a kernel for: operations on f32 rows and "
       "weights that are vectors or matrices of floats, without state",
       reads<UserKernelSpec>(buildUserKernel)}};
  return table;
}

const KernelGenerator *findGenerator(StringRef name) {
  for (const KernelGenerator &generator : cpuGenerators())
    if (generator.name == name)
      return &generator;
  return nullptr;
}

} // namespace llmc::kernels
