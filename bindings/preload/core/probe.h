/* The probe interface: how anything that sees op boundaries tells the shim's core. C11 and C++20.
 *
 * A probe lives in the client's process, inside the shim (regions) or in a library of its own that
 * the shim opens (the PyTorch bridge). It calls op_begin/op_end in strict nesting on the thread
 * that issues the op, also on exception paths. The outermost op wins: only it gets a width; ops
 * inside it are accounted to it. The core never blocks, allocates or throws, and may be called
 * before, during and after attachment, in forked children and in signal handlers: then it does
 * nothing. */
#pragma once

#include <stdint.h>

#include "bindings/abi/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTILE_PROBE_API_VERSION 2u

/* Besides optile_op_flag: an op that only calls others on its thread and sizes nothing itself. It
 * is looked through: each op inside it is an outermost one; time between them counts as observed.
 * Its key, name and shape are not asked for. */
#define OPTILE_OP_COMPOSITE 256u

/* With OPTILE_OP_COMPOSITE: one of a row that a loop of the framework's own works off on its thread
 * (the nodes of a backward pass). Between two of a row, with no op in between, the framework is at
 * work too, and that time counts as observed. */
#define OPTILE_OP_IN_ROW 512u

/* An op whose width nobody here can set: the library that runs it does not follow the count that is
 * steered. It is observed at the width that it has. */
#define OPTILE_OP_FIXED 1024u

/* With OPTILE_OP_COMPOSITE: the framework compares the number of threads with what it was before,
 * so the program's own has to be in force there, also while sampling is paused. */
#define OPTILE_OP_READS_COUNT 2048u

/* It runs code of the program's own, which may hang at a width that is not: the daemon sees it open
 * for as long as it has one of ours. */
#define OPTILE_OP_MAY_HANG 4096u

/* Who an op is. `describe` is called at most once per key, when the key is registered. */
typedef struct optile_op_identity {
  uint64_t key;   /* of name, shapes, types and direction; never 0 */
  uint32_t flags; /* optile_op_flag */
  uint32_t probe; /* optile_probe */
  /* Writes name and shape, cut and NUL-terminated. `source` is handed through untouched. */
  void (*describe)(const void* source, char name[OPTILE_NAME_BYTES],
                   char shape[OPTILE_SHAPE_BYTES]);
  const void* source;
} optile_op_identity;

/* Storage for one open op, owned by the probe (its stack or a small pool); opaque to it. */
typedef struct optile_open_op {
  uint64_t words[8];
} optile_open_op;

typedef struct optile_probe_api {
  uint32_t version; /* OPTILE_PROBE_API_VERSION */
  uint32_t bytes;   /* sizeof(optile_probe_api) */
  /* 1 when an op that begins now on this thread would be the outermost: the probe then needs the
   * full identity. 0 inside an op: the name is enough (nested time), or nothing when `nested` says
   * that nobody asks. */
  int (*at_depth_0)(void);
  int (*nested_wanted)(void);
  void (*op_begin)(const optile_op_identity* identity, optile_open_op* open);
  void (*op_end)(optile_open_op* open);
  /* A step boundary that the program itself declares. */
  void (*step)(void);
  /* A probe whose reports cost time offers to pause: `set_sampling(0)` makes it report no ops,
   * `set_sampling(1)` makes it report them again. Called on the issuing thread, also inside
   * op_begin. To be offered at most once, before the first op; `set_sampling` must not block. */
  void (*offer_sampling_pause)(void (*set_sampling)(int on));
  /* Something that the framework does as often in every step, seen at no cost while paused. By
   * these the core counts steps meanwhile, and wakes the probe: a probe that has none never pauses.
   * On the issuing thread. */
  void (*landmark)(void);
} optile_probe_api;

/* Exported by every probe library; returns 0, or non-zero when it cannot work here. `library` is a
 * dlopen handle of the framework that was noticed. */
typedef int (*optile_probe_start_fn)(const optile_probe_api* api);
#define OPTILE_PROBE_START_SYMBOL "optile_probe_start"

#ifdef __cplusplus
}
#endif
