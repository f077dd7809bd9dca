#include "bindings/preload/counters/papi_source.h"

#include <errno.h>
#include <papi.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bindings/preload/counters/descriptor_guard.h"

namespace optile::counters {
namespace {

constexpr int kNames = 3;
constexpr int kSpins = 20000;  // of a loop that a working counter of instructions must notice

// An event of ours and what PAPI may call it, best first.
struct Named {
  uint8_t event;
  const char* names[kNames];
};

constexpr Named kAnchors[] = {
    {OPTILE_COUNT_CYCLES, {"PAPI_TOT_CYC", "perf::CYCLES", nullptr}},
    {OPTILE_COUNT_INSTRUCTIONS, {"PAPI_TOT_INS", "perf::INSTRUCTIONS", nullptr}},
};
// Counted beside the anchors, so that all of them can be put into relation.
constexpr Named kOthers[] = {
    {OPTILE_COUNT_LLC_ACCESSES, {"PAPI_L3_TCA", "perf::CACHE-REFERENCES", nullptr}},
    {OPTILE_COUNT_LLC_MISSES, {"PAPI_L3_TCM", "perf::CACHE-MISSES", nullptr}},
    {OPTILE_COUNT_L1_HITS,
     {"PAPI_L1_DCH", "MEM_LOAD_RETIRED:L1_HIT", "MEM_LOAD_UOPS_RETIRED:L1_HIT"}},
};
constexpr Named kSoftware[] = {
    {OPTILE_COUNT_TASK_CLOCK_NS, {"perf::TASK-CLOCK", nullptr, nullptr}},
    {OPTILE_COUNT_PAGE_FAULTS, {"perf::PAGE-FAULTS", nullptr, nullptr}},
    {OPTILE_COUNT_CONTEXT_SWITCHES, {"perf::CONTEXT-SWITCHES", nullptr, nullptr}},
    {OPTILE_COUNT_MIGRATIONS, {"perf::CPU-MIGRATIONS", nullptr, nullptr}},
};

struct Group {
  uint32_t count = 0;
  int codes[OPTILE_GROUP_EVENTS] = {};
  uint8_t events[OPTILE_GROUP_EVENTS] = {};
};

// What find_papi() found; constant afterwards.
Group groups[OPTILE_COUNTER_GROUPS];
uint32_t group_count = 0;

// What a thread has open. Freed by the thread itself, at the latest when it ends.
struct ThreadSets {
  int sets[OPTILE_COUNTER_GROUPS] = {PAPI_NULL, PAPI_NULL, PAPI_NULL, PAPI_NULL};
  DescriptorGuard guards[OPTILE_COUNTER_GROUPS];
  uint32_t running = 0;  // group + 1; 0 = none
};
static_assert(OPTILE_COUNTER_GROUPS == 4, "as many initial values as sets");

pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;  // only ever tried
pthread_key_t at_end;
pid_t process = 0;  // a forked child inherits our events, but they count its parent
uint32_t followers = 0;
thread_local ThreadSets* mine = nullptr;

unsigned long thread_number() {
  return static_cast<unsigned long>(syscall(SYS_gettid));
}

int as_errno(int papi) {
  switch (papi) {
    case PAPI_OK:
      return 0;
    case PAPI_ENOMEM:
      return ENOMEM;
    case PAPI_EPERM:
      return EPERM;
    case PAPI_ESYS:
      return errno != 0 ? errno : EIO;
    default:
      return ENODEV;  // no such event, no room for it, no counters at all
  }
}

// False where one of the descriptors is not ours any more: then nothing is touched, and what is
// left of them stays open until the process ends.
bool give_back(ThreadSets& own) {
  for (uint32_t i = 0; i < group_count; ++i) {
    if (own.sets[i] != PAPI_NULL && !own.guards[i].intact()) return false;
  }
  long long unused[OPTILE_GROUP_EVENTS] = {};
  if (own.running != 0) PAPI_stop(own.sets[own.running - 1], unused);
  own.running = 0;
  for (uint32_t i = 0; i < group_count; ++i) {
    if (own.sets[i] == PAPI_NULL) continue;
    PAPI_cleanup_eventset(own.sets[i]);
    PAPI_destroy_eventset(&own.sets[i]);
  }
  PAPI_unregister_thread();
  return true;
}

void thread_ends(void* sets) {
  auto* own = static_cast<ThreadSets*>(sets);
  if (own == nullptr) return;
  if (getpid() == process) give_back(*own);
  free(own);
  mine = nullptr;
  __atomic_fetch_sub(&followers, 1, __ATOMIC_RELAXED);
}

// The first of its names that PAPI knows and that goes beside what the set has.
bool add(int set, const Named& named, Group& group) {
  if (group.count == OPTILE_GROUP_EVENTS) return false;
  for (const char* name : named.names) {
    int code = 0;
    if (name == nullptr || PAPI_event_name_to_code(name, &code) != PAPI_OK) continue;
    if (PAPI_add_event(set, code) != PAPI_OK) continue;
    group.codes[group.count] = code;
    group.events[group.count] = named.event;
    ++group.count;
    return true;
  }
  return false;
}

// A processor's counters may be there by name and stand still, as in some virtual machines. And
// where this user may not look into the kernel, PAPI takes its part away without a word: switches,
// which happen there, would stay 0. So the group is seen to count a loop, or a short sleep.
bool counts_really(int set, const Group& group) {
  long long counts[OPTILE_GROUP_EVENTS] = {};
  if (PAPI_start(set) != PAPI_OK) return false;
  volatile int spin = 0;
  while (spin < kSpins) spin = spin + 1;
  const timespec shortest = {0, 1};
  const bool sleeps = group.events[0] == OPTILE_COUNT_TASK_CLOCK_NS;
  if (sleeps) nanosleep(&shortest, nullptr);
  if (PAPI_stop(set, counts) != PAPI_OK) return false;
  for (uint32_t i = 0; i < group.count; ++i) {
    const bool tells = group.events[i] == OPTILE_COUNT_INSTRUCTIONS ||
                       group.events[i] == OPTILE_COUNT_TASK_CLOCK_NS ||
                       group.events[i] == OPTILE_COUNT_CONTEXT_SWITCHES;
    if (tells && counts[i] <= 0) return false;
  }
  return true;
}

// A group from `first`, all of them, and as many of `others` as fit; marks those in `placed`.
template <size_t First, size_t Others>
bool make_group(const Named (&first)[First], const Named (&others)[Others], bool* placed,
                Group& group) {
  int set = PAPI_NULL;
  if (PAPI_create_eventset(&set) != PAPI_OK) return false;
  bool whole = true;
  for (const Named& named : first) whole = add(set, named, group) && whole;
  for (size_t i = 0; i < Others && whole; ++i) {
    if (!placed[i]) placed[i] = add(set, others[i], group);
  }
  whole = whole && counts_really(set, group);
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  return whole;
}

bool find_hardware() {
  bool placed[3] = {};
  while (group_count < OPTILE_COUNTER_GROUPS) {
    Group& group = groups[group_count];
    group = Group{};
    if (!make_group(kAnchors, kOthers, placed, group)) break;
    const bool found_more = group.count > sizeof kAnchors / sizeof kAnchors[0];
    // A group of anchors alone is worth something when there is nothing else.
    if (!found_more && group_count > 0) break;
    ++group_count;
    if (!found_more) break;
  }
  return group_count > 0;
}

bool find_software() {
  // Switches and migrations happen inside the kernel.
  if (PAPI_set_domain(PAPI_DOM_ALL) != PAPI_OK) return false;
  bool nothing[1] = {true};
  groups[0] = Group{};
  if (!make_group(kSoftware, {kSoftware[0]}, nothing, groups[0])) return false;
  group_count = 1;
  return true;
}

// Errors are returned, not printed (PAPI_QUIET is PAPI's own default). Components that look for
// graphics cards, or for what other libraries offer, are no concern of ours.
int initialise() {
  // Somebody in the program uses it, in their own way and with their own counters running.
  if (PAPI_is_initialized() != PAPI_NOT_INITED) return EBUSY;
  constexpr const char* kForeign[] = {"sysdetect", "rocm_smi", "sde", "perf_event_uncore"};
  for (const char* component : kForeign) PAPI_disable_component_by_name(component);
  errno = 0;
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version != PAPI_VER_CURRENT) return version > 0 ? ENOSYS : as_errno(version);
  const int threads = PAPI_thread_init(thread_number);
  if (threads != PAPI_OK) return as_errno(threads);
  process = getpid();
  return pthread_key_create(&at_end, thread_ends);
}

// Why perf events are not to be had at all.
int refusal() {
  const int component = PAPI_get_component_index("perf_event");
  const PAPI_component_info_t* about = component < 0 ? nullptr : PAPI_get_component_info(component);
  if (about == nullptr) return ENODEV;
  return about->disabled == PAPI_OK ? 0 : EACCES;
}

int open_group(ThreadSets& own, uint32_t group) {
  const Group& wanted = groups[group];
  DescriptorGuard& guard = own.guards[group];
  guard.look_before();
  int& set = own.sets[group];
  int done = PAPI_create_eventset(&set);
  for (uint32_t i = 0; i < wanted.count && done == PAPI_OK; ++i) {
    done = PAPI_add_event(set, wanted.codes[i]);
  }
  if (done == PAPI_OK && guard.look_after(wanted.count)) return 0;
  // What was opened a moment ago is surely ours.
  if (set != PAPI_NULL) {
    PAPI_cleanup_eventset(set);
    PAPI_destroy_eventset(&set);
  }
  return done == PAPI_OK ? EMFILE : as_errno(done);
}

int switch_to(ThreadSets& own, uint32_t group) {
  if (own.running != 0) {
    if (!own.guards[own.running - 1].intact()) return EBADF;
    long long unused[OPTILE_GROUP_EVENTS] = {};
    const int stopped = PAPI_stop(own.sets[own.running - 1], unused);
    own.running = 0;
    if (stopped != PAPI_OK) return as_errno(stopped);
  }
  if (own.sets[group] == PAPI_NULL) {
    const int opened = open_group(own, group);
    if (opened != 0) return opened;
  }
  if (!own.guards[group].intact()) return EBADF;
  const int started = PAPI_start(own.sets[group]);
  if (started == PAPI_OK) own.running = group + 1;
  return as_errno(started);
}

}  // namespace

