//===- EntryTest.cpp - groups of tokens kept as one entry -----------------===//
#include "PagedBatch.h"

#include <algorithm>
#include <limits>

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

float number(int kind, int64_t sequence, int64_t place, int64_t head, int64_t d) {
  uint64_t x = uint64_t(kind + 1) * 0x9e3779b97f4a7c15 + uint64_t(sequence) * 0xbf58476d1ce4e5b9 +
               uint64_t(place) * 0x94d049bb133111eb + uint64_t(head) * 1000003 + uint64_t(d);
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  x ^= x >> 31;
  return float(double(x >> 40) / double(1 << 23) - 1);
}

/// Shapes whose groups lie in a block, in several, and across the ends of blocks.
struct Shape {
  int64_t group, width, blockTokens;
};
const std::vector<Shape> shapes = {{4, 32, 32}, {2, 8, 16},    {3, 20, 32}, {5, 7, 16},
                                   {32, 40, 16}, {48, 16, 32}, {40, 96, 16}};

const std::vector<Piece> ragged = {{0, 70}, {45, 1}, {31, 33}, {0, 1}, {96, 40}, {200, 1}};
const std::vector<int64_t> names = {4, 1, 9, 2, 6, 3};

PagedState layoutOf(const Shape &shape) { return {1, shape.width, 0, shape.blockTokens}; }
EntryState entriesOf(const Shape &shape) { return {shape.group, shape.width, shape.blockTokens}; }

/// A channel of an entry as docs/Manifest.md has it: each token of the group keeps its share.
float &channelOf(const Shape &shape, const PagedBatch &paged, const Buffer<float> &state,
                 int64_t sequence, int64_t entry, int64_t d) {
  int64_t share = (shape.width + shape.group - 1) / shape.group;
  int64_t position = entry * shape.group + d / share;
  int64_t block = paged.blockOf(sequence, position, layoutOf(shape));
  return state[size_t((block * shape.blockTokens + position % shape.blockTokens) * share +
                      d % share)];
}

/// A state with the entries of all complete groups and NaN elsewhere.
Buffer<float> fullState(const Shape &shape, const PagedBatch &paged, int kind,
                        const std::vector<int64_t> &of) {
  Buffer<float> state(size_t(paged.batch.blocks * entriesOf(shape).blockBytes() / 4), NAN);
  for (int64_t s = 0; s < paged.batch.sequences; ++s)
    for (int64_t n = 0; n < paged.lengths[s] / shape.group; ++n)
      for (int64_t d = 0; d < shape.width; ++d)
        channelOf(shape, paged, state, s, n, d) = number(kind, of[size_t(s)], n, 0, d);
  return state;
}

//===----------------------------------------------------------------------===//
// Append
//===----------------------------------------------------------------------===//

PrologueSpec makeAppend(const Shape &shape, bool turns) {
  PrologueSpec spec;
  spec.state = layoutOf(shape);
  spec.group = shape.group;
  spec.k = HeadRows{0, shape.width + 3, 1};
  spec.append = 1;
  if (turns) {
    spec.rotary.emplace();
    spec.rotary->invFreq = 2;
    spec.rotary->width = 4;
    spec.rotary->first = shape.width - 5;
    spec.rotary->pairs = RotaryPairs::Interleaved;
    spec.rotary->magnitude = 1.25f;
  }
  return spec;
}

double appended(const PrologueSpec &spec, int64_t sequence, int64_t n, int64_t d) {
  int64_t last = (n + 1) * spec.group - 1;
  auto x = [&](int64_t channel) { return double(number(0, sequence, last, 0, channel)); };
  int64_t i = spec.rotary ? d - spec.rotary->first : -1;
  if (i < 0 || i >= 4)
    return x(d);
  // Frequencies 1 and 0.01; the position of the group's first token.
  double angle = float(n * spec.group) * (i < 2 ? 1.0f : 0.01f);
  double c = std::cos(angle) * 1.25, s = std::sin(angle) * 1.25;
  return i % 2 ? x(d) * c + x(d - 1) * s : x(d) * c - x(d + 1) * s;
}

