#include "daemon/views/json_views.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

#include "bindings/abi/api_fields.h"
#include "daemon/client/width_numerics.h"
#include "daemon/views/region_reasons.h"

namespace optile::daemon {
namespace {

constexpr std::array<std::pair<uint32_t, const char*>, 13> kFallbackTexts = {{
    {OPTILE_FALLBACK_NO_RUNTIME,
     "no OpenMP runtime was found in the program: its widths were left alone"},
    {OPTILE_FALLBACK_TWO_RUNTIMES,
     "the program holds several OpenMP runtimes: only each caller's own was steered"},
    {OPTILE_FALLBACK_BRIDGE_MISSING,
     "no bridge for this PyTorch: only its regions were seen, see optile bridge check"},
    {OPTILE_FALLBACK_OPS_FULL, "more ops than can be registered: the rest ran untouched"},
    {OPTILE_FALLBACK_THREADS_FULL, "more issuing threads than rings: nothing is known of the rest"},
    {OPTILE_FALLBACK_USER_BINDING, "you bound the threads yourself: masks were left alone"},
    {OPTILE_FALLBACK_MASK_REFUSED, "the kernel refused a mask: threads were left unbound"},
    {OPTILE_FALLBACK_RUNTIME_UNSUITABLE,
     "an object of the program needs what libomp lacks: run it with --openmp keep"},
    {OPTILE_FALLBACK_BLAS_SHARED,
     "several threads issue ops: the BLAS pool, which they share, was left alone"},
    {OPTILE_FALLBACK_FORKED, "a forked child was left untouched"},
    {OPTILE_FALLBACK_ENTRY_DISABLED,
     "ops that were slower at their planned width than at the program's own were put back"},
    {OPTILE_FALLBACK_OTHER_MANAGER,
     "another library manages the program's threads (DLB, likwid-pin or TCM): observed only"},
    {OPTILE_FALLBACK_NO_COUNTERS, "counters could not be read: ops are known by their time alone"},
}};

Json nullable(double number) {
  return number > 0 ? Json(number) : Json(nullptr);
}

Json case_json(const perfmodel::Configuration& at) {
  return {{field::kWidth, at.width}, {field::kBinding, perfmodel::binding_name(at.binding)}};
}

std::string revoke_command(const ClientView& client) {
  return "optile undo --program " + client.attach_request.program + " --revoke";
}

// Why none of its widths is changed at all; "" where they may be.
std::string reason_for_all(const ClientView& client) {
  const optile_mode mode = client.attach_request.mode;
  const uint32_t fallbacks = client.header ? client.header->fallbacks : 0;
  if (client.attach_request.baseline) return "an untouched run: nothing is changed in it";
  if ((fallbacks & OPTILE_FALLBACK_OTHER_MANAGER) != 0) {
    return "observed only: another library manages the program's threads";
  }
  if (mode == OPTILE_MODE_OBSERVE || mode == OPTILE_MODE_ADVISE) {
    return std::string("nothing is changed in this mode (--mode ") + mode_name(mode) + ")";
  }
  if (client.left_alone) return "undone by hand in an earlier run, until " + revoke_command(client);
  if (mode == OPTILE_MODE_FREEZE && !client.stored) {
    return "nothing is stored to be repeated, so nothing is changed (--mode freeze)";
  }
  return "";
}

// Neither in this run nor in the one whose plan is in force.
bool was_compared(const ClientView& client, const tuner::OpView& op) {
  if (client.session && client.session->plan_replayed) return true;
  const auto& cases = op.profile.cases;
  return !cases.empty() && cases.begin()->first.width != cases.rbegin()->first.width;
}

Json width_json(int width) {
  return width > 0 ? Json(width) : Json(nullptr);
}

// Of one step, at the width in force: as sampled, or where nobody sampled it on average.
double seconds_in_step(const ClientView& client, const tuner::OpView& op) {
  if (op.best_time.count() > 0) return seconds_of(op.best_time) * op.per_step;
  const auto totals = client.totals.find(op.place.key);
  if (totals == client.totals.end() || totals->second.count == 0) return 0;
  return seconds_of(totals->second.time) / static_cast<double>(totals->second.count) * op.per_step;
}

// Nothing yet where it has none.
const tuner::SessionView& session_of(const ClientView& client) {
  static const tuner::SessionView nothing_yet;
  return client.session ? *client.session : nothing_yet;
}

}  // namespace

std::string hex_key(uint64_t key) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(key));
  return text.data();
}

