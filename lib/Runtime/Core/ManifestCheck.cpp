//===- ManifestCheck.cpp - what a manifest may not say --------------------===//
//
// References, files, arenas, slices, weights, states, kernels, ranks and exceptions. Steps
// are the subject of ManifestSteps.cpp.
//
//===----------------------------------------------------------------------===//

#include "ManifestChecker.h"
#include "llmc/Kernels/CPU/Storage.h"
#include "llmc/Support/StateRing.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>

namespace llmc::rt {

using detail::Checker;
using detail::place;

namespace detail {

/// The list's names, each once.
template <typename T>
static std::unordered_map<std::string, int32_t> indexNames(const Checker &checker, const char *list,
                                                           const std::vector<T> &items) {
  if (items.size() > largestList)
    checker.fail(list, "holds " + std::to_string(items.size()) + " entries, more than " +
                           std::to_string(largestList));
  std::unordered_map<std::string, int32_t> names;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name.empty())
      checker.fail(place(list, i) + ".name", "is empty");
    if (!names.emplace(items[i].name, int32_t(i)).second)
      checker.fail(place(list, i) + ".name", "'" + items[i].name + "' stands twice");
  }
  return names;
}

int32_t Checker::lookup(const Names &names, const std::string &name, const std::string &path,
                        const char *what) const {
  auto found = names.find(name);
  if (found == names.end())
    fail(path, std::string("no ") + what + " is called '" + name + "'");
  return found->second;
}

void Checker::aligned(int64_t value, const std::string &path) const {
  if (value % manifestAlignment)
    fail(path, "is " + std::to_string(value) + ", not a multiple of " +
                   std::to_string(manifestAlignment));
}

static std::string pathProblem(const std::string &path) {
  if (path.empty())
    return "is empty";
  if (path.front() == '/' || path.find('\\') != std::string::npos)
    return "'" + path + "' is not a relative path";
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find('/', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..")
      return "'" + path + "' does not stay inside the artifact's folder in plain words";
    begin = end + 1;
  }
  return "";
}

void Checker::checkFiles() {
  std::set<std::string> seen;
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const FileEntry &file = manifest.files[i];
    std::string path = place("files", i);
    if (std::string problem = pathProblem(file.path); !problem.empty())
      fail(path + ".path", problem);
    if (!seen.insert(file.path).second)
      fail(path + ".path", "'" + file.path + "' stands twice");
    if (!isSha256(file.sha256))
      fail(path + ".sha256", "is not 64 lower-case hexadecimal digits");
  }
  auto listed = [&](const std::string &file, const std::string &path) {
    if (!manifest.findFile(file))
      fail(path, "'" + file + "' is not in the list of files");
  };
  if (!manifest.tokenizerFile.empty())
    listed(manifest.tokenizerFile, "tokenizer.file");
  bool host = false;
  for (size_t i = 0; i < manifest.kernels.size(); ++i) {
    if (manifest.kernels[i].device)
      listed(manifest.kernels[i].device->file, place("kernels", i) + ".device.file");
    else
      host = true;
  }
  if (host)
    listed("kernels.so", "kernels");
}

void Checker::checkArenas() {
  arenas = indexNames(*this, "arenas", manifest.arenas);
  bool workspace = false;
  for (size_t i = 0; i < manifest.arenas.size(); ++i) {
    const Arena &arena = manifest.arenas[i];
    std::string path = place("arenas", i);
    bool weights = arena.kind == ArenaKind::Weights;
    if (!weights && (!arena.file.empty() || !arena.rankFiles.empty()))
      fail(path + ".file", "only an arena of kind weights is a file");
    if (arena.kind == ArenaKind::Workspace && std::exchange(workspace, true))
      fail(path + ".kind", "a second workspace; one is cut into a part for each thread");
    if (!weights)
      continue;
    const Size &size = arena.size;
    if (size.tokens || size.outputs || size.sequences || size.blocks || size.threads ||
        size.windowBlocks)
      fail(path + ".size", "an arena of weights has a constant size");
    if (!arena.file.empty() && !arena.rankFiles.empty())
      fail(path + ".rank_files", "stands beside file; one of them is enough");
    if (!arena.file.empty() && manifest.ranks.count > 1)
      fail(path + ".file", "with several ranks each has its own file: rank_files");
    if (!arena.rankFiles.empty() && int64_t(arena.rankFiles.size()) != manifest.ranks.count)
      fail(path + ".rank_files", "names " + std::to_string(arena.rankFiles.size()) + " files for " +
                                     std::to_string(manifest.ranks.count) + " ranks");
    std::vector<std::string> files = arena.rankFiles;
    if (!arena.file.empty())
      files.push_back(arena.file);
    for (const std::string &name : files) {
      const FileEntry *file = manifest.findFile(name);
      if (!file)
        fail(path + ".file", "'" + name + "' is not in the list of files");
      if (file->bytes != size.constant)
        fail(path + ".size", "is " + std::to_string(size.constant) + " bytes, the file '" + name +
                                 "' has " + std::to_string(file->bytes));
    }
  }
}

