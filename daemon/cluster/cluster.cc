#include "daemon/cluster/cluster.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/cluster/etcd_settings.h"
#include "daemon/cluster/node_survey.h"

namespace optile::daemon {

using std::chrono::nanoseconds;

constexpr std::size_t kMaxAddress = 253;  // as of a host's name

struct Cluster::Member {
  ClusterOptions options;
  ClusterKeys keys;
  NodeRecord node;
  EtcdStore::Settings settings;
  std::unique_ptr<EtcdStore> store;
  std::unique_ptr<Membership> membership;
  std::unique_ptr<JobPlans> plans;
  std::unique_ptr<JobPlanPublisher> publisher;
  std::string logged;  // what the log last said
  std::unique_ptr<NodeSurvey> survey;
};

Cluster::Cluster(boost::asio::io_context& io, Dependencies dependencies)
    : io_(io), dependencies_(std::move(dependencies)), timer_(io) {}

Cluster::~Cluster() {
  stop();
}

base::Status Cluster::join(const ClusterOptions& options) {
  if (member_ != nullptr) {
    if (member_->options == options) return {};
    return base::Error{base::ErrorKind::kUnavailable, "this node is in a cluster already, as " +
                                                          member_->node.name + " by way of " +
                                                          member_->options.endpoints +
                                                          "; optile cluster leave comes first"};
  }
  base::Result<EtcdStore::Settings> settings =
      read_etcd_settings(options.endpoints, options.user_file, options.tls);
  if (!settings.ok()) return settings.error();
  auto member = std::make_unique<Member>();
  member->options = options;
  member->keys.user = account_name();
  member->node.name = options.name.empty() ? host_name_as_node() : options.name;
  if (!is_cluster_name(member->node.name)) {
    return base::invalid("a node's name has letters, digits, '.', '_' and '-', at most 63: " +
                         member->node.name);
  }
  member->node.address = options.address.empty() ? host_name_as_node() : options.address;
  if (member->node.address.size() > kMaxAddress ||
      printable(member->node.address) != member->node.address) {
    return base::invalid("an address is a host's name or number, at most 253 letters");
  }
  member->node.cores = dependencies_.machine.cores;
  member->node.tiles = dependencies_.machine.tiles;
  member->node.memory_bytes = dependencies_.machine.memory_bytes;
  member->node.instance = make_cluster_instance();
  member->settings = std::move(settings).value();
  member->store = std::make_unique<EtcdStore>(io_, member->settings);
  member->membership = std::make_unique<Membership>(
      *member->store,
      Membership::Settings{member->keys, member->node, kMembershipTtl, [this] { schedule(); },
                           [one = member.get()] { return one->survey->measurements(); },
                           [one = member.get()](const auto& nodes) { one->survey->see(nodes); }});
  member->plans = std::make_unique<JobPlans>(
      *member->store, JobPlans::Settings{member->keys, member->node.name, member->node.instance,
                                         [this] { schedule(); }});
  member->plans->set_own(local_plans_.own());
  member->publisher = std::make_unique<JobPlanPublisher>(*member->store, [this] { schedule(); });
  member->survey = std::make_unique<NodeSurvey>(
      io_, NodeSurvey::Settings{member->node.name, member->node.address, options.probes,
                                dependencies_.write_log});
  member_ = std::move(member);
  dependencies_.write_log("cluster: joins by way of " + options.endpoints + " as node " +
                          member_->node.name);
  schedule();
  dependencies_.changed();
  return {};
}

base::Status Cluster::leave() {
  if (member_ == nullptr) {
    return base::Error{base::ErrorKind::kNotFound, "this node is in no cluster"};
  }
  timer_.cancel();
  dependencies_.write_log("cluster: node " + member_->node.name + " leaves");
  const ClusterLease lease = member_->membership->lease();
  // A store of its own: the membership's hears no answers any more.
  leaving_ = lease == 0 ? nullptr : std::make_unique<EtcdStore>(io_, member_->settings);
  member_.reset();
  if (leaving_ != nullptr) {
    leaving_->revoke_lease(lease, [this](const base::Result<ClusterLease>&) { leaving_.reset(); });
  }
  dependencies_.changed();
  return {};
}

// By a loop of its own: nothing else of the daemon happens any more.
void Cluster::end() {
  const ClusterLease lease = member_ == nullptr ? 0 : member_->membership->lease();
  const std::string node = lease == 0 ? "" : member_->node.name;
  boost::asio::io_context io{1};
  std::unique_ptr<EtcdStore> store;
  if (lease != 0) store = std::make_unique<EtcdStore>(io, member_->settings);
  stop();
  if (lease == 0) return;
  bool told = false;
  store->revoke_lease(lease, [&](const base::Result<ClusterLease>& revoked) {
    told = revoked.ok();
    io.stop();
  });
  io.run_for(kEndIsTold);
  dependencies_.write_log("cluster: node " + node +
                          (told ? " leaves"
                                : " leaves, and etcd does not answer: the others see "
                                  "it go when its lease ends"));
}

void Cluster::stop() {
  timer_.cancel();
  told_by_.clear();
  member_.reset();
  leaving_.reset();
}

nanoseconds Cluster::now() const {
  return nanoseconds(static_cast<int64_t>(dependencies_.monotonic_ns()));
}

// Also of an answer: what is due is asked from the loop, not from within.
void Cluster::schedule() {
  const nanoseconds next = std::min({member_->membership->next_tick(), member_->plans->next_tick(),
                                     member_->publisher->next_tick()});
  log_changes(member_->membership->own_view(now()));
  timer_.cancel();
  if (next == nanoseconds::max()) return;
  timer_.expires_after(std::max(nanoseconds(0), next - now()));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || member_ == nullptr) return;
    Membership& membership = *member_->membership;
    membership.tick(now());
    member_->plans->tick(now(), membership.is_member(now()) ? membership.lease() : 0);
    member_->publisher->tick();
    schedule();
  });
}

