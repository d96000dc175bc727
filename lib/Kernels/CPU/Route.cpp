//===- Route.cpp - which experts a token goes to --------------------------===//
//
// Values are compared as integers: a float of 32 bits, its sign bit spread over the
// others where it is set, orders like the number it is. So NaN has a place too (the
// last), and what is no choice any more is less than everything.
//
//===----------------------------------------------------------------------===//
#include "LinearEmitter.h"
#include "llmc/Kernels/CPU/ExpertKernels.h"
#include "llmc/Kernels/CPU/Polynomials.h"
#include "llvm/ADT/bit.h"
#include <limits>

using namespace mlir;

namespace llmc::kernels {
namespace {

constexpr int64_t lanes = 16, accumulators = 4;
constexpr int32_t taken = std::numeric_limits<int32_t>::min(), notANumber = taken + 1;
constexpr float infinity = std::numeric_limits<float>::infinity();

int64_t padded(int64_t count) { return (count + lanes - 1) / lanes * lanes; }

class RouteEmitter {
  using Values = KernelBuilder::Values;

public:
  /// Operands behind the logits begin at `next`.
  RouteEmitter(KernelBuilder &k, const RouteSpec &spec, unsigned next, Value scratch)
      : k(k), spec(spec), scores(scratch) {
    if (spec.bias)
      bias = k.operand(next++);
    if (spec.expertScale)
      expertScale = k.operand(next++);
    if (spec.table)
      table = k.operand(next++);
    choice = k.operand(next++);
    weights = k.operand(next++);
    keys = k.at(scores, padded(spec.experts) * 4);
    groupKeys = k.at(keys, padded(spec.experts) * 4);
  }

  /// The experts of a token, whose logits lie at `logits`.
  void run(Value token, Value logits) {
    row = logits;
    chosen = k.at(choice, k.mul(token, spec.chosen * 4));
    chosenWeights = k.at(weights, k.mul(token, spec.chosen * 4));
    computeScores();
    if (!spec.table)
      computeKeys();
    if (spec.groups)
      keepGroups();
    Value named = spec.table ? namedBy(token) : Value();
    k.loop(k.c(0), k.c(spec.chosen), 1, [&](Value j) {
      Value best = spec.table ? expertAt(named, j) : takeBest(keys, spec.experts);
      k.store(k.toI32(best), k.at(chosen, k.mul(j, 4)), 4);
      Value weight = spec.normalise == RouterNormalise::Margin ? nearWeight(best)
                                                               : element(scores, best);
      k.store(weight, k.at(chosenWeights, k.mul(j, 4)), 4);
    });
    computeWeights();
  }

private:
  Value element(Value base, Value index) {
    return k.load(k.f32(), k.at(base, k.mul(index, 4)), 4);
  }
  /// Lane i: whether `first` + i is below `count`.
  Value present(Value first, int64_t count) { return k.laneMask(k.sub(k.c(count), first)); }
  /// Sixteen of `count` floats from `first` on; `other` past the end.
  Value chunk(Value base, Value first, int64_t count, float other) {
    Value mask = present(first, count);
    Value loaded = k.maskedLoad(k.vecF(), k.at(base, k.mul(first, 4)), mask, 4);
    return k.select(mask, loaded, k.splat(other));
  }

  /// A reduction over the logits in the order of rows: chunk c feeds accumulator c mod 4.
  Value reduce(float neutral, function_ref<Value(Value acc, Value first)> add,
               function_ref<Value(Value, Value)> combine) {
    Values accs(accumulators, k.splat(neutral));
    constexpr int64_t step = lanes * accumulators;
    // Past the end every lane is neutral.
    accs = k.loop(k.c(0), k.c(spec.experts), step, accs, [&](Value first, ValueRange carried) {
      Values next(carried);
      for (int64_t i = 0; i < accumulators; ++i)
        next[size_t(i)] = add(next[size_t(i)], k.add(first, i * lanes));
      return next;
    });
    return combine(combine(accs[0], accs[1]), combine(accs[2], accs[3]));
  }

