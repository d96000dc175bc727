//===- Prologue.cpp - head norms, rotary positions, append ----------------===//
//
// A run of tokens at a time, which follow one another in a block of the state: cosines and sines
// of a token's position go to scratch, then each head of q and k runs through its stages from
// memory to memory, the last of which writes the destination, and v is copied into the token's
// slot. Keys lie position innermost: those of a run are turned in registers, 16 channels at once.
//
//===----------------------------------------------------------------------===//
#include "EntryWalk.h"
#include "Transpose.h"
#include "llmc/Kernels/CPU/Polynomials.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

constexpr int64_t lanes = 16;

int64_t padded(int64_t elements) { return int64_t(llvm::alignTo(elements, lanes)); }

/// Tokens whose keys are appended together at most.
constexpr int64_t runTokens = lanes;

/// Scratch, in this order: a table for each token of a run (cosines, sines), a head for each, a
/// norm's rows.
struct ScratchPlan {
  explicit ScratchPlan(const PrologueSpec &spec) {
    int64_t tokens = spec.append && !spec.group ? runTokens : 1;
    sines = spec.rotary ? padded(spec.rotary->width / 2) * 4 : 0;
    head = tokens * tableBytes();
    headBytes = padded(spec.state.keyWidth) * 4;
    norm = head + tokens * headBytes;
  }
  int64_t tableBytes() const { return 2 * sines; }
  int64_t sines, head, headBytes, norm;
};

/// A number of operands that covers every index used.
unsigned operandCount(const PrologueSpec &spec) {
  unsigned count = spec.append ? *spec.append + 1 : 0;
  for (const std::optional<HeadRows> &rows :
       {spec.q, spec.k, spec.v, spec.qRest, spec.kRest, spec.qOut, spec.kOut})
    if (rows)
      count = std::max(count, rows->operand + 1);
  for (const std::optional<HeadNorm> &norm : {spec.qNorm, spec.kNorm, spec.vNorm})
    for (std::optional<unsigned> vector :
         {norm ? norm->scale : std::nullopt, norm ? norm->bias : std::nullopt})
      if (vector)
        count = std::max(count, *vector + 1);
  return spec.rotary ? std::max(count, spec.rotary->invFreq + 1) : count;
}

/// The norm of one head, which is operand 0; operands 1 and 2 are scale and bias.
RowProgram normProgram(int64_t width, const HeadNorm &norm) {
  RowProgram program(width);
  RowProgram::Node x = program.input(0u);
  RowProgram::Node scale = norm.scale ? program.constant(1, norm.element) : RowProgram::none;
  RowProgram::Node bias = norm.bias ? program.constant(2, norm.element) : RowProgram::none;
  program.output(norm.layer ? program.layerNorm(x, scale, bias, norm.eps)
                            : program.rmsNorm(x, scale, norm.eps, norm.offset),
                 0u);
  return program;
}

/// Channels of a head of q and k that their norm is of.
int64_t normWidth(const PrologueSpec &spec) { return spec.state.keyWidth - spec.rest; }

class PrologueEmitter {
  using Values = KernelBuilder::Values;

public:
  PrologueEmitter(ModuleOp module, const PrologueSpec &spec, const CPUVariant &variant)
      : spec(spec), plan(spec), kb(module, prologueKernelName(spec), variant) {}

  void run();

private:
  /// [from, from + count) step 16: `body` gets byte offsets and the mask of a
  /// partial chunk, null for full ones.
  void chunks(int64_t count, llvm::function_ref<void(Value, Value)> body);
  Value load(Value pointer, Value mask);
  void store(Value value, Value pointer, Value mask);
  void copy(Value from, Value to, int64_t count);

  void turnTable(Value position, Value token);
  void turn(Value from, Value to);
  void turnHalves(Value from, Value to);
  void turnInterleaved(Value from, Value to);
  void norm(const HeadNorm &norm, int64_t width, Value from, Value to);
  /// Whether a head stays in registers from its norm to its rotary.
  bool fitsRegisters(const std::optional<HeadNorm> &headNorm, bool turns) const;
  void normAndTurn(const HeadNorm &headNorm, Value from, Value to);
  /// Takes one head from `from` to `to`; its last channels from `rest` where there is one.
  void stages(const std::optional<HeadNorm> &headNorm, bool turns, Value from, Value rest,
              Value to);
  Value headOf(const HeadRows &rows, Value token, Value head, int64_t width);
  /// Copies keys of one head of some tokens, whose rows lie `stride` bytes apart, into the slots
  /// from `slot` on.
  void appendKeys(Value from, int64_t stride, Value count, Value slot);
  void appendKey(Value from, Value slot);
  void appendTile(ArrayRef<Value> rows, Value channel, int64_t channels, Value mask, Value slot);
  /// Tokens from `token` on that follow one another in one block.
  Value runLength(Value token);
  /// The block that a token's position lies in, and its place there.
  std::pair<Value, Value> placeOf(Value token);
  Value positionOf(Value token);
  void emitQuery(Value token);
  void emitKeys(Value token, Value count);
  void emitValues(Value token);
  /// Of the last token of a group.
  void appendEntry(Value token, Value position);

