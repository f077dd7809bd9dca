#include "bindings/cli/cluster/rank_start.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "bindings/cli/run/daemon_start.h"
#include "daemon/cluster/etcd_settings.h"

namespace optile::cli {

namespace fs = std::filesystem;

std::chrono::nanoseconds launch_time() {
  return LaunchClock::now().time_since_epoch();
}

int give_up(const std::string& message) {
  std::cerr << "optile: " << message << "\n";
  return kOwnFailure;
}

int free_port() {
  const base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!fd.valid() || bind(fd.get(), generic, size) != 0 ||
      getsockname(fd.get(), generic, &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

std::string job_name(const LaunchOptions& launch, const std::vector<std::string>& command) {
  return launch.job.empty() ? usual_job_name(command) : launch.job;
}

ChildEnd run_rank(const Options& options, const RankPlace& place, bool ends_with_us) {
  const RankCommand rank = command_of_rank(options.command, place,
                                           {options.launch.torchrun, options.launch.max_restarts});
  std::vector<std::string> command = {own_folder() + "/optile", "run"};
  if (!options.socket.empty()) command.insert(command.end(), {"--socket", options.socket});
  command.emplace_back("--");
  command.insert(command.end(), rank.words.begin(), rank.words.end());
  Variables variables = rank.variables;
  // As optile.distributed tells it to the daemon, for `optile cluster plan`.
  variables["OPTILE_CLUSTER_JOB"] = job_name(options.launch, options.command);
  // By which rank 0 owns the job, for what changes its plan; "" in the place of an outer launch's.
  variables["OPTILE_CLUSTER_CLAIM"] = place.claim;
  // 0: of a fixed number of nodes.
  variables["OPTILE_CLUSTER_GENERATION"] = std::to_string(place.generation);
  variables["OPTILE_CLUSTER_LOST_NODES"] = place.lost_nodes;
  // Beside whose life it keeps a training's state.
  variables["OPTILE_LAUNCH"] = std::to_string(getpid());
  // A machine may be lost, with what it alone keeps.
  if (options.launch.least_nodes > 0) variables["OPTILE_ELASTIC"] = "1";
  return run_program(command, Changes{{}, variables, ends_with_us});
}

int end_as(const ChildEnd& end) {
  remove_kept_state();
  if (end.started) end_like(end.wait_status);
  return end.exit_code;
}

base::Result<daemon::EtcdStore::Settings> store_settings(const LaunchOptions& options) {
  if (options.etcd.empty()) {
    return base::invalid(
        "several nodes agree by way of etcd: --etcd http://HOST:2379, or OPTILE_ETCD in the "
        "environment, or within a job of Slurm --etcd auto; with --nodes 1 none is needed");
  }
  return daemon::read_etcd_settings(options.etcd, options.user_file, options.tls);
}

// As optile.distributed.kept_state calls it: PID-START-NAMESPACE, in a folder of the user's own.
void remove_kept_state() {
  struct stat processes = {};
  if (stat("/proc/self/ns/pid", &processes) != 0) return;
  const std::string begin = std::to_string(getpid()) + "-";
  const std::string end = "-" + std::to_string(processes.st_ino);
  std::error_code error;
  const fs::path folder = "/dev/shm/optile-state-" + std::to_string(getuid());
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(begin) && name.ends_with(end)) fs::remove_all(entry.path(), error);
  }
}

}  // namespace optile::cli