  void computeScores() {
    Value largest, sum;
    auto exponential = [&](Value first) {
      Value x = k.subf(chunk(row, first, spec.experts, -infinity), largest);
      return k.select(present(first, spec.experts), polyExp(k, x), k.splat(0));
    };
    if (spec.score == RouterScore::Softmax) {
      auto max = [&](Value x, Value y) { return k.maxf(x, y); };
      Value all = reduce(-infinity, [&](Value acc, Value first) {
        return k.maxf(acc, chunk(row, first, spec.experts, -infinity));
      }, max);
      largest = k.broadcast(k.reduceMax(all));
      auto add = [&](Value x, Value y) { return k.addf(x, y); };
      Value total = reduce(0, [&](Value acc, Value first) {
        return k.addf(acc, exponential(first));
      }, add);
      sum = k.broadcast(k.reduceAdd(total));
    }
    k.loop(k.c(0), k.c(spec.experts), lanes, [&](Value first) {
      Value x = chunk(row, first, spec.experts, 0), score = x;
      switch (spec.score) {
      case RouterScore::Softmax:
        score = k.divf(exponential(first), sum);
        break;
      case RouterScore::Sigmoid:
        score = sigmoid(k, x);
        break;
      case RouterScore::SqrtSoftplus:
        score = k.sqrt(emitActivation(k, Activation::Softplus, x));
        break;
      case RouterScore::Identity:
        break;
      }
      k.store(score, k.at(scores, k.mul(first, 4)), 4);
    });
  }

  /// The integer that orders like the float; x + 0 makes -0 the same as 0.
  Value keyOf(Value x) {
    auto vector = dyn_cast<VectorType>(x.getType());
    auto number = [&](int32_t value) { return vector ? k.splatI(value) : k.c32(value); };
    Value zero = vector ? k.splat(0) : k.cf(0);
    Type ints = vector ? Type(k.vecI()) : k.i32();
    Value bits = k.bitcast(k.addf(x, zero), ints);
    Value mirrored = k.xori(bits, number(0x7fffffff));
    Value key = k.select(k.lt(bits, number(0)), mirrored, bits);
    return k.select(k.isNaN(x), number(notANumber), key);
  }

  void computeKeys() {
    k.loop(k.c(0), k.c(spec.experts), lanes, [&](Value first) {
      Value c = k.load(k.vecF(), k.at(scores, k.mul(first, 4)), 4);
      if (spec.bias)
        c = k.addf(c, chunk(bias, first, spec.experts, 0));
      Value key = k.select(present(first, spec.experts), keyOf(c), k.splatI(taken));
      k.store(key, k.at(keys, k.mul(first, 4)), 4);
    });
  }

  /// Experts of groups that are not among the best ones are taken out of the choice.
  void keepGroups() {
    int64_t size = spec.experts / spec.groups;
    k.loop(k.c(0), k.c(padded(spec.groups)), lanes, [&](Value first) {
      k.store(k.splatI(taken), k.at(groupKeys, k.mul(first, 4)), 4);
    });
    k.loop(k.c(0), k.c(spec.groups), 1, [&](Value group) {
      Value begin = k.mul(group, size);
      // The greatest and the second.
      Values top = k.loop(
          begin, k.add(begin, size), 1, {k.cf(-infinity), k.cf(-infinity)},
          [&](Value expert, ValueRange best) -> Values {
            Value c = element(scores, expert);
            if (spec.bias)
              c = k.addf(c, element(bias, expert));
            return {k.maxf(c, best[0]), k.maxf(k.minf(c, best[0]), best[1])};
          });
      Value value =
          spec.groupScore == RouterGroupScore::Max ? top[0] : k.addf(top[0], top[1]);
      k.store(keyOf(value), k.at(groupKeys, k.mul(group, 4)), 4);
    });
    // What is taken here stays.
    k.loop(k.c(0), k.c(spec.keep), 1, [&](Value) { takeBest(groupKeys, spec.groups); });
    k.loop(k.c(0), k.c(spec.groups), 1, [&](Value group) {
      Value key = k.load(k.i32(), k.at(groupKeys, k.mul(group, 4)), 4);
      k.ifElse(k.eq(key, k.c32(taken)), [] {}, [&] {
        Value begin = k.mul(group, size);
        k.loop(begin, k.add(begin, size), 1, [&](Value expert) {
          k.store(k.c32(taken), k.at(keys, k.mul(expert, 4)), 4);
        });
      });
    });
  }

  /// The table's row of a token.
  Value namedBy(Value token) {
    Value ids = k.batch(BatchField::TokenIds);
    Value id = k.toI64(k.load(k.i32(), k.at(ids, k.mul(token, 4)), 4));
    return k.at(table, k.mul(id, spec.chosen * 4));
  }
  /// Whatever was stored, the number is one of an expert.
  Value expertAt(Value named, Value j) {
    Value number = k.minf(element(named, j), k.cf(float(spec.experts - 1)));
    return k.toI64(k.fptosi(k.maxf(number, k.cf(0)), k.i32()));
  }

