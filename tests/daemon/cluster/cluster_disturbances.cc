#include "tests/daemon/cluster/cluster_disturbances.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ServiceState = SimulatedService::State;

constexpr seconds kShortProgram{40};
constexpr seconds kLongProgram{100};  // so that it runs on when disturbances have ended

struct Named {
  Disturbance kind;
  const char* name;
};
constexpr Named kNames[] = {
    {Disturbance::kLostRequests, "LostRequests"},
    {Disturbance::kLostReplies, "LostReplies"},
    {Disturbance::kLateMessages, "LateMessages"},
    {Disturbance::kRequestsCut, "RequestsCut"},
    {Disturbance::kRepliesCut, "RepliesCut"},
    {Disturbance::kCutOff, "CutOff"},
    {Disturbance::kStoreSilent, "StoreSilent"},
    {Disturbance::kStoreRefusing, "StoreRefusing"},
    {Disturbance::kStoreHalted, "StoreHalted"},
    {Disturbance::kStoreSlow, "StoreSlow"},
    {Disturbance::kClockJumps, "ClockJumps"},
    {Disturbance::kDaemonStopped, "DaemonStopped"},
    {Disturbance::kDaemonKilled, "DaemonKilled"},
    {Disturbance::kOtherVersion, "OtherVersion"},
    {Disturbance::kKilledInTransaction, "KilledInTransaction"},
    {Disturbance::kDaemonLeaves, "DaemonLeaves"},
    {Disturbance::kLeaderLeaves, "LeaderLeaves"},
    {Disturbance::kLaunchStopped, "LaunchStopped"},
    {Disturbance::kLaunchKilled, "LaunchKilled"},
    {Disturbance::kLaunchKilledAtStart, "LaunchKilledAtStart"},
    {Disturbance::kLaunchInterrupted, "LaunchInterrupted"},
    {Disturbance::kOtherNodes, "OtherNodes"},
};

bool has(const std::vector<Disturbance>& kinds, Disturbance kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

}  // namespace

const std::vector<Disturbance>& all_disturbances() {
  static const std::vector<Disturbance> all = [] {
    std::vector<Disturbance> kinds;
    for (const Named& one : kNames) kinds.push_back(one.kind);
    return kinds;
  }();
  return all;
}

std::string name_of(Disturbance kind) {
  const auto found = std::find_if(std::begin(kNames), std::end(kNames),
                                  [kind](const Named& one) { return one.kind == kind; });
  return found->name;
}

void ClusterDisturbances::begin() {
  disturb_again();
  launch_again();
}

void ClusterDisturbances::disturb_again() {
  SimulatedWorld& world = cluster_.world();
  world.time.after(world.draw_time(milliseconds(10), settings_.most_between), [this] {
    if (ended_) return;
    disturb(settings_.kinds[static_cast<std::size_t>(
        cluster_.world().draw(0, std::ssize(settings_.kinds) - 1))]);
    disturb_again();
  });
}

void ClusterDisturbances::launch_again() {
  SimulatedWorld& world = cluster_.world();
  world.time.after(world.draw_time(milliseconds(10), seconds(25)), [this] {
    if (ended_) return;
    launch_job();
    launch_again();
  });
}

// Somebody types the command on some nodes, one after the other.
void ClusterDisturbances::launch_job() {
  SimulatedWorld& world = cluster_.world();
  const int64_t number = world.draw(1, settings_.jobs);
  const auto nodes = static_cast<int>(2 + number % (settings_.most_ranks - 1));
  const SimulatedTime runs_for = world.happens(0.1)
                                     ? world.draw_time(kShortProgram, kLongProgram)
                                     : world.draw_time(milliseconds(100), kShortProgram);
  for (int i = 0; i < nodes; ++i) {
    const bool other = has(settings_.kinds, Disturbance::kOtherNodes) && world.happens(0.2);
    world.time.after(
        world.draw_time(milliseconds(0), seconds(8)),
        [this, &node = draw_node(), number, nodes = nodes + (other ? 1 : 0), runs_for] {
          if (ended_) return;
          cluster_.launch(node, "job" + std::to_string(number), nodes, runs_for);
        });
  }
}

// Often the leader: there most is at stake.
SimulatedNode& ClusterDisturbances::draw_victim() {
  if (!cluster_.world().happens(0.4)) return draw_node();
  for (const auto& node : cluster_.nodes()) {
    if (node->daemon != nullptr && node->daemon->is_leader()) return *node;
  }
  return draw_node();
}

SimulatedNode& ClusterDisturbances::draw_node() {
  const auto& nodes = cluster_.nodes();
  return *nodes[static_cast<std::size_t>(cluster_.world().draw(0, std::ssize(nodes) - 1))];
}

