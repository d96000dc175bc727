//===- Converter.h - from llm operations to launches ------------*- C++ -*-===//
//
// The state of one conversion. A *unit* is what becomes one launch: an
// operation, or the body of an llm.fusion. Units are lowered by what they
// contain, never by the name of the fusion.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_CONVERSION_LLMTOPLAN_CONVERTER_H
#define LLMC_LIB_CONVERSION_LLMTOPLAN_CONVERTER_H

#include "LastUse.h"
#include "llmc/Dialect/LLM/Analysis/StateWindows.h"
#include "llmc/Dialect/LLM/IR/Elements.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Kernels/KernelConfig.h"
#include "llmc/Support/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

#include <set>

namespace llmc {

/// Where the rows of a value lie: `width` columns of a slice from `offset` on.
struct RowBuffer {
  std::string slice;
  /// Elements from one row to the next, first column, columns.
  int64_t stride = 0, offset = 0, width = 0;
  /// What counts the rows.
  plan::Extent rows = plan::Extent::Tokens;

  bool isWholeSlice() const { return offset == 0 && stride == width; }
  bool overlaps(const RowBuffer &other) const {
    return slice == other.slice && offset < other.offset + other.width &&
           other.offset < offset + width;
  }
  bool operator==(const RowBuffer &other) const {
    return slice == other.slice && stride == other.stride && offset == other.offset &&
           width == other.width;
  }
};

/// What becomes one launch.
struct Unit {
  /// The operation in the function: the op itself or the fusion.
  mlir::Operation *op = nullptr;
  /// The operations to compute, in order.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Values inside a fusion -> values outside (arguments to inputs, yielded to results).
  llvm::DenseMap<mlir::Value, mlir::Value> outer;

  mlir::Value resolve(mlir::Value value) const {
    auto found = outer.find(value);
    return found == outer.end() ? value : found->second;
  }
  /// Whether the value is seen outside of the unit.
  bool isResult(mlir::Value value) const {
    return resolve(value).getDefiningOp() == op && llvm::is_contained(op->getResults(), resolve(value));
  }
  template <typename Op>
  llvm::SmallVector<Op> all() const {
    llvm::SmallVector<Op> found;
    for (mlir::Operation *inner : ops)
      if (auto typed = llvm::dyn_cast<Op>(inner))
        found.push_back(typed);
    return found;
  }
  template <typename Op>
  Op first() const {
    auto found = all<Op>();
    return found.empty() ? Op() : found.front();
  }
};

/// The kernels' name of an activation.
kernels::Activation kernelActivation(llm::Activation activation);
/// Adds a norm, a statistic or an element-wise operation over the nodes of its operands (batches
/// left out); none for other operations.
std::optional<kernels::RowProgram::Node> addRowNode(kernels::RowProgram &program,
                                                    mlir::Operation *op,
                                                    llvm::ArrayRef<kernels::RowProgram::Node> in);
/// Appends what `read` gives for each operand, batches left out; fails where it does.
mlir::LogicalResult readRowNodes(
    mlir::ValueRange operands,
    llvm::function_ref<mlir::FailureOr<kernels::RowProgram::Node>(mlir::Value)> read,
    llvm::SmallVectorImpl<kernels::RowProgram::Node> &in);

/// The heads that lie side by side in a buffer's rows.
kernels::HeadRows headRows(const RowBuffer &buffer, unsigned operand);
kernels::PagedState pagedState(llm::CacheType type, int64_t blockTokens);

struct Refusal {
  mlir::Operation *op;
  std::string reason;
};
/// Why a unit with a convolution or linear attention is not one kernel.
std::optional<Refusal> whyNotRecurrent(const Unit &unit);
/// Why a unit with an attention is not one kernel.
std::optional<Refusal> whyNotAttention(const Unit &unit);
/// Why a unit with a router and more is not one kernel.
std::optional<Refusal> whyNotRouter(const Unit &unit);
struct LinearParts;
/// Why a unit with products is not one kernel.
std::optional<Refusal> whyNotLinear(const Unit &unit);
/// Why a unit with products of experts is not one kernel.
std::optional<Refusal> whyNotExperts(const Unit &unit);
/// Why no tuned kernel computes the unit, as far as its operations tell.
std::optional<Refusal> whyNotTuned(const Unit &unit);

struct PlanOptions {
  std::string target;
  int64_t maxTokens, maxOutputs, maxSequences, maxContext, blockTokens, blocks;
  /// Take the generic generator wherever it can be taken.
  bool generic = false;
  /// What runs the program; empty: the target.
  std::string device;
};

class Converter {
public:
  Converter(mlir::ModuleOp module, const PlanOptions &options)
      : module(module), symbols(module), options(options), declare(module.getContext()),
        step(module.getContext()) {}