void Checker::checkSlices() {
  slices = indexNames(*this, "slices", manifest.slices);
  for (size_t i = 0; i < manifest.slices.size(); ++i) {
    Slice &slice = manifest.slices[i];
    std::string path = place("slices", i);
    slice.arenaIndex = lookup(arenas, slice.arena, path + ".arena", "arena");
    ArenaKind kind = manifest.arenas[size_t(slice.arenaIndex)].kind;
    if (kind != ArenaKind::Activations && kind != ArenaKind::Communication)
      fail(path + ".arena", "'" + slice.arena + "' holds " + arenaKindName(kind) +
                                "; slices lie in activations or communication");
    aligned(slice.offset, path + ".offset");
  }
}

/// Bytes that kernels read of one member; 0 where the storage is not known.
static int64_t leastBytes(const Weight &weight) {
  int64_t product;
  if (weight.layoutKind == "rows") { // f32, whatever the checkpoint stores
    bool large = __builtin_mul_overflow(weight.rows, weight.cols, &product) ||
                 __builtin_mul_overflow(product, 4, &product);
    return large ? INT64_MAX : product;
  }
  auto storage = kernels::findStorage(weight.storage);
  if (!storage)
    return 0;
  kernels::StorageInfo info = kernels::storageInfo(*storage);
  int64_t panels = (weight.rows + 15) / 16;
  int64_t padded = (panels + weight.layoutTile - 1) / weight.layoutTile * weight.layoutTile;
  int64_t blocks = (weight.cols + info.block - 1) / info.block;
  bool large = __builtin_mul_overflow(padded, blocks, &product) ||
               __builtin_mul_overflow(product, info.panelBytes(), &product);
  return large ? INT64_MAX : product;
}

void Checker::checkLayers(const LayerSet &layers, const std::string &path) const {
  if (!layers.empty() && layers.ranges.back().second > manifest.model.layers)
    fail(path, "goes to layer " + std::to_string(layers.ranges.back().second - 1) +
                   ", the model has " + std::to_string(manifest.model.layers));
}

void Checker::checkWeights() {
  weights = indexNames(*this, "weights", manifest.weights);
  for (size_t i = 0; i < manifest.weights.size(); ++i) {
    Weight &weight = manifest.weights[i];
    std::string path = place("weights", i);
    weight.arenaIndex = lookup(arenas, weight.arena, path + ".arena", "arena");
    const Arena &arena = manifest.arenas[size_t(weight.arenaIndex)];
    if (arena.kind != ArenaKind::Weights)
      fail(path + ".arena", "'" + weight.arena + "' holds " + arenaKindName(arena.kind));
    checkLayers(weight.layers, path + ".layers");
    aligned(weight.base, path + ".base");
    aligned(weight.stride, path + ".stride");
    aligned(weight.bytes, path + ".bytes");
    int64_t members = weight.members(), end;
    if (members > 1 && weight.stride < weight.bytes)
      fail(path + ".stride", "is " + std::to_string(weight.stride) + ", less than the " +
                                 std::to_string(weight.bytes) + " bytes of a member");
    if (__builtin_mul_overflow(members - 1, weight.stride, &end) ||
        __builtin_add_overflow(end, weight.base + weight.bytes, &end) || end > arena.size.constant)
      fail(path + ".base", "the members reach past the " + std::to_string(arena.size.constant) +
                               " bytes of the arena '" + arena.name + "'");
    if (weight.matrices > weight.bytes / 64 || weight.bytes % (64 * weight.matrices))
      fail(path + ".matrices", "is " + std::to_string(weight.matrices) + ", which do not share " +
                                   std::to_string(weight.bytes) + " bytes in multiples of 64");
    if (int64_t least = leastBytes(weight); weight.bytes / weight.matrices < least)
      fail(path + ".bytes", "is " + std::to_string(weight.bytes) + ", the layout of " +
                                (weight.matrices > 1 ? std::to_string(weight.matrices) + " x " : "") +
                                std::to_string(weight.rows) + " x " + std::to_string(weight.cols) +
                                " in " + weight.storage + " takes " + std::to_string(least) +
                                (weight.matrices > 1 ? " a matrix" : ""));
    if (weight.sources.empty())
      fail(path + ".sources", "is empty: nothing says where the weight comes from");
    int64_t rows = 0, paddedRows = 0;
    for (const WeightSource &source : weight.sources) {
      int64_t step = std::max<int64_t>(weight.interleave, 1);
      rows += source.rows;
      // One set for all members, or one for each.
      int64_t values = int64_t(source.values.size());
      if (values && values != source.rows && values != source.rows * weight.layers.count())
        fail(path + ".sources", "give " + std::to_string(source.values.size()) + " values for " +
                                    std::to_string(source.rows) + " rows");
      paddedRows += (source.rows + step - 1) / step * step;
    }
    if (rows != weight.rows && paddedRows != weight.rows)
      fail(path + ".sources",
           "give " + std::to_string(rows) + " rows, the weight has " + std::to_string(weight.rows));
  }
}