void Cluster::log_changes(const Membership::View& view) {
  std::string line = "cluster: node " + member_->node.name;
  line += view.member ? " is a member" : " is no member";
  if (view.leader) line += " and leads, epoch " + std::to_string(view.epoch);
  if (!view.messages.empty()) line += ", in trouble";
  // Why it is in trouble may be another reason each time that it tries.
  if (std::exchange(member_->logged, line) == line) return;
  dependencies_.write_log(view.messages.empty() ? line : line + ": " + view.messages.front());
}

std::optional<ClusterView> Cluster::view() const {
  if (member_ == nullptr) return std::nullopt;
  ClusterView view = {member_->keys.user,
                      member_->node,
                      {},
                      member_->store->description(),
                      member_->membership->view(now())};
  for (const EtcdEndpoint& one : member_->settings.endpoints) view.endpoints.push_back(one.url());
  return view;
}

base::Status Cluster::take_plan(JobPlan plan, const PlanSource& source) {
  if (base::Status taken = local_plans_.take(std::move(plan), source, now()); !taken.ok()) {
    return taken;
  }
  if (base::Status watched = watch(source.pid); !watched.ok()) {
    local_plans_.forget(source.pid);
    return watched;
  }
  tell_plans();
  return {};
}

base::Result<JobPlanPublisher::Answer> Cluster::publish_plan(LaunchClaim claim, const JobPlan& plan,
                                                             const PlanSource& source) {
  if (member_ == nullptr) {
    return base::Error{base::ErrorKind::kUnavailable,
                       "this node is in no cluster: nobody agrees on plans here"};
  }
  if (base::Status watched = watch(source.pid); !watched.ok()) return watched.error();
  const auto [account, first_time] = accounts_.try_emplace(source.uid);
  if (first_time) account->second = account_name(source.uid);
  claim.user = account->second;
  base::Result<JobPlanPublisher::Answer> answer =
      member_->publisher->publish(claim, plan, source.pid);
  schedule();
  return answer;
}

// By a descriptor of the process, which is readable once it has ended.
base::Status Cluster::watch(int pid) {
  if (told_by_.contains(pid)) return {};
  const auto fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) {
    return base::Error{base::ErrorKind::kUnavailable,
                       "the process that tells this plan cannot be watched"};
  }
  auto& process =
      told_by_.emplace(pid, boost::asio::posix::stream_descriptor(io_, fd)).first->second;
  process.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this, pid](const boost::system::error_code& error) {
                       if (!error) forget_plans(pid);
                     });
  return {};
}

void Cluster::forget_plans(int pid) {
  told_by_.erase(pid);
  local_plans_.forget(pid);
  if (member_ != nullptr) member_->publisher->forget(pid);
  tell_plans();
}

void Cluster::tell_plans() {
  if (member_ != nullptr) {
    member_->plans->set_own(local_plans_.own());
    schedule();
  }
  dependencies_.changed();
}

ClusterPlans Cluster::plans() const {
  ClusterPlans found;
  const std::string here = member_ == nullptr ? host_name_as_node() : member_->node.name;
  for (const LocalPlans::Kept& one : local_plans_.all()) {
    found.plans.push_back({here, one.source.uid, one.plan, now() - one.told});
  }
  if (member_ != nullptr) {
    JobPlans::View others = member_->plans->view(now());
    for (JobPlans::Seen& one : others.plans) {
      found.plans.push_back({one.record.node, one.record.uid, std::move(one.record.plan), one.age});
    }
    found.messages = std::move(others.messages);
    if (!member_->membership->is_member(now())) {
      found.messages.emplace_back(
          "this node is no member of its cluster now: jobs of other nodes are not known");
    }
  }
  std::stable_sort(
      found.plans.begin(), found.plans.end(),
      [](const ClusterPlan& a, const ClusterPlan& b) { return a.plan.job < b.plan.job; });
  return found;
}

}  // namespace optile::daemon