void runAppend(const PrologueSpec &spec, const PagedBatch &paged, const std::vector<int64_t> &of,
               llmc_kernel_fn kernel, Buffer<float> &state, int64_t split) {
  Buffer<float> rows(size_t(paged.batch.tokens * spec.k->stride), NAN);
  for (int64_t t = 0; t < paged.batch.tokens; ++t)
    for (int64_t d = 0; d < spec.state.keyWidth; ++d)
      rows[size_t(t * spec.k->stride + spec.k->offset + d)] =
          number(0, of[size_t(paged.sequenceOf[t])], paged.positions[t], 0, d);
  Buffer<float> frequencies(2);
  frequencies[0] = 1;
  frequencies[1] = 0.01f;
  Buffer<char> scratch(size_t(prologueKernelScratch(spec)), char(0xff));
  void *args[] = {const_cast<llmc_batch *>(&paged.batch), rows.data(), state.data(),
                  frequencies.data()};
  for (int64_t i = 0; i < paged.batch.tokens; i += split)
    kernel(args, i, std::min(paged.batch.tokens, i + split), scratch.data());
  EXPECT_TRUE(scratch.intact() && state.intact() && rows.intact());
}

TEST(EntryTest, AppendsCompleteGroups) {
  std::vector<PrologueSpec> specs;
  for (const Shape &shape : shapes)
    for (bool turns : {false, true})
      specs.push_back(makeAppend(shape, turns));
  Kernels kernels;
  for (const PrologueSpec &spec : specs) {
    ASSERT_EQ(checkPrologue(spec), "");
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildPrologueKernel(module, spec, v); });
  }
  kernels.compile();
  for (size_t i = 0; i < specs.size(); ++i) {
    const PrologueSpec &spec = specs[i];
    const Shape &shape = shapes[i / 2];
    SCOPED_TRACE(prologueKernelName(spec));
    PagedBatch paged(spec.state, ragged);
    for (const CPUVariant *variant : Kernels::variants())
      for (int64_t split : {1 << 30, 1, 7}) {
        Buffer<float> state(size_t(paged.batch.blocks * entriesOf(shape).blockBytes() / 4), NAN);
        runAppend(spec, paged, names, kernels.find(prologueKernelName(spec), *variant), state,
                  split);
        size_t written = 0, found = 0;
        for (int64_t t = 0; t < paged.batch.tokens; ++t) {
          int64_t p = paged.positions[t], s = paged.sequenceOf[t];
          if (p % shape.group != shape.group - 1)
            continue;
          for (int64_t d = 0; d < shape.width; ++d, ++written)
            ASSERT_NEAR(channelOf(shape, paged, state, s, p / shape.group, d),
                        appended(spec, names[size_t(s)], p / shape.group, d), 3e-6)
                << "row " << t << " channel " << d;
        }
        for (size_t j = 0; j < state.size(); ++j)
          found += !std::isnan(state[j]);
        EXPECT_EQ(found, written);
      }
  }
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

SelectSpec makeSelect(const Shape &shape, int64_t heads, int64_t top) {
  SelectSpec spec;
  spec.heads = heads;
  spec.state = layoutOf(shape);
  spec.group = shape.group;
  spec.top = top;
  spec.context = 250;
  spec.qStride = heads * shape.width + 3;
  spec.qOffset = 2;
  spec.weightStride = heads + 1;
  spec.weightOffset = 1;
  return spec;
}

/// Few different numbers, so that scores tie.
float coarse(int kind, int64_t sequence, int64_t place, int64_t head, int64_t d) {
  return std::round(number(kind, sequence, place, head, d) * 2) / 2;
}

std::vector<int32_t> bestEntries(const SelectSpec &spec, int64_t sequence, int64_t p) {
  std::vector<float> scores;
  for (int64_t n = 0; (n + 1) * spec.group <= p + 1; ++n) {
    float score = 0;
    for (int64_t h = 0; h < spec.heads; ++h) {
      float dot = 0;
      for (int64_t d = 0; d < spec.state.keyWidth; ++d)
        dot = std::fma(coarse(1, sequence, p, h, d), number(2, sequence, n, 0, d), dot);
      score = std::fma(coarse(3, sequence, p, h, 0), std::max(dot, 0.0f), score);
    }
    scores.push_back(score);
  }
  return bestPlaces(scores, spec.top);
}

