//===- SeededCheckpoint.cpp - drawn weights as a file ---------------------===//
#include "SeededCheckpoint.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Frontend/Json.h"
#include "llmc/Frontend/OpHooks.h"
#include "llmc/Frontend/Quantize.h"
#include "llmc/Frontend/StorageFormat.h"
#include "llmc/Support/Error.h"

#include <cstring>
#include <fstream>
#include <map>

namespace llmc {

namespace {

struct Tensor {
  llvm::SmallVector<int64_t> shape;
  const frontend::StorageFormat *format;
};

/// By name; a tensor of which several weights take parts is there once.
std::map<std::string, Tensor> tensorsOf(mlir::ModuleOp program) {
  std::map<std::string, Tensor> tensors;
  for (auto family : program.getOps<llm::WeightFamilyOp>()) {
    if (family.getValues())
      continue;
    std::string storage = family.getType().getStorageName();
    const frontend::StorageFormat *format = frontend::findStorageFormat(storage);
    std::string source = family.getCheckpoint().value_or(family.getSource()).str();
    if (!format || (!format->isPlain() && !frontend::canQuantize(*format)))
      throw InputError("weights '" + source + "' are stored as " + storage +
                       ", which llmc does not make of drawn values; give a model with weights");
    if (!format->isPlain())
      format = frontend::findStorageFormat("f32");
    llvm::SmallVector<int64_t> layers{0};
    if (llm::LayersAttr set = family.getLayersAttr())
      layers = set.expand();
    int64_t experts = family.hasTensorPerExpert() ? family.getType().getShape()[0] : 1;
    for (int64_t layer : layers)
      for (int64_t expert = 0; expert < experts; ++expert)
        tensors.try_emplace(
            frontend::expandExpertName(frontend::expandLayerName(source, layer), expert),
            Tensor{llvm::SmallVector<int64_t>(family.getStoredShape()), format});
  }
  return tensors;
}

uint64_t bytesOf(const Tensor &tensor) {
  auto elements = uint64_t(reference::elementCount(tensor.shape));
  return elements * tensor.format->blockBytes;
}

} // namespace

void writeCheckpointOf(mlir::ModuleOp program, reference::WeightSource &weights,
                       const std::string &path) {
  std::map<std::string, Tensor> tensors = tensorsOf(program);
  std::string header = "{";
  uint64_t end = 0;
  for (const auto &[name, tensor] : tensors) {
    std::string dims;
    for (int64_t dim : tensor.shape)
      dims += (dims.empty() ? "" : ",") + std::to_string(dim);
    header += (header.size() > 1 ? "," : "") + llmc::frontend::quoteJson(name) + ":{\"dtype\":\"" +
              std::string(tensor.format->safetensorsName) + "\",\"shape\":[" + dims +
              "],\"data_offsets\":[" + std::to_string(end) + "," +
              std::to_string(end + bytesOf(tensor)) + "]}";
    end += bytesOf(tensor);
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::ofstream out(path, std::ios::binary);
  uint64_t size = header.size();
  char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = char(size >> (8 * i));
  out.write(length, sizeof length);
  out << header;
  for (const auto &[name, tensor] : tensors) {
    llvm::Expected<std::vector<float>> values = weights.load(name, tensor.shape);
    if (!values)
      throw InputError(llvm::toString(values.takeError()));
    std::vector<std::byte> bytes = frontend::encodeValues(*tensor.format, *values, name);
    out.write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
  }
  out.close();
  if (!out)
    throw InputError(path + ": cannot be written; is the disk full?");
}

} // namespace llmc
