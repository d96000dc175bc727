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
    Value ids = k.batch(spec.index == TableIndex::TokenId ? BatchField::TokenIds
                                                          : BatchField::Positions);
    k.loop(k.begin(), k.end(), 1, [&](Value t) {
      Value id = k.toI64(k.load(k.i32(), k.at(ids, k.mul(t, 4)), 4));
      if (spec.offset)
        id = k.add(id, spec.offset);
      if (spec.otherwise) {
        Value known = k.andi(k.le(k.c(0), id), k.lt(id, k.c(spec.rows)));
        id = k.select(known, id, k.c(*spec.otherwise));
      }
      Value target = k.at(out, k.mul(t, spec.cols * 4));
      if (spec.tile == 0)
        plainRow(k.at(table, k.mul(id, spec.cols * info.blockBytes)), target);
      else if (info.isFloat())
        floatColumn(table, id, target);
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

  /// The item of feature `id`, and its panel there.
  std::pair<Value, Value> place(Value table, Value id) {
    Value panel = k.div(id, panelFeatures);
    Value item = k.at(table, k.mul(k.div(panel, spec.tile),
                                   itemBytes(spec.storage, spec.cols, spec.tile)));
    return {item, k.rem(panel, spec.tile)};
  }

  void floatColumn(Value table, Value id, Value target) {
    auto [item, panel] = place(table, id);
    Value column = k.at(k.at(item, k.mul(panel, info.recordBytes)),
                        k.mul(k.rem(id, panelFeatures), info.blockBytes));
    k.loop(k.c(0), k.c(spec.cols), 1, [&](Value i) {
      Value value = k.load(stored(), k.at(column, k.mul(i, info.recordBytes * spec.tile)),
                           unsigned(info.blockBytes));
      k.store(scaled(widen(value, k.f32())), k.at(target, k.mul(i, 4)), 4);
    });
  }

  void quantColumn(Value table, Value id, Value target) {
    auto [item, panel] = place(table, id);
    lane = k.rem(id, panelFeatures);
    int64_t groups = info.block / info.group, stride = info.recordBytes * spec.tile;
    Value header = k.at(item, k.mul(panel, info.headerBytes));
    Value record = k.at(k.at(item, info.headerBytes * spec.tile), k.mul(panel, info.recordBytes));
    k.loop(k.c(0), k.c(spec.cols / info.block), 1, [&](Value b) {
      Value offset = k.mul(b, info.panelBytes() * spec.tile);
      Value blockHeader = k.at(header, offset), records = k.at(record, offset);
      k.loop(k.c(0), k.c(groups), 1, [&](Value g) {
        Value to = k.at(target, k.mul(k.add(k.mul(b, groups), g), info.group * 4));
        group(blockHeader, k.at(records, k.mul(g, stride)), to);
      });
    });
  }

  /// The 32 values of one group, sixteen at a time.
  void group(Value header, Value record, Value to) {
    Value lanes = k.at(k.at(record, info.quantOffset), k.mul(lane, 4));
    Values words;
    for (int64_t j = 0; j < info.bits; ++j)
      words.push_back(k.load(k.i32(), lanes, 4, 64 * j));
    Value topmost;
    if (32 % info.bits) {
      topmost = k.shr(words[0], 30);
      for (int64_t j = 1; j < info.bits; ++j)
        topmost = k.ori(topmost, k.shl(k.shr(words[size_t(j)], 30), 2 * j));
    }
    for (int64_t first : {0, 16}) {
      Value source = k.splatI(0);
      SmallVector<int32_t> shifts;
      for (int64_t i = 0; i < 16; ++i) {
        QuantPlace at = quantPlace(info.bits, first + i);
        source = k.insert(at.word < 0 ? topmost : words[size_t(at.word)], source, i);
        shifts.push_back(int32_t(at.shift));
      }
      Value codes = k.andi(k.shrLanes(source, k.lanes(shifts)), k.splatI((1 << info.bits) - 1));
      auto [scale, minimum] = scales(header, record, first / info.subGroup);
      k.store(scaled(k.fma(quants(codes), k.broadcast(scale), k.broadcast(minimum))), to, 4,
              first * 4);
    }
  }

  /// Codes as the numbers they stand for.
  Value quants(Value codes) {
    if (info.codebook == Codebook::None)
      return k.sitofp(k.sub(codes, k.splatI(int32_t(info.zero))), k.vecF());
    Value numbers = k.splatI(codebookValue(info.codebook, 0));
    for (int code = 1; code < 16; ++code)
      numbers = k.select(k.eq(codes, k.splatI(code)), k.splatI(codebookValue(info.codebook, code)),
                         numbers);
    return k.sitofp(numbers, k.vecF());
  }

  /// Scale and minimum of a sub-group.
  std::pair<Value, Value> scales(Value header, Value record, int64_t subGroup) {
    auto half = [&](Value from, int64_t offset) {
      return k.extf(k.load(k.f16(), k.at(from, k.mul(lane, 2)), 2, offset));
    };
    auto byte = [&](int64_t offset) {
      return k.extui(k.load(k.i8(), k.at(record, lane), 1, offset));
    };
    auto toFloat = [&](Value value) { return k.sitofp(value, k.f32()); };
    int64_t offset = 16 * subGroup, perGroup = info.group / info.subGroup;
    switch (info.scale) {
    case ScaleForm::None:
      break;
    case ScaleForm::Half:
      return {half(record, 0), k.cf(0)};
    case ScaleForm::HalfMin:
      return {half(record, 0), half(record, 32)};
    case ScaleForm::E8M0: {
      Value e = byte(0);
      Value small = k.select(k.eq(e, k.c32(0)), k.c32(0x00200000), k.c32(0x00400000));
      Value bits = k.select(k.lt(e, k.c32(2)), small, k.shl(k.sub(e, k.c32(1)), 23));
      return {k.bitcast(bits, k.f32()), k.cf(0)};
    }
    case ScaleForm::Float:
      return {k.load(k.f32(), k.at(header, k.mul(lane, 4)), 4), k.cf(0)};
    case ScaleForm::Sub: {
      // The byte is signed.
      Value s = k.sub(k.xori(byte(offset), k.c32(128)), k.c32(128));
      return {k.mulf(half(header, 0), toFloat(s)), k.cf(0)};
    }
    case ScaleForm::SubMin:
      return {k.mulf(half(header, 0), toFloat(byte(offset))),
              k.mulf(k.negf(half(header, 32)), toFloat(byte(16 * perGroup + offset)))};
    case ScaleForm::SubPair:
      return {k.mulf(half(header, 0), toFloat(k.andi(byte(offset), k.c32(15)))),
              k.mulf(k.negf(half(header, 32)), toFloat(k.shr(byte(offset), 4)))};
    }
    llvm_unreachable("plain floats have no scales");
  }

  using Values = KernelBuilder::Values;
  KernelBuilder &k;
  const EmbeddingSpec &spec;
  StorageInfo info;
  Value lane;
};

} // namespace

