/*===- UserKernel.h - a CPU kernel of one's own --------------------*- C -*-===
 *
 * What a function has to be that a kernel library names (docs/Extending.md).
 *
 *===----------------------------------------------------------------------===*/
#ifndef LLMC_RUNTIME_USERKERNEL_H
#define LLMC_RUNTIME_USERKERNEL_H

#include "llmc/Runtime/KernelABI.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes work items [begin, end): rows, of all heads where there are heads.
 *   args     args[0] is the step's llmc_batch; then the operands in the operation's order, then what
 *            it gives: rows of dense f32, [items][heads * width], weights dense f32, row by row
 *   scratch  the thread's own, 64-byte aligned, of the bytes that the library states
 *   facts    the numbers that the library lists, in its order
 * `llmc_user_kernel my_kernel;` in front of a definition lets the compiler check its parameters; in
 * C++ both stand in extern "C".
 */
typedef void llmc_user_kernel(void *const *args, int64_t begin, int64_t end, void *scratch,
                              const double *facts);
typedef llmc_user_kernel *llmc_user_kernel_fn;

#ifdef __cplusplus
}
#endif

#endif /* LLMC_RUNTIME_USERKERNEL_H */