void ClusterDisturbances::disturb(Disturbance kind) {
  switch (kind) {
    case Disturbance::kLostRequests:
    case Disturbance::kLostReplies:
    case Disturbance::kLateMessages:
    case Disturbance::kRequestsCut:
    case Disturbance::kRepliesCut:
    case Disturbance::kCutOff:
      return disturb_link(kind, draw_victim());
    case Disturbance::kStoreSilent:
      return disturb_store(ServiceState::kSilent);
    case Disturbance::kStoreRefusing:
      return disturb_store(ServiceState::kRefusing);
    case Disturbance::kStoreHalted:
      return disturb_store(ServiceState::kHalted);
    case Disturbance::kStoreSlow:
      return disturb_store(ServiceState::kSlow);
    case Disturbance::kClockJumps:
      return disturb_clock(draw_victim());
    case Disturbance::kDaemonStopped:
    case Disturbance::kDaemonKilled:
    case Disturbance::kDaemonLeaves:
    case Disturbance::kOtherVersion:
      return disturb_daemon(kind, draw_victim());
    case Disturbance::kLaunchStopped:
    case Disturbance::kLaunchKilled:
    case Disturbance::kLaunchInterrupted:
      return disturb_launch(kind);
    case Disturbance::kKilledInTransaction:  // look() does it
    case Disturbance::kLeaderLeaves:         // the same
    case Disturbance::kLaunchKilledAtStart:  // the same
    case Disturbance::kOtherNodes:           // launch_job() does it
      return;
  }
}

void ClusterDisturbances::disturb_link(Disturbance kind, SimulatedNode& node) {
  SimulatedWorld& world = cluster_.world();
  SimulatedLink& link = node.machine.link;
  cluster_.note(node.machine.name + ": " + name_of(kind));
  const bool both = kind == Disturbance::kCutOff;
  if (both || kind == Disturbance::kRequestsCut) link.carries_requests = false;
  if (both || kind == Disturbance::kRepliesCut) link.carries_replies = false;
  if (kind == Disturbance::kLostRequests) link.lost_requests = 0.4;
  if (kind == Disturbance::kLostReplies) link.lost_replies = 0.4;
  if (kind == Disturbance::kLateMessages) link.late = 0.4;
  world.time.after(world.draw_time(milliseconds(100), seconds(40)), [this, &node] {
    mend(node.machine.link);
    cluster_.note(node.machine.name + ": its link is well");
  });
}

void ClusterDisturbances::mend(SimulatedLink& link) const {
  link = SimulatedLink();
  if (ended_) link.late = 0;
}

void ClusterDisturbances::disturb_store(ServiceState state) {
  SimulatedWorld& world = cluster_.world();
  // Rarer than what befalls one node, since it befalls all.
  if (cluster_.service().state() != ServiceState::kAnswers || !world.happens(0.3)) return;
  cluster_.note("the store is away");
  cluster_.service().change_state(state);
  world.time.after(world.draw_time(seconds(1), seconds(60)), [this] {
    cluster_.service().change_state(ServiceState::kAnswers);
    cluster_.note("the store is back");
  });
}

void ClusterDisturbances::disturb_daemon(Disturbance kind, SimulatedNode& node) {
  if (node.daemon == nullptr) return;
  SimulatedWorld& world = cluster_.world();
  if (kind == Disturbance::kDaemonStopped) {
    cluster_.note(node.daemon->instance() + " is stopped");
    node.daemon->process().stop();
  } else if (kind == Disturbance::kDaemonLeaves) {
    cluster_.leave_with_daemon(node);
  } else {
    cluster_.kill_daemon(node);
  }
  if (kind == Disturbance::kOtherVersion) {
    world.time.after(world.draw_time(milliseconds(0), seconds(15)),
                     [this, &node] { start_other_version(node); });
  }
  start_again(node);
}

void ClusterDisturbances::start_again(SimulatedNode& node) {
  SimulatedWorld& world = cluster_.world();
  world.time.after(world.draw_time(milliseconds(10), seconds(30)), [this, &node] {
    cluster_.start_daemon(node);
    node.daemon->process().go_on(cluster_.world().happens(0.5));
    cluster_.note(node.daemon->instance() + " goes on");
  });
}

// It keeps what is another's, and speaks of things that nobody here knows. It does not keep its
// lease.
void ClusterDisturbances::start_other_version(const SimulatedNode& node) {
  if (ended_) return;
  MemoryServer& server = cluster_.service().server();
  const std::string protocol = std::to_string(kClusterProtocol + 1);
  const std::string record = R"({"protocol": )" + protocol + R"(, "name": ")" + node.machine.name +
                             R"(", "instance": "later-", "things": [1]})";
  const std::string plan = R"({"protocol": )" + protocol + R"(, "owner": "later-", "plan": 3})";
  const ClusterLease lease = server.grant_lease(kMembershipTtl).id;
  cluster_.service().mark_end(kMembershipTtl);
  for (const auto& [key, value] :
       {std::pair(kSimulatedKeys.node(node.machine.name), record),
        std::pair(kSimulatedKeys.plan(7, "job-of-" + node.machine.name, "later"), plan)}) {
    static_cast<void>(server.commit({{key_is_absent(key)}, {put_key(key, value, lease)}}));
  }
  cluster_.note(node.machine.name + " has a daemon of a later version");
}

