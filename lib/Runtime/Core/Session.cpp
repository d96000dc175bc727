//===- Session.cpp - an artifact that runs --------------------------------===//

#include "llmc/Runtime/Session.h"
#include "Rank.h"
#include "StepBatch.h"
#include "llmc/Runtime/ThreadTeam.h"
#include "llmc/Support/StateRing.h"

#include <algorithm>

namespace llmc::rt {

namespace {
/// What a deployment comes to, from the options and the manifest.
Sequences::Shape shapeOf(const Artifact &artifact, const SessionOptions &options) {
  const Limits &limits = artifact.manifest().limits;
  auto bounded = [&](int64_t wanted, int64_t limit, const char *what, const char *key,
                     const char *flag) {
    if (wanted < 0 || wanted > limit)
      throw UsageError(artifact.manifestPath() + ": limits." + key + ": " + what + " of " +
                       std::to_string(wanted) + " wanted, the artifact is compiled for at most " +
                       std::to_string(limit) + ". Ask for less, or compile it for more (llmc-opt " +
                       flag + " N)");
    return wanted;
  };
  Sequences::Shape shape{};
  shape.permuted = options.permuteBlocks;
  shape.recomputeBeyond = artifact.manifest().recomputeBeyond;
  shape.slots = artifact.manifest().hasSequenceState();
  shape.blockTokens = limits.blockTokens;
  shape.compiledContext = limits.maxContext;
  shape.modelContext = artifact.manifest().model.contextLength;
  shape.sequences = options.maxSequences
                        ? bounded(options.maxSequences, limits.maxSequences,
                                  "a number of sequences", "max_sequences", "--max-sequences")
                        : limits.maxSequences;
  shape.maxContext = options.maxContext ? bounded(options.maxContext, limits.maxContext,
                                                  "a context", "max_context", "--max-context")
                                        : limits.maxContext;
  if (options.blocks < 0 || options.blocks > INT32_MAX)
    throw UsageError(std::to_string(options.blocks) + " state blocks wanted, which is no number "
                                                      "from 1 to 2^31-1");
  int64_t perContext = (shape.maxContext + shape.blockTokens - 1) / shape.blockTokens;
  if (options.blocks)
    shape.blocks = options.blocks;
  else if (options.maxContext)
    shape.blocks =
        std::min<int64_t>(perContext * std::max<int64_t>(options.maxSequences, 1), INT32_MAX);
  else
    shape.blocks = limits.blocks;
  shape.maxContext = std::min(shape.maxContext, shape.blocks * shape.blockTokens);
  // Where rings would take no less, states with a window have the blocks of all others.
  shape.window = artifact.manifest().largestWindow();
  if (windowBlocks(limits.ringBlocks, shape.sequences, shape.blocks) < shape.blocks)
    shape.ringBlocks = limits.ringBlocks;
  return shape;
}

const Output &logitsOf(const Artifact &artifact) {
  const Manifest &manifest = artifact.manifest();
  const Output *logits = manifest.entries.front().findOutput("logits");
  if (!logits || logits->width != manifest.model.vocabSize || logits->element != Element::F32 ||
      (logits->rows != Axis::Outputs && logits->rows != Axis::Tokens))
    throw InputError(artifact.manifestPath() +
                     ": entries[0].outputs: no output 'logits' with f32 rows as wide as the "
                     "vocabulary, for outputs or tokens");
  return *logits;
}
} // namespace

struct Session::Impl {
  Impl(std::shared_ptr<const Artifact> opened, const SessionOptions &options);

  void check(std::span<const StepInput> inputs) const;
  void reserve(std::span<const StepInput> inputs);
  void execute(bool shown);
  void refresh(const StepInput &input);

