//===- ArtifactReport.h - what an artifact is, and how two differ -*- C++ -*-===//
//
// From the manifest alone: no weights are read, and no kernels are loaded.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_ARTIFACTREPORT_H
#define LLMC_PIPELINES_ARTIFACTREPORT_H

#include "llmc/Frontend/Diff.h"
#include "llmc/Runtime/Manifest.h"

#include <string>
#include <vector>

namespace llmc {

/// Whether the path is a folder with a manifest, and no model beside it.
bool isArtifact(const std::string &path);

struct ArtifactReport {
  /// Reads and checks the manifest; throws InputError.
  static ArtifactReport read(const std::string &folder);

  std::string folder;
  rt::Manifest manifest;

  std::string toText() const;
  /// docs/Inspect.md has the schema.
  std::string toJson() const;
};

struct ArtifactDiff {
  std::string a, b;
  /// Facts of model, target, producer and limits; exceptions that were taken; what steps run how
  /// often by kernels' names; files with bytes and hashes.
  std::vector<frontend::DiffEntry> model, accepted, kernels, files;

  bool equal() const {
    return model.empty() && accepted.empty() && kernels.empty() && files.empty();
  }
  std::string toText() const;
  /// docs/Diff.md has the schema.
  std::string toJson() const;
};

ArtifactDiff diffArtifacts(const ArtifactReport &a, const ArtifactReport &b);

} // namespace llmc

#endif // LLMC_PIPELINES_ARTIFACTREPORT_H