// As of a machine that was suspended, or moved to another host.
void ClusterDisturbances::disturb_clock(SimulatedNode& node) {
  SimulatedWorld& world = cluster_.world();
  const SimulatedTime forward =
      world.happens(0.5) ? world.draw_time(milliseconds(1), seconds(15)) : std::chrono::hours(100);
  node.machine.clock.offset += forward;
  cluster_.note("the clock of " + node.machine.name + " jumps");
}

void ClusterDisturbances::disturb_launch(Disturbance kind) {
  SimulatedWorld& world = cluster_.world();
  const auto& launches = cluster_.launches();
  if (launches.empty()) return;
  SimulatedLaunch& launch =
      *launches[static_cast<std::size_t>(world.draw(0, std::ssize(launches) - 1))];
  if (kind == Disturbance::kLaunchKilled) return cluster_.kill_launch(launch);
  if (kind == Disturbance::kLaunchInterrupted) {
    cluster_.note(launch.token() + " is interrupted");
    return launch.process()->receive([&launch] { launch.leave(); });
  }
  cluster_.note(launch.token() + " is stopped");
  launch.process()->stop();
  world.time.after(world.draw_time(milliseconds(10), seconds(30)), [this, token = launch.token()] {
    SimulatedLaunch* const stopped = cluster_.launch_of(token);
    if (stopped == nullptr) return;
    cluster_.note(token + " goes on");
    stopped->process()->go_on(cluster_.world().happens(0.5));
  });
}

void ClusterDisturbances::look() {
  const ClusterInvariants::Counts& counts = invariants_.counts();
  const bool begun = std::exchange(begun_, counts.begun) != counts.begun;
  const bool leader = std::exchange(leaders_, counts.leaders) != counts.leaders;
  if (ended_) return;
  if (has(settings_.kinds, Disturbance::kKilledInTransaction)) kill_who_committed();
  if (begun && has(settings_.kinds, Disturbance::kLaunchKilledAtStart)) kill_some_of_start();
  if (leader && has(settings_.kinds, Disturbance::kLeaderLeaves)) send_leader_away();
}

void ClusterDisturbances::kill_some_of_start() {
  SimulatedWorld& world = cluster_.world();
  for (const std::string& token : invariants_.last_start()) {
    if (!world.happens(0.3)) continue;
    world.time.after(world.draw_time(milliseconds(0), milliseconds(1500)), [this, token] {
      if (const SimulatedLaunch* one = cluster_.launch_of(token)) cluster_.kill_launch(*one);
    });
  }
}

// A daemon that publishes, a leader that becomes one, a launch that claims or begins a job.
void ClusterDisturbances::kill_who_committed() {
  const std::shared_ptr<SimulatedProcess> who = cluster_.service().take_last_commit();
  if (who == nullptr || !cluster_.world().happens(0.1)) return;
  for (const auto& node : cluster_.nodes()) {
    if (node->daemon == nullptr || &node->daemon->process() != who.get()) continue;
    cluster_.kill_daemon(*node);
    return start_again(*node);
  }
  for (const auto& launch : cluster_.launches()) {
    if (launch->process() == who) return cluster_.kill_launch(*launch);
  }
}

// And messages of another node come late: its claim of the leadership when others have led.
void ClusterDisturbances::send_leader_away() {
  SimulatedWorld& world = cluster_.world();
  if (!world.happens(0.7)) return;
  world.time.after(world.draw_time(milliseconds(0), seconds(3)), [this] {
    for (const auto& node : cluster_.nodes()) {
      if (ended_ || node->daemon == nullptr || !node->daemon->is_leader()) continue;
      disturb_link(Disturbance::kLateMessages, draw_node());
      return disturb_daemon(Disturbance::kDaemonLeaves, *node);
    }
  });
}

void ClusterDisturbances::end() {
  ended_ = true;
  cluster_.note("disturbances end");
  if (cluster_.service().state() != ServiceState::kAnswers) {
    cluster_.service().change_state(ServiceState::kAnswers);
  }
  for (const auto& node : cluster_.nodes()) {
    mend(node->machine.link);
    cluster_.start_daemon(*node);
    node->daemon->process().go_on(true);
  }
  for (const auto& launch : cluster_.launches()) launch->process()->go_on(true);
}

}  // namespace optile::daemon
