//===- Manifest.h - the description of an artifact --------------*- C++ -*-===//
//
// manifest.json as plain data; docs/Manifest.md is the schema. Members have the
// names of the fields. Indices (`…Index`) are filled by checkManifest and are
// not part of the file.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_MANIFEST_H
#define LLMC_RUNTIME_MANIFEST_H

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llmc::rt {

inline constexpr int manifestMajor = 4;
inline constexpr int manifestMinor = 0;
/// Offsets, strides and scratch are multiples of it.
inline constexpr int64_t manifestAlignment = 64;

/// What a Size or Items is evaluated for.
struct Extent {
  int64_t tokens = 0, outputs = 0, sequences = 0, blocks = 0, threads = 0;
  int64_t windowBlocks = 0; ///< of every state with a window
};

struct Size {
  int64_t constant = 0, tokens = 0, outputs = 0, sequences = 0, blocks = 0, threads = 0;
  int64_t windowBlocks = 0;

  /// Empty where the value does not fit in 63 bits.
  std::optional<int64_t> evaluate(const Extent &extent) const;
  bool operator==(const Size &) const = default;
};

/// What a count of rows or work items is proportional to.
enum class Axis : uint8_t { One, Tokens, Outputs, Sequences };

int64_t axisValue(Axis axis, const Extent &extent);
const char *axisName(Axis axis);

struct Items {
  int64_t factor = 1;
  Axis of = Axis::One;
  int64_t tile = 1;
  int64_t plus = 0;

  std::optional<int64_t> evaluate(const Extent &extent) const;
  bool operator==(const Items &) const = default;
};

/// Ascending, disjoint [begin, end) ranges.
struct LayerSet {
  std::vector<std::pair<int64_t, int64_t>> ranges;

  bool empty() const { return ranges.empty(); }
  int64_t count() const;
  /// The position of \p layer in the set; empty where it is not in it.
  std::optional<int64_t> member(int64_t layer) const;
};

enum class Element : uint8_t { F32, F16, BF16, I32 };
int64_t elementBytes(Element element);

struct Producer {
  std::string name, version, toolchain;
};

struct ModelInfo {
  std::string name, architecture, description;
  int64_t vocabSize = 0, hiddenSize = 0, layers = 0, contextLength = 0, parameters = 0;
};

struct TargetInfo {
  std::string device, triple;
};

struct Limits {
  int64_t maxTokens = 0, maxSequences = 0, maxContext = 0, blockTokens = 0, blocks = 0;
  /// Rows of a step whose logits may be wanted; the file may leave it out, it
  /// is maxTokens then.
  int64_t maxOutputs = 0;
  /// Blocks that a sequence goes round in where a state has a window; 0: none has.
  int64_t ringBlocks = 0;
};

struct FileEntry {
  std::string path;
  int64_t bytes = 0;
  std::string sha256; ///< 64 lower-case hexadecimal digits
};

enum class ArenaKind : uint8_t { Weights, State, Activations, Workspace, Communication };
const char *arenaKindName(ArenaKind kind);

struct Arena {
  std::string name;
  ArenaKind kind = ArenaKind::Activations;
  Size size;
  /// Weights only: the file that is mapped, or with several ranks one file for
  /// each. All empty in an artifact without weights.
  std::string file;
  std::vector<std::string> rankFiles;
};

struct Slice {
  std::string name, arena;
  int64_t offset = 0;
  Size size;
  int64_t liveFirst = 0, liveLast = 0; ///< step numbers, both included
  int32_t arenaIndex = -1;
};

struct WeightSource {
  std::string tensor, name; ///< both empty for zeros and constants
  int64_t rows = 0;
  bool zeros = false;
  std::vector<float> values; ///< constants, one a row; else empty
  int64_t firstRow = 0, ofRows = 0; ///< part of a tensor of so many rows; 0: all of it
  bool transposed = false;          ///< the checkpoint holds the tensor as [columns, rows]
  /// Any other part of a tensor of shape `stored`: element `first`, and from there the strides
  /// of matrices (unless each has its own tensor), rows and columns. Empty where there is none.
  std::vector<int64_t> viewStored, viewStrides;
  int64_t viewFirst = 0;
};

struct Weight {
  std::string name, arena;
  int64_t base = 0, stride = 0, bytes = 0;
  LayerSet layers; ///< empty: one member, used without a layer
  int64_t rows = 0, cols = 0; ///< of one matrix
  int64_t matrices = 1;       ///< of a member, each `bytes / matrices` long
  std::string storage, layoutKind;
  int64_t layoutTile = 0; ///< of `panels`
  int64_t interleave = 0;
  std::vector<WeightSource> sources;
  int32_t arenaIndex = -1;

  int64_t members() const { return layers.empty() ? 1 : layers.count(); }
};

struct State {
  std::string name, arena;
  LayerSet layers;
  std::string kind; ///< `paged`, `recurrent`, `conv`
  int64_t heads = 0, keyWidth = 0, valueWidth = 0;
  Element element = Element::F32;
  int64_t bytesPerBlock = 0;    ///< of a paged state, else 0
  int64_t bytesPerSequence = 0; ///< of the other kinds, else 0
  int64_t window = 0;           ///< 0: all positions
  int32_t arenaIndex = -1;

  /// Whether each sequence has a slot; else positions lie in blocks.
  bool perSequence() const { return bytesPerSequence > 0; }
  /// Bytes of one member.
  Size memberSize() const {
    if (window)
      return {.windowBlocks = bytesPerBlock};
    return {.sequences = bytesPerSequence, .blocks = bytesPerBlock};
  }
};

struct Variant {
  std::string name, suffix;
  std::vector<std::string> requires_;
};

/// How a GPU kernel is launched.
struct KernelDevice {
  std::string file;
  std::vector<Items> grid;    ///< one to three
  std::vector<int64_t> block; ///< one to three
  int64_t sharedBytes = 0;
};

enum class OperandKind : uint8_t { Slice, Weights, State };
enum class Access : uint8_t { Read, Write, ReadWrite };

/// What a kernel needs of one operand. `bytes` are the least behind the
/// address: of a slice, of a member of weights, or `blocks` times the exact
/// bytes of a state's block, `sequences` times those of its slot.
struct OperandNeed {
  OperandKind kind = OperandKind::Slice;
  Access access = Access::Read;
  Size bytes;
};

/// One way in which a kernel may be launched.
struct Contract {
  Items items;
  std::vector<OperandNeed> operands;
};

struct Kernel {
  std::string name, symbol, generator;
  int64_t scratch = 0;
  std::optional<KernelDevice> device;
  /// Rows of the tables that token ids and positions choose; 0: none are chosen.
  int64_t tokensBelow = 0, positionsBelow = 0;
  std::vector<Contract> contracts; ///< at least one
};

struct Operand {
  OperandKind kind = OperandKind::Slice;
  std::string name;
  Access access = Access::Read;
  /// The layer within the period of the repeat, or a layer whatever the iteration.
  std::optional<int64_t> layer, fixed;
  int32_t index = -1;
};

enum class StepKind : uint8_t { Launch, Observe, Collective, Repeat };

struct Step {
  StepKind kind = StepKind::Launch;
  // launch
  std::string kernel;
  std::vector<Operand> operands;
  Items items;
  std::string remark;
  // observe and collective
  std::string name, slice;
  Axis rows = Axis::Tokens;
  int64_t width = 0;
  int64_t heads = 1; ///< of a row
  std::optional<int64_t> layer;
  std::string collective, group;
  Element element = Element::F32;
  Size count;
  // repeat
  int64_t from = 0, repeats = 0, period = 0;
  std::vector<Step> steps;

  int32_t kernelIndex = -1, sliceIndex = -1, groupIndex = -1;
};

struct Output {
  std::string name, slice;
  Axis rows = Axis::Outputs;
  int64_t width = 0;
  Element element = Element::F32;
  int32_t sliceIndex = -1;
};

struct Entry {
  std::string name;
  std::vector<Output> outputs;
  std::vector<Step> steps;

  const Output *findOutput(std::string_view name) const;
};

struct RankGroup {
  std::string name;
  std::vector<int64_t> ranks; ///< ascending
};

struct Ranks {
  int64_t count = 1;
  std::vector<RankGroup> groups;
};

struct AcceptedException {
  std::string key, value;
};

struct Manifest {
  int major = manifestMajor, minor = manifestMinor;
  std::string digest; ///< of the manifest's text, see checkSeal
  Producer producer;
  ModelInfo model;
  TargetInfo target;
  Limits limits;
  std::vector<FileEntry> files;
  std::vector<Arena> arenas;
  std::vector<Slice> slices;
  std::vector<Weight> weights;
  std::vector<State> states;
  std::vector<Variant> variants;
  std::vector<Kernel> kernels;
  std::vector<Entry> entries;
  /// Ascending: a sequence that grows past one of these lengths is computed anew.
  std::vector<int64_t> recomputeBeyond;
  Ranks ranks;
  std::string tokenizerFile; ///< empty: none
  std::vector<AcceptedException> accepted;

  const FileEntry *findFile(std::string_view path) const;
  /// False after `--weights=none`.
  bool hasWeights() const;
  /// Whether the program keeps state that is of all tokens of a sequence so far.
  bool hasSequenceState() const;
  /// The largest window of a state; 0: none has one.
  int64_t largestWindow() const;
  /// The largest step of a deployment; 0 sequences: as many as the limit.
  Extent largest(int64_t blocks, int64_t threads, int64_t sequences = 0) const;
};

enum class Seal : uint8_t { Ignored, Checked };

/// Reads and checks the text of a manifest. Throws InputError with \p name and
/// the path of the field. Touches no file.
Manifest parseManifest(std::string_view text, std::string_view name = "manifest.json",
                       Seal seal = Seal::Ignored);

/// Whether the text is what was sealed: its field `digest` is the SHA-256 of the
/// text with the digits of that value as zeros. Throws InputError where it is not.
void checkSeal(std::string_view text, std::string_view name = "manifest.json");

/// The text with the right `digest`, for a manifest that was edited on purpose.
/// Throws InputError where it has no such field.
std::string sealManifest(std::string text, std::string_view name = "manifest.json");

/// The part of parseManifest that looks at meaning: references, offsets,
/// lifetimes, operands. Fills the indices.
void checkManifest(Manifest &manifest, std::string_view name = "manifest.json");

/// Every size inside its arena for the largest step of this deployment.
void checkExtents(const Manifest &manifest, const Extent &largest,
                  std::string_view name = "manifest.json");

struct ReadOptions {
  bool verifyHashes = false;
  /// Off only to seal an artifact anew.
  bool verifySeal = true;
};

/// Reads DIR/manifest.json and checks that the folder's files are there, inside
/// of the folder and of the stated size, and on request of the stated hash.
Manifest readManifest(const std::filesystem::path &dir, const ReadOptions &options = {});

/// Lower-case SHA-256 of a file, of a text.
std::string sha256OfFile(const std::filesystem::path &path);
std::string sha256OfText(std::string_view text);

} // namespace llmc::rt

#endif // LLMC_RUNTIME_MANIFEST_H
