//===- ArtifactFiles.cpp - the files of an artifact's folder --------------===//

#include "llmc/Runtime/Manifest.h"
#include "llmc/Support/Error.h"

#include <array>
#include <cstdio>
#include <memory>
#include <openssl/evp.h>

namespace fs = std::filesystem;

namespace llmc::rt {

static constexpr uintmax_t largestManifest = uintmax_t(1) << 28;

namespace {
struct CloseFile {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
struct FreeDigest {
  void operator()(EVP_MD_CTX *context) const { EVP_MD_CTX_free(context); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;
using DigestHandle = std::unique_ptr<EVP_MD_CTX, FreeDigest>;
} // namespace

static FileHandle openToRead(const fs::path &path) {
  FileHandle file(std::fopen(path.c_str(), "rb"));
  if (!file)
    throw InputError(path.string() + ": cannot be opened: " +
                     std::error_code(errno, std::generic_category()).message());
  return file;
}

static DigestHandle beginSha256() {
  DigestHandle context(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1)
    throw InternalError("OpenSSL has no SHA-256");
  return context;
}

static std::string finishSha256(EVP_MD_CTX *context) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned length = 0;
  EVP_DigestFinal_ex(context, digest.data(), &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    static constexpr char digits[] = "0123456789abcdef";
    text += digits[digest[i] >> 4];
    text += digits[digest[i] & 15];
  }
  return text;
}

std::string sha256OfText(std::string_view text) {
  DigestHandle context = beginSha256();
  EVP_DigestUpdate(context.get(), text.data(), text.size());
  return finishSha256(context.get());
}

std::string sha256OfFile(const fs::path &path) {
  FileHandle file = openToRead(path);
  DigestHandle context = beginSha256();
  std::vector<unsigned char> buffer(size_t(1) << 20);
  while (size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    EVP_DigestUpdate(context.get(), buffer.data(), got);
  if (std::ferror(file.get()))
    throw InputError(path.string() + ": reading failed");
  return finishSha256(context.get());
}

/// No part of the path may be a link: it could lead out of the folder.
static void checkFile(const fs::path &dir, const FileEntry &entry) {
  fs::path path = dir;
  std::error_code error;
  for (const fs::path &part : fs::path(entry.path)) {
    path /= part;
    fs::file_status status = fs::symlink_status(path, error);
    if (error || status.type() == fs::file_type::not_found)
      throw InputError(path.string() + ": is missing, the manifest lists it as '" + entry.path +
                       "'. Copy the whole artifact folder again");
    if (status.type() == fs::file_type::symlink)
      throw InputError(path.string() + ": is a symbolic link; an artifact holds plain files only");
  }
  if (!fs::is_regular_file(fs::symlink_status(path)))
    throw InputError(path.string() + ": is not a plain file");
  uintmax_t size = fs::file_size(path, error);
  if (error || size != uintmax_t(entry.bytes))
    throw InputError(path.string() + ": has " + std::to_string(size) +
                     " bytes, the manifest says " + std::to_string(entry.bytes) +
                     ". The file is truncated or altered; copy or compile the artifact again");
}

Manifest readManifest(const fs::path &dir, const ReadOptions &options) {
  std::error_code error;
  std::string remedy =
      "If it is a model, compile it first: llmc-opt " + dir.string() + " --target=cpu -o DIR";
  if (fs::is_regular_file(dir, error) && dir.filename() == "manifest.json")
    throw InputError(dir.string() + ": is a file of an artifact; give the folder: " +
                     (dir.has_parent_path() ? dir.parent_path().string() : "."));
  if (fs::is_regular_file(dir, error))
    throw InputError(dir.string() + ": is a file; an artifact is a folder with manifest.json. " +
                     remedy);
  if (!fs::is_directory(dir, error))
    throw InputError(dir.string() +
                     ": is not a folder; an artifact is a folder with manifest.json");
  fs::path path = dir / "manifest.json";
  if (!fs::is_regular_file(path, error))
    throw InputError(path.string() + ": is missing, so this is no artifact. " + remedy);
  uintmax_t size = fs::file_size(path, error);
  if (error || size > largestManifest)
    throw InputError(path.string() + ": is larger than 256 MiB");
  std::string text(size, '\0');
  FileHandle file = openToRead(path);
  if (std::fread(text.data(), 1, text.size(), file.get()) != text.size())
    throw InputError(path.string() + ": reading failed");
  std::string name = path.string();
  Manifest manifest =
      parseManifest(text, name, options.verifySeal ? Seal::Checked : Seal::Ignored);
  for (const FileEntry &entry : manifest.files) {
    checkFile(dir, entry);
    // Code that will run is always proved to be what was compiled; it is small.
    if (!options.verifyHashes && fs::path(entry.path).extension() != ".so")
      continue;
    if (std::string hash = sha256OfFile(dir / entry.path); hash != entry.sha256)
      throw InputError((dir / entry.path).string() + ": SHA-256 is " + hash +
                       ", the manifest says " + entry.sha256 +
                       ". The file was altered; copy or compile the artifact again");
  }
  return manifest;
}

} // namespace llmc::rt
