//===- ArtifactReport.cpp - what an artifact is, and how two differ -------===//
#include "llmc/Pipelines/ArtifactReport.h"

#include "llmc/Dialect/Plan/IR/PlanSize.h"
#include "llmc/Support/Printable.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace llmc {

using frontend::Json;
using Texts = std::map<std::string, std::string>;

namespace fs = std::filesystem;

bool isArtifact(const std::string &path) {
  std::error_code error;
  return fs::is_regular_file(fs::path(path) / "manifest.json", error) &&
         !fs::exists(fs::path(path) / "config.json", error);
}

ArtifactReport ArtifactReport::read(const std::string &folder) {
  return {folder, rt::readManifest(folder)};
}

//===----------------------------------------------------------------------===//
// One artifact
//===----------------------------------------------------------------------===//

/// Name and value, as in the manifest; `ring_blocks` only where it has them.
static std::vector<std::pair<const char *, int64_t>> limitsOf(const rt::Limits &limits) {
  std::vector<std::pair<const char *, int64_t>> named = {
      {"max_tokens", limits.maxTokens},       {"max_outputs", limits.maxOutputs},
      {"max_sequences", limits.maxSequences}, {"max_context", limits.maxContext},
      {"block_tokens", limits.blockTokens},   {"blocks", limits.blocks}};
  if (limits.ringBlocks)
    named.emplace_back("ring_blocks", limits.ringBlocks);
  return named;
}

/// Of all ranks. Files that are not there may be as large as the manifest says: saturates.
static int64_t weightBytes(const rt::Manifest &manifest) {
  int64_t bytes = 0;
  for (const rt::Arena &arena : manifest.arenas)
    if (!arena.file.empty() || !arena.rankFiles.empty())
      bytes = plan::saturatingAdd(
          bytes, plan::saturatingMul(arena.size.constant,
                                     std::max<int64_t>(int64_t(arena.rankFiles.size()), 1)));
  return bytes;
}

std::string ArtifactReport::toText() const {
  // A text of the manifest cannot begin another line.
  auto line = [](const std::string &text) { return printable(text, /*line=*/true); };
  std::string out =
      line(manifest.model.architecture) + ": artifact for " + line(manifest.target.device) + "\n";
  out += "description  " + line(manifest.model.description) + "\n";
  out += "parameters   " + std::to_string(manifest.model.parameters) + "\n";
  out += "producer     " +
         line(manifest.producer.name + " " + manifest.producer.version + ", " +
              manifest.producer.toolchain) +
         "\n";
  out += "limits       ";
  for (const auto &[name, value] : limitsOf(manifest.limits))
    out += (out.back() == ' ' ? "" : ", ") + std::string(name) + " " + std::to_string(value);
  out += "\nweights      " +
         (manifest.hasWeights() ? std::to_string(weightBytes(manifest)) + " bytes"
                                : std::string("none")) +
         "\nkernels      " + std::to_string(manifest.kernels.size()) + "\n";
  if (!manifest.accepted.empty())
    out += "accepted\n";
  for (const rt::AcceptedException &one : manifest.accepted)
    out += "  " + line(one.key + ": " + one.value) + "\n";
  return out;
}

static Json text(const std::string &value) { return Json::makeString(value); }

std::string ArtifactReport::toJson() const {
  auto object = [](std::initializer_list<std::pair<const char *, Json>> members) {
    Json json = Json::makeObject();
    for (const auto &[name, value] : members)
      json.set(name, value);
    return json;
  };
  const rt::ModelInfo &model = manifest.model;
  Json limits = Json::makeObject(), files = Json::makeArray(), accepted = Json::makeArray();
  for (const auto &[name, value] : limitsOf(manifest.limits))
    limits.set(name, Json::makeInt(value));
  for (const rt::FileEntry &file : manifest.files)
    files.items.push_back(object({{"path", text(file.path)},
                                  {"bytes", Json::makeInt(file.bytes)},
                                  {"sha256", text(file.sha256)}}));
  for (const rt::AcceptedException &one : manifest.accepted)
    accepted.items.push_back(object({{"key", text(one.key)}, {"value", text(one.value)}}));
  const rt::Producer &producer = manifest.producer;
  return object({{"artifact", text(folder)},
                 {"producer", object({{"name", text(producer.name)},
                                      {"version", text(producer.version)},
                                      {"toolchain", text(producer.toolchain)}})},
                 {"model", object({{"name", text(model.name)},
                                   {"architecture", text(model.architecture)},
                                   {"description", text(model.description)},
                                   {"vocab_size", Json::makeInt(model.vocabSize)},
                                   {"hidden_size", Json::makeInt(model.hiddenSize)},
                                   {"layers", Json::makeInt(model.layers)},
                                   {"context_length", Json::makeInt(model.contextLength)},
                                   {"parameters", Json::makeInt(model.parameters)}})},
                 {"target", object({{"device", text(manifest.target.device)},
                                    {"triple", text(manifest.target.triple)}})},
                 {"limits", limits},
                 {"weight_bytes", Json::makeInt(weightBytes(manifest))},
                 {"kernels", Json::makeInt(int64_t(manifest.kernels.size()))},
                 {"files", files},
                 {"accepted", accepted}})
             .dump() +
         "\n";
}

