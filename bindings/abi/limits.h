/* Limits of everything that crosses the line between a client and the daemon. C11 and C++20.
 * Each limit says what happens when it is reached; nothing ever grows beyond one. */
#pragma once

#include <stdint.h>

#define OPTILE_ABI_MAGIC UINT32_C(0x6c697470) /* "ptil" */
#define OPTILE_ABI_VERSION 5u

/* Distinct op instances of a client. Further ones run untouched and are counted as dropped. */
#define OPTILE_MAX_OPS 4096u
/* Issuing threads of a client that are recorded. Ops of further threads are counted only. */
#define OPTILE_MAX_THREADS 8u
/* Events in one thread's ring (a power of two). Ring full: the event is dropped and counted. */
#define OPTILE_RING_EVENTS 4096u
/* Hash slots of a plan page (a power of two), at most half of them used. */
#define OPTILE_PLAN_SLOTS 8192u
/* Sampled steps that one plan page can schedule; the daemon publishes another page for more. */
#define OPTILE_MAX_SCHEDULE 16u
#define OPTILE_MENU_WIDTHS 6u /* of an op place in a plan menu */
/* Processing units that a binding order can name. Machines with more are bound by whole tiles only.
 */
#define OPTILE_MAX_CPUS 1024u
/* Text of an op: longer names and shapes are cut, the key still tells them apart. */
#define OPTILE_NAME_BYTES 96u
#define OPTILE_SHAPE_BYTES 128u
/* The largest `--share`, in thousandths; an attach request with more is refused. */
#define OPTILE_MAX_SHARE_MILLI UINT32_C(1000000)
/* Counters that are read together, and groups of them that steps take turns in. */
#define OPTILE_GROUP_EVENTS 4u
#define OPTILE_COUNTER_GROUPS 4u
/* Disabled entries that are remembered; the oldest is overwritten, all are counted. */
#define OPTILE_MAX_DISABLED 64u
/* Threads that the program has bound itself. A further one takes the place of an earlier one, whose
 * mask is then told from the daemon's by its value only. */
#define OPTILE_MAX_BINDINGS 256u
/* Room for the C library's mutex: 40 bytes on x86-64, 48 on arm64. */
#define OPTILE_LIFE_WORDS 6u
