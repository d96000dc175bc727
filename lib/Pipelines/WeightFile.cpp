//===- WeightFile.cpp - packing a checkpoint into weights.bin -------------===//
#include "WeightFile.h"
#include "WorkerTeam.h"

#include "llmc/Conversion/TableBound.h"
#include "llmc/Conversion/WeightSplit.h"
#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/OpHooks.h"
#include "llmc/Kernels/CPU/Packing.h"
#include "llmc/Support/Error.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace llmc {

namespace {

/// A new file of a known size, mapped for writing.
class MappedOutput {
public:
  MappedOutput(const std::string &path, uint64_t bytes) : path(path), bytes(bytes) {
    descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0)
      fail("cannot be created");
    // Reserve the blocks now: a full disk must be an error here and not a fault on a page.
    if (int error = bytes ? ::posix_fallocate(descriptor, 0, off_t(bytes)) : 0) {
      errno = error;
      fail("has no room for " + std::to_string(bytes) + " bytes");
    }
    if (bytes) {
      base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
      if (base == MAP_FAILED)
        fail("cannot be mapped");
    }
  }
  ~MappedOutput() {
    if (base && base != MAP_FAILED)
      ::munmap(base, bytes);
    if (descriptor >= 0)
      ::close(descriptor);
  }
  MappedOutput(const MappedOutput &) = delete;

  std::span<std::byte> at(uint64_t offset, uint64_t size) {
    if (offset > bytes || size > bytes - offset)
      throw InternalError("a weight lies behind the end of its arena");
    return {static_cast<std::byte *>(base) + offset, size};
  }

private:
  [[noreturn]] void fail(const std::string &what) {
    std::string why = std::strerror(errno);
    if (descriptor >= 0)
      ::close(descriptor);
    descriptor = -1;
    throw InputError(path + ": " + what + ": " + why);
  }
  std::string path;
  uint64_t bytes;
  int descriptor = -1;
  void *base = nullptr;
};

/// One matrix of a member of packed weights.
struct Member {
  plan::WeightsOp weights;
  int64_t layer, matrix, offset;
  /// Whose part it is, and of how many.
  int64_t rank, ranks;
  ConversionReport *report;
};

/// Rows of a source: the checkpoint's own bytes, or a copy where they do not follow one
/// another there.
struct SourceBytes {
  std::span<const std::byte> bytes;
  std::vector<std::byte> copy;
  std::shared_ptr<const std::vector<float>> computed;
};

kernels::Storage storageOf(plan::WeightsOp weights) {
  return *kernels::findStorage(plan::stringifyStorage(weights.getStorage()));
}

/// The rows of a part of a tensor of plain elements one after another, by blocks that stay in
/// cache.
void copyPart(std::span<const std::byte> from, const StoredPart &part, int64_t element,
              std::span<std::byte> to) {
  constexpr int64_t block = 32;
  for (int64_t r0 = 0; r0 < part.rows; r0 += block)
    for (int64_t c0 = 0; c0 < part.columns; c0 += block)
      for (int64_t r = r0; r < std::min(part.rows, r0 + block); ++r)
        for (int64_t c = c0; c < std::min(part.columns, c0 + block); ++c)
          std::memcpy(to.data() + (r * part.columns + c) * element,
                      from.data() + part.at(r, c) * element, size_t(element));
}

/// The member's part of a dimension that the ranks divide: where it begins, and how long the
/// whole is.
struct RankPart {
  int64_t first = 0, whole;
};

RankPart rankPart(const Member &member, int64_t dimension, int64_t size) {
  auto split = member.weights->getAttrOfType<mlir::IntegerAttr>(splitAttrName);
  if (!split || split.getInt() != dimension)
    return {0, size};
  return {member.rank * size, member.ranks * size};
}

/// Which elements of its tensor are a source's rows.
StoredPart storedPart(plan::SourceAttr source, const Member &member) {
  plan::WeightsOp weights = member.weights;
  int64_t matrices = weights.getMatrices();
  // Matrices are a dimension of their own.
  int64_t dimension = matrices > 1 ? 1 : 0;
  StoredPart part;
  part.rows = source.getRows();
  part.columns = weights.getCols();
  RankPart matrix = rankPart(member, matrices > 1 ? 0 : -1, matrices);
  RankPart rows = rankPart(member, dimension, part.rows);
  RankPart columns = rankPart(member, dimension + 1, part.columns);
  int64_t number = source.isByMatrix() ? 0 : matrix.first + member.matrix;
  if (plan::ViewAttr view = source.getView()) {
    llvm::ArrayRef<int64_t> strides = view.getStrides();
    part.rowStride = strides[strides.size() - 2];
    part.columnStride = strides.back();
    part.first = view.getFirst() + rows.first * part.rowStride + columns.first * part.columnStride;
    if (strides.size() == 3)
      part.first += number * strides[0];
    part.stored = view.getNumElements();
    return part;
  }
  int64_t stored = source.getOf() ? source.getOf() : rows.whole;
  part.rowStride = source.getTransposed() ? 1 : columns.whole;
  part.columnStride = source.getTransposed() ? stored : 1;
  part.first = (source.getFirst() + rows.first) * part.rowStride +
               columns.first * part.columnStride + number * stored * columns.whole;
  part.stored = stored * columns.whole * (source.isByMatrix() ? 1 : matrix.whole);
  return part;
}

