//===- Embedding.cpp - rows of tables -------------------------------------===//
#include "LinearEmitter.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

class EmbeddingEmitter {
public:
  EmbeddingEmitter(KernelBuilder &k, const EmbeddingSpec &spec)
      : k(k), spec(spec), info(storageInfo(spec.storage)) {}

  void run() {
    Value table = k.operand(0), out = k.operand(1);
    Value ids = k.batch(BatchField::TokenIds);
    k.loop(k.begin(), k.end(), 1, [&](Value t) {
      Value id = k.toI64(k.load(k.i32(), k.at(ids, k.mul(t, 4)), 4));
      Value target = k.at(out, k.mul(t, spec.cols * 4));
      if (spec.tile == 0)
        plainRow(k.at(table, k.mul(id, spec.cols * info.blockBytes)), target);
      else if (info.isFloat())
        floatColumn(lane(table, id, info.blockBytes), target);
      else
        quantColumn(table, id, target);
    });
  }

private:
  /// Elements of a stored float format as f32.
  Value widen(Value value, Type floats) {
    if (spec.storage == Storage::F32)
      return value;
    if (spec.storage == Storage::F16)
      return k.extf(value);
    return k.bitcast(k.shl(k.extui(value), 16), floats);
  }
  Type stored() {
    return spec.storage == Storage::F32 ? k.f32()
           : spec.storage == Storage::F16 ? k.f16()
                                          : k.i16();
  }
  Value scaled(Value value) {
    if (spec.scale == 1)
      return value;
    auto vector = dyn_cast<VectorType>(value.getType());
    return k.mulf(value, vector ? k.splat(spec.scale, vector.getNumElements()) : k.cf(spec.scale));
  }

  void plainRow(Value row, Value target) {
    int64_t whole = spec.cols / 16 * 16;
    unsigned align = unsigned(info.blockBytes);
    k.loop(k.c(0), k.c(whole), 16, [&](Value i) {
      Value value = k.load(k.vec(16, stored()), k.at(row, k.mul(i, info.blockBytes)), align);
      k.store(scaled(widen(value, k.vecF())), k.at(target, k.mul(i, 4)), 4);
    });
    for (int64_t i = whole; i < spec.cols; ++i)
      k.store(scaled(widen(k.load(stored(), row, align, i * info.blockBytes), k.f32())), target, 4,
              i * 4);
  }

  /// The first record of the panel of feature `id`.
  Value record(Value table, Value id) {
    Value panel = k.div(id, panelFeatures);
    Value item = k.at(table, k.mul(k.div(panel, spec.tile),
                                   itemBytes(spec.storage, spec.cols, spec.tile)));
    return k.at(item, k.mul(k.rem(panel, spec.tile), info.recordBytes));
  }
  /// Where the feature's lane of that record lies, for lanes of `bytes`.
  Value lane(Value table, Value id, int64_t bytes) {
    return k.at(record(table, id), k.mul(k.rem(id, panelFeatures), bytes));
  }

  void floatColumn(Value column, Value target) {
    k.loop(k.c(0), k.c(spec.cols), 1, [&](Value i) {
      Value value = k.load(stored(), k.at(column, k.mul(i, info.recordBytes * spec.tile)),
                           unsigned(info.blockBytes));
      k.store(scaled(widen(value, k.f32())), k.at(target, k.mul(i, 4)), 4);
    });
  }