  std::shared_ptr<const Artifact> artifact;
  const Output &logits;
  Sequences sequences;
  StepBatch batch;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::unique_ptr<ThreadTeam> rankTeam; ///< one thread a rank, where there are several
  Observer observer;
  std::atomic<bool> cancelled{false};
};

Session::Impl::Impl(std::shared_ptr<const Artifact> opened, const SessionOptions &options)
    : artifact(std::move(opened)), logits(logitsOf(*artifact)),
      sequences(shapeOf(*artifact, options)),
      batch(artifact->manifest().limits, sequences.shape()) {
  const Manifest &manifest = artifact->manifest();
  if (!manifest.hasWeights())
    throw InputError(artifact->manifestPath() + ": the artifact was compiled with --weights=none, "
                                                "so there is nothing to run. Compile it with "
                                                "the model's weights");
  if (options.threads < 0)
    throw UsageError(std::to_string(options.threads) + " threads wanted");
  int count = int(manifest.ranks.count);
  int threads = options.threads;
  if (!threads && count > 1)
    threads = std::max(1, ThreadTeam::availableThreads() / count);
  for (int rank = 0; rank < count; ++rank) {
    ranks.push_back(std::make_unique<Rank>(*artifact, Rank::Setup{rank, threads, &options}));
    ranks.back()->allocate(sequences.shape(), batch.views());
  }
  std::vector<std::vector<std::unique_ptr<Communicator>>> members;
  members.resize(size_t(count));
  for (const RankGroup &group : manifest.ranks.groups) {
    auto made = makeInProcessGroup(int(group.ranks.size()));
    for (auto &list : members)
      list.emplace_back();
    for (size_t i = 0; i < group.ranks.size(); ++i)
      members[size_t(group.ranks[i])].back() = std::move(made[i]);
  }
  for (int rank = 0; rank < count; ++rank)
    ranks[size_t(rank)]->setCommunicators(std::move(members[size_t(rank)]));
  if (count > 1)
    rankTeam = std::make_unique<ThreadTeam>(ThreadTeam::Options{count, false});
}

void Session::Impl::check(std::span<const StepInput> inputs) const {
  const Manifest &manifest = artifact->manifest();
  const Limits &limits = manifest.limits;
  int64_t tokens = 0, outputs = 0;
  if (inputs.empty() || int64_t(inputs.size()) > sequences.shape().sequences)
    throw UsageError("a step takes 1 to " + std::to_string(sequences.shape().sequences) +
                     " sequences, not " + std::to_string(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const StepInput &input = inputs[i];
    sequences.length(input.sequence);
    if (input.tokens.empty())
      throw UsageError("sequence " + std::to_string(input.sequence) +
                       " has no tokens in this step");
    for (size_t j = 0; j < i; ++j)
      if (inputs[j].sequence == input.sequence)
        throw UsageError("sequence " + std::to_string(input.sequence) + " stands twice in a step");
    for (int32_t id : input.tokens)
      if (id < 0 || id >= manifest.model.vocabSize)
        throw InputError("token id " + std::to_string(id) + " is outside the vocabulary of " +
                         std::to_string(manifest.model.vocabSize) + " tokens");
    int64_t count = int64_t(input.tokens.size());
    tokens += count;
    outputs += input.logits == Logits::All ? count : input.logits == Logits::Last ? 1 : 0;
  }
  if (tokens > limits.maxTokens)
    throw UsageError("a step of " + std::to_string(tokens) + " tokens, the limit is " +
                     std::to_string(limits.maxTokens) + "; cut it into several (Scheduler)");
  if (outputs > limits.maxOutputs)
    throw UsageError("a step with " + std::to_string(outputs) + " rows of logits, the limit is " +
                     std::to_string(limits.maxOutputs) + "; cut it into several (Scheduler)");
}

void Session::Impl::reserve(std::span<const StepInput> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    try {
      sequences.reserve(inputs[i].sequence, int64_t(inputs[i].tokens.size()));
    } catch (...) {
      for (size_t j = 0; j < i; ++j)
        sequences.trim(inputs[j].sequence);
      throw;
    }
  }
}

/// What a step's extent is for a sequence.
static int64_t extentOf(const StepInput &input, const Sequences &sequences) {
  return std::max(input.known,
                  sequences.length(input.sequence) + int64_t(input.tokens.size()));
}

/// Computes a state anew that was computed for another extent, in steps of its own that
/// nobody observes.
void Session::Impl::refresh(const StepInput &input) {
  int64_t extent = extentOf(input, sequences);
  if (!sequences.isStale(input.sequence, extent)) {
    sequences.setExtent(input.sequence, extent);
    return;
  }
  std::vector<int32_t> tokens(sequences.tokensOf(input.sequence).begin(),
                              sequences.tokensOf(input.sequence).end());
  // Until all is computed, there is a state of no extent, and no slot of any tokens.
  sequences.setExtent(input.sequence, -1);
  sequences.beginStep(input.sequence, 0);
  int64_t length = int64_t(tokens.size()), most = artifact->manifest().limits.maxTokens;
  for (int64_t done = 0; done < length; done += most) {
    StepInput piece{input.sequence,
                    std::span(tokens).subspan(size_t(done), size_t(std::min(most, length - done))),
                    Logits::None, extent};
    batch.fill(piece, sequences, done);
    execute(/*shown=*/false);
  }
  sequences.setExtent(input.sequence, extent);
  sequences.endRefresh(input.sequence);
}

void Session::Impl::execute(bool show) {
  const Observer *shown = show && observer ? &observer : nullptr;
  auto runRank = [&](int index, std::atomic<bool> *flag) {
    Rank &rank = *ranks[size_t(index)];
    rank.run(batch.extent(rank.threads()), batch.batch(), index == 0 ? shown : nullptr, flag);
  };
  if (!rankTeam) {
    runRank(0, &cancelled);
  } else {
    // Ranks wait for each other in collectives, so that none may leave a step
    // early: several are cancelled between steps only.
    if (cancelled.load(std::memory_order_relaxed))
      throw CancelledError("the step was cancelled");
    rankTeam->run([&](int rank, SpinBudget &) { runRank(rank, nullptr); });
  }
  for (auto &rank : ranks)
    rank->takeError();
}

Session::Session(std::shared_ptr<const Artifact> artifact, const SessionOptions &options)
    : impl(std::make_unique<Impl>(std::move(artifact), options)) {}

Session::~Session() = default;

StepOutput Session::step(std::span<const StepInput> inputs) {
  impl->check(inputs);
  impl->reserve(inputs);
  try {
    for (const StepInput &input : inputs)
      impl->refresh(input);
    impl->batch.fill(inputs, impl->sequences);
    for (const StepInput &input : inputs)
      impl->sequences.beginStep(input.sequence, int64_t(input.tokens.size()));
    impl->execute(/*shown=*/true);
  } catch (...) {
    for (const StepInput &input : inputs)
      impl->sequences.trim(input.sequence);
    impl->cancelled.store(false, std::memory_order_relaxed);
    throw;
  }
  for (const StepInput &input : inputs)
    impl->sequences.append(input.sequence, input.tokens);
  const Output &logits = impl->logits;
  StepOutput output;
  output.data =
      reinterpret_cast<const float *>(impl->ranks.front()->sliceAddress(logits.sliceIndex));
  output.rows = impl->batch.batch()->outputs;
  output.width = output.stride = logits.width;
  if (logits.rows == Axis::Tokens)
    output.rowOf = impl->batch.outputRows();
  return output;
}

const Artifact &Session::artifact() const { return *impl->artifact; }
int Session::threads() const { return impl->ranks.front()->threads(); }
const std::string &Session::variant() const { return impl->ranks.front()->variant(); }
int64_t Session::maxContext() const { return impl->sequences.shape().maxContext; }
std::string Session::largerContext() const { return impl->sequences.largerContext(); }
int64_t Session::maxSequences() const { return impl->sequences.shape().sequences; }
int64_t Session::maxTokens() const { return impl->artifact->manifest().limits.maxTokens; }
int64_t Session::maxOutputs() const { return impl->artifact->manifest().limits.maxOutputs; }
int64_t Session::vocabSize() const { return impl->artifact->manifest().model.vocabSize; }
int64_t Session::blocks() const { return impl->sequences.shape().blocks; }
int64_t Session::freeBlocks() const { return impl->sequences.freeBlocks(); }
int64_t Session::blockTokens() const { return impl->sequences.shape().blockTokens; }

int32_t Session::addSequence() { return impl->sequences.add(); }
void Session::removeSequence(int32_t sequence) { impl->sequences.remove(sequence); }
int64_t Session::length(int32_t sequence) const { return impl->sequences.length(sequence); }

void Session::truncate(int32_t sequence, int64_t length) {
  if (length < 0 || length > impl->sequences.length(sequence))
    throw UsageError("sequence " + std::to_string(sequence) + " has " +
                     std::to_string(impl->sequences.length(sequence)) +
                     " tokens and cannot be cut to " + std::to_string(length));
  impl->sequences.setLength(sequence, length);
  impl->sequences.trim(sequence);
}

bool Session::canReturnTo(int32_t sequence, int64_t length) const {
  return impl->sequences.canReturnTo(sequence, length);
}

void Session::cancel() noexcept { impl->cancelled.store(true, std::memory_order_relaxed); }
void Session::clearCancel() noexcept { impl->cancelled.store(false, std::memory_order_relaxed); }
void Session::observe(Observer observer) { impl->observer = std::move(observer); }
void Session::profile(bool on) { impl->ranks.front()->profile(on); }
std::vector<LaunchTime> Session::profiled() const { return impl->ranks.front()->profiled(); }

std::vector<ArenaMemory> Session::memory() const {
  std::vector<ArenaMemory> all;
  for (const auto &rank : impl->ranks)
    all.insert(all.end(), rank->memory().begin(), rank->memory().end());
  return all;
}

ArenaMemory totalMemory(std::span<const ArenaMemory> arenas) {
  ArenaMemory total{"total", ArenaKind::Weights, -1, 0, 0};
  for (const ArenaMemory &arena : arenas) {
    total.planned += arena.planned;
    total.allocated += arena.allocated;
  }
  return total;
}

} // namespace llmc::rt
