#include "bindings/preload/daemon_link/hello.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/own_descriptor.h"
#include "bindings/preload/support/start_mask.h"
#include "bindings/preload/support/stepped_aside.h"
#include "optile_version.h"

namespace optile::preload {
namespace {

constexpr size_t kMaxCommandBytes = 4096;

// /proc/self/cmdline: arguments separated by NUL. Returns the bytes read, a NUL behind them.
size_t read_command_line(char (&bytes)[kMaxCommandBytes]) {
  const int fd = beyond_standard(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  if (fd < 0) return 0;
  const ssize_t got = read(fd, bytes, sizeof bytes - 1);
  close(fd);
  const size_t size = got > 0 ? static_cast<size_t>(got) : 0;
  bytes[size] = '\0';
  return size;
}

bool is_interpreter(const char* executable) {
  const char* slash = strrchr(executable, '/');
  const char* name = slash == nullptr ? executable : slash + 1;
  return strncmp(name, "python", 6) == 0 || strncmp(name, "perl", 4) == 0 ||
         strncmp(name, "ruby", 4) == 0 || strcmp(name, "bash") == 0 || strcmp(name, "Rscript") == 0;
}

// The script of an interpreter: its first argument that is not a flag, or what follows -m.
const char* script_of(const char* arguments, size_t size) {
  const char* end = arguments + size;
  for (const char* at = arguments + strlen(arguments) + 1; at < end; at += strlen(at) + 1) {
    if (strcmp(at, "-c") == 0) return nullptr;
    if (strcmp(at, "-m") == 0) {
      const char* module = at + strlen(at) + 1;
      return module < end ? module : nullptr;
    }
    if (at[0] != '-') return at;
  }
  return nullptr;
}

}  // namespace

void fill_hello(optile_hello* hello) {
  const Environment& told = environment();
  *hello = optile_hello{};
  hello->header = {OPTILE_ABI_MAGIC, OPTILE_ABI_VERSION, OPTILE_FRAME_HELLO, sizeof *hello, 0};
  hello->pid = static_cast<int32_t>(getpid());
  hello->own_width_source = told.own_width_source;
  hello->omp_num_threads = told.omp_num_threads;
  hello->omp_thread_limit = told.omp_thread_limit;
  hello->openblas_num_threads = told.openblas_num_threads;
  hello->goto_num_threads = told.goto_num_threads;
  hello->mkl_num_threads = told.mkl_num_threads;
  hello->blis_num_threads = told.blis_num_threads;
  hello->mode = stepped_aside() ? uint8_t{OPTILE_MODE_OBSERVE} : told.mode;
  hello->search = told.search;
  hello->strategy = told.strategy;
  hello->baseline = told.baseline ? 1 : 0;
  hello->numerics_as_untuned = told.as_untuned ? 1 : 0;
  hello->counters_by_name = told.counters_by_name ? 1 : 0;
  hello->share_milli = told.share_milli;
  hello->priority = told.priority;
  hello->respect = told.respect;
  memcpy(hello->units, start_mask().words, sizeof hello->units);
  snprintf(hello->job, sizeof hello->job, "%s", told.job);
  snprintf(hello->run_id, sizeof hello->run_id, "%s", told.run_id);
  snprintf(hello->launch_plan, sizeof hello->launch_plan, "%s", told.launch_plan);
  snprintf(hello->version, sizeof hello->version, "%s", OPTILE_VERSION);

  const ssize_t length =
      readlink("/proc/self/exe", hello->executable, sizeof hello->executable - 1);
  if (length < 0) hello->executable[0] = '\0';

  static char command[kMaxCommandBytes];
  size_t size = read_command_line(command);
  const char* script =
      size > 0 && is_interpreter(hello->executable) ? script_of(command, size) : nullptr;
  snprintf(hello->program, sizeof hello->program, "%s",
           script == nullptr ? hello->executable : script);
  for (size_t i = 0; i + 1 < size; ++i) {
    if (command[i] == '\0') command[i] = ' ';
  }
  snprintf(hello->arguments, sizeof hello->arguments, "%s", command);
}

}  // namespace optile::preload