  const PrologueSpec &spec;
  ScratchPlan plan;
  KernelBuilder kb;
  SmallVector<Value> operands;
  Value table; ///< Cosines and sines of the token at hand.
};

void PrologueEmitter::chunks(int64_t count, llvm::function_ref<void(Value, Value)> body) {
  int64_t full = count / lanes, tail = count % lanes;
  if (full == 1)
    body(kb.c(0), Value());
  else if (full)
    kb.loop(kb.c(0), kb.c(full * lanes * 4), lanes * 4, [&](Value at) { body(at, Value()); });
  if (tail)
    body(kb.c(full * lanes * 4), kb.laneMask(kb.c(tail)));
}

Value PrologueEmitter::load(Value pointer, Value mask) {
  return mask ? kb.maskedLoad(kb.vecF(), pointer, mask, 4) : kb.load(kb.vecF(), pointer, 4);
}

void PrologueEmitter::store(Value value, Value pointer, Value mask) {
  if (mask)
    kb.maskedStore(value, pointer, mask, 4);
  else
    kb.store(value, pointer, 4);
}

void PrologueEmitter::copy(Value from, Value to, int64_t count) {
  chunks(count, [&](Value at, Value mask) {
    store(load(kb.at(from, at), mask), kb.at(to, at), mask);
  });
}

//===----------------------------------------------------------------------===//
// Rotary positions
//===----------------------------------------------------------------------===//

void PrologueEmitter::turnTable(Value position, Value token) {
  Value invFreq = operands[spec.rotary->invFreq];
  if (int64_t beyond = spec.rotary->beyond) {
    auto entry = [&](BatchField array, Value index) {
      return kb.toI64(kb.load(kb.i32(), kb.at(kb.batch(array), kb.mul(index, 4)), 4));
    };
    Value extent = entry(BatchField::Extents, entry(BatchField::TokenSeq, token));
    Value row = kb.select(kb.lt(kb.c(beyond), extent), kb.c(spec.rotary->width / 2 * 4), kb.c(0));
    invFreq = kb.at(invFreq, row);
  }
  Value p = kb.broadcast(kb.sitofp(position, kb.f32()));
  chunks(spec.rotary->width / 2, [&](Value at, Value mask) {
    Value angle = kb.mulf(p, load(kb.at(invFreq, at), mask));
    auto [sine, cosine] = polySinCos(kb, angle);
    if (float magnitude = spec.rotary->magnitude; magnitude != 1) {
      sine = kb.mulf(sine, kb.splat(magnitude));
      cosine = kb.mulf(cosine, kb.splat(magnitude));
    }
    // The table is padded: whole vectors.
    kb.store(cosine, kb.at(table, at), 64);
    kb.store(sine, kb.at(kb.at(table, plan.sines), at), 64);
  });
}

/// Writes the channels that turn.
void PrologueEmitter::turn(Value from, Value to) {
  from = kb.at(from, spec.rotary->first * 4);
  to = kb.at(to, spec.rotary->first * 4);
  if (spec.rotary->pairs == RotaryPairs::Halves)
    turnHalves(from, to);
  else
    turnInterleaved(from, to);
}

void PrologueEmitter::turnHalves(Value from, Value to) {
  int64_t half = spec.rotary->width / 2;
  chunks(half, [&](Value at, Value mask) {
    Value c = kb.load(kb.vecF(), kb.at(table, at), 64);
    Value s = kb.load(kb.vecF(), kb.at(kb.at(table, plan.sines), at), 64);
    Value x = load(kb.at(from, at), mask);
    Value y = load(kb.at(kb.at(from, half * 4), at), mask);
    store(kb.subf(kb.mulf(x, c), kb.mulf(y, s)), kb.at(to, at), mask);
    store(kb.addf(kb.mulf(y, c), kb.mulf(x, s)), kb.at(kb.at(to, half * 4), at), mask);
  });
}