  void quantColumn(Value table, Value id, Value target) {
    bool q8 = spec.storage == Storage::Q8_0;
    Value start = record(table, id);
    Value lane = k.rem(id, panelFeatures);
    Value lane2 = k.mul(lane, 2), lane4 = k.mul(lane, 4);
    k.loop(k.c(0), k.c(spec.cols / 32), 1, [&](Value g) {
      Value group = k.at(start, k.mul(g, info.recordBytes * spec.tile));
      Value halves = k.at(group, lane2);
      Value scale = k.extf(k.load(k.f16(), halves, 2));
      Value minimum = spec.storage == Storage::Q4_1
                          ? k.extf(k.load(k.f16(), halves, 2, 32))
                          : k.mulf(scale, k.cf(q8 ? -128 : -8));
      // Bytes of a word ascend; of nibbles the low ones come first.
      SmallVector<int32_t> shifts = {0, 8, 16, 24};
      if (!q8)
        shifts.append({4, 12, 20, 28});
      int64_t values = int64_t(shifts.size());
      Value words = k.at(group, lane4);
      Value to = k.at(target, k.mul(g, 128));
      for (int64_t first = 0; first < 32; first += values) {
        Value word = k.load(k.i32(), words, 4, info.quantOffset + first / values * 64);
        Value quants = k.andi(k.shrLanes(k.broadcast(word, values), k.lanes(shifts)),
                              k.splatI(q8 ? 255 : 15, values));
        Value value = k.fma(k.sitofp(quants, k.vecF(values)), k.broadcast(scale, values),
                            k.broadcast(minimum, values));
        k.store(scaled(value), to, 4, first * 4);
      }
    });
  }

  KernelBuilder &k;
  const EmbeddingSpec &spec;
  StorageInfo info;
};

} // namespace

std::string checkEmbedding(const EmbeddingSpec &spec) {
  StorageInfo info = storageInfo(spec.storage);
  if (spec.rows <= 0 || spec.cols <= 0 || spec.tile < 0)
    return "an embedding needs rows and columns";
  if (spec.cols % info.group)
    return "width " + std::to_string(spec.cols) + " of a " + std::string(info.name) +
           " embedding is not a multiple of " + std::to_string(info.group);
  if (spec.tile == 0 && !info.isFloat())
    return std::string(info.name) + " embeddings have no plain rows";
  return "";
}

std::string embeddingKernelName(const EmbeddingSpec &spec) {
  std::string name = "embedding_" + std::string(storageInfo(spec.storage).name) + "_n" +
                     std::to_string(spec.rows) + "_d" + std::to_string(spec.cols) + "_r" +
                     std::to_string(spec.tile);
  if (spec.scale != 1)
    name += "_x" + llvm::utohexstr(llvm::bit_cast<uint32_t>(spec.scale), /*LowerCase=*/true);
  return name;
}

int64_t embeddingKernelItems(const EmbeddingSpec &, const llmc_batch &batch) {
  return batch.tokens;
}

void buildEmbeddingKernel(ModuleOp module, const EmbeddingSpec &spec, const CPUVariant &variant) {
  assert(checkEmbedding(spec).empty() && "check the spec first");
  KernelBuilder k(module, embeddingKernelName(spec), variant);
  EmbeddingEmitter(k, spec).run();
  k.finish();
}

std::string selectRowsKernelName(const SelectRowsSpec &spec) {
  return "select_rows_d" + std::to_string(spec.cols);
}

int64_t selectRowsKernelItems(const SelectRowsSpec &, const llmc_batch &batch) {
  return batch.outputs;
}

void buildSelectRowsKernel(ModuleOp module, const SelectRowsSpec &spec,
                           const CPUVariant &variant) {
  KernelBuilder k(module, selectRowsKernelName(spec), variant);
  Value x = k.operand(0), out = k.operand(1);
  Value rows = k.batch(BatchField::OutputRows);
  int64_t whole = spec.cols / 16 * 16;
  k.loop(k.begin(), k.end(), 1, [&](Value r) {
    Value row = k.toI64(k.load(k.i32(), k.at(rows, k.mul(r, 4)), 4));
    Value from = k.at(x, k.mul(row, spec.cols * 4));
    Value to = k.at(out, k.mul(r, spec.cols * 4));
    k.loop(k.c(0), k.c(whole), 16, [&](Value i) {
      Value offset = k.mul(i, 4);
      k.store(k.load(k.vecF(), k.at(from, offset), 4), k.at(to, offset), 4);
    });
    for (int64_t i = whole; i < spec.cols; ++i)
      k.store(k.load(k.f32(), from, 4, i * 4), to, 4, i * 4);
  });
  k.finish();
}

} // namespace llmc::kernels
