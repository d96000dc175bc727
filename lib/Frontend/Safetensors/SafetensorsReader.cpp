//===- SafetensorsReader.cpp - headers of .safetensors files --------------===//
//
// A file is: u64 header size, JSON header, data. Nothing in the header is
// believed: sizes are bounded before memory is taken, products are checked for
// overflow, and the tensors must tile the data without overlap.
//
//===----------------------------------------------------------------------===//
#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/Json.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/RegularFile.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

namespace fs = std::filesystem;

namespace llmc::frontend {

/// The format's own bound.
static constexpr uint64_t maxHeaderBytes = 100'000'000;

/// Where the first bytes begin that are no character; the size of the text when all are.
static size_t invalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    unsigned char lead = text[at];
    size_t length = lead < 0x80        ? 1
                    : lead >> 5 == 6   ? 2
                    : lead >> 4 == 14  ? 3
                    : lead >> 3 == 30  ? 4
                                       : 0;
    if (!length || length > text.size() - at)
      return at;
    uint32_t code = length == 1 ? lead : lead & (0x7F >> length);
    for (size_t i = 1; i < length; ++i) {
      unsigned char next = text[at + i];
      if (next >> 6 != 2)
        return at;
      code = code << 6 | (next & 63);
    }
    static constexpr uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < smallest[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      return at;
    at += length;
  }
  return at;
}

static std::string readHeader(std::ifstream &in, const std::string &path, uint64_t fileSize) {
  char prefix[8];
  if (fileSize < 8 || !in.read(prefix, 8))
    throw InputError(path + ": has " + std::to_string(fileSize) +
                     " bytes, a safetensors file has at least 8; the download is incomplete");
  uint64_t size;
  std::memcpy(&size, prefix, 8);
  if (size > maxHeaderBytes)
    throw InputError(path + ": gives a header of " + std::to_string(size) + " bytes, at most " +
                     std::to_string(maxHeaderBytes) + " are allowed; this is no safetensors file");
  if (size > fileSize - 8)
    throw InputError(path + ": gives a header of " + std::to_string(size) + " bytes, but only " +
                     std::to_string(fileSize - 8) + " follow; the download is incomplete");
  std::string header(size, '\0');
  if (!in.read(header.data(), std::streamsize(size)))
    throw InputError(path + ": reading the header failed");
  if (!header.starts_with('{'))
    throw InputError(path + ": the header must begin with '{'; this is no safetensors file");
  if (size_t at = invalidUtf8(header); at != header.size())
    throw InputError(path + ": byte " + std::to_string(8 + at) +
                     " is no valid UTF-8, as a header must be; the file is damaged");
  return header;
}

/// "file: tensor 'name': "
static std::string at(const std::string &path, const std::string &tensor) {
  return path + ": tensor '" + tensor + "': ";
}

static CheckpointTensor readTensor(const std::string &path, const std::string &name,
                                   const Json &entry, uint64_t dataStart) {
  std::string where = at(path, name);
  const Json *dtype = entry.find("dtype"), *shape = entry.find("shape"),
             *offsets = entry.find("data_offsets");
  if (!entry.isObject() || !dtype || !dtype->isString() || !shape || !shape->isArray() ||
      !offsets || !offsets->isArray() || offsets->items.size() != 2)
    throw InputError(where + "needs dtype, shape and two data_offsets, has " + entry.dump(80));
  CheckpointTensor tensor;
  tensor.name = name;
  tensor.format = findSafetensorsFormat(dtype->text);
  if (!tensor.format)
    throw InputError(where + "dtype " + quoteJson(dtype->text) +
                     " is not known; known are " + safetensorsNames());
  if (shape->items.size() > 8)
    throw InputError(where + "has " + std::to_string(shape->items.size()) +
                     " dimensions, at most 8 are supported");
  for (const Json &dim : shape->items) {
    if (!dim.isInt() || dim.integer < 0)
      throw InputError(where + "shape " + shape->dump(80) + " must hold whole sizes");
    tensor.shape.push_back(dim.integer);
  }
  auto count = elementCount(tensor.shape);
  if (count && *count % tensor.format->blockSize)
    throw InputError(where + std::to_string(*count) + " elements of " + dtype->text +
                     " are no whole number of bytes");
  auto bytes = count ? storageBytes(*tensor.format, *count) : std::nullopt;
  if (!bytes)
    throw InputError(where + "shape " + shapeText(tensor.shape) + " is too large");
  const Json &first = offsets->items[0], &last = offsets->items[1];
  if (!first.isInt() || !last.isInt() || first.integer < 0 || last.integer < first.integer)
    throw InputError(where + "data_offsets " + offsets->dump(80) +
                     " must be two ascending whole numbers");
  if (uint64_t(last.integer - first.integer) != *bytes)
    throw InputError(where + "data_offsets " + offsets->dump() + " span " +
                     std::to_string(last.integer - first.integer) + " bytes, but " + dtype->text +
                     " " + shapeText(tensor.shape) + " needs " + std::to_string(*bytes));
  tensor.byteOffset = dataStart + uint64_t(first.integer);
  tensor.byteSize = *bytes;
  return tensor;
}

