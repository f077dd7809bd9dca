#include "bindings/preload/support/environment.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bridge_file.h"
#include "base/preload_limits.h"
#include "bindings/abi/choice_names.h"
#include "bindings/preload/support/job_name.h"
#include "bindings/preload/support/launched_width.h"
#include "bindings/preload/support/start_mask.h"
#include "bindings/preload/support/stepped_aside.h"

namespace optile::preload {
namespace {

constexpr const char* kSystemSocket = "/run/optile/optiled.sock";

Environment current;

template <size_t Size>
void copy_text(char (&to)[Size], const char* from) {
  if (from != nullptr) snprintf(to, Size, "%s", from);
}

bool equals(const char* text, const char* wanted) {
  return text != nullptr && strcmp(text, wanted) == 0;
}

uint8_t read_counters(const char* text) {
  if (equals(text, "off")) return OPTILE_COUNTERS_NONE;
  if (equals(text, "software")) return OPTILE_COUNTERS_SOFTWARE;
  return OPTILE_COUNTERS_HARDWARE;
}

bool names_counters(const char* text) {
  return equals(text, "software") || equals(text, "hardware");
}

// What was ignored is known to the launcher alone, who took it out of the environment.
uint8_t read_respect(const char* text, uint32_t width_source) {
  const optile_respect said = abi::choice_of(abi::kRespects, text);
  const bool by_user = said == OPTILE_RESPECT_IGNORE && width_source != OPTILE_WIDTH_LAUNCHER;
  return static_cast<uint8_t>(by_user ? OPTILE_RESPECT_CAP : said);
}

// A number of at most three decimals; 0 for what is none, so that nobody is refused for it.
uint32_t read_share(const char* text) {
  if (text == nullptr) return 0;
  char* end = nullptr;
  const double share = strtod(text, &end);
  const bool possible = end != text && *end == '\0' && share >= 0.001 && share <= 1000;
  if (!possible) return 0;
  const auto whole = static_cast<uint32_t>(share * 1000);  // rounded by hand: no libm in the shim
  return whole + (share * 1000 - whole >= 0.5 ? 1 : 0);
}

bool is_own_folder(const char* path) {
  struct stat found = {};
  return stat(path, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid();
}

// Nothing where it does not fit.
template <size_t Size>
void put_attach_path(char (&to)[Size], const char* socket_path) {
  if (strlen(socket_path) + strlen(OPTILE_ATTACH_SUFFIX) >= Size) return;
  snprintf(to, Size, "%s%s", socket_path, OPTILE_ATTACH_SUFFIX);
}

// The daemon of the user himself, at its usual place.
void put_own_socket(char (&socket_path)[sizeof current.attach_path]) {
  const char* runtime_dir = getenv("XDG_RUNTIME_DIR");
  int written = 0;
  if (runtime_dir != nullptr && runtime_dir[0] != '\0' && is_own_folder(runtime_dir)) {
    written = snprintf(socket_path, sizeof socket_path, "%s/optile/optiled.sock", runtime_dir);
  } else {
    written = snprintf(socket_path, sizeof socket_path, "/tmp/optile-%u/optiled.sock",
                       static_cast<unsigned>(geteuid()));
  }
  if (written <= 0 || static_cast<size_t>(written) >= sizeof socket_path) socket_path[0] = '\0';
}

// Beside the socket; nobody may write beside the system daemon's, so beside the user's own then.
void put_log_path(const char* socket_path) {
  if (socket_path[0] == '\0') return;
  const char* slash = strrchr(socket_path, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash - socket_path);
  snprintf(current.log_path, sizeof current.log_path, "%.*s/clients.log", folder, socket_path);
}

void read_socket_path() {
  const char* given = getenv("OPTILE_SOCKET");
  const char* elsewhere = getenv("OPTILE_SYSTEM_SOCKET");
  const bool moved = elsewhere != nullptr && elsewhere[0] != '\0';
  const char* system = moved ? elsewhere : kSystemSocket;
  char own[sizeof current.attach_path] = "";
  put_own_socket(own);
  const bool some = given != nullptr && given[0] != '\0';
  // What the launcher found may be another one by the time that we attach, or attach again.
  current.socket_is_given = some && !equals(getenv("OPTILE_SOCKET_SOURCE"), "launcher");
  const char* socket = some ? given : own;
  if (!current.socket_is_given) put_attach_path(current.system_attach_path, system);
  if (socket[0] != '\0') put_attach_path(current.attach_path, socket);
  put_log_path(strcmp(socket, system) == 0 ? own : socket);
}

// "observe", "tune", or "tune:" and objects. A list that does not fit names none of them in full,
// so nothing is tuned by it.
void read_regions(const char* text) {
  current.tune_regions = false;
  current.region_objects[0] = '\0';
  if (text == nullptr || strncmp(text, "tune", 4) != 0) return;
  if (text[4] != '\0' && text[4] != ':') return;
  const char* objects = text[4] == ':' ? text + 5 : "";
  if (strlen(objects) >= sizeof current.region_objects) return;
  if (text[4] == ':' && objects[0] == '\0') return;
  current.tune_regions = true;
  copy_text(current.region_objects, objects);
}

// A number of threads; 0 for what is none.
uint16_t read_count(const char* name) {
  const char* text = getenv(name);
  const long count = text == nullptr ? 0 : strtol(text, nullptr, 10);
  return count > 0 && count < 65536 ? static_cast<uint16_t>(count) : uint16_t{0};
}

void read_counts() {
  current.omp_num_threads = read_count("OMP_NUM_THREADS");
  current.omp_thread_limit = read_count("OMP_THREAD_LIMIT");
  current.openblas_num_threads = read_count("OPENBLAS_NUM_THREADS");
  current.goto_num_threads = read_count("GOTO_NUM_THREADS");
  current.mkl_num_threads = read_count("MKL_NUM_THREADS");
  current.blis_num_threads = read_count("BLIS_NUM_THREADS");
}

bool width_is_launched() {
  return current.omp_num_threads != 0 && launched_width() != 0;
}

// A limit that no width reaches says nothing.
uint32_t width_source() {
  const uint32_t limit = current.omp_thread_limit;
  const uint32_t without = current.omp_num_threads != 0 ? current.omp_num_threads : usable_units();
  if (limit != 0 && limit <= without) return OPTILE_WIDTH_ENVIRONMENT;
  if (current.omp_num_threads == 0) return OPTILE_WIDTH_DEFAULT;
  return width_is_launched() ? OPTILE_WIDTH_LAUNCHER : OPTILE_WIDTH_ENVIRONMENT;
}

// The bridge lies beside the shim unless it is said otherwise.
void read_bridge_dir() {
  copy_text(current.bridge_dir, getenv("OPTILE_BRIDGE_DIR"));
  if (current.bridge_dir[0] != '\0') return;
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void*>(&read_environment), &self) == 0) return;
  copy_text(current.bridge_dir, self.dli_fname);
  char* slash = strrchr(current.bridge_dir, '/');
  if (slash != nullptr) *slash = '\0';
}

}  // namespace

