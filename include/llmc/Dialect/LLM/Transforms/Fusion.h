//===- Fusion.h - fusion patterns and what they share -----------*- C++ -*-===//
//
// A fusion is a pattern with a name: its pass (llm-fuse-NAME), its flag
// (--disable-fusion=NAME), its remark and its row in reports. A pattern decides which
// operations belong together and hands them to a Fuser, which checks what no pattern may
// break (order of effects, rounding points, cost), makes the llm.fusion and reports the
// decision. docs/Fusion.md is the tutorial.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_DIALECT_LLM_TRANSFORMS_FUSION_H
#define LLMC_DIALECT_LLM_TRANSFORMS_FUSION_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Support/Target.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace llmc::llm {

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

enum class FusionFamily { Row, Linear, Attention, Routing };
llvm::StringRef fusionFamilyName(FusionFamily family);

/// How one pattern runs.
struct FusionSettings {
  /// Off: the pass reports what it would have fused.
  bool enabled = true;
  /// Also where a value stays wider than the type that it is rounded to.
  bool acrossRounding = false;
  FusionFigures figures = {};
};

struct FusionPattern {
  llvm::StringRef name;
  FusionFamily family;
  /// What is fused, one line.
  llvm::StringRef summary;
  std::unique_ptr<mlir::Pass> (*create)(const FusionSettings &settings);
  /// Every predicate by which it may refuse, those of `Fuser` too, but `enabled`, which all have.
  /// A refusal by another one is reported with a warning. Empty: not said, nothing is checked.
  std::vector<llvm::StringRef> predicates = {};
  /// Whether `rows` may take its fusions into larger ones, which then have its name. Absent: where
  /// the pattern is of rows. False for fusions that a kernel of one's own takes as they are.
  std::optional<bool> grows = {};

  bool mayGrow() const { return grows.value_or(family == FusionFamily::Row); }
};

/// All patterns, in the order in which their passes run: what runs first has the operations.
llvm::ArrayRef<FusionPattern> fusionPatterns();

/// Where a pattern of a plug-in runs.
struct FusionPlace {
  enum Side { Before, Behind } side;
  /// A pattern that is in the table.
  llvm::StringRef of;
};

/// Behind the patterns of products, before those of rows and attentions.
inline constexpr FusionPlace behindProducts{FusionPlace::Before, "residual-norm"};

/// Adds a pattern of a plug-in; before any pipeline is built, from one thread. Patterns with the
/// same place before another run in the order in which they came. A name that is taken, or a place at a
/// pattern that is not there, is a fatal error, which names the plug-in while one is loaded. The
/// texts must outlive the process's use of the table.
void registerFusionPattern(const FusionPattern &pattern, const FusionPlace &place = behindProducts);

/// The pattern of that name, or null.
const FusionPattern *findFusionPattern(llvm::StringRef name);

/// Fills the options that every fusion pass has.
template <typename PassOptions>
PassOptions fusionPassOptions(const FusionSettings &settings) {
  PassOptions options;
  options.enabled = settings.enabled;
  options.acrossRounding = settings.acrossRounding;
  options.launchSeconds = settings.figures.launchSeconds;
  options.bytesPerSecond = settings.figures.bytesPerSecond;
  options.operationsPerSecond = settings.figures.operationsPerSecond;
  options.vectorRegisters = settings.figures.vectorRegisters;
  options.threadBytes = settings.figures.threadBytes;
  return options;
}

/// A fusion pass over what tablegen made of its LLM_FusionPass.
template <typename Impl>
struct FusionPassOver : Impl {
  using Impl::Impl;

  FusionSettings settings() const {
    FusionFigures figures{this->launchSeconds, this->bytesPerSecond, this->operationsPerSecond,
                          this->vectorRegisters, this->threadBytes};
    return {this->enabled, this->acrossRounding, figures};
  }
};

/// The base of a fusion pass of a plug-in. `Impl` has a `static constexpr llvm::StringLiteral name`
/// (its pass is then llm-fuse-NAME) and `summary`, one line, and makes its fusions with a
/// `Fuser(name, settings())`. It has the options that every fusion pass has (Passes.td); with more of its
/// own it needs a copy constructor that calls that of this class, since MLIR clones passes.
template <typename Impl>
class FusionPatternPass : public mlir::PassWrapper<Impl, mlir::OperationPass<>> {
public:
  explicit FusionPatternPass(const FusionSettings &settings = {}) {
    enabled = settings.enabled;
    acrossRounding = settings.acrossRounding;
    launchSeconds = settings.figures.launchSeconds;
    bytesPerSecond = settings.figures.bytesPerSecond;
    operationsPerSecond = settings.figures.operationsPerSecond;
    vectorRegisters = settings.figures.vectorRegisters;
    threadBytes = settings.figures.threadBytes;
  }
  /// Options are copied by MLIR.
  FusionPatternPass(const FusionPatternPass &other)
      : mlir::PassWrapper<Impl, mlir::OperationPass<>>(other) {}