std::string checkEmbedding(const EmbeddingSpec &spec) {
  StorageInfo info = storageInfo(spec.storage);
  if (spec.rows <= 0 || spec.cols <= 0 || spec.tile < 0)
    return "an embedding needs rows and columns";
  if (spec.offset < 0 || spec.offset >= spec.rows)
    return "rows from " + std::to_string(spec.offset) + " on of a table of " +
           std::to_string(spec.rows);
  if (spec.otherwise && (*spec.otherwise < 0 || *spec.otherwise >= spec.rows))
    return "row " + std::to_string(*spec.otherwise) + " for other tokens of a table of " +
           std::to_string(spec.rows);
  if (spec.cols % info.block)
    return "width " + std::to_string(spec.cols) + " of a " + std::string(info.name) +
           " embedding is not a multiple of " + std::to_string(info.block);
  if (spec.tile == 0 && !info.isFloat())
    return std::string(info.name) + " embeddings have no plain rows";
  return "";
}

std::string embeddingKernelName(const EmbeddingSpec &spec) {
  std::string name = "embedding_" + std::string(storageInfo(spec.storage).name) + "_n" +
                     std::to_string(spec.rows) + "_d" + std::to_string(spec.cols) + "_r" +
                     std::to_string(spec.tile);
  if (spec.index == TableIndex::Position)
    name += "_p";
  if (spec.offset)
    name += "_o" + std::to_string(spec.offset);
  if (spec.otherwise)
    name += "_e" + std::to_string(*spec.otherwise);
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
