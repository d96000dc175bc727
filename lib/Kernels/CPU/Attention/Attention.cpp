//===- Attention.cpp - paged attention: groups of rows, blocks of state ---===//
#include "AttentionEmitter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <limits>
#include <numeric>

using namespace mlir;

namespace llmc::kernels {

/// Queries of a group: enough to use a block of keys and values often, few enough
/// to stay in a core's cache next to it; a multiple of the tallest tile where that
/// is not too many.
static constexpr int64_t tallestTile = 12, fewestQueries = 48, mostQueries = 96;

AttentionLayout::AttentionLayout(const AttentionSpec &spec) {
  shared = spec.heads / spec.state.heads;
  int64_t step = tallestTile / std::gcd(tallestTile, shared);
  if (step * shared > mostQueries)
    step = 1;
  groupRows = step * std::max<int64_t>(1, llvm::divideCeil(fewestQueries, step * shared));
  // Every row has positions, or a number of entries, of its own.
  if (spec.selected || spec.group)
    groupRows = 1;
  queries = groupRows * shared;
  valueRow = int64_t(llvm::alignTo(spec.valueWidth(), 16));
  copiesValues = spec.selected || spec.latentValues;

  int64_t next = 0;
  auto area = [&](int64_t elements) {
    int64_t at = next;
    next += int64_t(llvm::alignTo(elements * 4, 64));
    return at;
  };
  area(queries * spec.state.keyWidth);
  scores = area(queries * spec.state.blockTokens);
  sums = area(queries * valueRow);
  // Read 16 at a time from any query on.
  maxima = area(queries + 16);
  nextMaxima = area(queries + 16);
  factors = area(queries + 16);
  denominators = area(queries + 16);
  keys = area(spec.selected || spec.group ? spec.state.keyWidth * spec.state.blockTokens : 0);
  values = area(copiesValues ? valueRow * spec.state.blockTokens : 0);
  tail = area(spec.tail ? rowKernelScratch(*spec.tail) / 4 : 0);
  bytes = next;
}

AttentionEmitter::AttentionEmitter(ModuleOp module, const AttentionSpec &spec,
                                   const CPUVariant &variant)
    : spec(spec), layout(spec), kb(module, attentionKernelName(spec), variant) {
  assert(checkAttention(spec).empty() && "a valid spec");
  queries = kb.operand(0);
  state = kb.operand(1);
  out = kb.operand(attentionOut);
  unsigned next = 3;
  if (spec.sinks)
    sinks = kb.operand(next++);
  if (spec.slopes)
    slopes = kb.operand(next++);
  if (spec.selected)
    selection = kb.operand(next++);
  if (spec.group)
    entries = kb.operand(next++);
  if (spec.tail) {
    tailOperands.resize(next);
    for (unsigned count = spec.tail->operandCount(); next < count; ++next)
      tailOperands.push_back(kb.operand(next));
  }
  tokens = kb.batch(BatchField::Tokens);
  positions = kb.batch(BatchField::Positions);
  sequences = kb.batch(BatchField::TokenSeq);
  table = kb.batch(BatchField::BlockTable);
  tableStride = kb.batch(BatchField::TableStride);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void AttentionEmitter::run() {
  auto entry = [&](Value array, Value index) {
    return kb.load(kb.i32(), kb.at(array, kb.mul(index, 4)), 4);
  };
  int64_t shared = layout.shared, parts = shared / spec.itemHeads;
  kb.whileLoop(
      {kb.begin()}, [&](ValueRange item) { return kb.lt(item[0], kb.end()); },
      [&](ValueRange carried) {
        Value item = carried[0], left = kb.sub(kb.end(), item);
        Value place = kb.div(item, parts);
        Value firstHead = kb.mul(kb.rem(item, parts), spec.itemHeads);
        Value kvHead = kb.div(place, tokens), row = kb.rem(place, tokens);
        Value sequence = entry(sequences, row), position = entry(positions, row);

        // As many whole rows as follow at the next positions of the same sequence.
        Value whole = kb.select(kb.eq(firstHead, 0), kb.div(left, parts), kb.c(0));
        Value limit = kb.min(kb.min(whole, kb.sub(tokens, row)), layout.groupRows);
        if (spec.chunk)
          limit = kb.min(limit, kb.sub(kb.c(spec.chunk), kb.rem(kb.toI64(position), spec.chunk)));
        limit = kb.max(limit, 1);
        Values rows = kb.whileLoop(
            {kb.c(1)},
            [&](ValueRange count) {
              // The row is read before the limit is known to allow it: stay inside.
              Value next = kb.add(row, kb.min(count[0], kb.sub(limit, 1)));
              Value isSame = kb.eq(entry(sequences, next), sequence);
              Value follows =
                  kb.eq(entry(positions, next), kb.add(position, kb.toI32(count[0])));
              return kb.andi(kb.lt(count[0], limit), kb.andi(isSame, follows));
            },
            [&](ValueRange count) { return Values{kb.add(count[0], 1)}; });

        Value heads = kb.min(kb.sub(kb.c(shared), firstHead), kb.mul(left, spec.itemHeads));
        emitGroup({kvHead, row, rows[0], kb.toI64(position), kb.toI64(sequence), firstHead,
                   heads});
        return Values{kb.add(item, kb.mul(rows[0], kb.div(heads, spec.itemHeads)))};
      });
  kb.finish();
}

void AttentionEmitter::emitGroup(const Group &group) {
  loadQueries(group);
  reset(group);
  if (spec.selected && !spec.group) {
    emitSelected(group);
    storeOutputs(group);
    return;
  }
  Value last = kb.div(kb.sub(kb.add(group.position, group.rows), 1), spec.state.blockTokens);
  Value first = kb.c(0);
  if (spec.window || spec.chunk)
    first = kb.div(firstVisible(group, kb.c(0)), spec.state.blockTokens);
  kb.loop(first, kb.add(last, 1), 1, [&](Value index) { emitBlock(group, index, last); });
  if (spec.group && spec.selected)
    emitSelected(group);
  else if (spec.group)
    emitEntries(group);
  storeOutputs(group);
}

/// The first position that a row sees. The rows of a group lie in one chunk.
Value AttentionEmitter::firstVisible(const Group &group, Value row) {
  Value first = kb.c(0);
  if (spec.window)
    first = kb.max(kb.sub(kb.add(group.position, row), spec.window - 1), first);
  if (spec.chunk)
    first = kb.max(kb.sub(group.position, kb.rem(group.position, spec.chunk)), first);
  return first;
}

/// Copies the queries together: a row's heads lie side by side.
void AttentionEmitter::loadQueries(const Group &group) {
  Value elements = kb.mul(group.heads, spec.state.keyWidth);
  Value full = kb.mul(kb.div(elements, lanes), lanes * 4);
  kb.loop(kb.c(0), group.rows, 1, [&](Value row) {
    Value head = kb.add(kb.mul(group.kvHead, layout.shared), group.firstHead);
    Value offset = kb.add(kb.mul(kb.add(group.row, row), spec.qStride),
                          kb.mul(head, spec.state.keyWidth));
    Value from = kb.at(kb.at(queries, kb.mul(offset, 4)), spec.qOffset * 4);
    Value to = at(0, kb.mul(row, elements), 4);
    kb.loop(kb.c(0), full, lanes * 4, [&](Value i) {
      kb.store(kb.load(kb.vecF(), kb.at(from, i), 4), kb.at(to, i), 4);
    });
    if (spec.state.keyWidth % lanes) {
      Value mask = kb.laneMask(kb.rem(elements, lanes));
      kb.maskedStore(kb.maskedLoad(kb.vecF(), kb.at(from, full), mask, 4), kb.at(to, full), mask,
                     4);
    }
  });
}

void AttentionEmitter::reset(const Group &group) {
  Value count = kb.mul(group.rows, group.heads);
  kb.loop(kb.c(0), kb.mul(count, layout.valueRow), lanes,
          [&](Value i) { kb.store(kb.splat(0), at(layout.sums, i, 4), 64); });
  kb.loop(kb.c(0), count, lanes, [&](Value query) {
    kb.store(kb.splat(std::numeric_limits<float>::lowest()), at(layout.maxima, query, 4), 64);
    kb.store(kb.splat(spec.sinks ? 1.0f : 0.0f), at(layout.denominators, query, 4), 64);
  });
  if (!spec.sinks)
    return;
  Value first = kb.add(kb.mul(group.kvHead, layout.shared), group.firstHead);
  Value head = kb.at(sinks, kb.mul(first, 4));
  kb.loop(kb.c(0), count, 1, [&](Value query) {
    Value sink = kb.load(kb.f32(), kb.at(head, kb.mul(kb.rem(query, group.heads), 4)), 4);
    kb.store(sink, at(layout.maxima, query, 4), 4);
  });
}

void AttentionEmitter::storeOutputs(const Group &group) {
  int64_t width = spec.valueWidth(), full = width / lanes * lanes;
  Value first = kb.add(kb.mul(group.kvHead, layout.shared), group.firstHead);
  kb.loop(kb.c(0), kb.mul(group.rows, group.heads), 1, [&](Value query) {
    Value row = kb.add(group.row, kb.div(query, group.heads));
    Value head = kb.add(first, kb.rem(query, group.heads));
    Value offset = kb.add(kb.mul(row, spec.outStride), kb.mul(head, width));
    Value to = kb.at(kb.at(out, kb.mul(offset, 4)), spec.outOffset * 4);
    Value from = at(layout.sums, query, layout.valueRow * 4);
    Value l = kb.broadcast(kb.load(kb.f32(), at(layout.denominators, query, 4), 4));
    // Nothing seen: the sums are 0.
    if (spec.selected)
      l = kb.select(kb.ltf(kb.splat(0), l), l, kb.splat(1));
    if (spec.tail) {
      kb.loop(kb.c(0), kb.c(layout.valueRow * 4), lanes * 4, [&](Value i) {
        kb.store(kb.divf(kb.load(kb.vecF(), kb.at(from, i), 64), l), kb.at(from, i), 64);
      });
      storeTail(row, head, from, to);
      return;
    }
    if (full)
      kb.loop(kb.c(0), kb.c(full * 4), lanes * 4, [&](Value i) {
        kb.store(kb.divf(kb.load(kb.vecF(), kb.at(from, i), 64), l), kb.at(to, i), 4);
      });
    if (width != full)
      kb.maskedStore(kb.divf(kb.load(kb.vecF(), kb.at(from, full * 4), 64), l),
                     kb.at(to, full * 4), kb.laneMask(kb.c(width - full)), 4);
  });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Value AttentionEmitter::blockAddress(const Group &group, Value index) {
  Value entry = kb.add(kb.mul(group.sequence, tableStride), index);
  Value block = kb.toI64(kb.load(kb.i32(), kb.at(table, kb.mul(entry, 4)), 4));
  return kb.at(kb.at(state, kb.mul(block, spec.state.blockBytes())),
               kb.mul(group.kvHead, spec.state.headBytes()));
}

void AttentionEmitter::emitBlock(const Group &group, Value index, Value lastIndex) {
  int64_t size = spec.state.blockTokens;
  Block block;
  block.start = kb.mul(index, size);
  block.keys = blockAddress(group, index);
  block.nextKeys = blockAddress(group, kb.min(kb.add(index, 1), lastIndex));
  if (layout.copiesValues) {
    turnValues(block.keys);
    block.values = kb.at(kb.scratch(), layout.values);
  } else {
    block.values = kb.at(block.keys, spec.state.valueOffset());
    block.nextValues = kb.at(block.nextKeys, spec.state.valueOffset());
  }

  // Rows [seeFrom, seeTo) see some position of the block, [allFrom, allTo) each.
  Value ahead = kb.sub(block.start, group.position);
  Value zero = kb.c(0);
  auto clamp = [&](Value x, Value low, Value high) { return kb.max(low, kb.min(x, high)); };
  Value seeFrom = clamp(ahead, zero, group.rows), seeTo = group.rows;
  if (spec.window)
    seeTo = clamp(kb.add(ahead, size + spec.window - 1), zero, group.rows);
  Value allFrom = clamp(kb.add(ahead, size - 1), seeFrom, seeTo), allTo = seeTo;
  if (spec.window)
    allTo = clamp(kb.add(ahead, spec.window), allFrom, seeTo);
  if (spec.chunk) {
    Value start = kb.sub(group.position, kb.rem(group.position, spec.chunk));
    allTo = kb.select(kb.lt(block.start, start), allFrom, allTo);
  }

  Value shared = group.heads;
  forTiles(kb.mul(seeFrom, shared), kb.mul(seeTo, shared),
           [&](Value query, int64_t rows) { emitScores(block, query, rows); });
  emitWeights(group, block, seeFrom, seeTo);

  // Rows that see the whole block together, the others one by one: the slots that
  // one row must not touch are another's.
  forTiles(kb.mul(allFrom, shared), kb.mul(allTo, shared), [&](Value query, int64_t rows) {
    emitSums(block, query, rows, zero, kb.c(size), /*unroll=*/rows >= 8 ? 1 : 2);
  });
  Value together = kb.sub(allTo, allFrom);
  kb.loop(seeFrom, kb.sub(seeTo, together), 1, [&](Value i) {
    Value row = kb.select(kb.lt(i, allFrom), i, kb.add(i, together));
    auto [first, end] = visible(group, block, row);
    if (!first)
      first = zero;
    Value query = kb.mul(row, shared);
    forTiles(query, kb.add(query, shared), [&](Value tile, int64_t rows) {
      emitSums(block, tile, rows, first, end, /*unroll=*/1);
    });
  });
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

std::string checkAttention(const AttentionSpec &spec) {
  const PagedState &state = spec.state;
  if (state.heads <= 0 || state.keyWidth <= 0 || spec.valueWidth() <= 0)
    return "paged attention needs kv heads with keys and values";
  if (spec.latentValues && (state.valueWidth || spec.latentValues > state.keyWidth))
    return "values of " + std::to_string(spec.latentValues) + " channels of keys of " +
           std::to_string(state.keyWidth) + " are for a state that keeps keys alone, this one "
           "has values of " + std::to_string(state.valueWidth);
  if (spec.heads <= 0 || spec.heads % state.heads)
    return "query heads (" + std::to_string(spec.heads) + ") are not a multiple of kv heads (" +
           std::to_string(state.heads) + ")";
  if (spec.itemHeads <= 0 || spec.heads / state.heads % spec.itemHeads)
    return "the heads of an item (" + std::to_string(spec.itemHeads) +
           ") do not divide those that share a kv head (" +
           std::to_string(spec.heads / state.heads) + ")";
  if (state.blockTokens <= 0 || state.blockTokens % 16)
    return "a state block of " + std::to_string(state.blockTokens) +
           " positions is not a multiple of 16";
  if (spec.window < 0 || spec.chunk < 0 || !(spec.softcap >= 0))
    return "a window, a chunk and a softcap are positive, or 0 for none";
  if (spec.selected < 0)
    return "a selection has positions, or 0 for none";
  if (spec.selected && !spec.group && (spec.window || spec.chunk || spec.slopes))
    return "a selection has no window, chunk or slopes beside it";
  if (spec.group && (spec.group < 2 || spec.group > INT32_MAX || state.heads != 1 ||
                     !spec.latentValues || spec.chunk || spec.slopes))
    return "entries of groups of at least 2 tokens are seen beside a latent state of one head, "
           "without chunks and slopes";
  if (spec.qStride < spec.heads * state.keyWidth || spec.outStride < spec.heads * spec.valueWidth())
    return "rows of q and of the output are at least as far apart as their heads are wide";
  return spec.tail ? checkAttentionTail(spec) : "";
}

unsigned attentionOperands(const AttentionSpec &spec) {
  return attentionOut + 1 + spec.sinks + spec.slopes + (spec.selected > 0) + (spec.group > 0);
}

std::string attentionKernelName(const AttentionSpec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const PagedState &state = spec.state;
  os << spec.heads << ',' << state.heads << ',' << state.keyWidth << ',' << state.valueWidth << ','
     << state.blockTokens << ',' << llvm::bit_cast<uint32_t>(spec.scale) << ',' << spec.window
     << ',' << llvm::bit_cast<uint32_t>(spec.softcap) << ',' << spec.sinks << ',' << spec.qStride
     << ',' << spec.qOffset << ',' << spec.outStride << ',' << spec.outOffset << ','
     << spec.chunk << ',' << spec.itemHeads << ',' << spec.slopes << ',' << spec.selected << ','
     << spec.latentValues;
  if (spec.group)
    os << ",g" << spec.group;
  if (spec.tail)
    os << ",t" << rowKernelName(*spec.tail);
  std::string name = "attention_" + std::to_string(spec.heads) + "_" +
                     std::to_string(state.heads) + "_" + std::to_string(state.keyWidth);
  if (spec.window)
    name += "_w" + std::to_string(spec.window);
  if (spec.selected)
    name += "_s" + std::to_string(spec.selected);
  if (spec.group)
    name += "_g" + std::to_string(spec.group);
  if (spec.tail)
    name += "_tail";
  return name + "_" + llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

int64_t attentionKernelScratch(const AttentionSpec &spec) { return AttentionLayout(spec).bytes; }

int64_t attentionKernelItems(const AttentionSpec &spec, const llmc_batch &batch) {
  return spec.heads / spec.itemHeads * batch.tokens;
}

int64_t attentionGroupItems(const AttentionSpec &spec) {
  return AttentionLayout(spec).queries / spec.itemHeads;
}

int64_t attentionItemHeads(int64_t heads, int64_t kvHeads) {
  int64_t shared = heads / kvHeads, parts = kvHeads > 1 ? 1 : 2;
  while (parts < shared && shared % parts)
    ++parts;
  return shared / std::min(parts, shared);
}

void buildAttentionKernel(ModuleOp module, const AttentionSpec &spec, const CPUVariant &variant) {
  AttentionEmitter(module, spec, variant).run();
}

} // namespace llmc::kernels
