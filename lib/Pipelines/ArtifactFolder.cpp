//===- ArtifactFolder.cpp - a folder that appears whole -------------------===//
#include "ArtifactFolder.h"

#include "llmc/Runtime/Manifest.h"
#include "llmc/Support/Error.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <unistd.h>

namespace fs = std::filesystem;

namespace llmc {

//===----------------------------------------------------------------------===//
// Folders under way
//===----------------------------------------------------------------------===//

namespace {
/// The folders to remove when the process has to stop.
struct Unfinished {
  std::mutex lock;
  std::set<std::string> folders;
  bool stopping = false;

  static Unfinished &get() {
    static Unfinished unfinished;
    return unfinished;
  }
  /// To be called with the lock.
  void throwIfStopping() const {
    if (stopping)
      throw InputError("stopped");
  }
};
} // namespace

void removeUnfinishedArtifacts() {
  Unfinished &unfinished = Unfinished::get();
  std::lock_guard guard(unfinished.lock);
  unfinished.stopping = true;
  std::error_code error;
  for (const std::string &folder : unfinished.folders)
    // Somebody may still be writing a file: once more for what came in between.
    for (int attempt = 0; attempt < 3 && fs::exists(folder, error); ++attempt)
      fs::remove_all(folder, error);
}

//===----------------------------------------------------------------------===//
// ArtifactFolder
//===----------------------------------------------------------------------===//

static std::string withoutSlashes(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  return folder;
}

void checkArtifactFolder(const std::string &folder) {
  std::string target = withoutSlashes(folder);
  std::error_code error;
  if (fs::exists(target, error)) {
    if (!fs::is_directory(target, error))
      throw InputError(target + ": is a file; name a folder for the artifact");
    if (!fs::is_empty(target, error) && !fs::exists(fs::path(target) / "manifest.json", error))
      throw InputError(target + ": holds other files than an artifact; name a new folder");
  }
  // Missing parents are made with the artifact; the nearest that exists must allow it.
  fs::path parent = fs::absolute(target, error).parent_path();
  while (!fs::exists(parent, error) && parent.has_relative_path())
    parent = parent.parent_path();
  if (!fs::is_directory(parent, error))
    throw InputError(target + ": " + parent.string() + " is not a folder");
  if (::access(parent.c_str(), W_OK | X_OK) != 0)
    throw InputError(target + ": the folder " + parent.string() +
                     " cannot be written: " + std::strerror(errno));
}

ArtifactFolder::ArtifactFolder(std::string folder) : target(withoutSlashes(std::move(folder))) {
  checkArtifactFolder(target);
  temporary = target + ".partial-" + std::to_string(::getpid());
  Unfinished &unfinished = Unfinished::get();
  std::lock_guard guard(unfinished.lock);
  unfinished.throwIfStopping();
  std::error_code error;
  fs::remove_all(temporary, error);
  for (fs::path parent = fs::absolute(target, error).parent_path(); !fs::exists(parent, error);
       parent = parent.parent_path())
    madeParents.push_back(parent.string());
  fs::create_directories(fs::absolute(target, error).parent_path(), error);
  if (!fs::create_directory(temporary, error) || error)
    throw InputError(temporary + ": cannot be created: " + error.message());
  unfinished.folders.insert(temporary);
}

ArtifactFolder::~ArtifactFolder() {
  Unfinished &unfinished = Unfinished::get();
  std::lock_guard guard(unfinished.lock);
  std::error_code error;
  if (unfinished.folders.erase(temporary)) {
    fs::remove_all(temporary, error);
    // Only what is still empty: another artifact may have come meanwhile.
    for (const std::string &parent : madeParents)
      fs::remove(parent, error);
  }
}

std::string ArtifactFolder::pathOf(std::string_view name) const {
  Unfinished &unfinished = Unfinished::get();
  std::lock_guard guard(unfinished.lock);
  unfinished.throwIfStopping();
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
  list.push_back({std::string(name), uint64_t(fs::file_size(path)), rt::sha256OfFile(path)});
}

void ArtifactFolder::commit() {
  Unfinished &unfinished = Unfinished::get();
  std::string old = target + ".old-" + std::to_string(::getpid());
  std::error_code error;
  {
    std::lock_guard guard(unfinished.lock);
    unfinished.throwIfStopping();
    // rename() replaces only an empty folder: an older artifact steps aside first.
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
    unfinished.folders.erase(temporary);
    if (!replaced)
      return;
    unfinished.folders.insert(old);
  }
  fs::remove_all(old, error);
  std::lock_guard guard(unfinished.lock);
  unfinished.folders.erase(old);
}

} // namespace llmc
