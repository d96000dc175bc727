//===- CApi.cpp - the runtime's C interface -------------------------------===//
//
// Nothing that is thrown inside passes this file.
//
//===----------------------------------------------------------------------===//

#include "llmc/Runtime/ChatTemplate.h"
#include "llmc/Runtime/Runtime.h"
#include "llmc/Runtime/llmc.h"
#include "llmc/Support/JsonError.h"

#include <algorithm>
#include <new>

using namespace llmc;

struct llmc_artifact {
  std::shared_ptr<const rt::Artifact> value;
};

struct llmc_session {
  llmc_session(std::shared_ptr<const rt::Artifact> artifact, const rt::SessionOptions &options)
      : value(std::move(artifact), options), memory(value.memory()) {}
  rt::Session value;
  std::vector<rt::ArenaMemory> memory; ///< owns the names that are handed out
};

struct llmc_generator {
  explicit llmc_generator(rt::Session &session) : value(session) {}
  rt::Generator value;
  rt::GenerateResult last;
};

namespace {
thread_local std::string lastError;

template <typename Body>
llmc_status guarded(Body body) noexcept {
  llmc_status status = LLMC_ERROR_INTERNAL;
  try {
    try {
      body();
      return LLMC_OK;
    } catch (const InputError &error) {
      status = LLMC_ERROR_INPUT;
      lastError = error.what();
    } catch (const UsageError &error) {
      status = LLMC_ERROR_USAGE;
      lastError = error.what();
    } catch (const rt::CancelledError &error) {
      status = LLMC_CANCELLED;
      lastError = error.what();
    } catch (const std::bad_alloc &) {
      lastError = "out of memory";
    } catch (const std::exception &error) {
      lastError = error.what();
    }
  } catch (...) { // no memory for the message either
  }
  return status;
}

template <typename T>
T &required(T *pointer, const char *what) {
  if (!pointer)
    throw UsageError(std::string(what) + " is NULL");
  return *pointer;
}

/// Copies what fits as a whole and tells the number.
template <typename T>
void giveBack(const T *values, size_t count, T *to, size_t *capacity) {
  if (to && count <= *capacity)
    std::copy_n(values, count, to);
  *capacity = count;
}
} // namespace

const char *llmc_version_string(void) { return LLMC_VERSION; }
int32_t llmc_version_api(void) { return LLMC_API_VERSION; }
const char *llmc_error_message(void) { return lastError.c_str(); }

llmc_status llmc_artifact_open(const char *folder, uint32_t flags, llmc_artifact **artifact) {
  return guarded([&] {
    rt::ReadOptions options{(flags & LLMC_OPEN_VERIFY_HASHES) != 0};
    required(artifact, "artifact") =
        new llmc_artifact{rt::Artifact::open(&required(folder, "folder"), options)};
  });
}

void llmc_artifact_close(llmc_artifact *artifact) { delete artifact; }

void llmc_artifact_describe(const llmc_artifact *artifact, llmc_artifact_info *info) {
  const rt::Manifest &m = artifact->value->manifest();
  *info = {m.model.name.c_str(),    m.model.architecture.c_str(),
           m.target.device.c_str(), m.model.vocabSize,
           m.model.hiddenSize,      m.model.layers,
           m.model.parameters,      m.limits.maxTokens,
           m.limits.maxSequences,   m.limits.maxContext,
           m.limits.blockTokens,    m.limits.blocks,
           int32_t(m.ranks.count),  artifact->value->hasTokenizer(),
           m.hasWeights()};
}

llmc_status llmc_artifact_encode(const llmc_artifact *artifact, const char *text, size_t bytes,
                                 int32_t add_special, int32_t *ids, size_t *count) {
  return guarded([&] {
    required(count, "count");
    std::string_view view(bytes ? &required(text, "text") : "", bytes);
    std::vector<int32_t> found = required(artifact, "artifact")
                                     .value->tokenizer()
                                     .encode(view, {.addSpecial = add_special != 0});
    giveBack(found.data(), found.size(), ids, count);
  });
}

llmc_status llmc_artifact_decode(const llmc_artifact *artifact, const int32_t *ids, size_t count,
                                 int32_t skip_special, char *text, size_t *bytes) {
  return guarded([&] {
    required(bytes, "bytes");
    std::string found = required(artifact, "artifact")
                            .value->tokenizer()
                            .decode({ids, ids ? count : 0}, skip_special != 0);
    size_t room = *bytes;
    giveBack(found.data(), found.size(), text, bytes);
    if (text && found.size() < room)
      text[found.size()] = '\0';
  });
}

