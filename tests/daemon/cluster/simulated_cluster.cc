#include "tests/daemon/cluster/simulated_cluster.h"

#include <cstdio>
#include <utility>

namespace optile::daemon {

using std::chrono::hours;
using std::chrono::seconds;

namespace {

constexpr double kMostDrift = 80e-6;
constexpr seconds kPatience{300};  // of a launch, as its --wait
constexpr std::size_t kHistory = 60;

double draw_drift(SimulatedWorld& world) {
  return static_cast<double>(world.draw(-1000, 1000)) / 1000 * kMostDrift;
}

// A daemon that has left, until the store has heard of it.
struct Leaving {
  std::shared_ptr<SimulatedProcess> process = std::make_shared<SimulatedProcess>();
  std::unique_ptr<SimulatedStore> store;
};

}  // namespace

SimulatedCluster::SimulatedCluster(int nodes, uint64_t seed)
    : world_(seed), service_(world_, draw_drift(world_)) {
  for (int i = 0; i < nodes; ++i) {
    auto node = std::make_unique<SimulatedNode>();
    char name[16];
    std::snprintf(name, sizeof name, "n%03d", i);
    node->machine.name = name;
    node->machine.clock = {world_.draw_time(seconds(1), hours(10000)), draw_drift(world_)};
    nodes_.push_back(std::move(node));
    start_daemon(*nodes_.back());
  }
}

SimulatedLaunch* SimulatedCluster::launch_of(const std::string& token) const {
  for (const auto& one : launches_) {
    if (one->token() == token) return one.get();
  }
  return nullptr;
}

void SimulatedCluster::start_daemon(SimulatedNode& node) {
  if (node.daemon != nullptr) return;
  const std::string instance = node.machine.name + "-" + std::to_string(++node.daemons) + "-";
  node.daemon = std::make_unique<SimulatedDaemon>(world_, service_, node.machine, instance);
  note("daemon " + instance + " starts");
}

void SimulatedCluster::kill_daemon(SimulatedNode& node) {
  if (node.daemon == nullptr) return;
  note("daemon " + node.daemon->instance() + " is killed");
  dead_.push_back({node.daemon->instance(), service_.server().now()});
  node.daemon.reset();
}

void SimulatedCluster::leave_with_daemon(SimulatedNode& node) {
  if (node.daemon == nullptr) return;
  const ClusterLease lease = node.daemon->membership().lease();
  kill_daemon(node);
  if (lease == 0) return;
  auto leaving = std::make_shared<Leaving>();
  leaving->store =
      std::make_unique<SimulatedStore>(world_, service_, node.machine, leaving->process);
  leaving->store->revoke_lease(lease, [leaving](const base::Result<ClusterLease>&) {});
}

void SimulatedCluster::launch(const SimulatedNode& node, const std::string& job, int nodes,
                              SimulatedTime runs_for) {
  SimulatedLaunch::Settings settings;
  settings.pid = ++last_pid_;
  settings.job = job;
  settings.nodes = nodes;
  settings.patience = kPatience;
  settings.runs_for = runs_for;
  settings.tell_plan = [this](const SimulatedLaunch& from, const JobPlan& plan) {
    tell_plan(from, plan);
  };
  settings.publish_plan = [this](SimulatedLaunch& from, const JobPlan& plan) {
    publish_plan(from, plan);
  };
  launches_.push_back(
      std::make_unique<SimulatedLaunch>(world_, service_, node.machine, std::move(settings)));
  note("launch " + launches_.back()->token() + " of " + job + " with " + std::to_string(nodes) +
       " nodes on " + node.machine.name);
}

void SimulatedCluster::kill_launch(const SimulatedLaunch& launch) {
  note("launch " + launch.token() + " is killed");
  dead_.push_back({launch.token(), service_.server().now()});
  forget_plans(launch);
  std::erase_if(launches_, [&](const auto& one) { return one.get() == &launch; });
}

// Now and then by another of the job's nodes than rank 0's, as where torchrun has changed the
// ranks: what the one before was told stays there.
void SimulatedCluster::tell_plan(const SimulatedLaunch& launch, const JobPlan& plan) {
  const SimulatedMachine* machine = &launch.machine();
  if (world_.happens(0.05)) {
    machine = &nodes_[static_cast<std::size_t>(world_.draw(0, std::ssize(nodes_) - 1))]->machine;
  }
  for (const auto& node : nodes_) {
    if (&node->machine == machine && node->daemon != nullptr) {
      node->daemon->take_plan(plan, launch.settings().pid, launch.process());
    }
  }
}

void SimulatedCluster::publish_plan(SimulatedLaunch& launch, const JobPlan& plan) {
  for (const auto& node : nodes_) {
    if (&node->machine != &launch.machine() || node->daemon == nullptr) continue;
    node->daemon->publish({kSimulatedKeys.user, launch.settings().job, launch.token(), 0}, plan,
                          launch.settings().pid, launch.process(),
                          [&launch, epoch = plan.epoch](const JobPlanPublisher::Answer& answer) {
                            launch.take_answer(epoch, answer);
                          });
  }
}

// As a daemon that watches the process which told it one.
void SimulatedCluster::forget_plans(const SimulatedLaunch& launch) {
  if (launch.plan().run.empty()) return;
  for (const auto& node : nodes_) {
    if (node->daemon != nullptr) node->daemon->forget_plans(launch.settings().pid);
  }
}

void SimulatedCluster::remove_ended() {
  for (const auto& one : launches_) {
    if (!one->ended()) continue;
    note("launch " + one->token() + " has ended");
    dead_.push_back({one->token(), service_.server().now()});
    forget_plans(*one);
  }
  std::erase_if(launches_, [](const auto& one) { return one->ended(); });
}

bool SimulatedCluster::run(SimulatedTime time) {
  bool over = false;
  world_.time.after(time, [&over] { over = true; });
  while (wrong_.empty() && !over && world_.time.step()) {
    remove_ended();
    if (look_) wrong_ = look_();
  }
  if (!wrong_.empty()) note("wrong: " + wrong_);
  return wrong_.empty();
}

void SimulatedCluster::note(const std::string& text) {
  char moment[32];
  std::snprintf(moment, sizeof moment, "%.6f s  ", std::chrono::duration<double>(now()).count());
  history_.push_back(moment + text);
  if (history_.size() > kHistory) history_.pop_front();
}

std::string SimulatedCluster::history() const {
  std::string text;
  for (const std::string& one : history_) text += one + "\n";
  return text;
}

}  // namespace optile::daemon
