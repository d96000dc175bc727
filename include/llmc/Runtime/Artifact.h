//===- Artifact.h - an opened artifact --------------------------*- C++ -*-===//

#ifndef LLMC_RUNTIME_ARTIFACT_H
#define LLMC_RUNTIME_ARTIFACT_H

#include "llmc/Runtime/Manifest.h"
#include "llmc/Runtime/Tokenizer.h"

#include <memory>
#include <mutex>

namespace llmc::rt {

/// A folder whose manifest has been checked. Immutable and shared by sessions.
class Artifact {
public:
  static std::shared_ptr<const Artifact> open(const std::filesystem::path &folder,
                                              const ReadOptions &options = {});

  const std::filesystem::path &folder() const { return dir; }
  const Manifest &manifest() const { return description; }
  /// For messages.
  std::string manifestPath() const { return (dir / "manifest.json").string(); }
  bool hasTokenizer() const { return !description.tokenizerFile.empty(); }
  /// Why the compilation left something out (LeftOut.h); empty where it did not.
  std::string whyLeftOut(const std::string &what) const;
  /// Read at the first call. Throws InputError where the artifact has none.
  const Tokenizer &tokenizer() const;

private:
  Artifact(std::filesystem::path folder, Manifest manifest)
      : dir(std::move(folder)), description(std::move(manifest)) {}

  std::filesystem::path dir;
  Manifest description;
  mutable std::mutex tokenizerMutex;
  mutable std::unique_ptr<Tokenizer> loadedTokenizer;
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_ARTIFACT_H