llmc_status llmc_artifact_apply_chat_template(const llmc_artifact *artifact,
                                              const char *const *roles, const char *const *contents,
                                              size_t messages, int32_t add_generation_prompt,
                                              int32_t *ids, size_t *count) {
  return guarded([&] {
    required(count, "count");
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (size_t i = 0; i < messages; ++i)
      list.push_back({{"role", &required((&required(roles, "roles"))[i], "role")},
                      {"content", &required((&required(contents, "contents"))[i], "content")}});
    rt::EncodeChatOptions options;
    options.addGenerationPrompt = add_generation_prompt != 0;
    std::vector<int32_t> found =
        rt::encodeChat(*required(artifact, "artifact").value, list, options);
    giveBack(found.data(), found.size(), ids, count);
  });
}

llmc_status llmc_chat_template_render(const char *source, size_t source_bytes,
                                      const char *variables, size_t variables_bytes,
                                      const int64_t *now, char *text, size_t *bytes) {
  return guarded([&] {
    required(bytes, "bytes");
    std::string_view given(variables_bytes ? &required(variables, "variables") : "{}",
                           variables_bytes ? variables_bytes : 2);
    nlohmann::ordered_json parsed;
    try {
      parsed = nlohmann::ordered_json::parse(given);
    } catch (const nlohmann::json::exception &error) {
      throw InputError(std::string("The variables of the chat template are no JSON: ") +
                       jsonErrorText(error));
    }
    rt::ChatTemplate chat({source_bytes ? &required(source, "source") : "", source_bytes});
    std::string found = chat.render(parsed, now ? std::optional<int64_t>(*now) : std::nullopt);
    size_t room = *bytes;
    giveBack(found.data(), found.size(), text, bytes);
    if (text && found.size() < room)
      text[found.size()] = '\0';
  });
}

llmc_status llmc_session_create(const llmc_artifact *artifact, const llmc_session_options *options,
                                llmc_session **session) {
  return guarded([&] {
    rt::SessionOptions wanted;
    if (options) {
      if (options->size != sizeof(llmc_session_options))
        throw UsageError("llmc_session_options.size does not match this library");
      wanted.threads = options->threads;
      wanted.pin = options->pin != 0;
      wanted.maxContext = options->max_context;
      wanted.blocks = options->blocks;
      wanted.maxSequences = options->max_sequences;
    }
    required(session, "session") = new llmc_session(required(artifact, "artifact").value, wanted);
  });
}

void llmc_session_destroy(llmc_session *session) { delete session; }

void llmc_session_describe(const llmc_session *session, llmc_session_info *info) {
  const rt::Session &s = session->value;
  *info = {s.threads(), s.maxContext(), s.maxSequences(), s.maxTokens(),
           s.blocks(),  s.freeBlocks(), s.vocabSize()};
}

size_t llmc_session_list_arenas(const llmc_session *session, llmc_session_arena *arenas,
                                size_t capacity) {
  const auto &memory = session->memory;
  for (size_t i = 0; i < std::min(capacity, memory.size()); ++i)
    arenas[i] = {memory[i].name.c_str(), rt::arenaKindName(memory[i].kind), memory[i].rank,
                 memory[i].planned, memory[i].allocated};
  return memory.size();
}

llmc_status llmc_session_add_sequence(llmc_session *session, int32_t *sequence) {
  return guarded(
      [&] { required(sequence, "sequence") = required(session, "session").value.addSequence(); });
}

llmc_status llmc_session_remove_sequence(llmc_session *session, int32_t sequence) {
  return guarded([&] { required(session, "session").value.removeSequence(sequence); });
}

llmc_status llmc_session_truncate_sequence(llmc_session *session, int32_t sequence,
                                           int64_t length) {
  return guarded([&] { required(session, "session").value.truncate(sequence, length); });
}

llmc_status llmc_session_step(llmc_session *session, const llmc_step_input *inputs, size_t count,
                              const float **logits, int64_t *rows, int64_t *stride) {
  return guarded([&] {
    std::vector<rt::StepInput> list;
    for (size_t i = 0; i < count; ++i) {
      const llmc_step_input &input = (&required(inputs, "inputs"))[i];
      if (input.logits < LLMC_LOGITS_NONE || input.logits > LLMC_LOGITS_ALL)
        throw UsageError("inputs[" + std::to_string(i) + "].logits is no llmc_logits");
      list.push_back({input.sequence,
                      {input.tokens, input.tokens ? input.token_count : 0},
                      rt::Logits(input.logits)});
    }
    rt::StepOutput output = required(session, "session").value.step(list);
    if (!output.rowOf.empty() && output.rowOf.size() != 1 &&
        output.rowOf.back() - output.rowOf.front() != int64_t(output.rowOf.size()) - 1)
      throw InternalError("the artifact keeps logits of all rows; the C interface needs them "
                          "dense");
    required(logits, "logits") = output.rows ? output.row(0).data() : nullptr;
    required(rows, "rows") = output.rows;
    required(stride, "stride") = output.stride;
  });
}

