#include "bindings/cli/run/launcher.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "base/daemon_choice.h"
#include "base/runtime_path.h"
#include "bindings/abi/api_fields.h"
#include "bindings/cli/bridge/background_build.h"
#include "bindings/cli/bridge/torch_wheel.h"
#include "bindings/cli/run/advice.h"
#include "bindings/cli/run/daemon_start.h"
#include "bindings/cli/run/other_manager.h"
#include "bindings/cli/run/report_output.h"
#include "bindings/cli/run/target_program.h"
#include "bindings/cli/support/child_process.h"
#include "bindings/cli/support/http_client.h"
#include "bindings/cli/support/output_file.h"
#include "perfmodel/machine/budget.h"

namespace optile::cli {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// The daemon runs already then, so what it has to say comes at once or is not worth waiting for.
constexpr double kAnswerShare = 2.0 / 3;
// What is started together is announced within milliseconds. A program whose teams nothing resizes
// keeps for good the width that it starts with, so it waits that long for co-runners.
constexpr milliseconds kCoRunners{30};

milliseconds daemon_patience(const Options& options) {
  return milliseconds(options.patience_ms);
}

milliseconds answer_patience(const Options& options) {
  return milliseconds(std::max(1, static_cast<int>(options.patience_ms * kAnswerShare)));
}

void lost(const std::string& what) {
  std::cerr << "optile: " << what << "\n";
}

std::string make_run_id() {
  std::random_device random;
  char text[40];
  std::snprintf(text, sizeof text, "%08x%08x-%d", random(), random(), static_cast<int>(getpid()));
  return text;
}

// Empty where it is not to be had: then the machine is not told apart from others.
std::string host_name() {
  utsname here;
  return uname(&here) == 0 ? here.nodename : "";
}

std::string torch_folder_of(const TargetProgram& target, const Variables& now) {
  return find_torch_folder(target.executable, value_of(now, "HOME"), value_of(now, "PYTHONPATH"));
}

perfmodel::LaunchFacts facts_of(const Options& options, const TargetProgram& target,
                                const Variables& now, const std::string& torch_folder,
                                int budget_cores) {
  using namespace perfmodel;
  LaunchFacts facts;
  facts.openmp = options.run.launch.openmp == "llvm"   ? OpenmpChoice::kLlvm
                 : options.run.launch.openmp == "keep" ? OpenmpChoice::kKeep
                                                       : OpenmpChoice::kAuto;
  facts.wait = options.run.launch.wait == "keep" ? WaitChoice::kKeep : WaitChoice::kAuto;
  facts.blas = options.run.launch.blas == "keep" ? BlasChoice::kKeep : BlasChoice::kAuto;
  facts.heap = options.run.launch.heap == "keep" ? HeapChoice::kKeep : HeapChoice::kAuto;
  facts.user_environment = thread_limits(now);
  facts.sets_up_malloc = sets_up_malloc(now);
  const LibrarySearch search(value_of(now, "LD_LIBRARY_PATH"), libraries_of_torch(torch_folder));
  const ProgramObjects objects = look_at_objects(target, search, torch_folder);
  facts.blas_provider = objects.blas_provider;
  facts.uses_openmp = objects.uses_openmp;
  const bool regions =
      options.run.tunes_regions() && objects.uses_openmp && !sets_width(facts.user_environment);
  facts.resizes_teams = objects.has_pytorch || regions;
  facts.marks_ops = objects.marks_ops;
  facts.renews_blocks = objects.has_pytorch;
  facts.libomp_path = objects.libomp_path;
  facts.libomp_suitable = objects.libomp_suitable;
  facts.libomp_obstacle = objects.libomp_obstacle;
  facts.budget_cores = budget_cores;
  return facts;
}

std::string joined(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  return text;
}

struct DaemonsPlan {
  perfmodel::LaunchPlan plan;
  Json store;  // how it is kept, as in /v1/status
  int width = 0;
  bool has_stored = false;
  StoredAdvice stored;
};

double number_at(const Json& object, const char* name) {
  const Json value = object.value(name, Json());
  return value.is_number() ? value.get<double>() : 0;
}

Json object_at(const Json& object, const char* name) {
  Json value = object.value(name, Json());
  return value.is_object() ? value : Json::object();
}

DaemonsPlan read_plan(const Json& json) {
  DaemonsPlan read;
  read.store = object_at(json, field::kStore);
  perfmodel::LaunchPlan& plan = read.plan;
  plan.preload_libomp = json.value(field::kPreloadLibomp, false);
  plan.text = json.value(field::kText, "");
  plan.blas_follows = plan.text.find("blas=follow") != std::string::npos;
  const Json environment = json.value(field::kEnvironment, Json::object());
  for (const auto& [name, value] : environment.items()) {
    if (value.is_string()) plan.environment[name] = value.get<std::string>();
  }
  for (const Json& reason : json.value(field::kReasons, Json::array())) {
    if (reason.is_string()) plan.reasons.push_back(reason.get<std::string>());
  }
  plan.taken_back = json.value(field::kTakenBack, "");
  plan.loss_seconds = number_at(json, field::kLossSeconds);
  plan.wait_follows = json.value(field::kWaitFollows, false);
  read.width = static_cast<int>(std::clamp(number_at(json, field::kWidth), 0.0, 65535.0));
  const Json stored = json.value(field::kStored, Json());
  if (!stored.is_object()) return read;
  read.has_stored = true;
  read.stored.uniform_width = static_cast<int>(number_at(stored, field::kUniformWidth));
  read.stored.changed_ops = static_cast<int>(number_at(stored, field::kChangedOps));
  read.stored.own_step_seconds = number_at(stored, field::kOwnStepSeconds);
  read.stored.tuned_step_seconds = number_at(stored, field::kTunedStepSeconds);
  return read;
}

// `announced`: it has been said before that it starts.
std::string launch_question(const Options& options, const TargetProgram& target,
                            const perfmodel::LaunchFacts& facts, bool announced) {
  std::error_code ignored;
  Json body = {
      {field::kExecutable, std::filesystem::canonical(target.executable, ignored).string()},
      {field::kProgram, target.script},
      {field::kArguments, joined(options.command)},
      {field::kOpenmp, options.run.launch.openmp},
      {field::kWait, options.run.launch.wait},
      {field::kBlas, options.run.launch.blas},
      {field::kHeap, options.run.launch.heap},
      {field::kBudgetCores, facts.budget_cores},
      {field::kBatch, options.run.priority == "batch"},
      {field::kStarts, !options.run.changes_nothing()},
      {field::kAnnounced, announced},
      {field::kUserEnvironment, facts.user_environment},
      {field::kBlasProvider, facts.blas_provider},
      {field::kUsesOpenmp, facts.uses_openmp},
      {field::kResizesTeams, facts.resizes_teams},
      {field::kMarksOps, facts.marks_ops},
      {field::kRenewsBlocks, facts.renews_blocks},
      {field::kSetsUpMalloc, facts.sets_up_malloc},
      {field::kLibompPath, facts.libomp_path},
      {field::kLibompSuitable, facts.libomp_suitable},
      {field::kLibompObstacle, facts.libomp_obstacle}};
  if (!options.run.share.empty())
    body[field::kShare] = std::strtod(options.run.share.c_str(), nullptr);
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<DaemonsPlan> plan_of_answer(const base::Result<HttpAnswer>& answer) {
  if (!answer.ok() || answer.value().status != 200) return std::nullopt;
  const Json json = Json::parse(answer.value().body, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return read_plan(json);
}

// The daemon knows how earlier runs of this program went; without it the rules alone decide.
std::optional<DaemonsPlan> plan_from_daemon(const Options& options, const std::string& socket,
                                            const TargetProgram& target,
                                            const perfmodel::LaunchFacts& facts, bool announced) {
  return plan_of_answer(ask_daemon(socket, "POST", "/v1/launch",
                                   launch_question(options, target, facts, announced),
                                   answer_patience(options)));
}

// To look at a program's libraries takes a tenth of a second where they are large. Who starts
// beside it and has few must not take the machine for its own meanwhile. The daemon hears it while
// they are looked at.
class Announcement {
 public:
  Announcement(const Options& options, const std::string& socket, const TargetProgram& target)
      : patience_(answer_patience(options)),
        said_(socket, "POST", "/v1/launch", launch_question(options, target, {}, false), patience_),
        at_(Clock::now()) {}

  // When it was said, if it was heard.
  std::optional<Clock::time_point> heard() {
    return plan_of_answer(said_.answer(patience_)) ? std::optional(at_) : std::nullopt;
  }

 private:
  milliseconds patience_;
  AskedQuestion said_;
  Clock::time_point at_;
};

std::optional<DaemonsPlan> plan_beside_others(const Options& options, const std::string& socket,
                                              const TargetProgram& target,
                                              const perfmodel::LaunchFacts& facts,
                                              std::optional<Clock::time_point> announced) {
  auto plan = plan_from_daemon(options, socket, target, facts, announced.has_value());
  const bool keeps_its_width = facts.uses_openmp && !facts.resizes_teams && !facts.marks_ops &&
                               options.run.narrows() &&
                               !facts.user_environment.contains("OMP_NUM_THREADS");
  if (!plan || plan->width > 0 || !keeps_its_width || !announced) return plan;
  const auto left = kCoRunners - (Clock::now() - *announced);
  if (left <= left.zero()) return plan;
  std::this_thread::sleep_for(std::min<Clock::duration>(left, answer_patience(options)));
  auto later = plan_from_daemon(options, socket, target, facts, true);
  return later ? later : plan;
}

// Asked for and lost is said; the rest is in the log and in `optile status`.
void say_what_is_lost(const Json& store) {
  const std::string message = store.value(field::kMessage, "");
  if (message.empty() || store.value(field::kPath, "") == kMemoryStore) return;
  const bool kept = store.value(field::kState, "") == "on_disk";
  lost((kept ? "the store was repaired: " : "the store is not kept: ") + message);
}

// Where nothing else is asked.
void ask_what_is_lost(const Options& options, const std::string& socket) {
  const auto answer = ask_daemon(socket, "GET", "/v1/status", "", answer_patience(options));
  if (!answer.ok()) return;
  const Json json = Json::parse(answer.value().body, nullptr, false);
  if (json.is_object()) say_what_is_lost(object_at(json, field::kStore));
}

void say_what_was_taken_back(const perfmodel::LaunchPlan& plan) {
  if (plan.taken_back.empty()) return;
  char text[64];
  std::snprintf(text, sizeof text, "%.4g ms a step", plan.loss_seconds * 1e3);
  lost("the launch plan of the latest run (" + plan.taken_back + ") cost " + text +
       " and is taken back; now: " + plan.text);
}

LaunchDecision decide(const Options& options, const TargetProgram& target, const Variables& now,
                      const std::string& socket, bool daemon_there) {
  LaunchDecision decision;
  decision.baseline = options.verb == Verb::kBaseline;
  decision.socket = socket;
  decision.run_id = make_run_id();
  decision.shim = find_shim();
  decision.bridge_dir = base::parent_directory(decision.shim);
  decision.itt_collector = find_itt_collector(decision.shim);
  if (decision.shim.empty()) {
    decision.unseen = "liboptile_preload.so is not beside optile";
    lost(decision.unseen + ": the program runs untouched");
    return decision;
  }
  if (!target.unseen.empty()) {
    lost(target.path + " cannot be seen: " + target.unseen + "; it runs untouched");
    decision.unseen = target.unseen;
    decision.shim.clear();
    return decision;
  }
  std::optional<Announcement> announcement;
  if (daemon_there && !decision.baseline && !options.run.changes_nothing()) {
    announcement.emplace(options, socket, target);
  }
  if (!target.hidden_regions.empty()) {
    lost("the OpenMP regions of " + target.path + " cannot be seen: " + target.hidden_regions);
  }
  const std::string torch_folder = torch_folder_of(target, now);
  if (options.run.torch_bridge != "off") {
    const BridgeOutlook outlook = prepare_bridge(torch_folder);
    decision.torch_wheel = outlook.wheel;
    if (!outlook.message.empty()) lost(outlook.message);
  }
  if (decision.baseline) return decision;
  decision.host = host_name();
  decision.budget_cores = perfmodel::read_granted_cores({});
  const perfmodel::LaunchFacts facts =
      facts_of(options, target, now, torch_folder, decision.budget_cores);
  decision.libomp = facts.libomp_path;
  std::optional<DaemonsPlan> plan;
  if (daemon_there) {
    const auto announced = announcement ? announcement->heard() : std::nullopt;
    plan = plan_beside_others(options, socket, target, facts, announced);
  }
  if (plan) say_what_is_lost(plan->store);
  if (plan && options.run.narrows()) decision.width = plan->width;
  decision.plan = plan ? plan->plan : perfmodel::choose_launch_plan(facts, {});
  decision.plan.blas_follows = perfmodel::blas_pools_follow(facts, decision.plan);
  if (!options.run.changes_nothing()) say_what_was_taken_back(decision.plan);
  return decision;
}

// From the launcher's own folder, which is not the daemon's.
std::string absolute(const std::string& path) {
  return path == kMemoryStore ? path : std::filesystem::absolute(path).string();
}

// The shim may not write beside the system daemon's socket; without this folder its log is lost.
void make_place_for_log() {
  base::RuntimeEnvironment own = base::runtime_environment();
  own.socket.clear();
  (void)base::ensure_private_directory(base::parent_directory(base::default_socket_path(own)));
}

struct Prepared {
  LaunchDecision decision;
  Changes changes;
};

Prepared prepare(const Options& options, const TargetProgram& target) {
  Variables now = environment_now();
  const std::vector<std::string> ignored = ignored_variables(options, now);
  for (const std::string& name : ignored) now.erase(name);
  const base::DaemonChoice choice =
      base::choose_daemon(base::runtime_environment(), options.socket);
  if (!choice.obstacle.empty()) lost(choice.obstacle);
  const std::string socket = absolute(choice.socket);
  if (choice.system) make_place_for_log();
  const std::string store = absolute(options.store.empty() ? default_store_path() : options.store);
  const base::Status daemon =
      ensure_daemon({socket, store, choice.system}, daemon_patience(options));
  if (!daemon.ok()) lost(daemon.message() + "; the program runs untuned");
  Prepared prepared;
  prepared.decision = decide(options, target, now, socket, daemon.ok());
  if (daemon.ok()) {
    const bool reports = options.run.summary || !options.run.report.empty();
    prepared.decision.daemon_starts = reports && base::try_connect(socket) != 0;
    if (prepared.decision.baseline) ask_what_is_lost(options, socket);
  }
  prepared.decision.socket_is_named =
      !options.socket.empty() || !base::runtime_environment().socket.empty();
  prepared.changes.set = launch_environment(options, prepared.decision, now);
  // What cannot be seen runs untouched.
  if (!prepared.decision.shim.empty()) prepared.changes.removed = ignored;
  return prepared;
}

// What a tuned run would have done, from what is known now that the program has ended.
void give_advice(const Options& options, const TargetProgram& target,
                 const LaunchDecision& decision) {
  if (decision.shim.empty()) return;  // why is said already
  const Json report = Json::parse(report_of(decision), nullptr, false);
  Options tuned = options;
  tuned.run.launch.openmp = options.run.typed_launch.openmp;
  tuned.run.launch.blas = options.run.typed_launch.blas;
  tuned.run.launch.wait = tuned.run.launch.heap = "auto";
  if (tuned.run.launch.overall == "keep") keep_launch(tuned.run);
  keep_bits(tuned.run);
  const Variables now = environment_now();
  const perfmodel::LaunchFacts launch =
      facts_of(tuned, target, now, torch_folder_of(target, now), decision.budget_cores);
  AdviceFacts facts;
  const std::optional<DaemonsPlan> plan =
      plan_from_daemon(tuned, decision.socket, target, launch, false);
  facts.plan = plan ? plan->plan : perfmodel::choose_launch_plan(launch, {});
  facts.as_untuned = options.run.as_untuned();
  // Of runs whose results might be any.
  facts.has_stored = plan && plan->has_stored && !facts.as_untuned;
  if (facts.has_stored) facts.stored = plan->stored;
  facts.command = options.command;
  facts.program = target.script.empty() ? target.executable : target.script;
  facts.libomp_path = launch.libomp_path;
  facts.omp_num_threads_set = now.contains("OMP_NUM_THREADS");
  facts.budget_cores = decision.budget_cores;
  facts.typed = options.run.typed_launch;
  if (report.is_object()) {
    facts.step_seconds =
        number_at(report.value(field::kStepSeconds, Json::object()), field::kBaseline);
  }
  std::cerr << advice_text(facts);
}

// Beside another manager of threads nothing is changed, except by name.
Options beside_others(const Options& asked, const TargetProgram& target) {
  const bool changes =
      asked.verb == Verb::kRun && (asked.run.mode == "tune" || asked.run.mode == "freeze");
  const std::string manager =
      other_manager(value_of(environment_now(), "LD_PRELOAD"), target.needed);
  if (!changes || manager.empty() || !target.unseen.empty()) return asked;
  lost(manager + " manages the threads of this program: it is only observed");
  Options options = asked;
  options.run.mode = "observe";
  keep_what_was_not_chosen(options.run);
  return options;
}

// Said early, since the program may run for days; the folder may come to be meanwhile.
void warn_of_report(const std::string& path) {
  const base::Status may = may_be_written(path);
  if (!may.ok()) {
    lost("the report " + may.message() + "; it is tried again when the program has ended");
  }
}

}  // namespace

int launch(const Options& asked) {
  base::Result<TargetProgram> target = look_at_program(asked.command);
  if (!target.ok()) {
    lost(target.message());
    return target.error().kind == base::ErrorKind::kDenied ? kCannotExecute : kNotFound;
  }
  const Options options = beside_others(asked, target.value());
  const bool advises = options.verb == Verb::kRun && options.run.mode == "advise";
  const bool stays = !options.run.report.empty() || options.run.summary || advises;
  if (options.verb == Verb::kRun && options.run.mode == "off") {
    if (stays) lost("nothing is watched with --mode off, so there is no report");
    return exec_program(options.command, {});
  }
  Prepared prepared;
  try {
    prepared = prepare(options, target.value());
  } catch (const std::exception& error) {  // a library's surprise, memory
    lost(std::string(error.what()) + "; the program runs untouched");
  }
  if (!stays) return exec_program(options.command, prepared.changes);
  if (!options.run.report.empty()) warn_of_report(options.run.report);

  const ChildEnd end = run_program(options.command, prepared.changes);
  if (!end.started) return end.exit_code;
  if (!options.run.report.empty() || options.run.summary) write_outputs(options, prepared.decision);
  if (advises) give_advice(options, target.value(), prepared.decision);
  end_like(end.wait_status);
}

}  // namespace optile::cli
