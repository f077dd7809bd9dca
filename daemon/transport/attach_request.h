// Who a client is: the checked form of the first frame on an attach connection. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/abi/frames.h"

namespace optile::daemon {

struct AttachRequest {
  int pid = 0;         // from the socket; 0: not to be looked at or moved, `unseen` says why
  unsigned uid = 0;    // from the socket
  std::string unseen;  // "" where its process can be seen
  std::string job;     // processes of one user with the same one share as one; "" = none
  std::string run_id;
  std::string executable;
  std::string program;
  std::string arguments;
  std::string launch_plan;
  std::string version;
  optile_mode mode = OPTILE_MODE_TUNE;
  optile_search search = OPTILE_SEARCH_AUTO;
  optile_strategy strategy = OPTILE_STRATEGY_AUTO;
  bool baseline = false;          // an untouched run, to be recorded as such
  bool as_untuned = false;        // it has to compute the same bits as an untouched run
  bool counters_by_name = false;  // counters were asked for, whatever there is to explain
  bool whole_program = false;     // it has threads of its own, and no op of it has been seen
  bool sizes_pools = false;       // by its mask as it is soon, and by none later
  uint32_t default_width_source = OPTILE_WIDTH_DEFAULT;
  // What the environment said about numbers of threads; 0 = nothing.
  uint32_t omp_num_threads = 0;
  uint32_t omp_thread_limit = 0;
  uint32_t openblas_num_threads = 0;
  uint32_t goto_num_threads = 0;
  uint32_t mkl_num_threads = 0;
  uint32_t blis_num_threads = 0;
  double share = 1.0;  // weight when cores are divided
  optile_priority priority = OPTILE_PRIORITY_NORMAL;
  optile_respect respect = OPTILE_RESPECT_CAP;
  std::vector<int> units;  // where it might run at its start, os indices; empty: not known
};

// `size` is what arrived. Anything off is an error whose text may go back to the peer.
base::Result<AttachRequest> parse_attach_request(const void* frame, std::size_t size);

// Text of a peer for logs, tables and JSON: cut at the first zero or at `size`; control characters
// and bytes beyond ASCII become '?'.
std::string clean_text(const char* text, std::size_t size);

const char* mode_name(optile_mode mode);
const char* strategy_name(optile_strategy strategy);
const char* respect_name(optile_respect respect);
const char* numerics_name(const AttachRequest& attach_request);
const char* width_source_name(uint32_t source);
// What its plans and runs are kept under beside its name: the launch plan's text. One that has to
// compute as untouched has fewer ops to choose for, and plans of its own.
std::string kept_under(const AttachRequest& attach_request);
// The program and how it was called, as verdicts about it are kept.
std::string program_text(const AttachRequest& attach_request);
// It changes something while the program runs: widths, leases.
bool acts(const AttachRequest& attach_request);
// It may be held to a part of the cores: its widths follow that, or are the same in every run. The
// threads of a whole program do neither, but where it is about to make them.
bool may_have_lease(const AttachRequest& attach_request);
// Somebody meant that width: not a default, not the launcher, not a framework while it starts.
bool is_set_by_user(uint32_t source);

}  // namespace optile::daemon
