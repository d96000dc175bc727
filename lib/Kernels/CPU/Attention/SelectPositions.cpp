//===- SelectPositions.cpp - the positions that an indexer finds ----------===//
//
// All scores of a token go to scratch as integers of the same order. The least score that is
// taken is found bit by bit, from the highest: of 32 counts none depends on how the scores lie.
//
//===----------------------------------------------------------------------===//
#include "EntryWalk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

constexpr int64_t lanes = 16;

/// Bytes of the scores; behind them is a block of entries.
int64_t gatheredOffset(const SelectSpec &spec) {
  int64_t keys = spec.group ? spec.context / spec.group : spec.context;
  return int64_t(llvm::alignTo(keys, spec.state.blockTokens)) * 4;
}

class SelectEmitter {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  SelectEmitter(ModuleOp module, const SelectSpec &spec, const CPUVariant &variant)
      : spec(spec), kb(module, selectKernelName(spec), variant) {}

  void run();

private:
  void scoreBlock(Value keys, Value query, Value weights, Value scores);
  Values addHeads(Value keys, Value query, Value weights, int64_t heads, ValueRange sums);
  /// Scores from an unsigned number on, among `count`.
  Value countFrom(Value least, Value count, bool above);
  void takeAll(Value count, Value to);
  void takeBest(Value count, Value to);
  void scoreAll(Value token, Value count);
  /// x <= y of unsigned numbers.
  Value le(Value x, Value y) {
    return arith::CmpIOp::create(kb.builder(), kb.loc(), arith::CmpIPredicate::ule, x, y);
  }

  Value entry(Value array, Value index) {
    return kb.toI64(kb.load(kb.i32(), kb.at(array, kb.mul(index, 4)), 4));
  }
  int64_t vectors() const { return spec.state.blockTokens / lanes; }

  const SelectSpec &spec;
  KernelBuilder kb;
  Value q, weights, state, sequences, table, tableStride;
};

/// `sums`, a vector for each 16 positions of the block, with so many heads added.
SelectEmitter::Values SelectEmitter::addHeads(Value keys, Value query, Value weights,
                                              int64_t heads, ValueRange sums) {
  int64_t width = spec.state.keyWidth, positions = spec.state.blockTokens;
  Values dots(heads * vectors(), kb.splat(0));
  dots = kb.loop(kb.c(0), kb.c(width), 1, dots, [&](Value d, ValueRange carried) {
    Values chain(carried);
    Value row = kb.at(keys, kb.mul(d, positions * 4));
    Value channel = kb.at(query, kb.mul(d, 4));
    for (int64_t v = 0; v < vectors(); ++v) {
      Value key = kb.load(kb.vecF(), row, 64, v * lanes * 4);
      for (int64_t h = 0; h < heads; ++h) {
        Value x = kb.broadcast(kb.load(kb.f32(), channel, 4, h * width * 4));
        chain[h * vectors() + v] = kb.fma(x, key, chain[h * vectors() + v]);
      }
    }
    return chain;
  });
  Values result(sums);
  for (int64_t h = 0; h < heads; ++h) {
    Value weight = kb.broadcast(kb.load(kb.f32(), weights, 4, h * 4));
    for (int64_t v = 0; v < vectors(); ++v)
      result[v] = kb.fma(weight, kb.maxf(dots[h * vectors() + v], kb.splat(0)), result[v]);
  }
  return result;
}

void SelectEmitter::scoreBlock(Value keys, Value query, Value weights, Value scores) {
  int64_t tile = std::max<int64_t>(1, (kb.variant().isAVX512() ? 16 : 6) / vectors());
  tile = std::min(tile, spec.heads);
  int64_t whole = spec.heads / tile * tile;
  Values sums(vectors(), kb.splat(0));
  auto from = [&](Value head, int64_t count, ValueRange carried) {
    return addHeads(keys, kb.at(query, kb.mul(head, spec.state.keyWidth * 4)),
                    kb.at(weights, kb.mul(head, 4)), count, carried);
  };
  sums = kb.loop(kb.c(0), kb.c(whole), tile, sums,
                 [&](Value head, ValueRange carried) { return from(head, tile, carried); });
  if (spec.heads > whole)
    sums = from(kb.c(whole), spec.heads - whole, sums);
  // Floats as unsigned numbers of the same order; -0 is 0.
  for (int64_t v = 0; v < vectors(); ++v) {
    Value bits = kb.bitcast(kb.addf(sums[v], kb.splat(0)), kb.vecI());
    Value isNegative = kb.lt(bits, kb.splatI(0));
    Value flip = kb.select(isNegative, kb.splatI(-1), kb.splatI(INT32_MIN));
    kb.store(kb.xori(bits, flip), scores, 64, v * lanes * 4);
  }
}

