/*===- KernelABI.h - what a CPU kernel sees ------------------------*- C -*-===
 *
 * The contract between generated kernels and the runtime. Generated code
 * addresses the fields of llmc_batch by the offsets below, so this struct only
 * changes together with the manifest's major version.
 *
 *===----------------------------------------------------------------------===*/
#ifndef LLMC_RUNTIME_KERNELABI_H
#define LLMC_RUNTIME_KERNELABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The tokens of one step: rows of all sequences, one after another. */
typedef struct llmc_batch {
  int64_t tokens;             /*  0: T, rows of the step */
  int64_t sequences;          /*  8: S */
  int64_t outputs;            /* 16: R, rows whose logits are wanted */
  int64_t blocks;             /* 24: blocks of every state pool */
  int64_t table_stride;       /* 32: entries of one row of block_table */
  const int32_t *token_ids;   /* 40: [T] */
  const int32_t *positions;   /* 48: [T] absolute position in its sequence */
  const int32_t *token_seq;   /* 56: [T] sequence of the row, 0 .. S-1, ascending */
  const int32_t *query_start; /* 64: [S+1] first row of each sequence */
  const int32_t *context_len; /* 72: [S] positions held after this step */
  const int32_t *block_table; /* 80: [S][table_stride] */
  const int32_t *output_rows; /* 88: [R] ascending rows */
  const int32_t *extents;     /* 96: [S] tokens known of the sequence, this step's included */
  const int32_t *slots;       /* 104: [S] slot of the sequence in every pool of such state; it
                                 means zeros where the sequence's first row has position 0 */
} llmc_batch;

/* Work items [begin, end) of a launch; see docs/Manifest.md. */
typedef void (*llmc_kernel_fn)(void *const *args, int64_t begin, int64_t end, void *scratch);

#ifdef __cplusplus
}
#endif

#endif /* LLMC_RUNTIME_KERNELABI_H */
