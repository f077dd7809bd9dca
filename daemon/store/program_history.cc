#include "daemon/store/program_history.h"

#include <chrono>
#include <utility>

namespace optile::daemon {
namespace {

constexpr std::chrono::seconds kLendingBelieved{7L * 24 * 3600};  // then it is tried again
constexpr std::chrono::seconds kCurveBelieved{7L * 24 * 3600};    // each point of it
constexpr double kMostlySteered = 0.8;                            // of its steps

Conditions conditions_of(const ProgramKey& program) {
  Conditions conditions;
  conditions.program = program;
  return conditions;
}

}  // namespace

ProgramHistory::ProgramHistory(Dependencies dependencies)
    : dependencies_(std::move(dependencies)), batches_(dependencies_.monotonic_ns) {}

Store* ProgramHistory::store_of(unsigned uid) const {
  return dependencies_.store_of ? dependencies_.store_of(uid) : dependencies_.store;
}

Store* ProgramHistory::store_to_read(unsigned uid) {
  Store* store = store_of(uid);
  batches_.write_due(store);
  return store;
}

Conditions ProgramHistory::on_this_machine(Conditions conditions) const {
  conditions.machine = dependencies_.machine;
  return conditions;
}

perfmodel::LaunchPlan ProgramHistory::launch_plan(const perfmodel::LaunchFacts& facts,
                                                  const ProgramKey& program, unsigned uid) {
  Store* store = store_to_read(uid);
  if (store == nullptr) return perfmodel::choose_launch_plan(facts, {});
  const Conditions conditions = on_this_machine(conditions_of(program));
  std::vector<perfmodel::MeasuredLaunchPlan> measured;
  const std::vector<RunRecord> runs = store->find_runs(conditions);
  for (const RunRecord& run : runs) {
    // A step of other ops is no measure for those of the latest run.
    if (!may_be_same_step(run.step, runs.front().step)) continue;
    perfmodel::MeasuredLaunchPlan one;
    one.text = run.kind == RunKind::kBaseline ? "" : run.conditions.launch_plan;
    // Any other run without a launch plan was not started by the launcher: not comparable.
    if (one.text.empty() && run.kind != RunKind::kBaseline) continue;
    // Nor is one with another number of threads, and most ops left alone.
    if (!perfmodel::launch_option(one.text, "numerics").empty()) continue;
    one.step_seconds = run.step_seconds;
    one.spread = run.spread;
    one.steps = run.steps;
    one.tuned = run.kind == RunKind::kTune;
    one.disturbed = !run.disturbed.empty();
    measured.push_back(std::move(one));
  }
  return store->is_undone(conditions) ? perfmodel::launch_plan_left_alone()
                                      : perfmodel::choose_launch_plan(facts, measured);
}

std::optional<FoundPlan> ProgramHistory::stored_plan(const ProgramKey& program,
                                                     const std::string& launch_plan, unsigned uid) {
  Store* store = store_to_read(uid);
  if (store == nullptr) return std::nullopt;
  Conditions conditions = on_this_machine(conditions_of(program));
  conditions.launch_plan = launch_plan;
  return store->find_plan(conditions, 0);
}

std::vector<RunRecord> ProgramHistory::earlier_runs(const ProgramKey& program, unsigned uid) {
  Store* store = store_to_read(uid);
  if (store == nullptr) return {};
  return store->find_runs(on_this_machine(conditions_of(program)));
}

std::optional<bool> ProgramHistory::was_steered(const ProgramKey& program, unsigned uid) {
  (void)store_to_read(uid);
  const std::optional<EarlierCurve> curve = find_curve(conditions_of(program), uid);
  if (!curve) return std::nullopt;
  return curve->steered >= kMostlySteered;
}

std::optional<EarlierCurve> ProgramHistory::find_curve(Conditions conditions, unsigned uid) const {
  Store* store = store_of(uid);
  if (store == nullptr) return std::nullopt;
  return store->find_curve(on_this_machine(std::move(conditions)),
                           unix_seconds() - kCurveBelieved.count());
}

std::vector<LendingRecord> ProgramHistory::find_lending(const std::string& program,
                                                        unsigned uid) const {
  Store* store = store_of(uid);
  if (store == nullptr) return {};
  return store->find_lending(dependencies_.machine, program,
                             unix_seconds() - kLendingBelieved.count());
}

}  // namespace optile::daemon
