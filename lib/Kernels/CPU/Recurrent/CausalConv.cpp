//===- CausalConv.cpp - short convolution of channels along sequences -----===//
//
// The last taps - 1 inputs of some vectors of channels stay in registers while the
// tokens of the sequence pass; the state is read before the first and written after
// the last. Several vectors at a time, so that a row's channels are read line after
// line and not one line of each row.
//
//===----------------------------------------------------------------------===//
#include "SequenceWalk.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

constexpr int64_t lanes = 16;

class ConvEmitter {
public:
  ConvEmitter(ModuleOp module, const ConvSpec &spec, const CPUVariant &variant)
      : spec(spec), kb(module, convKernelName(spec), variant) {
    // Windows and sums in registers; weights may come from memory. A logical vector takes
    // two registers where they are half as wide.
    int64_t registers = variant.vectorRegisters * variant.vectorBits / (32 * lanes);
    while (together > 1 && together * spec.taps > registers - 4)
      together /= 2;
  }

  void run() {
    x = kb.operand(spec.x.operand);
    if (!spec.shift)
      weight = kb.operand(spec.weight);
    if (spec.bias)
      bias = kb.operand(*spec.bias);
    Value state = kb.operand(spec.state);
    out = kb.operand(spec.out.operand);
    overSequences(kb, state, spec.slotBytes, convItemsPerSequence(spec),
                  [&](const SequenceWalk &walk) { item(walk); });
    kb.finish();
  }

private:
  using Values = KernelBuilder::Values;

  /// `count` vectors from channel `channel` on; the mask is for a single, partial one.
  void vectors(const SequenceWalk &walk, Value channel, int64_t count, Value mask);
  void item(const SequenceWalk &walk);
  Values taps(Value channel, Value mask);
  Value rowAt(Value base, const StepRows &rows, Value row, Value channel) {
    Value elements = kb.add(kb.mul(row, rows.stride), channel);
    return kb.at(kb.at(base, rows.offset * 4), kb.mul(elements, 4));
  }

  const ConvSpec &spec;
  KernelBuilder kb;
  int64_t together = itemColumns / lanes;
  Value x, weight, bias, out;
};

/// The weights of 16 channels, one vector a tap: [channels][taps] turned in registers.
ConvEmitter::Values ConvEmitter::taps(Value channel, Value mask) {
  Value from = kb.at(weight, kb.mul(channel, spec.taps * 4));
  Values stored, turned;
  for (int64_t i = 0; i < spec.taps; ++i) {
    Value vector = mask ? kb.laneMask(kb.sub(kb.mul(kb.sub(kb.c(spec.channels), channel), spec.taps),
                                             i * lanes))
                        : Value();
    stored.push_back(loadColumns(kb, kb.at(from, i * lanes * 4), vector));
  }
  for (int64_t k = 0; k < spec.taps; ++k) {
    Value tap;
    SmallVector<int64_t> place(lanes, 0);
    for (int64_t i = 0; i < spec.taps; ++i) {
      bool any = false;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        int64_t at = lane * spec.taps + k;
        bool isHere = at / lanes == i;
        any |= isHere;
        place[lane] = isHere ? at % lanes + (tap ? lanes : 0) : lane;
      }
      if (any)
        tap = tap ? kb.shuffle(tap, stored[i], place) : kb.shuffle(stored[i], stored[i], place);
    }
    turned.push_back(tap);
  }
  return turned;
}

