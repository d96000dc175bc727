//===- Support.cpp - files for readers that take a path -------------------===//
#include "Support.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

/// More executions a second; the unit tests of the same build check returned stacks as well.
extern "C" const char *__asan_default_options() {
  return "malloc_context_size=4:detect_stack_use_after_return=0";
}

namespace llmc::fuzz {

[[noreturn]] static void giveUp(const char *what) {
  std::perror(what);
  std::_Exit(2);
}

MemoryFile::MemoryFile() : descriptor(::memfd_create("llmc-fuzz", MFD_CLOEXEC)) {
  if (descriptor < 0)
    giveUp("memfd_create");
  path = "/proc/self/fd/" + std::to_string(descriptor);
}

const std::string &MemoryFile::write(std::string_view bytes) {
  if (::ftruncate(descriptor, off_t(bytes.size())) != 0 ||
      ::pwrite(descriptor, bytes.data(), bytes.size(), 0) != ssize_t(bytes.size()))
    giveUp("writing a file in memory");
  return path;
}

Folder::Folder() {
  std::string pattern = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
  pattern += "/llmc-fuzz-XXXXXX";
  if (!::mkdtemp(pattern.data()))
    giveUp("mkdtemp");
  root = pattern;
}

Folder::~Folder() {
  std::error_code error;
  std::filesystem::remove_all(root, error);
}

void Folder::write(const std::string &name, std::string_view bytes) const {
  std::FILE *file = std::fopen(path(name).c_str(), "wb");
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
    giveUp(path(name).c_str());
  std::fclose(file);
}

void Folder::remove(const std::string &name) const { ::unlink(path(name).c_str()); }

std::vector<std::string> parts(std::string_view input, size_t count) {
  std::vector<std::string> list;
  while (list.size() + 1 < count) {
    size_t end = std::min(input.find('\0'), input.size());
    list.emplace_back(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  list.emplace_back(input);
  return list;
}

size_t giveBack(std::string_view text, uint8_t *data, size_t maxSize) {
  size_t size = std::min(text.size(), maxSize);
  std::memcpy(data, text.data(), size);
  return size;
}

size_t mutateText(uint8_t *data, size_t size, size_t maxSize, unsigned seed, bool raw) {
  if (raw)
    return LLVMFuzzerMutate(data, size, maxSize);
  return giveBack(mutateJson(textOf(data, size), seed), data, maxSize);
}

size_t mutatePair(uint8_t *data, size_t size, size_t maxSize, unsigned seed, bool raw,
                  bool second) {
  if (raw)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::vector<std::string> texts = parts(textOf(data, size), 2);
  texts[second] = mutateJson(texts[second], seed);
  return giveBack(texts[0] + '\0' + texts[1], data, maxSize);
}

std::optional<std::string> mutateHeader(std::string_view file, unsigned seed) {
  uint64_t length = 0;
  if (file.size() < sizeof length)
    return std::nullopt;
  std::memcpy(&length, file.data(), sizeof length);
  std::string_view rest = file.substr(sizeof length);
  if (length > rest.size())
    return std::nullopt;
  std::string header = mutateJson(rest.substr(0, length), seed);
  rest.remove_prefix(length);
  length = header.size();
  std::string mutated(reinterpret_cast<const char *>(&length), sizeof length);
  mutated += header;
  mutated += rest;
  return mutated;
}

} // namespace llmc::fuzz
