//===- Storage.cpp - storages of weights by their usual names -------------===//
#include "llmc/Dialect/LLM/IR/Storage.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmc;
using namespace llmc::llm;

namespace {

enum class Scale : uint8_t { F16, F32, E8M0 };

/// The blocks of ggml-org/llama.cpp (ggml-common.h), said as `#llm.blocks` says it.
struct BlockRow {
  StringLiteral name;
  unsigned bits, size;
  Scale scale;
  bool min;
  int64_t zero;
  BlockOrder order;
  /// Elements of a sub-scale, its bits and whether it is signed.
  unsigned group, subscaleBits;
  bool signedSubscale;
  ArrayRef<int64_t> planes;
  ArrayRef<float> codebook;
  unsigned extra;
};

} // namespace

static constexpr int64_t nibblesOf64[] = {4, 64};
static constexpr int64_t nibblesOf32[] = {4, 32};
static constexpr int64_t fiveOf32[] = {4, 32, 1, 8};
static constexpr int64_t twoOf128[] = {2, 128};
static constexpr int64_t threeOf128[] = {2, 128, 1, 256};
static constexpr int64_t fiveOf64[] = {4, 64, 1, 256};
static constexpr int64_t sixOf128[] = {4, 128, 2, 128};
static constexpr float nonLinear4[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113};
static constexpr float e2m1[] = {0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6};

using enum BlockOrder;

// clang-format off
static constexpr BlockRow rows[] = {
    // name   bits size  scale        min   zero order  group subscale  planes        codebook  extra
    {"q4_0",    4,  32, Scale::F16,  false,  8, Halves,  0, 0, false, {},          {},          0},
    {"q4_1",    4,  32, Scale::F16,  true,   0, Halves,  0, 0, false, {},          {},          0},
    {"q5_0",    5,  32, Scale::F16,  false, 16, Planes,  0, 0, false, fiveOf32,    {},          0},
    {"q5_1",    5,  32, Scale::F16,  true,   0, Planes,  0, 0, false, fiveOf32,    {},          0},
    {"q8_0",    8,  32, Scale::F16,  false,  0, Linear,  0, 0, false, {},          {},          0},
    {"q8_1",    8,  32, Scale::F16,  false,  0, Linear,  0, 0, false, {},          {},          2},
    {"q2_k",    2, 256, Scale::F16,  true,   0, Planes, 16, 4, false, twoOf128,    {},          0},
    {"q3_k",    3, 256, Scale::F16,  false,  4, Planes, 16, 6, true,  threeOf128,  {},          0},
    {"q4_k",    4, 256, Scale::F16,  true,   0, Planes, 32, 6, false, nibblesOf64, {},          0},
    {"q5_k",    5, 256, Scale::F16,  true,   0, Planes, 32, 6, false, fiveOf64,    {},          0},
    {"q6_k",    6, 256, Scale::F16,  false, 32, Planes, 16, 8, true,  sixOf128,    {},          0},
    {"q8_k",    8, 256, Scale::F32,  false,  0, Linear,  0, 0, false, {},          {},         32},
    {"iq4_nl",  4,  32, Scale::F16,  false,  0, Halves,  0, 0, false, {},          nonLinear4,  0},
    {"iq4_xs",  4, 256, Scale::F16,  false,  0, Planes, 32, 6, true,  nibblesOf32, nonLinear4,  0},
    {"mxfp4",   4,  32, Scale::E8M0, false,  0, Halves,  0, 0, false, {},          e2m1,        0},
};
// clang-format on

ArrayRef<StringRef> llm::storageNames() {
  static const auto names = [] {
    SmallVector<StringRef> list = {"f32", "f16", "bf16"};
    for (const BlockRow &row : rows)
      list.push_back(row.name);
    return list;
  }();
  return names;
}

Attribute llm::storageByName(MLIRContext *context, StringRef name) {
  Builder builder(context);
  Type f16 = builder.getF16Type(), f32 = builder.getF32Type();
  if (name == "f32")
    return DenseAttr::get(context, f32);
  if (name == "f16")
    return DenseAttr::get(context, f16);
  if (name == "bf16")
    return DenseAttr::get(context, builder.getBF16Type());
  for (const BlockRow &row : rows) {
    if (row.name != name)
      continue;
    Type scale = row.scale == Scale::F16   ? f16
                 : row.scale == Scale::F32 ? f32
                                           : Type(Float8E8M0FNUType::get(context));
    Type subscale;
    if (row.group)
      subscale = IntegerType::get(context, row.subscaleBits,
                                  row.signedSubscale ? IntegerType::Signed : IntegerType::Unsigned);
    DenseI64ArrayAttr planes;
    if (!row.planes.empty())
      planes = builder.getDenseI64ArrayAttr(row.planes);
    DenseF32ArrayAttr codebook;
    if (!row.codebook.empty())
      codebook = builder.getDenseF32ArrayAttr(row.codebook);
    return BlocksAttr::get(context, name, row.bits, row.size, scale, row.zero, row.order,
                           row.min ? f16 : Type(), row.group, subscale, planes, codebook,
                           row.extra);
  }
  return {};
}
