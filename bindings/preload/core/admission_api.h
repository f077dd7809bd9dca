/* What the shim asks of its admission library, liboptile_admission.so, which is opened the first
 * time that a plan page has ops admitted to an executor's step, and never before: the strategies of
 * sched, which need a C++ library of their own. C11 and C++20.
 *
 * Calls for one handle come one at a time, from any thread. None blocks, prints, starts a thread or
 * lets an exception out; memory is bounded by the places and executions of a step. */
#pragma once

#include <stdint.h>

#include "bindings/abi/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTILE_ADMISSION_API_VERSION 2u

typedef struct optile_admission_problem {
  uint32_t cores;
  uint32_t hardware_threads; /* of every core */
  uint32_t flow;             /* optile_flow: packed, filled or ahead */
  uint32_t place_count;
  const optile_plan_menu* places; /* for the call alone */
} optile_admission_problem;

typedef struct optile_admitted_op {
  uint32_t node;
  uint32_t width;
} optile_admitted_op;

#define OPTILE_NO_NODE UINT32_MAX

typedef struct optile_admission_api {
  uint32_t version; /* OPTILE_ADMISSION_API_VERSION */
  uint32_t bytes;   /* sizeof(optile_admission_api) */
  /* Null: no such problem can be scheduled, or there is no memory. */
  void* (*open)(const optile_admission_problem* problem);
  void (*close)(void* handle);
  void (*begin_step)(void* handle);
  /* An execution of that place is ready: its node in this step; OPTILE_NO_NODE: it is not
   * scheduled, and runs at once. */
  uint32_t (*ready)(void* handle, uint32_t place);
  /* A node that was admitted in this step has ended, so long after the step began. */
  void (*finished)(void* handle, uint32_t node, double seconds);
  /* What starts now: their number, at most `most`; to be asked again where it is `most`. */
  uint32_t (*decide)(void* handle, double seconds, optile_admitted_op* admitted, uint32_t most);
} optile_admission_api;

/* The library's one symbol. */
#define OPTILE_ADMISSION_SYMBOL "optile_admission"
#define OPTILE_ADMISSION_LIBRARY "liboptile_admission.so"

#ifdef __cplusplus
}
#endif
