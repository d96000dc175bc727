//===- ExpertKernels.h - routers, products of experts -----------*- C++ -*-===//
//
// What stands between a router's logits and the sum over the experts of a token:
//
//   route           which experts, and with what weights
//   router          a product whose rows are logits, and route of these
//   expert product  y[t, j] = w[choice[t, j]] x[t] or x[t, j], with the ends of a
//                   linear kernel; every output the same chain as there
//   expert sum      y[t] = sum_j weights[t, j] * x[t, j]
//   expert spread   y[t, j] = weights[t, j] * x[t]
//
// x, y and weights are f32 rows, a choice is i32 [tokens, chosen]. Whatever the
// numbers are, NaN among them, a router chooses experts that exist, and different ones without a
// table; a product leaves the row of a choice that names no expert as it was.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_EXPERTKERNELS_H
#define LLMC_KERNELS_CPU_EXPERTKERNELS_H

#include "llmc/Kernels/CPU/LinearKernels.h"

namespace llmc::kernels {

enum class RouterScore : uint8_t { Softmax, Sigmoid, SqrtSoftplus, Identity };
enum class RouterGroupScore : uint8_t { Max, Top2 };
enum class RouterNormalise : uint8_t { None, Sum, Softmax, Margin };

/// Operands: logits, bias (if any), expert scale (if any), table (if any), choice, weights. Items:
/// tokens.
///
///   s = score(l)                  softmax: exp(l - max) / sum, the sum in the order of rows
///                                 (RowKernels.h); sqrt_softplus: sqrt(softplus(l))
///   c = s + bias
///   groups: the `keep` runs of experts / groups whose greatest c, or sum of the two greatest
///           c, is greatest
///   choice: the `chosen` greatest c of these, in descending order; with a table, f32
///           [rows][chosen], its row of the token's id, in the table's order
///   w_j = s[choice_j]             sum: w_j / ((w_0 + w_1 + ...) + 1e-20), ascending;
///                                 softmax: of the chosen alone, its sum ascending;
///                                 margin: 1 / sum exp(s_e - w_j) over the e that are not among
///                                 the earlier choices, without those of
///                                 (w_j - s_e) / max(|s_e|, w_j) > margin, in the order of rows
///   w_j * scale, then * expert scale[choice_j]
///
/// Of equal values the lower number goes first; -0 is 0, and NaN is less than all others.
struct RouteSpec {
  int64_t experts = 0, chosen = 0;
  RouterScore score = RouterScore::Softmax;
  RouterNormalise normalise = RouterNormalise::None;
  float scale = 1;
  bool bias = false, expertScale = false;
  /// 0: all experts are one group.
  int64_t groups = 0, keep = 0;
  RouterGroupScore groupScore = RouterGroupScore::Max;
  /// Of RouterNormalise::Margin, which goes without bias and groups.
  float margin = 0;
  /// Rows of the table, which goes without bias, groups and a margin; 0: there is none. Token ids
  /// stay below.
  int64_t table = 0;
};

std::string checkRoute(const RouteSpec &spec);
std::string routeKernelName(const RouteSpec &spec);
int64_t routeKernelScratch(const RouteSpec &spec);
void buildRouteKernel(mlir::ModuleOp module, const RouteSpec &spec, const CPUVariant &variant);

/// The logits' product and the choice in one: operands x, weights, bias (if any), those of `between`,
/// then those of a RouteSpec behind its logits. What a linear kernel, a kernel of rows and a route
/// kernel compute one after another, without a table. Items: routerItemTokens tokens each, all
/// experts of them.
struct RouterSpec {
  /// Without residual, activation, distance of outputs and a count of outputs.
  LinearSpec product;
  /// Of each row of logits, before the choice: a program over its width, one row a token, whose only
  /// output has operand 0. Its input of operand 0 is the row; others are constants.
  std::optional<RowProgram> between;
  RouteSpec route;
};
/// Few enough that short steps are shared, as many as a product computes while it decodes.
inline constexpr int64_t routerItemTokens = 4;

std::string checkRouter(const RouterSpec &spec);
std::string routerKernelName(const RouterSpec &spec);
int64_t routerKernelScratch(const RouterSpec &spec);
void buildRouterKernel(mlir::ModuleOp module, const RouterSpec &spec, const CPUVariant &variant);
/// Panels of an item of the weight: sums of all that stay in registers, since no other thread waits
/// for the rest.
int64_t routerTile(int64_t experts);

/// Operands: x, choice, weights, bias (if any), out. The weights are one packed matrix an expert,
/// each `expertBytes` long, and the biases likewise; without residual, distances or a count of
/// outputs. Items: each does one expert for one item of its matrix and finds the rows that go
/// there itself. They are numbered so that a range of them holds all experts for some features,
/// whatever the step chose.
struct ExpertLinearSpec {
  LinearSpec product;
  int64_t experts = 0, chosen = 0;
  /// x is [tokens, chosen, cols], else [tokens, cols].
  bool rowsOfChoices = false;

  int64_t expertBytes() const;
  int64_t biasBytes() const;
};

std::string checkExpertLinear(const ExpertLinearSpec &spec);
std::string expertLinearKernelName(const ExpertLinearSpec &spec);
int64_t expertLinearKernelScratch(const ExpertLinearSpec &spec);
int64_t expertLinearKernelItems(const ExpertLinearSpec &spec);
void buildExpertLinearKernel(mlir::ModuleOp module, const ExpertLinearSpec &spec,
                             const CPUVariant &variant);

/// Operands of a sum: x [tokens, chosen, width], weights [tokens, chosen] (if any), residual (if
/// any; with `inPlace` it is out and no operand of its own), out. One chain of fused
/// multiply-adds from zero in ascending j, without weights of additions; then residual + sum.
/// Operands of a spread: x [tokens, width], weights, out [tokens, chosen, width]. Items: tokens.
struct ExpertCombineSpec {
  int64_t chosen = 0, width = 0;
  bool spread = false, weights = true, residual = false, inPlace = false;
};

std::string checkExpertCombine(const ExpertCombineSpec &spec);
std::string expertCombineKernelName(const ExpertCombineSpec &spec);
void buildExpertCombineKernel(mlir::ModuleOp module, const ExpertCombineSpec &spec,
                              const CPUVariant &variant);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_EXPERTKERNELS_H
