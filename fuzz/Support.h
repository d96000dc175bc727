//===- Support.h - what fuzz targets share ----------------------*- C++ -*-===//
#ifndef LLMC_FUZZ_SUPPORT_H
#define LLMC_FUZZ_SUPPORT_H

#include "llmc/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace llmc::fuzz {

inline std::string_view textOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// A file in memory that readers open by path; each write replaces its content.
class MemoryFile {
public:
  MemoryFile();
  const std::string &write(std::string_view bytes);

private:
  int descriptor;
  std::string path;
};

/// A folder that is gone with the process.
class Folder {
public:
  Folder();
  ~Folder();
  std::string path(const std::string &name = {}) const { return root + "/" + name; }
  void write(const std::string &name, std::string_view bytes) const;
  void remove(const std::string &name) const;

private:
  std::string root;
};

/// The parts of an input of several files, which NUL bytes divide.
std::vector<std::string> parts(std::string_view input, size_t count);

/// Runs a reader. Only InputError may come out of one: anything else, an
/// InternalError too, is a fault that ends the process.
template <typename Run>
bool reads(Run &&run) {
  try {
    run();
    return true;
  } catch (const InputError &) {
    return false;
  }
}

/// Copies a mutated text back where the fuzzer wants it.
size_t giveBack(std::string_view text, uint8_t *data, size_t maxSize);

/// Changes one thing about a JSON text; the text as it is where it is not JSON.
/// Strings are mutated byte by byte or swapped for one that stands elsewhere.
std::string mutateJson(std::string_view text, unsigned seed);

// Custom mutators. Bytes are changed where `raw` says so or an input has not the form.

/// Of an input that is one JSON text.
size_t mutateText(uint8_t *data, size_t size, size_t maxSize, unsigned seed, bool raw);
/// Of two JSON texts with a NUL between them: the first or the second changes.
size_t mutatePair(uint8_t *data, size_t size, size_t maxSize, unsigned seed, bool raw, bool second);
/// Of a program's text: words and lines are repeated, dropped, exchanged and replaced, numbers
/// changed, and now and then bytes.
size_t mutateTokens(uint8_t *data, size_t size, size_t maxSize, unsigned seed);
/// A safetensors file with a change in its header; nothing where it has none.
std::optional<std::string> mutateHeader(std::string_view file, unsigned seed);

} // namespace llmc::fuzz

#endif // LLMC_FUZZ_SUPPORT_H
