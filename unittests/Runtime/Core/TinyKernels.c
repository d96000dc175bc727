/* Kernels of the hand-written artifact of the runtime's tests: a "model" whose
   layers mix all earlier positions through the paged state. */
#include "llmc/Runtime/KernelABI.h"

#include <stddef.h>

enum { vocab = 16, hidden = 8, block = 4, headItems = 4 };

#define EXPORT __attribute__((visibility("default")))

static float *state_at(const llmc_batch *b, float *pool, int64_t sequence, int64_t position) {
  int64_t slot = b->block_table[sequence * b->table_stride + position / block];
  return pool + slot * hidden * block + position % block;
}

/* batch, table [vocab][hidden], x [T][hidden] */
EXPORT void tiny_embed(void *const *args, int64_t begin, int64_t end, void *scratch) {
  const llmc_batch *b = args[0];
  const float *table = args[1];
  float *x = args[2];
  for (int64_t t = begin; t < end; ++t)
    for (int i = 0; i < hidden; ++i)
      x[t * hidden + i] = table[b->token_ids[t] * hidden + i];
}

/* The same, but sequences of which more than 10 tokens are known read the table upside down. */
EXPORT void tiny_embed_by_extent(void *const *args, int64_t begin, int64_t end, void *scratch) {
  const llmc_batch *b = args[0];
  const float *table = args[1];
  float *x = args[2];
  for (int64_t t = begin; t < end; ++t) {
    int32_t id = b->token_ids[t];
    int32_t row = b->extents[b->token_seq[t]] > 10 ? vocab - 1 - id : id;
    for (int i = 0; i < hidden; ++i)
      x[t * hidden + i] = table[row * hidden + i];
  }
}

/* batch, x, state: keys [hidden][block] */
EXPORT void tiny_append(void *const *args, int64_t begin, int64_t end, void *scratch) {
  const llmc_batch *b = args[0];
  const float *x = args[1];
  for (int64_t t = begin; t < end; ++t) {
    float *slot = state_at(b, args[2], b->token_seq[t], b->positions[t]);
    for (int i = 0; i < hidden; ++i)
      slot[i * block] = x[t * hidden + i];
  }
}

/* batch, x, state: keys, state of sequences: [hidden]; one item a sequence. Before the keys
   are appended, x becomes h = h / 2 + x over the sequence's tokens; h is 0 at position 0. */
EXPORT void tiny_append_recurrent(void *const *args, int64_t begin, int64_t end, void *scratch) {
  const llmc_batch *b = args[0];
  float *x = args[1];
  for (int64_t s = begin; s < end; ++s) {
    float *h = (float *)args[3] + b->slots[s] * 16;
    for (int64_t t = b->query_start[s]; t < b->query_start[s + 1]; ++t)
      for (int i = 0; i < hidden; ++i) {
        h[i] = (b->positions[t] ? h[i] * 0.5f : 0) + x[t * hidden + i];
        x[t * hidden + i] = h[i];
      }
    tiny_append(args, b->query_start[s], b->query_start[s + 1], scratch);
  }
}

/* batch, scale [hidden], state, y; needs scratch of hidden floats */
static void mix(void *const *args, int64_t begin, int64_t end, void *scratch, int64_t window) {
  const llmc_batch *b = args[0];
  const float *scale = args[1];
  float *y = args[3], *sum = scratch;
  for (int64_t t = begin; t < end; ++t) {
    for (int i = 0; i < hidden; ++i)
      sum[i] = 0;
    int64_t first = b->positions[t] + 1 - window;
    for (int64_t p = first > 0 ? first : 0; p <= b->positions[t]; ++p) {
      const float *slot = state_at(b, args[2], b->token_seq[t], p);
      for (int i = 0; i < hidden; ++i)
        sum[i] += slot[i * block] * scale[i] / (float)(1 + b->positions[t] - p);
    }
    for (int i = 0; i < hidden; ++i)
      y[t * hidden + i] = sum[i];
  }
}

EXPORT void tiny_mix(void *const *args, int64_t begin, int64_t end, void *scratch) {
  mix(args, begin, end, scratch, INT32_MAX);
}

EXPORT void tiny_mix_near(void *const *args, int64_t begin, int64_t end, void *scratch) {
  mix(args, begin, end, scratch, 6);
}

/* batch, y, x: one item for the whole step, so that a lone worker takes part */
EXPORT void tiny_add(void *const *args, int64_t begin, int64_t end, void *scratch) {
  const llmc_batch *b = args[0];
  const float *y = args[1];
  float *x = args[2];
  for (int64_t item = begin; item < end; ++item)
    for (int64_t i = 0; i < b->tokens * hidden; ++i)
      x[i] = x[i] * 0.5f + y[i];
}

/* batch, table, x, logits [R][vocab]; headItems items for every output row */
EXPORT void tiny_head(void *const *args, int64_t begin, int64_t end, void *scratch) {
  const llmc_batch *b = args[0];
  const float *table = args[1], *x = args[2];
  float *logits = args[3];
  for (int64_t item = begin; item < end; ++item) {
    int64_t r = item / headItems, part = item % headItems;
    const float *row = x + (int64_t)b->output_rows[r] * hidden;
    for (int64_t v = part * vocab / headItems; v < (part + 1) * vocab / headItems; ++v) {
      float sum = 0;
      for (int i = 0; i < hidden; ++i)
        sum += row[i] * table[v * hidden + i];
      logits[r * vocab + v] = sum;
    }
  }
}