  /// The number of the greatest of `count` keys, of equal ones the lowest, which is then taken.
  Value takeBest(Value base, int64_t count) {
    Values best = k.loop(
        k.c(0), k.c(count), lanes, {k.splatI(taken), k.iota()},
        [&](Value first, ValueRange state) -> Values {
          Value key = k.load(k.vecI(), k.at(base, k.mul(first, 4)), 4);
          Value number = k.add(k.iota(), k.broadcast(k.toI32(first)));
          Value greater = k.lt(state[0], key);
          return {k.select(greater, key, state[0]), k.select(greater, number, state[1])};
        });
    Value key = best[0], number = best[1];
    for (int64_t width = lanes / 2; width > 0; width /= 2) {
      auto half = [&](Value v, int64_t from) {
        return width > 1 ? k.slice(v, from, width) : k.extract(v, from);
      };
      Value a = half(key, 0), b = half(key, width);
      Value na = half(number, 0), nb = half(number, width);
      Value second = k.ori(k.lt(a, b), k.andi(k.eq(a, b), k.lt(nb, na)));
      key = k.select(second, b, a);
      number = k.select(second, nb, na);
    }
    // Whatever was stored, the number is one of them.
    Value index = k.min(k.max(k.toI64(number), 0), count - 1);
    k.store(k.c32(taken), k.at(base, k.mul(index, 4)), 4);
    return index;
  }

  /// The softmax value of `best`, just taken, over what is near it and was not taken before.
  Value nearWeight(Value best) {
    Value own = k.broadcast(element(scores, best)), number = k.broadcast(k.toI32(best));
    Value sum = reduce(0, [&](Value acc, Value first) {
      Value x = chunk(scores, first, spec.experts, 0);
      Value key = k.select(present(first, spec.experts),
                           k.maskedLoad(k.vecI(), k.at(keys, k.mul(first, 4)),
                                        present(first, spec.experts), 4),
                           k.splatI(taken));
      Value here = k.eq(k.add(k.iota(), k.broadcast(k.toI32(first))), number);
      Value open = k.ori(here, k.lt(k.splatI(taken), key));
      Value distance = k.divf(k.subf(own, x), k.maxf(k.absf(x), own));
      Value far = k.gtf(distance, k.splat(spec.margin));
      Value term = k.select(open, polyExp(k, k.subf(x, own)), k.splat(0));
      return k.addf(acc, k.select(far, k.splat(0), term));
    }, [&](Value x, Value y) { return k.addf(x, y); });
    return k.divf(k.cf(1), k.reduceAdd(sum));
  }

  void computeWeights() {
    Value count = k.c(spec.chosen);
    auto at = [&](Value j) { return k.at(chosenWeights, k.mul(j, 4)); };
    auto total = [&] {
      return k.loop(k.c(0), count, 1, {k.cf(0)}, [&](Value j, ValueRange sum) -> Values {
        return {k.addf(sum[0], element(chosenWeights, j))};
      })[0];
    };
    auto update = [&](function_ref<Value(Value j, Value weight)> change) {
      k.loop(k.c(0), count, 1,
             [&](Value j) { k.store(change(j, element(chosenWeights, j)), at(j), 4); });
    };
    switch (spec.normalise) {
    case RouterNormalise::None:
    case RouterNormalise::Margin:
      break;
    case RouterNormalise::Sum: {
      Value sum = k.addf(total(), k.cf(1e-20f));
      update([&](Value, Value weight) { return k.divf(weight, sum); });
      break;
    }
    case RouterNormalise::Softmax: {
      Value largest = k.loop(k.c(0), count, 1, {k.cf(-infinity)},
                             [&](Value j, ValueRange max) -> Values {
                               return {k.maxf(element(chosenWeights, j), max[0])};
                             })[0];
      update([&](Value, Value weight) { return polyExp(k, k.subf(weight, largest)); });
      Value sum = total();
      update([&](Value, Value weight) { return k.divf(weight, sum); });
      break;
    }
    }
    if (spec.scale != 1)
      update([&](Value, Value weight) { return k.mulf(weight, k.cf(spec.scale)); });
    if (spec.expertScale)
      update([&](Value j, Value weight) {
        Value expert = k.toI64(k.load(k.i32(), k.at(chosen, k.mul(j, 4)), 4));
        return k.mulf(weight, element(expertScale, expert));
      });
  }

