/* The answer to one message, as it comes: generate ARTIFACT MESSAGE [MAX_TOKENS] */
#include <llmc/Runtime/llmc.h>
#include <stdio.h>
#include <stdlib.h>

/* Leaves through the runtime's own message. */
static void check(llmc_status status) {
  if (status == LLMC_OK)
    return;
  fprintf(stderr, "generate: %s\n", llmc_error_message());
  exit(1);
}

static int show(void *user, const char *text, size_t bytes) {
  fwrite(text, 1, bytes, (FILE *)user);
  return fflush((FILE *)user); /* not zero ends the answer */
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: generate ARTIFACT MESSAGE [MAX_TOKENS]\n");
    return 2;
  }
  llmc_artifact *artifact;
  check(llmc_artifact_open(argv[1], 0, &artifact));

  /* Once for the number of tokens, once for the tokens. */
  const char *role = "user", *content = argv[2];
  size_t count = 0;
  check(llmc_artifact_apply_chat_template(artifact, &role, &content, 1, 1, NULL, &count));
  int32_t *prompt = malloc(count * sizeof *prompt);
  check(llmc_artifact_apply_chat_template(artifact, &role, &content, 1, 1, prompt, &count));

  llmc_session *session;
  llmc_generator *generator;
  check(llmc_session_create(artifact, NULL, &session));
  check(llmc_generator_create(session, &generator));
  llmc_generate_options options;
  llmc_generate_options_init(&options);
  options.max_tokens = argc > 3 ? atol(argv[3]) : 512;
  options.on_text = show;
  options.user = stdout;
  llmc_generate_result result;
  check(llmc_generator_run(generator, prompt, count, &options, &result));
  printf("\n");
  fprintf(stderr, "%zu tokens, ended by %s\n", result.token_count, result.finish);

  llmc_generator_destroy(generator);
  llmc_session_destroy(session);
  llmc_artifact_close(artifact);
  free(prompt);
  return 0;
}
