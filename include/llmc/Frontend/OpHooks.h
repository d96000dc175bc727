//===- OpHooks.h - who receives the operations of a model -------*- C++ -*-===//
//
// The statements of a description are run once, by one interpreter, for several
// receivers: the importer builds `llm` operations, the inspector follows shapes
// and counts state, the ledger compares layers.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_OPHOOKS_H
#define LLMC_FRONTEND_OPHOOKS_H

#include "llmc/Frontend/Value.h"

#include <string_view>
#include <utility>

namespace llmc::frontend {

/// One operation. Names and arguments (in this order; named ones marked with a colon):
///   embedding(tokens, w, otherwise:)  linear(x, w [, w2, w3]) -> one result per weight
///   rms_norm(x, w, eps)               layer_norm(x, w, b, eps)
///   split_heads(x, heads, headDim)    merge_heads(x)
///   rotary(x, rope, from:, inverse:)  head_linear(x, w)
///   attend(q, k, v, kind, window:, chunk:, scale:, softcap:, sinks:, selection:, values:,
///          alibi:, alibi_factor:)     select_positions(q, w, k, top:)
///   no_positions(n)                   pool_tokens(v, g, w, overlap:)
///   select_entries(q, w, entry, every:, rope:, from:, top:)
///   joint_attend(q, k, entry, every:, rope:, from:, values:, scale:, window:, sinks:, selection:)
///   sinkhorn(c, steps:, eps:)
///   gate(g, u, act:)  act(g) * u      activation(x, act)
///   residual_add(x, y)  from `x + y`  scale(x, factor)  from `x * number`
///   add, sub, mul, div, min, max(x, y)  from operators with a weight, and of two tensors; one
///     of the two may be a weight
///   offset(x, number)  from `x + number`  weight_rows(w)
///   clamp(x, low, high)               softmax(x)
///   mean(x)  deviation(x)  sum(x)     row_max(x)  from `max(x)`
///   slice(x, from, size)              concat(x, y, ...)
///   transpose(x)                      mix(c, x)
///   take(x, n, layer:)                put(x, n, row, layer:)
///   position_scale(scale:, period:, shift:)
///   select_rows(x)                    output_head(x, w)
///   observe(x, "name") -> x           layers(x [, s], with: p): run the layer schedule
///   route(logits, score:, top:, bias:, groups:, keep:, group_score:, normalise:, scale:,
///         expert_scale:, table:, tokens:) -> choice, weights
///   expert_linear(x, choice, w [, w2]) -> one result per weight
///   expert_sum(x [, weights])         expert_spread(x, weights)
///   causal_conv(x, w [, bias])        linear_attention(q, k, v, decay, beta:, delta:, scale:,
///   token_shift(x)                        rank_one: (a, b), before:)
/// The bias of a linear, an expert_linear or a causal_conv is implied by WeightRef::biasFamily.
struct OpCall {
  std::string name;
  ValueList args;
  std::vector<std::pair<std::string, Value>> named;
  SourceLocation location;
  /// Blocks from the outside in, joined by dots: "decoder.attention"; "model" at the top.
  std::string path;

  /// The named argument, or null.
  const Value *findNamed(std::string_view argument) const;
  /// The named argument, or null where it is left out or is null.
  const Value *findGiven(std::string_view argument) const;
};

/// How many results the operation has: one for each weight of a product, and two of a route.
size_t resultCount(const OpCall &call);
/// Of `layers(x, s, with: (p, q))`: the tensors that every layer is given beside the carried
/// ones, p and q. Throws InputError for anything else.
ValueList stepValues(const OpCall &call);
/// The tensors that a layer of this kind hands on, as many as `layers` carries.
ValueList carriedValues(const OpCall &call, const Value &result, const std::string &kind);
/// Whether the operation adds the biases that its weights have.
bool addsBiases(std::string_view operation);

class OpHooks {
public:
  virtual ~OpHooks() = default;
  /// Performs one operation; returns its results. Throw InputError (see `opError`) for an
  /// operation or arguments that cannot be had.
  virtual std::vector<Value> op(const OpCall &call) = 0;
};

/// InputError text "file:line:column: in PATH, OP(...): message".
[[noreturn]] void opError(const OpCall &call, const std::string &message);

/// Argument checks that name operation, position and what stands there instead.
Handle handleArg(const OpCall &call, size_t index);
const WeightRef &weightArg(const OpCall &call, size_t index);
int64_t intArg(const OpCall &call, size_t index);
double numberArg(const OpCall &call, size_t index);
const std::string &textArg(const OpCall &call, size_t index);
RopeRef ropeArg(const OpCall &call, size_t index);
/// A named argument that may be left out or null, which both give null.
const WeightRef *weightOrNull(const OpCall &call, std::string_view argument);
/// The same for a tensor, which must be `what`.
const Handle *handleOrNull(const OpCall &call, std::string_view argument, const char *what);

/// Inside a layer, an `observe` name is a template such as "hidden.{i+1}", since the layers
/// of one kind share their code. This gives the name for a layer.
std::string expandLayerName(std::string_view nameTemplate, int64_t layer);
/// The name of an expert's tensor: {e} becomes the number.
std::string expandExpertName(std::string_view nameTemplate, int64_t expert);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_OPHOOKS_H
