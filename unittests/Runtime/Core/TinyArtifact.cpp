//===- TinyArtifact.cpp - a hand-written artifact for tests ---------------===//

#include "TinyArtifact.h"

#include <fstream>
#include <unistd.h>

using nlohmann::json;
namespace fs = std::filesystem;

namespace llmc::rt::test {

static constexpr int64_t tableBytes = vocab * hidden * 4, scaleStride = 64;
static constexpr int64_t weightBytes = tableBytes + layers * scaleStride;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "llmc-rt-XXXXXX").string();
  folder = mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

void writeFile(const fs::path &path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

static float tableValue(int64_t v, int64_t i) { return float((v * 7 + i * 3) % 11 - 5) / 8.0f; }

static float scaleValue(int64_t layer, int64_t i, int rank) {
  return float((layer * 5 + i + rank * 3) % 7 + 1) / 16.0f;
}

static std::string weights(int rank) {
  std::vector<float> values(size_t(weightBytes / 4), 0);
  for (int64_t v = 0; v < vocab; ++v)
    for (int64_t i = 0; i < hidden; ++i)
      values[size_t(v * hidden + i)] = tableValue(v, i);
  for (int64_t l = 0; l < layers; ++l)
    for (int64_t i = 0; i < hidden; ++i)
      values[size_t((tableBytes + l * scaleStride) / 4 + i)] = scaleValue(l, i, rank);
  return std::string(reinterpret_cast<const char *>(values.data()), values.size() * 4);
}

json tinyManifest(int ranks) {
  json manifest = json::parse(R"({
    "format": "llmc.manifest", "version": [4, 0],
    "digest": "0000000000000000000000000000000000000000000000000000000000000000",
    "producer": {"name": "test", "version": "0", "toolchain": "hand"},
    "model": {"name": "tiny", "architecture": "tiny", "description": "tiny.llmc", "vocab_size": 16,
              "hidden_size": 8, "layers": 3, "context_length": 64, "parameters": 152},
    "target": {"device": "cpu", "triple": ""},
    "limits": {"max_tokens": 16, "max_sequences": 4, "max_context": 48, "block_tokens": 4, "blocks": 32},
    "files": [],
    "arenas": [
      {"name": "weights", "kind": "weights", "size": {"const": 704}},
      {"name": "state", "kind": "state", "size": {"blocks": 384}},
      {"name": "activations", "kind": "activations", "size": {"const": 256, "tokens": 64, "outputs": 64}},
      {"name": "workspace", "kind": "workspace", "size": {"threads": 128}}],
    "slices": [
      {"name": "x", "arena": "activations", "offset": 0, "size": {"tokens": 32}, "live": [0, 7]},
      {"name": "y", "arena": "activations", "offset": 512, "size": {"tokens": 32}, "live": [3, 5]},
      {"name": "logits", "arena": "activations", "offset": 1024, "size": {"outputs": 64}, "live": [7, 7]}],
    "weights": [
      {"name": "table", "arena": "weights", "base": 0, "stride": 0, "bytes": 512, "layers": [], "rows": 16,
       "cols": 8, "storage": "f32", "layout": {"kind": "rows"}, "interleave": 0,
       "sources": [{"tensor": "embed", "name": "embed", "rows": 16}]},
      {"name": "scale", "arena": "weights", "base": 512, "stride": 64, "bytes": 64, "layers": [[0, 3]],
       "rows": 1, "cols": 8, "storage": "f32", "layout": {"kind": "rows"}, "interleave": 0,
       "sources": [{"tensor": "scale.{i}", "name": "scale.{i}", "rows": 1}]}],
    "states": [
      {"name": "keys", "arena": "state", "layers": [[0, 3]], "kind": "paged", "heads": 1, "key_width": 8,
       "value_width": 0, "element": "f32", "bytes_per_block": 128}],
    "variants": [{"name": "dream", "suffix": "_dream", "requires": ["no-such-feature"]},
                 {"name": "plain", "suffix": "", "requires": []}],
    "kernels": [
      {"name": "embed", "symbol": "tiny_embed", "generator": "c", "scratch": 0, "tokens_below": 16,
       "contracts": [{"items": {"factor": 1, "of": "tokens"}, "operands": [
         {"kind": "weights", "access": "read", "bytes": {"const": 512}},
         {"kind": "slice", "access": "write", "bytes": {"tokens": 32}}]}]},
      {"name": "append", "symbol": "tiny_append", "generator": "c", "scratch": 0,
       "contracts": [{"items": {"factor": 1, "of": "tokens"}, "operands": [
         {"kind": "slice", "access": "read", "bytes": {"tokens": 32}},
         {"kind": "state", "access": "write", "bytes": {"blocks": 128}}]}]},
      {"name": "mix", "symbol": "tiny_mix", "generator": "c", "scratch": 32,
       "contracts": [{"items": {"factor": 1, "of": "tokens"}, "operands": [
         {"kind": "weights", "access": "read", "bytes": {"const": 32}},
         {"kind": "state", "access": "read", "bytes": {"blocks": 128}},
         {"kind": "slice", "access": "write", "bytes": {"tokens": 32}}]}]},
      {"name": "add", "symbol": "tiny_add", "generator": "c", "scratch": 0,
       "contracts": [{"items": {"factor": 1, "of": "one"}, "operands": [
         {"kind": "slice", "access": "read", "bytes": {"tokens": 32}},
         {"kind": "slice", "access": "readwrite", "bytes": {"tokens": 32}}]}]},
      {"name": "head", "symbol": "tiny_head", "generator": "c", "scratch": 0,
       "contracts": [{"items": {"factor": 4, "of": "outputs"}, "operands": [
         {"kind": "weights", "access": "read", "bytes": {"const": 512}},
         {"kind": "slice", "access": "read", "bytes": {"tokens": 32}},
         {"kind": "slice", "access": "write", "bytes": {"outputs": 64}}]}]}],
    "entries": [{"name": "step",
      "outputs": [{"name": "logits", "slice": "logits", "rows": "outputs", "width": 16, "element": "f32"}],
      "steps": [
        {"launch": {"kernel": "embed", "operands": [{"weights": "table", "access": "read"},
          {"slice": "x", "access": "write"}], "items": {"factor": 1, "of": "tokens"}}},
        {"observe": {"name": "hidden.0", "slice": "x", "rows": "tokens", "width": 8}},
        {"repeat": {"from": 0, "count": 3, "period": 1, "steps": [
          {"launch": {"kernel": "append", "operands": [{"slice": "x", "access": "read"},
            {"state": "keys", "access": "write", "layer": 0}], "items": {"factor": 1, "of": "tokens"}}},
          {"launch": {"kernel": "mix", "operands": [{"weights": "scale", "access": "read", "layer": 0},
            {"state": "keys", "access": "read", "layer": 0}, {"slice": "y", "access": "write"}],
            "items": {"factor": 1, "of": "tokens", "tile": 1, "plus": 0}}},
          {"collective": {"kind": "all_reduce", "slice": "y", "group": "all", "element": "f32",
            "count": {"tokens": 8}}},
          {"launch": {"kernel": "add", "operands": [{"slice": "y", "access": "read"},
            {"slice": "x", "access": "readwrite"}], "items": {"factor": 1, "of": "one"}, "remark": "x/2 + y"}},
          {"observe": {"name": "hidden.{i+1}", "slice": "x", "rows": "tokens", "width": 8, "layer": 0}}]}},
        {"launch": {"kernel": "head", "operands": [{"weights": "table", "access": "read"},
          {"slice": "x", "access": "read"}, {"slice": "logits", "access": "write"}],
          "items": {"factor": 4, "of": "outputs"}}}]}],
    "ranks": {"count": 1, "groups": [{"name": "all", "ranks": [0]}]}
  })");
  json members = json::array();
  for (int rank = 0; rank < ranks; ++rank)
    members.push_back(rank);
  manifest["ranks"] = {{"count", ranks}, {"groups", {{{"name", "all"}, {"ranks", members}}}}};
  return manifest;
}

