//===- ArtifactFolder.cpp - a folder that appears whole -------------------===//
//
// Files are written to `TARGET.partial-N`, which is exchanged with the target in one step of
// the file system: a process that is killed leaves the old artifact or the new one. What it
// leaves beside it is removed by the next compilation to that target. A folder under way is
// locked, so that nobody removes the folder of a process that lives.
//
#include "ArtifactFolder.h"

#include "llmc/Runtime/Manifest.h"
#include "llmc/Support/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
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

void removeUnfinishedArtifacts(bool wait) {
  Unfinished &unfinished = Unfinished::get();
  std::unique_lock guard(unfinished.lock, std::defer_lock);
  if (wait)
    guard.lock();
  else if (!guard.try_lock())
    return;
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

/// An artifact, or a folder that one may take the place of.
static bool mayBeReplaced(const std::string &folder) {
  std::error_code error;
  return fs::is_empty(folder, error) || fs::exists(fs::path(folder) / "manifest.json", error);
}

void checkArtifactFolder(const std::string &folder) {
  std::string target = withoutSlashes(folder);
  std::error_code error;
  if (fs::exists(target, error)) {
    if (!fs::is_directory(target, error))
      throw InputError(target + ": is a file; name a folder for the artifact");
    if (!mayBeReplaced(target))
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

//===----------------------------------------------------------------------===//
// Locks
//===----------------------------------------------------------------------===//

/// A descriptor of the folder with its lock, or -1: another process has it, or it is gone. The
/// lock ends with the process.
static int lockFolder(const std::string &folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return -1;
  struct stat held, named;
  bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  // A cleaner that was faster has removed the folder behind the descriptor.
  if (locked && ::fstat(descriptor, &held) == 0 && ::stat(folder.c_str(), &named) == 0 &&
      held.st_ino == named.st_ino && held.st_dev == named.st_dev)
    return descriptor;
  ::close(descriptor);
  return -1;
}

/// Removes what processes that were killed have left beside the target.
static void removeLeftovers(const std::string &target) {
  std::error_code error;
  fs::path parent = fs::absolute(target, error).parent_path();
  std::string prefix = fs::path(target).filename().string() + ".partial-";
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string rest = entry->path().filename().string();
    if (!rest.starts_with(prefix))
      continue;
    rest.erase(0, prefix.size());
    if (!rest.empty() && rest.find_first_not_of("0123456789-") == rest.npos)
      found.push_back(entry->path());
  }
  for (const fs::path &folder : found)
    if (int descriptor = lockFolder(folder.string()); descriptor >= 0) {
      fs::remove_all(folder, error);
      ::close(descriptor);
    }
}

ArtifactFolder::ArtifactFolder(std::string folder) : target(withoutSlashes(std::move(folder))) {
  checkArtifactFolder(target);
  Unfinished &unfinished = Unfinished::get();
  std::lock_guard guard(unfinished.lock);
  unfinished.throwIfStopping();
  std::error_code error;
  fs::path parent = fs::absolute(target, error).parent_path();
  for (fs::path missing = parent; !fs::exists(missing, error); missing = missing.parent_path())
    madeParents.push_back(missing.string());
  fs::create_directories(parent, error);
  removeLeftovers(target);
  for (int attempt = 0; lock < 0 && attempt < 1000; ++attempt) {
    temporary = target + ".partial-" + std::to_string(::getpid());
    if (attempt)
      temporary += "-" + std::to_string(attempt);
    error.clear();
    if (fs::create_directory(temporary, error))
      lock = lockFolder(temporary);
    else if (error)
      break;
  }
  if (lock < 0) {
    for (const std::string &made : madeParents)
      ::rmdir(made.c_str());
    throw InputError(temporary + ": cannot be created: " +
                     (error ? error.message() : "it is locked by somebody else"));
  }
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
  ::close(lock);
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

void ArtifactFolder::requireRoom(std::string_view name, uint64_t bytes) {
  std::string path = pathOf(name);
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  int error = descriptor < 0 ? errno : ::posix_fallocate(descriptor, 0, off_t(bytes));
  if (descriptor >= 0)
    ::close(descriptor);
  if (error)
    throw InputError(path + ": cannot be written: " + std::strerror(error));
}

void ArtifactFolder::record(std::string_view name) {
  std::string path = pathOf(name);
  std::error_code error;
  uintmax_t bytes = fs::file_size(path, error);
  if (error)
    throw InputError(path + ": cannot be read: " + error.message());
  list.push_back({std::string(name), uint64_t(bytes), rt::sha256OfFile(path)});
}

/// Both folders change places at once.
static bool swapFolders(const std::string &a, const std::string &b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

void ArtifactFolder::commit() {
  Unfinished &unfinished = Unfinished::get();
  auto fail = [&](int number) {
    throw InputError(target + ": cannot be put in place: " + std::strerror(number));
  };
  {
    std::lock_guard guard(unfinished.lock);
    unfinished.throwIfStopping();
    // rename() replaces nothing or an empty folder; an artifact, also one that came while
    // this one was written, is exchanged for it.
    if (::rename(temporary.c_str(), target.c_str()) == 0) {
      unfinished.folders.erase(temporary);
      return;
    }
    if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) // the last: a link
      fail(errno);
    checkArtifactFolder(target);
    if (swapFolders(temporary, target)) {
      if (!mayBeReplaced(temporary)) { // it changed since it was looked at
        swapFolders(temporary, target);
        throw InputError(target + ": holds other files than an artifact; name a new folder");
      }
    } else if (errno == EINVAL || errno == ENOSYS) {
      // A file system without the exchange; killed between the two steps, the old artifact
      // is found beside its place.
      std::string old = temporary + "-old";
      if (::rename(target.c_str(), old.c_str()) != 0)
        fail(errno);
      if (int error = ::rename(temporary.c_str(), target.c_str()) ? errno : 0) {
        ::rename(old.c_str(), target.c_str());
        fail(error);
      }
      unfinished.folders.erase(temporary);
      temporary = old;
    } else {
      fail(errno);
    }
    unfinished.folders.insert(temporary);
  }
  std::error_code error;
  fs::remove_all(temporary, error);
  std::lock_guard guard(unfinished.lock);
  unfinished.folders.erase(temporary);
}

} // namespace llmc