  KernelBuilder &k;
  const RouteSpec &spec;
  Value bias, expertScale, table, choice, weights;
  Value scores, keys, groupKeys;
  /// Of the token at hand.
  Value row, chosen, chosenWeights;
};

/// Where a router keeps what, behind the scratch of its product.
struct RouterScratch {
  explicit RouterScratch(const RouterSpec &spec) {
    constexpr int64_t mostTokens = 96, logitBytes = 16 * 1024;
    int64_t fit = logitBytes / (4 * spec.route.experts) / routerItemTokens;
    blockItems = std::clamp<int64_t>(fit, 1, mostTokens / routerItemTokens);
    logits = int64_t(llvm::alignTo(linearKernelScratch(spec.product), 64));
    between = logits + int64_t(llvm::alignTo(
                           blockItems * routerItemTokens * spec.route.experts * 4, 64));
    route = between + (spec.between ? int64_t(llvm::alignTo(rowKernelScratch(*spec.between), 64))
                                    : 0);
    bytes = route + routeKernelScratch(spec.route);
  }
  /// Items whose logits are computed together.
  int64_t blockItems;
  int64_t logits, between, route, bytes;
};

unsigned operandsBefore(const RouterSpec &spec) { return spec.product.bias ? 3 : 2; }
unsigned operandsOfBetween(const RouterSpec &spec) {
  unsigned first = operandsBefore(spec);
  return spec.between ? std::max(spec.between->operandCount(), first) - first : 0;
}

/// The logits of a run of tokens to scratch, then the choice of each.
class RouterEmitter : public LinearEmitter {
public:
  RouterEmitter(KernelBuilder &k, const RouterSpec &spec)
      : LinearEmitter(k, spec.product, WithoutOperands()), router(spec), place(spec),
        choice(k, spec.route, operandsBefore(spec) + operandsOfBetween(spec),
               k.at(k.scratch(), place.route)) {
    x = k.operand(0);
    weights = k.operand(1);
    if (spec.product.bias)
      bias = k.operand(2);
    for (unsigned i = 0; i < operandsOfBetween(spec); ++i)
      constants.push_back(k.operand(operandsBefore(spec) + i));
    out = k.at(k.scratch(), place.logits);
  }

  void run() {
    Value tokens = k.batch(BatchField::Tokens);
    int64_t width = router.route.experts;
    k.whileLoop(
        {k.begin()}, [&](ValueRange item) { return k.lt(item[0], k.end()); },
        [&](ValueRange item) -> Values {
          Value next = k.min(k.end(), k.add(item[0], place.blockItems));
          first = k.mul(item[0], routerItemTokens);
          Value count = k.sub(k.min(tokens, k.mul(next, routerItemTokens)), first);
          k.loop(k.c(0), k.c(linearKernelFactor(spec)), 1, [&](Value panel) {
            Value matrix = k.mul(panel, itemBytes(spec.storage, spec.cols, spec.tile));
            compute(k.at(weights, matrix), panel, first, count);
          });
          k.loop(k.c(0), count, 1, [&](Value t) {
            Value row = k.at(out, k.mul(t, width * 4));
            if (router.between)
              emitBetween(row);
            choice.run(k.add(first, t), row);
          });
          return {next};
        });
  }

private:
  Value outputRow(Value row) override { return k.sub(row, first); }

  void emitBetween(Value row) {
    Values inputs;
    for (const RowOp &op : router.between->ops()) {
      if (op.kind != RowOpKind::Input)
        inputs.push_back(Value());
      else if (op.operand.operand == 0)
        inputs.push_back(row);
      else
        inputs.push_back(k.at(constants[op.operand.operand - operandsBefore(router)],
                              op.operand.offset * 4));
    }
    emitRow(k, *router.between, inputs, {row}, k.at(k.scratch(), place.between));
  }

