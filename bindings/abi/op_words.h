/* What a client says of its ops besides their times: what they are, whether a region's width is
 * tuned, and which region might be hanging. C11 and C++20. */
#pragma once

#include <stdint.h>

enum optile_op_flag {
  OPTILE_OP_BACKWARD = 1,
  OPTILE_OP_NESTED = 2, /* never at depth 0: self time only, never steered */
  OPTILE_OP_REGION = 4  /* an anonymous OpenMP region outside any op: see optile_region_tuning */
};
/* Whether a region's width is tuned, and every reason why not. 0 = not known yet: observed only. */
enum optile_region_tuning {
  OPTILE_REGION_TUNED = 1,         /* set at the end of the region before; no other bit is */
  OPTILE_REGION_NOT_ASKED = 2,     /* regions are observed unless the user says otherwise */
  OPTILE_REGION_NOT_LISTED = 4,    /* the user named other objects */
  OPTILE_REGION_ENVIRONMENT = 8,   /* the user set OMP_NUM_THREADS or OMP_THREAD_LIMIT */
  OPTILE_REGION_PROGRAM = 16,      /* the program set its number of threads while it ran */
  OPTILE_REGION_CLAUSE = 32,       /* a num_threads or if clause */
  OPTILE_REGION_ASKS = 64,         /* its object asks how many threads there can be */
  OPTILE_REGION_SETS = 128,        /* its object sets how many there are */
  OPTILE_REGION_PRESIZES = 256,    /* a library that is known to size its work before */
  OPTILE_REGION_OTHERS = 512,      /* another object of the program asks or sets */
  OPTILE_REGION_NESTED = 1024,     /* regions were opened inside regions */
  OPTILE_REGION_RUNTIME = 2048,    /* of another OpenMP runtime than the one that is steered */
  OPTILE_REGION_UNKNOWN = 4096,    /* more regions than can be told apart */
  OPTILE_REGION_PER_THREAD = 8192, /* an object keeps data per thread from region to region */
  OPTILE_REGION_UNSEEN = 16384     /* an object may open regions that the shim does not see */
};
/* The region that is open on a thread at another width than the program's own. One that stays open
 * for very long may be hanging. */
typedef struct optile_open_region {
  uint64_t key;   /* 0 = none is; the others are complete while it is set */
  uint64_t since; /* ticks */
  uint64_t width;
  uint64_t reserved[2];
} optile_open_region;