TEST(EntryTest, SelectsOfCompleteGroups) {
  std::vector<SelectSpec> specs;
  for (const Shape &shape : shapes)
    specs.push_back(makeSelect(shape, 3, shape.group > 8 ? 2 : 5));
  specs.push_back(makeSelect(shapes[0], 9, 40));
  Kernels kernels;
  for (const SelectSpec &spec : specs) {
    ASSERT_EQ(checkSelect(spec), "");
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildSelectKernel(module, spec, v); });
  }
  kernels.compile();
  for (const SelectSpec &spec : specs) {
    SCOPED_TRACE(selectKernelName(spec));
    Shape shape{spec.group, spec.state.keyWidth, spec.state.blockTokens};
    PagedBatch paged(spec.state, ragged);
    Buffer<float> state = fullState(shape, paged, 2, names);
    Buffer<float> q(size_t(paged.batch.tokens * spec.qStride), NAN);
    Buffer<float> weights(size_t(paged.batch.tokens * spec.weightStride), NAN);
    for (int64_t t = 0; t < paged.batch.tokens; ++t)
      for (int64_t h = 0; h < spec.heads; ++h) {
        int64_t s = names[size_t(paged.sequenceOf[t])], p = paged.positions[t];
        weights[size_t(t * spec.weightStride + spec.weightOffset + h)] = coarse(3, s, p, h, 0);
        for (int64_t d = 0; d < shape.width; ++d)
          q[size_t(t * spec.qStride + spec.qOffset + h * shape.width + d)] = coarse(1, s, p, h, d);
      }
    for (const CPUVariant *variant : Kernels::variants())
      for (int64_t split : {1 << 30, 1, 7}) {
        Buffer<int32_t> out(size_t(paged.batch.tokens * spec.top), 12345);
        Buffer<char> scratch(size_t(selectKernelScratch(spec)), char(0xff));
        void *args[] = {&paged.batch, q.data(), weights.data(), state.data(), out.data()};
        for (int64_t i = 0; i < paged.batch.tokens; i += split)
          kernels.find(selectKernelName(spec), *variant)(
              args, i, std::min(paged.batch.tokens, i + split), scratch.data());
        EXPECT_TRUE(out.intact() && scratch.intact());
        for (int64_t t = 0; t < paged.batch.tokens; ++t)
          ASSERT_EQ(std::vector<int32_t>(out.data() + t * spec.top,
                                         out.data() + (t + 1) * spec.top),
                    bestEntries(spec, names[size_t(paged.sequenceOf[t])], paged.positions[t]))
              << variant->name.str() << " row " << t;
      }
  }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

AttentionSpec makeAttention(const Shape &shape, int64_t heads, int64_t values, int64_t window,
                            int64_t selected) {
  AttentionSpec spec;
  spec.heads = heads;
  spec.state = layoutOf(shape);
  spec.latentValues = values;
  spec.group = shape.group;
  spec.window = window;
  spec.selected = selected;
  spec.sinks = heads % 2 == 0;
  spec.scale = 2 / std::sqrt(float(shape.width));
  spec.itemHeads = attentionItemHeads(heads, 1);
  spec.qStride = heads * shape.width + 5;
  spec.qOffset = 3;
  spec.outStride = heads * values;
  return spec;
}

