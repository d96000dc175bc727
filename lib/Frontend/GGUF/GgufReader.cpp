//===- GgufReader.cpp - GGUF version 2 and 3, little-endian ---------------===//
//
// A file is: magic, version, counts, metadata, tensor infos, padding, data. The
// reader walks a bounded cursor; every length is compared with what is left
// before memory is taken for it.
//
//===----------------------------------------------------------------------===//
#include "GgufReader.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_set>

namespace llmc::frontend {

namespace {

enum ValueType : uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  String,
  Array,
  U64,
  I64,
  F64,
};

/// Maps the file while its header is read.
class FileBytes {
public:
  explicit FileBytes(const std::string &path) {
    int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
      int error = errno;
      if (descriptor >= 0)
        close(descriptor);
      throw InputError(path + ": cannot be opened: " + std::strerror(error));
    }
    size = uint64_t(status.st_size);
    void *map = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
    int error = errno;
    close(descriptor);
    if (map == MAP_FAILED)
      throw InputError(path + ": cannot be mapped: " + std::strerror(error));
    base = static_cast<const std::byte *>(map);
  }
  ~FileBytes() {
    if (base)
      munmap(const_cast<std::byte *>(base), size);
  }
  FileBytes(const FileBytes &) = delete;
  FileBytes &operator=(const FileBytes &) = delete;

  const std::byte *base = nullptr;
  uint64_t size = 0;
};

/// Values of lists that are kept, all together: a value takes a hundred times the memory that
/// it takes in the file. Known long lists, those of the tokenizer, are kept apart.
constexpr uint64_t maxListValues = 1 << 20;

class Reader {
public:
  Reader(const std::string &path, Checkpoint &checkpoint, GgufSplit &split)
      : path(path), bytes(path), checkpoint(checkpoint), split(split) {}

  GgufFile read() {
    readPreamble();
    for (uint64_t i = 0; i < keyCount; ++i)
      readPair(i);
    readGeneral();
    readTensors();
    return std::move(file);
  }

private:
  [[noreturn]] void fail(const std::string &message) const {
    throw InputError(path + ": " + message);
  }
  uint64_t left() const { return bytes.size - at; }
  void need(uint64_t count, const std::string &what) const {
    if (count > left())
      fail(what + " needs " + std::to_string(count) + " bytes at offset " + std::to_string(at) +
           ", but the file ends after " + std::to_string(left()) +
           "; the file is cut or damaged, get it again");
  }
  template <typename T>
  T scalar(const std::string &what) {
    need(sizeof(T), what);
    T value;
    std::memcpy(&value, bytes.base + at, sizeof value);
    at += sizeof value;
    return value;
  }
  std::string string(const std::string &what) {
    uint64_t length = scalar<uint64_t>(what);
    need(length, what);
    std::string text(reinterpret_cast<const char *>(bytes.base + at), length);
    at += length;
    return text;
  }

  void readPreamble() {
    if (bytes.size < 4 || std::memcmp(bytes.base, "GGUF", 4) != 0)
      fail("does not start with 'GGUF'; it is no GGUF file");
    at = 4;
    file.version = scalar<uint32_t>("the version");
    if (file.version == 0x02000000 || file.version == 0x03000000)
      fail("is big-endian, only little-endian files are supported; convert it on a "
           "little-endian machine");
    if (file.version != 2 && file.version != 3)
      fail("has GGUF version " + std::to_string(file.version) +
           ", supported are 2 and 3; convert the model again with current tools");
    tensorCount = scalar<uint64_t>("the tensor count");
    keyCount = scalar<uint64_t>("the metadata count");
    // A pair takes at least 13 bytes, a tensor info 24: larger counts are lies.
    if (keyCount > left() / 13 || keyCount > 65536)
      fail("gives " + std::to_string(keyCount) + " metadata values, more than its " +
           std::to_string(bytes.size) + " bytes can hold or than the 65536 llmc accepts");
    if (tensorCount > left() / 24)
      fail("gives " + std::to_string(tensorCount) + " tensors, more than its " +
           std::to_string(bytes.size) + " bytes can hold");
    file.metadata = Json::makeObject();
  }

  static uint64_t scalarSize(uint32_t type) {
    switch (type) {
    case U8:
    case I8:
    case Bool:
      return 1;
    case U16:
    case I16:
      return 2;
    case U32:
    case I32:
    case F32:
      return 4;
    case U64:
    case I64:
    case F64:
      return 8;
    case String:
      return 8;
    case Array:
      return 12;
    default:
      return 0;
    }
  }

