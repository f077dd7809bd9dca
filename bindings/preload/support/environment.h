// What the launcher, or the user, told this process through its environment. Read once by the
// shim's constructor, before main; constant afterwards, any thread.
#pragma once

#include <stdint.h>

#include "bindings/abi/frames.h"

namespace optile::preload {

struct Environment {
  bool off = true;  // until the constructor has run, and with OPTILE_MODE=off: pure passthrough
  uint8_t mode = OPTILE_MODE_TUNE;
  uint8_t search = OPTILE_SEARCH_AUTO;
  uint8_t strategy = OPTILE_STRATEGY_AUTO;
  uint8_t priority = OPTILE_PRIORITY_NORMAL;
  uint8_t respect = OPTILE_RESPECT_CAP;
  uint32_t share_milli = 0;  // 0 = not said
  bool baseline = false;
  bool as_untuned = false;  // it has to compute the same bits as an untouched run
  bool steer_blas = true;
  bool steer_wait = false;  // how long idle threads spin is nobody's word but the launcher's
  uint8_t highest_counters = OPTILE_COUNTERS_HARDWARE;  // optile_counter_tier
  bool counters_by_name = false;                        // not by default
  bool user_binding = false;      // OMP_PROC_BIND and the like: masks are the user's
  bool tune_regions = false;      // of the program's own
  char region_objects[512] = "";  // only those of these objects, comma-separated; "" = as they may
  // What is said about numbers of threads; 0 = not said.
  uint32_t omp_num_threads = 0;
  uint16_t omp_thread_limit = 0;
  uint16_t openblas_num_threads = 0;
  uint16_t goto_num_threads = 0;
  uint16_t mkl_num_threads = 0;
  uint16_t blis_num_threads = 0;
  uint32_t default_width_source = OPTILE_WIDTH_DEFAULT;
  char attach_path[108] = "";         // a Unix socket's limit
  char system_attach_path[108] = "";  // tried first; "" where the user named a socket
  bool socket_is_given = false;       // by OPTILE_SOCKET
  char log_path[256] = "";
  char job[48] = "";
  char run_id[40] = "";
  char launch_plan[256] = "";
  char bridge_dir[512] = "";
  // The runtime that the launcher put behind us in LD_PRELOAD; "" = none. A name without a folder
  // where its words were lost on the way.
  char preloaded_openmp[512] = "";
  bool torch_bridge = true;     // false: PyTorch is left to its OpenMP regions
  char bridge_cache[512] = "";  // bridges for wheels; "" = nowhere
};

const Environment& environment();
void read_environment();

// How many processors those are; 0 where the kernel did not say.
uint32_t usable_units();

// True where widths may be changed at all.
bool may_steer();

// Whether any region of the program's own may be tuned: the user asked for it, and widths may be
// changed.
bool regions_are_tuned();

}  // namespace optile::preload
