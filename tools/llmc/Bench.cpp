//===- Bench.cpp - llmc bench: how fast is it? ----------------------------===//

#include "Commands.h"
#include "Deployment.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

using nlohmann::json;

namespace llmc {

namespace {
struct BenchArguments {
  DeploymentFlags deployment;
  int64_t promptTokens = 512, generateTokens = 64;
  int repetitions = 3;
  bool asJson = false, profile = false;
};

struct Sample {
  double prefill = 0, decode = 0; ///< tokens a second; 0: not measured
  double firstToken = 0;          ///< seconds
};

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Random tokens: what a model says has no influence on its speed.
std::vector<int32_t> randomTokens(int64_t count, int64_t vocab, uint64_t seed) {
  rt::RandomSource random(seed);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back(int32_t(random.next() % uint64_t(vocab)));
  return tokens;
}

class Bench {
public:
  Bench(const BenchArguments &arguments, rt::Session &session)
      : arguments(arguments), session(session), sequence(session.addSequence()) {}

  /// The prompt, and decoding right after it, at its depth.
  Sample once(uint64_t seed, bool profile) {
    Sample sample;
    session.truncate(sequence, 0);
    std::vector<int32_t> prompt = randomTokens(arguments.promptTokens, session.vocabSize(), seed);
    std::vector<int32_t> next =
        randomTokens(arguments.generateTokens, session.vocabSize(), seed + 1);
    if (profile)
      session.profile(true);
    auto begin = std::chrono::steady_clock::now();
    feed(prompt);
    sample.firstToken = secondsSince(begin);
    if (!prompt.empty())
      sample.prefill = double(prompt.size()) / sample.firstToken;
    if (profile) {
      prefillTimes = session.profiled();
      session.profile(true);
    }
    begin = std::chrono::steady_clock::now();
    for (const int32_t &token : next)
      feed({&token, 1});
    if (!next.empty())
      sample.decode = double(next.size()) / secondsSince(begin);
    if (profile) {
      decodeTimes = session.profiled();
      session.profile(false);
    }
    return sample;
  }

  std::vector<rt::LaunchTime> prefillTimes, decodeTimes;

private:
  void feed(std::span<const int32_t> tokens) {
    while (!tokens.empty()) {
      size_t take = std::min(tokens.size(), size_t(session.maxTokens()));
      bool last = take == tokens.size();
      rt::StepInput input{sequence, tokens.first(take), last ? rt::Logits::Last : rt::Logits::None};
      session.step({&input, 1});
      tokens = tokens.subspan(take);
    }
  }

  const BenchArguments &arguments;
  rt::Session &session;
  int32_t sequence;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

json profileJson(const std::vector<rt::LaunchTime> &times) {
  json list = json::array();
  for (const rt::LaunchTime &time : times)
    list.push_back({{"kernel", time.kernel},
                    {"calls", time.calls},
                    {"seconds", double(time.nanoseconds) * 1e-9}});
  return list;
}

void printProfile(const char *phase, const std::vector<rt::LaunchTime> &times) {
  double total = 0;
  for (const rt::LaunchTime &time : times)
    total += double(time.nanoseconds);
  std::printf("%s by kernel (with a barrier after every launch):\n", phase);
  for (const rt::LaunchTime &time : times)
    std::printf("  %-32s %9lld calls %10.3f ms %5.1f %%  %9.2f us a call\n", time.kernel.c_str(),
                static_cast<long long>(time.calls), double(time.nanoseconds) * 1e-6,
                total > 0 ? double(time.nanoseconds) / total * 100 : 0,
                time.calls ? double(time.nanoseconds) / double(time.calls) * 1e-3 : 0);
}

void bench(const BenchArguments &arguments) {
  auto artifact = arguments.deployment.open();
  int64_t context = arguments.promptTokens + arguments.generateTokens;
  if (context == 0)
    throw UsageError("nothing to measure: give --prompt-tokens or --generate-tokens");
  rt::Session session(artifact, arguments.deployment.options(*artifact, 1, context));
  Bench runs(arguments, session);
  runs.once(0, false); // pages in the weights, wakes the threads
  std::vector<double> prefill, decode, first;
  for (int i = 0; i < arguments.repetitions; ++i) {
    Sample sample = runs.once(uint64_t(2 * i + 2), false);
    prefill.push_back(sample.prefill);
    decode.push_back(sample.decode);
    first.push_back(sample.firstToken);
  }
  if (arguments.profile)
    runs.once(1, true);
  if (arguments.asJson) {
    json result = {{"prefill_tokens_per_second", median(prefill)},
                   {"decode_tokens_per_second", median(decode)},
                   {"first_token_seconds", median(first)},
                   {"prompt_tokens", arguments.promptTokens},
                   {"generate_tokens", arguments.generateTokens},
                   {"threads", session.threads()},
                   {"variant", session.variant()},
                   {"repetitions", arguments.repetitions},
                   {"samples", {{"prefill", prefill}, {"decode", decode}}},
                   {"peak_memory_bytes", peakResidentBytes()},
                   {"memory", memoryJson(session)}};
    if (arguments.profile)
      result["profile"] = {{"prefill", profileJson(runs.prefillTimes)},
                           {"decode", profileJson(runs.decodeTimes)}};
    printJson(result);
    return;
  }
  std::printf("%s, %d threads, kernels '%s', median of %d\n",
              artifact->manifest().model.name.c_str(), session.threads(), session.variant().c_str(),
              arguments.repetitions);
  if (arguments.promptTokens)
    std::printf("prefill %8.1f tokens/s  (%lld tokens, first logits after %.3f s)\n",
                median(prefill), static_cast<long long>(arguments.promptTokens), median(first));
  if (arguments.generateTokens)
    std::printf("decode  %8.1f tokens/s  (%lld tokens at depth %lld)\n", median(decode),
                static_cast<long long>(arguments.generateTokens),
                static_cast<long long>(arguments.promptTokens));
  if (arguments.profile) {
    printProfile("prefill", runs.prefillTimes);
    printProfile("decode", runs.decodeTimes);
  }
  std::fflush(stdout);
  printMemory(std::cout, session);
  std::cout << "peak resident " << peakResidentBytes() / (1 << 20) << " MiB\n";
}
} // namespace

void addBenchCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App *command = app.add_subcommand("bench", "Measure prefill, and decoding right after it");
  arguments->deployment.add(*command, /*withContext=*/false);
  command->add_option("--prompt-tokens", arguments->promptTokens, "Tokens of the prompt")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 31))
      ->capture_default_str();
  command->add_option("--generate-tokens", arguments->generateTokens, "Tokens decoded one by one")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 31))
      ->capture_default_str();
  command->add_option("--repetitions", arguments->repetitions, "Runs after one to warm up")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--profile", arguments->profile, "Time of every kernel, in a run of its own");
  command->add_flag("--json", arguments->asJson, "Print one JSON object");
  command->callback([arguments, &exitCode] {
    bench(*arguments);
    exitCode = 0;
  });
}

} // namespace llmc
