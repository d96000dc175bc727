//===- RegularFile.h - files that can be read as files ----------*- C++ -*-===//
#ifndef LLMC_SUPPORT_REGULARFILE_H
#define LLMC_SUPPORT_REGULARFILE_H

#include <filesystem>
#include <string>

namespace llmc {

/// Why \p path is not read, for a message behind its name: a folder has no bytes, a pipe blocks
/// whoever opens it, a device has no end. Empty for a regular file or a link to one, and for what
/// is not there: opening it says so.
inline std::string whyNotRegular(const std::filesystem::path &path) {
  namespace fs = std::filesystem;
  std::error_code error;
  switch (fs::status(path, error).type()) {
  case fs::file_type::directory:
    return "is a folder and not a regular file; name a file in it";
  case fs::file_type::fifo:
    return "is a pipe and not a regular file; write what it gives to a file and name that";
  case fs::file_type::socket:
    return "is a socket and not a regular file";
  case fs::file_type::block:
  case fs::file_type::character:
    return "is a device and not a regular file";
  default:
    return "";
  }
}

} // namespace llmc

#endif // LLMC_SUPPORT_REGULARFILE_H
