//===- Linker.cpp - shared objects with lld's library ---------------------===//
#include "llmc/Kernels/CPU/Backend.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace mlir;

namespace llmc::kernels {
namespace {

/// A folder that is gone with this object.
struct TemporaryFolder {
  llvm::SmallString<128> path;
  std::error_code error = llvm::sys::fs::createUniqueDirectory("llmc-kernels", path);
  ~TemporaryFolder() {
    if (!error)
      llvm::sys::fs::remove_directories(path);
  }
};

LogicalResult writeFile(StringRef path, ArrayRef<char> bytes, std::string &message) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error, llvm::sys::fs::OF_None);
  if (!error) {
    stream.write(bytes.data(), bytes.size());
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (!error)
    return success();
  message = "cannot write " + path.str() + ": " + error.message();
  return failure();
}

} // namespace

/// The linker maps its output, where a full disk is a signal and no error: the room is asked
/// for before.
static std::error_code findRoom(const std::string &path, uint64_t bytes) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  int error = descriptor < 0 ? errno : ::posix_fallocate(descriptor, 0, off_t(bytes));
  if (descriptor >= 0)
    ::close(descriptor);
  ::unlink(path.c_str());
  return std::error_code(error, std::generic_category());
}

LogicalResult linkSharedObject(ArrayRef<ObjectCode> objects, StringRef path,
                               std::string &message) {
  TemporaryFolder folder;
  if (folder.error) {
    message = "cannot make a temporary folder: " + folder.error.message();
    return failure();
  }
  std::vector<std::string> inputs;
  for (const ObjectCode &object : objects) {
    llvm::SmallString<128> file(folder.path);
    llvm::sys::path::append(file, std::to_string(inputs.size()) + ".o");
    if (failed(writeFile(file, object, message)))
      return failure();
    inputs.push_back(std::string(file));
  }
  std::string output = path.str();
  uint64_t bytes = 1 << 16; // what a shared object has beyond the sections of its parts
  for (const ObjectCode &object : objects)
    bytes += object.size();
  if (std::error_code error = findRoom(output, bytes)) {
    message = output + ": no room for " + std::to_string(bytes) + " bytes: " + error.message();
    return failure();
  }
  std::string soname = llvm::sys::path::filename(path).str();
  // Undefined symbols are accepted in a shared object unless both say no.
  std::vector<const char *> args = {"ld.lld", "-shared", "-z", "defs", "-z", "now",
                                    "--no-undefined", "--build-id=none", "--hash-style=gnu",
                                    "-s", "-m", "elf_x86_64", "-soname", soname.c_str(),
                                    "-o", output.c_str()};
  for (const std::string &input : inputs)
    args.push_back(input.c_str());

  // The linker keeps global state: one link at a time in a process.
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard lock(mutex);
  if (!usable) {
    message = "an earlier failure of the linker makes it unusable in this process";
    return failure();
  }
  message.clear();
  llvm::raw_string_ostream report(message);
  lld::Result result = lld::lldMain(args, report, report, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  return failure(result.retCode != 0);
}

} // namespace llmc::kernels
