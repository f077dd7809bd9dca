#include "daemon/cluster/cluster.h"

#include <algorithm>
#include <utility>

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
  std::string logged;  // what the log last said
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
  base::Result<std::vector<EtcdEndpoint>> endpoints = parse_etcd_endpoints(options.endpoints);
  if (!endpoints.ok()) return endpoints.error();
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
  member->settings.endpoints = std::move(endpoints).value();
  if (!options.user_file.empty()) {
    base::Result<EtcdUser> user = read_etcd_user(options.user_file);
    if (!user.ok()) return user.error();
    member->settings.user = std::move(user).value();
  }
  member->store = std::make_unique<EtcdStore>(io_, member->settings);
  member->membership = std::make_unique<Membership>(
      *member->store,
      Membership::Settings{member->keys, member->node, kMembershipTtl, [this] { schedule(); }});
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

void Cluster::stop() {
  timer_.cancel();
  member_.reset();
  leaving_.reset();
}

// Also of an answer: what is due is asked from the loop, not from within.
void Cluster::schedule() {
  const nanoseconds next = member_->membership->next_tick();
  log_changes();
  timer_.cancel();
  if (next == nanoseconds::max()) return;
  const nanoseconds now(static_cast<int64_t>(dependencies_.monotonic_ns()));
  timer_.expires_after(std::max(nanoseconds(0), next - now));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || member_ == nullptr) return;
    member_->membership->tick(nanoseconds(static_cast<int64_t>(dependencies_.monotonic_ns())));
    schedule();
  });
}

void Cluster::log_changes() {
  const nanoseconds now(static_cast<int64_t>(dependencies_.monotonic_ns()));
  const Membership::View view = member_->membership->view(now);
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
  const nanoseconds now(static_cast<int64_t>(dependencies_.monotonic_ns()));
  ClusterView view = {member_->keys.user,
                      member_->node,
                      {},
                      member_->store->description(),
                      member_->membership->view(now)};
  for (const EtcdEndpoint& one : member_->settings.endpoints) view.endpoints.push_back(one.url());
  return view;
}

}  // namespace optile::daemon