  mlir::LogicalResult run();

private:
  // Converter.cpp
  mlir::LogicalResult convertBlock(mlir::Block &block);
  mlir::LogicalResult convertOp(mlir::Operation *op);
  mlir::LogicalResult convertRepeat(llm::RepeatOp repeat);
  mlir::FailureOr<llvm::SmallVector<RowBuffer>> carriedBuffers(llm::RepeatOp repeat);
  mlir::LogicalResult returnCarried(mlir::Operation *terminator,
                                    llvm::MutableArrayRef<RowBuffer> carried);
  llm::LayersAttr layersOf(mlir::func::FuncOp function);
  mlir::LogicalResult convertObserve(llm::ObserveOp observe);
  mlir::LogicalResult lowerUnit(const Unit &unit);
  static Unit makeUnit(mlir::Operation *op);
  void declareArenas();
  void bindArguments(mlir::Block &block);

  /// A new slice of that many columns.
  RowBuffer newBuffer(llvm::StringRef name, int64_t width, plan::Extent rows,
                      llvm::StringRef arena = "activations");
  mlir::FailureOr<RowBuffer> bufferOf(mlir::Value value, mlir::Operation *user);
  void bind(mlir::Value value, const RowBuffer &buffer);
  /// Whether what an operation reads is where it was put.
  mlir::LogicalResult checkOperands(mlir::Operation *op);
  /// Notes where results lie; with steps they were computed, else they are other names.
  void noteResults(mlir::Operation *op, bool hasSteps);
  /// Whether no value that shares these bytes is used behind `op`: then `op` may overwrite
  /// them. The last-use proof of computing in place.
  bool diesAt(const RowBuffer &buffer, mlir::Operation *op);
  /// `why`: what keeps the value from staying where it is.
  mlir::LogicalResult copyRows(const RowBuffer &from, const RowBuffer &to, mlir::Location loc,
                               llvm::StringRef why);

  plan::UseAttr use(llvm::StringRef symbol, plan::Access access, bool perLayer = false);
  plan::UseAttr use(const RowBuffer &buffer, plan::Access access) {
    touch(buffer, access);
    return use(buffer.slice, access);
  }
  void launch(mlir::Location loc, const kernels::KernelChoice &kernel,
              llvm::ArrayRef<plan::UseAttr> uses, plan::ItemsAttr items, llvm::StringRef what);
  plan::ItemsAttr items(int64_t factor, plan::Extent of, int64_t tile = 1);

  // Decisions.cpp
  /// The launch at hand reads or writes these columns; a use of the buffer says so by itself.
  void touch(const RowBuffer &buffer, plan::Access access);
  /// A decision: taken, or not and why. A refusal to compute in place is `in-place`.
  void took(mlir::Location loc, llvm::StringRef name, const llvm::Twine &what);
  void refused(mlir::Location loc, llvm::StringRef name, const llvm::Twine &reason);
  void describeLaunch(plan::LaunchOp launch, const kernels::KernelChoice &kernel,
                      llvm::StringRef what);
  void describeWeights(plan::WeightsOp weights);