void PrologueEmitter::turnInterleaved(Value from, Value to) {
  SmallVector<int64_t> even, odd, low, high;
  for (int64_t i = 0; i < lanes; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
    low.push_back(i / 2 + (i % 2) * lanes);
    high.push_back(i / 2 + lanes / 2 + (i % 2) * lanes);
  }
  int64_t half = spec.rotary->width / 2;
  chunks(half, [&](Value at, Value mask) {
    Value c = kb.load(kb.vecF(), kb.at(table, at), 64);
    Value s = kb.load(kb.vecF(), kb.at(kb.at(table, plan.sines), at), 64);
    // 16 pairs are 32 channels.
    Value source = kb.at(from, kb.mul(at, 2)), target = kb.at(to, kb.mul(at, 2));
    Value lowMask, highMask;
    if (mask) {
      int64_t channels = 2 * (half % lanes);
      lowMask = kb.laneMask(kb.c(channels));
      highMask = kb.laneMask(kb.c(std::max<int64_t>(channels - lanes, 0)));
    }
    Value first = load(source, lowMask), second = load(kb.at(source, lanes * 4), highMask);
    Value x = kb.shuffle(first, second, even), y = kb.shuffle(first, second, odd);
    Value turnedX = kb.subf(kb.mulf(x, c), kb.mulf(y, s));
    Value turnedY = kb.addf(kb.mulf(y, c), kb.mulf(x, s));
    store(kb.shuffle(turnedX, turnedY, low), target, lowMask);
    store(kb.shuffle(turnedX, turnedY, high), kb.at(target, lanes * 4), highMask);
  });
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

void PrologueEmitter::norm(const HeadNorm &headNorm, int64_t width, Value from, Value to) {
  RowProgram program = normProgram(width, headNorm);
  SmallVector<Value> inputs;
  for (const RowOp &op : program.ops())
    inputs.push_back(op.kind != RowOpKind::Input  ? Value()
                     : op.operand.operand == 0    ? from
                     : op.operand.operand == 1    ? operands[*headNorm.scale]
                                                  : operands[*headNorm.bias]);
  emitRow(kb, program, inputs, {to}, kb.at(kb.scratch(), plan.norm));
}

bool PrologueEmitter::fitsRegisters(const std::optional<HeadNorm> &headNorm, bool turns) const {
  constexpr int64_t mostChunks = 8;
  if (!headNorm || headNorm->layer || headNorm->element != RowElement::F32 || !turns ||
      spec.normAfterRotary || spec.rotary->pairs != RotaryPairs::Halves)
    return false;
  return spec.state.keyWidth % lanes == 0 && spec.state.keyWidth / lanes <= mostChunks &&
         spec.rotary->first % lanes == 0 && spec.rotary->width % (2 * lanes) == 0;
}

/// The same operations in the same order as norm and turnHalves one after another.
void PrologueEmitter::normAndTurn(const HeadNorm &headNorm, Value from, Value to) {
  int64_t width = spec.state.keyWidth, count = width / lanes;
  SmallVector<Value> x;
  SmallVector<Value, 4> sums(4, kb.splat(0));
  for (int64_t i = 0; i < count; ++i) {
    x.push_back(kb.load(kb.vecF(), from, 4, i * lanes * 4));
    sums[i % 4] = kb.fma(x[i], x[i], sums[i % 4]);
  }
  Value sum = kb.reduceAdd(kb.addf(kb.addf(sums[0], sums[1]), kb.addf(sums[2], sums[3])));
  Value mean = kb.divf(sum, kb.cf(float(width)));
  Value r = kb.broadcast(kb.divf(kb.cf(1), kb.sqrt(kb.addf(mean, kb.cf(headNorm.eps)))));
  for (int64_t i = 0; i < count; ++i) {
    x[i] = kb.mulf(x[i], r);
    if (!headNorm.scale)
      continue;
    Value scale = kb.load(kb.vecF(), operands[*headNorm.scale], 4, i * lanes * 4);
    x[i] = kb.mulf(x[i], headNorm.offset != 0 ? kb.addf(kb.splat(headNorm.offset), scale) : scale);
  }
  int64_t first = spec.rotary->first / lanes, half = spec.rotary->width / 2 / lanes;
  for (int64_t i = 0; i < half; ++i) {
    Value c = kb.load(kb.vecF(), table, 64, i * lanes * 4);
    Value s = kb.load(kb.vecF(), table, 64, plan.sines + i * lanes * 4);
    Value a = x[first + i], b = x[first + half + i];
    x[first + i] = kb.subf(kb.mulf(a, c), kb.mulf(b, s));
    x[first + half + i] = kb.addf(kb.mulf(b, c), kb.mulf(a, s));
  }
  for (int64_t i = 0; i < count; ++i)
    kb.store(x[i], to, 4, i * lanes * 4);
}

void PrologueEmitter::stages(const std::optional<HeadNorm> &headNorm, bool turns, Value from,
                             Value rest, Value to) {
  int64_t width = spec.state.keyWidth;
  if (!rest && fitsRegisters(headNorm, turns))
    return normAndTurn(*headNorm, from, to);
  if (rest) {
    int64_t own = normWidth(spec);
    if (headNorm)
      norm(*headNorm, own, from, to);
    else
      copy(from, to, own);
    copy(rest, kb.at(to, own * 4), spec.rest);
    if (turns)
      turn(to, to);
    return;
  }
  auto turnAll = [&](Value source) {
    if (source != to) {
      copy(source, to, spec.rotary->first);
      int64_t end = (spec.rotary->first + spec.rotary->width) * 4;
      copy(kb.at(source, end), kb.at(to, end), width - end / 4);
    }
    turn(source, to);
  };
  bool turnFirst = turns && (spec.normAfterRotary || !headNorm);
  if (turnFirst)
    turnAll(from);
  else if (!headNorm && from != to)
    copy(from, to, width);
  if (headNorm)
    norm(*headNorm, width, turnFirst ? to : from, to);
  if (turns && !turnFirst)
    turn(to, to);
}

Value PrologueEmitter::headOf(const HeadRows &rows, Value token, Value head, int64_t width) {
  Value at = kb.add(kb.mul(token, rows.stride), kb.mul(head, rows.inner ? rows.inner : width));
  return kb.at(kb.at(operands[rows.operand], rows.offset * 4), kb.mul(at, 4));
}

/// One element to a row of blockTokens.
void PrologueEmitter::appendKey(Value from, Value slot) {
  int64_t width = spec.state.keyWidth;
  int64_t unroll = width % 8 == 0 ? 8 : width % 4 == 0 ? 4 : 1;
  int64_t row = spec.state.blockTokens * 4;
  kb.loop(kb.c(0), kb.c(width), unroll, [&](Value d) {
    Value source = kb.at(from, kb.mul(d, 4)), target = kb.at(slot, kb.mul(d, row));
    for (int64_t i = 0; i < unroll; ++i)
      kb.store(kb.load(kb.f32(), source, 4, i * 4), target, 4, i * row);
  });
}

void PrologueEmitter::appendTile(ArrayRef<Value> rows, Value channel, int64_t channels, Value mask,
                                 Value slot) {
  Value channelMask = channels < lanes ? kb.laneMask(kb.c(channels)) : Value();
  SmallVector<Value> tile;
  for (Value row : rows)
    tile.push_back(load(kb.at(row, kb.mul(channel, 4)), channelMask));
  transposeTile(kb, tile);
  Value to = kb.at(slot, kb.mul(channel, spec.state.blockTokens * 4));
  for (int64_t i = 0; i < channels; ++i)
    kb.maskedStore(tile[i], kb.at(to, i * spec.state.blockTokens * 4), mask, 4);
}

void PrologueEmitter::appendKeys(Value from, int64_t stride, Value count, Value slot) {
  // A tile costs as much as some of its rows one by one.
  constexpr int64_t fewTokens = 3;
  int64_t width = spec.state.keyWidth, whole = width / lanes * lanes;
  kb.ifElse(
      kb.le(count, kb.c(fewTokens)),
      [&] {
        kb.loop(kb.c(0), count, 1, [&](Value i) {
          appendKey(kb.at(from, kb.mul(i, stride)), kb.at(slot, kb.mul(i, 4)));
        });
      },
      [&] {
        // Lanes behind the last token read it once more and are not stored.
        SmallVector<Value> rows;
        for (int64_t i = 0; i < runTokens; ++i)
          rows.push_back(kb.at(from, kb.mul(kb.min(kb.c(i), kb.sub(count, 1)), stride)));
        Value mask = kb.laneMask(count);
        kb.loop(kb.c(0), kb.c(whole), lanes,
                [&](Value channel) { appendTile(rows, channel, lanes, mask, slot); });
        if (width > whole)
          appendTile(rows, kb.c(whole), width - whole, mask, slot);
      });
}

void PrologueEmitter::appendEntry(Value token, Value position) {
  table = kb.scratch();
  Value first = kb.sub(position, kb.c32(int32_t(spec.group - 1)));
  if (spec.rotary)
    turnTable(first, token);
  Value from = headOf(*spec.k, token, kb.c(0), spec.state.keyWidth);
  Value to = spec.kNorm || spec.rotary ? kb.at(kb.scratch(), plan.head) : from;
  stages(spec.kNorm, spec.rotary && spec.kTurns, from, Value(), to);
  Value sequences = kb.batch(BatchField::TokenSeq);
  Value sequence = kb.toI64(kb.load(kb.i32(), kb.at(sequences, kb.mul(token, 4)), 4));
  EntryPlaces places{operands[*spec.append], kb.batch(BatchField::BlockTable),
                     kb.batch(BatchField::TableStride)};
  Value number = kb.div(kb.toI64(first), spec.group);
  forEntryRuns(kb, spec.entries(), places, sequence, number, [&](const EntryRun &run) {
    Value source = kb.at(to, kb.mul(run.channel, 4)), bytes = kb.mul(run.count, 4);
    Value full = kb.mul(kb.div(run.count, lanes), lanes * 4);
    kb.loop(kb.c(0), full, lanes * 4, [&](Value at) {
      kb.store(kb.load(kb.vecF(), kb.at(source, at), 4), kb.at(run.pointer, at), 4);
    });
    kb.loop(full, bytes, 4, [&](Value at) {
      kb.store(kb.load(kb.f32(), kb.at(source, at), 4), kb.at(run.pointer, at), 4);
    });
  });
}

Value PrologueEmitter::positionOf(Value token) {
  return kb.load(kb.i32(), kb.at(kb.batch(BatchField::Positions), kb.mul(token, 4)), 4);
}

std::pair<Value, Value> PrologueEmitter::placeOf(Value token) {
  const PagedState &state = spec.state;
  Value position = kb.toI64(positionOf(token));
  Value sequences = kb.batch(BatchField::TokenSeq);
  Value sequence = kb.toI64(kb.load(kb.i32(), kb.at(sequences, kb.mul(token, 4)), 4));
  Value entry = kb.add(kb.mul(sequence, kb.batch(BatchField::TableStride)),
                       kb.div(position, state.blockTokens));
  Value blocks = kb.batch(BatchField::BlockTable);
  Value index = kb.toI64(kb.load(kb.i32(), kb.at(blocks, kb.mul(entry, 4)), 4));
  return {kb.at(operands[*spec.append], kb.mul(index, state.blockBytes())),
          kb.rem(position, state.blockTokens)};
}

Value PrologueEmitter::runLength(Value token) {
  Value sequences = kb.batch(BatchField::TokenSeq);
  auto sequenceOf = [&](Value at) {
    return kb.load(kb.i32(), kb.at(sequences, kb.mul(at, 4)), 4);
  };
  Value first = kb.toI64(positionOf(token)), sequence = sequenceOf(token);
  Value room = kb.sub(kb.c(spec.state.blockTokens), kb.rem(first, spec.state.blockTokens));
  Value most = kb.min(kb.min(room, runTokens), kb.sub(kb.end(), token));
  return kb.whileLoop(
      {kb.c(1)},
      [&](ValueRange n) {
        // The entry is read before it is known to be inside.
        Value next = kb.add(token, kb.min(n[0], kb.sub(most, 1)));
        Value follows = kb.andi(kb.eq(sequenceOf(next), sequence),
                                kb.eq(kb.toI64(positionOf(next)), kb.add(first, n[0])));
        return kb.andi(kb.lt(n[0], most), follows);
      },
      [&](ValueRange n) -> Values { return {kb.add(n[0], 1)}; })[0];
}

void PrologueEmitter::emitQuery(Value token) {
  kb.loop(kb.c(0), kb.c(spec.heads), 1, [&](Value head) {
    Value from = headOf(*spec.q, token, head, normWidth(spec));
    Value rest = spec.qRest ? headOf(*spec.qRest, token, head, spec.rest) : Value();
    Value to = spec.qOut ? headOf(*spec.qOut, token, head, spec.state.keyWidth) : from;
    stages(spec.qNorm, spec.rotary && spec.qTurns, from, rest, to);
  });
}

void PrologueEmitter::emitValues(Value token) {
  const PagedState &state = spec.state;
  auto [block, slot] = placeOf(token);
  kb.loop(kb.c(0), kb.c(state.heads), 1, [&, block = block, slot = slot](Value head) {
    Value values = kb.at(kb.at(block, kb.mul(head, state.headBytes())), state.valueOffset());
    Value from = headOf(*spec.v, token, head, state.valueWidth);
    Value to = kb.at(values, kb.mul(slot, state.valueWidth * 4));
    if (spec.vNorm)
      norm(*spec.vNorm, state.valueWidth, from, to);
    else
      copy(from, to, state.valueWidth);
  });
}

void PrologueEmitter::emitKeys(Value token, Value count) {
  const PagedState &state = spec.state;
  bool turns = spec.rotary && spec.kTurns;
  bool isChanged = spec.kNorm || turns || spec.kRest;
  Value block, slot;
  if (spec.append)
    std::tie(block, slot) = placeOf(token);
  kb.loop(kb.c(0), kb.c(state.heads), 1, [&](Value head) {
    auto placeFor = [&](Value i, Value of) {
      return spec.kOut                    ? headOf(*spec.kOut, of, head, state.keyWidth)
             : !spec.append || !isChanged ? headOf(*spec.k, of, head, normWidth(spec))
                                          : kb.at(kb.at(kb.scratch(), plan.head),
                                                  kb.mul(i, plan.headBytes));
    };
    kb.loop(kb.c(0), count, 1, [&](Value i) {
      Value of = kb.add(token, i);
      table = kb.at(kb.scratch(), kb.mul(i, plan.tableBytes()));
      Value rest = spec.kRest ? headOf(*spec.kRest, of, head, spec.rest) : Value();
      stages(spec.kNorm, turns, headOf(*spec.k, of, head, normWidth(spec)), rest,
             placeFor(i, of));
    });
    if (!spec.append)
      return;
    int64_t stride = spec.kOut    ? spec.kOut->stride * 4
                     : !isChanged ? spec.k->stride * 4
                                  : plan.headBytes;
    Value keys = kb.at(block, kb.mul(head, state.headBytes()));
    appendKeys(placeFor(kb.c(0), token), stride, count, kb.at(keys, kb.mul(slot, 4)));
  });
}

void PrologueEmitter::run() {
  for (unsigned i = 0, count = operandCount(spec); i < count; ++i)
    operands.push_back(kb.operand(i));
  if (spec.group) {
    kb.loop(kb.begin(), kb.end(), 1, [&](Value token) {
      Value position = positionOf(token);
      Value place = kb.rem(kb.toI64(position), spec.group);
      kb.ifThen(kb.eq(place, spec.group - 1), [&] { appendEntry(token, position); });
    });
    kb.finish();
    return;
  }
  kb.whileLoop({kb.begin()}, [&](ValueRange next) { return kb.lt(next[0], kb.end()); },
               [&](ValueRange next) -> Values {
                 Value first = next[0], count = spec.append ? runLength(first) : kb.c(1);
                 kb.loop(kb.c(0), count, 1, [&](Value i) {
                   Value token = kb.add(first, i);
                   table = kb.at(kb.scratch(), kb.mul(i, plan.tableBytes()));
                   if (spec.rotary)
                     turnTable(positionOf(token), token);
                   if (spec.q)
                     emitQuery(token);
                   if (spec.append && spec.v)
                     emitValues(token);
                 });
                 if (spec.k)
                   emitKeys(first, count);
                 return {kb.add(first, count)};
               });
  kb.finish();
}

} // namespace

int64_t prologueKernelScratch(const PrologueSpec &spec) {
  int64_t bytes = ScratchPlan(spec).norm;
  auto count = [&](const std::optional<HeadNorm> &norm, int64_t width) {
    if (norm)
      bytes = std::max(bytes, ScratchPlan(spec).norm + rowKernelScratch(normProgram(width, *norm)));
  };
  count(spec.qNorm, normWidth(spec));
  count(spec.kNorm, normWidth(spec));
  count(spec.vNorm, spec.state.valueWidth);
  return bytes;
}

int64_t prologueKernelItems(const PrologueSpec &, const llmc_batch &batch) { return batch.tokens; }

void buildPrologueKernel(ModuleOp module, const PrologueSpec &spec, const CPUVariant &variant) {
  PrologueEmitter(module, spec, variant).run();
}

} // namespace llmc::kernels