/// Overlaps are refused; unnamed bytes are a deferred fault, because a tensor missing from
/// the header explains them better.
static void checkTiling(Checkpoint &checkpoint, const std::string &path,
                        std::vector<CheckpointTensor> &tensors, uint64_t dataStart,
                        uint64_t fileSize) {
  std::sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) {
    return std::tie(a.byteOffset, a.byteSize, a.name) < std::tie(b.byteOffset, b.byteSize, b.name);
  });
  uint64_t end = dataStart;
  const CheckpointTensor *previous = nullptr;
  auto gap = [&](uint64_t until, const std::string &before) {
    checkpoint.addDeferredFault(path + ": " + std::to_string(until - end) +
                                " bytes at data offset " + std::to_string(end - dataStart) +
                                " belong to no tensor (" + before +
                                "); the header was edited or the file is damaged");
  };
  for (const CheckpointTensor &tensor : tensors) {
    if (tensor.byteOffset < end)
      throw InputError(at(path, tensor.name) + "starts at data offset " +
                       std::to_string(tensor.byteOffset - dataStart) + ", inside tensor '" +
                       previous->name + "', which ends at " + std::to_string(end - dataStart) +
                       "; the header is wrong, get the file again");
    if (tensor.byteOffset > end)
      gap(tensor.byteOffset, "before tensor '" + tensor.name + "'");
    end = tensor.byteOffset + tensor.byteSize;
    previous = &tensor;
  }
  if (end > fileSize) {
    const CheckpointTensor *cut =
        &*std::find_if(tensors.begin(), tensors.end(),
                       [&](const auto &t) { return t.byteOffset + t.byteSize > fileSize; });
    throw InputError(at(path, cut->name) + "ends at byte " +
                     std::to_string(cut->byteOffset + cut->byteSize) + ", but the file has " +
                     std::to_string(fileSize) + " bytes and would need " + std::to_string(end) +
                     "; the file is cut, get it again");
  }
  if (end < fileSize)
    gap(fileSize, "behind the last tensor");
}

static void checkMetadata(const std::string &path, const Json &metadata) {
  if (!metadata.isObject())
    throw InputError(path + ": __metadata__ must map texts to texts, it is " + metadata.dump(80));
  for (const auto &[key, value] : metadata.members)
    if (!value.isString())
      throw InputError(path + ": __metadata__ must map texts to texts, " + quoteJson(key) + " is " +
                       value.dump(80));
}

/// Returns whether the file has the data of its tensors.
static bool readFile(Checkpoint &checkpoint, const std::string &path) {
  if (std::string problem = whyNotRegular(path); !problem.empty())
    throw InputError(path + ": " + problem);
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in)
    throw InputError(path + ": cannot be opened for reading");
  uint64_t fileSize = uint64_t(in.tellg());
  in.seekg(0);
  std::string text = readHeader(in, path, fileSize);
  Json header = parseJson(text, path);
  if (!header.isObject())
    throw InputError(path + ": the header must be an object, it is " + header.kindName());
  uint64_t dataStart = 8 + text.size();
  std::vector<CheckpointTensor> tensors;
  for (const auto &[name, entry] : header.members) {
    if (name == "__metadata__") {
      checkMetadata(path, entry);
      continue;
    }
    // Names appear in messages.
    if (std::any_of(name.begin(), name.end(),
                    [](unsigned char c) { return c < 0x20 || c == 0x7F; }))
      throw InputError(path + ": the tensor name " + quoteJson(name) +
                       " holds a control character; the file is damaged");
    tensors.push_back(readTensor(path, name, entry, dataStart));
  }
  uint32_t file = checkpoint.addFile(path, fileSize);
  // A file of nothing but its header is a deliberate abridgement, not a cut file.
  bool needsData = std::any_of(tensors.begin(), tensors.end(),
                               [](const auto &tensor) { return tensor.byteSize != 0; });
  bool headerOnly = fileSize == dataStart && needsData;
  uint64_t declaredEnd = dataStart;
  for (const CheckpointTensor &tensor : tensors)
    declaredEnd = std::max(declaredEnd, tensor.byteOffset + tensor.byteSize);
  checkTiling(checkpoint, path, tensors, dataStart, headerOnly ? declaredEnd : fileSize);
  for (CheckpointTensor &tensor : tensors) {
    tensor.file = file;
    checkpoint.addTensor(std::move(tensor));
  }
  return !headerOnly;
}

