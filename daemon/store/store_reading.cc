#include "daemon/store/store_reading.h"

#include "daemon/store/plan_checksum.h"
#include "daemon/store/store_values.h"

namespace optile::daemon {
namespace {

using perfmodel::Binding;

constexpr int kMaxEntries = 4097;  // with the one that holds the sum
constexpr int kMaxTimes = 65536;
constexpr int kMaxRunsRead = 128;
constexpr int kWidestStored = 8192;
constexpr int kMaxCount = 1 << 30;
constexpr int kLastBinding = static_cast<int>(Binding::kSpread);
constexpr int kLastFlow = static_cast<int>(tuner::OpFlow::Kind::kAhead);
constexpr int kLastRule = static_cast<int>(tuner::Rule::kUndone);

}  // namespace

std::optional<FoundPlan> find_plan_in(Database* database, const Conditions& conditions,
                                      int default_width) {
  const ProgramKey& program = conditions.program;
  const std::vector<Row> found = rows_in(
      database,
      "SELECT plans.id, step_fingerprint, default_width, binding, marker_key, marker_context, "
      "marker_ops, own_step_seconds, tuned_step_seconds, made_at, arguments = ?3 AS same, flow "
      "FROM plans JOIN programs ON programs.id = program_id "
      "WHERE machine = ?4 AND launch_plan = ?5 AND executable = ?1 AND program = ?2 "
      "AND (?6 = 0 OR runtime = 0 OR runtime = ?6) "
      "ORDER BY same DESC, (runtime = ?6) DESC, (default_width = ?7) DESC, made_at DESC, "
      "plans.id DESC "
      "LIMIT 1",
      {program.executable, program.program, program.arguments, conditions.machine,
       conditions.launch_plan, int64_t{conditions.runtime}, int64_t{default_width}});
  if (found.empty()) return std::nullopt;
  const Row& row = found[0];
  FoundPlan result;
  result.plan.step_fingerprint = unsigned_word(row[1]);
  result.plan.default_width = small(row[2], kWidestStored);
  result.plan.binding = static_cast<Binding>(small(row[3], kLastBinding));
  result.plan.marker.place = {unsigned_word(row[4]), unsigned_word(row[5])};
  result.plan.marker.ops = small(row[6], kMaxCount);
  result.plan.own_step_seconds = seconds(row[7]);
  result.plan.tuned_step_seconds = seconds(row[8]);
  result.when = as_integer(row[9]);
  result.same_arguments = as_integer(row[10]) != 0;
  result.plan.flow.kind = static_cast<tuner::OpFlow::Kind>(small(row[11], kLastFlow));
  uint64_t sum = 0;
  for (const Row& entry : rows_in(
           database,
           "SELECT entry.key, entry.context, entry.width, rule, "
           "own.median_ns, planned.median_ns FROM plan_entries AS entry JOIN plans ON plans.id = "
           "plan_id "
           "LEFT JOIN profiles AS own ON own.program_id = plans.program_id "
           "AND own.machine = plans.machine AND own.launch_plan = plans.launch_plan "
           "AND own.runtime = plans.runtime AND own.key = entry.key "
           "AND own.width = plans.default_width AND own.binding = ?3 "
           "LEFT JOIN profiles AS planned ON planned.program_id = plans.program_id "
           "AND planned.machine = plans.machine AND planned.launch_plan = plans.launch_plan "
           "AND planned.runtime = plans.runtime AND planned.key = entry.key "
           "AND planned.width = entry.width AND planned.binding = plans.binding "
           "WHERE plan_id = ?1 LIMIT ?2",
           {as_integer(row[0]), int64_t{kMaxEntries}, int64_t{static_cast<int>(Binding::kNone)}})) {
    if (unsigned_word(entry[0]) == 0) {
      sum = unsigned_word(entry[1]);
      continue;
    }
    result.plan.entries.push_back({{unsigned_word(entry[0]), unsigned_word(entry[1])},
                                   small(entry[2], kWidestStored),
                                   static_cast<tuner::Rule>(small(entry[3], kLastRule)),
                                   seconds(entry[4]),
                                   seconds(entry[5])});
  }
  // Whatever is wrong with it, it is not the plan that was stored.
  if (sum != plan_checksum(result.plan)) return std::nullopt;
  for (const Row& time : rows_in(
           database,
           "SELECT profiles.key, profiles.width, profiles.median_ns FROM plans "
           "JOIN profiles ON profiles.program_id = plans.program_id "
           "AND profiles.machine = plans.machine AND profiles.launch_plan = plans.launch_plan "
           "AND profiles.runtime = plans.runtime AND profiles.binding = ?3 "
           "WHERE plans.id = ?1 ORDER BY profiles.key, profiles.width LIMIT ?2",
           {as_integer(row[0]), int64_t{kMaxTimes}, int64_t{static_cast<int>(Binding::kNone)}})) {
    const tuner::StoredTime one{unsigned_word(time[0]), small(time[1], kWidestStored),
                                seconds(time[2])};
    if (one.width > 0 && one.ns > 0) result.plan.times.push_back(one);
  }
  return result;
}

std::vector<RunRecord> find_runs_in(Database* database, const Conditions& conditions) {
  const ProgramKey& program = conditions.program;
  const std::vector<Row> latest =
      rows_in(database,
              "SELECT arguments FROM runs JOIN programs ON programs.id = program_id "
              "WHERE machine = ?1 AND program = ?2 "
              "ORDER BY (arguments = ?3) DESC, finished_at DESC, runs.id DESC LIMIT 1",
              {conditions.machine, program.program, program.arguments});
  if (latest.empty()) return {};
  std::vector<RunRecord> runs;
  for (const Row& row : rows_in(
           database,
           "SELECT executable, arguments, launch_plan, runtime, kind, steps, step_seconds, "
           "spread, own_steps, own_step_seconds, finished_at, coalesce(untouched, 0), "
           "coalesce(disturbed, ''), coalesce(step_ops, 0), coalesce(step_keys, '') FROM runs "
           "JOIN programs ON programs.id = program_id "
           "LEFT JOIN run_details ON run_id = runs.id "
           "WHERE machine = ?1 AND program = ?2 AND arguments = ?3 "
           "ORDER BY finished_at DESC, runs.id DESC LIMIT ?4",
           {conditions.machine, program.program, as_text(latest[0][0]), int64_t{kMaxRunsRead}})) {
    RunRecord run;
    run.conditions = {conditions.machine,
                      {as_text(row[0]), program.program, as_text(row[1])},
                      as_text(row[2]),
                      small(row[3], OPTILE_RUNTIME_LLVM)};
    run.kind = static_cast<RunKind>(small(row[4], static_cast<int>(RunKind::kTune)));
    run.steps = small(row[5], kMaxCount);
    run.step_seconds = seconds(row[6]);
    run.spread = seconds(row[7]);
    run.own_steps = small(row[8], kMaxCount);
    run.own_step_seconds = seconds(row[9]);
    run.when = as_integer(row[10]);
    run.untouched = run.kind == RunKind::kBaseline || as_integer(row[11]) != 0;
    run.disturbed = as_text(row[12]);
    run.step = {small(row[13], kMaxCount), StepSketch::keys_from(as_text(row[14]))};
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<FoundProfile> find_profiles_in(Database* database, const std::string& machine,
                                           uint64_t key, const std::string& name_prefix,
                                           int limit) {
  std::vector<FoundProfile> profiles;
  const std::string about = key != 0 ? "key = ?2" : "substr(name, 1, length(?2)) = ?2";
  const std::string sql =
      "SELECT key, name, shape, width, binding, samples, median_ns, made_at, program "
      "FROM profiles JOIN programs ON programs.id = program_id WHERE machine = ?1 AND " +
      about + " ORDER BY made_at DESC, program_id, key, binding, width LIMIT ?3";
  const Value wanted = key != 0 ? Value(word(key)) : Value(name_prefix);
  for (const Row& row : rows_in(database, sql, {machine, wanted, int64_t{limit}})) {
    FoundProfile found;
    found.profile.key = unsigned_word(row[0]);
    found.profile.name = as_text(row[1]);
    found.profile.shape = as_text(row[2]);
    found.profile.at = {small(row[3], kWidestStored),
                        static_cast<Binding>(small(row[4], kLastBinding))};
    found.profile.count = unsigned_word(row[5]);
    found.profile.median_ns = seconds(row[6]);
    found.when = as_integer(row[7]);
    found.program = as_text(row[8]);
    profiles.push_back(std::move(found));
  }
  return profiles;
}

}  // namespace optile::daemon
