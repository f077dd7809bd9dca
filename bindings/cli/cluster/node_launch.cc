#include "bindings/cli/cluster/node_launch.h"

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "bindings/cli/cluster/elastic_launch.h"
#include "bindings/cli/cluster/job_etcd.h"
#include "bindings/cli/cluster/rank_start.h"
#include "bindings/cli/cluster/slurm_job.h"
#include "bindings/cli/support/child_process.h"
#include "daemon/cluster/etcd_store.h"
#include "daemon/cluster/own_address.h"
#include "daemon/cluster/rank_claim.h"

namespace optile::cli {
namespace {

using daemon::RankClaim;

constexpr const char* kThisMachine = "127.0.0.1";

// This process's claim, and the loop that it lives in: run by the main thread until the job begins,
// then by one of its own while the main thread waits for the program.
class Gathering {
 public:
  Gathering(daemon::EtcdStore::Settings store, RankClaim::Settings claim)
      : job_(claim.job), nodes_(claim.nodes), store_(io_, std::move(store)) {
    claim.answered = [this] { arm(); };
    claim_ = std::make_unique<RankClaim>(store_, std::move(claim));
  }
  ~Gathering() { leave(); }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  // Where the job has begun; nothing where it has not in time, with why on stderr.
  std::optional<RankPlace> wait(std::chrono::seconds patience) {
    boost::asio::signal_set interruptions(io_, SIGINT, SIGTERM);
    interruptions.async_wait([this](const boost::system::error_code& error, int number) {
      if (!error) interrupted_ = number;
    });
    arm();
    const auto end = LaunchClock::now() + patience;
    while (is_open() && LaunchClock::now() < end) {
      io_.run_one_until(end);
      say();
    }
    const RankClaim::View& view = claim_->view();
    if (interrupted_ == 0 && view.state == RankClaim::State::kStarted) {
      return RankPlace{nodes_, view.rank, view.master_address, view.master_port, ""};
    }
    if (interrupted_ == 0 && view.state != RankClaim::State::kRefused) {
      std::cerr << "optile: job " << job_ << " was not begun within " << patience.count()
                << " seconds: " << situation() << "\n";
    }
    return std::nullopt;
  }

  // The signal that ended the wait; 0 = none.
  int interrupted() const { return interrupted_; }

