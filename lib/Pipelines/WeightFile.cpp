//===- WeightFile.cpp - packing a checkpoint into weights.bin -------------===//
#include "WeightFile.h"
#include "WorkerTeam.h"

#include "llmc/Conversion/WeightSplit.h"
#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/OpHooks.h"
#include "llmc/Kernels/CPU/Packing.h"
#include "llmc/Support/Error.h"

#include <atomic>
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

struct Member {
  plan::WeightsOp weights;
  int64_t layer, offset;
  /// Whose part it is, and of how many.
  int64_t rank, ranks;
  ConversionReport *report;
};

/// Rows of a source: the checkpoint's own bytes, or a copy where they do not follow one
/// another there.
struct SourceBytes {
  std::span<const std::byte> bytes;
  std::vector<std::byte> copy;
};

kernels::Storage storageOf(plan::WeightsOp weights) {
  return *kernels::findStorage(plan::stringifyStorage(weights.getStorage()));
}

/// Rows [row, row + rows) of a float matrix that is stored as [columns, `stored`], columns from
/// `column` on: a transposed copy, in blocks that stay in cache.
void copyTransposed(std::span<const std::byte> from, int64_t stored, int64_t row, int64_t rows,
                    int64_t column, int64_t cols, int64_t element, std::span<std::byte> to) {
  constexpr int64_t block = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += block)
    for (int64_t c0 = 0; c0 < cols; c0 += block)
      for (int64_t r = r0; r < std::min(rows, r0 + block); ++r)
        for (int64_t c = c0; c < std::min(cols, c0 + block); ++c)
          std::memcpy(to.data() + (r * cols + c) * element,
                      from.data() + ((column + c) * stored + row + r) * element,
                      size_t(element));
}

/// The bytes of a source's rows, one row after another. The tensor may hold more rows (a fused
/// projection), be divided between ranks by rows or columns, or be stored transposed.
SourceBytes tensorBytes(const frontend::Checkpoint &checkpoint, plan::SourceAttr source,
                        const Member &member) {
  plan::WeightsOp weights = member.weights;
  std::string name = frontend::expandLayerName(source.getTensor().str(), member.layer);
  const frontend::CheckpointTensor *tensor = checkpoint.find(name);
  if (!tensor)
    throw InputError("tensor '" + name + "' is not in the checkpoint, weights '" +
                     weights.getSymName().str() + "' need it");
  std::span<const std::byte> bytes = checkpoint.data(*tensor);
  auto split = weights->getAttrOfType<mlir::IntegerAttr>(splitAttrName);
  int64_t rows = source.getRows(), cols = weights.getCols();
  bool byRows = split && split.getInt() == 0, byCols = split && split.getInt() == 1;
  int64_t first = source.getFirst() + (byRows ? member.rank * rows : 0);
  int64_t column = byCols ? member.rank * cols : 0;
  int64_t stored = source.getOf() ? source.getOf() : rows * (byRows ? member.ranks : 1);
  kernels::Storage storage = storageOf(weights);
  const frontend::StorageFormat *format =
      frontend::findStorageFormat(kernels::storageInfo(storage).name);
  if (tensor->format && format && tensor->format != format) {
    SourceBytes converted;
    converted.copy = convertedRows(checkpoint, *tensor,
                                   {first, rows, column, cols, stored,
                                    cols * (byCols ? member.ranks : 1), source.getTransposed()},
                                   *format, member.report);
    converted.bytes = converted.copy;
    return converted;
  }
  int64_t rowBytes = kernels::sourceRowBytes(storage, cols);
  int64_t storedRowBytes = kernels::sourceRowBytes(storage, cols * (byCols ? member.ranks : 1));
  if (first + rows > stored || int64_t(bytes.size()) != stored * storedRowBytes)
    throw InputError("tensor '" + name + "' has " + std::to_string(bytes.size()) +
                     " bytes, rows " + std::to_string(first) + " to " +
                     std::to_string(first + rows) + " of " + std::to_string(stored) + " need " +
                     std::to_string(stored * storedRowBytes) +
                     (split ? " for " + std::to_string(member.ranks) + " ranks" : ""));
  if (!source.getTransposed() && !byCols)
    return {bytes.subspan(size_t(first * rowBytes), size_t(rows * rowBytes)), {}};
  SourceBytes part;
  part.copy.resize(size_t(rows * rowBytes));
  if (source.getTransposed()) {
    kernels::StorageInfo info = kernels::storageInfo(storage);
    if (!info.isFloat())
      throw InputError("tensor '" + name + "' is stored transposed and as " +
                       std::string(info.name) + "; only plain floats can be transposed, convert "
                       "it to f32, f16 or bf16");
    copyTransposed(bytes, stored, first, rows, column, cols, info.blockBytes, part.copy);
  } else {
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(part.copy.data() + row * rowBytes,
                  bytes.data() + (first + row) * storedRowBytes + member.rank * rowBytes,
                  size_t(rowBytes));
  }
  part.bytes = part.copy;
  return part;
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
    if (mlir::DenseF32ArrayAttr constants = source.getValues())
      std::copy(constants.asArrayRef().begin(), constants.asArrayRef().end(), values.begin());
    else if (!source.isZeros())
      kernels::rowsToF32(storageOf(weights), tensorBytes(checkpoint, source, member).bytes,
                         values);
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
  std::span<std::byte> out = file.at(uint64_t(member.offset), uint64_t(weights.getBytes()));
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
    for (auto [m, layer] : llvm::enumerate(layers))
      members.push_back({weights, layer, base + int64_t(m) * stride, rank, program.getRanks(),
                         report});
    bytes = std::max<int64_t>(bytes, weights.getEnd());
  }
  MappedOutput file(path, uint64_t(bytes));
  std::atomic<uint64_t> done{0};
  forEachOnThreads(threads, members.size(), [&](size_t i) {
    packMember(members[i], checkpoint, file);
    done += uint64_t(members[i].weights.getBytes());
    if (progress)
      progress(done, uint64_t(bytes));
  });
}

} // namespace llmc