//===----------------------------------------------------------------------===//
// Two artifacts
//===----------------------------------------------------------------------===//

static Texts factsOf(const rt::Manifest &manifest) {
  const rt::ModelInfo &model = manifest.model;
  const rt::Producer &producer = manifest.producer;
  Texts facts = {{"model.name", model.name},
                 {"model.architecture", model.architecture},
                 {"model.description", model.description},
                 {"model.vocab_size", std::to_string(model.vocabSize)},
                 {"model.hidden_size", std::to_string(model.hiddenSize)},
                 {"model.layers", std::to_string(model.layers)},
                 {"model.context_length", std::to_string(model.contextLength)},
                 {"model.parameters", std::to_string(model.parameters)},
                 {"target.device", manifest.target.device},
                 {"target.triple", manifest.target.triple},
                 {"producer", producer.name + " " + producer.version + ", " + producer.toolchain}};
  for (const auto &[name, value] : limitsOf(manifest.limits))
    facts[std::string("limits.") + name] = std::to_string(value);
  return facts;
}

/// An exception may have been taken several times.
static Texts acceptedOf(const rt::Manifest &manifest) {
  Texts accepted;
  for (const rt::AcceptedException &one : manifest.accepted) {
    std::string &value = accepted[one.key];
    value += (value.empty() ? "" : "; ") + one.value;
  }
  return accepted;
}

static void countLaunches(const std::vector<rt::Step> &steps, int64_t times,
                          std::map<std::string, int64_t> &counts) {
  for (const rt::Step &step : steps)
    if (step.kind == rt::StepKind::Repeat)
      countLaunches(step.steps, times * step.repeats, counts);
    else if (step.kind == rt::StepKind::Launch)
      counts[step.kernel] += times;
}

static Texts kernelsOf(const rt::Manifest &manifest) {
  std::map<std::string, int64_t> counts;
  for (const rt::Entry &entry : manifest.entries)
    countLaunches(entry.steps, 1, counts);
  Texts kernels;
  for (const auto &[name, count] : counts)
    kernels[name] = std::to_string(count) + (count == 1 ? " launch" : " launches");
  return kernels;
}

static Texts filesOf(const rt::Manifest &manifest) {
  Texts files;
  for (const rt::FileEntry &file : manifest.files)
    files[file.path] = std::to_string(file.bytes) + " bytes, sha256 " + file.sha256;
  return files;
}

ArtifactDiff diffArtifacts(const ArtifactReport &a, const ArtifactReport &b) {
  auto differences = [&](Texts (*of)(const rt::Manifest &)) {
    return frontend::compareTexts(of(a.manifest), of(b.manifest));
  };
  return {a.folder,
          b.folder,
          differences(factsOf),
          differences(acceptedOf),
          differences(kernelsOf),
          differences(filesOf)};
}

namespace {
struct Section {
  const char *key, *title;
  const std::vector<frontend::DiffEntry> ArtifactDiff::*entries;
};
} // namespace

static constexpr Section sections[] = {
    {"model", "model, target and limits", &ArtifactDiff::model},
    {"accepted", "accepted", &ArtifactDiff::accepted},
    {"kernels", "kernels, and how often a step launches them", &ArtifactDiff::kernels},
    {"files", "files", &ArtifactDiff::files},
};

std::string ArtifactDiff::toText() const {
  std::string out = "a  " + a + "\nb  " + b + "\n";
  if (equal())
    out += "no differences\n";
  for (const Section &section : sections)
    out += frontend::diffLines(section.title, this->*section.entries);
  return out;
}

std::string ArtifactDiff::toJson() const {
  Json root = Json::makeObject();
  root.set("a", text(a));
  root.set("b", text(b));
  root.set("equal", Json::makeBool(equal()));
  for (const Section &section : sections)
    root.set(section.key, frontend::diffList(this->*section.entries));
  return root.dump() + "\n";
}

} // namespace llmc
