#include "bindings/cli/run/launch_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/launched_width.h"
#include "base/local_ranks.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace optile::cli {
namespace {

constexpr std::array<std::string_view, 7> kThreadVariables = {"OMP_",  "GOMP_", "KMP_", "OPENBLAS_",
                                                              "GOTO_", "MKL_",  "BLIS_"};

// Those of them that say how many. Where threads run and how they wait is another matter.
constexpr std::array<const char*, 6> kCountVariables = {"OMP_NUM_THREADS",      "OMP_THREAD_LIMIT",
                                                        "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS",
                                                        "BLIS_NUM_THREADS",     "MKL_NUM_THREADS"};

// Whoever set one of these collects ITT's tasks himself, or wants them so.
constexpr std::array<const char*, 5> kTaskVariables = {
    "INTEL_LIBITTNOTIFY64", "INTEL_LIBITTNOTIFY32", "INTEL_ITTNOTIFY_GROUPS", "DNNL_ITT_TASK_LEVEL",
    "ONEDNN_ITT_TASK_LEVEL"};

constexpr const char* kDynamicThreads = "TORCHINDUCTOR_CPP_DYNAMIC_THREADS";
constexpr const char* kWidthSource = "OPTILE_DEFAULT_WIDTH_SOURCE";

std::string preload_list(const LaunchDecision& decision, const std::string& before) {
  std::string list = decision.shim;
  if (decision.plan.preload_libomp) list += ":" + decision.libomp;
  if (!before.empty()) list += ":" + before;
  return list;
}

// A oneDNN that is linked statically tells of its primitives by ITT's tasks, of each once: from the
// thread that executes it, not from each of its team.
void listen_to_tasks(const LaunchDecision& decision, const Variables& now, Variables* set) {
  if (decision.itt_collector.empty()) return;
  if (!task_variables(now).empty()) return;
  (*set)["INTEL_LIBITTNOTIFY64"] = decision.itt_collector;
  (*set)["DNNL_ITT_TASK_LEVEL"] = "1";
}

// To start with: what the kernel or co-runners leave, and the user allows.
int width_at_start(const LaunchDecision& decision, const Variables& now) {
  int width = decision.budget_cores;
  if (decision.width > 0) width = std::min(width, decision.width);
  const long limit = std::strtol(value_of(now, "OMP_THREAD_LIMIT").c_str(), nullptr, 10);
  return limit > 0 && limit < width ? static_cast<int>(limit) : width;
}

// By a launcher around this one, and nobody has said another number since.
bool is_lent(const Variables& now) {
  const auto said = now.find("OMP_NUM_THREADS");
  return base::is_launched_width(base::read_launched_width(value_of(now, kWidthSource).c_str()),
                                 said == now.end() ? nullptr : said->second.c_str());
}

// For the shim, which tells it to libraries that ask for OMP_NUM_THREADS (launched_width.h).
std::string launched_width(const LaunchDecision& decision, const Variables& now) {
  std::string text = base::kLaunchedWidth + std::to_string(width_at_start(decision, now));
  const uint32_t ranks = base::local_ranks([&now](const char* name) {
    const auto found = now.find(name);
    return found == now.end() ? nullptr : found->second.c_str();
  });
  // Who starts beside others has its part already.
  if (ranks > 1) text += "/" + std::to_string(ranks);
  return decision.host.empty() ? text : text + "@" + decision.host;
}

}  // namespace

std::string value_of(const Variables& now, const std::string& name) {
  const auto found = now.find(name);
  return found == now.end() ? "" : found->second;
}

Variables environment_now() {
  Variables now;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) now[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return now;
}

Variables thread_limits(const Variables& now) {
  Variables found;
  for (const auto& [name, value] : now) {
    for (const std::string_view prefix : kThreadVariables) {
      if (name.starts_with(prefix)) found[name] = value;
    }
  }
  return found;
}

Variables task_variables(const Variables& now) {
  Variables found;
  for (const char* name : kTaskVariables) {
    if (const auto at = now.find(name); at != now.end()) found.insert(*at);
  }
  return found;
}

