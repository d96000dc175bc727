//===- Deployment.cpp - what commands on artifacts share ------------------===//

#include "Deployment.h"
#include "llmc/Runtime/Device.h"

#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sys/resource.h>
#include <unistd.h>

using nlohmann::json;

namespace llmc {

void DeploymentFlags::add(CLI::App &command, bool withContext) {
  command.add_option("artifact", artifact, "Folder that llmc compile wrote")->required();
  command.add_option("--threads", threads, "Worker threads (default: all the process may use)")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--pin", pin, "Bind worker threads to processors");
  if (withContext)
    command
        .add_option("--context", context,
                    "Tokens that the state holds (default: all the "
                    "artifact allows)")
        ->check(CLI::Range(int64_t(1), int64_t(1) << 31));
  command.add_option("--variant", variant,
                     "CPU variant of the kernels, such as avx2 (default: the best that runs here)");
  command
      .add_option("--weights", weights,
                  "When weights are in memory: mapped, once they are touched; resident, all from "
                  "the beginning; streamed, while the launches that read them run")
      ->check(CLI::IsMember({"mapped", "resident", "streamed"}))
      ->capture_default_str();
  command.add_option("--device-plugin", plugins, "Shared object with a device (repeatable)")
      ->allow_extra_args(false);
}

std::shared_ptr<const rt::Artifact> DeploymentFlags::open(bool verifyHashes) const {
  for (const std::string &plugin : plugins)
    rt::loadDevicePlugin(plugin);
  return rt::Artifact::open(artifact, {verifyHashes});
}

rt::SessionOptions DeploymentFlags::options(const rt::Artifact &opened, int64_t sequences,
                                            int64_t wanted) const {
  rt::SessionOptions options;
  options.threads = threads;
  options.pin = pin;
  options.variant = variant;
  options.weights = weights == "resident"   ? rt::WeightsMode::Resident
                    : weights == "streamed" ? rt::WeightsMode::Streamed
                                            : rt::WeightsMode::Mapped;
  options.maxSequences = sequences;
  options.maxContext = wanted ? wanted : context ? context : opened.manifest().limits.maxContext;
  return options;
}

void GenerationFlags::add(CLI::App &command, const std::string &defaultTokens) {
  rt::SamplerOptions &sampler = options.sampler;
  command
      .add_option("--max-tokens", options.maxTokens,
                  "Tokens to generate (default: " + defaultTokens + ")")
      ->check(wholeNumber(0, INT64_MAX));
  command.add_flag("--ignore-eos", options.ignoreEnd, "Go on after an end-of-text token");
  command.add_option("--temperature", sampler.temperature, "0: always the likeliest token")
      ->check(number(0, HUGE_VAL))
      ->capture_default_str();
  command.add_option("--top-k", sampler.topK, "Choose among so many (0: off)")
      ->check(wholeNumber(0, INT32_MAX))
      ->capture_default_str();
  command.add_option("--top-p", sampler.topP, "Choose among the likeliest of this share (1: off)")
      ->check(number(0, 1))
      ->capture_default_str();
  command
      .add_option("--min-p", sampler.minP, "Least share of the likeliest's probability (0: off)")
      ->check(number(0, 1))
      ->capture_default_str();
  command
      .add_option("--repeat-penalty", sampler.repetitionPenalty,
                  "Makes the last 64 tokens less likely (1: off)")
      ->capture_default_str();
  command.add_option("--seed", sampler.seed, "Of the draw; the same seed draws the same text")
      ->check(wholeNumber(0, UINT64_MAX))
      ->capture_default_str();
  command.add_option("--stop", options.stop, "Text that ends the answer (repeatable)")
      ->allow_extra_args(false);
}

static std::atomic<rt::Session *> interrupted{nullptr};
static_assert(std::atomic<rt::Session *>::is_always_lock_free);

static void onInterrupt(int) {
  if (rt::Session *session = interrupted.load(std::memory_order_relaxed))
    session->cancel();
}

InterruptScope::InterruptScope(rt::Session &session) {
  session.clearCancel();
  interrupted.store(&session, std::memory_order_relaxed);
  struct sigaction action = {};
  action.sa_handler = onInterrupt;
  action.sa_flags = int(SA_RESETHAND);
  sigaction(SIGINT, &action, &before);
}

InterruptScope::~InterruptScope() {
  sigaction(SIGINT, &before, nullptr);
  interrupted.store(nullptr, std::memory_order_relaxed);
}

json memoryJson(const rt::Session &session) {
  std::vector<rt::ArenaMemory> memory = session.memory();
  json arenas = json::array();
  for (const rt::ArenaMemory &arena : memory)
    arenas.push_back({{"name", arena.name},
                      {"kind", rt::arenaKindName(arena.kind)},
                      {"rank", arena.rank},
                      {"planned", arena.planned},
                      {"allocated", arena.allocated}});
  rt::ArenaMemory total = rt::totalMemory(memory);
  return {{"arenas", std::move(arenas)},
          {"planned", total.planned},
          {"allocated", total.allocated},
          {"peak_resident", peakResidentBytes()}};
}

json timingJson(const rt::GenerateTiming &timing) {
  return {{"prompt_tokens", timing.promptTokens},
          {"reused_tokens", timing.reusedTokens},
          {"decoded_tokens", timing.decodedTokens},
          {"prefill_seconds", timing.prefillSeconds},
          {"first_token_seconds", timing.firstTokenSeconds},
          {"decode_seconds", timing.decodeSeconds},
          {"prefill_tokens_per_second", timing.prefillTokensPerSecond()},
          {"decode_tokens_per_second", timing.decodeTokensPerSecond()}};
}

static std::string mebibytes(int64_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%12.2f MiB", double(bytes) / (1 << 20));
  return text;
}

void printMemory(std::ostream &out, const rt::Session &session) {
  std::vector<rt::ArenaMemory> memory = session.memory();
  bool ranks = session.artifact().manifest().ranks.count > 1;
  memory.push_back(rt::totalMemory(memory));
  for (const rt::ArenaMemory &arena : memory) {
    std::string name = arena.name;
    if (ranks && arena.rank >= 0)
      name += " (rank " + std::to_string(arena.rank) + ")";
    name.resize(std::max<size_t>(name.size(), 20), ' ');
    out << "memory " << name << " planned " << mebibytes(arena.planned) << "  allocated "
        << mebibytes(arena.allocated) << "\n";
  }
}

void printTiming(std::ostream &out, const rt::GenerateTiming &timing) {
  char text[256];
  std::snprintf(text, sizeof text,
                "prompt %lld tokens, %.1f tokens/s; first token after %.3f s; then %lld tokens, "
                "%.1f tokens/s\n",
                static_cast<long long>(timing.promptTokens), timing.prefillTokensPerSecond(),
                timing.firstTokenSeconds, static_cast<long long>(timing.decodedTokens),
                timing.decodeTokensPerSecond());
  out << text;
}

std::string readTextFile(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw InputError(path + ": is a folder, wanted a text file");
  std::ifstream file(path, std::ios::binary);
  // A prompt is at most some context long; a device that never ends is no prompt.
  constexpr size_t largest = size_t(64) << 20;
  std::string text(largest + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (!file.is_open() || file.bad())
    throw InputError(path + ": cannot be read; give a text file");
  if (size_t(file.gcount()) > largest)
    throw InputError(path + ": is longer than 64 MiB; give a text of at most that size");
  text.resize(size_t(file.gcount()));
  return text;
}

bool isTerminal(int descriptor) { return isatty(descriptor) == 1; }

int64_t peakResidentBytes() {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? int64_t(usage.ru_maxrss) * 1024 : 0;
}

void checkOutput() {
  if (!std::cout.flush())
    throw InputError("standard output: writing failed; is the disk full?");
}

void printJson(const json &value) {
  std::cout << value.dump(1, ' ', false, json::error_handler_t::replace) << "\n";
}

} // namespace llmc