int find_papi(uint32_t tier, optile_counters_found* found) {
  static int ready = -1;
  if (ready < 0) ready = initialise();
  if (ready != 0) return ready;
  const bool hardware = tier == OPTILE_COUNTERS_HARDWARE;
  if (!(hardware ? find_hardware() : find_software())) {
    const int why = refusal();
    if (why != 0) return why;
    return hardware ? ENODEV : EPERM;
  }
  found->tier = tier;
  found->groups = group_count;
  for (uint32_t i = 0; i < group_count; ++i) {
    for (uint32_t j = 0; j < OPTILE_GROUP_EVENTS; ++j) found->events[i][j] = groups[i].events[j];
  }
  return 0;
}

int follow_papi(uint32_t group) {
  if (group >= group_count) return EINVAL;
  if (mine != nullptr && mine->running == group + 1) return 0;
  if (mine == nullptr) {
    auto* own = static_cast<ThreadSets*>(malloc(sizeof(ThreadSets)));
    if (own == nullptr) return ENOMEM;
    *own = ThreadSets{};
    if (pthread_setspecific(at_end, own) != 0) {
      free(own);
      return ENOMEM;
    }
    mine = own;
    __atomic_fetch_add(&followers, 1, __ATOMIC_RELAXED);
  }
  if (pthread_mutex_trylock(&opening) != 0) return EBUSY;
  const int kept_errno = errno;
  const int done = switch_to(*mine, group);
  errno = kept_errno;
  pthread_mutex_unlock(&opening);
  return done;
}

int read_papi(uint64_t counts[OPTILE_GROUP_EVENTS]) {
  if (mine == nullptr || mine->running == 0) return EINVAL;
  const uint32_t group = mine->running - 1;
  const int kept_errno = errno;
  long long values[OPTILE_GROUP_EVENTS] = {};
  const int done = mine->guards[group].intact() ? PAPI_read(mine->sets[group], values) : PAPI_ESYS;
  errno = kept_errno;
  if (done != PAPI_OK) return EBADF;
  for (uint32_t i = 0; i < OPTILE_GROUP_EVENTS; ++i) counts[i] = static_cast<uint64_t>(values[i]);
  return 0;
}

void leave_papi() {
  if (mine == nullptr) return;
  pthread_setspecific(at_end, nullptr);
  const int kept_errno = errno;
  thread_ends(mine);
  errno = kept_errno;
}

uint32_t papi_followers() {
  return __atomic_load_n(&followers, __ATOMIC_RELAXED);
}

}  // namespace optile::counters