static std::shared_ptr<Checkpoint> readIndex(const std::string &path) {
  Json index = readJsonFile(path);
  const Json *map = index.find("weight_map");
  if (!map || !map->isObject())
    throw InputError(path + ": needs an object 'weight_map' from tensor to file");
  std::map<std::string, std::vector<const std::string *>> byShard;
  fs::path folder = fs::path(path).parent_path();
  for (const auto &[name, shard] : map->members) {
    // A shard stands beside its index: a name with a path could reach anywhere.
    // A zero byte would end the name for the system, and not for the messages.
    if (!shard.isString() || shard.text.empty() || fs::path(shard.text).filename() != shard.text ||
        shard.text.find('\0') != std::string::npos)
      throw InputError(at(path, name) + "weight_map gives " + shard.dump(80) +
                       ", which is no file name");
    byShard[shard.text].push_back(&name);
  }
  auto checkpoint = std::make_shared<Checkpoint>();
  std::vector<std::string> missing;
  for (const auto &[shard, names] : byShard)
    if (std::error_code error; !fs::exists(folder / shard, error))
      missing.push_back(shard);
  if (missing.size() == byShard.size()) {
    checkpoint->setDataAbsent();
    checkpoint->setShapesAbsent();
    uint32_t file = checkpoint->addFile(path, 0);
    for (const auto &member : map->members) {
      CheckpointTensor tensor;
      tensor.name = member.first;
      tensor.file = file;
      tensor.shapeKnown = false;
      checkpoint->addTensor(std::move(tensor));
    }
    return checkpoint;
  }
  if (!missing.empty())
    throw InputError(path + ": file '" + missing.front() + "' is missing" +
                     (missing.size() > 1 ? " and " + std::to_string(missing.size() - 1) + " more"
                                         : std::string()) +
                     " of " + std::to_string(byShard.size()) + "; download all shards");
  size_t headerOnly = 0;
  for (const auto &[shard, names] : byShard) {
    std::string file = (folder / shard).string();
    size_t before = checkpoint->tensors().size();
    headerOnly += !readFile(*checkpoint, file);
    size_t found = checkpoint->tensors().size() - before;
    for (const std::string *name : names)
      if (const CheckpointTensor *tensor = checkpoint->find(*name);
          !tensor || checkpoint->files()[tensor->file] != file)
        throw InputError(at(path, *name) + "should be in " + shard + ", whose header " +
                         (tensor ? "lacks it; it is in " + checkpoint->files()[tensor->file]
                                 : std::string("does not list it")) +
                         "; the index does not belong to these files");
    if (found != names.size()) {
      for (size_t i = before; i < checkpoint->tensors().size(); ++i) {
        const std::string &name = checkpoint->tensors()[i].name;
        const Json *listed = map->find(name);
        if (!listed)
          throw InputError(at(file, name) + "is not in the weight_map of " + path +
                           "; the index does not belong to these files");
        if (listed->text != shard)
          throw InputError(at(file, name) + "should be in " + listed->text + " by " + path +
                           "; the index does not belong to these files");
      }
    }
  }
  if (headerOnly)
    checkpoint->setDataAbsent();
  return checkpoint;
}

std::shared_ptr<Checkpoint> openSafetensors(const std::string &path) {
  if (path.ends_with(".index.json"))
    return readIndex(path);
  auto checkpoint = std::make_shared<Checkpoint>();
  if (!readFile(*checkpoint, path))
    checkpoint->setDataAbsent();
  return checkpoint;
}

std::shared_ptr<Checkpoint> openSafetensorsFolder(const std::string &folder) {
  fs::path base(folder);
  std::error_code error;
  if (fs::exists(base / "model.safetensors.index.json", error))
    return readIndex((base / "model.safetensors.index.json").string());
  if (fs::exists(base / "model.safetensors", error))
    return openSafetensors((base / "model.safetensors").string());
  // Shards without an index. "consolidated" files hold the same weights in another layout.
  std::vector<std::string> files;
  fs::directory_iterator entry(base, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(".safetensors") && !name.starts_with("consolidated"))
      files.push_back(entry->path().string());
  }
  if (error)
    throw InputError(folder + ": cannot be listed: " + error.message());
  if (files.empty())
    return nullptr;
  std::sort(files.begin(), files.end());
  auto checkpoint = std::make_shared<Checkpoint>();
  for (const std::string &file : files)
    if (!readFile(*checkpoint, file))
      checkpoint->setDataAbsent();
  return checkpoint;
}

} // namespace llmc::frontend