struct Step {
  Step(const AttentionSpec &spec, const std::vector<Piece> &pieces,
       const std::vector<int64_t> &of)
      : spec(spec), paged(spec.state, pieces), of(of) {
    const PagedState &layout = spec.state;
    Shape shape{spec.group, layout.keyWidth, layout.blockTokens};
    entries = fullState(shape, paged, 2, of);
    state = Buffer<float>(size_t(paged.batch.blocks * layout.blockBytes() / 4), NAN);
    for (int64_t s = 0; s < paged.batch.sequences; ++s)
      for (int64_t p = 0; p < paged.lengths[s]; ++p)
        for (int64_t d = 0; d < layout.keyWidth; ++d)
          PagedBatch::key(layout, state.data(), paged.blockOf(s, p, layout), 0,
                          p % layout.blockTokens, d) = number(1, of[size_t(s)], p, 0, d);
    queries = Buffer<float>(size_t(paged.batch.tokens * spec.qStride), NAN);
    selection = Buffer<int32_t>(size_t(paged.batch.tokens * spec.selected), -1);
    sinks = Buffer<float>(size_t(spec.heads));
    for (int64_t h = 0; h < spec.heads; ++h)
      sinks[size_t(h)] = number(4, 0, 0, h, 0);
    for (int64_t t = 0; t < paged.batch.tokens; ++t) {
      int64_t name = of[size_t(paged.sequenceOf[t])], p = paged.positions[t];
      for (int64_t i = 0; i < spec.heads * layout.keyWidth; ++i)
        queries[size_t(t * spec.qStride + spec.qOffset + i)] = number(0, name, p, 0, i);
      std::vector<int64_t> seen = seenEntries(name, p);
      if (spec.selected)
        std::copy(seen.begin(), seen.end(), selection.data() + t * spec.selected);
    }
  }

  std::vector<int64_t> seenEntries(int64_t name, int64_t p) const {
    std::vector<int64_t> seen;
    for (int64_t n = 0; (n + 1) * spec.group <= p + 1; ++n)
      if (!spec.selected ||
          (int64_t(seen.size()) < spec.selected && number(5, name, p, n, 0) > -0.2f))
        seen.push_back(n);
    return seen;
  }

  Buffer<float> run(llmc_kernel_fn kernel, int64_t split = 1 << 30) {
    Buffer<float> out(size_t(paged.batch.tokens * spec.outStride), NAN);
    Buffer<char> scratch(size_t(attentionKernelScratch(spec)), char(0xff));
    std::vector<void *> args = {&paged.batch, queries.data(), state.data(), out.data()};
    if (spec.sinks)
      args.push_back(sinks.data());
    if (spec.selected)
      args.push_back(selection.data());
    args.push_back(entries.data());
    int64_t items = attentionKernelItems(spec, paged.batch);
    for (int64_t i = 0; i < items; i += split)
      kernel(args.data(), i, std::min(items, i + split), scratch.data());
    EXPECT_TRUE(out.intact() && scratch.intact());
    return out;
  }

  double reference(int64_t t, int64_t h, int64_t channel) const {
    int64_t name = of[size_t(paged.sequenceOf[t])], p = paged.positions[t];
    int64_t width = spec.state.keyWidth;
    double most = spec.sinks ? double(sinks[size_t(h)]) : -INFINITY;
    std::vector<double> scores, summands;
    auto see = [&](int kind, int64_t place) {
      double dot = 0;
      for (int64_t d = 0; d < width; ++d)
        dot += double(number(0, name, p, 0, h * width + d)) * double(number(kind, name, place, 0, d));
      scores.push_back(dot * spec.scale);
      summands.push_back(number(kind, name, place, 0, channel));
      most = std::max(most, scores.back());
    };
    for (int64_t j = spec.window ? std::max<int64_t>(0, p - spec.window + 1) : 0; j <= p; ++j)
      see(1, j);
    for (int64_t n : seenEntries(name, p))
      see(2, n);
    double sum = spec.sinks ? std::exp(double(sinks[size_t(h)]) - most) : 0, result = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      sum += std::exp(scores[i] - most);
      result += std::exp(scores[i] - most) * summands[i];
    }
    return result / sum;
  }

  const AttentionSpec &spec;
  PagedBatch paged;
  std::vector<int64_t> of;
  Buffer<float> state, entries, queries, sinks;
  Buffer<int32_t> selection;
};