void llmc_session_cancel(llmc_session *session) { session->value.cancel(); }

llmc_status llmc_session_measure_perplexity(llmc_session *session, const int32_t *ids, size_t count,
                                            double *mean_nll) {
  return guarded([&] {
    required(mean_nll, "mean_nll") =
        rt::measurePerplexity(required(session, "session").value, {ids, ids ? count : 0}).meanNll;
  });
}

void llmc_generate_options_init(llmc_generate_options *options) {
  *options = {};
  options->size = sizeof(llmc_generate_options);
  options->max_tokens = -1;
  options->top_p = 1;
  options->repeat_penalty = 1;
  options->logprobs = -1;
}

llmc_status llmc_generator_create(llmc_session *session, llmc_generator **generator) {
  return guarded([&] {
    required(generator, "generator") = new llmc_generator(required(session, "session").value);
  });
}

void llmc_generator_destroy(llmc_generator *generator) { delete generator; }

llmc_status llmc_generator_run(llmc_generator *generator, const int32_t *prompt, size_t count,
                               const llmc_generate_options *options, llmc_generate_result *result) {
  return guarded([&] {
    const llmc_generate_options &given = required(options, "options");
    if (given.size != sizeof(llmc_generate_options))
      throw UsageError("llmc_generate_options.size does not match this library; call "
                       "llmc_generate_options_init first");
    rt::GenerateOptions wanted;
    wanted.maxTokens = given.max_tokens;
    wanted.ignoreEnd = given.ignore_end != 0;
    wanted.sampler.temperature = given.temperature;
    wanted.sampler.topK = given.top_k;
    wanted.sampler.topP = given.top_p;
    wanted.sampler.minP = given.min_p;
    wanted.sampler.repetitionPenalty = given.repeat_penalty;
    wanted.sampler.seed = given.seed;
    wanted.sampler.validate();
    if (given.logprobs < -1 || given.logprobs > 1000)
      throw UsageError("logprobs is " + std::to_string(given.logprobs) + ", wanted -1 to 1000");
    wanted.logprobs = given.logprobs;
    wanted.promptLogprobs = given.prompt_logprobs != 0;
    for (size_t i = 0; i < given.stop_count; ++i)
      wanted.stop.emplace_back(&required(given.stop[i], "stop string"));
    rt::TextCallback show;
    if (given.on_text)
      show = [&](std::string_view text) {
        return given.on_text(given.user, text.data(), text.size()) == 0;
      };
    rt::GenerateResult &last = required(generator, "generator").last;
    last = generator->value.generate({prompt, prompt ? count : 0}, wanted, show);
    required(result, "result") = {last.tokens.data(),         last.tokens.size(),
                                  last.text.c_str(),          rt::finishReasonName(last.finish),
                                  last.timing.promptTokens,   last.timing.decodedTokens,
                                  last.timing.prefillSeconds, last.timing.firstTokenSeconds,
                                  last.timing.decodeSeconds};
  });
}

llmc_status llmc_generator_score(const llmc_generator *generator, int32_t of_prompt, size_t index,
                                 llmc_token_probability *token, llmc_token_probability *top,
                                 size_t *count) {
  return guarded([&] {
    const rt::GenerateResult &last = required(generator, "generator").last;
    const std::vector<rt::TokenScore> &scores = of_prompt ? last.promptScores : last.scores;
    size_t place = of_prompt ? index - 1 : index; // nothing scores a prompt's first token
    if (place >= scores.size())
      throw UsageError("there is no score of token " + std::to_string(index) +
                       "; logprobs and prompt_logprobs of llmc_generate_options ask for them");
    required(token, "token") = {scores[place].id, scores[place].logprob};
    std::vector<llmc_token_probability> list;
    for (const rt::TokenProbability &one : scores[place].top)
      list.push_back({one.id, one.logprob});
    giveBack(list.data(), list.size(), top, &required(count, "count"));
  });
}