  Json value(uint32_t type, const std::string &what, unsigned depth) {
    switch (type) {
    case U8:
      return Json::makeInt(scalar<uint8_t>(what));
    case I8:
      return Json::makeInt(scalar<int8_t>(what));
    case U16:
      return Json::makeInt(scalar<uint16_t>(what));
    case I16:
      return Json::makeInt(scalar<int16_t>(what));
    case U32:
      return Json::makeInt(scalar<uint32_t>(what));
    case I32:
      return Json::makeInt(scalar<int32_t>(what));
    case I64:
      return Json::makeInt(scalar<int64_t>(what));
    case U64: {
      uint64_t number = scalar<uint64_t>(what);
      if (number <= uint64_t(INT64_MAX))
        return Json::makeInt(int64_t(number));
      Json large = Json::makeDouble(double(number));
      large.text = std::to_string(number);
      return large;
    }
    case F32: {
      // The shortest decimal text of an f32 is what was written before conversion (1e-05),
      // so config values agree with those of config.json.
      float number = scalar<float>(what);
      char text[32];
      std::snprintf(text, sizeof text, "%.9g", double(number));
      for (int digits = 6; digits < 9; ++digits) {
        char shorter[32];
        std::snprintf(shorter, sizeof shorter, "%.*g", digits, double(number));
        if (std::strtof(shorter, nullptr) == number) {
          std::memcpy(text, shorter, sizeof text);
          break;
        }
      }
      return Json::makeDouble(std::strtod(text, nullptr));
    }
    case F64:
      return Json::makeDouble(scalar<double>(what));
    case Bool: {
      uint8_t flag = scalar<uint8_t>(what);
      if (flag > 1)
        fail(what + " is a boolean of value " + std::to_string(flag) + ", allowed are 0 and 1");
      return Json::makeBool(flag);
    }
    case String:
      return Json::makeString(string(what));
    case Array: {
      if (depth >= 4)
        fail(what + " is nested more than 4 deep");
      auto [element, count] = arrayHead(what);
      if (count > maxListValues - listValues) {
        if (element == Array)
          fail(what + " is a nested list of " + std::to_string(count) + " values, at most " +
               std::to_string(maxListValues) + " are supported");
        for (uint64_t i = 0; i < count; ++i)
          skip(element, what);
        return Json::makeString("<list of " + std::to_string(count) + " values>");
      }
      listValues += count;
      Json json = Json::makeArray();
      for (uint64_t i = 0; i < count; ++i)
        json.items.push_back(value(element, what, depth + 1));
      return json;
    }
    default:
      fail(what + " has the unknown value type " + std::to_string(type) + ", known are 0 to 12");
    }
  }

  std::pair<uint32_t, uint64_t> arrayHead(const std::string &what) {
    uint32_t element = scalar<uint32_t>(what);
    uint64_t count = scalar<uint64_t>(what);
    uint64_t size = scalarSize(element);
    if (!size)
      fail(what + " is a list of the unknown value type " + std::to_string(element));
    if (count > left() / size)
      fail(what + " gives a list of " + std::to_string(count) + " values, but only " +
           std::to_string(left()) + " bytes follow");
    return {element, count};
  }

  void skip(uint32_t element, const std::string &what) {
    uint64_t size = element == String ? scalar<uint64_t>(what) : scalarSize(element);
    need(size, what);
    at += size;
  }

  void readPair(uint64_t index) {
    std::string key = string("the name of metadata value " + std::to_string(index));
    std::string what = "metadata '" + key + "'";
    if (key.empty() || key.size() > 65535)
      fail("metadata value " + std::to_string(index) + " has a name of " +
           std::to_string(key.size()) + " bytes, allowed are 1 to 65535");
    checkName(key, "metadata value " + std::to_string(index));
    if (!keys.insert(key).second)
      fail(what + " stands twice");
    uint32_t type = scalar<uint32_t>(what);
    if (type == Array && readTokenizerList(key, what))
      return;
    add(key, value(type, what, 0));
  }

  /// Keys are unique by now: a search each would take quadratic time.
  void add(const std::string &key, Json value) {
    file.metadata.members.push_back({key, std::move(value)});
  }

  /// Names appear in messages.
  void checkName(const std::string &name, const std::string &what) const {
    for (unsigned char c : name)
      if (c < 0x20 || c == 0x7F)
        fail(what + " has a name with the control character " + std::to_string(c) +
             "; the file is damaged");
  }

  template <typename T, typename Read>
  void list(std::vector<T> &out, const std::string &key, const std::string &what,
            std::initializer_list<uint32_t> allowed, Read readOne) {
    auto [element, count] = arrayHead(what);
    if (std::find(allowed.begin(), allowed.end(), element) == allowed.end())
      fail(what + " is a list of value type " + std::to_string(element) + ", expected " +
           std::to_string(*allowed.begin()));
    out.reserve(count);
    for (uint64_t i = 0; i < count; ++i)
      out.push_back(readOne());
    add(key, Json::makeInt(int64_t(count)));
  }

