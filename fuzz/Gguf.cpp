//===- Gguf.cpp - a GGUF file ---------------------------------------------===//
#include "Support.h"
#include "llmc/Frontend/Gguf.h"

#include <cstring>
#include <random>

using namespace llmc;
using namespace llmc::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  reads([&] {
    frontend::GgufFile read = frontend::openGguf(file.write(textOf(data, size)));
    (void)read.metadata.dump(1000);
    for (const frontend::CheckpointTensor &tensor : read.checkpoint->tensors())
      reads([&] {
        if (read.checkpoint->data(tensor).size() != tensor.byteSize)
          __builtin_trap();
        if (read.checkpoint->values(tensor).size() > (size_t(1) << 26))
          __builtin_trap();
      });
  });
  return 0;
}

namespace {

/// Walks a file as far as it makes sense and notes where its fields are, so that
/// counts, types, lengths and offsets are changed as such.
class Fields {
public:
  explicit Fields(std::string &file) : file(file) {
    skip(4);
    note(4, 4);
    uint64_t tensors = note(8, 8), pairs = note(8, 8);
    for (uint64_t i = 0; i < pairs && !ended; ++i) {
      size_t begin = at;
      string();
      value(uint32_t(note(4, 4)), 0);
      if (!ended)
        records.push_back({begin, at - begin, 16});
    }
    for (uint64_t i = 0; i < tensors && !ended; ++i) {
      size_t begin = at;
      string();
      uint64_t rank = note(4, 4);
      for (uint64_t d = 0; d < rank && d < 8 && !ended; ++d)
        note(8, 8);
      note(4, 4);
      note(8, 8);
      if (!ended)
        records.push_back({begin, at - begin, 8});
    }
  }

  void change(std::mt19937 &random) {
    auto pick = [&](size_t count) {
      return count ? std::uniform_int_distribution<size_t>(0, count - 1)(random) : 0;
    };
    if (!records.empty() && pick(4) == 0) {
      // A record twice, or one less, with the count that goes with it.
      Record record = records[pick(records.size())];
      uint64_t count;
      std::memcpy(&count, file.data() + record.count, 8);
      bool more = pick(2);
      count += more ? 1 : -1;
      std::memcpy(file.data() + record.count, &count, 8);
      if (more)
        file.insert(record.begin, file.substr(record.begin, record.size));
      else
        file.erase(record.begin, record.size);
      return;
    }
    if (!strings.empty() && pick(3) == 0) {
      // A text of another length, all behind it moves.
      auto [begin, length] = strings[pick(strings.size())];
      std::string text = file.substr(begin, length);
      text.resize(length + 16);
      text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(text.data()), length, text.size()));
      uint64_t now = text.size();
      std::memcpy(file.data() + begin - 8, &now, 8);
      file.replace(begin, length, text);
      return;
    }
    if (numbers.empty())
      return;
    auto [begin, bytes] = numbers[pick(numbers.size())];
    static constexpr uint64_t values[] = {0,          1,          2,         3,         7,
                                          8,          9,          12,        31,        32,
                                          33,         256,        4096,      0x7fffffff, 0x80000000,
                                          0xffffffff, uint64_t(1) << 62, uint64_t(1) << 63,
                                          UINT64_MAX, UINT64_MAX - 31};
    uint64_t value = 0;
    std::memcpy(&value, file.data() + begin, bytes);
    value = pick(2) ? value + pick(67) - 33 : values[pick(std::size(values))];
    std::memcpy(file.data() + begin, &value, bytes);
  }

private:
  struct Record {
    size_t begin, size, count;
  };

  void skip(size_t bytes) {
    if (bytes > file.size() - at)
      ended = true;
    else
      at += bytes;
  }
  uint64_t note(size_t bytes, size_t) {
    uint64_t value = 0;
    if (ended || bytes > file.size() - at) {
      ended = true;
      return 0;
    }
    std::memcpy(&value, file.data() + at, bytes);
    numbers.emplace_back(at, bytes);
    at += bytes;
    return value;
  }
  void string() {
    uint64_t length = note(8, 8);
    size_t begin = at;
    if (ended || length > file.size() - at) {
      ended = true;
      return;
    }
    strings.emplace_back(begin, length);
    at += length;
  }
  void value(uint32_t type, int depth) {
    static constexpr size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type >= std::size(sizes)) {
      ended = true;
    } else if (type == 8) {
      string();
    } else if (type == 9) {
      uint32_t element = uint32_t(note(4, 4));
      uint64_t count = note(8, 8);
      for (uint64_t i = 0; i < count && i < 64 && !ended && depth < 4; ++i)
        value(element, depth + 1);
    } else {
      note(sizes[type], 0);
    }
  }

  std::string &file;
  size_t at = 0;
  bool ended = false;
  std::vector<std::pair<size_t, size_t>> numbers, strings;
  std::vector<Record> records;
};

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 4 == 0 || size < 24)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string file(textOf(data, size));
  std::mt19937 random(seed);
  Fields(file).change(random);
  return giveBack(file, data, maxSize);
}
