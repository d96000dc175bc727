//===- Scheduler.cpp - requests that share steps --------------------------===//

#include "llmc/Runtime/Scheduler.h"

#include <algorithm>

namespace llmc::rt {

Scheduler::Scheduler(Session &session, const SchedulerOptions &options)
    : session(session), options(options), unreservedBlocks(session.freeBlocks()) {
  if (options.chunk < 0)
    throw UsageError("a chunk of " + std::to_string(options.chunk) + " tokens");
}

Scheduler::~Scheduler() {
  for (auto &entry : active)
    session.removeSequence(entry->sequence);
}

/// The last token that is generated is not fed, so it needs no place.
static int64_t placesOf(const Request &request) {
  return int64_t(request.prompt.size()) + std::max<int64_t>(request.maxTokens - 1, 0);
}

int64_t Scheduler::blocksOf(const Request &request) const {
  return (placesOf(request) + session.blockTokens() - 1) / session.blockTokens();
}

Scheduler::Id Scheduler::submit(Request request) {
  if (request.prompt.empty())
    throw InputError("the prompt has no tokens; a model needs at least one to begin with");
  if (request.maxTokens < 0 || (request.maxTokens > 0 && !request.next))
    throw UsageError("a request that generates needs a number of tokens and a way to choose them");
  if (placesOf(request) > session.maxContext())
    throw InputError("a prompt of " + std::to_string(request.prompt.size()) + " tokens" +
                     (request.maxTokens
                          ? " with " + std::to_string(request.maxTokens) + " to generate"
                          : "") +
                     " is more than the context of " + std::to_string(session.maxContext()) +
                     " tokens; shorten it, " + (request.maxTokens ? "generate less, or " : "or ") +
                     session.largerContext());
  if (blocksOf(request) > session.blocks())
    throw InputError("the request needs " + std::to_string(blocksOf(request)) +
                     " state blocks, the session has " + std::to_string(session.blocks()) +
                     "; shorten it, or give the session more blocks (--context)");
  auto entry = std::make_unique<Active>();
  entry->id = nextId++;
  entry->pending = request.prompt;
  entry->request = std::move(request);
  waiting.push_back(std::move(entry));
  return waiting.back()->id;
}

void Scheduler::cancel(Id id) {
  for (auto &entry : active)
    if (entry->id == id)
      entry->ended = true;
  for (auto &entry : waiting)
    if (entry->id == id)
      entry->ended = true;
}

void Scheduler::admit() {
  while (!waiting.empty() && int64_t(active.size()) < session.maxSequences()) {
    Active &first = *waiting.front();
    int64_t blocks = blocksOf(first.request);
    if (!first.ended) {
      if (blocks > unreservedBlocks)
        return; // in order of arrival: nobody overtakes and starves a long one
      first.sequence = session.addSequence();
      first.reservedBlocks = blocks;
      unreservedBlocks -= blocks;
      active.push_back(std::move(waiting.front()));
    } else if (first.request.onEnd) {
      first.request.onEnd();
    }
    waiting.pop_front();
  }
}

/// Requests that generate come first, each with its one token, then prompts in
/// order of arrival.
std::vector<Scheduler::Piece> Scheduler::choose(int64_t &outputs) {
  std::vector<Piece> pieces;
  int64_t tokens = session.maxTokens();
  outputs = session.maxOutputs();
  for (bool prompts : {false, true})
    for (auto &entry : active) {
      int64_t left = int64_t(entry->pending.size() - entry->fed);
      bool prefill = entry->generated == 0;
      if (prefill != prompts || !tokens)
        continue;
      int64_t take = std::min(left, tokens);
      if (prefill && options.chunk)
        take = std::min(take, options.chunk);
      if (entry->request.promptLogits && prefill)
        take = std::min(take, outputs);
      else if (take == left && !outputs)
        --take; // the last token waits for a step that has a row of logits left
      if (!take)
        continue;
      bool last = take == left;
      tokens -= take;
      outputs -= entry->request.promptLogits && prefill ? take : last ? 1 : 0;
      pieces.push_back({entry.get(), take, last});
    }
  return pieces;
}

void Scheduler::deliver(const Piece &piece, const StepOutput &output, int64_t &row,
                        int64_t before) {
  Active &entry = *piece.active;
  Request &request = entry.request;
  bool all = request.promptLogits && entry.generated == 0;
  entry.fed += size_t(piece.tokens);
  std::span<const float> logits;
  int64_t rows = all ? piece.tokens : piece.last ? 1 : 0;
  for (int64_t i = 0; i < rows; ++i) {
    logits = output.row(row++);
    if (request.onLogits && !entry.ended)
      request.onLogits(before + piece.tokens - rows + i, logits);
  }
  if (!piece.last || entry.ended)
    return;
  if (entry.generated >= request.maxTokens) {
    entry.ended = true;
    return;
  }
  std::optional<int32_t> token = request.next(logits);
  ++entry.generated;
  if (!token || entry.generated >= request.maxTokens) {
    entry.ended = true;
    return;
  }
  entry.pending.assign(1, *token);
  entry.fed = 0;
}

void Scheduler::retire() {
  for (size_t i = 0; i < active.size();) {
    if (!active[i]->ended) {
      ++i;
      continue;
    }
    std::unique_ptr<Active> done = std::move(active[i]);
    active.erase(active.begin() + ptrdiff_t(i));
    session.removeSequence(done->sequence);
    unreservedBlocks += done->reservedBlocks;
    if (done->request.onEnd)
      done->request.onEnd();
  }
}

bool Scheduler::step() {
  retire();
  admit();
  if (active.empty())
    return false;
  int64_t outputsLeft;
  std::vector<Piece> pieces = choose(outputsLeft);
  std::vector<StepInput> inputs;
  std::vector<int64_t> before;
  stepRequests.clear();
  for (const Piece &piece : pieces) {
    const Active &entry = *piece.active;
    bool all = entry.request.promptLogits && entry.generated == 0;
    inputs.push_back({entry.sequence,
                      std::span(entry.pending).subspan(entry.fed, size_t(piece.tokens)),
                      all          ? Logits::All
                      : piece.last ? Logits::Last
                                   : Logits::None,
                      session.length(entry.sequence) + int64_t(entry.pending.size() - entry.fed)});
    before.push_back(session.length(entry.sequence));
    stepRequests.push_back(entry.id);
  }
  StepOutput output = session.step(inputs);
  ++steps;
  // Who found no room in this step comes first in a later one.
  if (pieces.size() < active.size())
    std::rotate(active.begin(), active.begin() + 1, active.end());
  int64_t row = 0;
  for (size_t i = 0; i < pieces.size(); ++i)
    deliver(pieces[i], output, row, before[i]);
  retire();
  return !active.empty() || !waiting.empty();
}

} // namespace llmc::rt
