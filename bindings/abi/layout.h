/* The shared memory between a client (the shim in its program) and the daemon. C11 and C++20.
 *
 * Two anonymous memory files per client, both made and sized by the daemon, sealed against
 * shrinking and growing, and passed over the attach socket (frames.h):
 *   - the plan region: written by the daemon, mapped read-only by the client (sealed so);
 *   - the client region: written by the client, mapped read-only by the daemon.
 *
 * Either side may vanish or misbehave at any moment. So: no lock, one writer per word, every shared
 * word is loaded and stored with the accessors below, and a reader copies to locals, checks the
 * copy, and only then uses it. Times are ticks of the clock that `clock_kind` names: one for both.
 * Any change here is a new OPTILE_ABI_VERSION and a new golden copy in tests/abi. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bindings/abi/limits.h"
#include "bindings/abi/op_words.h"
#include "bindings/abi/thread_binding.h"

#ifdef __cplusplus
#define OPTILE_STATIC_ASSERT(cond, text) static_assert(cond, text)
extern "C" {
#else
#define OPTILE_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

/* ---- words ---------------------------------------------------------------------------------- */
static inline uint64_t optile_load64(const uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
static inline void optile_store64(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
static inline uint32_t optile_load32(const uint32_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
static inline void optile_store32(uint32_t* word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* ---- vocabulary ----------------------------------------------------------------------------- */
enum optile_mode {
  OPTILE_MODE_TUNE = 0,
  OPTILE_MODE_OBSERVE = 1,
  OPTILE_MODE_ADVISE = 2,
  OPTILE_MODE_FREEZE = 3,
  OPTILE_MODE_OFF = 4
};
enum optile_search { OPTILE_SEARCH_AUTO = 0, OPTILE_SEARCH_PAPER = 1 };
enum optile_strategy {
  OPTILE_STRATEGY_AUTO = 0,    /* planner: run time plus measured switching cost */
  OPTILE_STRATEGY_1 = 1,       /* every instance at its own best width */
  OPTILE_STRATEGY_2 = 2,       /* one width per op, that of its slowest instance */
  OPTILE_STRATEGY_UNIFORM = 3, /* one width for the whole step */
  /* Of a framework that runs several ops at once; elsewhere as strategy 2. */
  OPTILE_STRATEGY_3 = 4,         /* ops that are ready, side by side as they fit */
  OPTILE_STRATEGY_4 = 5,         /* and on the hardware threads of taken cores */
  OPTILE_STRATEGY_LOOK_AHEAD = 6 /* what the rest of the step waits for longest goes first */
};
/* Who is served first when cores are divided between programs. */
enum optile_priority { OPTILE_PRIORITY_NORMAL = 0, OPTILE_PRIORITY_BATCH = 1 };
/* How far what the user set about numbers of threads binds. */
enum optile_respect {
  OPTILE_RESPECT_CAP = 0,   /* never wider */
  OPTILE_RESPECT_EXACT = 1, /* that width, neither wider nor narrower */
  OPTILE_RESPECT_IGNORE = 2 /* the launcher took it out of the environment, as it was asked to */
};
enum optile_binding {
  OPTILE_BINDING_NONE = 0,    /* the masks are left alone */
  OPTILE_BINDING_COMPACT = 1, /* neighbouring threads share a tile */
  OPTILE_BINDING_SPREAD = 2   /* at most one thread to a tile */
};
/* How counters were read while profiling; a higher tier shows more. */
enum optile_counter_tier {
  OPTILE_COUNTERS_NONE = 0,     /* not tried, or not allowed: time only */
  OPTILE_COUNTERS_SOFTWARE = 1, /* the kernel's own events */
  OPTILE_COUNTERS_HARDWARE = 2  /* those of the processor */
};
enum optile_counter_event {
  OPTILE_COUNT_NOTHING = 0, /* an unused place of a group */
  OPTILE_COUNT_CYCLES = 1,
  OPTILE_COUNT_INSTRUCTIONS = 2,
  OPTILE_COUNT_LLC_ACCESSES = 3,
  OPTILE_COUNT_LLC_MISSES = 4,
  OPTILE_COUNT_L1_HITS = 5,
  OPTILE_COUNT_TASK_CLOCK_NS = 6,
  OPTILE_COUNT_PAGE_FAULTS = 7,
  OPTILE_COUNT_CONTEXT_SWITCHES = 8,
  OPTILE_COUNT_MIGRATIONS = 9
};
enum optile_clock { OPTILE_CLOCK_MONOTONIC_NS = 0, OPTILE_CLOCK_CPU_COUNTER = 1 };
enum optile_runtime {
  OPTILE_RUNTIME_UNKNOWN = 0,
  OPTILE_RUNTIME_LIBGOMP = 1,
  OPTILE_RUNTIME_LLVM = 2 /* LLVM's libomp, also Intel's libiomp5 */
};
/* Who set the width that the program runs at by itself; the strongest source so far. */
enum optile_width_source {
  OPTILE_WIDTH_DEFAULT = 0,     /* nobody: the runtime's default */
  OPTILE_WIDTH_LAUNCHER = 1,    /* `optile run` exported the budget */
  OPTILE_WIDTH_ENVIRONMENT = 2, /* OMP_NUM_THREADS or its like, before the launcher */
  OPTILE_WIDTH_FRAMEWORK = 3,   /* a framework while it initialised */
  OPTILE_WIDTH_PROGRAM = 4      /* the program: at::set_num_threads, omp_set_num_threads */
};

/* What saw an op. */
enum optile_probe {
  OPTILE_PROBE_TORCH = 1,      /* PyTorch's RecordFunction */
  OPTILE_PROBE_REGION = 2,     /* an OpenMP region outside any op */
  OPTILE_PROBE_ANNOTATION = 3, /* optile_op_begin() in the program */
  OPTILE_PROBE_ONEDNN = 4,
  OPTILE_PROBE_BLAS = 5,
  OPTILE_PROBE_TBB = 6,
  OPTILE_PROBE_ITT = 7, /* oneDNN inside another library, by its ITT tasks: never has a width */
  OPTILE_PROBE_TENSORFLOW = 8 /* a kernel that TensorFlow's executor computes */
};

/* ---- plan region ---------------------------------------------------------------------------- */
enum optile_entry_flag {
  OPTILE_ENTRY_RECORD = 1,   /* write an event for every execution */
  OPTILE_ENTRY_LEAVE = 2,    /* observed only: the width is never changed */
  OPTILE_ENTRY_SAME_BITS = 4 /* its bits are the same at every width: obeyed as untouched too */
};
/* One op instance's decision. Found by (context, key), then by (0, key).
 * Widths: 0 = the program's own. Whatever stands here, the shim never goes wider than the program's
 * own count at that moment, and runs the first execution of every key at it. */
typedef struct optile_plan_entry {
  uint64_t key;           /* 0 = free slot */
  uint64_t context;       /* rolling hash of the keys before it; 0 = any */
  uint16_t width;         /* in force when no scheduled step is running */
  uint16_t flags;         /* optile_entry_flag */
  uint32_t accepted_loss; /* thousandths of the baseline that the plan knowingly costs this op */
  uint16_t schedule[OPTILE_MAX_SCHEDULE]; /* width in the i-th scheduled step */
  uint64_t baseline_ticks; /* an execution at the program's default width; 0 = not known */
} optile_plan_entry;
OPTILE_STATIC_ASSERT(sizeof(optile_plan_entry) == 64, "plan entry layout");

enum optile_page_flag {
  OPTILE_PAGE_RECORD_ALL = 1,    /* record events of every op, also of ops without an entry */
  OPTILE_PAGE_RECORD_NESTED = 2, /* attribute self time to nested ops too */
  /* no entry changes a width: probes may leave out most steps */
  OPTILE_PAGE_MAY_PAUSE_SAMPLING = 4,
  OPTILE_PAGE_COUNT = 8 /* read counters around recorded ops, one group a step */
};
/* How the ops of an executor that runs several at once pass. */
enum optile_flow {
  OPTILE_FLOW_FREE = 0,   /* as the executor hands them out, none wider than the flow's cap */
  OPTILE_FLOW_SERIAL = 1, /* one at a time, each at the width of its entry */
  OPTILE_FLOW_PACKED = 2, /* side by side, admitted by strategy 3 */
  OPTILE_FLOW_FILLED = 3, /* the same, and strategy 4 */
  OPTILE_FLOW_AHEAD = 4   /* side by side, admitted by what the rest of the step waits for */
};
/* What an op place costs, for who admits its executions: widths, 0 = none from here on, with the
 * seconds of an execution alone. */
typedef struct optile_plan_menu {
  uint32_t op;       /* places of one op have one number */
  uint32_t per_step; /* executions in a step; 0 = the op is not scheduled */
  uint16_t width[OPTILE_MENU_WIDTHS];
  float seconds[OPTILE_MENU_WIDTHS];
  uint32_t reserved;
} optile_plan_menu;
OPTILE_STATIC_ASSERT(sizeof(optile_plan_menu) == 48, "plan menu layout");

/* Immutable once published. `generation` is 0 while it is being written; a reader that sees another
 * one after its copy than before it throws the copy away. */
typedef struct optile_plan_page {
  uint64_t generation;
  uint32_t flags; /* optile_page_flag */
  uint32_t entry_count;
  uint64_t marker_key;        /* the op that starts a step; 0 = steps not known yet */
  uint64_t marker_context;    /* 0 = in any context */
  uint32_t schedule_length;   /* scheduled steps, begun at the first marker after adoption */
  uint32_t binding;           /* optile_binding in force when no scheduled step is running */
  uint32_t cpu_count;         /* valid entries of each order */
  uint32_t default_width_cap; /* lease or budget: default width is at most this; 0 = no cap */
  uint8_t schedule_binding[OPTILE_MAX_SCHEDULE];
  uint8_t schedule_flow[OPTILE_MAX_SCHEDULE];      /* optile_flow in the i-th scheduled step */
  uint16_t schedule_flow_cap[OPTILE_MAX_SCHEDULE]; /* and its widest op; 0 = no such cap */
  uint16_t flow; /* optile_flow in force when no scheduled step is running */
  uint16_t flow_cap;
  uint16_t admitting_cores;                /* that admitted ops share */
  uint16_t hardware_threads;               /* of each of them */
  uint64_t reserved;                       /* 0; the slots begin at a cache line */
  uint16_t compact_order[OPTILE_MAX_CPUS]; /* processing unit of the i-th thread */
  uint16_t spread_order[OPTILE_MAX_CPUS];
  optile_plan_entry slots[OPTILE_PLAN_SLOTS]; /* open addressing from optile_plan_slot() */
  optile_plan_menu menus[OPTILE_PLAN_SLOTS];  /* of the entry in the same slot */
} optile_plan_page;
OPTILE_STATIC_ASSERT(offsetof(optile_plan_page, slots) % 64 == 0, "plan slots are aligned");

typedef struct optile_plan_region {
  uint32_t magic, abi_version;
  uint64_t generation; /* of the current page, which is pages[generation & 1]; 0 = no plan yet */
  uint64_t heartbeat;  /* the daemon's tick count, for `is it alive` in reports only */
  uint64_t tails[OPTILE_MAX_THREADS]; /* per thread slot: events the daemon has consumed */
  uint64_t shared_cores; /* that ops of several threads at once share; 0 = each as if alone */
  uint64_t main_issuer;  /* slot whose steps are followed, plus 1; 0 = every thread's */
  uint64_t wait_cap;     /* idle OpenMP threads spin for less than so many ms; 0 = no word on it */
  uint64_t mask_follows; /* 1: a whole program is about to get a mask to size its pools by */
  uint64_t held_mask;    /* optile_mask_word() of its threads' masks under a lease; 0 = no mask */
  optile_plan_page pages[2];
} optile_plan_region;

/* First slot to probe; then the next ones, wrapping, until a free one or OPTILE_PLAN_SLOTS. */
static inline uint32_t optile_plan_slot(uint64_t key, uint64_t context) {
  uint64_t mixed = (key ^ (context * UINT64_C(0x9e3779b97f4a7c15))) * UINT64_C(0xff51afd7ed558ccd);
  return (uint32_t)(mixed >> 32) & (OPTILE_PLAN_SLOTS - 1u);
}

/* The context after an op with `key` ran in `context`: a rolling hash in which a key fades out
 * after 8 ops (8 bits are shifted out with each). 0 is kept for "any". */
static inline uint64_t optile_next_context(uint64_t context, uint64_t key) {
  uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15);
  uint64_t next = (context << 8) ^ (mixed >> 56);
  return next == 0 ? 1 : next;
}

/* ---- client region -------------------------------------------------------------------------- */
enum optile_event_kind {
  OPTILE_EVENT_OP = 1,   /* one execution of an op at depth 0 */
  OPTILE_EVENT_STEP = 2, /* a step ended: op_id is unused, ticks is the step's time */
  /* What was counted in the op whose event comes next in the ring. The first four words are counts
   * of the events of group `column`, in its order; `regions` is how many threads were counted. */
  OPTILE_EVENT_COUNTS = 3
};
enum optile_event_flag {
  OPTILE_EVENT_FIRST_TOUCH = 1,      /* first execution of this op at this width: not a sample */
  OPTILE_EVENT_SCHEDULED = 2,        /* `column` of the schedule was in force */
  OPTILE_EVENT_MIXED_GENERATION = 4, /* the plan changed inside this step: not a sample */
  OPTILE_EVENT_DEFAULT_WIDTH = 8,    /* ran at the program's default width */
  OPTILE_EVENT_STEERABLE = 16,       /* an actuator could have set the width */
  OPTILE_EVENT_OVERLAPPED = 32,      /* OP: others were in ops too: not a sample. STEP: mostly so */
  OPTILE_EVENT_UNHEARD = 64          /* STEP: its ops passed without being told of */
};
typedef struct optile_event {
  uint64_t begin_ticks;
  uint64_t ticks;          /* duration */
  uint64_t context;        /* OP: context it ran in. STEP: ticks observed inside ops at depth 0 */
  uint64_t region_ticks;   /* OP: inside OpenMP regions. STEP: ticks inside steerable ops */
  uint32_t op_id;          /* OP: index into the registry */
  uint32_t generation_low; /* low half of the plan generation in force; 0 = no plan */
  uint32_t step;           /* steps begun since attach */
  uint16_t width;          /* in force; 0 = not known (no runtime seen yet) */
  uint16_t flags;          /* optile_event_flag */
  uint32_t regions;        /* OP: regions inside. STEP: ops inside */
  uint16_t kind;           /* optile_event_kind */
  uint8_t column;          /* of the schedule, when OPTILE_EVENT_SCHEDULED */
  uint8_t binding;         /* optile_binding in force */
  uint32_t width_changes;  /* STEP: how often an actuator changed the width in it */
  uint32_t reserved;
} optile_event;
OPTILE_STATIC_ASSERT(sizeof(optile_event) == 64, "event layout");

/* Totals of one op on one thread since attach, in every mode. */
typedef struct optile_aggregate {
  uint64_t count, ticks;
  uint64_t min_ticks;    /* 0 = none yet */
  uint64_t squares;      /* sum of (ticks / 256)^2, wrapping */
  uint64_t region_ticks; /* of executions whose event was recorded */
  uint64_t regions;
  uint64_t default_width_count;
  uint64_t reserved;
} optile_aggregate;
OPTILE_STATIC_ASSERT(sizeof(optile_aggregate) == 64, "aggregate layout");

/* One producer (the thread), one consumer (the daemon, whose position is in `tails`). The producer
 * never overwrites: it drops and counts while head - tail == OPTILE_RING_EVENTS. */
typedef struct optile_thread_slot {
  uint64_t head;    /* events ever written; event i is ring[i % OPTILE_RING_EVENTS] */
  uint64_t dropped; /* events dropped because the ring was full */
  uint32_t tid;     /* 0 = free slot */
  uint32_t reserved;
  optile_open_region open;
  optile_event ring[OPTILE_RING_EVENTS];
  optile_aggregate aggregates[OPTILE_MAX_OPS];
} optile_thread_slot;

/* An entry that the shim no longer obeys, because the op was slower under it than at the program's
 * default width, now and on this machine. Complete once `key` is set. */
typedef struct optile_disabled_entry {
  uint64_t key; /* 0 = not complete */
  uint64_t context;
  uint64_t entry_ticks; /* mean of an execution under the entry */
  uint64_t own_ticks;   /* and at the program's default width afterwards */
  uint32_t generation_low;
  uint16_t width; /* that the entry asked for */
  uint16_t reserved;
} optile_disabled_entry;
OPTILE_STATIC_ASSERT(sizeof(optile_disabled_entry) == 40, "disabled entry layout");

typedef struct optile_op_record {
  uint64_t key;
  uint32_t flags; /* optile_op_flag */
  uint32_t probe; /* optile_probe */
  char name[OPTILE_NAME_BYTES];
  char shape[OPTILE_SHAPE_BYTES];
  uint64_t tuning; /* optile_region_tuning, of regions; may change while the program runs */
  uint64_t reserved;
} optile_op_record;
OPTILE_STATIC_ASSERT(sizeof(optile_op_record) == 256, "op record layout");

/* Why the shim did less than it could; bits of optile_client_header.fallbacks. */
enum optile_fallback {
  OPTILE_FALLBACK_NO_RUNTIME = 1,           /* no OpenMP runtime resolved: widths stay */
  OPTILE_FALLBACK_TWO_RUNTIMES = 2,         /* several OpenMP copies: the caller's own is steered */
  OPTILE_FALLBACK_BRIDGE_MISSING = 4,       /* PyTorch without a bridge for its version */
  OPTILE_FALLBACK_OPS_FULL = 8,             /* OPTILE_MAX_OPS reached */
  OPTILE_FALLBACK_THREADS_FULL = 16,        /* OPTILE_MAX_THREADS reached */
  OPTILE_FALLBACK_USER_BINDING = 32,        /* OMP_PROC_BIND and the like: masks left alone */
  OPTILE_FALLBACK_MASK_REFUSED = 64,        /* the kernel refused or clipped a mask */
  OPTILE_FALLBACK_RUNTIME_UNSUITABLE = 128, /* an object needs entry points that libomp lacks */
  OPTILE_FALLBACK_BLAS_SHARED = 256,        /* several issuing threads: BLAS pool left alone */
  OPTILE_FALLBACK_FORKED = 512,             /* a forked child: untouched */
  OPTILE_FALLBACK_NO_COUNTERS = 1024,       /* PAPI or the kernel refused: time only */
  OPTILE_FALLBACK_ENTRY_DISABLED = 2048, /* an entry lost against default widths: see `disabled` */
  OPTILE_FALLBACK_OTHER_MANAGER = 4096   /* DLB or the like is loaded: observed only */
};

typedef struct optile_client_header {
  uint32_t magic, abi_version;
  uint32_t clock_kind; /* optile_clock */
  uint32_t runtime;    /* optile_runtime of the steered copy */
  uint64_t ticks_per_second;
  uint64_t attach_ticks;
  uint64_t progress; /* ops begun, all threads: a stopped client does not count on */
  uint64_t adopted_generation;
  uint32_t registry_count; /* valid records in `ops` */
  uint32_t fallbacks;      /* optile_fallback */
  uint32_t default_width;  /* program's default width as last seen at depth 0; 0 = not known yet */
  uint32_t default_width_source; /* optile_width_source */
  uint32_t blas_threads;         /* the pool's own count; 0 = no steerable pool */
  uint32_t steps;         /* steps begun since attach, those that no probe watched included */
  uint64_t unseen_ops;    /* begun but not recorded: registry or thread limit, reentrancy */
  uint64_t shim_ticks;    /* time spent inside the shim while recording events (sampled) */
  uint64_t annotations;   /* optile_step() calls */
  char runtime_path[256]; /* valid when runtime != 0 */
  char blas_path[256];    /* valid when blas_ready != 0; empty = none; then see blas_beside */
  uint32_t blas_ready;
  uint32_t counter_tier;   /* optile_counter_tier; set after the groups below */
  uint32_t counter_groups; /* that the steps take turns in */
  int32_t counter_errno;   /* why a higher tier was refused; 0 = nothing was */
  uint8_t counter_events[OPTILE_COUNTER_GROUPS][OPTILE_GROUP_EVENTS]; /* optile_counter_event */
  uint64_t disabled_count; /* ever; number i is disabled[i % OPTILE_MAX_DISABLED] */
  optile_disabled_entry disabled[OPTILE_MAX_DISABLED];
  uint64_t life[OPTILE_LIFE_WORDS]; /* a robust mutex; optile_liveness_futex() is what is watched */
  uint64_t narrowed_ops;            /* begun narrower than alone, since threads share the cores */
  uint32_t issuing_threads;         /* that issued ops, ended ones included */
  uint32_t most_in_ops;             /* at the same moment */
  uint32_t region_width;            /* threads of the program's own regions; 0 = none seen */
  uint32_t wait_changes;            /* how often a new `wait_cap` was followed */
  uint32_t blas_beside;             /* more that are steered; their names follow in blas_path */
  uint32_t sized_units; /* by how many a whole program has sized its pools; 0 = it did not ask */
  uint64_t reserved[17 - OPTILE_LIFE_WORDS];
} optile_client_header;

/* The futex word that a thread of the client owns while it lives: its thread id and two bits of the
 * kernel's (robust futexes, set_robust_list(2)). When the owner ends in whatever way, the kernel
 * sets FUTEX_OWNER_DIED in it and wakes who waits, before it takes the memory apart. 0 = nobody has
 * owned it yet. For liveness only: no data is guarded by it and the daemon never writes it. */
static inline const uint32_t* optile_liveness_futex(const optile_client_header* header) {
  return (const uint32_t*)(const void*)header->life;
}

typedef struct optile_client_region {
  optile_client_header header;
  optile_op_record ops[OPTILE_MAX_OPS];
  optile_thread_slot threads[OPTILE_MAX_THREADS];
  optile_thread_binding bindings[OPTILE_MAX_BINDINGS]; /* thread t: t % OPTILE_MAX_BINDINGS */
} optile_client_region;

#ifdef __cplusplus
}
#endif