uint32_t usable_units() {
  return start_mask().count();
}

const Environment& environment() {
  return current;
}

void read_environment() {
  read_launched_width();
  current.mode = static_cast<uint8_t>(abi::choice_of(abi::kModes, getenv("OPTILE_MODE")));
  current.search =
      equals(getenv("OPTILE_SEARCH"), "paper") ? OPTILE_SEARCH_PAPER : OPTILE_SEARCH_AUTO;
  current.strategy =
      static_cast<uint8_t>(abi::choice_of(abi::kStrategies, getenv("OPTILE_STRATEGY")));
  current.share_milli = read_share(getenv("OPTILE_SHARE"));
  current.priority =
      equals(getenv("OPTILE_PRIORITY"), "batch") ? OPTILE_PRIORITY_BATCH : OPTILE_PRIORITY_NORMAL;
  current.baseline = equals(getenv("OPTILE_BASELINE"), "1");
  current.as_untuned = equals(getenv("OPTILE_NUMERICS"), "as-untuned");
  read_counts();
  const bool pool_is_set = current.openblas_num_threads != 0 || current.goto_num_threads != 0;
  current.steer_blas =
      !pool_is_set && !current.as_untuned && !equals(getenv("OPTILE_BLAS"), "keep");
  current.steer_wait = equals(getenv("OPTILE_WAIT"), "auto");
  current.highest_counters = read_counters(getenv("OPTILE_COUNTERS"));
  current.counters_by_name = names_counters(getenv("OPTILE_COUNTERS"));
  current.user_binding = getenv("OMP_PROC_BIND") != nullptr || getenv("OMP_PLACES") != nullptr ||
                         getenv("GOMP_CPU_AFFINITY") != nullptr ||
                         getenv("KMP_AFFINITY") != nullptr;
  // What a region computes at another width is not known.
  read_regions(current.as_untuned ? nullptr : getenv("OPTILE_REGIONS"));
  copy_text(current.run_id, getenv("OPTILE_RUN_ID"));
  copy_text(current.launch_plan, getenv("OPTILE_LAUNCH_PLAN"));
  const char* openmp = getenv("OPTILE_PRELOADED_OPENMP");
  copy_text(current.preloaded_openmp, openmp == nullptr ? base::kCompanionFile : openmp);
  read_job_name(current.job, sizeof current.job);
  current.default_width_source = width_source();
  current.respect = read_respect(getenv("OPTILE_RESPECT"), current.default_width_source);
  read_socket_path();
  read_bridge_dir();
  current.torch_bridge = !equals(getenv("OPTILE_TORCH_BRIDGE"), "off");
  base::put_bridge_folder(current.bridge_cache, getenv("XDG_CACHE_HOME"), getenv("HOME"));
  current.off = current.mode == OPTILE_MODE_OFF || current.attach_path[0] == '\0';
}

bool may_steer() {
  return !current.baseline && !stepped_aside() &&
         (current.mode == OPTILE_MODE_TUNE || current.mode == OPTILE_MODE_FREEZE);
}

bool regions_are_tuned() {
  return current.tune_regions && may_steer();
}

}  // namespace optile::preload
