/* Allocation.c - malloc that reports the end of memory
 *
 * Part of the compiler's programs. Much of what they call takes what malloc
 * gives without a look, so that a process at its limit ends by a signal with an
 * artifact half-written. Here it ends as OutOfMemory.h says, once that is
 * installed; before, and in other programs, nothing changes.
 */
#define _GNU_SOURCE
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

/* Of OutOfMemory::install; NULL until then. */
void (*llmc_out_of_memory)(void);

static void *checked(void *memory, size_t size) {
  if (!memory && size && llmc_out_of_memory)
    llmc_out_of_memory();
  return memory;
}

void *malloc(size_t size) { return checked(__libc_malloc(size), size); }

void *calloc(size_t count, size_t size) { return checked(__libc_calloc(count, size), count && size); }

void *realloc(void *old, size_t size) { return checked(__libc_realloc(old, size), size); }