void Checker::checkStates() {
  states = indexNames(*this, "states", manifest.states);
  for (size_t i = 0; i < manifest.states.size(); ++i) {
    State &state = manifest.states[i];
    std::string path = place("states", i);
    state.arenaIndex = lookup(arenas, state.arena, path + ".arena", "arena");
    ArenaKind kind = manifest.arenas[size_t(state.arenaIndex)].kind;
    if (kind != ArenaKind::State)
      fail(path + ".arena", "'" + state.arena + "' holds " + arenaKindName(kind));
    if (state.layers.empty())
      fail(path + ".layers", "is empty");
    checkLayers(state.layers, path + ".layers");
    int64_t least;
    if (state.window && state.perSequence())
      fail(path + ".window", "is " + std::to_string(state.window) + " of a state of kind " +
                                 state.kind + "; only a paged state has a window");
    if (state.window) {
      const Limits &limits = manifest.limits;
      int64_t whole = (limits.maxContext - 1) / limits.blockTokens + 1;
      int64_t ring = std::min(
          whole, leastRingBlocks(state.window, limits.maxTokens, limits.blockTokens));
      if (limits.ringBlocks < ring)
        fail(path + ".window", "is " + std::to_string(state.window) + ", which with steps of " +
                                   std::to_string(limits.maxTokens) + " tokens takes rings of " +
                                   std::to_string(ring) + " blocks; limits.ring_blocks is " +
                                   std::to_string(limits.ringBlocks));
    }
    if (state.perSequence()) {
      aligned(state.bytesPerSequence, path + ".bytes_per_sequence");
      if (__builtin_mul_overflow(state.heads, state.keyWidth, &least) ||
          __builtin_mul_overflow(least, state.valueWidth, &least) ||
          __builtin_mul_overflow(least, elementBytes(state.element), &least) ||
          state.bytesPerSequence < least)
        fail(path + ".bytes_per_sequence",
             "is " + std::to_string(state.bytesPerSequence) +
                 ", less than heads x key_width x value_width elements take");
      continue;
    }
    aligned(state.bytesPerBlock, path + ".bytes_per_block");
    if (__builtin_mul_overflow(state.heads, state.keyWidth + state.valueWidth, &least) ||
        __builtin_mul_overflow(least, manifest.limits.blockTokens * elementBytes(state.element),
                               &least) ||
        state.bytesPerBlock < least)
      fail(path + ".bytes_per_block", "is " + std::to_string(state.bytesPerBlock) + ", less than " +
                                          "heads x (key_width + value_width) x block_tokens "
                                          "elements take");
  }
}

static constexpr size_t mostContracts = 256;

static bool isSymbol(const std::string &text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '$';
  });
}

void Checker::checkKernels() {
  kernels = indexNames(*this, "kernels", manifest.kernels);
  indexNames(*this, "variants", manifest.variants);
  int64_t scratch = 0;
  bool host = false;
  for (size_t i = 0; i < manifest.kernels.size(); ++i) {
    const Kernel &kernel = manifest.kernels[i];
    std::string path = place("kernels", i);
    if (kernel.symbol.empty() || !isSymbol(kernel.symbol))
      fail(path + ".symbol", "'" + kernel.symbol + "' is no symbol");
    // The compiler names a kernel by its code: this one's contracts are not those of the other's.
    if (auto other = kernels.find(kernel.symbol);
        other != kernels.end() && other->second != int32_t(i))
      fail(path + ".symbol", "is that of the kernel '" + kernel.symbol + "'; this one is '" +
                                 kernel.name + "'");
    if (kernel.contracts.empty() || kernel.contracts.size() > mostContracts)
      fail(path + ".contracts", "are " + std::to_string(kernel.contracts.size()) +
                                    ", a kernel has 1 to " + std::to_string(mostContracts));
    if (kernel.tokensBelow && manifest.model.vocabSize > kernel.tokensBelow)
      fail(path + ".tokens_below", "is " + std::to_string(kernel.tokensBelow) +
                                       ", model.vocab_size is " +
                                       std::to_string(manifest.model.vocabSize));
    if (kernel.positionsBelow && manifest.limits.maxContext > kernel.positionsBelow)
      fail(path + ".positions_below", "is " + std::to_string(kernel.positionsBelow) +
                                          ", limits.max_context is " +
                                          std::to_string(manifest.limits.maxContext));
    if (kernel.device) {
      size_t grid = kernel.device->grid.size(), block = kernel.device->block.size();
      if (!grid || grid > 3 || !block || block > 3)
        fail(path + ".device", "grid and block have one to three members");
      continue;
    }
    host = true;
    scratch = std::max(scratch, kernel.scratch);
  }
  for (size_t i = 0; i < manifest.variants.size(); ++i)
    if (!isSymbol(manifest.variants[i].suffix))
      fail(place("variants", i) + ".suffix", "cannot be part of a symbol");
  if (host && manifest.variants.empty())
    fail("variants", "is empty: no kernel has a symbol");
  if (scratch > 0 && std::none_of(manifest.arenas.begin(), manifest.arenas.end(),
                                  [](auto &arena) { return arena.kind == ArenaKind::Workspace; }))
    fail("kernels", "a kernel needs " + std::to_string(scratch) +
                        " bytes of scratch, no arena is a workspace");
}