std::string op_id(const perfmodel::OpPlace& place) {
  return place.context == 0 ? hex_key(place.key)
                            : hex_key(place.key) + "-" + hex_key(place.context);
}

std::string iso_time(int64_t unix_seconds) {
  if (unix_seconds == 0) return "";
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  std::array<char, 32> text{};
  if (gmtime_r(&time, &parts) == nullptr) return "";
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

const char* rule_name(tuner::Rule rule) {
  switch (rule) {
    case tuner::Rule::kDefaultWidth:
      return "default_width";
    case tuner::Rule::kHillClimb:
      return "hill_climb";
    case tuner::Rule::kFastest:
      return "fastest";
    case tuner::Rule::kPlanned:
      return "planned";
    case tuner::Rule::kUniform:
      return "uniform";
    case tuner::Rule::kReplayed:
      return "replayed";
    case tuner::Rule::kUserCap:
      return "user_cap";
    case tuner::Rule::kLeftAlone:
      return "left_alone";
    case tuner::Rule::kRolledBack:
      return "rolled_back";
    case tuner::Rule::kUndone:
      return "undone";
  }
  return "unknown";
}

const char* keeping_name(Store::Keeping keeping) {
  switch (keeping) {
    case Store::Keeping::kOnDisk:
      return "on_disk";
    case Store::Keeping::kInMemory:
      return "in_memory";
    case Store::Keeping::kFailing:
      return "failing";
  }
  return "unknown";
}

std::string blas_name(const ClientHeader& header) {
  if (!header.blas_ready) return "unknown";
  const std::string& path = header.blas_path;
  if (path.empty()) return "none";
  const auto has = [&](const char* word) { return path.find(word) != std::string::npos; };
  if (has("openblas-openmp")) return "openblas-openmp";
  if (has("openblas-pthread")) return "openblas-pthread";
  if (has("openblas-serial")) return "openblas-serial";
  if (has("openblas")) return "openblas";
  if (has("blis")) return "blis";
  if (has("mkl")) return "mkl";
  if (has("atlas")) return "atlas";
  if (has("/blas/") || has("libblas")) return "reference";
  return path;
}

std::vector<std::string> blas_beside(const ClientHeader& header) {
  std::vector<std::string> names = header.beside_names;
  const std::size_t more = header.blas_beside - names.size();
  if (more > 0 && names.empty()) {
    names.push_back(std::to_string(more));
  } else if (more > 0) {
    names.push_back(std::to_string(more) + " more");
  }
  return names;
}

std::string openmp_runtime_name(perfmodel::Runtime runtime) {
  return perfmodel::runtime_name(runtime);
}

const char* client_state(const ClientView& client) {
  if (client.finished) return "finished";
  if (client.dying) return "dying";
  return client.stopped ? "stopped" : "running";
}

std::vector<std::string> fallback_texts(const ClientView& client) {
  std::vector<std::string> texts;
  if (client.clock_refused) {
    texts.emplace_back("the program's clock is not this machine's: nothing was observed");
  }
  if (client.header) {
    for (const auto& [bit, text] : kFallbackTexts) {
      if ((client.header->fallbacks & bit) != 0) texts.emplace_back(text);
    }
    if (client.header->unseen_ops != 0) {
      texts.push_back(std::to_string(client.header->unseen_ops) + " ops ran unseen");
    }
  }
  if (client.counters.dropped != 0) {
    texts.push_back(std::to_string(client.counters.dropped) +
                    " events were dropped because the program's ring was full");
  }
  if (client.counters.rejected != 0) {
    texts.push_back(std::to_string(client.counters.rejected) +
                    " events of the program made no sense and were not used");
  }
  if (client.entries_left_out != 0) {
    texts.push_back(std::to_string(client.entries_left_out) +
                    " ops did not fit into the plan and kept their default width");
  }
  for (const auto& [key, hang] : client.hangs) {
    texts.push_back(hang.name + " did not return at width " + std::to_string(hang.width) +
                    " and keeps the program's default width; " + revoke_command(client) +
                    " forgets that");
  }
  const bool lent_a_width =
      client.header && client.header->default_width_source == OPTILE_WIDTH_LAUNCHER;
  if (client.attach_request.as_untuned && lent_a_width) {
    texts.emplace_back(
        "as-untuned: its number of threads is that of another optile run around it, which an "
        "untouched run may not have");
  }
  if (client.left_alone) {
    texts.push_back("undone by hand: the program's default widths; " + revoke_command(client) +
                    " to tune it");
  }
  if (client.slow_leases.count > 0) texts.push_back(client.slow_leases.latest);
  if (client.trials_withheld) {
    texts.emplace_back("freeze: the stored plan does not fit this step; default widths were kept");
  }
  return texts;
}

// Medians of whole steps.
Json step_seconds_json(const tuner::SessionView& session) {
  return {{field::kOwn, nullable(seconds_of(session.own_steps.median()))},
          {field::kUniform, nullable(seconds_of(session.uniform_steps.median()))},
          {field::kTuned, nullable(seconds_of(session.tuned_steps.median()))}};
}

int default_width_of(const ClientView& client) {
  const int own = client.session ? client.session->default_width : 0;
  return own == 0 && client.header ? static_cast<int>(client.header->region_width) : own;
}

// The narrowest and the widest op of a step; null while no step is known.
Json widths_json(const ClientView& client, const tuner::SessionView& session) {
  const int alone = default_width_of(client);
  const int own = client.default_width_cap > 0 ? std::min(alone, client.default_width_cap) : alone;
  if (session.ops.empty() || own <= 0) return nullptr;
  int least = own;
  int most = 0;
  for (const tuner::OpView& op : session.ops) {
    const int width = op.width == 0 ? own : op.width;
    least = std::min(least, width);
    most = std::max(most, width);
  }
  return {{field::kLeast, least}, {field::kMost, most}};
}

Json trials_json(const Trials& trials) {
  if (trials.ops == 0) return nullptr;
  return {{field::kOps, trials.ops}, {field::kWidths, trials.widths}};
}

Json client_basics(const ClientView& client) {
  const AttachRequest& request = client.attach_request;
  const ClientHeader header = client.header.value_or(ClientHeader());
  const tuner::SessionView& session = session_of(client);
  return {
      {field::kPid, request.pid},
      {field::kProgram, request.program},
      {field::kArguments, request.arguments},
      {field::kExecutable, request.executable},
      {field::kMode, mode_name(request.mode)},
      {field::kNumerics, numerics_name(request)},
      {field::kStrategy, strategy_name(request.strategy)},
      {field::kBaselineRun, request.baseline},
      {field::kWholeProgram, request.whole_program},
      {field::kLaunchPlan, request.launch_plan},
      {field::kPhase, client.session ? tuner::phase_name(session.phase) : "attaching"},
      {field::kSteps, session.steps},
      {field::kSampledSteps, session.sampled_steps},
      {field::kSamples, session.samples},
      {field::kPlanReplayed, session.plan_replayed},
      {field::kDecision, session.decision},
      {field::kOpenmpRuntime, openmp_runtime_name(header.runtime)},
      {field::kBlas, blas_name(header)},
      {field::kBlasBeside, blas_beside(header)},
  };
}

Json client_summary(const ClientView& client) {
  Json json = client_basics(client);
  json[field::kId] = client.id;
  json[field::kState] = client_state(client);
  json[field::kRunId] = client.attach_request.run_id;
  json[field::kPlanGeneration] = client.generation;
  json[field::kEvents] = {{field::kRead, client.counters.read},
                          {field::kRejected, client.counters.rejected},
                          {field::kDropped, client.counters.dropped}};
  json[field::kFallbacks] = fallback_texts(client);
  const ClientHeader header = client.header.value_or(ClientHeader());
  json[field::kDefaultWidth] =
      header.default_width == 0 ? Json(nullptr) : Json(header.default_width);
  const tuner::SessionView& session = session_of(client);
  json[field::kStepSeconds] = step_seconds_json(session);
  json[field::kStepsPerSecond] =
      client.steps_per_second ? Json(*client.steps_per_second) : Json(nullptr);
  json[field::kWidths] = widths_json(client, session);
  json[field::kTrials] = trials_json(client.trials);
  return json;
}

Json stranger(const ClientView& client) {
  return {{field::kId, client.id},
          {field::kPid, nullptr},
          {field::kState, client_state(client)},
          {field::kProgram, "another user's program"},
          {field::kMode, mode_name(client.attach_request.mode)},
          {field::kPhase, client.session ? tuner::phase_name(client.session->phase) : "attaching"},
          {field::kSteps, client.session ? client.session->steps : 0}};
}

Json client_details(const ClientView& client) {
  Json json = client_summary(client);
  const ClientHeader header = client.header.value_or(ClientHeader());
  json[field::kOpsBegun] = header.progress;
  json[field::kSharing] = sharing_json(client);
  if (client.session) {
    json[field::kStepSamples] = {{field::kTuned, client.session->tuned_steps.count()}};
  }
  return json;
}

bool observed_only(const ClientView& client, const tuner::OpView& op) {
  const auto described = client.ops.find(op.place.key);
  return described != client.ops.end() && described->second.observed_only();
}

std::string op_reason(const ClientView& client, const tuner::OpView& op) {
  if (std::string all = reason_for_all(client); !all.empty()) return all;
  if (client.is_fixed_by_user) return "you said so: exactly this width (--respect exact)";
  const auto described = client.ops.find(op.place.key);
  const bool known = described != client.ops.end();
  if (known && described->second.probe == OPTILE_PROBE_ITT) {
    return "observed only: oneDNN inside another library tells of it when its number of threads is "
           "settled already";
  }
  if (client.attach_request.as_untuned && !(known && same_bits_at_every_width(described->second))) {
    return "left alone: numerics; its results are not known to be the same at every width "
           "(--numerics as-untuned)";
  }
  const bool region = known && described->second.region;
  if (const auto hang = client.hangs.find(op.place.key); hang != client.hangs.end()) {
    return "it did not return at width " + std::to_string(hang->second.width) + " on " +
           iso_time(hang->second.when) + ", and is left alone; " + revoke_command(client) +
           " forgets that";
  }
  if (!region || !described->second.observed_only()) {
    const bool untried = op.rule == tuner::Rule::kDefaultWidth && !was_compared(client, op);
    return untried ? "no other width has been tried" : tuner::reason_text(op.rule);
  }
  return region_reasons(described->second.tuning);
}

Json op_row(const ClientView& client, const tuner::OpView& op) {
  const int own = default_width_of(client);
  const int width = op.width == 0 ? own : op.width;
  const double own_seconds = seconds_of(op.own_time) * op.per_step;
  const double seconds = seconds_in_step(client, op);
  Json row = {
      {field::kClient, client.id},
      {field::kId, op_id(op.place)},
      {field::kKey, hex_key(op.place.key)},
      {field::kWidth, width_json(width)},
      {field::kDefaultWidth, width_json(own)},
      {field::kPerStep, op.per_step},
      {field::kSeconds, seconds},
      {field::kOwnSeconds, op.width == 0 && own_seconds <= 0 ? seconds : own_seconds},
      {field::kRule, rule_name(observed_only(client, op) ? tuner::Rule::kLeftAlone : op.rule)},
      {field::kReason, op_reason(client, op)},
      {field::kRunnerUp, nullptr},
      {field::kSamples, op.profile.samples()},
  };
  if (op.runner_up) {
    row[field::kRunnerUp] = case_json(*op.runner_up);
    row[field::kRunnerUp][field::kSeconds] = seconds_of(op.runner_up_time) * op.per_step;
  }
  const auto described = client.ops.find(op.place.key);
  const bool known = described != client.ops.end();
  row[field::kName] = known ? described->second.name : "";
  row[field::kShape] = known ? described->second.shape : "";
  row[field::kDirection] = known && described->second.backward ? "backward" : "forward";
  const auto totals = client.totals.find(op.place.key);
  row[field::kExecutions] = totals == client.totals.end() ? 0 : totals->second.count;
  row[field::kCounts] = counts_json(client, op.place.key, width);
  return row;
}

Json sharing_json(const ClientView& client) {
  const ClientHeader header = client.header.value_or(ClientHeader());
  const uint32_t alone = header.progress > 0 ? 1 : 0;
  return {
      {field::kIssuingThreads, std::max(header.issuing_threads, alone)},
      {field::kMostInOps, std::max(header.most_in_ops, alone)},
      {field::kSharedCores, client.shared_cores == 0 ? Json(nullptr) : Json(client.shared_cores)},
      {field::kNarrowedOps, header.narrowed_ops},
      {field::kRegionThreads, header.region_width == 0 ? Json(nullptr) : Json(header.region_width)},
      {field::kWaitCapMs, client.wait_cap_ms ? Json(*client.wait_cap_ms) : Json(nullptr)}};
}

Json guard_json(const tuner::GuardView& guard) {
  Json rollbacks = Json::array();
  for (const tuner::Rollback& one : guard.rollbacks) {
    rollbacks.push_back({{field::kStep, one.step},
                         {field::kWhat, one.what},
                         {field::kReason, one.reason},
                         {field::kLossSeconds, one.loss_seconds}});
  }
  return {{field::kRollbacks, std::move(rollbacks)}};
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

std::string counter_reason(const ClientHeader& header) {
  const bool none = header.counter_tier == perfmodel::CounterTier::kNone;
  switch (header.counter_errno) {
    case 0:
      return none ? "nothing was counted yet" : "";
    case ECANCELED:
      return "switched off with --counters off";
    case ENODEV:
    case ENOENT:
      return none ? "the counter library is not there" : "the processor grants no counters here";
    case EACCES:
    case EPERM:
      return none ? "the counter library cannot be trusted: others may write to it"
                  : "the kernel refused perf events: see perf_event_paranoid in optile doctor";
    case EBUSY:
      return "the program uses PAPI itself";
    default:
      return "refused, error " + std::to_string(header.counter_errno);
  }
}

Json counts_json(const ClientView& client, uint64_t key, int width) {
  using perfmodel::CountedEvent;
  const perfmodel::OpCounts* counts = client.counts.find(key, width);
  if (counts == nullptr) return nullptr;
  Json means = Json::object();
  for (std::size_t i = 1; i < perfmodel::kCountedEvents; ++i) {
    const auto event = static_cast<CountedEvent>(i);
    if (const auto mean = counts->mean(event)) means[perfmodel::counted_event_name(event)] = *mean;
  }
  Json ratios = Json::object();
  const auto add = [&](const char* name, std::optional<double> ratio, double scale) {
    if (ratio) ratios[name] = *ratio * scale;
  };
  add("instructions_per_cycle", counts->ratio(CountedEvent::kInstructions, CountedEvent::kCycles),
      1);
  for (const CountedEvent event :
       {CountedEvent::kLlcAccesses, CountedEvent::kLlcMisses, CountedEvent::kL1Hits}) {
    const std::string name =
        std::string(perfmodel::counted_event_name(event)) + "_per_1000_instructions";
    add(name.c_str(), counts->ratio(event, CountedEvent::kInstructions), 1000);
  }
  add("busy_cores", counts->busy_cores(), 1);
  return {{field::kExecutions, counts->executions()},
          {field::kTooShort, counts->too_short()},
          {field::kThreads, counts->threads()},
          {field::kPerExecution, std::move(means)},
          {field::kRatios, std::move(ratios)}};
}

Json budget_json(const perfmodel::Budget& budget) {
  return {{field::kCores, budget.cores},
          {field::kUnits, budget.units},
          {field::kLimitedBy, budget.limited_by.empty() ? Json(nullptr) : Json(budget.limited_by)}};
}

Json machine_summary(const perfmodel::Machine& machine) {
  return {{field::kName, machine.name},
          {field::kUnits, machine.units.size()},
          {field::kCores, machine.cores.size()},
          {field::kTiles, machine.tiles.size()},
          {field::kNumaNodes, machine.numa_nodes}};
}

Json machine_details(const perfmodel::Machine& machine, const perfmodel::Budget& budget) {
  Json tiles = Json::array();
  for (const perfmodel::Tile& tile : machine.tiles) {
    Json cores = Json::array();
    for (const int core : tile.cores) {
      Json units = Json::array();
      for (const int unit : machine.cores[static_cast<std::size_t>(core)].units) {
        units.push_back(machine.units[static_cast<std::size_t>(unit)].os_index);
      }
      cores.push_back({{field::kCore, core}, {field::kUnits, std::move(units)}});
    }
    tiles.push_back({{field::kNumaNode, tile.numa_node}, {field::kCores, std::move(cores)}});
  }
  return {{field::kMachine, machine_summary(machine)},
          {field::kTiles, std::move(tiles)},
          {field::kBudget, budget_json(budget)}};
}

}  // namespace optile::daemon
