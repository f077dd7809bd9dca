#include "daemon/daemon.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <ctime>
#include <memory>
#include <utility>

#include "base/runtime_path.h"
#include "base/text_file.h"
#include "daemon/leases/budget_turns.h"
#include "daemon/process/process_clock.h"
#include "daemon/process/process_entry.h"
#include "daemon/process/sched_policy.h"
#include "daemon/transport/listening_socket.h"
#include "daemon/transport/service_notify.h"
#include "optile_version.h"

namespace optile::daemon {
namespace {

using base::Result;
using base::Status;
using base::UniqueFd;
using boost::system::error_code;

constexpr const char* kHost = "host";

std::optional<ProcessStat> stat_of(int pid) {
  const Result<ProcessEntry> entry = ProcessEntry::open(pid);
  return entry.ok() ? entry.value().stat() : std::nullopt;
}

bool is_stopped(int pid) {
  const std::optional<ProcessStat> stat = stat_of(pid);
  return stat && (stat->stopped() || is_frozen(pid));
}

// Load is of this machine only, not of a described one.
std::function<LoadReading(const std::vector<int>& pids)> load_reader(const Config& config) {
  if (config.machine != kHost || config.external_load == ExternalLoadPolicy::kIgnore) return {};
  const auto reader = std::make_shared<LoadReader>("/");
  return [reader](const std::vector<int>& pids) { return reader->read(pids); };
}

Rights rights_of(const Config& config) {
  Rights::Settings settings;
  settings.system = config.system;
  settings.own_uid = geteuid();
  settings.admin_group = config.admin_group_id;
  settings.unmapped_uid =
      unmapped_uid(base::read_text_file("/proc/self/uid_map").value_or(""),
                   base::read_text_file("/proc/sys/kernel/overflowuid").value_or(""));
  return Rights(settings);
}

// A node's lease ends in etcd while the node is suspended.
uint64_t time_since_boot_ns() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * UINT64_C(1000000000) +
         static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(const Config& config) {
  if (config.own_directory) {
    const std::string folder = base::parent_directory(config.socket);
    const Status made = config.system ? base::ensure_system_directory(folder)
                                      : base::ensure_private_directory(folder);
    if (!made.ok()) return made.error();
  }
  // The lock comes first: a second daemon touches nothing.
  Result<std::optional<InstanceLock>> lock = InstanceLock::take(lock_path(config));
  if (!lock.ok()) return lock.error();
  if (!lock.value()) return std::unique_ptr<Daemon>();
  std::unique_ptr<Daemon> daemon(new Daemon(config));
  if (Status opened = daemon->open(std::move(lock).value()); !opened.ok()) return opened.error();
  return daemon;
}

Daemon::Daemon(Config config)
    : config_(std::move(config)), clocks_(system_clocks()), rights_(rights_of(config_)) {}

Daemon::~Daemon() {
  stop();
}

std::function<Store*(unsigned uid)> Daemon::store_of_user() {
  if (!config_.system) return {};
  return [this](unsigned uid) { return stores_->of(uid); };
}

LeaseDependencies Daemon::lease_dependencies(const perfmodel::Machine& machine) {
  LeaseDependencies leases;
  leases.read_budget = [this, machine](int pid) { return budget_of(machine, pid); };
  leases.confine = [this](uint64_t client, int pid, const std::vector<int>& units) {
    // Numbers of a described machine's processors are none of this one's.
    if (config_.machine == kHost) confinement_->confine(client, pid, units);
  };
  leases.is_stopped = is_stopped;
  leases.write_log = [this](const std::string& line) { log_->info(line); };
  leases.busy_time = process_cpu_time;
  leases.read_load = load_reader(config_);
  leases.later = [this](std::function<void()> decide) { decide_later(std::move(decide)); };
  leases.persisted_commands = persisted_commands_.get();
  leases.note_cpuset = [this](uint64_t client, const std::vector<int>& cpuset) {
    confinement_->note_cpuset(client, cpuset);
  };
  leases.held_before = [this] { return confinement_->held_before(); };
  leases.write_move = [this](uint64_t client, const std::string& text) { log_move(client, text); };
  leases.processor_demand = threads_demand;
  return leases;
}

Status Daemon::open(std::optional<InstanceLock> lock) {
  lock_ = std::move(lock);
  Result<perfmodel::Machine> machine = perfmodel::make_machine_source(config_.machine)->read();
  if (!machine.ok()) return machine.status();
  // Before anybody can find this daemon: who connects may ask what is kept.
  stores_ = std::make_unique<Stores>(config_.store, rights_);
  Store* const own_store = stores_->of(geteuid());
  if (own_store == nullptr) {
    return base::Error{base::ErrorKind::kDenied,
                       "--system needs an account with a number of its own in this user namespace"};
  }
  Result<UniqueFd> attach = listen_at(attach_path(config_), SOCK_SEQPACKET, config_.group_id);
  if (!attach.ok()) return attach.status();
  sockets_.emplace_back(attach_path(config_));
  // Last, since whoever finds this one may expect the other.
  Result<UniqueFd> http = listen_at(config_.socket, SOCK_STREAM, config_.group_id);
  if (!http.ok()) {
    sockets_.back().remove();
    return http.status();
  }
  sockets_.emplace_back(config_.socket);
  log_ = std::make_unique<Log>(config_.log, config_.foreground);
  const auto later = [this](std::function<void()> call) {
    boost::asio::post(io_, std::move(call));
  };
  const auto in_place = [this] { return look_at_place() == OwnedPath::Place::kOurs; };
  confinement_ = std::make_unique<Confinement>(config_.socket + ".leases", *log_, later,
                                               ThreadMasks::system_kernel(), in_place);
  persisted_commands_ = std::make_unique<PersistedCommands>(config_.socket + ".words", in_place);
  controller_ = std::make_unique<Controller>(
      Controller::Dependencies{machine.value(), own_store, clocks_, store_of_user(),
                               config_.max_clients, lease_dependencies(machine.value())});
  // Of one that has left already nothing is to be told.
  confinement_->report_masks([this](auto id, auto& units) {
    if (Client* client = controller_->client(id)) client->tuning().page().set_held_mask(units);
  });
  confinement_->read_bindings([this](auto id, int tid) {
    const Client* client = controller_->client(id);
    return client != nullptr ? client->reader().binding(tid) : ThreadBinding();
  });
  const DaemonFacts facts = {getpid(), OPTILE_VERSION, clocks_.monotonic_ns(), rights_};
  metrics_ = std::make_unique<DaemonMetrics>(
      DaemonMetrics::Dependencies{controller_.get(), OPTILE_VERSION,
                                  [this] { return attach_->refused(); }, clocks_.monotonic_ns});
  make_cluster(machine.value());
  api_ =
      std::make_unique<Api>(*controller_, *metrics_, facts, clocks_.monotonic_ns, cluster_.get());
  open_exit_monitor();
  attach_ = std::make_unique<AttachServer>(
      io_, std::move(attach).value(), rights_,
      AttachServer::Handlers{
          [this](AttachRequest attach_request) { return arrive(std::move(attach_request)); },
          [this](uint64_t client) { depart(client); }},
      *log_);
  http_ = std::make_unique<HttpServer>(
      io_,
      HttpServer::Listening{std::move(http).value(), HttpServer::Peers::kByRights,
                            kMaxHttpConnections, rights_},
      [this](const HttpRequest& request) { return api_->answer(request); },
      [this] { update_idle_timer(); });
  log_->info("optiled " OPTILE_VERSION " serves " + config_.socket);
  if (!own_store->state().message.empty()) log_->warn("store: " + own_store->state().message);
  join_cluster();
  update_idle_timer();
  return open_metrics();
}

void Daemon::make_cluster(const perfmodel::Machine& machine) {
  const auto pages = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const auto page_bytes = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  const ClusterMachine told = {static_cast<int>(machine.cores.size()),
                               static_cast<int>(machine.tiles.size()), pages * page_bytes};
  cluster_ = std::make_unique<Cluster>(
      io_, Cluster::Dependencies{told, time_since_boot_ns,
                                 [this](const std::string& line) { log_->info(line); },
                                 [this] { update_idle_timer(); }});
}

// A cluster that cannot be joined is no reason not to serve this machine.
void Daemon::join_cluster() {
  if (config_.cluster.endpoints.empty()) return;
  if (const Status joined = cluster_->join(config_.cluster); !joined.ok()) {
    log_->warn("cluster: " + joined.message());
  }
}

// Last: what these options promise is either all there or the daemon does not start.
Status Daemon::open_metrics() {
  outlets_ = std::make_unique<MetricsOutlets>(io_, *metrics_, *log_, clocks_.monotonic_ns);
  return outlets_->open(config_.metrics);
}

void Daemon::run() {
  error_code ignored;
  signals_.add(SIGTERM, ignored);
  signals_.add(SIGINT, ignored);
  signals_.async_wait([this](const error_code& error, int) {
    if (!error) stop();
  });
  // Whoever starts us may have them blocked until we can handle them.
  sigset_t handled;
  sigemptyset(&handled);
  sigaddset(&handled, SIGTERM);
  sigaddset(&handled, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &handled, nullptr);
  shorten_time_slices();
  notify_service_manager("READY=1");
  if (!stopped_) io_.run();
}

std::size_t Daemon::run_for(std::chrono::milliseconds moment) {
  io_.restart();
  return io_.run_for(moment);
}

void Daemon::stop() {
  if (stopped_) return;
  stopped_ = true;
  notify_service_manager("STOPPING=1");
  // Sockets go first, so that nobody finds a daemon that no longer answers.
  for (const OwnedPath& socket : sockets_) socket.remove();
  error_code ignored;
  drain_timer_.cancel(ignored);
  look_timer_.cancel(ignored);
  budget_timer_.cancel(ignored);
  decision_timer_.cancel(ignored);
  idle_timer_.cancel(ignored);
  signals_.cancel(ignored);
  if (http_ != nullptr) http_->stop();
  if (attach_ != nullptr) attach_->stop();  // every client departs
  if (confinement_ != nullptr) confinement_->flush();
  if (controller_ != nullptr) controller_->history().batches().flush(true);
  if (outlets_ != nullptr) outlets_->stop();
  if (cluster_ != nullptr) cluster_->end();  // may wait
  exits_reported_.cancel(ignored);
  if (log_ != nullptr) {
    if (const auto line = client_lines_.flush()) log_->info(*line);
    log_->info("optiled ends");
  }
  io_.stop();
}

Result<AttachServer::Admission> Daemon::arrive(AttachRequest attach_request) {
  if (const std::string system = taken_over_by(config_); !system.empty()) {
    return base::Error{base::ErrorKind::kUnavailable,
                       "this user's daemon takes no new programs: the system daemon at " + system +
                           " serves the machine"};
  }
  if (look_at_place() != OwnedPath::Place::kOurs) {
    return base::Error{base::ErrorKind::kUnavailable,
                       "this daemon is no longer the one at " + config_.socket};
  }
  attach_request.unseen = peers_.obstacle(attach_request);
  if (!attach_request.unseen.empty()) attach_request.pid = 0;
  Result<ClientMemory> memory = ClientMemory::make();
  if (!memory.ok()) return memory.error();
  AttachServer::Admission admission;
  admission.descriptors = memory.value().take_descriptors();
  const std::string who = attach_request.program + " (pid " + std::to_string(attach_request.pid) +
                          ", " + mode_name(attach_request.mode) + ")";
  const int pid = attach_request.pid;
  confinement_->came_with(pid, attach_request.units);
  const std::string unseen = attach_request.unseen;
  // Stays mapped there until the client departs.
  const uint32_t* life = optile_liveness_futex(&memory.value().client()->header);
  const Result<uint64_t> id =
      controller_->arrive(std::move(attach_request), std::move(memory).value());
  if (!id.ok()) return id.error();
  admission.client = id.value();
  log_client(admission.client, "attached: " + who);
  if (!unseen.empty()) {
    log_->warn("client " + std::to_string(admission.client) +
               " cannot be held to cores: " + unseen + "; it counts as load of others");
  }
  watch_life(admission.client, life, pid);
  outlets_->set_clients(controller_->client_count());
  update_idle_timer();
  // Its first page should be there when its second op begins. Where many come one after the other
  // nobody's reading is put off by it.
  drain_within(controller_->next_drain());
  schedule_look();
  schedule_budgets();
  return admission;
}

void Daemon::depart(uint64_t client) {
  if (exits_ != nullptr) exits_->remove(client);  // before its memory goes
  controller_->depart(client);
  // It may live on: after an exec, or when we are told to end.
  confinement_->release(client);
  log_client(client, "left");
  outlets_->set_clients(controller_->client_count());
  if (!stopped_) update_idle_timer();
  // What it leaves is written soon, however rarely the others are read.
  if (const auto next = controller_->history().batches().next_write()) drain_within(*next);
}

void Daemon::open_exit_monitor() {
  Result<std::unique_ptr<ExitMonitor>> watch = ExitMonitor::make();
  error_code failed;
  if (watch.ok()) {
    const int told = fcntl(watch.value()->descriptor(), F_DUPFD_CLOEXEC, 0);
    if (told >= 0) exits_reported_.assign(told, failed);
    if (told < 0 || failed) return;
    exits_ = std::move(watch).value();
    await_exits();
  } else {
    log_->info("killed clients are noticed at their hang-up: " + watch.message());
  }
}

void Daemon::watch_life(uint64_t client, const uint32_t* word, int pid) {
  if (exits_ == nullptr) return;
  // One in another pid namespace has no pid here, and its end is told by its hang-up.
  Result<ProcessEntry> entry = ProcessEntry::open(pid);
  if (!entry.ok()) return;
  const auto process = std::make_shared<ProcessEntry>(std::move(entry).value());
  exits_->add({client, word, [process] { return process->ends(); }});
}

void Daemon::await_exits() {
  exits_reported_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [this](const error_code& error) {
                               if (error || stopped_) return;
                               for (const uint64_t client : exits_->take()) {
                                 log_client(client, "is dying");
                                 controller_->dying(client);
                               }
                               decide_now();  // who is left does not wait for their cores
                               exits_->handled();
                               await_exits();
                             });
}

void Daemon::drain_within(std::chrono::milliseconds wait) {
  if (draining_ && drain_timer_.expiry() <= std::chrono::steady_clock::now() + wait) return;
  drain_timer_.cancel();
  draining_ = false;
  schedule_drain();
}

void Daemon::log_move(uint64_t client, const std::string& text) {
  if (const auto line = moves_.note(clocks_.monotonic_ns(), client, text)) log_->info(*line);
}

void Daemon::log_client(uint64_t client, const std::string& text) {
  const std::string line = "client " + std::to_string(client) + " " + text;
  if (const auto due = client_lines_.note(clocks_.monotonic_ns(), client, line)) log_->info(*due);
}

// Also without clients while something waits to be written.
void Daemon::schedule_drain() {
  if (draining_ || stopped_) return;
  std::optional<std::chrono::milliseconds> next = controller_->history().batches().next_write();
  if (controller_->client_count() > 0) {
    const std::chrono::milliseconds drain = controller_->next_drain();
    next = std::min(next.value_or(drain), drain);
  }
  if (!next) return;
  draining_ = true;
  drain_timer_.expires_after(*next);
  drain_timer_.async_wait([this](const error_code& error) {
    if (error) return;
    draining_ = false;
    refresh_budgets_if_due();
    controller_->drain();
    const uint64_t now = clocks_.monotonic_ns();
    if (const auto line = moves_.due(now)) log_->info(*line);
    if (const auto line = client_lines_.due(now)) log_->info(*line);
    schedule_drain();
  });
}

// While several clients have leases.
void Daemon::schedule_look() {
  if (looking_ || stopped_) return;
  const std::optional<std::chrono::milliseconds> next = controller_->lease_manager().next_look();
  if (!next) return;
  looking_ = true;
  look_timer_.expires_after(*next);
  look_timer_.async_wait([this](const error_code& error) {
    if (error) return;
    looking_ = false;
    controller_->lease_manager().detect_idle();
    schedule_look();
  });
}

void Daemon::refresh_budgets_if_due() {
  if (until_budgets().count() > 0) return;
  budget_read_ns_ = clocks_.monotonic_ns();
  end_if_replaced();
  controller_->lease_manager().refresh_budgets();
}

// Without clients nobody looks: who is not found and serves nobody is in nobody's way.
OwnedPath::Place Daemon::look_at_place() {
  const OwnedPath::Place place = lock_->look();
  if (place == OwnedPath::Place::kMissing && take_lock_again()) return OwnedPath::Place::kOurs;
  if (place == OwnedPath::Place::kOurs || std::exchange(lost_place_, true)) return place;
  log_->warn("the lock at " + lock_path(config_) +
             (place == OwnedPath::Place::kMissing ? " was removed" : " is another daemon's") +
             ": this daemon takes no new programs, and ends when it has none or another serves " +
             config_.socket);
  // So that whoever comes starts one that takes him.
  for (const OwnedPath& socket : sockets_) socket.remove();
  update_idle_timer();
  return place;
}

// What cleans /tmp removes a file that nobody has written for days, and no socket in use.
bool Daemon::take_lock_again() {
  const bool found = std::all_of(sockets_.begin(), sockets_.end(), [](const OwnedPath& socket) {
    return socket.look() == OwnedPath::Place::kOurs;
  });
  if (!found || lost_place_) return false;
  Result<std::optional<InstanceLock>> lock = InstanceLock::take(lock_path(config_));
  if (!lock.ok() || !lock.value()) return false;
  lock_ = std::move(lock).value();
  return true;
}

// The other one grants the same cores, so that our clients are to be its own.
void Daemon::end_if_replaced() {
  if (stopped_ || look_at_place() != OwnedPath::Place::kAnothers) return;
  log_->info("another daemon serves " + config_.socket + ": it gets our programs");
  stop();
}

std::chrono::nanoseconds Daemon::until_budgets() const {
  using std::chrono::nanoseconds;
  if (budget_read_ns_ == 0) return nanoseconds(0);
  const nanoseconds passed(static_cast<int64_t>(clocks_.monotonic_ns() - budget_read_ns_));
  return std::max(nanoseconds(0), budget_turns_every(controller_->client_count()) - passed);
}

// Where so many are attached that they take turns; a few are looked at when their rings are read.
void Daemon::schedule_budgets() {
  if (reading_budgets_ || stopped_ || controller_->client_count() <= kBudgetsATurn) return;
  reading_budgets_ = true;
  budget_timer_.expires_after(until_budgets());
  budget_timer_.async_wait([this](const error_code& error) {
    if (error) return;
    reading_budgets_ = false;
    refresh_budgets_if_due();
    schedule_budgets();
  });
}

// Of the controller, which asks for one at a time.
void Daemon::decide_later(std::function<void()> decide) {
  decision_ = std::move(decide);
  const RebalanceRateLimiter::Time now(static_cast<int64_t>(clocks_.monotonic_ns()));
  const RebalanceRateLimiter::Time wait = decisions_.wait(now);
  if (wait.count() == 0) return boost::asio::post(io_, [this] { decide_now(); });
  decision_timer_.expires_after(wait);
  decision_timer_.async_wait([this](const error_code& error) {
    if (!error) decide_now();
  });
}

// What was asked for, if anything.
void Daemon::decide_now() {
  const std::function<void()> decide = std::exchange(decision_, {});
  if (!decide) return;
  error_code ignored;
  decision_timer_.cancel(ignored);
  const RebalanceRateLimiter::Time begun(static_cast<int64_t>(clocks_.monotonic_ns()));
  decide();
  decisions_.decided(begun,
                     RebalanceRateLimiter::Time(static_cast<int64_t>(clocks_.monotonic_ns())));
}

perfmodel::Budget Daemon::budget_of(const perfmodel::Machine& machine, int pid) const {
  if (config_.machine != kHost) return whole_budget(machine);
  perfmodel::BudgetSources sources;
  sources.pid = pid;
  // Masks that an earlier daemon of ours set are no budget; its quota and its cpuset are.
  if (pid != 0) sources.came_with = confinement_->original_of(pid);
  return perfmodel::read_budget(machine, sources);
}

void Daemon::update_idle_timer() {
  if (stopped_ || (config_.idle_exit.count() == 0 && !lost_place_)) return;
  const bool idle = controller_->client_count() == 0 && http_->connections() == 0 &&
                    (lost_place_ || !(cluster_->joined() || cluster_->has_local_plans()));
  if (!idle) {
    idle_timer_.cancel();
    idle_armed_ = false;
    return;
  }
  idle_armed_ = true;
  idle_timer_.expires_after(lost_place_ ? std::chrono::seconds(0) : config_.idle_exit);
  idle_timer_.async_wait([this](const error_code& error) {
    if (error) return;
    if (!lost_place_) log_->info("nothing to do for a while");
    stop();
  });
}

}  // namespace optile::daemon