void Checker::checkRanks() {
  const Ranks &ranks = manifest.ranks;
  if (ranks.count > 4096)
    fail("ranks.count", "is " + std::to_string(ranks.count) + ", more than 4096");
  groups = indexNames(*this, "ranks.groups", ranks.groups);
  for (size_t i = 0; i < ranks.groups.size(); ++i) {
    const std::vector<int64_t> &members = ranks.groups[i].ranks;
    if (members.empty() || !std::is_sorted(members.begin(), members.end(), std::less_equal<>()) ||
        members.back() >= ranks.count)
      fail(place("ranks.groups", i) + ".ranks",
           "is not an ascending list of ranks below " + std::to_string(ranks.count));
  }
}

/// Of code of the user's own the file's hash is told: `sha256 DIGITS`, behind the name of an object.
void Checker::checkAccepted() {
  if (manifest.accepted.size() > largestList)
    fail("accepted", "holds " + std::to_string(manifest.accepted.size()) + " entries, more than " +
                         std::to_string(largestList));
  for (size_t i = 0; i < manifest.accepted.size(); ++i) {
    const auto &[key, value] = manifest.accepted[i];
    std::string path = place("accepted", i);
    if (key.empty())
      fail(path + ".key", "is empty");
    bool isKernel = key.starts_with("user-kernel ");
    bool isFile = key.starts_with("op-library ") || key.starts_with("dialect-plugin ") ||
                  key.starts_with("pass-plugin ");
    if (!isKernel && !isFile)
      continue;
    if (key.back() == ' ')
      fail(path + ".key", "'" + key + "' names nothing");
    constexpr std::string_view mark = "sha256 ";
    size_t at = value.rfind(mark);
    bool isPlaced = at != std::string::npos &&
                    (isFile ? at == 0 : at > 1 && value[at - 1] == ' ');
    if (!isPlaced || !isSha256(std::string_view(value).substr(at + mark.size())))
      fail(path + ".value", "'" + value + "' of '" + key + "' is not '" +
                                (isKernel ? "OBJECT " : "") +
                                "sha256 ' and 64 lower-case hexadecimal digits");
  }
}

} // namespace detail

void checkManifest(Manifest &manifest, std::string_view name) {
  Checker checker(manifest, name);
  const Limits &limits = manifest.limits;
  if (limits.maxOutputs > limits.maxTokens)
    checker.fail("limits.max_outputs", "is more than max_tokens");
  for (auto [value, path] : {std::pair(limits.maxTokens, "limits.max_tokens"),
                             std::pair(limits.maxSequences, "limits.max_sequences"),
                             std::pair(limits.maxContext, "limits.max_context"),
                             std::pair(limits.blockTokens, "limits.block_tokens"),
                             std::pair(limits.blocks, "limits.blocks"),
                             std::pair(limits.ringBlocks, "limits.ring_blocks"),
                             std::pair(manifest.model.vocabSize, "model.vocab_size")})
    if (value > INT32_MAX)
      checker.fail(path, "is " + std::to_string(value) + ", kernels count in 32 bits");
  checker.checkFiles();
  checker.checkRanks();
  checker.checkArenas();
  checker.checkSlices();
  checker.checkWeights();
  checker.checkStates();
  checker.checkKernels();
  checker.checkEntries();
  checker.checkAccepted();
  checkExtents(manifest, manifest.largest(limits.blocks, 1), name);
}

} // namespace llmc::rt
