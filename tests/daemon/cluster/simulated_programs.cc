#include "tests/daemon/cluster/simulated_programs.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr seconds kPlanIsTold{5};  // at most so long after the last time
constexpr unsigned kAccount = 7;

NodeRecord record_of(const SimulatedMachine& machine, const std::string& instance) {
  NodeRecord record;
  record.name = machine.name;
  record.address = "at-" + machine.name;
  record.cores = 2;
  record.instance = instance;
  return record;
}

}  // namespace

SimulatedDaemon::SimulatedDaemon(SimulatedWorld& world, SimulatedService& service,
                                 const SimulatedMachine& machine, const std::string& instance)
    : world_(world),
      machine_(machine),
      instance_(instance),
      store_(world, service, machine, process_),
      timer_(world, machine, process_),
      membership_(store_, {kSimulatedKeys, record_of(machine, instance), kMembershipTtl,
                           [this] { schedule(); }}),
      plans_(store_, {kSimulatedKeys, machine.name, instance, [this] { schedule(); }}),
      publisher_(store_, [this] { schedule(); }) {
  schedule();
}

// As Cluster::schedule().
void SimulatedDaemon::schedule() {
  const SimulatedTime next =
      std::min({membership_.next_tick(), plans_.next_tick(), publisher_.next_tick()});
  timer_.cancel();
  if (next == SimulatedTime::max()) return;
  timer_.expire_at(next, [this] {
    membership_.tick(now());
    plans_.tick(now(), membership_.is_member(now()) ? membership_.lease() : 0);
    publisher_.tick();
    schedule();
  });
}

void SimulatedDaemon::take_plan(const JobPlan& plan, int pid,
                                std::shared_ptr<const SimulatedProcess> teller) {
  process_->receive([this, plan, pid, teller = std::move(teller)] {
    if (teller->ended() || !local_plans_.take(plan, {kAccount, pid}, now()).ok()) return;
    plans_.set_own(local_plans_.own());
    schedule();
  });
}

void SimulatedDaemon::forget_plans(int pid) {
  process_->receive([this, pid] {
    local_plans_.forget(pid);
    publisher_.forget(pid);
    plans_.set_own(local_plans_.own());
    schedule();
  });
}

void SimulatedDaemon::publish(const LaunchClaim& claim, const JobPlan& plan, int pid,
                              std::shared_ptr<SimulatedProcess> asks,
                              std::function<void(const JobPlanPublisher::Answer&)> take_answer) {
  process_->receive(
      [this, claim, plan, pid, asks = std::move(asks), take_answer = std::move(take_answer)] {
        if (asks->ended()) return;
        const base::Result<JobPlanPublisher::Answer> answer = publisher_.publish(claim, plan, pid);
        schedule();
        if (answer.ok()) asks->receive([take_answer, answer] { take_answer(answer.value()); });
      });
}

SimulatedLaunch::SimulatedLaunch(SimulatedWorld& world, SimulatedService& service,
                                 const SimulatedMachine& machine, Settings settings)
    : world_(world),
      machine_(machine),
      settings_(std::move(settings)),
      store_(world, service, machine, process_),
      timer_(world, machine, process_),
      end_timer_(world, machine, process_),
      plan_timer_(world, machine, process_),
      claim_(store_,
             {kSimulatedKeys, settings_.job, settings_.nodes, machine.name, "at-" + machine.name,
              settings_.pid, token(), kClaimTtl, [this] { schedule(); }}) {
  end_timer_.expire_at(now() + settings_.patience, [this] { leave(); });
  schedule();
}

void SimulatedLaunch::schedule() {
  timer_.cancel();
  if (leaving_) return;
  if (claim_.view().state == RankClaim::State::kRefused) return leave();
  if (claim_.view().state == RankClaim::State::kStarted && !started_) begin();
  const SimulatedTime next = claim_.next_tick();
  if (next == SimulatedTime::max()) return;
  timer_.expire_at(next, [this] {
    claim_.tick(now());
    schedule();
  });
}

void SimulatedLaunch::begin() {
  started_ = true;
  end_timer_.expire_at(now() + settings_.runs_for, [this] { leave(); });
  if (claim_.view().rank != 0 || !settings_.tell_plan) return;
  plan_.job = settings_.job;
  plan_.run = "run-" + token();
  plan_.ranks.assign(static_cast<std::size_t>(settings_.nodes),
                     PlanRank{machine_.name, 1.0 / settings_.nodes, {}, {}, {}});
  tell_plan();
}

// As rank 0 of a training does: what is not known after a while is given up, and another plan is
// asked for later.
void SimulatedLaunch::change_plan() {
  constexpr int kMostTimesAsked = 4;
  if (asked_ && ++times_asked_ > kMostTimesAsked) asked_.reset();
  if (!asked_ && !refused_ && world_.happens(0.3)) {
    asked_ = plan_;
    asked_->epoch = ++last_epoch_;
    times_asked_ = 1;
  }
  if (asked_) settings_.publish_plan(*this, *asked_);
}

void SimulatedLaunch::take_answer(int64_t epoch, const JobPlanPublisher::Answer& answer) {
  if (!asked_ || asked_->epoch != epoch || answer.state == JobPlanPublisher::State::kAsked) return;
  asked_.reset();
  refused_ = answer.state == JobPlanPublisher::State::kRefused;
  if (answer.state == JobPlanPublisher::State::kAccepted) accepted_ = plan_.epoch = epoch;
}

void SimulatedLaunch::tell_plan() {
  plan_.step += world_.draw(1, 20);
  change_plan();
  settings_.tell_plan(*this, plan_);
  plan_timer_.expire_at(now() + world_.draw_time(milliseconds(200), kPlanIsTold),
                        [this] { tell_plan(); });
}

void SimulatedLaunch::leave() {
  if (std::exchange(leaving_, true)) return;
  for (SimulatedTimer* one : {&timer_, &end_timer_, &plan_timer_}) one->cancel();
  if (claim_.lease() == 0) return process_->end();
  store_.revoke_lease(claim_.lease(),
                      [this](const base::Result<ClusterLease>&) { process_->end(); });
}

}  // namespace optile::daemon
