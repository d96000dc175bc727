//===- Session.h - an artifact that runs ------------------------*- C++ -*-===//
//
// A session owns the memory of one deployment: exactly the arenas that the
// manifest plans. It executes steps; a step takes any mixture of sequences,
// each with any number of new tokens. The result of a row depends on the
// tokens of its own sequence only, never on the step it was part of.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_SESSION_H
#define LLMC_RUNTIME_SESSION_H

#include "llmc/Runtime/Artifact.h"
#include "llmc/Runtime/KernelABI.h"
#include "llmc/Support/Error.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace llmc::rt {

/// A step was stopped by Session::cancel. The sequences are as before the step.
struct CancelledError : Error {
  using Error::Error;
};

/// When weights are in memory; never changes a result.
enum class WeightsMode : uint8_t {
  Mapped,   ///< once they are touched, as long as the system keeps them
  Resident, ///< all, from the beginning
  Streamed, ///< from the launch that reads them until soon behind it
};

struct SessionOptions {
  int threads = 0;            ///< of each rank; 0: what the process may use
  bool pin = false;           ///< bind threads to processors
  int64_t maxContext = 0;     ///< tokens of a sequence; 0: the manifest's limit
  /// State blocks, which all sequences share. 0: with maxContext, what
  /// maxSequences such contexts take (one where that is 0); without, the
  /// manifest's number. No context is longer than the blocks hold.
  int64_t blocks = 0;
  int64_t maxSequences = 0;   ///< 0: the manifest's limit
  std::string variant{};      ///< CPU variant by name; empty: the best that the machine runs
  WeightsMode weights = WeightsMode::Mapped;
  bool poison = false;        ///< tests: memory starts as NaN
  bool permuteBlocks = false; ///< tests: blocks are given out in a mixed order
};

enum class Logits : uint8_t { None, Last, All };

/// New tokens of one sequence.
struct StepInput {
  int32_t sequence = 0;
  std::span<const int32_t> tokens;
  Logits logits = Logits::Last;
  /// Tokens known of the sequence, such as those of a prompt that is fed in chunks; 0: up
  /// to the last of this step. Programs whose rotary frequencies depend on a sequence's
  /// length go by it; where it passes one of the manifest's lengths the step first computes
  /// the sequence's state anew.
  int64_t known = 0;
};

/// Rows of logits in the order of the inputs and their tokens; valid until the
/// next step.
struct StepOutput {
  const float *data = nullptr;
  int64_t rows = 0, width = 0, stride = 0;
  std::span<const int32_t> rowOf; ///< the row of the data where not dense

  std::span<const float> row(int64_t index) const {
    int64_t at = rowOf.empty() ? index : rowOf[size_t(index)];
    return {data + at * stride, size_t(width)};
  }
};

/// What an instrumentation point shows: `rows` rows of `width`, each of that many heads or
/// streams one after another, valid during the call. `batch` tells whose rows they are.
struct Observation {
  const std::string &name;
  int64_t layer; ///< -1: of no layer
  const float *data;
  int64_t rows, width, heads;
  const llmc_batch &batch;
};
using Observer = std::function<void(const Observation &)>;

struct ArenaMemory {
  std::string name;
  ArenaKind kind;
  int rank;
  int64_t planned, allocated; ///< bytes: by the manifest, by the device
};

struct LaunchTime {
  std::string kernel; ///< or the name of an observation or collective
  int64_t calls = 0, nanoseconds = 0;
};

class Session {
public:
  explicit Session(std::shared_ptr<const Artifact> artifact, const SessionOptions &options = {});
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const Artifact &artifact() const;
  int threads() const; ///< of each rank
  const std::string &variant() const;
  int64_t maxContext() const;
  /// For messages: how to get a larger context than maxContext().
  std::string largerContext() const;
  int64_t maxSequences() const;
  int64_t maxTokens() const;  ///< rows of a step
  int64_t maxOutputs() const; ///< rows of a step with logits
  int64_t vocabSize() const;
  int64_t blocks() const;
  int64_t freeBlocks() const;
  int64_t blockTokens() const;

  /// A new, empty sequence. Throws UsageError when all are in use.
  int32_t addSequence();
  void removeSequence(int32_t sequence);
  int64_t length(int32_t sequence) const;
  /// Forgets the tokens from position \p length on.
  void truncate(int32_t sequence, int64_t length);
  /// Whether a sequence that is cut to \p length goes on from there; else the next step first
  /// computes the state of what is left anew.
  bool canReturnTo(int32_t sequence, int64_t length) const;

  /// Runs one step. Throws InputError for token ids outside the vocabulary and
  /// for contexts that do not fit, CancelledError after cancel().
  StepOutput step(std::span<const StepInput> inputs);

  /// Ends the step that runs, or the next one. May be called from any thread
  /// and from a signal handler.
  void cancel() noexcept;
  /// Forgets a cancel() that no step has seen yet.
  void clearCancel() noexcept;

  /// Shows every instrumentation point of the steps to come; empty: none.
  void observe(Observer observer);

  /// Sums the time of every launch from here on; clears the sums.
  void profile(bool on);
  std::vector<LaunchTime> profiled() const;

  std::vector<ArenaMemory> memory() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The sum over all arenas.
ArenaMemory totalMemory(std::span<const ArenaMemory> arenas);

} // namespace llmc::rt

#endif // LLMC_RUNTIME_SESSION_H