bool sets_width(const Variables& limits) {
  return limits.contains("OMP_NUM_THREADS") || limits.contains("OMP_THREAD_LIMIT");
}

bool sets_up_malloc(const Variables& now) {
  const auto contains = [&now](const char* name, const char* what) {
    return value_of(now, name).find(what) != std::string::npos;
  };
  const auto first = now.lower_bound("MALLOC_");
  return (first != now.end() && first->first.starts_with("MALLOC_")) ||
         contains("GLIBC_TUNABLES", "glibc.malloc.") || contains("LD_PRELOAD", "malloc");
}

std::vector<std::string> ignored_variables(const Options& options, const Variables& now) {
  std::vector<std::string> ignored;
  const bool lent = is_lent(now);
  if (lent) ignored = {"OMP_NUM_THREADS", kWidthSource};
  const bool asked = options.run.respect == "ignore" && options.verb == Verb::kRun;
  if (!asked || options.run.changes_nothing()) return ignored;
  for (const char* name : kCountVariables) {
    const bool listed = lent && name == ignored.front();
    if (now.contains(name) && !listed) ignored.emplace_back(name);
  }
  return ignored;
}

Variables launch_environment(const Options& options, const LaunchDecision& decision,
                             const Variables& now) {
  Variables set;
  if (decision.shim.empty()) return set;
  set["OPTILE_SOCKET"] = decision.socket;
  set["OPTILE_SOCKET_SOURCE"] = decision.socket_is_named ? "user" : "launcher";
  set["OPTILE_RUN_ID"] = decision.run_id;
  set["OPTILE_BRIDGE_DIR"] = decision.bridge_dir;
  set["OPTILE_MODE"] = options.run.mode;
  set["OPTILE_TORCH_BRIDGE"] = options.run.torch_bridge;
  set["LD_PRELOAD"] = preload_list(decision, value_of(now, "LD_PRELOAD"));
  // The shim takes it out again for children that would not survive it; said also where there is
  // none, so that the user's own is never taken for it.
  set["OPTILE_PRELOADED_OPENMP"] = decision.plan.preload_libomp ? decision.libomp : "";
  listen_to_tasks(decision, now, &set);
  if (decision.baseline) {
    set["OPTILE_MODE"] = "observe";
    set["OPTILE_BASELINE"] = "1";
    set["OPTILE_BLAS"] = "keep";
    set["OPTILE_LAUNCH_PLAN"] = "";
    return set;
  }
  set["OPTILE_RESPECT"] = options.run.respect;
  set["OPTILE_NUMERICS"] = options.run.numerics;
  set["OPTILE_SEARCH"] = options.run.search;
  set["OPTILE_STRATEGY"] = options.run.strategy;
  set["OPTILE_COUNTERS"] = options.run.counters;
  set["OPTILE_REGIONS"] = options.run.regions;
  if (!options.run.share.empty()) set["OPTILE_SHARE"] = options.run.share;
  set["OPTILE_PRIORITY"] = options.run.priority;
  if (!options.run.job.empty()) set["OPTILE_JOB"] = options.run.job;
  set["OPTILE_BLAS"] = decision.plan.blas_follows ? "auto" : "keep";
  set["OPTILE_WAIT"] = decision.plan.wait_follows ? "auto" : "keep";
  set["OPTILE_LAUNCH_PLAN"] = decision.plan.text;
  for (const auto& [name, value] : decision.plan.environment) {
    if (!now.contains(name)) set[name] = value;
  }
  // Else Inductor writes the number of threads at the time of its compiling into its kernels.
  const bool may_change = !options.run.changes_nothing() && !options.run.as_untuned();
  const bool follows = decision.torch_wheel && may_change;
  if (follows && !now.contains(kDynamicThreads)) set[kDynamicThreads] = "1";
  if (now.contains("OMP_NUM_THREADS")) {
    set[kWidthSource] = "environment";
  } else if (may_change && !perfmodel::binds_threads(now)) {
    // A framework alone may start at half the cores; what is never tried cannot be chosen.
    set[kWidthSource] = launched_width(decision, now);
  }
  return set;
}

}  // namespace optile::cli