TEST(EntryTest, AttendsToPositionsAndEntries) {
  std::vector<AttentionSpec> specs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    int64_t selected = i % 2 ? 3 : 0;
    specs.push_back(makeAttention(shapes[i], 4, shapes[i].width - selected, 9, selected));
  }
  specs.push_back(makeAttention(shapes[0], 5, 20, 0, 0));
  specs.push_back(makeAttention(shapes[2], 16, 8, 40, 37));
  Kernels kernels;
  for (const AttentionSpec &spec : specs) {
    ASSERT_EQ(checkAttention(spec), "");
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildAttentionKernel(module, spec, v); });
  }
  kernels.compile();
  for (const AttentionSpec &spec : specs) {
    SCOPED_TRACE(attentionKernelName(spec));
    Step step(spec, ragged, names);
    std::vector<Buffer<float>> bits;
    for (const CPUVariant *variant : Kernels::variants())
      for (int64_t split : {1 << 30, 1, 5}) {
        bits.push_back(step.run(kernels.find(attentionKernelName(spec), *variant), split));
        EXPECT_TRUE(sameBits(bits.front(), bits.back())) << variant->name.str() << split;
      }
    for (int64_t t = 0; t < step.paged.batch.tokens; t += 3)
      for (int64_t h = 0; h < spec.heads; h += 3)
        for (int64_t d = 0; d < spec.valueWidth(); d += spec.valueWidth() > 16 ? 7 : 1)
          ASSERT_NEAR(bits[0][size_t(t * spec.outStride + h * spec.valueWidth() + d)],
                      step.reference(t, h, d), 3e-6)
              << "row " << t << " head " << h << " channel " << d;
  }
}

/// The same sequence in one piece, in pieces, and next to others.
TEST(EntryTest, BitsDoNotDependOnTheBatch) {
  for (int64_t selected : {0, 6}) {
    AttentionSpec spec = makeAttention({3, 20, 32}, 6, 16, 21, selected);
    Kernels kernels;
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildAttentionKernel(module, spec, v); });
    kernels.compile();
    for (const CPUVariant *variant : Kernels::variants()) {
      llmc_kernel_fn kernel = kernels.find(attentionKernelName(spec), *variant);
      int64_t length = 130;
      Buffer<float> want = Step(spec, {{0, length}}, {7}).run(kernel);
      for (int64_t chunk : {1, 13, 32}) {
        for (int64_t at = 0; at < length; at += chunk) {
          int64_t rows = std::min(chunk, length - at);
          Step part(spec, {{3, 20}, {at, rows}, {77, 1}}, {3, 7, 9});
          Buffer<float> got = part.run(kernel, 17);
          ASSERT_EQ(std::memcmp(want.data() + at * spec.outStride,
                                got.data() + 20 * spec.outStride, size_t(rows * spec.outStride * 4)),
                    0)
              << "chunk " << chunk << " at " << at;
        }
      }
    }
  }
}

TEST(EntryTest, ChecksSpecs) {
  PrologueSpec append = makeAppend(shapes[0], true);
  append.group = 1;
  EXPECT_EQ(checkPrologue(append), "an entry is one head, appended for a group of at least 2 "
                                   "tokens without q and v");
  append = makeAppend(shapes[0], true);
  append.rotary->beyond = 10;
  EXPECT_EQ(checkPrologue(append), "entries turn by one row of frequencies");
  SelectSpec select = makeSelect(shapes[0], 3, 5);
  select.group = 1;
  EXPECT_EQ(checkSelect(select), "entries are of groups of at least 2 tokens, not of 1");
  AttentionSpec attention = makeAttention(shapes[0], 4, 32, 9, 0);
  attention.chunk = 5;
  EXPECT_EQ(checkAttention(attention), "entries of groups of at least 2 tokens are seen beside a "
                                       "latent state of one head, without chunks and slopes");
  // Names follow the specs.
  EXPECT_NE(prologueKernelName(makeAppend({4, 32, 32}, false)),
            prologueKernelName(makeAppend({8, 32, 32}, false)));
  EXPECT_NE(selectKernelName(makeSelect({4, 32, 32}, 3, 5)),
            selectKernelName(makeSelect({8, 32, 32}, 3, 5)));
  EXPECT_NE(attentionKernelName(makeAttention({4, 32, 32}, 4, 8, 9, 0)),
            attentionKernelName(makeAttention({8, 32, 32}, 4, 8, 9, 0)));
}

} // namespace