  // LinearUnits.cpp
  mlir::LogicalResult lowerLinear(const Unit &unit);
  mlir::LogicalResult bindLinear(const Unit &unit, const LinearParts &parts, const RowBuffer &x,
                                 kernels::LinearSpec &spec,
                                 llvm::SmallVectorImpl<plan::UseAttr> &uses);
  mlir::LogicalResult lowerEmbedding(const Unit &unit);
  // LinearParts.cpp
  /// What is done to the rows of `x` before, and to the sums behind the products, and the
  /// operands of that.
  mlir::LogicalResult addPrologue(const Unit &unit, const LinearParts &parts, const RowBuffer &x,
                                  kernels::LinearSpec &spec,
                                  llvm::SmallVectorImpl<plan::UseAttr> &uses);
  mlir::LogicalResult addEpilogue(const Unit &unit, const LinearParts &parts,
                                  kernels::LinearSpec &spec,
                                  llvm::SmallVectorImpl<plan::UseAttr> &uses);
  // ExpertUnits.cpp
  mlir::LogicalResult lowerRoute(const Unit &unit);
  mlir::LogicalResult lowerRouter(const Unit &unit);
  /// How a router chooses; its weights become uses.
  mlir::FailureOr<kernels::RouteSpec> routeOf(llm::RouteOp route, const Unit &unit,
                                              llvm::SmallVectorImpl<plan::UseAttr> &uses);
  /// Memory for what it chooses.
  void bindRoute(llm::RouteOp route, const Unit &unit, plan::Extent rows,
                 llvm::SmallVectorImpl<plan::UseAttr> &uses);
  mlir::LogicalResult lowerExpertLinear(const Unit &unit);
  mlir::LogicalResult lowerExpertCombine(const Unit &unit);
  /// The rows of a value from their first column on, copied where they are part of others.
  mlir::FailureOr<RowBuffer> wholeRows(mlir::Value value, const Unit &unit);
  // RowUnits.cpp
  mlir::LogicalResult lowerRows(const Unit &unit);
  // MoveUnits.cpp
  /// Parts of rows that are moved, or only seen from elsewhere; not inside of fusions.
  mlir::LogicalResult lowerSlice(llm::SliceOp slice);
  mlir::LogicalResult lowerTake(llm::TakeOp take);
  mlir::LogicalResult lowerPut(llm::PutOp put);
  mlir::LogicalResult lowerConcat(llm::ConcatOp concat);
  mlir::LogicalResult lowerTranspose(llm::TransposeOp transpose);
  // GenericUnits.cpp
  bool canBeGeneric(const Unit &unit);
  mlir::LogicalResult lowerGeneric(const Unit &unit);
  // UserUnits.cpp
  mlir::LogicalResult lowerUserKernel(llm::FusionOp fusion);
  // DeviceKernels.cpp
  /// Declares the kernel for a GPU, or sets `refusal`.
  void declareDeviceKernel(mlir::Location loc, const kernels::KernelChoice &kernel,
                           plan::ItemsAttr items);
  // Ranks.cpp
  mlir::LogicalResult findRanks();
  mlir::LogicalResult convertAllReduce(mlir::shard::AllReduceOp reduce);
  /// The dimension of a family's published tensors that the ranks divide, if any.
  mlir::FailureOr<std::optional<int64_t>> splitOf(llm::WeightFamilyOp family);
  /// Records it where all members of a packed weight agree.
  mlir::LogicalResult markSplit(plan::WeightsOp weights, llvm::ArrayRef<mlir::Value> members);
  // PrologueUnits.cpp
  mlir::LogicalResult lowerPrologue(const Unit &unit);
  /// A norm over heads, whose weights become uses.
  mlir::FailureOr<kernels::HeadNorm> headNorm(mlir::Operation *op, const Unit &unit,
                                              llvm::SmallVectorImpl<plan::UseAttr> &uses);
  mlir::FailureOr<kernels::HeadRows> pathRows(mlir::Value source, int64_t first, int64_t inner,
                                              const Unit &unit,
                                              llvm::SmallVectorImpl<plan::UseAttr> &uses);
  // AttentionUnits.cpp
  mlir::LogicalResult lowerAttention(const Unit &unit);
  // AttentionTail.cpp
  /// What the unit does with the attention's result, as the last operands of its kernel.
  mlir::LogicalResult addTail(const Unit &unit, kernels::AttentionSpec &spec,
                              llvm::SmallVectorImpl<plan::UseAttr> &uses);
  mlir::LogicalResult lowerEntryAppend(const Unit &unit);
  mlir::LogicalResult lowerSelect(const Unit &unit);
  mlir::LogicalResult lowerSinkhorn(const Unit &unit);
  /// How heads turn; its frequencies become one more use.
  kernels::Rotary turnBy(llm::RopeAttr rope, int64_t first,
                         llvm::SmallVectorImpl<plan::UseAttr> &uses);
  mlir::LogicalResult lowerNoPositions(llm::NoPositionsOp op);
  mlir::LogicalResult lowerHeadLinear(const Unit &unit);
  // RecurrentUnits.cpp
  mlir::LogicalResult lowerConv(const Unit &unit);
  mlir::LogicalResult lowerTokenShift(const Unit &unit);
  mlir::LogicalResult lowerPool(const Unit &unit);
  mlir::LogicalResult lowerLinearAttention(const Unit &unit);

  // Weights.cpp
  struct PackedWeight {
    std::string symbol;
    bool perLayer = false;
    /// A layer that is not the one at hand.
    std::optional<int64_t> fixed = std::nullopt;
  };
  llm::WeightFamilyOp familyOf(mlir::Value weight);
  /// The number that an operation names a layer by; none without a layer and for the layer at
  /// hand. All else is an error at the operation.
  mlir::FailureOr<std::optional<int64_t>> layerNumber(mlir::Operation *op, mlir::Value layer);
  /// What a weight is of its family.
  struct Member {
    llm::WeightFamilyOp family;
    /// The layer, where it is not that at hand.
    std::optional<int64_t> fixed;
    /// Each layer of the function has its own.
    bool ofLayer = false;

