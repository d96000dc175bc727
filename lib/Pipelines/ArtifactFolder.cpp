//===- ArtifactFolder.cpp - a folder that appears whole -------------------===//
#include "ArtifactFolder.h"

#include "llmc/Support/Error.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <openssl/evp.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace llmc {

static std::string sha256Of(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw InputError(path + ": cannot be read back for hashing");
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free);
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1)
    throw InternalError("SHA-256 is not available in libcrypto");
  std::vector<char> buffer(1 << 20);
  while (in) {
    in.read(buffer.data(), std::streamsize(buffer.size()));
    EVP_DigestUpdate(context.get(), buffer.data(), size_t(in.gcount()));
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(context.get(), digest, &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

ArtifactFolder::ArtifactFolder(std::string folder) : target(std::move(folder)) {
  while (target.size() > 1 && target.back() == '/')
    target.pop_back();
  std::error_code error;
  if (fs::exists(target, error)) {
    if (!fs::is_directory(target, error))
      throw InputError(target + ": is a file; name a folder for the artifact");
    if (!fs::is_empty(target, error) && !fs::exists(fs::path(target) / "manifest.json", error))
      throw InputError(target + ": holds other files than an artifact; name a new folder");
  }
  temporary = target + ".partial-" + std::to_string(::getpid());
  fs::remove_all(temporary, error);
  if (!fs::create_directories(temporary, error) || error)
    throw InputError(temporary + ": cannot be created: " + error.message());
}

ArtifactFolder::~ArtifactFolder() {
  std::error_code error;
  if (!committed)
    fs::remove_all(temporary, error);
}

std::string ArtifactFolder::pathOf(std::string_view name) const {
  fs::path path = fs::path(temporary) / name;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  return path.string();
}

void ArtifactFolder::write(std::string_view name, std::string_view content) {
  std::ofstream out(pathOf(name), std::ios::binary);
  out.write(content.data(), std::streamsize(content.size()));
  out.close();
  if (!out)
    throw InputError(pathOf(name) + ": cannot be written; is the disk full?");
}

void ArtifactFolder::record(std::string_view name) {
  std::string path = pathOf(name);
  list.push_back({std::string(name), uint64_t(fs::file_size(path)), sha256Of(path)});
}

void ArtifactFolder::commit() {
  std::error_code error;
  // rename() replaces only an empty folder: an older artifact steps aside first.
  std::string old = target + ".old-" + std::to_string(::getpid());
  bool replaced = fs::exists(target, error);
  if (replaced)
    fs::rename(target, old, error);
  fs::rename(temporary, target, error);
  if (error) {
    std::string why = error.message();
    if (replaced)
      fs::rename(old, target, error);
    throw InputError(target + ": cannot be put in place: " + why);
  }
  committed = true;
  if (replaced)
    fs::remove_all(old, error);
}

} // namespace llmc
