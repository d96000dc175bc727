/*===- llmc.h - the runtime's C interface ---------------------------*- C -*-===
 *
 * Every function that can fail returns a status; llmc_error_message() is then
 * the text for this thread. Handles are not locked: use a session from one
 * thread at a time. Only llmc_session_cancel may be called from anywhere, also
 * from a signal handler.
 *
 *===----------------------------------------------------------------------===*/
#ifndef LLMC_RUNTIME_LLMC_H
#define LLMC_RUNTIME_LLMC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLMC_API_VERSION 1

typedef struct llmc_artifact llmc_artifact;
typedef struct llmc_session llmc_session;
typedef struct llmc_generator llmc_generator;

typedef enum llmc_status {
  LLMC_OK = 0,
  LLMC_ERROR_INPUT = 1,    /* the artifact, model or text is at fault */
  LLMC_ERROR_USAGE = 2,    /* the call is at fault */
  LLMC_ERROR_INTERNAL = 3, /* llmc is at fault */
  LLMC_CANCELLED = 4,      /* llmc_session_cancel ended the step */
} llmc_status;

/* "0.1.0"; LLMC_API_VERSION of the library. */
const char *llmc_version_string(void);
int32_t llmc_version_api(void);
/* Of the last call of this thread that failed; never NULL. */
const char *llmc_error_message(void);

/* ---- artifacts */

typedef struct llmc_artifact_info {
  const char *name, *architecture, *device; /* valid as long as the artifact */
  int64_t vocab_size, hidden_size, layers, parameters;
  int64_t max_tokens, max_sequences, max_context, block_tokens, blocks;
  int32_t ranks, has_tokenizer, has_weights;
} llmc_artifact_info;

#define LLMC_OPEN_VERIFY_HASHES 1u

llmc_status llmc_artifact_open(const char *folder, uint32_t flags, llmc_artifact **artifact);
void llmc_artifact_close(llmc_artifact *artifact);
void llmc_artifact_describe(const llmc_artifact *artifact, llmc_artifact_info *info);

/* Token ids of a text. `count` holds the capacity before and the number after
   the call; where the capacity is too small only the number is set. */
llmc_status llmc_artifact_encode(const llmc_artifact *artifact, const char *text, size_t bytes,
                                 int32_t add_special, int32_t *ids, size_t *count);
/* The text of ids, UTF-8 with a zero behind it; `bytes` as `count` above,
   without the zero. */
llmc_status llmc_artifact_decode(const llmc_artifact *artifact, const int32_t *ids, size_t count,
                                 int32_t skip_special, char *text, size_t *bytes);

/* Token ids of a conversation of `messages` messages, by the model's own chat
   template: roles[i] is "system", "user" or "assistant", contents[i] what it
   says. With `add_generation_prompt` the beginning of an answer follows. `count`
   as above; LLMC_ERROR_INPUT where the model has no template. */
llmc_status llmc_artifact_apply_chat_template(const llmc_artifact *artifact,
                                              const char *const *roles, const char *const *contents,
                                              size_t messages, int32_t add_generation_prompt,
                                              int32_t *ids, size_t *count);

/* The text of a chat template (Jinja with the settings of Hugging Face
   transformers) for a JSON object of variables, UTF-8: messages, tools,
   add_generation_prompt, bos_token and whatever else the template asks for.
   `now` is what strftime_now tells, in seconds since the epoch; NULL: the clock.
   `text` and `bytes` as in llmc_artifact_decode. LLMC_ERROR_INPUT names line and
   expression, or is the template's own refusal. */
llmc_status llmc_chat_template_render(const char *source, size_t source_bytes,
                                      const char *variables, size_t variables_bytes,
                                      const int64_t *now, char *text, size_t *bytes);

/* ---- sessions */

/* Zero means: by the artifact. The memory of the state is
     blocks given:      that many blocks, which all sequences share;
     max_context given: (max_context + block_tokens - 1) / block_tokens blocks for
                        each of max_sequences, or for one where that is 0;
     else:              the `blocks` of llmc_artifact_info;
   and where a model keeps state of whole sequences, a slot for each of max_sequences.
   llmc_session_info tells what it came to: a context is never longer than the
   blocks hold. */
typedef struct llmc_session_options {
  uint32_t size;   /* sizeof(llmc_session_options) */
  int32_t threads; /* of each rank; 0: as many as the process may use */
  int32_t pin;
  int64_t max_context, blocks, max_sequences;
} llmc_session_options;