/// The bytes of a source's rows, one row after another. The tensor may hold more (a fused
/// projection, all experts), be divided between ranks, or have them in another order.
SourceBytes tensorBytes(const frontend::Checkpoint &checkpoint, plan::SourceAttr source,
                        const Member &member) {
  plan::WeightsOp weights = member.weights;
  std::string name = frontend::expandLayerName(source.getTensor().str(), member.layer);
  name = frontend::expandExpertName(
      name, member.matrix + rankPart(member, weights.getMatrices() > 1 ? 0 : -1,
                                     weights.getMatrices()).first);
  const frontend::CheckpointTensor *tensor = checkpoint.find(name);
  if (!tensor)
    throw InputError("tensor '" + name + "' is not in the checkpoint, weights '" +
                     weights.getSymName().str() + "' need it");
  frontend::TensorBytes stored = checkpoint.bytes(*tensor);
  std::span<const std::byte> bytes = stored.bytes;
  StoredPart part = storedPart(source, member);
  kernels::Storage storage = storageOf(weights);
  kernels::StorageInfo info = kernels::storageInfo(storage);
  const frontend::StorageFormat *format = frontend::findStorageFormat(info.name);
  if (tensor->format && format && tensor->format != format) {
    SourceBytes converted;
    converted.copy = convertedRows(checkpoint, *tensor, part, *format, member.report);
    converted.bytes = converted.copy;
    return converted;
  }
  if (part.columnStride != 1 && !info.isFloat())
    throw InputError("tensor '" + name + "' is stored transposed and as " +
                     std::string(info.name) + "; only plain floats can be transposed, convert "
                     "it to f32, f16 or bf16");
  // In blocks from here on.
  bool wholeBlocks = part.columns % info.block == 0 && part.first % info.block == 0 &&
                     part.stored % info.block == 0 &&
                     (part.rows == 1 || part.rowStride % info.block == 0);
  if (!part.isInside() || !wholeBlocks ||
      int64_t(bytes.size()) != part.stored / info.block * info.blockBytes)
    throw InputError("tensor '" + name + "' has " + std::to_string(bytes.size()) +
                     " bytes, the program takes " + std::to_string(part.rows) + " rows of " +
                     std::to_string(part.columns) + " out of " + std::to_string(part.stored) +
                     " elements of " + std::string(info.name) +
                     (member.ranks > 1 ? " for " + std::to_string(member.ranks) + " ranks" : ""));
  int64_t rowBytes = kernels::sourceRowBytes(storage, part.columns);
  int64_t begin = part.first / info.block * info.blockBytes;
  if (part.columnStride == 1 && (part.rowStride == part.columns || part.rows == 1))
    return {bytes.subspan(size_t(begin), size_t(part.rows * rowBytes)), {}, stored.computed};
  SourceBytes taken;
  taken.copy.resize(size_t(part.rows * rowBytes));
  if (part.columnStride != 1)
    copyPart(bytes, part, info.blockBytes, taken.copy);
  else
    for (int64_t row = 0; row < part.rows; ++row)
      std::memcpy(taken.copy.data() + row * rowBytes,
                  bytes.data() + begin + row * part.rowStride / info.block * info.blockBytes,
                  size_t(rowBytes));
  taken.bytes = taken.copy;
  return taken;
}

/// A table's numbers name something: each must be one of so many.
void checkNumbers(const Member &member, plan::SourceAttr source, std::span<const float> values) {
  plan::WeightsOp weights = member.weights;
  auto below = weights->getAttrOfType<mlir::IntegerAttr>(numbersBelowAttrName);
  for (size_t i = 0; below && i < values.size(); ++i)
    if (!(values[i] >= 0 && values[i] < float(below.getInt())) || values[i] != std::floor(values[i]))
      throw InputError("tensor '" +
                       frontend::expandLayerName(source.getTensor().str(), member.layer) +
                       "' has " + std::to_string(values[i]) + " in row " +
                       std::to_string(i / size_t(weights.getCols())) +
                       ", its numbers must be whole and from 0 to " +
                       std::to_string(below.getInt() - 1) + "; the checkpoint is at fault");
}