void makeRecurrent(json &manifest) {
  manifest["arenas"][1]["size"] = {{"blocks", 384}, {"sequences", 192}};
  manifest["states"].push_back({{"name", "sum"},
                                {"arena", "state"},
                                {"layers", {{0, 3}}},
                                {"kind", "recurrent"},
                                {"heads", 1},
                                {"key_width", 1},
                                {"value_width", hidden},
                                {"element", "f32"},
                                {"bytes_per_sequence", 64}});
  json items = {{"factor", 1}, {"of", "sequences"}};
  json &kernel = manifest["kernels"][1], &contract = kernel["contracts"][0];
  kernel["symbol"] = "tiny_append_recurrent";
  contract["items"] = items;
  contract["operands"][0]["access"] = "readwrite";
  contract["operands"].push_back(
      {{"kind", "state"}, {"access", "readwrite"}, {"bytes", {{"sequences", 64}}}});
  json &launch = manifest["entries"][0]["steps"][2]["repeat"]["steps"][0]["launch"];
  launch["items"] = items;
  launch["operands"][0]["access"] = "readwrite";
  launch["operands"].push_back({{"state", "sum"}, {"access", "readwrite"}, {"layer", 0}});
}

void makeWindowed(json &manifest) {
  manifest["limits"]["max_tokens"] = 5;
  manifest["limits"]["ring_blocks"] = 4;
  manifest["arenas"][1]["size"] = {{"blocks", 128}, {"window_blocks", 256}};
  manifest["arenas"][2]["size"] = {{"const", 2048}};
  json near = manifest["states"][0];
  manifest["states"][0]["layers"] = {{1, 2}};
  near["name"] = "near";
  near["layers"] = {{0, 1}, {2, 3}};
  near["window"] = tinyWindow;
  manifest["states"].push_back(near);
  json mix = manifest["kernels"][2];
  mix["name"] = "mix_near";
  mix["symbol"] = "tiny_mix_near";
  mix["contracts"][0]["operands"][1]["bytes"] = {{"window_blocks", 128}};
  manifest["kernels"].push_back(mix);
  // Appending is the same whatever the blocks.
  json other = manifest["kernels"][1]["contracts"][0];
  other["operands"][1]["bytes"] = {{"window_blocks", 128}};
  manifest["kernels"][1]["contracts"].push_back(other);
  // One iteration of three layers.
  json &repeat = manifest["entries"][0]["steps"][2]["repeat"];
  json body = repeat["steps"], all = json::array();
  for (int64_t layer = 0; layer < layers; ++layer) {
    json steps = body;
    for (json *operand : {&steps[0]["launch"]["operands"][1], &steps[1]["launch"]["operands"][1]}) {
      (*operand)["state"] = layer == 1 ? "keys" : "near";
      (*operand)["layer"] = layer;
    }
    steps[1]["launch"]["operands"][0]["layer"] = layer;
    steps[1]["launch"]["kernel"] = layer == 1 ? "mix" : "mix_near";
    steps[4]["observe"]["layer"] = layer;
    all.insert(all.end(), steps.begin(), steps.end());
  }
  repeat = {{"from", 0}, {"count", 1}, {"period", layers}, {"steps", all}};
  manifest["slices"][0]["live"] = {0, 17};
  manifest["slices"][1]["live"] = {3, 15};
  manifest["slices"][2]["live"] = {17, 17};
}