  llvm::StringRef getArgument() const override {
    static const std::string argument = "llm-fuse-" + Impl::name.str();
    return argument;
  }
  llvm::StringRef getName() const override { return Impl::name; }
  llvm::StringRef getDescription() const override { return Impl::summary; }

  FusionSettings settings() const {
    return {enabled, acrossRounding,
            {launchSeconds, bytesPerSecond, operationsPerSecond, vectorRegisters, threadBytes}};
  }

protected:
  template <typename T>
  using Option = mlir::Pass::Option<T>;
  template <typename T>
  using ListOption = mlir::Pass::ListOption<T>;

private:
  Option<bool> enabled{*this, "enabled",
                       llvm::cl::desc("Off: matches are reported as missed and left alone."),
                       llvm::cl::init(true)};
  Option<bool> acrossRounding{
      *this, "across-rounding",
      llvm::cl::desc("Fuse also where a value stays wider than the type that it is rounded to."),
      llvm::cl::init(false)};
  Option<double> launchSeconds{*this, "launch-seconds",
                               llvm::cl::desc("Of the target: seconds between two launches."),
                               llvm::cl::init(FusionFigures().launchSeconds)};
  Option<double> bytesPerSecond{
      *this, "bytes-per-second",
      llvm::cl::desc("Of the target: bytes of activations that one launch moves in a second."),
      llvm::cl::init(FusionFigures().bytesPerSecond)};
  Option<double> operationsPerSecond{
      *this, "operations-per-second",
      llvm::cl::desc("Of the target: f32 operations of one launch in a second."),
      llvm::cl::init(FusionFigures().operationsPerSecond)};
  Option<int64_t> vectorRegisters{
      *this, "vector-registers",
      llvm::cl::desc("Of the target: vectors that a thread holds without spilling."),
      llvm::cl::init(FusionFigures().vectorRegisters)};
  Option<int64_t> threadBytes{
      *this, "thread-bytes",
      llvm::cl::desc("Of the target: bytes close to a thread, for rows kept between passes."),
      llvm::cl::init(FusionFigures().threadBytes)};
};

/// Adds the pattern of a FusionPatternPass to the table, and the pass to those of command lines.
template <typename PassT>
void registerFusionPass(FusionFamily family, const FusionPlace &place = behindProducts,
                        std::optional<bool> grows = {}) {
  FusionPattern pattern{PassT::name, family, PassT::summary,
                        [](const FusionSettings &settings) -> std::unique_ptr<mlir::Pass> {
                          return std::make_unique<PassT>(settings);
                        }};
  pattern.grows = grows;
  registerFusionPattern(pattern, place);
  mlir::PassRegistration<PassT>();
}

//===----------------------------------------------------------------------===//
// Predicates
//===----------------------------------------------------------------------===//

/// What has to hold for a fusion; a refusal names the one that does not.
struct FusionPredicate {
  llvm::StringRef name;
  /// What holds where it is fulfilled, one line.
  llvm::StringRef meaning;
};

/// The predicates that patterns of llmc use. A plug-in may name its own.
llvm::ArrayRef<FusionPredicate> fusionPredicates();

namespace predicate {
inline constexpr llvm::StringLiteral enabled = "enabled";
inline constexpr llvm::StringLiteral producer = "producer";
inline constexpr llvm::StringLiteral sameBlock = "same-block";
inline constexpr llvm::StringLiteral singleUse = "single-use";
inline constexpr llvm::StringLiteral readers = "readers";
inline constexpr llvm::StringLiteral convex = "convex";
inline constexpr llvm::StringLiteral effectOrder = "effect-order";
inline constexpr llvm::StringLiteral roundingPoint = "rounding-point";
inline constexpr llvm::StringLiteral cost = "cost";
inline constexpr llvm::StringLiteral registers = "registers";
inline constexpr llvm::StringLiteral scratch = "scratch";
inline constexpr llvm::StringLiteral width = "width";
inline constexpr llvm::StringLiteral operations = "operations";
inline constexpr llvm::StringLiteral sameInput = "same-input";
inline constexpr llvm::StringLiteral sameStorage = "same-storage";
inline constexpr llvm::StringLiteral sameShape = "same-shape";
inline constexpr llvm::StringLiteral sameSettings = "same-settings";
inline constexpr llvm::StringLiteral kernel = "kernel";
inline constexpr llvm::StringLiteral otherFusion = "other-fusion";
inline constexpr llvm::StringLiteral collective = "collective";
} // namespace predicate

/// A number of a refusal, as an argument of its remark.
using FusionNumber = std::pair<llvm::StringRef, std::variant<int64_t, double>>;

