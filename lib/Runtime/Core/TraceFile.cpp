//===- TraceFile.cpp - named tensors of a trace ---------------------------===//

#include "llmc/Runtime/TraceFile.h"

#include "llmc/Support/RegularFile.h"
#include "ManifestJson.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <unistd.h>

using nlohmann::json;
namespace fs = std::filesystem;

namespace llmc::rt {

static constexpr uint64_t largestHeader = uint64_t(1) << 26;

static std::string readAll(const fs::path &path) {
  if (std::string problem = whyNotRegular(path); !problem.empty())
    throw InputError(path.string() + ": " + problem);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::streamoff size = file ? std::streamoff(file.tellg()) : -1;
  if (size < 0)
    throw InputError(path.string() + ": cannot be opened; give a safetensors file");
  std::string content(size_t(size), '\0');
  file.seekg(0);
  if (!file.read(content.data(), size))
    throw InputError(path.string() + ": reading failed");
  return content;
}

template <typename To, typename From>
static std::vector<To> valuesOf(std::string_view bytes) {
  std::vector<From> raw(bytes.size() / sizeof(From));
  if (!raw.empty())
    std::memcpy(raw.data(), bytes.data(), raw.size() * sizeof(From));
  return std::vector<To>(raw.begin(), raw.end());
}

std::vector<TraceTensor> readTraceFile(const fs::path &path) {
  std::string content = readAll(path), file = path.string();
  uint64_t header = 0;
  if (content.size() >= 8)
    std::memcpy(&header, content.data(), 8);
  if (content.size() < 8 || header > largestHeader || header > content.size() - 8)
    throw InputError(file + ": is no safetensors file: the header does not fit in the file");
  json root = detail::parseStrictJson(std::string_view(content).substr(8, header), file);
  std::string_view data = std::string_view(content).substr(8 + header);
  if (!root.is_object())
    throw InputError(file + ": is no safetensors file: the header is no object");
  std::vector<TraceTensor> tensors;
  for (auto &[name, value] : root.items()) {
    if (name == "__metadata__")
      continue;
    detail::Object entry(value, file, name);
    TraceTensor tensor;
    tensor.name = name;
    std::string type = entry.string("dtype");
    int64_t count = 1;
    entry.list("shape", [&](const json &item, const std::string &where) {
      tensor.shape.push_back(detail::integerOf(item, file, where, 0));
      if (__builtin_mul_overflow(count, tensor.shape.back(), &count))
        detail::failAt(file, where, "makes the tensor larger than any file");
    });
    std::vector<int64_t> offsets;
    entry.list("data_offsets", [&](const json &item, const std::string &where) {
      offsets.push_back(detail::integerOf(item, file, where, 0));
    });
    entry.finish();
    if (type != "F32" && type != "I64" && type != "I32")
      entry.fail("dtype", "is " + type + ", wanted F32, I64 or I32");
    int64_t bytes;
    if (offsets.size() != 2 || offsets[0] > offsets[1] || uint64_t(offsets[1]) > data.size() ||
        __builtin_mul_overflow(count, type == "I64" ? 8 : 4, &bytes) ||
        bytes != offsets[1] - offsets[0])
      entry.fail("data_offsets", "do not fit the shape, or reach past the file");
    std::string_view part = data.substr(size_t(offsets[0]), size_t(bytes));
    if (type == "F32")
      tensor.data = valuesOf<float, float>(part);
    else
      tensor.data =
          type == "I64" ? valuesOf<int64_t, int64_t>(part) : valuesOf<int64_t, int32_t>(part);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<int32_t> readInputIds(const fs::path &path) {
  std::vector<int32_t> tokens;
  for (const TraceTensor &tensor : readTraceFile(path)) {
    if (tensor.name != "input_ids")
      continue;
    const auto *ids = std::get_if<std::vector<int64_t>>(&tensor.data);
    bool flat = tensor.shape.size() == 1 || (tensor.shape.size() == 2 && tensor.shape[0] == 1);
    if (!ids || !flat || ids->empty())
      throw InputError(path.string() + ": input_ids: is not I64 of shape [1, T]");
    for (int64_t id : *ids) {
      if (id < 0 || id > INT32_MAX)
        throw InputError(path.string() + ": input_ids: " + std::to_string(id) + " is no token id");
      tokens.push_back(int32_t(id));
    }
    return tokens;
  }
  throw InputError(path.string() + ": input_ids: is missing; the file must hold the prompt as "
                                   "I64 [1, T]");
}

void checkReplaceable(const fs::path &path) {
  std::error_code error;
  fs::file_status status = fs::symlink_status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw InputError(path.string() + ": is " +
                     (fs::is_directory(status) ? "a folder" : "a link or a device") +
                     ", which writing would replace; name a plain file");
}

void writeFileAtomically(const fs::path &path, const std::vector<std::string_view> &parts) {
  checkReplaceable(path);
  fs::path aside = path;
  aside += ".partial-" + std::to_string(getpid());
  auto fail = [&](const char *what) {
    std::string text = std::error_code(errno, std::generic_category()).message();
    std::error_code ignored;
    fs::remove(aside, ignored);
    throw InputError(path.string() + ": " + what + ": " + text);
  };
  std::FILE *file = std::fopen(aside.c_str(), "wb");
  if (!file)
    fail("cannot be written");
  bool good = true;
  for (std::string_view part : parts)
    good = good && std::fwrite(part.data(), 1, part.size(), file) == part.size();
  if (std::fclose(file) != 0 || !good)
    fail("writing failed");
  if (std::rename(aside.c_str(), path.c_str()) != 0)
    fail("cannot be put in place");
}

void writeTraceFile(const fs::path &path, const std::vector<TraceTensor> &tensors) {
  json header = json::object();
  std::vector<std::string_view> parts(2);
  size_t offset = 0;
  for (const TraceTensor &tensor : tensors) {
    std::string_view bytes = std::visit(
        [](const auto &values) {
          return std::string_view(reinterpret_cast<const char *>(values.data()),
                                  values.size() * sizeof(values[0]));
        },
        tensor.data);
    bool floats = std::holds_alternative<std::vector<float>>(tensor.data);
    header[tensor.name] = {{"dtype", floats ? "F32" : "I64"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes.size()}}};
    offset += bytes.size();
    parts.push_back(bytes);
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t size = text.size();
  parts[0] = {reinterpret_cast<const char *>(&size), sizeof size};
  parts[1] = text;
  writeFileAtomically(path, parts);
}

} // namespace llmc::rt
