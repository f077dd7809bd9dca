// The daemon: one thread, one event loop, everything wired together; a helper thread waits for
// clients to die once there has been one. Sleeps while nothing happens: without clients no timer
// runs but the single one of --idle-exit.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "daemon/api/api.h"
#include "daemon/client/client_lines.h"
#include "daemon/cluster/cluster.h"
#include "daemon/config.h"
#include "daemon/controller/controller.h"
#include "daemon/leases/lease_moves.h"
#include "daemon/leases/rebalance_rate_limiter.h"
#include "daemon/metrics/daemon_metrics.h"
#include "daemon/metrics/metrics_outlets.h"
#include "daemon/process/confinement.h"
#include "daemon/process/exit_monitor.h"
#include "daemon/store/stores.h"
#include "daemon/support/log.h"
#include "daemon/support/owned_path.h"
#include "daemon/support/rights.h"
#include "daemon/transport/attach_server.h"
#include "daemon/transport/http_server.h"
#include "daemon/transport/instance_lock.h"
#include "daemon/transport/peer_processes.h"

namespace optile::daemon {

class Daemon {
 public:
  // Null without an error: another daemon serves this socket.
  static base::Result<std::unique_ptr<Daemon>> start(const Config& config);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Serves until a signal, stop() or --idle-exit.
  void run();
  // Serves for a moment; for tests, which drive it from their own thread. Returns how many times it
  // woke up for something.
  std::size_t run_for(std::chrono::milliseconds moment);
  // Flushes the store, removes the sockets where they are still ours, ends run().
  void stop();

  Controller& controller() { return *controller_; }
  bool stopped() const { return stopped_; }
  // No timer is armed and no client is attached: nothing will wake us but a peer.
  bool asleep() const { return !draining_ && !idle_armed_ && outlets_->asleep(); }
  // Where metrics are served over TCP; "" = nowhere.
  const std::string& metrics_target() const { return outlets_->target(); }

 private:
  explicit Daemon(Config config);
  base::Status open(std::optional<InstanceLock> lock);
  base::Status open_metrics();
  void make_cluster(const perfmodel::Machine& machine);
  void join_cluster();
  std::function<Store*(unsigned uid)> store_of_user();
  LeaseDependencies lease_dependencies(const perfmodel::Machine& machine);
  base::Result<AttachServer::Admission> arrive(AttachRequest attach_request);
  void depart(uint64_t client);
  void open_exit_monitor();
  void watch_life(uint64_t client, const uint32_t* word, int pid);
  void await_exits();
  void schedule_drain();
  void log_move(uint64_t client, const std::string& text);
  void log_client(uint64_t client, const std::string& text);
  void drain_within(std::chrono::milliseconds wait);
  void refresh_budgets_if_due();
  OwnedPath::Place look_at_place();
  bool take_lock_again();
  void end_if_replaced();
  std::chrono::nanoseconds until_budgets() const;
  void schedule_budgets();
  void decide_later(std::function<void()> decide);
  void decide_now();
  void schedule_look();
  void update_idle_timer();
  perfmodel::Budget budget_of(const perfmodel::Machine& machine, int pid) const;

  Config config_;
  std::optional<InstanceLock> lock_;
  std::vector<OwnedPath> sockets_;
  Clocks clocks_;
  std::unique_ptr<Log> log_;
  LeaseMoves moves_;
  ClientLines client_lines_;
  Rights rights_;
  std::unique_ptr<Stores> stores_;
  PeerProcesses peers_;
  boost::asio::io_context io_{1};
  boost::asio::steady_timer drain_timer_{io_};
  boost::asio::steady_timer look_timer_{io_};
  boost::asio::steady_timer budget_timer_{io_};
  boost::asio::steady_timer decision_timer_{io_};
  boost::asio::steady_timer idle_timer_{io_};
  boost::asio::signal_set signals_{io_};
  std::unique_ptr<Confinement> confinement_;
  std::unique_ptr<PersistedCommands> persisted_commands_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<DaemonMetrics> metrics_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<ExitMonitor> exits_;  // null where the kernel cannot
  boost::asio::posix::stream_descriptor exits_reported_{io_};
  std::unique_ptr<AttachServer> attach_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<MetricsOutlets> outlets_;
  RebalanceRateLimiter decisions_;
  std::function<void()> decision_;  // asked for and not made yet
  uint64_t budget_read_ns_ = 0;
  bool reading_budgets_ = false;
  bool draining_ = false;
  bool looking_ = false;
  bool idle_armed_ = false;
  bool lost_place_ = false;  // whoever looks for a daemon at our path does not find us
  bool stopped_ = false;
};

}  // namespace optile::daemon