    std::string name();
    std::string key();
  };
  mlir::FailureOr<Member> memberOf(mlir::Location loc, mlir::Value weight);
  /// The layers that weights (or nulls) are packed for: those of the function being converted.
  /// Each layer runs in one function, so that nothing is packed twice where kinds of layers fuse
  /// differently. Null where all layers read the same.
  mlir::FailureOr<llm::LayersAttr> layersHere(mlir::Location loc,
                                              llvm::ArrayRef<mlir::Value> weights);
  plan::SourceAttr sourceOf(const Member &member, llm::LayersAttr layers, int64_t rows,
                            bool stacked = false, bool isVector = false);
  /// Rows of several weights as panels: one after another, or alternating in runs of 16.
  mlir::FailureOr<PackedWeight> packPanels(mlir::Location loc, llvm::ArrayRef<mlir::Value> weights,
                                           int64_t tile, bool interleave);
  /// A vector (or several, one after another or alternating) as f32. Null values are zeros
  /// of the given length.
  mlir::FailureOr<PackedWeight> packVectors(mlir::Location loc,
                                            llvm::ArrayRef<mlir::Value> weights,
                                            llvm::ArrayRef<int64_t> lengths, bool interleave);
  /// A dense matrix as f32, row by row; all dimensions but the first are columns.
  mlir::FailureOr<PackedWeight> packMatrix(mlir::Location loc, mlir::Value weight);
  /// A vector or a matrix as f32, row by row.
  mlir::FailureOr<PackedWeight> packRows(mlir::Location loc, mlir::Value weight);
  PackedWeight packConstants(llvm::StringRef name, llvm::ArrayRef<float> values);
  /// For each layer of the function being converted its own number, as f32.
  PackedWeight packLayerNumbers();
  /// The plan's state of a family, declared once for the layers that keep as many positions.
  mlir::FailureOr<PackedWeight> stateOf(mlir::Value cache);
  /// Finds the layers whose state is a ring; the limits with the blocks of one.
  plan::LimitsAttr boundStates(plan::LimitsAttr limits);

  /// A state with one slot of so many bytes for each sequence.
  struct SequenceState {
    PackedWeight state;
    int64_t bytes;
  };
  /// That of `cache`, which becomes `next`.
  mlir::FailureOr<SequenceState> sequenceState(mlir::Value cache, mlir::Value next,
                                               const Unit &unit);

  plan::UseAttr use(const PackedWeight &weight, plan::Access access = plan::Access::Read) {
    if (weight.fixed)
      return plan::UseAttr::get(module.getContext(), weight.symbol, access, std::nullopt,
                                weight.fixed);
    return use(weight.symbol, access, weight.perLayer);
  }

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  PlanOptions options;
  const TargetInfo *target = nullptr;
  /// Why the target has no kernel for the unit at hand.
  std::string refusal;
  int64_t ranks = 1;
  /// Tokens of a sequence that the program is for.
  int64_t maxContext = 0;
  /// Lengths at which a rotary record changes its frequencies.
  std::set<int64_t> recomputeBeyond;
  /// The grid of the ranks, and the plan's group of all of them once it is needed.
  std::string ranksOf, group;
  plan::ProgramOp program;
  plan::EntryOp entry;
  /// Insert declarations and steps.
  mlir::OpBuilder declare, step;

  llvm::DenseMap<mlir::Value, RowBuffer> buffers;
  /// What they hold at the step at hand.
  SliceContents contents;
  /// slice -> the values that lie in it.
  llvm::StringMap<llvm::SmallVector<mlir::Value>> residents;
  /// Slices that layers read while they run, by how many values.
  llvm::StringMap<unsigned> kept;
  llvm::StringMap<unsigned> names;
  llvm::StringMap<PackedWeight> packed;
  /// Layers whose state is a ring.
  llvm::StringMap<llm::LayerWindows> windows;
  llvm::StringMap<std::string> knownKernels;
  /// The layer within the period of the repeat being converted.
  std::optional<int64_t> layer;
  /// Layers that run what is being converted: a function is converted once for each
  /// place in a repeat that it has. 0 in the entry.
  int64_t runsOfPlace = 0;
  /// All layers that the function being converted runs for; null in the entry.
  llm::LayersAttr functionLayers;
  /// Name of the function being converted.
  std::string functionName;
  /// Columns of slices that the launch at hand touches.
  struct Touched {
    int64_t stride = 0;
    llvm::SmallVector<std::pair<int64_t, int64_t>> read, written;
  };
  llvm::StringMap<Touched> touched;
  /// Cache values -> the state they are versions of.
  llvm::DenseMap<mlir::Value, PackedWeight> caches;
};

} // namespace llmc

#endif // LLMC_LIB_CONVERSION_LLMTOPLAN_CONVERTER_H