  bool readTokenizerList(const std::string &key, const std::string &what) {
    GgufTokenizer &tokenizer = file.tokenizer;
    if (key == "tokenizer.ggml.tokens")
      list(tokenizer.tokens, key, what, {String}, [&] { return string(what); });
    else if (key == "tokenizer.ggml.merges")
      list(tokenizer.merges, key, what, {String}, [&] { return string(what); });
    else if (key == "tokenizer.ggml.scores")
      list(tokenizer.scores, key, what, {F32}, [&] { return scalar<float>(what); });
    else if (key == "tokenizer.ggml.token_type")
      list(tokenizer.tokenTypes, key, what, {I32, U32}, [&] { return scalar<int32_t>(what); });
    else if (key == "tokenizer.ggml.precompiled_charsmap")
      list(tokenizer.precompiledCharsmap, key, what, {U8, I8},
           [&] { return scalar<std::byte>(what); });
    else
      return false;
    return true;
  }

  std::string text(const std::string &key) {
    const Json *value = file.metadata.find(key);
    if (value && !value->isString())
      fail("metadata '" + key + "' must be text, it is " + value->kindName());
    return value ? value->text : std::string();
  }
  std::optional<int64_t> integer(const std::string &key) {
    const Json *value = file.metadata.find(key);
    if (value && !value->isInt())
      fail("metadata '" + key + "' must be an integer, it is " + value->kindName());
    return value ? std::optional(value->integer) : std::nullopt;
  }
  std::optional<bool> flag(const std::string &key) {
    const Json *value = file.metadata.find(key);
    if (value && !value->isBool())
      fail("metadata '" + key + "' must be a boolean, it is " + value->kindName());
    return value ? std::optional(value->boolean) : std::nullopt;
  }

  void readGeneral() {
    file.architecture = text("general.architecture");
    split.number = integer("split.no");
    split.count = integer("split.count");
    split.tensors = integer("split.tensors.count");
    std::erase_if(file.metadata.members, [](const JsonMember &member) {
      return member.first == "split.no" || member.first == "split.count" ||
             member.first == "split.tensors.count";
    });
    if (split.tensors.value_or(0) < 0 || split.count.value_or(1) < 0)
      fail("has a negative split.count or split.tensors.count: " +
           std::to_string(split.count.value_or(1)) + ", " +
           std::to_string(split.tensors.value_or(0)));
    if (auto alignment = integer("general.alignment")) {
      if (*alignment <= 0 || *alignment % 8 || *alignment > 1 << 20)
        fail("metadata 'general.alignment' is " + std::to_string(*alignment) +
             ", it must be a multiple of 8 up to 1048576");
      file.alignment = uint64_t(*alignment);
    }
    GgufTokenizer &tokenizer = file.tokenizer;
    tokenizer.model = text("tokenizer.ggml.model");
    tokenizer.pre = text("tokenizer.ggml.pre");
    tokenizer.chatTemplate = text("tokenizer.chat_template");
    tokenizer.bosId = integer("tokenizer.ggml.bos_token_id");
    tokenizer.eosId = integer("tokenizer.ggml.eos_token_id");
    tokenizer.eotId = integer("tokenizer.ggml.eot_token_id");
    tokenizer.eomId = integer("tokenizer.ggml.eom_token_id");
    tokenizer.unknownId = integer("tokenizer.ggml.unknown_token_id");
    tokenizer.separatorId = integer("tokenizer.ggml.seperator_token_id"); // the format's spelling
    tokenizer.padId = integer("tokenizer.ggml.padding_token_id");
    tokenizer.addBos = flag("tokenizer.ggml.add_bos_token");
    tokenizer.addEos = flag("tokenizer.ggml.add_eos_token");
    tokenizer.addSpacePrefix = flag("tokenizer.ggml.add_space_prefix");
    tokenizer.removeExtraWhitespaces = flag("tokenizer.ggml.remove_extra_whitespaces");
    size_t tokens = tokenizer.tokens.size();
    if (!tokenizer.scores.empty() && tokenizer.scores.size() != tokens)
      fail("has " + std::to_string(tokens) + " tokens but " +
           std::to_string(tokenizer.scores.size()) + " scores");
    if (!tokenizer.tokenTypes.empty() && tokenizer.tokenTypes.size() != tokens)
      fail("has " + std::to_string(tokens) + " tokens but " +
           std::to_string(tokenizer.tokenTypes.size()) + " token types");
  }

