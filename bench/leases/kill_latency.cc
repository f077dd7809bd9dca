// From SIGKILL to the moment that the daemon can act, by the three ways that there are: the life
// word (ExitMonitor, the descriptor that the event loop waits for), the process descriptor and the
// hang-up of a socket. Each repeat is a client of its own, which holds its liveness futex as the
// shim does and has touched so much memory, in small pages.
//
// kill_latency [REPEATS [THREADS]]: a table for the listed sizes. Gates nothing.
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/cpu_counter.h"
#include "base/unique_fd.h"
#include "bindings/preload/shared_memory/liveness_futex.h"
#include "daemon/process/exit_monitor.h"
#include "daemon/process/process_entry.h"
#include "daemon/process/sched_policy.h"
#include "daemon/transport/client_memory.h"

namespace {

using optile::base::UniqueFd;
using namespace optile;  // NOLINT(google-build-using-namespace)

constexpr std::array<std::size_t, 4> kSizesMb = {0, 64, 256, 1024};
constexpr int kDeadlineMs = 20000;

[[noreturn]] void run_client(int socket, int region_fd, std::size_t mb, int threads) {
  void* mapped =
      mmap(nullptr, sizeof(optile_client_region), PROT_READ | PROT_WRITE, MAP_SHARED, region_fd, 0);
  if (mapped == MAP_FAILED) _exit(1);
  preload::hold_life(static_cast<optile_client_region*>(mapped));
  if (mb > 0) {
    void* memory =
        mmap(nullptr, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, mb << 20, MADV_NOHUGEPAGE) != 0) _exit(1);
    if (madvise(memory, mb << 20, MADV_POPULATE_WRITE) != 0) _exit(1);
  }
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) {
    pool.emplace_back([] {
      for (;;) pause();
    });
  }
  if (write(socket, "x", 1) != 1) _exit(1);
  for (;;) pause();
}

struct Heard {
  double word_us = -1, process_us = -1, hang_up_us = -1;
};

bool one_repeat(daemon::ExitMonitor& watch, uint64_t id, std::size_t mb, int threads,
                Heard& heard) {
  base::Result<daemon::ClientMemory> memory = daemon::ClientMemory::make();
  std::array<int, 2> pair{};
  if (!memory.ok() || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return false;
  }
  const daemon::ClientMemory::Descriptors fds = memory.value().take_descriptors();
  const pid_t client = fork();
  if (client == 0) {
    close(pair[0]);
    run_client(pair[1], fds.client.get(), mb, threads);
  }
  close(pair[1]);
  const UniqueFd socket(pair[0]);
  const auto process =
      std::make_shared<daemon::ProcessEntry>(daemon::ProcessEntry::open(client).value());
  watch.add({id, optile_liveness_futex(&memory.value().client()->header),
             [process] { return process->ends(); }});
  char byte = 0;
  if (read(socket.get(), &byte, 1) != 1) return false;
  const UniqueFd end(static_cast<int>(syscall(SYS_pidfd_open, client, 0)));
  std::array<pollfd, 3> waiting = {pollfd{watch.descriptor(), POLLIN, 0},
                                   pollfd{end.get(), POLLIN, 0}, pollfd{socket.get(), POLLIN, 0}};
  const std::array<double*, 3> times = {&heard.word_us, &heard.process_us, &heard.hang_up_us};
  const uint64_t begin = base::monotonic_ns();
  kill(client, SIGKILL);
  for (int left = 3; left > 0;) {
    if (poll(waiting.data(), waiting.size(), kDeadlineMs) <= 0) break;
    const double us = static_cast<double>(base::monotonic_ns() - begin) / 1000;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      if (i == 0 && watch.take().empty()) continue;
      if (i == 0) watch.handled();
      *times[i] = us;
      waiting[i].fd = -1;
      --left;
    }
  }
  waitpid(client, nullptr, 0);
  watch.remove(id);
  return heard.word_us >= 0;
}

double quantile(std::vector<double> all, double share) {
  std::sort(all.begin(), all.end());
  const auto at =
      static_cast<std::size_t>(std::lround(share * static_cast<double>(all.size() - 1)));
  return all[at];
}

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::max(1, std::atoi(argv[1])) : 50;
  const int threads = argc > 2 ? std::max(1, std::atoi(argv[2])) : 4;
  auto watch = daemon::ExitMonitor::make();
  if (!watch.ok()) {
    std::fprintf(stderr, "kill_latency: %s\n", watch.message().c_str());
    return 1;
  }
  daemon::shorten_time_slices();  // as the daemon's one thread does
  std::printf("%d repeats, %d threads a client; microseconds after the kill\n", repeats, threads);
  std::printf(
      "| resident MB | liveness futex p50 | p99 | most | pidfd p50 | p99 | hang-up p50 | p99 |\n");
  std::printf("|---|---|---|---|---|---|---|---|\n");
  uint64_t id = 0;
  for (const std::size_t mb : kSizesMb) {
    std::vector<double> word, process, hang_up;
    for (int i = 0; i < repeats; ++i) {
      Heard heard;
      if (!one_repeat(*watch.value(), ++id, mb, threads, heard)) {
        std::fprintf(stderr, "kill_latency: a client was not heard of\n");
        continue;
      }
      word.push_back(heard.word_us);
      process.push_back(heard.process_us);
      hang_up.push_back(heard.hang_up_us);
    }
    if (word.empty()) return 1;
    std::printf("| %zu | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", mb,
                quantile(word, 0.5), quantile(word, 0.99), quantile(word, 1),
                quantile(process, 0.5), quantile(process, 0.99), quantile(hang_up, 0.5),
                quantile(hang_up, 0.99));
    std::fflush(stdout);
  }
  return 0;
}