Value SelectEmitter::countFrom(Value least, Value count, bool above) {
  Value bound = kb.broadcast(least);
  Values lanesFound =
      kb.loop(kb.c(0), count, lanes, {kb.splatI(0)}, [&](Value j, ValueRange found) -> Values {
        Value score = kb.load(kb.vecI(), kb.at(kb.scratch(), kb.mul(j, 4)), 64);
        Value isIn = above ? arith::CmpIOp::create(kb.builder(), kb.loc(),
                                                   arith::CmpIPredicate::ult, bound, score)
                                 .getResult()
                           : le(bound, score);
        isIn = kb.andi(isIn, kb.laneMask(kb.sub(count, j)));
        return {kb.add(found[0], kb.select(isIn, kb.splatI(1), kb.splatI(0)))};
      });
  Value sum = kb.extract(lanesFound[0], 0);
  for (int64_t lane = 1; lane < lanes; ++lane)
    sum = kb.add(sum, kb.extract(lanesFound[0], lane));
  return kb.toI64(sum);
}

/// Fills the row with the positions below `count`, then with -1.
void SelectEmitter::takeAll(Value count, Value to) {
  kb.loop(kb.c(0), kb.c(spec.top), 1, [&](Value j) {
    kb.store(kb.select(kb.lt(j, count), kb.toI32(j), kb.c32(-1)), kb.at(to, kb.mul(j, 4)), 4);
  });
}

void SelectEmitter::takeBest(Value count, Value to) {
  Value top = kb.c(spec.top);
  // The greatest number that at least `top` scores reach.
  Value least = kb.c32(0);
  for (int64_t bit = 31; bit >= 0; --bit) {
    Value higher = kb.ori(least, kb.c32(int32_t(uint32_t(1) << bit)));
    Value enough = kb.le(top, countFrom(higher, count, /*above=*/false));
    least = kb.select(enough, higher, least);
  }
  Value ties = kb.sub(top, countFrom(least, count, /*above=*/true));
  kb.loop(kb.c(0), count, 1, {kb.c(0), ties}, [&](Value j, ValueRange state) -> Values {
    Value score = kb.load(kb.i32(), kb.at(kb.scratch(), kb.mul(j, 4)), 4);
    Value isTie = kb.andi(kb.eq(score, least), kb.lt(kb.c(0), state[1]));
    Value isAbove = kb.andi(le(least, score),
                            kb.xori(kb.eq(score, least), kb.eq(kb.c(0), 0)));
    Value isTaken = kb.ori(isTie, isAbove);
    kb.ifThen(isTaken, [&] { kb.store(kb.toI32(j), kb.at(to, kb.mul(state[0], 4)), 4); });
    Value one = kb.c(1), none = kb.c(0);
    return {kb.add(state[0], kb.select(isTaken, one, none)),
            kb.sub(state[1], kb.select(isTie, one, none))};
  });
}

/// Scores of the keys below `count`, block by block; entries are put into blocks first.
void SelectEmitter::scoreAll(Value token, Value count) {
  int64_t size = spec.state.blockTokens;
  Value sequence = entry(sequences, token);
  Value query = kb.at(kb.at(q, spec.qOffset * 4), kb.mul(token, spec.qStride * 4));
  Value weight = kb.at(kb.at(weights, spec.weightOffset * 4), kb.mul(token, spec.weightStride * 4));
  Value gathered = kb.at(kb.scratch(), gatheredOffset(spec));
  kb.loop(kb.c(0), kb.ceilDiv(count, size), 1, [&](Value index) {
    Value first = kb.mul(index, size), keys = gathered;
    if (spec.group) {
      kb.loop(kb.c(0), kb.min(kb.sub(count, first), size), 1, [&](Value j) {
        gatherEntry(kb, spec.entries(), {state, table, tableStride}, sequence, kb.add(first, j),
                    keys, size, j);
      });
    } else {
      Value number = entry(table, kb.add(kb.mul(sequence, tableStride), index));
      keys = kb.at(state, kb.mul(number, spec.state.blockBytes()));
    }
    scoreBlock(keys, query, weight, kb.at(kb.scratch(), kb.mul(first, 4)));
  });
}

