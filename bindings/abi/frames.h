/* What is said on the attach socket: a Unix SOCK_SEQPACKET socket, one frame a packet, fixed sizes.
 * The client sends an attach request and gets a reply with two descriptors (SCM_RIGHTS: plan
 * region, client region, in this order) or a refusal; from then on all traffic goes through shared
 * memory and the connection only tells each side that the other is alive. C11 and C++20.
 *
 * The peer's credentials come from the socket (SO_PEERCRED), never from a frame. Texts are
 * NUL-terminated inside their field; a frame whose size, magic or version is off is refused. */
#pragma once

#include "bindings/abi/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Name of the attach socket beside the HTTP socket `optiled.sock`, i.e. <socket path> + this. */
#define OPTILE_ATTACH_SUFFIX ".attach"

enum optile_frame_kind {
  OPTILE_FRAME_ATTACH_REQUEST = 1,
  OPTILE_FRAME_ATTACH_REPLY = 2,
  OPTILE_FRAME_REFUSED = 3
};

/* A client with threads of its own of which no op was seen so far. */
enum optile_whole_program {
  OPTILE_WHOLE_NOT = 0,        /* it is none: an op begins */
  OPTILE_WHOLE_RUNS = 1,       /* its pools are as large as they are */
  OPTILE_WHOLE_SIZES_POOLS = 2 /* it asks for its mask, and makes its pools by the answer */
};

typedef struct optile_frame_header {
  uint32_t magic;
  uint16_t abi_version;
  uint16_t kind;  /* optile_frame_kind */
  uint32_t bytes; /* of the whole frame */
  uint32_t reserved;
} optile_frame_header;

typedef struct optile_attach_request {
  optile_frame_header header;
  int32_t pid;                   /* for display; identity is the connection */
  uint32_t default_width_source; /* optile_width_source, as far as the environment tells */
  uint32_t omp_num_threads;      /* OMP_NUM_THREADS as the program sees it; 0 = unset */
  uint8_t mode;                  /* optile_mode */
  uint8_t search;                /* optile_search */
  uint8_t strategy;              /* optile_strategy */
  uint8_t baseline;              /* 1: `optile baseline`, an untouched run to be recorded as such */
  uint32_t numerics_as_untuned;  /* 1: `--numerics as-untuned`; 0: any */
  uint16_t counters_by_name;     /* 1: `--counters hardware` or `software`; 0: auto, off */
  uint16_t whole_program;        /* optile_whole_program */
  char run_id[40];       /* from OPTILE_RUN_ID: ties the client to its launcher; may be empty */
  char executable[256];  /* /proc/self/exe */
  char program[256];     /* what is run: the executable, or an interpreter's script */
  char arguments[512];   /* argv, blank-separated, cut at the end of the field */
  char launch_plan[256]; /* OPTILE_LAUNCH_PLAN: text of the launch plan in force; may be empty */
  char version[32];      /* of the shim */
  uint32_t share_milli;  /* `--share`, in thousandths; 0 = not said, that is 1 */
  uint8_t priority;      /* optile_priority */
  uint8_t respect;       /* optile_respect */
  uint16_t omp_thread_limit; /* OMP_THREAD_LIMIT as the program sees it; 0 = unset */
  char job[48]; /* processes of one job share as one: OPTILE_JOB, or an MPI launcher's word */
  /* Where the main thread might run when the shim was loaded, by the kernel's numbers; all 0: not
   * known. A runtime that looks at the machine binds the thread here and there for a moment. */
  uint64_t units[OPTILE_MAX_CPUS / 64];
  /* What the user said of pools that are not OpenMP's, as the program sees it; 0 = unset. */
  uint16_t openblas_num_threads;
  uint16_t goto_num_threads;
  uint16_t mkl_num_threads;
  uint16_t blis_num_threads;
} optile_attach_request;
OPTILE_STATIC_ASSERT(sizeof(optile_attach_request) ==
                         16 + 24 + 40 + 256 + 256 + 512 + 256 + 32 + 64 + OPTILE_MAX_CPUS / 8,
                     "attach request layout");

typedef struct optile_attach_reply {
  optile_frame_header header;
  uint64_t client_id;
  uint64_t plan_region_bytes;
  uint64_t client_region_bytes;
  uint64_t reserved[4];
} optile_attach_reply;

typedef struct optile_refused {
  optile_frame_header header;
  char reason[128]; /* for the log */
} optile_refused;

#ifdef __cplusplus
}
#endif
