//===- ArtifactFolder.h - a folder that appears whole -----------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_ARTIFACTFOLDER_H
#define LLMC_LIB_PIPELINES_ARTIFACTFOLDER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace llmc {

struct ArtifactFile {
  std::string path;
  uint64_t bytes = 0;
  std::string sha256;
};

/// Files are written to a folder beside the wanted one, which takes its place at commit(), in
/// one step. Without commit nothing is left; what a killed process left is removed by the next
/// one. Of two at once the last to commit wins. Every member throws InputError naming the path.
class ArtifactFolder {
public:
  /// Throws when `folder` exists and is no artifact: nothing of a user's is overwritten.
  explicit ArtifactFolder(std::string folder);
  ~ArtifactFolder();
  ArtifactFolder(const ArtifactFolder &) = delete;

  /// Where a file of the artifact is to be written now.
  std::string pathOf(std::string_view name) const;
  void write(std::string_view name, std::string_view content);
  /// Throws where the file could not have that many bytes; for writers that do not say why
  /// they failed. Its content is lost.
  void requireRoom(std::string_view name, uint64_t bytes);
  /// Records a file that was written at pathOf(name), hashed.
  void record(std::string_view name);
  const std::vector<ArtifactFile> &files() const { return list; }
  void commit();

private:
  std::string target, temporary;
  /// Descriptor with the lock of the folder under way.
  int lock = -1;
  /// Parents that were missing, the innermost first; removed again without commit.
  std::vector<std::string> madeParents;
  std::vector<ArtifactFile> list;
};

/// Throws InputError where no artifact can be written to `folder`: it holds other things, or
/// its parent is no folder or cannot be written. To be asked before long work.
void checkArtifactFolder(const std::string &folder);

/// Removes the folders of all artifacts under way and lets none begin or end after that; for
/// a process that is about to stop. Thread-safe. Without `wait` nothing is removed where a
/// thread is just beginning or ending one.
void removeUnfinishedArtifacts(bool wait = true);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_ARTIFACTFOLDER_H