  void keep_in_background() {
    // Signals are the main thread's: it hands them to the program.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    arm();
    keeper_ = std::thread([this] { io_.run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Gives the rank up; where etcd does not answer, its lease ends it.
  void leave() {
    if (std::exchange(left_, true)) return;
    boost::asio::post(io_, [this] {
      ending_ = true;
      timer_.cancel();
      if (claim_->lease() == 0) return io_.stop();
      store_.revoke_lease(claim_->lease(), [this](const auto&) { io_.stop(); });
    });
    if (keeper_.joinable()) {
      keeper_.join();
    } else {
      io_.restart();
      io_.run();
    }
  }

  bool lost() const { return claim_->view().lease_lost; }  // once left

 private:
  bool is_open() const {
    const RankClaim::State state = claim_->view().state;
    return interrupted_ == 0 && state != RankClaim::State::kStarted &&
           state != RankClaim::State::kRefused;
  }

  void arm() {
    const RankClaim::Time next = claim_->next_tick();
    timer_.cancel();
    if (ending_ || next == RankClaim::Time::max()) return;
    timer_.expires_at(LaunchClock::time_point(next));
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      claim_->tick(launch_time());
      arm();
    });
  }

  std::string situation() const {
    const RankClaim::View& view = claim_->view();
    if (!view.message.empty()) return view.message;
    if (view.holders.empty()) return "etcd at " + store_.description() + " has not answered yet";
    std::string here;
    for (const auto& [rank, node] : view.holders) {
      here += (here.empty() ? "" : ", ") + std::to_string(rank) + " is " + node;
    }
    const int missing = nodes_ - static_cast<int>(view.holders.size());
    if (missing <= 0) return "all ranks are here (" + here + "); rank 0 begins";
    return "waits for " + std::to_string(missing) + " more of " + std::to_string(nodes_) +
           " nodes; type the same there (" + here + ")";
  }

  // Once for each thing that there is to say; before the first answer there is none.
  void say() {
    const RankClaim::View& view = claim_->view();
    if (view.state == RankClaim::State::kStarted) return;
    if (view.message.empty() && view.holders.empty()) return;
    const std::string text = situation();
    if (std::exchange(said_, text) == text) return;
    std::cerr << "optile: job " << job_ << ": " << text << "\n";
  }

  std::string job_;
  int nodes_;
  boost::asio::io_context io_{1};
  boost::asio::steady_timer timer_{io_};
  daemon::EtcdStore store_;
  std::unique_ptr<RankClaim> claim_;
  std::thread keeper_;
  std::string said_;
  int interrupted_ = 0;
  bool left_ = false;
  bool ending_ = false;  // of the loop's thread
};

// Of "auto" makes the job's etcd, which it starts on the job's first node and returns there.
base::Result<std::unique_ptr<JobEtcd>> join_slurm_job(const Options& options,
                                                      LaunchOptions& launch) {
  if (!launch.user_file.empty() || launch.tls != daemon::EtcdTlsFiles()) {
    return base::invalid(
        "--user-file, --cacert, --cert and --key are for an etcd that runs: --etcd auto starts one "
        "of the job's own without them");
  }
  const base::Result<SlurmJob> job = own_slurm_job();
  if (!job.ok()) return job.error();
  if (launch.nodes == 0) launch.nodes = job.value().nodes;
  if (launch.nodes == 1) return std::unique_ptr<JobEtcd>();
  if (launch.nodes > daemon::kMaxRanks) {
    return base::invalid("this job of Slurm has " + std::to_string(launch.nodes) + " nodes, and " +
                         std::to_string(daemon::kMaxRanks) + " is the most; see --nodes");
  }
  launch.job = name_within(job.value(), job_name(launch, options.command));
  const int port = etcd_port_of(job.value());
  daemon::EtcdEndpoint endpoint = {job.value().first_node, std::to_string(port)};
  launch.etcd = endpoint.url();
  if (job.value().node > 0) return std::unique_ptr<JobEtcd>();
  const std::string own =
      launch.address.empty() ? daemon::own_address_towards(endpoint) : launch.address;
  // A name stands for several interfaces: which of them the others take is theirs.
  const bool everywhere = own.empty() || own == endpoint.host;
  if (!everywhere) launch.etcd = daemon::EtcdEndpoint{own, endpoint.port}.url();
  return JobEtcd::start({job.value().id, everywhere ? "0.0.0.0" : own, port});
}

}  // namespace

int launch_on_nodes(const Options& options) {
  LaunchOptions launch = options.launch;
  if (launch.max_restarts > 0 && !is_for_torchrun(options.command)) {
    return give_up(
        "--max-restarts is torchrun's, which takes a Python program alone: PYTHON FILE, "
        "or PYTHON -m MODULE");
  }
  if (launch.least_nodes > 0) return launch_elastic(options);
  if (launch.grows) return give_up("--grow is of --nodes MIN:MAX");
  std::unique_ptr<JobEtcd> job_etcd;  // on one node; ends behind all ranks
  if (launch.etcd == kAutomaticEtcd) {
    base::Result<std::unique_ptr<JobEtcd>> started = join_slurm_job(options, launch);
    if (!started.ok()) return give_up(started.message());
    job_etcd = std::move(started).value();
  }
  if (launch.nodes == 0) {
    return give_up("say by --nodes on how many nodes; a job of Slurm says it with --etcd auto");
  }
  const int port = free_port();
  if (port == 0) return give_up("no port is free for the ranks to meet at");
  if (launch.nodes == 1) {
    return end_as(run_rank(options, {1, 0, kThisMachine, port, kThisMachine}, false));
  }
  base::Result<daemon::EtcdStore::Settings> store = store_settings(launch);
  if (!store.ok()) return give_up(store.message());
  auto claim =
      make_claim<RankClaim::Settings>(launch, options.command, store.value().endpoints.front());
  claim.nodes = launch.nodes;
  claim.port = port;
  const std::string job = claim.job, address = claim.address, keys = claim.keys.job(job);
  // No daemon joins an etcd of the job's own.
  const std::string token = options.launch.etcd == kAutomaticEtcd ? "" : claim.token;
  Gathering gathering(store.value(), std::move(claim));
  std::optional<RankPlace> place = gathering.wait(std::chrono::seconds(launch.wait_seconds));
  if (!place) {
    gathering.leave();
    return gathering.interrupted() == 0 ? kOwnFailure : 128 + gathering.interrupted();
  }
  place->address = address;
  place->claim = token;
  if (std::getenv(kGlooInterface) == nullptr) place->interface = daemon::interface_of(address);
  std::cerr << "optile: job " << job << " begins: rank " << place->rank << " of " << place->nodes
            << ", rank 0 at " << place->master_address << ":" << place->master_port << "\n";
  gathering.keep_in_background();
  const ChildEnd end = run_rank(options, *place, false);
  gathering.leave();
  if (gathering.lost()) {
    std::cerr << "optile: etcd was not reached while job " << job
              << " ran: its ranks were free to others meanwhile\n";
  }
  if (job_etcd != nullptr) wait_until_keys_are_gone(store.value(), keys);
  job_etcd.reset();  // the next line ends this process
  return end_as(end);
}

}  // namespace optile::cli
