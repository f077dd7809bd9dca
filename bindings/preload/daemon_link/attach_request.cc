#include "bindings/preload/daemon_link/attach_request.h"

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

bool is_interpreter(const char* executable) {
  const char* slash = strrchr(executable, '/');
  const char* name = slash == nullptr ? executable : slash + 1;
  return strncmp(name, "python", 6) == 0 || strncmp(name, "perl", 4) == 0 ||
         strncmp(name, "ruby", 4) == 0 || strcmp(name, "bash") == 0 || strcmp(name, "Rscript") == 0;
}

void fill_attach_request(optile_attach_request* attach_request, optile_whole_program whole) {
  const Environment& told = environment();
  *attach_request = optile_attach_request{};
  attach_request->header = {OPTILE_ABI_MAGIC, OPTILE_ABI_VERSION, OPTILE_FRAME_ATTACH_REQUEST,
                            sizeof *attach_request, 0};
  attach_request->pid = static_cast<int32_t>(getpid());
  attach_request->default_width_source = told.default_width_source;
  attach_request->omp_num_threads = told.omp_num_threads;
  attach_request->omp_thread_limit = told.omp_thread_limit;
  attach_request->openblas_num_threads = told.openblas_num_threads;
  attach_request->goto_num_threads = told.goto_num_threads;
  attach_request->mkl_num_threads = told.mkl_num_threads;
  attach_request->blis_num_threads = told.blis_num_threads;
  attach_request->mode = stepped_aside() ? uint8_t{OPTILE_MODE_OBSERVE} : told.mode;
  attach_request->search = told.search;
  attach_request->strategy = told.strategy;
  attach_request->baseline = told.baseline ? 1 : 0;
  attach_request->numerics_as_untuned = told.as_untuned ? 1 : 0;
  attach_request->counters_by_name = told.counters_by_name ? 1 : 0;
  attach_request->whole_program = whole;
  attach_request->share_milli = told.share_milli;
  attach_request->priority = told.priority;
  attach_request->respect = told.respect;
  memcpy(attach_request->units, start_mask().words, sizeof attach_request->units);
  snprintf(attach_request->job, sizeof attach_request->job, "%s", told.job);
  snprintf(attach_request->run_id, sizeof attach_request->run_id, "%s", told.run_id);
  snprintf(attach_request->launch_plan, sizeof attach_request->launch_plan, "%s", told.launch_plan);
  snprintf(attach_request->version, sizeof attach_request->version, "%s", OPTILE_VERSION);

  const ssize_t length =
      readlink("/proc/self/exe", attach_request->executable, sizeof attach_request->executable - 1);
  if (length < 0) attach_request->executable[0] = '\0';

  static char command[kMaxCommandBytes];
  size_t size = read_command_line(command);
  const char* script =
      size > 0 && is_interpreter(attach_request->executable) ? script_of(command, size) : nullptr;
  snprintf(attach_request->program, sizeof attach_request->program, "%s",
           script == nullptr ? attach_request->executable : script);
  for (size_t i = 0; i + 1 < size; ++i) {
    if (command[i] == '\0') command[i] = ' ';
  }
  snprintf(attach_request->arguments, sizeof attach_request->arguments, "%s", command);
}

}  // namespace optile::preload