void writeTiny(const fs::path &folder, int ranks, const std::function<void(json &)> &change) {
  json manifest = tinyManifest(ranks);
  auto list = [&](const std::string &name) {
    manifest["files"].push_back({{"path", name},
                                 {"bytes", fs::file_size(folder / name)},
                                 {"sha256", sha256OfFile(folder / name)}});
  };
  fs::copy_file(LLMC_TEST_TINY_KERNELS, folder / "kernels.so",
                fs::copy_options::overwrite_existing);
  list("kernels.so");
  json &arena = manifest["arenas"][0];
  for (int rank = 0; rank < ranks; ++rank) {
    std::string name = ranks == 1 ? "weights.bin" : "weights.rank" + std::to_string(rank) + ".bin";
    writeFile(folder / name, weights(rank));
    list(name);
    if (ranks == 1)
      arena["file"] = name;
    else
      arena["rank_files"].push_back(name);
  }
  if (change)
    change(manifest);
  writeFile(folder / "manifest.json", sealManifest(manifest.dump(1)));
}

std::shared_ptr<const Artifact> openTiny(const TemporaryFolder &folder, int ranks) {
  writeTiny(folder.path(), ranks);
  return Artifact::open(folder.path());
}

std::vector<std::vector<float>> tinyReference(const std::vector<int32_t> &tokens, int ranks,
                                              bool recurrent, bool windowed) {
  size_t count = tokens.size();
  std::vector<std::vector<float>> x(count, std::vector<float>(hidden)), y = x;
  for (size_t t = 0; t < count; ++t)
    for (int64_t i = 0; i < hidden; ++i)
      x[t][size_t(i)] = tableValue(tokens[t], i);
  for (int64_t layer = 0; layer < layers; ++layer) {
    for (size_t t = 1; recurrent && t < count; ++t)
      for (size_t i = 0; i < size_t(hidden); ++i)
        x[t][i] += x[t - 1][i] * 0.5f;
    for (size_t t = 0; t < count; ++t)
      for (size_t i = 0; i < size_t(hidden); ++i) {
        float total = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          float sum = 0, scale = scaleValue(layer, int64_t(i), rank);
          bool isNear = windowed && layer != 1 && t >= size_t(tinyWindow);
          for (size_t p = isNear ? t + 1 - size_t(tinyWindow) : 0; p <= t; ++p)
            sum += x[p][i] * scale / float(1 + t - p);
          total = rank ? total + sum : sum;
        }
        y[t][i] = total;
      }
    for (size_t t = 0; t < count; ++t)
      for (size_t i = 0; i < size_t(hidden); ++i)
        x[t][i] = x[t][i] * 0.5f + y[t][i];
  }
  std::vector<std::vector<float>> logits(count, std::vector<float>(vocab));
  for (size_t t = 0; t < count; ++t)
    for (int64_t v = 0; v < vocab; ++v) {
      float sum = 0;
      for (int64_t i = 0; i < hidden; ++i)
        sum += x[t][size_t(i)] * tableValue(v, i);
      logits[t][size_t(v)] = sum;
    }
  return logits;
}

std::vector<int32_t> tinyTokens(int64_t count, uint32_t seed) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    tokens.push_back(int32_t(seed >> 24) % int32_t(vocab));
  }
  return tokens;
}

} // namespace llmc::rt::test