struct FusionRefusal {
  llvm::StringRef predicate;
  /// For people; starts in lower case, no full stop.
  std::string reason;
  llvm::SmallVector<FusionNumber, 2> numbers = {};
};

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// What a fusion saves and what it costs. Bytes and operations are those of one token.
struct FusionCost {
  int64_t launchesSaved = 0;
  /// Activations that are neither written nor read again.
  int64_t bytesSaved = 0;
  /// What is read or computed more often than without the fusion.
  int64_t recomputedBytes = 0, recomputedOperations = 0;
  /// Weights that are read more than without it, in a step of any number of tokens.
  int64_t weightBytes = 0;
  /// Vectors of one thread that are alive at once.
  int64_t registers = 0;
  /// Rows that one thread keeps between passes.
  int64_t scratchBytes = 0;
};

/// Steps for which a fusion must not be slower: decoding, and a prompt's chunk.
inline constexpr int64_t judgedTokens[] = {1, 512};

/// Seconds that a fusion saves in a step of so many tokens.
double secondsSaved(const FusionCost &cost, const FusionFigures &figures, int64_t tokens);

/// Why a fusion of this cost does not pay, if so: predicates `cost`, `registers`, `scratch`.
std::optional<FusionRefusal> judge(const FusionCost &cost, const FusionFigures &figures);

/// What making one kernel of `ops` saves; nothing is recomputed.
FusionCost costOf(llvm::ArrayRef<mlir::Operation *> ops);

//===----------------------------------------------------------------------===//
// Making fusions
//===----------------------------------------------------------------------===//

/// The ops of a kind below `root` that no fusion holds yet.
template <typename OpTy>
llvm::SmallVector<OpTy> collectUnfused(mlir::Operation *root) {
  llvm::SmallVector<OpTy> ops;
  root->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (mlir::isa<FusionOp>(op))
      return mlir::WalkResult::skip();
    if (auto match = mlir::dyn_cast<OpTy>(op))
      ops.push_back(match);
    return mlir::WalkResult::advance();
  });
  return ops;
}

/// "llm.scale" or "an argument", for reasons.
std::string describeSource(mlir::Value value);

/// Whether the value is a sum over ranks (`shard.all_reduce`), which no launch computes.
bool isSumOverRanks(mlir::Value value);

/// Refuses a value that no operation of a pattern makes, `what` of which says "the input comes":
/// by `collective` where it is a sum over ranks, else by `producer`.
FusionRefusal refuseSource(const llvm::Twine &what, mlir::Value value);

/// The operation in a fusion that makes `value`, its result; null where none does.
mlir::Operation *makerInFusion(mlir::Value value);

/// Refuses a value, `what` of which says "the product", that a fusion reads by an operation that
/// `isWanted` and holds no product to do it behind: by `other-fusion`. Nothing where none does.
std::optional<FusionRefusal>
refuseFusedReader(const llvm::Twine &what, mlir::Value value,
                  llvm::function_ref<bool(mlir::Operation *)> isWanted);

/// Moves `ops`, which are of one block and in its order, into the body of a new fusion in front of
/// `builder`'s place; checks and reports nothing.
FusionOp makeFusion(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops,
                    llvm::StringRef pattern);

/// Puts the operations of a fusion in its place.
void inlineFusion(FusionOp fusion);

/// Makes fusions of one pattern and reports each decision as a remark of
/// category `fusion` named after the pattern.
class Fuser {
public:
  Fuser(llvm::StringRef pattern, const FusionSettings &settings)
      : pattern(pattern), settings(settings) {}

  /// Why `ops`, which are of one block, cannot be one fusion of this pattern, by what holds for
  /// every pattern: predicates `same-block`, `convex`, `effect-order`, `rounding-point` and those of `judge`.
  /// Changes nothing and reports nothing. Of `more` all counts but what it saves.
  std::optional<FusionRefusal> check(llvm::ArrayRef<mlir::Operation *> ops,
                                     const FusionCost &more = {}) const;

  /// Moves `ops`, which are of one block, into a fusion; null with a missed remark where the
  /// pattern is off or `check` refuses. Results of the fusion are the values that something
  /// outside reads, in the order of the ops.
  FusionOp fuse(llvm::ArrayRef<mlir::Operation *> ops, const FusionCost &more = {}) const;

  /// Says that `op` could have been fused but for `refusal`.
  void missed(mlir::Operation *op, const FusionRefusal &refusal) const;
  void missed(mlir::Operation *op, llvm::StringRef predicate, const llvm::Twine &reason,
              llvm::ArrayRef<FusionNumber> numbers = {}) const {
    missed(op, {predicate, reason.str(),
                llvm::SmallVector<FusionNumber, 2>(numbers.begin(), numbers.end())});
  }

  const FusionFigures &figures() const { return settings.figures; }
  bool isEnabled() const { return settings.enabled; }

private:
  std::string pattern;
  FusionSettings settings;
};

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_TRANSFORMS_FUSION_H