  const RouterSpec &router;
  RouterScratch place;
  RouteEmitter choice;
  Values constants;
  /// Of the run at hand.
  Value first;
};

const char *nameOf(RouterScore score) {
  switch (score) {
  case RouterScore::Softmax: return "softmax";
  case RouterScore::Sigmoid: return "sigmoid";
  case RouterScore::SqrtSoftplus: return "sqrt_softplus";
  case RouterScore::Identity: return "identity";
  }
  llvm_unreachable("closed enum");
}

} // namespace

std::string checkRoute(const RouteSpec &spec) {
  if (spec.experts < 1 || spec.experts > INT32_MAX / 4)
    return "a router over " + std::to_string(spec.experts) + " experts";
  int64_t open = spec.experts;
  if (spec.normalise == RouterNormalise::Margin && (spec.bias || spec.groups))
    return "a margin of the scores goes without bias and groups";
  if (spec.table < 0 || (spec.table && (spec.bias || spec.groups ||
                                        spec.normalise == RouterNormalise::Margin)))
    return "a table goes without bias, groups and a margin";
  if (spec.groups) {
    if (spec.groups < 1 || spec.experts % spec.groups || spec.keep < 1 || spec.keep > spec.groups)
      return std::to_string(spec.experts) + " experts are not " + std::to_string(spec.groups) +
             " equal groups of which " + std::to_string(spec.keep) + " stay";
    open = spec.experts / spec.groups * spec.keep;
  }
  if (spec.chosen < 1 || spec.chosen > open)
    return std::to_string(spec.chosen) + " of " + std::to_string(open) +
           " experts cannot be chosen";
  return "";
}

std::string routeKernelName(const RouteSpec &spec) {
  std::string name = std::string("route_") + nameOf(spec.score) + "_e" +
                     std::to_string(spec.experts) + "_c" + std::to_string(spec.chosen);
  if (spec.bias)
    name += "_bias";
  if (spec.groups)
    name += "_g" + std::to_string(spec.groups) + "k" + std::to_string(spec.keep) +
            (spec.groupScore == RouterGroupScore::Top2 ? "t" : "m");
  if (spec.normalise == RouterNormalise::Margin)
    name += "_m" + std::to_string(llvm::bit_cast<uint32_t>(spec.margin));
  else if (spec.normalise != RouterNormalise::None)
    name += spec.normalise == RouterNormalise::Sum ? "_sum" : "_softmax";
  if (spec.scale != 1)
    name += "_s" + std::to_string(llvm::bit_cast<uint32_t>(spec.scale));
  if (spec.expertScale)
    name += "_each";
  if (spec.table)
    name += "_t" + std::to_string(spec.table);
  return name;
}

int64_t routeKernelScratch(const RouteSpec &spec) {
  return (2 * padded(spec.experts) + padded(spec.groups)) * 4;
}

void buildRouteKernel(ModuleOp module, const RouteSpec &spec, const CPUVariant &variant) {
  assert(checkRoute(spec).empty() && "check the spec first");
  KernelBuilder k(module, routeKernelName(spec), variant);
  Value logits = k.operand(0);
  RouteEmitter emitter(k, spec, 1, k.scratch());
  k.loop(k.begin(), k.end(), 1, [&](Value token) {
    emitter.run(token, k.at(logits, k.mul(token, spec.experts * 4)));
  });
  k.finish();
}

int64_t routerTile(int64_t experts) { return experts > 32 ? 4 : experts > 16 ? 2 : 1; }

std::string checkRouter(const RouterSpec &spec) {
  const LinearSpec &product = spec.product;
  if (std::string problem = checkLinear(product); !problem.empty())
    return problem;
  if (std::string problem = checkRoute(spec.route); !problem.empty())
    return problem;
  if (product.residual || product.gated || product.activation || product.outputWidth ||
      product.outputStride || product.count != RowCount::Tokens)
    return "a router's product has rows of tokens and nothing but a bias at its end";
  if (product.rows != spec.route.experts)
    return "a product of " + std::to_string(product.rows) + " features is not " +
           std::to_string(spec.route.experts) + " logits";
  if (spec.route.table)
    return "a router chooses by its logits, not by a table";
  if (!spec.between)
    return "";
  const RowProgram &between = *spec.between;
  if (std::string problem = checkRowProgram(between); !problem.empty())
    return "between product and choice: " + problem;
  bool fits = between.width() == spec.route.experts && between.rowsPerToken() == 1 &&
              between.outputs().size() == 1 && between.outputs()[0].operand.operand == 0;
  for (const RowOp &op : between.ops()) {
    const RowOperand &operand = op.operand;
    fits &= op.kind != RowOpKind::PositionScale;
    if (op.kind == RowOpKind::Input && operand.operand != 0)
      fits &= operand.isConstant() && operand.operand >= operandsBefore(spec) &&
              operand.element == RowElement::F32;
  }
  return fits ? "" : "a program between product and choice takes a row of logits and constants";
}

std::string routerKernelName(const RouterSpec &spec) {
  std::string name = "router_" + linearKernelName(spec.product);
  if (spec.between)
    name += "_" + rowKernelName(*spec.between);
  return name + "_" + routeKernelName(spec.route);
}

int64_t routerKernelScratch(const RouterSpec &spec) { return RouterScratch(spec).bytes; }

void buildRouterKernel(ModuleOp module, const RouterSpec &spec, const CPUVariant &variant) {
  assert(checkRouter(spec).empty() && "check the spec first");
  KernelBuilder k(module, routerKernelName(spec), variant);
  RouterEmitter(k, spec).run();
  k.finish();
}

} // namespace llmc::kernels
