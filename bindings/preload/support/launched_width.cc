#include "bindings/preload/support/launched_width.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/launched_width.h"
#include "base/local_ranks.h"
#include "bindings/preload/support/start_mask.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace optile::preload {
namespace {

constexpr char kNumThreads[] = "OMP_NUM_THREADS";
constexpr char kWidthSource[] = "OPTILE_DEFAULT_WIDTH_SOURCE";

using GetenvFn = char* (*)(const char*);
GetenvFn next_getenv = nullptr;

// Written while libraries are set up, by the one thread that there is.
bool learned = false;
bool is_put = false;  // it has to stand in the environment
uint32_t width = 0;
char text[12];

// Before the shim's constructor: libraries that are set up earlier ask already.
char* scan_environment(const char* name) {
  if (environ == nullptr) return nullptr;
  const size_t length = strlen(name);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return nullptr;
}

bool is_this_host(const char* host) {
  utsname here;
  return host[0] == '\0' || (uname(&here) == 0 && strcmp(host, here.nodename) == 0);
}

uint32_t at_most(uint32_t most, uint32_t count) {
  return most != 0 && most < count ? most : count;
}

// Of the launcher's number: this rank's part, within what something between the two has bound us
// to, and within what a scheduler granted this task.
uint32_t part_of(const base::LaunchedWidth& launched) {
  const uint32_t ranks = base::local_ranks(set_variable);
  uint32_t part = launched.width;
  if (ranks > launched.ranks) part = part * launched.ranks / ranks;
  part = at_most(start_mask().count(), part > 0 ? part : 1);
  const char* granted = set_variable("SLURM_CPUS_PER_TASK");
  if (granted == nullptr || set_variable("SLURM_STEP_NUM_TASKS") == nullptr) return part;
  return at_most(static_cast<uint32_t>(strtoul(granted, nullptr, 10)), part);
}

// So that nobody need ask the dynamic linker any more.
__attribute__((constructor)) void find_next() {
  __atomic_store_n(&next_getenv, reinterpret_cast<GetenvFn>(dlsym(RTLD_NEXT, "getenv")),
                   __ATOMIC_RELEASE);
}

}  // namespace

char* set_variable(const char* name) {
  const GetenvFn next = __atomic_load_n(&next_getenv, __ATOMIC_ACQUIRE);
  return next != nullptr ? next(name) : scan_environment(name);
}

void read_launched_width() {
  const base::LaunchedWidth launched = base::read_launched_width(set_variable(kWidthSource));
  const char* said = set_variable(kNumThreads);
  const char* mode = set_variable("OPTILE_MODE");
  const bool holds = launched.width != 0 && is_this_host(launched.host) &&
                     (mode == nullptr || strcmp(mode, "off") != 0);
  const bool ours = base::is_launched_width(launched, said);
  is_put = holds && !ours && base::is_default_of_torchrun(said, set_variable);
  width = holds && (ours || is_put) ? part_of(launched) : 0;
  snprintf(text, sizeof text, "%u", width);
  __atomic_store_n(&learned, true, __ATOMIC_RELEASE);
}

uint32_t launched_width() {
  if (!__atomic_load_n(&learned, __ATOMIC_ACQUIRE)) read_launched_width();
  return width;
}

bool is_width_to_be_put() {
  return is_put;
}

void note_reported_width() {
  const char* source = set_variable(kWidthSource);
  if (source != nullptr && base::read_launched_width(source).width != 0) {
    setenv(kWidthSource, "environment", 1);
  }
}

void put_width() {
  char source[sizeof base::kExportedWidth + 32 + sizeof(utsname::nodename)];
  const base::LaunchedWidth launched = base::read_launched_width(set_variable(kWidthSource));
  const uint32_t ranks = base::local_ranks(set_variable);
  const char* at = launched.host[0] == '\0' ? "" : "@";
  snprintf(source, sizeof source, "%s%u/%u%s%s", base::kExportedWidth, width, ranks, at,
           launched.host);
  setenv(kWidthSource, source, 1);
  setenv(kNumThreads, text, 1);
}

}  // namespace optile::preload

extern "C" char* getenv(const char* name) noexcept {
  using namespace optile::preload;
  char* found = set_variable(name);
  if (found != nullptr || name[0] != 'O' || strcmp(name, "OMP_NUM_THREADS") != 0) return found;
  return launched_width() == 0 ? nullptr : text;
}