void ConvEmitter::vectors(const SequenceWalk &walk, Value channel, int64_t count, Value mask) {
  int64_t past = spec.taps - 1, vectorBytes = lanes * 4;
  Value held = kb.at(walk.slot, kb.mul(channel, 4));
  SmallVector<Values> weights;
  Values windows, biases;
  for (int64_t v = 0; v < count; ++v) {
    if (!spec.shift)
      weights.push_back(taps(kb.add(channel, v * lanes), mask));
    for (int64_t k = 0; k < past; ++k) {
      Value old = loadColumns(kb, kb.at(held, k * spec.channels * 4 + v * vectorBytes), mask);
      windows.push_back(kb.select(kb.broadcast(walk.isStart), kb.splat(0), old));
    }
    if (spec.bias)
      biases.push_back(
          loadColumns(kb, kb.at(kb.at(bias, kb.mul(channel, 4)), v * vectorBytes), mask));
  }
  windows = kb.loop(walk.first, walk.last, 1, windows, [&](Value row, ValueRange carried) {
    Value from = rowAt(x, spec.x, row, channel), to = rowAt(out, spec.out, row, channel);
    Values next;
    for (int64_t v = 0; v < count; ++v) {
      Value input = loadColumns(kb, kb.at(from, v * vectorBytes), mask);
      Value sum = kb.splat(0);
      if (spec.shift) {
        sum = carried[v];
      } else {
        for (int64_t k = 0; k < past; ++k)
          sum = kb.fma(weights[v][k], carried[v * past + k], sum);
        sum = kb.fma(weights[v][past], input, sum);
      }
      if (spec.bias)
        sum = kb.addf(sum, biases[v]);
      if (spec.activation)
        sum = emitActivation(kb, *spec.activation, sum);
      storeColumns(kb, sum, kb.at(to, v * vectorBytes), mask);
      for (int64_t k = 1; k < past; ++k)
        next.push_back(carried[v * past + k]);
      next.push_back(input);
    }
    return next;
  });
  for (int64_t v = 0; v < count; ++v)
    for (int64_t k = 0; k < past; ++k)
      storeColumns(kb, windows[v * past + k],
                   kb.at(held, k * spec.channels * 4 + v * vectorBytes), mask);
}

void ConvEmitter::item(const SequenceWalk &walk) {
  Value channel = kb.mul(walk.part, itemColumns);
  Value end = kb.min(kb.add(channel, itemColumns), spec.channels);
  Value width = kb.sub(end, channel);
  int64_t step = together * lanes;
  Value whole = kb.add(channel, kb.mul(kb.div(width, step), step));
  kb.loop(channel, whole, step, [&](Value at) { vectors(walk, at, together, Value()); });
  if (spec.channels % step)
    kb.loop(whole, end, lanes, [&](Value at) {
      vectors(walk, at, 1, kb.laneMask(kb.sub(end, at)));
    });
}

} // namespace

std::string checkConv(const ConvSpec &spec) {
  if (spec.channels <= 0)
    return "a convolution needs channels";
  if (spec.taps < 2 || spec.taps > mostConvTaps)
    return "a convolution of " + std::to_string(spec.taps) + " taps; kernels have 2 to " +
           std::to_string(mostConvTaps);
  if (spec.shift && (spec.taps != 2 || spec.bias))
    return "a token shift has two taps and no bias";
  if (spec.x.stride < spec.channels || spec.out.stride < spec.channels)
    return "rows of " + std::to_string(spec.channels) + " channels would overlap";
  if (spec.slotBytes < spec.stateBytes() || spec.slotBytes % 4)
    return "a slot of " + std::to_string(spec.slotBytes) + " bytes does not hold a state of " +
           std::to_string(spec.stateBytes());
  return "";
}

std::string convKernelName(const ConvSpec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto rows = [&](const StepRows &r) { os << r.operand << ',' << r.stride << ',' << r.offset << ';'; };
  rows(spec.x);
  rows(spec.out);
  os << spec.weight << ',' << spec.state << ',' << (spec.bias ? int(*spec.bias) : -1) << ','
     << spec.slotBytes;
  std::string name = (spec.shift ? "shift_c" : "conv_c") + std::to_string(spec.channels) + "_t" +
                     std::to_string(spec.taps);
  if (spec.bias)
    name += "_bias";
  if (spec.activation)
    name += "_" + activationName(*spec.activation).str();
  return name + "_" + llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

int64_t convKernelScratch(const ConvSpec &) { return 0; }

int64_t convItemsPerSequence(const ConvSpec &spec) {
  return (spec.channels + itemColumns - 1) / itemColumns;
}

void buildConvKernel(ModuleOp module, const ConvSpec &spec, const CPUVariant &variant) {
  assert(checkConv(spec).empty() && "check the spec first");
  ConvEmitter(module, spec, variant).run();
}

} // namespace llmc::kernels