/// Vectors as f32, one source after another or alternating.
void packRows(const Member &member, const frontend::Checkpoint &checkpoint,
              std::span<std::byte> out) {
  plan::WeightsOp weights = member.weights;
  int64_t cols = weights.getCols(), run = int64_t(weights.getInterleave());
  auto *floats = reinterpret_cast<float *>(out.data());
  std::fill_n(floats, weights.getRows() * cols, 0.0f);
  auto sources = weights.getSources().getAsRange<plan::SourceAttr>();
  int64_t count = int64_t(weights.getSources().size()), index = 0, start = 0;
  for (plan::SourceAttr source : sources) {
    std::vector<float> values(size_t(source.getRows() * cols), 0.0f);
    if (mlir::DenseF32ArrayAttr constants = source.getValues()) {
      // One set for all members, or one for each.
      llvm::ArrayRef<float> all = constants;
      if (all.size() != values.size())
        all = all.slice(size_t(*weights.getLayersAttr().getMember(member.layer)) * values.size(),
                        values.size());
      std::copy(all.begin(), all.end(), values.begin());
    }
    else if (!source.isZeros())
      kernels::rowsToF32(storageOf(weights), tensorBytes(checkpoint, source, member).bytes,
                         values);
    checkNumbers(member, source, values);
    for (int64_t row = 0; row < source.getRows(); ++row) {
      int64_t to = run ? (row / run * count + index) * run + row % run : start + row;
      std::copy_n(values.begin() + row * cols, cols, floats + to * cols);
    }
    start += source.getRows();
    ++index;
  }
}

void packMember(const Member &member, const frontend::Checkpoint &checkpoint, MappedOutput &file) {
  plan::WeightsOp weights = member.weights;
  std::span<std::byte> out = file.at(uint64_t(member.offset),
                                     uint64_t(weights.getBytes() / weights.getMatrices()));
  auto panels = llvm::dyn_cast<plan::PanelsAttr>(weights.getLayout());
  if (!panels)
    return packRows(member, checkpoint, out);
  kernels::PackSpec spec{storageOf(weights), int64_t(weights.getCols()), panels.getTile(),
                         int64_t(weights.getInterleave())};
  std::vector<kernels::PackSource> sources;
  // Copies live until all is packed.
  std::vector<SourceBytes> held;
  for (plan::SourceAttr source : weights.getSources().getAsRange<plan::SourceAttr>()) {
    kernels::PackSource packed{source.getRows(), {}};
    if (!source.isZeros())
      packed.bytes = held.emplace_back(tensorBytes(checkpoint, source, member)).bytes;
    sources.push_back(packed);
  }
  kernels::packPanels(spec, sources, out, 1);
}

} // namespace

void writeWeightFile(plan::ProgramOp program, const frontend::Checkpoint &checkpoint,
                     const std::string &path, unsigned threads, int64_t rank,
                     const std::function<void(uint64_t done, uint64_t total)> &progress,
                     ConversionReport *report) {
  std::vector<Member> members;
  int64_t bytes = 0;
  for (plan::WeightsOp weights : program.getOps<plan::WeightsOp>()) {
    int64_t base = int64_t(weights.getBase().value_or(0));
    int64_t stride = int64_t(weights.getStride().value_or(0));
    llvm::SmallVector<int64_t> layers;
    if (auto set = weights.getLayersAttr())
      for (size_t i = 0; i < set.getNumRanges(); ++i)
        for (int64_t layer = set.getRange(i).first; layer < set.getRange(i).second; ++layer)
          layers.push_back(layer);
    else
      layers.push_back(0);
    int64_t matrices = weights.getMatrices();
    for (auto [m, layer] : llvm::enumerate(layers))
      for (int64_t matrix = 0; matrix < matrices; ++matrix)
        members.push_back({weights, layer, matrix,
                           base + int64_t(m) * stride + matrix * (weights.getBytes() / matrices),
                           rank, program.getRanks(), report});
    bytes = std::max<int64_t>(bytes, weights.getEnd());
  }
  MappedOutput file(path, uint64_t(bytes));
  std::atomic<uint64_t> done{0};
  forEachOnThreads(threads, members.size(), [&](size_t i) {
    packMember(members[i], checkpoint, file);
    plan::WeightsOp weights = members[i].weights;
    done += uint64_t(weights.getBytes() / weights.getMatrices());
    if (progress)
      progress(done, uint64_t(bytes));
  });
}

} // namespace llmc