  CheckpointTensor readInfo(uint64_t index) {
    CheckpointTensor tensor;
    tensor.name = string("the name of tensor " + std::to_string(index));
    std::string what = "tensor '" + tensor.name + "'";
    if (tensor.name.empty() || tensor.name.size() > 65535)
      fail("tensor " + std::to_string(index) + " has a name of " +
           std::to_string(tensor.name.size()) + " bytes, allowed are 1 to 65535");
    checkName(tensor.name, "tensor " + std::to_string(index));
    uint32_t rank = scalar<uint32_t>(what);
    if (rank > 4)
      fail(what + " has " + std::to_string(rank) + " dimensions, ggml allows 4");
    for (uint32_t i = 0; i < rank; ++i) {
      uint64_t dim = scalar<uint64_t>(what);
      if (dim > uint64_t(INT64_MAX))
        fail(what + " has a dimension of " + std::to_string(dim));
      tensor.shape.push_back(int64_t(dim));
    }
    // ggml writes the contiguous dimension first.
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    uint32_t type = scalar<uint32_t>(what);
    tensor.byteOffset = scalar<uint64_t>(what);
    tensor.format = findGgmlFormat(type);
    if (!tensor.format)
      fail(what + " has the unknown ggml type " + std::to_string(type) +
           "; known are 0 to 41, without those that were withdrawn");
    auto count = elementCount(tensor.shape);
    if (!count)
      fail(what + ": shape " + shapeText(tensor.shape) + " is too large");
    // Blocks run along a row and may not cross into the next.
    uint64_t row = tensor.shape.empty() ? 1 : uint64_t(tensor.shape.back());
    if (row % tensor.format->blockSize)
      fail(what + ": rows of " + std::to_string(row) + " elements are not whole blocks of " +
           std::to_string(tensor.format->blockSize) + ", which " +
           std::string(tensor.format->name) + " needs");
    auto size = storageBytes(*tensor.format, *count);
    if (!size)
      fail(what + ": shape " + shapeText(tensor.shape) + " is too large");
    tensor.byteSize = *size;
    if (tensor.byteOffset % file.alignment)
      fail(what + ": offset " + std::to_string(tensor.byteOffset) +
           " is no multiple of the alignment " + std::to_string(file.alignment));
    return tensor;
  }

  void readTensors() {
    std::vector<CheckpointTensor> tensors;
    for (uint64_t i = 0; i < tensorCount; ++i)
      tensors.push_back(readInfo(i));
    uint64_t dataStart = (at + file.alignment - 1) / file.alignment * file.alignment;
    std::sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) {
      return std::tie(a.byteOffset, a.byteSize, a.name) <
             std::tie(b.byteOffset, b.byteSize, b.name);
    });
    uint32_t index = checkpoint.addFile(path, bytes.size);
    split.ownTensors = tensors.size();
    uint64_t dataBytes = bytes.size > dataStart ? bytes.size - dataStart : 0;
    // A file of nothing but its header is a deliberate abridgement, not a cut file.
    bool needsData = !tensors.empty() && tensors.back().byteOffset + tensors.back().byteSize != 0;
    bool headerOnly = needsData && bytes.size <= dataStart;
    uint64_t end = 0;
    const CheckpointTensor *previous = nullptr;
    for (CheckpointTensor &tensor : tensors) {
      std::string what = "tensor '" + tensor.name + "'";
      if (tensor.byteOffset < end)
        fail(what + " starts at data offset " + std::to_string(tensor.byteOffset) +
             ", inside tensor '" + previous->name + "', which ends at " + std::to_string(end));
      if (tensor.byteOffset - end >= file.alignment)
        checkpoint.addDeferredFault(path + ": " + std::to_string(tensor.byteOffset - end) +
                                          " bytes at data offset " + std::to_string(end) +
                                          " belong to no tensor (before " + what +
                                          "); the file is damaged");
      if (!headerOnly &&
          (tensor.byteOffset > dataBytes || tensor.byteSize > dataBytes - tensor.byteOffset))
        fail(what + " has " + std::to_string(tensor.byteSize) + " bytes at data offset " +
             std::to_string(tensor.byteOffset) + ", but the file holds " +
             std::to_string(dataBytes) + " bytes of data; the file is cut, get it again");
      end = tensor.byteOffset + tensor.byteSize;
      previous = &tensor;
    }
    if (!headerOnly && dataBytes >= end + file.alignment)
      checkpoint.addDeferredFault(path + ": " + std::to_string(dataBytes - end) +
                                        " bytes behind the last tensor belong to none; the "
                                        "file is damaged");
    split.hasData = !headerOnly;
    for (CheckpointTensor &tensor : tensors) {
      tensor.byteOffset += dataStart;
      tensor.file = index;
      checkpoint.addTensor(std::move(tensor));
    }
  }

  const std::string &path;
  FileBytes bytes;
  uint64_t at = 0;
  uint64_t tensorCount = 0, keyCount = 0, listValues = 0;
  Checkpoint &checkpoint;
  GgufSplit &split;
  std::unordered_set<std::string> keys;
  GgufFile file;
};

} // namespace

GgufFile readGgufFile(const std::string &path, Checkpoint &checkpoint, GgufSplit &split) {
  return Reader(path, checkpoint, split).read();
}

} // namespace llmc::frontend
