/*===- DevicePlugin.h - what a device offers to the runtime --------*- C -*-===
 *
 * A device is a table of functions. The runtime evaluates a manifest into a
 * list of commands once per session, fills in the work items of a step, and
 * hands the whole list over: how threads, streams or queues walk it is the
 * device's business. A plugin is a shared object that exports
 *
 *   const llmc_device_api *llmc_device_plugin_query(void);
 *
 * Functions return LLMC_DEVICE_OK or an error whose text is in the buffer of
 * the llmc_device_error they were given. No function throws.
 *
 *===----------------------------------------------------------------------===*/
#ifndef LLMC_RUNTIME_DEVICEPLUGIN_H
#define LLMC_RUNTIME_DEVICEPLUGIN_H

#include "llmc/Runtime/KernelABI.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A larger minor only appends members to the table; see `size`. Major 2: the batch that a launch
   is given is args[0], not always the step's. */
#define LLMC_DEVICE_ABI_MAJOR 2
#define LLMC_DEVICE_ABI_MINOR 0

typedef struct llmc_device llmc_device;
typedef struct llmc_device_module llmc_device_module;

typedef enum llmc_device_status {
  LLMC_DEVICE_OK = 0,
  LLMC_DEVICE_INPUT = 1,     /* a file or this machine does not fit */
  LLMC_DEVICE_USAGE = 2,     /* the caller asked for what is not possible */
  LLMC_DEVICE_INTERNAL = 3,  /* the device is at fault */
  LLMC_DEVICE_CANCELLED = 4, /* the step was stopped on request */
} llmc_device_status;

typedef struct llmc_device_error {
  char text[1024];
} llmc_device_error;

/* When pages of mapped files are in memory. Never changes a result. */
typedef enum llmc_weights_mode {
  LLMC_WEIGHTS_MAPPED = 0,   /* once they are touched, as long as the system keeps them */
  LLMC_WEIGHTS_RESIDENT = 1, /* all, before file_map returns */
  LLMC_WEIGHTS_STREAMED = 2, /* from the launch that reads them until soon behind it */
} llmc_weights_mode;

typedef struct llmc_device_options {
  int32_t threads; /* worker threads; 0: as many as the process may use */
  int32_t pin;     /* 1: bind worker t to the t-th processor of the process */
  int32_t ordinal; /* which device of several */
  int32_t weights; /* llmc_weights_mode; a hint, and 0 before minor 1 */
} llmc_device_options;

typedef struct llmc_device_info {
  char name[64]; /* "cpu" */
  char description[256];
  int32_t threads;
  int32_t host_memory; /* 1: addresses can be used by the caller */
} llmc_device_info;

/* Kernels of an artifact: symbols are without the variant's suffix. */
typedef struct llmc_device_variant {
  const char *name, *suffix;
  const char *const *requires_features;
  size_t requires_count;
} llmc_device_variant;

typedef struct llmc_device_kernel {
  const char *name, *symbol;
  int64_t scratch;  /* bytes a thread */
  const char *file; /* of device code, relative to the folder; NULL: kernels.so */
  int64_t block[3], shared_bytes;
} llmc_device_kernel;

typedef struct llmc_device_module_desc {
  const char *folder;
  const llmc_device_variant *variants;
  size_t variant_count;
  const llmc_device_kernel *kernels;
  size_t kernel_count;
} llmc_device_module_desc;

typedef enum llmc_command_kind {
  LLMC_COMMAND_LAUNCH = 0,
  LLMC_COMMAND_OBSERVE = 1,
  LLMC_COMMAND_COLLECTIVE = 2,
} llmc_command_kind;

/* `args`: args[0] is the batch (the step's, or a copy of it with the blocks of
   states with a window), then the operands. For observe and collective args[0]
   is the data. Pointers stay valid as long as the session. */
typedef struct llmc_command {
  uint32_t kind;
  uint32_t kernel; /* launch: index into the module's kernels */
  void *const *args;
  int64_t arg_count;
  int64_t items;   /* of this step; observe: rows; collective: elements */
  int64_t width;   /* observe: elements of a row */
  int64_t grid[3]; /* launch of device code */
  int32_t group;   /* collective */
  int32_t tag;     /* the caller's */
} llmc_command;

typedef struct llmc_device_step {
  llmc_device_module *module;
  const llmc_command *commands;
  size_t command_count;
  const llmc_batch *batch;
  void *workspace; /* one equal part a thread */
  int64_t workspace_bytes;
  /* Polled now and then from one thread; not zero ends the step early. NULL: never. */
  int (*cancelled)(void *user);
  /* Called at observation points with all earlier commands done. */
  void (*observe)(void *user, const llmc_command *command, const float *data);
  /* Runs a collective; every rank of the group calls it. */
  int (*collective)(void *user, const llmc_command *command);
  /* Nanoseconds of every command are added here when not NULL. */
  int64_t *nanoseconds;
  void *user;
} llmc_device_step;

#define LLMC_ARENA_HUGE_PAGES 1u /* written all over soon: large pages help */
#define LLMC_ARENA_POISON 2u     /* fill with NaN, for tests */

typedef struct llmc_device_api {
  uint16_t abi_major, abi_minor;
  uint32_t size; /* sizeof(llmc_device_api) of the plugin */
  const char *name;

  llmc_device_status (*open)(const llmc_device_options *options, llmc_device **device,
                             llmc_device_error *error);
  void (*close)(llmc_device *device);
  void (*describe)(llmc_device *device, llmc_device_info *info);

  /* Zeroed (or poisoned) memory, aligned to a page. `allocated` is increased
     by the bytes really taken for it. */
  llmc_device_status (*arena_allocate)(llmc_device *device, int64_t bytes, uint32_t flags,
                                       void **address, int64_t *allocated,
                                       llmc_device_error *error);
  void (*arena_free)(llmc_device *device, void *address, int64_t bytes);

  /* A file's first `bytes`, read-only and shared between processes where the device can. */
  llmc_device_status (*file_map)(llmc_device *device, const char *path, int64_t bytes,
                                 const void **address, int64_t *allocated,
                                 llmc_device_error *error);
  void (*file_unmap)(llmc_device *device, const void *address, int64_t bytes);

  /* Chooses the variant, and resolves every symbol. */
  llmc_device_status (*module_load)(llmc_device *device, const llmc_device_module_desc *desc,
                                    llmc_device_module **module, const char **variant,
                                    llmc_device_error *error);
  void (*module_unload)(llmc_device *device, llmc_device_module *module);

  /* Runs the commands in order; may return before they are done. */
  llmc_device_status (*launch)(llmc_device *device, const llmc_device_step *step,
                               llmc_device_error *error);
  llmc_device_status (*synchronize)(llmc_device *device, llmc_device_error *error);
} llmc_device_api;

typedef const llmc_device_api *(*llmc_device_plugin_query_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* LLMC_RUNTIME_DEVICEPLUGIN_H */