void SelectEmitter::run() {
  if (!spec.heads) {
    Value out = kb.operand(0);
    kb.loop(kb.begin(), kb.end(), 1, [&](Value token) {
      takeAll(kb.c(0), kb.at(out, kb.mul(token, spec.top * 4)));
    });
    kb.finish();
    return;
  }
  q = kb.operand(0);
  weights = kb.operand(1);
  state = kb.operand(2);
  Value out = kb.operand(3), positions = kb.batch(BatchField::Positions);
  sequences = kb.batch(BatchField::TokenSeq);
  table = kb.batch(BatchField::BlockTable);
  tableStride = kb.batch(BatchField::TableStride);
  kb.loop(kb.begin(), kb.end(), 1, [&](Value token) {
    Value count = kb.add(entry(positions, token), 1);
    if (spec.group)
      count = kb.div(count, spec.group);
    Value to = kb.at(out, kb.mul(token, spec.top * 4));
    kb.ifElse(
        kb.le(count, kb.c(spec.top)), [&] { takeAll(count, to); },
        [&] {
          scoreAll(token, count);
          takeBest(count, to);
        });
  });
  kb.finish();
}

} // namespace

std::string checkSelect(const SelectSpec &spec) {
  const PagedState &state = spec.state;
  if (spec.heads == 0)
    return spec.top > 0 ? "" : "a selection of nothing has places";
  if (spec.heads < 0 || state.keyWidth <= 0)
    return "positions are selected by heads with channels";
  if (state.heads != 1 || state.valueWidth != 0)
    return "positions are selected from a state of one head without values, this one has " +
           std::to_string(state.heads) + " heads and values of " +
           std::to_string(state.valueWidth);
  if (state.blockTokens <= 0 || state.blockTokens % 16)
    return "a state block of " + std::to_string(state.blockTokens) +
           " positions is not a multiple of 16";
  if (spec.top <= 0 || spec.context <= 0 || spec.context > INT32_MAX - state.blockTokens)
    return "so many positions of a context are selected, they are " + std::to_string(spec.top) +
           " of " + std::to_string(spec.context);
  if (spec.group && (spec.group < 2 || spec.group > INT32_MAX))
    return "entries are of groups of at least 2 tokens, not of " + std::to_string(spec.group);
  if (spec.qStride < spec.heads * state.keyWidth || spec.weightStride < spec.heads ||
      spec.qOffset < 0 || spec.weightOffset < 0)
    return "rows of q and of the weights are at least as far apart as their heads are wide";
  return "";
}

std::string selectKernelName(const SelectSpec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << spec.heads << ',' << spec.state.keyWidth << ',' << spec.state.blockTokens << ','
     << spec.top << ',' << spec.context << ',' << spec.qStride << ',' << spec.qOffset << ','
     << spec.weightStride << ',' << spec.weightOffset;
  if (spec.group)
    os << ",g" << spec.group;
  return "select_" + std::to_string(spec.heads) + "_" + std::to_string(spec.state.keyWidth) + "_" +
         std::to_string(spec.top) + "_" +
         llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

int64_t selectKernelScratch(const SelectSpec &spec) {
  if (!spec.heads)
    return 0;
  return gatheredOffset(spec) +
         (spec.group ? spec.state.keyWidth * spec.state.blockTokens * 4 : 0);
}

int64_t selectKernelItems(const SelectSpec &, const llmc_batch &batch) { return batch.tokens; }

void buildSelectKernel(ModuleOp module, const SelectSpec &spec, const CPUVariant &variant) {
  assert(checkSelect(spec).empty() && "a valid spec");
  SelectEmitter(module, spec, variant).run();
}

} // namespace llmc::kernels