typedef struct llmc_session_info {
  int32_t threads;
  int64_t max_context, max_sequences, max_tokens, blocks, free_blocks, vocab_size;
} llmc_session_info;

typedef struct llmc_session_arena {
  const char *name, *kind; /* valid as long as the session */
  int32_t rank;
  int64_t planned_bytes, allocated_bytes;
} llmc_session_arena;

/* `options` may be NULL. The session keeps what it needs of the artifact. */
llmc_status llmc_session_create(const llmc_artifact *artifact, const llmc_session_options *options,
                                llmc_session **session);
void llmc_session_destroy(llmc_session *session);
void llmc_session_describe(const llmc_session *session, llmc_session_info *info);
/* Fills up to `capacity` entries; returns how many there are. */
size_t llmc_session_list_arenas(const llmc_session *session, llmc_session_arena *arenas,
                                size_t capacity);

llmc_status llmc_session_add_sequence(llmc_session *session, int32_t *sequence);
llmc_status llmc_session_remove_sequence(llmc_session *session, int32_t sequence);
llmc_status llmc_session_truncate_sequence(llmc_session *session, int32_t sequence, int64_t length);

typedef enum llmc_logits {
  LLMC_LOGITS_NONE = 0,
  LLMC_LOGITS_LAST = 1,
  LLMC_LOGITS_ALL = 2,
} llmc_logits;

typedef struct llmc_step_input {
  int32_t sequence;
  int32_t logits; /* llmc_logits */
  const int32_t *tokens;
  size_t token_count;
} llmc_step_input;

/* Runs one step. Row i of the logits is at `logits + i * *stride`; valid until
   the next step. */
llmc_status llmc_session_step(llmc_session *session, const llmc_step_input *inputs, size_t count,
                              const float **logits, int64_t *rows, int64_t *stride);
void llmc_session_cancel(llmc_session *session);

/* Mean negative log-likelihood (natural) of all tokens but the first; what is
   longer than the context is measured in windows of the context that follow
   one another (docs/Runtime.md). */
llmc_status llmc_session_measure_perplexity(llmc_session *session, const int32_t *ids, size_t count,
                                            double *mean_nll);

/* ---- generation */

typedef struct llmc_generate_options {
  uint32_t size;      /* sizeof(llmc_generate_options) */
  int32_t ignore_end; /* 1: go on after an end-of-generation token */
  int64_t max_tokens; /* -1: until the context is full */
  double temperature, top_p, min_p, repeat_penalty;
  int32_t top_k;
  uint64_t seed;
  const char *const *stop;
  size_t stop_count;
  /* Text as it becomes certain (not terminated); not zero ends it. May be NULL. */
  int (*on_text)(void *user, const char *text, size_t bytes);
  void *user;
  /* -1: no scores. Else every chosen token is scored, with so many of the
     likeliest beside it; with `prompt_logprobs` so are those of the prompt. */
  int32_t logprobs, prompt_logprobs;
} llmc_generate_options;

/* The natural logarithm of a token's probability, by the logits as the model
   gives them: before temperature and penalties. */
typedef struct llmc_token_probability {
  int32_t id;
  double logprob;
} llmc_token_probability;

typedef struct llmc_generate_result {
  const int32_t *tokens; /* valid until the generator's next call */
  size_t token_count;
  const char *text, *finish; /* length, end, stop, context, cancelled */
  int64_t prompt_tokens, decoded_tokens;
  double prefill_seconds, first_token_seconds, decode_seconds;
} llmc_generate_result;

/* Greedy, until the context is full. */
void llmc_generate_options_init(llmc_generate_options *options);
/* A conversation: what a prompt shares with the one before is not run again. */
llmc_status llmc_generator_create(llmc_session *session, llmc_generator **generator);
void llmc_generator_destroy(llmc_generator *generator);
llmc_status llmc_generator_run(llmc_generator *generator, const int32_t *prompt, size_t count,
                               const llmc_generate_options *options, llmc_generate_result *result);

/* Scores of the last run, for `logprobs` of 0 or more: of token `index` of its
   tokens, or with `of_prompt` of token `index` of the prompt, from 1 on. `top`
   may be NULL; else it takes the likeliest tokens. `count` as in
   llmc_artifact_encode. LLMC_ERROR_USAGE where there is no such score. */
llmc_status llmc_generator_score(const llmc_generator *generator, int32_t of_prompt, size_t index,
                                 llmc_token_probability *token, llmc_token_probability *top,
                                 size_t *count);

#ifdef __cplusplus
}
#endif

#endif /* LLMC_RUNTIME_LLMC_H */
